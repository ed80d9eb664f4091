"""What the commands print: the files of `transcripts/`; see tests/support/replay.py.

`$ ` is a command: `< FILE` its input, `| grep WORD` what is shown of its output. Standard error
stands after `!`, and in brackets an exit status that is not 0. LETTER is the dead letter that is
shown of the message that is named last.
"""

import json
import shlex
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from actonce.adopt.project.plan import stack_files
from actonce.cli import bulk
from actonce.messages import recent
from actonce.operate.bulk import Bulk
from actonce.operate.status import status
from actonce.stack.clients import Stack
from actonce.terminal import output
from actonce_core.records import timestamp
from tests.records.report import summaries
from tests.support import queues, replay, stacks
from tests.support.moto_stack import Actonce, minutes_go_by

HEADER = "On AWS: account 123456789012, Region us-east-1, stack "


class Replay(replay.Replay):
    """Of commands, and of what they call."""

    def __init__(
        self, moto_stack: Stack, actonce: Actonce, patch: pytest.MonkeyPatch, folder: Path
    ) -> None:
        self.actonce, self.s3 = actonce, moto_stack.aws.client("s3")
        super().__init__(moto_stack, patch, folder)
        self.known |= {"bulk": bulk, "recent": recent, "Bulk": Bulk}
        self.known |= {"timedelta": timedelta}

    def found(self) -> Stack:
        assert self.stack is not None
        return self.stack

    def sent_again(self) -> int:
        return len(queues.received(self.found(), self.queue("requests")))

    def written(self, message_id: str, minutes: int, **row: str) -> None:
        """A row that was last written so many minutes before now."""
        row |= {"message_id": message_id}
        row |= {"updated": timestamp(stacks.NOW - timedelta(minutes=minutes))}
        item: Any = {name: {"S": value} for name, value in row.items()}
        self.base.dynamodb.put_item(TableName=stacks.TABLE, Item=item)

    def answers(self, *said: bool | None) -> None:
        """What somebody at the terminal says, one question after the other; None: nobody."""
        left = list(said)
        self.patch.setattr(output, "ask", lambda _: left.pop(0))

    def minutes_go_by(self) -> None:
        """Readers of a queue wait for no others."""
        minutes_go_by(self.patch)

    def command(self, line: str) -> str:
        """Of a command that has to be put together."""
        return "\n".join(self.ask(line))

    def interrupted(self, *_: Any) -> None:
        raise KeyboardInterrupt

    @property
    def no_answer(self) -> Exception:
        return ReadTimeoutError(endpoint_url="here")

    def bucket_of_audit(self) -> None:
        summary = json.dumps(summaries.all_good())
        self.write("summary.json", summary)
        self.s3.put_object(Bucket="records", Key="audit/summary.json", Body=summary)

    def alarm(self, name: str, state: Any = "ALARM", action: str = stacks.ALARM_TOPIC) -> None:
        """One of the stack's, unless it tells another topic."""
        client = self.base.aws.client("cloudwatch")
        client.put_metric_alarm(
            AlarmName=name,
            EvaluationPeriods=1,
            Threshold=1,
            ComparisonOperator="GreaterThanThreshold",
            AlarmActions=[action],
            MetricName="m",
            Namespace="n",
            Statistic="Sum",
            Period=60,
        )
        client.set_alarm_state(AlarmName=name, StateValue=state, StateReason="a test")

    def measured(
        self, namespace: str, name: str, dimension: str, of: str, *points: tuple[int, float]
    ) -> None:
        """A metric has these values, so many minutes before now."""
        same = {"MetricName": name, "Dimensions": [{"Name": dimension, "Value": of}]}
        data: Any = [
            same | {"Timestamp": stacks.NOW - timedelta(minutes=minutes), "Value": value}
            for minutes, value in points
        ]
        client = self.base.aws.client("cloudwatch")
        client.put_metric_data(Namespace=namespace, MetricData=data)

    def standing(self, *names: str) -> str:
        """What is found of it, a line each."""
        found = status(self.found(), stacks.NOW).as_json()
        return "\n".join(
            f"{one}: {json.dumps(found[one], sort_keys=True)}" for one in names or found
        )

    def ships(self, its_version: str, files: dict[str, str]) -> None:
        """A version that consists of these files."""
        made = {PurePosixPath("actonce", path): text.encode() for path, text in files.items()}
        self.patch.setattr("actonce.cli.init.version", lambda: its_version)
        self.patch.setattr("actonce.cli.init.stack_files", lambda **_: made)

    def newer_version(self) -> None:
        newer = {path: b"# newer\n" + content for path, content in stack_files(audit=True).items()}
        self.patch.setattr("actonce.cli.init.version", lambda: "9.9.9")
        self.patch.setattr("actonce.cli.init.stack_files", lambda audit: newer if audit else {})

    def ask(self, line: str) -> list[str]:
        """What a command prints."""
        before, _, grepped = line[2:].partition(" | grep ")
        before, _, file = before.partition(" < ")
        words = shlex.split(before)
        if "LETTER" in words:
            letter = queues.shown(self.found(), words[-1])
            words = [letter.letter if letter and one == "LETTER" else one for one in words]
        start = words.index("actonce")
        variables = dict(one.split("=") for one in words[:start])
        text = self.read(file) if file else ""
        ended = self.actonce(*words[start + 1 :], stack=self.stack, text=text, **variables)
        err = [one for one in ended.err.splitlines() if not one.startswith(HEADER)]
        status = [f"[{ended.status}]"] if ended.status else []
        out = [one for one in ended.out.splitlines() if grepped in one]
        return [*out, *(f"! {one}" for one in err), *status]


@pytest.mark.parametrize(
    ("file", "title"), replay.sections(Path(__file__).parent / "transcripts"), ids=replay.name_of
)
def test_commands_print_what_their_transcript_says(
    file: Path,
    title: str,
    moto_stack: Stack,
    actonce: Actonce,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    update = request.config.getoption("--update")
    Replay(moto_stack, actonce, monkeypatch, tmp_path).compare(file, title, update=update)
