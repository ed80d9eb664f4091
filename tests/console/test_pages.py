"""What the console's pages say and offer: the files of `pages/`; see tests/support/replay.py.

`GET /path` and `POST /path name=value …` are asked as a browser asks; `+` stands for the fields of
the form that was shown last, KEY for its key. Of a page its main part is shown as words: a row
behind `|`, a link's address in `<>`, what can be chosen with `( )`, a problem behind `!`, and a
status that is not 200 in brackets.
"""

import json
import re
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from actonce.console import context, queue_cache
from actonce.console.views import messages as message_views
from actonce.stack.clients import Stack
from actonce_core.execution import execution_name
from actonce_core.records import timestamp
from tests.console import stacks
from tests.console.client import Answer, Client, console_of
from tests.console.conftest import Open
from tests.support import replay
from tests.support.pages import words


class Replay(replay.Replay):
    """Of a console."""

    def __init__(
        self, moto_stack: Stack, console: Open, patch: pytest.MonkeyPatch, folder: Path
    ) -> None:
        self.console = console
        self.client: Client | None = None
        self.last: Answer | None = None  # what was shown
        self.key = ""  # of the form that was shown last
        super().__init__(moto_stack, patch, folder)
        own = {name: self.on_stack(getattr(stacks, name)) for name in stacks.__all__}
        self.known |= own | {
            "context": context,
            "queues": queue_cache,
            "own_effect": stacks.own_effect,
        }
        self.known |= {"execution_name": execution_name, "message_views": message_views}

    def open(self, **more: Any) -> None:
        """A console on the stack as it is then."""
        assert self.stack is not None
        self.client = self.console(self.stack, **more)

    def elsewhere(self, name: str) -> None:
        """A console whose folder for what is discarded that one is."""
        assert self.stack is not None
        self.client = console_of(self.stack, self.folder / name)

    def opened(self) -> Client:
        assert self.client is not None
        return self.client

    def reread(self) -> None:
        """Both queues."""
        self.opened().read_queues()

    def expire(self, *, queues: bool = True) -> None:
        """What was asked of AWS is asked again, and the queues are read again."""
        self.opened().expire(queues=queues)

    def denied(self, service: str, operation: str = "*") -> None:
        """To the console alone."""
        replay.BUILT["forbid"](self.opened().context.stack, service, operation)

    def audited(self, *, told: str = "", **summary: Any) -> None:
        """An audit of this stack left that, or what is `told`."""
        at = timestamp(self.base.created_at() + timedelta(seconds=1))
        self.write("summary.json", told or json.dumps({"generated_at": at} | summary))

    def ends(self) -> dict[str, int]:
        """How many of the newest job ended how."""
        return dict(self.opened().context.jobs.all()[0].progress().results_by_end)

    def page(self, path: str) -> str:
        """Of an address that has to be put together."""
        return "\n".join(self.ask(f"GET {path}"))

    def ask(self, line: str) -> list[str]:
        """What a page shows."""
        client = self.opened()
        method, path, *form = shlex.split(line.replace("KEY", self.key))
        if method == "GET":
            for _ in range(2):  # it may have a queue read, and be there before that
                self.last = client.get(path)
                client.finish()
        else:
            fields: dict[str, Any] = {}
            if "+" in form:
                assert self.last is not None
                fields |= self.last.fields
            fields |= dict(one.split("=", 1) for one in form if one != "+")
            self.last = client.post(path, **fields)
            client.finish()
        answer = self.last
        assert answer is not None
        self.key = answer.fields.get("key", [self.key])[0]
        to = [f"to {answer.headers['location']}"] if "location" in answer.headers else []
        status = [f"[{answer.status}]"] if answer.status not in (200, 303) else []
        told = [] if to else words(answer.text)
        return [re.sub(r"key=[\w-]{22}", "key=KEY", one) for one in [*status, *to, *told]]


@pytest.mark.parametrize(
    ("file", "title"), replay.sections(Path(__file__).parent / "pages"), ids=replay.name_of
)
def test_pages_say_and_offer_what_is_reviewed(
    file: Path,
    title: str,
    moto_stack: Stack,
    console: Open,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    update = request.config.getoption("--update")
    Replay(moto_stack, console, monkeypatch, tmp_path).compare(file, title, update=update)
