"""Where MiniStack is not AWS, and this project knows it.

Each test passes while the gap is there, and says what can go when it closes. Nothing is deployed:
what MiniStack does stands in its source, and the tests beside this one run on it.
"""

import inspect
import re
from typing import Any

import pytest
from ministack.services import cloudwatch_logs, lambda_svc, scheduler
from ministack.services import stepfunctions as sfn
from ministack.services.cloudformation import provisioners as cfn

NESTED = cfn._cfn_nested_stack_deploy
AUDIT, STACK, SERVER = "local_audit.py", "local_stack.py", "server.py"


@pytest.mark.parametrize(
    ("what_can_go", "where", "source", "says", "does_not_say"),
    [
        ("allow_expressions_time", SERVER, sfn, "timeout=1000", None),
        ("evaluate_time_outs", SERVER,
         sfn._invoke_with_callback, '"TimeoutSeconds", 99999', "_jsonata"),
        ("close_tasks_of_aborted", SERVER, sfn._stop_execution, '"ABORTED"', "_task_tokens"),
        ("adopting.md's word of it", "docs",
         sfn.handle_request, '"StopExecution"', "RedriveExecution"),
        ("name_throttling", SERVER,
         lambda_svc._throttle_response, "retryAfterSeconds", "errorType"),
        ("run_python_by_awss_own_client", SERVER,
         lambda_svc, 'type = "Runtime.HandlerError"', None),
        ("take_numbers", SERVER, cfn._lambda_esm_create, "ScalingConfig", "MaximumConcurrency"),
        ("expand_nested", SERVER,
         NESTED, r"_parse_template\(template_body\)", "_apply_transforms"),
        ("keep_attributes", SERVER, NESTED, r"child_name, child_logical_id,\s+\)", None),
        ("retain_nested", SERVER,
         cfn._cfn_nested_stack_delete, r"_delete_resource\(", "DeletionPolicy"),
        ("LOCAL_RETRY so short", STACK,
         sfn, r"_scaled_sleep\(min\(sleep_sec, 60\)\)", "JitterStrategy"),
        ("leaving alarms of several metrics out", STACK,
         cfn._cw_metric_alarm_record, r"\(metric math\) is not supported", None),
        ("the function in the place of the application", AUDIT,
         cfn, '"AWS::CloudWatch::Alarm": ', "AWS::EMRServerless"),
        ("the stand-in for startJobRun", AUDIT,
         sfn, "is not yet implemented in MiniStack", "emr-serverless"),
        ("the stand-in for getObject", AUDIT, sfn, '"HeadBucket": {', '"GetObject": {'),
        ("the other name of an error", AUDIT,
         sfn, '"ExecutionAlreadyExists"', "ExecutionAlreadyExistsException"),
        # AWS answers a running one of the same input with 200; moto does, too.
        ("moto, where a duplicate start is tried", "tests",
         sfn._start_execution,
         r'if exec_arn in _executions:\s+return error_response_json\(\s+"ExecutionAlready', None),
        ("looking for one message's lines at a time", "actonce/messages",
         cloudwatch_logs._filter_log_events, '"limit"', "nextToken"),
        ("putting the time into the schedule's input", "tests/embedded/test_audit_night.py",
         scheduler, '"ScheduleExpression"', "scheduled-time"),
    ],
)  # fmt: skip
def test_what_is_worked_around_is_there(
    what_can_go: str, where: str, source: Any, says: str, does_not_say: str | None
) -> None:
    text = inspect.getsource(source)
    is_open = re.search(says, text) and (does_not_say is None or does_not_say not in text)
    assert is_open, f"MiniStack has closed a gap: {what_can_go}, in {where}, may go"
