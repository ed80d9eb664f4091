"""The process that is the embedded AWS: MiniStack, with some of its gaps closed.

Run as `python -m actonce.embedded.server RUNTIME BYTECODE`, as the leader of a process group of its
own, so that the functions' processes end with it. Its settings come from the environment that
`serving` makes. What it replaces is private to MiniStack; each replacement is given the original
first, and tests/embedded/test_ministack_gaps.py says when it can go.
"""

import contextlib
import functools
import json
import os
import signal
import sys
import zipfile
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ministack.core import lambda_runtime as workers
from ministack.services import cloudformation, dynamodb, lambda_svc, stepfunctions
from ministack.services.cloudformation import engine, provisioners

from actonce.embedded.lambda_runtime import BOOTSTRAP, LAYER, POWERTOOLS, start_host

EXPRESSION_SECONDS = 60

Function = Callable[..., Any]


def name_throttling(throttled: Function, *arguments: Any, **options: Any) -> Any:
    """Name the error of a throttled call as AWS does.

    MiniStack gives it no name where an execution calls the function, so it is `Lambda.Unknown`: an
    unknown outcome where AWS says that nothing happened.
    """
    response = throttled(*arguments, **options)
    response["body"]["errorType"] = "Lambda.TooManyRequestsException"
    return response


def expand_nested(parse: Function, body: str) -> Any:
    """Transform a nested stack's template as its parent's is transformed."""
    template = engine._apply_transforms(parse(body))  # noqa: SLF001
    if isinstance(template, engine._TransformFailed):  # noqa: SLF001
        raise ValueError(template.error)
    return template


def keep_attributes(update: Function, *arguments: Any) -> Any:
    """Have what the update of a nested stack leaves alone keep its attributes.

    MiniStack passes the update of a resource its old attributes, but not in a nested stack: there a
    resource that is unchanged has none afterwards, and each `Fn::GetAtt` of it fails the update.
    """
    *_, stack, logical_id = arguments
    known = cloudformation._stacks[stack]["_resources"][logical_id]  # noqa: SLF001
    return update(*arguments, known["Attributes"])


def find_by_physical_id(describe: Function, query: dict[str, Any]) -> Any:
    """Find the stack that has a resource by its physical id; MiniStack finds it by name only."""
    for wanted in query.get("PhysicalResourceId", ()):
        for name, stack in list(cloudformation._stacks.items()):  # noqa: SLF001
            its = [one.get("PhysicalResourceId") for one in stack.get("_resources", {}).values()]
            if wanted in its:
                return describe({**query, "StackName": [name]})
    return describe(query)


def retain_nested(delete: Function, physical_id: str, properties: Any) -> None:
    """Have what a nested stack retains outlive it, as on AWS; MiniStack deletes it."""
    name = provisioners._nested_stack_lookup_name(physical_id)  # noqa: SLF001
    stack = cloudformation._stacks.get(name, {})  # noqa: SLF001
    declared = stack.get("_template", {}).get("Resources", {})
    for logical_id in list(stack.get("_resources", {})):
        if declared.get(logical_id, {}).get("DeletionPolicy") == "Retain":
            del stack["_resources"][logical_id]
    delete(physical_id, properties)


def allow_expressions_time(
    compiled: Function, *arguments: Any, timeout: int | None = None, **options: Any
) -> Any:
    """Have an expression of a state machine ended after `EXPRESSION_SECONDS`, not after one.

    The limit is on the clock, which also runs where a busy machine lets the expression wait; the
    execution would fail past every Catch of a Wait state.
    """
    # Without a limit it is not evaluated, only looked at.
    limit = None if timeout is None else max(timeout, 1000 * EXPRESSION_SECONDS)
    return compiled(*arguments, timeout=limit, **options)


