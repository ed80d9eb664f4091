"""What cannot be asked for: exit status 2 and one sentence, before anything is read."""

from pathlib import Path

import pytest

from actonce.stack.clients import Stack
from actonce.terminal import output
from tests.cli.conftest import Run
from tests.support.stacks import with_outputs

NO_TIME = " is no time: say 2026-01-31T09:30, or how long ago: 90s, 30m, 2h, 3d."
EMPTY_ID = "An empty id names nothing: is a variable of your shell not set?"
ONE_OR_ALL = "Name an ID, as list shows it, or say --all; not both."
WITH_ALL = (
    "--dry-run, --rate, and what narrows --all, such as --reason and --limit, go with --all on"
)
NO_BUCKET = " names no bucket: write s3://bucket/ or s3://bucket/prefix/."
REASONS = {
    "dead-letters": "rejected, not_performed, rounds_used_up, outcome_unknown, failed, aborted, "
    "timed_out.",
    "unstarted": "not_json, no_message_id, too_large, conflict, too_old_to_tell, "
    "other_memory, not_startable, received_too_often.",
}

WRONG = [
    ("list --embedded --aws", "--embedded and --aws are two places: say one of them."),
    ("list --since then", f"'then'{NO_TIME}"),
    ("where ''", EMPTY_ID),
    ("where '" + "a" * 2_049 + "'", "No message has the id that was given, which "),
    ("where '\uffff'", "No message has the id that was given, which "),
    ("where '\udc80'", "is not UTF-8: write it so, a file's name too."),
    ("send - --rate nan", "Error: Invalid value for '--rate'"),
    ("send - --rate inf", "Error: Invalid value for '--rate'"),
    ("list --since " + "9" * 20 + "d", NO_TIME),
    ("list --since 0001-01-01T00:00+14:00", NO_TIME),
    ("send", "Error: Missing argument 'FILE'."),
    ("send no-such-file.jsonl", "no-such-file.jsonl cannot be read: No such file or directory."),
    ("send .", ". holds no file: name a folder of .jsonl files, such as messages/ of a plan."),
    ("audit nowhere", "nowhere cannot be read: there is no such folder."),
    ("audit package --to s3://", f"s3://{NO_BUCKET}"),
    ("collect --to r", "Name the days: either --day DAY, or --from DAY and --until DAY."),
    ("collect --to r --from 2024-01-01 --until 2025-06-30", "547 days; collect at most 366 at a"),
    (
        "collect --to r --day today --stream effects --stream posts",
        "no stream 'posts'; there are deliveries, executions, effects, dead_letters.",
    ),
    ("demo --input nowhere.jsonl", "--input nowhere.jsonl: there is no such file."),
    ("effect check --body { --yes", "'{' is no JSON (Expecting property name enclosed in double"),
    ("effect check --body @none --yes", "none cannot be read: No such file or directory."),
    ("effect check --yes", "The embedded AWS is not up, where the effect is tried: actonce up."),
    ("effect check", "The effect is performed for real, some 40 times, and nobody can be asked he"),
    (
        "dead-letters list --reason conflict",
        f"There is no reason 'conflict'; there are {REASONS['dead-letters']}",
    ),
    ("dead-letters retry", ONE_OR_ALL),
    ("dead-letters retry --all --yes m-1", ONE_OR_ALL),
    ("dead-letters retry --all --json", "--json shows nothing before it acts: say --yes, or --dry"),
    ("dead-letters retry m-1 --rate 5", WITH_ALL),
    ("dead-letters retry m-1 --dry-run", WITH_ALL),
    ("dead-letters perform m-1 --note ''", "The note is empty: say why, for whoever reads the his"),
    ("unstarted discard some-id --note ' '", "The note is empty: say why, for whoever reads the f"),
    ("unstarted discard i --note x --to /dev/null", "/dev/null is there already; name a new file."),
    # As of a shell's variable that is not set, everything would be meant.
    ("unstarted send-back --all --yes --match ''", "An empty --match leaves nothing out: is a var"),
    ("unstarted send-back --all --yes --before ''", f"''{NO_TIME}"),
    (
        "unstarted send-back --all --yes --reason ''",
        f"There is no reason ''; there are {REASONS['unstarted']}",
    ),
]


@pytest.mark.parametrize(("line", "sentence"), WRONG, ids=[line for line, _ in WRONG])
def test_what_cannot_be_asked_for_is_2_before_anything_is_read(
    run: Run, monkeypatch: pytest.MonkeyPatch, line: str, sentence: str
) -> None:
    monkeypatch.setattr(output, "ask", lambda _: None)
    ended = run(line)
    assert (ended.status, ended.out, sentence in ended.err) == (2, "", True), ended.err


@pytest.mark.parametrize("content", ['\ufeff{\n"message_id": "a"\n}', "[\n{}\n]"])
def test_pretty_printed_json_is_explained_and_not_sent(
    run: Run, tmp_path: Path, content: str
) -> None:
    (tmp_path / "pretty.json").write_text(content)
    for line, name in (("send pretty.json", "pretty.json"), ("send -", "The input")):
        ended = run(line, text=content if name != "pretty.json" else "")
        assert (ended.status, ended.out) == (2, "")
        assert ended.err == (
            f"actonce: {name} is JSON that takes several lines, and each line would be a message. "
            "Put each message on a line of its own, as jq -c . does, or for an array jq -c '.[]'.\n"
        )


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("send - --group a --yes", "The requests queue is a standard queue: leave --group out."),
        ("send - --record file --yes", "--record file: Not a directory."),
        ("send - --resume --yes", "--resume needs --record DIR, which says what was sent."),
        ("send - --resume --record r --yes", "--resume needs a file that can be read again."),
        ("send file --resume --record r --yes", "would read no id out of the body of line 2, so"),
        ("fifo send - --yes", "The requests queue is a FIFO queue: say --group."),
        (
            "fifo send - --group body:[ --yes",
            "--group: MessageIdFrom: '[' is not a JMESPath expression.",
        ),
    ],
)
def test_what_does_not_fit_the_queue_or_the_disk_is_wrong_use(
    run: Run, stack: Stack, tmp_path: Path, line: str, sentence: str
) -> None:
    (tmp_path / "file").write_text('\n{"id": "not where the stack reads it"}\n')
    if line.startswith("fifo "):
        stack = with_outputs(stack, RequestsQueueUrl="https://sqs/RequestsQueue.fifo")
    ended = run(line.removeprefix("fifo "), stack, text="{}\n")
    assert (ended.status, ended.out, sentence in ended.err) == (2, "", True), ended.err
