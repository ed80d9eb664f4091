"""`actonce audit verify`: whether what was judged is still what it was."""

from typing import Annotated

import typer

from actonce.cli.options import Json, of_aws
from actonce.records import verifying
from actonce.records.record_places import place
from actonce.records.verifying import Verification
from actonce.stack.endpoint import Chosen
from actonce.stack.target import find_aws
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, WrongUse
from pipeline.audit.reading.places import is_uri
from pipeline.audit.results.digests import BrokenChain
from pipeline.errors import CannotAudit


@of_aws(asks=True)
def verify(
    results: Annotated[
        str,
        typer.Argument(metavar="RESULTS", help="What audits wrote: a folder, or s3://bucket/…/."),
    ],
    records: Annotated[
        str | None,
        typer.Option(metavar="ROOT", help="Where the records are  [where they were judged]"),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(
            metavar="SHA256",
            help="This digest must be in the chain: what an audit told then, or its mail.",
        ),
    ] = None,
    accept: Annotated[
        bool,
        typer.Option("--accept", help="Take what is there now for true, and say so in a digest."),
    ] = False,
    *,
    at: Chosen,
    json: Json = False,
) -> None:
    """Say whether what was judged is still what it was.

    Reads RESULTS/digests and each file of records that they name, and starts no Spark. A folder of
    records that is named verify is audited as ./verify.

    Exit status: 0, all is as it was judged, whatever was added since; 1, a file was changed or
    removed, or the chain of digests is broken; 2, wrong use.

    Examples:

        actonce audit verify records/audit/

        actonce audit verify s3://bucket/audit/ --head 9f86d081884c…

        actonce audit verify records/audit/ --accept
    """
    aws = find_aws(at) if any(is_uri(one) for one in (results, records or "")) else None
    try:
        try:
            chain = verifying.read_chain(results, aws, head and head.strip().lower())
        except BrokenChain as error:
            _say(Verification(broken=str(error)), json=json)
            raise typer.Exit(1) from error
        root = records or chain.records or ""
        if is_uri(root) and aws is None:
            aws = find_aws(at)
        judged = place(root, aws)
        found = verifying.verify(chain, judged, root, results)
    except CannotAudit as error:
        raise WrongUse(f"{error} Say where the records are with --records.") from error
    _say(found, json=json)
    if found.is_as_judged:
        return
    if not accept:
        raise typer.Exit(1)
    if not at.yes:
        console.agree(
            "Take it for true?", "Nothing was accepted: say --yes, where nobody can be asked."
        )
    try:
        accepted = verifying.accept(found, results, aws, root)
    except CannotAudit as error:
        raise Failed(str(error)) from error
    console.say(f"Accepted: digest {accepted['number']}, {accepted['sha256']}")


def _say(found: Verification, *, json: bool) -> None:
    if json:
        console.print_json(found.as_json())
        return
    for path, what in sorted(found.became.items()):
        style = "yellow" if what == "added" else "red"
        console.out.print(f"{what}: {path}", style=style, markup=False)
    told = found.as_json()
    if found.broken is not None:
        said = found.broken
    else:
        files = console.counted(found.files, "file", "files")
        days = console.counted(told["days"], "day", "days")
        said = f"{files} of {days} as judged; " + ", ".join(
            f"{len(told[what]):,} {what}" for what in ("changed", "removed", "added")
        )
        if found.expired:
            said += f"; expired: {', '.join(told['expired'])}"
        said += f". Digest {told['digest']['number']}: {told['digest']['sha256']}"
    mark, style = ("✓", "green") if found.is_as_judged else ("✗", "red")
    console.out.print(f"{mark} {said}", style=style, markup=False)
