"""The process that is the embedded AWS: MiniStack, with some of its gaps closed.

Run as `python -m actonce.embedded.server RUNTIME BYTECODE`, as the leader of a process group of its
own, so that the functions' processes end with it. Its settings come from the environment that
`serving` makes. What is changed here has no name for others in MiniStack;
tests/embedded/test_ministack_gaps.py says when it can go.
"""

import contextlib
import functools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actonce.embedded.lambda_runtime import BOOTSTRAP, start_host

EXPRESSION_SECONDS = 60


def name_throttling() -> None:
    """Have a throttled call of a function called in an execution what AWS calls it.

    MiniStack gives its error no name there, so it is `Lambda.Unknown`: an unknown outcome where AWS
    says that nothing happened.
    """
    from ministack.services import lambda_svc  # noqa: PLC0415 - as `app`

    throttled = lambda_svc._throttle_response  # noqa: SLF001

    @functools.wraps(throttled)
    def named(*arguments: Any, **named_arguments: Any) -> dict[str, Any]:
        response: dict[str, Any] = throttled(*arguments, **named_arguments)
        response["body"]["errorType"] = "Lambda.TooManyRequestsException"
        return response

    lambda_svc._throttle_response = named  # noqa: SLF001


def expand_nested() -> None:
    """Have a nested stack's template transformed as its parent's is; MiniStack does not."""
    from ministack.services.cloudformation import engine  # noqa: PLC0415 - as `app`

    parse = engine._parse_template  # noqa: SLF001

    # Looked up there when a nested stack is deployed; what parses the outermost has its own name.
    @functools.wraps(parse)
    def expanded(body: str) -> Any:
        template = engine._apply_transforms(parse(body))  # noqa: SLF001
        if isinstance(template, engine._TransformFailed):  # noqa: SLF001
            raise ValueError(template.error)
        return template

    engine._parse_template = expanded  # noqa: SLF001


def keep_attributes() -> None:
    """Have what the update of a nested stack leaves alone keep its attributes.

    MiniStack hands the update of a resource what it was, but for a nested stack's not its
    attributes: unchanged, it is without any then, and each `Fn::GetAtt` of it fails the update.
    """
    from ministack.services import cloudformation  # noqa: PLC0415 - as `app`
    from ministack.services.cloudformation import provisioners  # noqa: PLC0415

    update = provisioners._update_resource  # noqa: SLF001

    # Looked up there when a nested stack is updated; what updates the outermost has its own name.
    @functools.wraps(update)
    def with_attributes(*arguments: Any) -> Any:
        *_, stack, logical_id = arguments
        known = cloudformation._stacks[stack]["_resources"][logical_id]  # noqa: SLF001
        return update(*arguments, known["Attributes"])

    provisioners._update_resource = with_attributes  # noqa: SLF001


def retain_nested() -> None:
    """Have what a nested stack retains outlive it, as on AWS; MiniStack deletes it."""
    from ministack.services import cloudformation  # noqa: PLC0415 - as `app`
    from ministack.services.cloudformation import provisioners  # noqa: PLC0415

    handlers = provisioners._RESOURCE_HANDLERS["AWS::CloudFormation::Stack"]  # noqa: SLF001
    delete = handlers["delete"]

    @functools.wraps(delete)
    def without_retained(physical_id: str, properties: Any) -> None:
        name = provisioners._nested_stack_lookup_name(physical_id)  # noqa: SLF001
        stack = cloudformation._stacks.get(name, {})  # noqa: SLF001
        declared = stack.get("_template", {}).get("Resources", {})
        for logical_id in list(stack.get("_resources", {})):
            if declared.get(logical_id, {}).get("DeletionPolicy") == "Retain":
                del stack["_resources"][logical_id]
        delete(physical_id, properties)

    handlers["delete"] = without_retained


def allow_expressions_time() -> None:
    """Have an expression of a state machine ended after `EXPRESSION_SECONDS`, not after one.

    The limit is on the clock, which also runs where a busy machine lets the expression wait; the
    execution would fail past every Catch of a Wait state.
    """
    from ministack.services import stepfunctions  # noqa: PLC0415 - as `app`

    engine = stepfunctions.jsonata.Jsonata
    compiled = engine.jsonata

    @functools.wraps(compiled)
    def with_time(*arguments: Any, timeout: int | None = None, **named: Any) -> Any:
        # Without a limit it is not evaluated, only looked at.
        limit = None if timeout is None else max(timeout, 1000 * EXPRESSION_SECONDS)
        return compiled(*arguments, timeout=limit, **named)

    engine.jsonata = staticmethod(with_time)


def evaluate_time_outs() -> None:
    """Have a task's `TimeoutSeconds` be an expression; MiniStack takes numbers only."""
    from ministack.services import stepfunctions  # noqa: PLC0415 - as `app`

    execute = stepfunctions._execute_task  # noqa: SLF001

    @functools.wraps(execute)
    def with_time_out(state: dict[str, Any], *arguments: Any) -> Any:
        if isinstance(state.get("TimeoutSeconds"), str):
            state_input, _, context = arguments
            seconds = stepfunctions._jsonata_state_field(  # noqa: SLF001
                state, "TimeoutSeconds", "number", state_input, context
            )
            state = {**state, "TimeoutSeconds": seconds}
        return execute(state, *arguments)

    stepfunctions._execute_task = with_time_out  # noqa: SLF001