def evaluate_time_outs(execute: Function, state: dict[str, Any], *arguments: Any) -> Any:
    """Let a task's `TimeoutSeconds` be an expression; MiniStack takes numbers only."""
    if isinstance(state.get("TimeoutSeconds"), str):
        state_input, _, context = arguments
        try:
            seconds = stepfunctions._jsonata_state_field(  # noqa: SLF001
                state, "TimeoutSeconds", "number", state_input, context
            )
            state = {**state, "TimeoutSeconds": seconds}
        except stepfunctions._ExecutionError as error:  # noqa: SLF001
            # Raised where the task's own Retry and Catch see it.
            state = {**state, "Arguments": f"{{% $error({json.dumps(error.cause)}) %}}"}
    return execute(state, *arguments)


_contexts: dict[str, dict[str, Any]] = {}
"""The context of the task that an execution is at, by the execution's ARN."""


def note_context(
    execute: Function,
    state: dict[str, Any],
    state_input: Any,
    execution: dict[str, Any],
    context: dict[str, Any],
) -> Any:
    """Note where an execution is, for `close_tasks_of_aborted`."""
    _contexts[execution["executionArn"]] = context
    try:
        return execute(state, state_input, execution, context)
    finally:
        _contexts.pop(execution["executionArn"], None)


def close_tasks_of_aborted(stop: Function, data: dict[str, Any]) -> Any:
    """Refuse the answer to a task whose execution was stopped, as AWS does.

    MiniStack accepts it, so that a decision seems to be taken.
    """
    response = stop(data)
    task = _contexts.get(str(data.get("executionArn")), {}).get("Task", {})
    stepfunctions._task_tokens.pop(task.get("Token"), None)  # noqa: SLF001
    return response


_mock: ContextVar[dict[str, Any] | None] = ContextVar("mock", default=None)
"""TestState's, of the task that this thread runs."""


def answer_as_mocked(invoke: Function, *arguments: Any) -> Any:
    """Answer a task that is tested as its mock says."""
    mock = _mock.get()
    if mock is None:
        return invoke(*arguments)
    if error := mock.get("errorOutput"):
        raise stepfunctions._ExecutionError(error["error"], error.get("cause", ""))  # noqa: SLF001
    return json.loads(mock["result"])


def run_mocked_tasks(test: Function, data: dict[str, Any]) -> Any:
    """Have TestState run a task with a mock as an execution does.

    MiniStack reads its JSONata as JSONPath, and evaluates neither Arguments, Assign nor Output.
    """
    try:
        definition, name = json.loads(data["definition"]), data.get("stateName")
        task = definition.get("States", {}).get(name, definition)
    except (AttributeError, KeyError, ValueError):  # which it refuses
        return test(data)
    language = task.get("QueryLanguage", definition.get("QueryLanguage"))
    if (task.get("Type"), language) != ("Task", "JSONata") or "mock" not in data:
        return test(data)
    given = json.loads(data.get("input", "{}"))
    context = {"Execution": {"Input": given}, "State": {"Name": name}, "variables": {}}
    context |= {"QueryLanguage": language, **json.loads(data.get("context", "{}"))}
    execution: dict[str, Any] = {"events": [], "executionArn": "", "status": "RUNNING"}
    once, mocked = {**task, "Retry": []}, _mock.set(data["mock"])
    try:
        output, state = stepfunctions._execute_task(once, given, execution, context)  # noqa: SLF001
        result = {"status": "SUCCEEDED", "output": json.dumps(output)}
        result |= {"nextState": state} if state else {}
    except stepfunctions._ExecutionError as error:  # noqa: SLF001
        result = {"status": "FAILED", "error": error.error, "cause": error.cause}
    finally:
        _mock.reset(mocked)
    if failed := execution["events"][-1].get("taskFailedEventDetails"):
        failure = {"error": failed["error"], "cause": failed["cause"]}
        retriers, retried = task.get("Retry", []), data.get("stateConfiguration", {})
        counts = dict.fromkeys(range(len(retriers)), retried.get("retrierRetryCount", 0))
        if stepfunctions._find_matching_retrier(retriers, failed["error"], counts)[0]:  # noqa: SLF001
            result = {"status": "RETRIABLE", **failure}
        elif "output" in result:
            result |= {"status": "CAUGHT_ERROR", **failure}
    return stepfunctions.json_response(result)


