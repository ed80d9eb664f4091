"""`actonce demo`: the main job, on the embedded AWS."""

import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from actonce.adopt.effect_check.bodies import sample_body
from actonce.cli.embedded import Parameters
from actonce.cli.options import Json, parse_pairs
from actonce.demo.outcome import Outcome
from actonce.demo.own import OwnEffect
from actonce.demo.run import Result, Settings, run
from actonce.demo.second_count import SecondCount
from actonce.embedded.faults import Level
from actonce.stack import extras
from actonce.stack.embedded_folder import Paths
from actonce.terminal import output as console
from actonce.terminal.error_names import error_label
from actonce.terminal.errors import UsageError
from actonce_pipeline.spark.java import NONE_FOUND, use_java

MESSAGES = 200


def demo(
    messages: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, help="How many requests to make up; default 200."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed makes up the same run.")] = 1,
    file: Annotated[
        Path | None,
        typer.Option(
            "--input",
            metavar="FILE",
            help="Send the lines of this JSON Lines file instead, verbatim.",
        ),
    ] = None,
    faults: Annotated[
        Level | None,
        typer.Option(
            help="How much is interrupted; default some, with --input none. With many an operator "
            "has every other dead letter tried again.",
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Go on from what is there, instead of afresh.")
    ] = False,
    audit: Annotated[
        bool, typer.Option("--audit/--no-audit", help="Have Spark count again, from the records.")
    ] = True,
    parameter: Parameters = None,
    json_: Json = False,
) -> None:
    """Send and interrupt requests, and see each acted on once.

    Brings the embedded AWS up if it is not, sends some requests more than once, waits until all has
    come to rest, and counts what the queues, tables and execution histories say. Then collects the
    records of the run and audits them: a second, independent count. That takes about half a minute.
    Exit status 1 if a message was acted on twice or lost, or if the two counts differ.

    It starts from empty queues, tables and histories. An embedded AWS that a demo has brought up is
    thrown away for that, with what was sent to it; over any other it refuses to run.

    In a project of actonce init it acts by your own function, on bodies like events/perform.json,
    and counts its effects in the table that the stack names, or else by looking each up, which
    cannot tell one effect from two.

    Examples:

        actonce demo

        actonce demo --faults many --messages 300 --seed 7

        actonce demo -p StartExecutions=on-trouble

        actonce demo --input requests.jsonl --json
    """
    if file is not None and not file.is_file() and str(file) != "-":
        raise UsageError(f"--input {file}: there is no such file.")
    paths = Paths.default()
    parameters = parse_pairs("--parameter", parameter) if parameter else None
    own = _own(paths, file)
    default_level = Level.NONE if file else Level.SOME
    settings = Settings(
        messages or MESSAGES,
        seed,
        faults or default_level,
        file,
        keep,
        parameters,
        audit and _can_audit(),
        own=own,
    )
    if messages is None and file is None:
        console.say(
            "Usually half a minute on two idle cores, the first time ten seconds more; half of it "
            "until what is interrupted has timed out or comes again"
        )
    started = time.monotonic()
    result = run(settings, paths, console.say)
    waited = round(time.monotonic() - started, 1)
    if json_:
        console.print_json(result.outcome.as_json() | {"seconds_in_all": waited})
    else:
        _show(result, waited, own, result.example)
    if result.second is not None:
        _show_second(result.second)
    if not _is_good(result):
        raise typer.Exit(1)


def _own(paths: Paths, file: Path | None) -> OwnEffect | None:
    """What is to be known of a team's own effect; None where it is the example's.

    Raises:
        UsageError: nobody says what it performs.
    """
    if not paths.is_project:
        return None
    if file is not None:
        return OwnEffect(None)
    sample = sample_body(paths.stack)
    if not isinstance(sample, dict):
        raise UsageError("The body has to be an object, for a message id is put into it: --input.")
    return OwnEffect(sample)


def _can_audit() -> bool:
    """Whether there can be a second count; if not, say why."""
    extras.require("audit", "actonce demo (without --no-audit)")
    if not use_java():
        console.err.print(
            f"NOT AUDITED: {NONE_FOUND} What follows is the demo's own count.", style="yellow"
        )
        return False
    return True


def _is_good(result: Result) -> bool:
    outcome = result.outcome
    agreed = result.second is None or not result.second.differences
    return outcome.exactly_once and agreed


def _show_second(second: SecondCount) -> None:
    if second.differences:
        text = f"✗ The audit disagrees: {'; '.join(second.differences)}."
        console.err.print(text, style="bold red", markup=False)
    else:
        console.err.print("✓ The audit of the records agrees.", style="bold green")
    console.err.print(f"  Its page: {second.page}", style="dim", markup=False)


def _show(result: Result, waited: float, own: OwnEffect | None, example: str | None) -> None:
    outcome, interruptions = result.outcome, result.interruptions
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_column(style="dim")

    def row(number: int, what: str, meaning: str, alarm: bool = False) -> None:  # noqa: FBT001
        table.add_row(f"{number:,}", what, meaning, style="bold red" if alarm and number else None)

    refused = sum(outcome.refused.values())
    reasons = ", ".join(f"{reason} {number}" for reason, number in outcome.refused.items())
    row(outcome.sent, "sent", "messages that SQS accepted, re-sends included")
    row(outcome.distinct, "distinct", "message ids among them")
    row(outcome.deliveries, "deliveries", "by SQS to the starter")
    if interruptions:
        row(interruptions.total(), "interruptions", _kinds(interruptions))
    table.add_section()
    if outcome.performed:
        row(outcome.performed, "performed", "by the first attempt, without an execution")
    row(outcome.started, "started", "executions, one per message id")
    row(outcome.suppressed, "suppressed", "deliveries whose message had its execution")
    row(sum(outcome.came_back.values()), "came back", _came_back(outcome))
    row(refused, "refused", reasons or "deliveries that cannot be started")
    table.add_section()
    if own is None:
        row(outcome.effects, "effects", "appointments in the practices' books")
        row(outcome.acted_on_twice, "acted on twice", "messages with two appointments", alarm=True)
    else:
        row(outcome.effects, "effects", "of your own")
        row(outcome.acted_on_twice, "acted on twice", "as far as that can be seen", alarm=True)
    row(outcome.awaiting_decision, "awaiting decision", "actonce dead-letters list")
    row(outcome.lost, "lost", "messages that ended nowhere", alarm=True)
    console.out.print()
    console.out.print(table)
    console.out.print()
    good = outcome.exactly_once
    console.out.print(
        f"{'✓' if good else '✗'} {outcome.sentence}", style="bold green" if good else "bold red"
    )
    console.out.print(
        f"  {outcome.seconds} s from sending to rest, {waited} s in all. The stack is still up: "
        "actonce down stops it, actonce list shows its messages.",
        style="dim",
    )
    if example is not None:
        console.out.print(f"  The story of one of them: actonce where {example}", style="dim")
    console.out.print("  All of it in the browser: actonce console", style="dim")


def _came_back(outcome: Outcome) -> str:
    why = ", ".join(f"{error_label(name)} {number}" for name, number in outcome.came_back.items())
    return f"to the queue, and delivered again: {why}" if why else "to the queue"


def _kinds(interruptions: Counter[str]) -> str:
    kinds = Counter[str]()
    for fault, number in interruptions.items():
        kinds[fault.rpartition(":")[2].removeprefix("delivery ").removeprefix("Lambda.")] += number
    return ", ".join(f"{kind} {number}" for kind, number in kinds.most_common())
