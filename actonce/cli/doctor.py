"""`actonce doctor`: compare what is deployed with what the stack assumes."""

from datetime import UTC, datetime

import typer

from actonce.cli.options import Json, of_a_stack
from actonce.doctor.findings import CHECKS, Examination, Hazard, examine
from actonce.doctor.looking import look
from actonce.stack.endpoint import Chosen
from actonce.stack.target import find_stack
from actonce.terminal import output as console

_TOLD = {
    Hazard.TWICE: "CAN ACT TWICE",
    Hazard.LOST: "CAN LOSE",
    Hazard.STOPS: "STOPS",
    Hazard.NONE: "advice",
}


@of_a_stack()
def doctor(*, at: Chosen, json: Json = False) -> None:
    """Compare what is deployed with what the stack assumes.

    Time-outs, queues, concurrency, the table of effects, alarms. It says what to do, and it changes
    nothing and calls no function. Exit status: 1 if something can act twice, be lost or not go on;
    3 if nothing of that was found, but a check could not be made; 0 otherwise.

    Example:

        actonce doctor --stack-name shop
    """
    examination = examine(look(find_stack(at), datetime.now(UTC)))
    if json:
        console.print_json(_as_json(examination))
    else:
        _show(examination)
    if examination.exit_status:
        raise typer.Exit(examination.exit_status)


def _show(examination: Examination) -> None:
    for finding in examination.findings:
        console.out.print(f"{_TOLD[finding.hazard]}: {finding.sentence}")
    for one in examination.not_checked:
        console.out.print(f"NOT CHECKED ({one.check}): {one.why}.")
    made = len(CHECKS) - len(examination.not_checked)
    found = len(examination.findings)
    told = f"{found} finding{'' if found == 1 else 's'}" if found else "nothing found"
    console.out.print(f"{examination.stack}: {made} of {len(CHECKS)} checks made, {told}.")


def _as_json(examination: Examination) -> dict[str, object]:
    return {
        "stack": examination.stack,
        "findings": [
            {"check": one.check, "hazard": one.hazard.value, "sentence": one.sentence}
            for one in examination.findings
        ],
        "not_checked": [{"check": one.check, "why": one.why} for one in examination.not_checked],
        "exit_status": examination.exit_status,
    }
