"""What a browser's console says is heard: else a page without complaints would say nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Browser, browser_or_skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from browser_or_skip("the browser's console")


POLICY = "<meta http-equiv='Content-Security-Policy' content=\"script-src 'none'\">"


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("<p>quiet</p>", None),
        ("<script>throw new Error('thrown on purpose')</script>", "thrown on purpose"),
        ("<img src='missing.png'>", "ERR_FILE_NOT_FOUND"),
        (f"{POLICY}<script>document.title = 'ran'</script>", "Content Security Policy"),
    ],
)
def test_what_is_refused_or_thrown_is_a_complaint(
    browser: Browser, tmp_path: Path, page: str, complaint: str | None
) -> None:
    file = tmp_path / "page.html"
    file.write_text(f"<!doctype html>{page}")
    with browser.page(file) as opened:
        assert opened.evaluate("document.title") == ""
        assert len(opened.complaints) == (complaint is not None)
        assert (complaint or "") in "".join(opened.complaints)
        assert opened.requests[0] == file.as_uri()
