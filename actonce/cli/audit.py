"""`actonce audit`: what happened to each message, by the records that each part wrote."""

import importlib
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from actonce.cli.options import Json, aws_options
from actonce.records import audit_package
from actonce.records.audit_summary import read_summary
from actonce.stack.endpoint import TargetOptions
from actonce.stack.target import find_aws, find_stack
from actonce.terminal import output as console
from actonce.terminal.days import HELP as DAY_HELP
from actonce.terminal.days import parse_span
from actonce.terminal.errors import Failed, UsageError
from actonce.terminal.s3_uri import bucket_and_prefix
from actonce.terminal.visible import give_up_output
from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.request import Request, attributes
from actonce_pipeline.errors import CannotAudit

_PAGE = "report.html"
_MARKS = {0: ("✓", "green"), 3: ("?", "yellow"), 4: ("?", "yellow")}  # beside the sentence


class NotAudited(Failed):
    """The audit did not come to its end, and says nothing of the records."""

    exit_status = 2


def audit(
    records: Annotated[
        str, typer.Argument(metavar="RECORDS", help="The root of the streams, a folder.")
    ],
    day: Annotated[str | None, typer.Option(metavar="DAY", help=f"Judge one. {DAY_HELP}")] = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="DAY", help="First day to judge.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="DAY", help="Last day to judge, included.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where the results go  [RECORDS/audit]")
    ] = None,
    effects: Annotated[
        str | None,
        typer.Option(
            metavar="KEY,TIME",
            help="Of effects that a table's export or a file of your own has, the attributes of "
            "the message's id and of the time  [the stack's EffectsAttributes]",
        ),
    ] = None,
    from_raw: Annotated[
        bool,
        typer.Option(
            "--from-raw",
            help="Read all records again, judge all messages, and take the files that are there "
            "for the right ones.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Say of each message: acted on once, again, or lost.

    A second effect, a contradiction or a conflict is told at once; that something is missing, of
    days that are over.

    Writes DIR/messages (Parquet, a row per message), DIR/summary.json and DIR/report.html; and
    DIR/cache: what each day's files said, so that the next audit reads only days whose files came,
    went or changed. Those of a judged day it names until --from-raw accepts them. Needs Java 17 or
    21. actonce audit package makes a package of it for EMR Serverless.

    Exit status: 0, every message is accounted for and none was acted on twice; 1, alarms; 2, wrong
    use, nothing to audit, or an audit that did not come to its end; 3, no alarm, but something
    could not be read or judged, or a file of a judged day is another now; 4, neither, but of some
    messages a second effect could not be seen.

    Examples:

        actonce audit records/

        actonce audit records/ --day 2026-01-31

        actonce audit records/ --from-raw
    """
    span = parse_span(day, since, until, ahead=True)
    # Spark takes a second to import, and no other command needs it.
    job = importlib.import_module("actonce_pipeline.audit.job")
    storage = importlib.import_module("actonce_pipeline.audit.reading.storage")
    session = importlib.import_module("actonce_pipeline.spark.session")
    try:
        request = Request(
            records,
            out or "",
            span,
            effects=attributes(effects) if effects else _attributes_of_stack(records),
            from_raw=from_raw,
        )
        storage.check_is_there(request.records)  # what Spark would say some seconds later
        console.say("Starting Spark …")
        spark = session.spark_session("actonce-audit")
        summary: dict[str, Any] = job.audit(spark, request)
        page = put_page(spark, summary, request.out)
        spark.stop()
    except CannotAudit as error:
        raise UsageError(str(error)) from error
    except Exception as error:
        # A traceback would end with the status of an alarm.
        reason = str(error).split("\n", 1)[0]
        raise NotAudited(f"The audit did not come to its end: {reason}") from error
    try:
        if json:
            console.print_json(summary)
        else:
            _print(summary, page)
        console.out.file.flush()
    except OSError as error:
        give_up_output()
        raise NotAudited(
            f"The answer cannot be written ({error.strerror}): it is in {request.out}/summary.json."
        ) from error
    raise typer.Exit(summary["exit_status"])


def _attributes_of_stack(records: str) -> Attributes | None:
    """The stack's EffectsAttributes, if there are effects that only these can tell."""
    folder = Path(records, "effects")
    if "://" not in records and not any(
        file.is_file() and not file.name.startswith("collected.") for file in folder.rglob("*")
    ):
        return None
    try:
        found = Attributes.of_output(find_stack().effects_attributes or "")
        return found if found.time else None
    except (Failed, UsageError, BotoCoreError, ClientError):
        return None  # the audit names what it could not read


def put_page(spark: Any, summary: dict[str, Any], out: str) -> str:
    """Draw the page and put it beside the results, wherever Spark can write.

    Returns:
        Where it is.
    """
    out = out.rstrip("/")
    drawn = importlib.import_module("actonce.records.report.page").html(summary)
    place = importlib.import_module("actonce_pipeline.audit.reading.storage").place(spark, out)
    place.write(_PAGE, drawn)
    return f"{out}/{_PAGE}"


def _print(summary: dict[str, Any], page: str) -> None:
    for verdict, count in summary["verdicts"].items():
        if count:
            console.out.print(f"{count:>10,}  {verdict.replace('_', ' ')}", markup=False)
    for alarm in summary["alarms"][:10]:
        verdict = alarm["verdict"].replace("_", " ")
        console.out.print(f"  {verdict}: {alarm['message_id']}", style="red", markup=False)
    if summary["alarms_total"] > 10:
        console.out.print(f"  … and {summary['alarms_total'] - 10:,} more alarms", style="red")
    for example in summary["quarantine"]["examples"][:10]:
        place = example["file"] + (f", line {example['line']}" if example["line"] else "")
        console.out.print(f"  {example['reason']}: {place}", style="red", markup=False)
    for one in summary["changed"]["files"][:10]:
        console.out.print(f"  {one['what']}: {one['file']}", style="yellow", markup=False)
    for sentence in summary["cannot_judge"]:
        console.out.print(sentence, style="yellow", markup=False)
    if summary["late_days"]:
        days = ", ".join(summary["late_days"])
        console.out.print(f"Late records touch {days}: audit these days again.", style="yellow")
    for sentence in summary["notes"]:
        console.out.print(sentence, style="dim", markup=False)
    mark, style = _MARKS.get(summary["exit_status"], ("✗", "red"))
    console.out.print(f"{mark} {summary['sentence']}", style=style, markup=False)
    console.out.print(page, style="dim", markup=False)


@aws_options()
def page(
    results: Annotated[
        str,
        typer.Argument(metavar="RESULTS", help="What an audit wrote: a folder, or s3://bucket/…/."),
    ],
    to: Annotated[
        Path, typer.Option(metavar="FILE", help="Where to put the page.", dir_okay=False)
    ] = Path(_PAGE),
    *,
    at: TargetOptions,
) -> None:
    """Draw the page of an audit that ran elsewhere.

    The night's on EMR Serverless, for example. It reads RESULTS/summary.json, and nothing else: no
    Spark starts. A folder of records that is named page is audited as ./page.

    Examples:

        actonce audit page s3://bucket/audit/

        actonce audit page records/audit/ --to page.html
    """
    summary = read_summary(results, find_aws(at) if "://" in results else None)
    if summary is None:
        raise UsageError(f"{results} holds no summary.json: name the folder that an audit wrote.")
    try:
        importlib.import_module("actonce.records.report.page").write(summary, to)
    except ValueError as error:
        raise Failed(f"The page of {results} cannot be drawn: {error}") from error
    except OSError as error:
        raise UsageError(f"{to} cannot be written: {error.strerror}.") from error
    console.out.print(summary["sentence"], markup=False)
    console.out.print(str(to), style="dim", markup=False)


@aws_options(asks=True)
def package(
    to: Annotated[
        str, typer.Option(metavar="DIR", help="Where to put it: a folder, or s3://bucket/prefix/.")
    ] = "audit-package",
    *,
    at: TargetOptions,
    json: Json = False,
) -> None:
    """Pack the audit for spark-submit and EMR Serverless.

    It runs there on release emr-spark-8.0.0. Writes DIR/audit.py, the entry point, and
    DIR/pipeline.zip for --py-files. The same sources give the same bytes. A folder of records that
    is named package is audited as ./package.

    Examples:

        actonce audit package --to dist/

        actonce audit package --to s3://bucket/code/

        spark-submit --py-files dist/pipeline.zip dist/audit.py records/
    """
    files = audit_package.pack()
    if "://" in to:
        bucket, prefix = bucket_and_prefix(to)
        audit_package.upload(files, find_aws(at, changes=True).client("s3"), bucket, prefix)
        root = f"s3://{bucket}/{prefix}"
    else:
        audit_package.write(files, Path(to))
        root = f"{Path(to)}/"
    hashes = {name: sha256(content).hexdigest() for name, content in files.items()}
    if json:
        console.print_json({n: {"uri": root + n, "sha256": sha} for n, sha in hashes.items()})
        return
    for name, sha in hashes.items():
        console.out.print(f"{sha}  {root}{name}", markup=False)