def take_numbers(handle: Function, *arguments: Any) -> Any:
    """Let an event source mapping's numbers be a template's parameters, which are texts."""
    *_, properties, _stack = arguments
    for place in (properties, properties.get("ScalingConfig", {})):
        for name in {"BatchSize", "MaximumConcurrency"} & place.keys():
            place[name] = int(place[name])
    return handle(*arguments)


def recover_table(handle: Function, *arguments: Any, **options: Any) -> Any:
    """Give a table the point-in-time recovery that its template says."""
    made = handle(*arguments, **options)
    *_, properties = (one for one in arguments if isinstance(one, dict))
    key = "PointInTimeRecoverySpecification"
    dynamodb._update_continuous_backups(  # noqa: SLF001
        {"TableName": made[0], key: properties.get(key, {})}
    )
    return made


def _is_python(configuration: dict[str, Any]) -> bool:
    return str(configuration.get("Runtime")).startswith("python")


def require_code(fetch: Function, bucket: str, key: str, *arguments: Any, **options: Any) -> Any:
    """Refuse a function whose package is not there; MiniStack's would answer as if it had run."""
    code = fetch(bucket, key, *arguments, **options)
    if code is None:
        raise ValueError(
            f"s3://{bucket}/{key} is not on the embedded AWS: let the function's CodeUri, or "
            "Code, name a folder here"
        )
    return code


_unpacks_once = ContextVar("unpacks_once", default=False)


class NodeWorker(workers.Worker):  # type: ignore[misc]
    """A process of a function in Node, whose package is unpacked once for all of them.

    MiniStack unpacks it anew for each process, and removes the last one's first: with the SDK in
    it, seconds that no time-out counts, and on a busy machine more than a caller waits.
    """

    def _spawn(self) -> None:
        # Packages of layers are linked into the function's own, by links that end with the process.
        before = _unpacks_once.set(not self.config.get("Layers"))
        try:
            super()._spawn()
        finally:
            _unpacks_once.reset(before)


class Package(zipfile.ZipFile):
    """A function's package, as a process of `NodeWorker` unpacks it."""

    def extractall(self, path: Any = None, *arguments: Any, **options: Any) -> None:
        """Unpack it, or link to where it is unpacked."""
        if _unpacks_once.get():
            blob = Path(str(self.filename)).read_bytes()
            Path(path).rmdir()
            Path(path).symlink_to(lambda_svc._docker_extracted_dir(blob, "code"))  # noqa: SLF001
        else:
            super().extractall(path, *arguments, **options)


def choose_worker(class_for: Function, configuration: dict[str, Any]) -> Any:
    """Run functions in Python as custom runtimes; MiniStack's own names no error of theirs."""
    if _is_python(configuration):
        return workers.ProvidedWorker
    worker = class_for(configuration)
    return NodeWorker if worker is workers.Worker else worker


def add_bootstrap(bootstrap: Path, unpack: Function, code: bytes) -> Any:
    """Put what starts a custom runtime beside a function's code."""
    folder = unpack(code)
    with contextlib.suppress(FileExistsError):
        Path(folder, bootstrap.name).symlink_to(bootstrap)
    return folder


def add_layers(
    bootstrap: Path, environment: Function, configuration: dict[str, Any], *arguments: Any
) -> Any:
    """Name a function's layers to `bootstrap`; MiniStack gives a custom runtime none.

    Those deployed here are there; for AWS's own Powertools stands what is installed here.
    """
    made, folders = environment(configuration, *arguments), []
    for layer in configuration.get("Layers", []):
        if content := lambda_svc._resolve_layer_zip(layer):  # noqa: SLF001
            root = Path(lambda_svc._docker_extracted_dir(content, "layer"), "python")  # noqa: SLF001
            folders += [root, *root.glob("lib/*/site-packages")]
        elif POWERTOOLS in layer["Arn"]:
            folders.append(bootstrap.with_name(LAYER))
    return made | {"_LAYERS": "".join(f":{folder}" for folder in folders)}


_THROWN = "\0thrown"