def close_tasks_of_aborted() -> None:
    """Have nobody answer a task whose execution was stopped, as on AWS.

    MiniStack takes the answer, so that a decision seems to be taken.
    """
    from ministack.services import stepfunctions  # noqa: PLC0415 - as `app`

    execute = stepfunctions._execute_task  # noqa: SLF001
    stop = stepfunctions._stop_execution  # noqa: SLF001
    at_work: dict[str, dict[str, Any]] = {}  # the context of a task, by its execution

    @functools.wraps(execute)
    def noted(
        state: dict[str, Any], state_input: Any, execution: dict[str, Any], context: dict[str, Any]
    ) -> Any:
        at_work[execution["executionArn"]] = context
        try:
            return execute(state, state_input, execution, context)
        finally:
            at_work.pop(execution["executionArn"], None)

    @functools.wraps(stop)
    def stopped(data: dict[str, Any]) -> Any:
        response = stop(data)
        task = at_work.get(str(data.get("executionArn")), {}).get("Task", {})
        stepfunctions._task_tokens.pop(task.get("Token"), None)  # noqa: SLF001
        return response

    stepfunctions._execute_task = noted  # noqa: SLF001
    stepfunctions._stop_execution = stopped  # noqa: SLF001


def take_numbers() -> None:
    """Have an event source mapping's numbers be numbers where they are a template's parameters."""
    from ministack.services.cloudformation import provisioners  # noqa: PLC0415 - as `app`

    handlers = provisioners._RESOURCE_HANDLERS["AWS::Lambda::EventSourceMapping"]  # noqa: SLF001

    def with_numbers(handle: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(handle)
        def handled(*arguments: Any) -> Any:
            *_, properties, _stack = arguments
            for place in (properties, properties.get("ScalingConfig", {})):
                for name in {"BatchSize", "MaximumConcurrency"} & place.keys():
                    place[name] = int(place[name])
            return handle(*arguments)

        return handled

    for name in ("create", "update"):
        handlers[name] = with_numbers(handlers[name])


def run_python_by_awss_own_client(bootstrap: Path) -> None:
    """Have functions in Python run as custom runtimes.

    MiniStack's own runtime for them calls whatever they raise `Runtime.HandlerError`.
    """
    from ministack.core import lambda_runtime as workers  # noqa: PLC0415 - as `app`
    from ministack.services import lambda_svc  # noqa: PLC0415

    class_for = workers._worker_class_for  # noqa: SLF001
    unpack = lambda_svc._provided_runtime_code_dir  # noqa: SLF001
    execute = lambda_svc._execute_function_warm  # noqa: SLF001

    def is_python(configuration: dict[str, Any]) -> bool:
        return str(configuration.get("Runtime")).startswith("python")

    def custom_class_for(configuration: dict[str, Any]) -> Any:
        if is_python(configuration):
            return workers.ProvidedWorker
        return class_for(configuration)

    def unpacked(code: bytes) -> Any:
        folder = unpack(code)
        with contextlib.suppress(FileExistsError):
            Path(folder, bootstrap.name).symlink_to(bootstrap)
        return folder

    def executed(function: dict[str, Any], *arguments: Any) -> Any:
        custom = lambda_svc._execute_function_provided_warm  # noqa: SLF001
        is_custom = is_python(function.get("config") or function)
        return (custom if is_custom else execute)(function, *arguments)

    workers._worker_class_for = custom_class_for  # noqa: SLF001
    lambda_svc._provided_runtime_code_dir = unpacked  # noqa: SLF001
    lambda_svc._execute_function_warm = executed  # noqa: SLF001


class _Named(str):
    """An error's message that knows the error's name."""

    __slots__ = ("name",)
    name: str


def name_errors_of_node() -> None:
    """Have an error of a function in Node be known by its name, as AWS's runtime tells it.

    MiniStack's own calls whatever they throw `Runtime.HandlerError`.
    """
    from ministack.core import lambda_runtime as workers  # noqa: PLC0415 - as `app`
    from ministack.services import lambda_svc  # noqa: PLC0415

    told = workers._NODEJS_WORKER_SCRIPT  # noqa: SLF001
    for error, trace in (("err", 'trace: err.stack || ""'), ("e", "trace: e.stack")):
        told = told.replace(trace, f"{trace}, name: {error}.name")
    workers._NODEJS_WORKER_SCRIPT = told  # noqa: SLF001
    invoke, execute = workers.Worker.invoke, lambda_svc._execute_function_warm  # noqa: SLF001

    @functools.wraps(invoke)
    def with_name(*arguments: Any, **options: Any) -> Any:
        result = invoke(*arguments, **options)
        if isinstance(result.get("name"), str):
            result["error"] = _Named(result["error"])
            result["error"].name = result["name"]
        return result

    @functools.wraps(execute)
    def executed(*arguments: Any) -> Any:
        result = execute(*arguments)
        body = result.get("body")
        if result.get("error") and isinstance(said := body.get("errorMessage"), _Named):
            body["errorType"] = said.name
        return result

    workers.Worker.invoke = with_name
    lambda_svc._execute_function_warm = executed  # noqa: SLF001


def main() -> None:
    """Serve until SIGTERM."""
    runtime, bytecode = (Path(one) for one in sys.argv[1:])
    sys.argv[1:] = []

    from ministack import app  # noqa: PLC0415 - reads its settings when it is imported

    name_throttling()
    expand_nested()
    keep_attributes()
    retain_nested()
    allow_expressions_time()
    evaluate_time_outs()
    close_tasks_of_aborted()
    take_numbers()
    name_errors_of_node()
    run_python_by_awss_own_client(runtime / BOOTSTRAP)
    with start_host(runtime, bytecode):
        try:
            app.main()
        finally:
            # MiniStack leaves the functions' processes behind when it ends.
            os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
