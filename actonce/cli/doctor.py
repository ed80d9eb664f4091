"""`actonce doctor`: compare what is deployed with what the stack assumes."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from actonce.cli.options import Json, stack_options
from actonce.doctor.findings import CHECKS, Examination, Hazard, examine
from actonce.doctor.looking import look
from actonce.doctor.states import Answer, Verdict, ask_about, exit_status
from actonce.stack.endpoint import TargetOptions
from actonce.stack.target import find_stack
from actonce.terminal import output as console

_HAZARD_NAMES = {
    Hazard.TWICE: "CAN ACT TWICE",
    Hazard.LOST: "CAN LOSE",
    Hazard.STOPS: "STOPS",
    Hazard.NONE: "advice",
}
States = Annotated[
    bool,
    typer.Option(
        "--states",
        help="Ask AWS's TestState, with mocked results, whether it runs the deployed states as "
        "is assumed; check nothing else.",
    ),
]


@stack_options()
def doctor(*, at: TargetOptions, states: States = False, json: Json = False) -> None:
    """Compare what is deployed with what the stack assumes.

    Time-outs, queues, concurrency, the table of effects, alarms. It says what to do, and it changes
    nothing and calls no function. Exit status: 1 if something can act twice, be lost or not go on;
    3 if nothing of that was found, but a check could not be made; 0 otherwise. With --states: 1 if
    something does not hold; 3 if something could not be asked.

    Example:

        actonce doctor --stack-name shop
    """
    stack = find_stack(at)
    if states:
        answers = ask_about(stack)
        if json:
            result = {
                "states": [asdict(one) for one in answers],
                "exit_status": exit_status(answers),
            }
            console.print_json({"stack": stack.display_name} | result)
        else:
            _show_answers(stack.display_name, answers)
        raise typer.Exit(exit_status(answers))
    examination = examine(look(stack))
    if json:
        console.print_json(_as_json(examination))
    else:
        _show(examination)
    if examination.exit_status:
        raise typer.Exit(examination.exit_status)


def _show(examination: Examination) -> None:
    for finding in examination.findings:
        console.out.print(f"{_HAZARD_NAMES[finding.hazard]}: {finding.sentence}")
    for name, why in examination.not_checked.items():
        console.out.print(f"NOT CHECKED ({name}): {why}.")
    made = len(CHECKS) - len(examination.not_checked)
    found = len(examination.findings)
    conclusion = f"{found} finding{'' if found == 1 else 's'}" if found else "nothing found"
    if examination.start_executions == "on-trouble":
        conclusion += "; executions are started on trouble only"
    console.out.print(f"{examination.stack}: {made} of {len(CHECKS)} checks made, {conclusion}.")


def _as_json(examination: Examination) -> dict[str, object]:
    return {
        "stack": examination.stack,
        "start_executions": examination.start_executions,
        "findings": [
            {"check": one.check, "hazard": one.hazard.value, "sentence": one.sentence}
            for one in examination.findings
        ],
        "not_checked": [
            {"check": name, "why": why} for name, why in examination.not_checked.items()
        ],
        "exit_status": examination.exit_status,
    }


def _show_answers(stack: str, answers: Sequence[Answer]) -> None:
    for one in answers:
        verdict, why = one.verdict.replace("_", " ").upper(), f": {one.why}" if one.why else ""
        console.out.print(f"{verdict} ({one.state}: {one.claim}){why}")
    hold = sum(one.verdict is Verdict.HOLDS for one in answers)
    console.out.print(f"{stack}: {hold} of {len(answers)} assumptions hold.")
