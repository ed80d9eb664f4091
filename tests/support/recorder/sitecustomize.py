"""Has the embedded AWS note each call of a function or a state machine, as IAM would see it.

Python runs this by itself in a process that has this folder on PYTHONPATH, before anything else; it
does nothing but in the embedded AWS's. With AUTH=true MiniStack gives each function a session of
its role. A call is noted in the file `RECORDED_CALLS`, a line of JSON each, and never refused: what
a refusal brings about may be green (the starter ignores it when it gives deliveries back).

    {"role": name of a role, "action", "resource", "context": condition keys}     of a function
    {"machine": ARN, "state": name, "integration", "arguments"}                   of a state machine
"""

import contextvars
import json
import os
import sys
import threading
from typing import Any

_lock = threading.Lock()
_body = contextvars.ContextVar("body", default=b"")
_state = contextvars.ContextVar("state", default=("", ""))


def _note(**call: Any) -> None:
    with _lock, open(os.environ["RECORDED_CALLS"], "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write(f"{json.dumps(call, default=str)}\n")


def _record() -> None:
    from ministack.core import iam_actions, iam_evaluator  # noqa: PLC0415
    from ministack.services import stepfunctions, sts  # noqa: PLC0415

    extract, enforce = iam_actions.extract_iam_action, iam_evaluator.enforce
    execute = stepfunctions._execute_task
    pin = iam_evaluator.pin_request_origin

    def extracting(*request: Any) -> Any:
        _body.set(request[4])
        return extract(*request)

    def enforcing(key: str, action: str, service: str, region: str, **options: Any) -> Any:
        if not key.startswith("ASIA"):
            return enforce(key, action, service, region, **options)
        context = dict(options.get("service_context") or {})
        if action == "events:PutEvents":
            context["events:source"] = [one["Source"] for one in json.loads(_body.get())["Entries"]]
        role = sts._sessions[key]["Arn"].split("/")[1]
        _note(role=role, action=action, resource=options.get("resource_arn", "*"), context=context)
        return None

    def executing(state: Any, state_input: Any, execution: Any, context: Any) -> Any:
        _state.set((execution["stateMachineArn"], context["State"]["Name"]))
        return execute(state, state_input, execution, context)

    def invoking(invoke: Any) -> Any:
        def invoked(resource: str, arguments: Any, *rest: Any) -> Any:
            machine, state = _state.get()
            _note(machine=machine, state=state, integration=resource, arguments=arguments)
            return invoke(resource, arguments, *rest)

        return invoked

    iam_actions.extract_iam_action, iam_evaluator.enforce = extracting, enforcing
    stepfunctions._execute_task = executing
    # It is spoken to without TLS, which every policy of the stack denies.
    iam_evaluator.pin_request_origin = lambda address, _tls: pin(address, True)
    for name in ("_invoke_resource", "_invoke_with_callback"):
        setattr(stepfunctions, name, invoking(getattr(stepfunctions, name)))


if "actonce.embedded.server" in sys.orig_argv:
    _record()
