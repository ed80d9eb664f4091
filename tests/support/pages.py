"""Pages as words."""

import html
import re

UNSEEN = r"<svg.*?</svg>|<dialog.*?</dialog>|<script.*?</script>|<input type=\"hidden\"[^>]*>"
CHOICE = r'<input[^>]*(?:radio|checkbox)[^>]*? name="\w+" value="([\w-]*)"[^>]*>'
ENDS = r"</(?:p|tr|h\d|li|section|form|dl|pre|label|summary|button|legend)>|<br>"


def words(page: str) -> list[str]:
    """The main part of a page, as a person reads it."""
    main = re.search(r"<main.*?</main>", page, re.DOTALL)
    text = re.sub(UNSEEN, "", main[0] if main else page, flags=re.DOTALL)
    text = re.sub(r'<p class="bad" role="alert">', "<p>! ", text)
    text = re.sub(r"<details[^>]* open\b[^>]*>", "(unfolded) ", text)
    text = re.sub(r"<(?:td|th|dd|dt)[^>]*>", " | ", text)
    text = re.sub(CHOICE, r"( ) \1: ", text)
    text = re.sub(r'<a[^>]*?href="([^"]*)"[^>]*>(.*?)</a>', r"\2 &lt;\1&gt;", text, flags=re.DOTALL)
    text = re.sub(r"<(del|ins)>(.*?)</\1>", r"[\1: \2]", text)
    text = re.sub(ENDS, "\x00", re.sub(r"\s+", " ", text))
    lines = html.unescape(re.sub(r"<[^>]*>", " ", text)).split("\x00")
    return [" ".join(line.split()) for line in lines if line.strip(" |")]