def name_errors(execute: Function, function: dict[str, Any], *arguments: Any) -> Any:
    """Have an error of a function in Python or Node known by its name, as AWS's runtimes tell it.

    MiniStack's own runtimes call whatever a function raises or throws `Runtime.HandlerError`, and
    end a process in Node that threw, with what it has left running; on AWS the sandbox stays.
    """
    if _is_python(function.get("config") or function):
        return lambda_svc._execute_function_provided_warm(function, *arguments)  # noqa: SLF001
    result = execute(function, *arguments)
    body = result.get("body")
    if isinstance(body, dict) and _THROWN in body:
        name, message, trace = body[_THROWN]
        body = {"errorType": name or "Runtime.HandlerError", "errorMessage": message}
        return result | {"error": True, "body": body, "log": f"{result.get('log', '')}\n{trace}"}
    return result


def close_gaps(bootstrap: Path) -> None:
    """Replace in MiniStack what is not as on AWS.

    `bootstrap`: starts a function in Python.
    """
    for owner, name, replacement in (
        (lambda_svc, "_throttle_response", name_throttling),
        (lambda_svc, "_execute_function_warm", name_errors),
        (lambda_svc, "_fetch_code_from_s3", require_code),
        (lambda_svc, "_provided_runtime_code_dir", functools.partial(add_bootstrap, bootstrap)),
        (lambda_svc, "_provided_worker_env", functools.partial(add_layers, bootstrap)),
        (workers, "_worker_class_for", choose_worker),
        # Nested stacks look these two up there; what the outermost calls has names of its own.
        (engine, "_parse_template", expand_nested),
        (provisioners, "_update_resource", keep_attributes),
        (stepfunctions.jsonata.Jsonata, "jsonata", allow_expressions_time),
        (stepfunctions, "_execute_task", evaluate_time_outs),
        (stepfunctions, "_execute_task", note_context),
        (stepfunctions, "_stop_execution", close_tasks_of_aborted),
        (stepfunctions, "_invoke_resource", answer_as_mocked),
        (stepfunctions, "_invoke_with_callback", answer_as_mocked),
        (stepfunctions, "_test_state", run_mocked_tasks),
    ):
        replaced = functools.partial(replacement, getattr(owner, name))
        # From Python 3.14 on, a class would bind it as a method.
        setattr(owner, name, staticmethod(replaced) if isinstance(owner, type) else replaced)
    actions = cloudformation.handlers._ACTION_HANDLERS  # noqa: SLF001
    describe = actions["DescribeStackResources"]
    actions["DescribeStackResources"] = functools.partial(find_by_physical_id, describe)
    handlers = provisioners._RESOURCE_HANDLERS  # noqa: SLF001
    for kind, operation, handler in (
        ("AWS::CloudFormation::Stack", "delete", retain_nested),
        ("AWS::DynamoDB::Table", "create", recover_table),
        ("AWS::DynamoDB::Table", "update", recover_table),
        ("AWS::Lambda::EventSourceMapping", "create", take_numbers),
        ("AWS::Lambda::EventSourceMapping", "update", take_numbers),
    ):
        handlers[kind][operation] = functools.partial(handler, handlers[kind][operation])
    workers.zipfile = SimpleNamespace(**{**vars(zipfile), "ZipFile": Package})
    script = workers._NODEJS_WORKER_SCRIPT  # noqa: SLF001
    for error, message in (("err", "String(err.message || err)"), ("e", "e.message")):
        thrown = f"{json.dumps(_THROWN)}: [{error}.name, {message}, {error}.stack]"
        failed = f'status: "error", error: {message}, trace'
        script = script.replace(failed, f'status: "ok", result: {{{thrown}}}, trace')
    workers._NODEJS_WORKER_SCRIPT = script  # noqa: SLF001


def main() -> None:
    """Serve until SIGTERM."""
    runtime, bytecode = (Path(one) for one in sys.argv[1:])
    sys.argv[1:] = []

    from ministack import app  # noqa: PLC0415 - reads its settings when it is imported

    close_gaps(runtime / BOOTSTRAP)
    with start_host(runtime, bytecode):
        try:
            app.main()
        finally:
            # MiniStack leaves the functions' processes behind when it ends.
            os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
