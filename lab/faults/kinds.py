"""The kinds of transient failure that are measured, and with how many messages each."""

from lab.faults.transient import DYNAMODB, PROVIDER, SQS, STEP_FUNCTIONS, Quota, TransientFailure

# fmt: off
MEASURED = {
    failure.name: failure
    for failure in (
        TransientFailure(
            "throttled", "StartExecution is allowed 6 times a second.",
            quotas={"StartExecution": Quota(25, 6)}, messages=600,
        ),
        TransientFailure(
            "throttled-less", "StartExecution is allowed 20 times a second.",
            quotas={"StartExecution": Quota(25, 20)}, messages=600,
        ),
        TransientFailure(
            "table-throttled",
            "PutItem, of the starter and of the effect, is allowed 20 times a second.",
            quotas={"PutItem": Quota(25, 20)},
        ),
        TransientFailure(
            "provider-down", "The provider is down, and says that nothing was performed.",
            down=frozenset({PROVIDER}), down_seconds=90,
        ),
        TransientFailure(
            "slow-provider", "The provider takes 10 messages a second.",
            quotas={PROVIDER: Quota(10, 10)}, messages=1000,
        ),
        TransientFailure(
            "dynamodb-down", "DynamoDB fails: the starter's table, and the effect's.",
            down=frozenset({DYNAMODB}), down_seconds=120,
        ),
        TransientFailure(
            "step-functions-down", "Step Functions starts nothing.",
            down=frozenset({STEP_FUNCTIONS}), down_seconds=120,
        ),
        TransientFailure(
            "step-functions-silent", "Step Functions does not answer.",
            down=frozenset({STEP_FUNCTIONS}), down_seconds=120, is_silent=True,
        ),
        TransientFailure(
            "sqs-down",
            "SQS takes nothing back from the functions, while Step Functions starts nothing.",
            down=frozenset({SQS, STEP_FUNCTIONS}), down_seconds=120,
        ),
        TransientFailure(
            "find-down",
            "The first answer of each message's effect is lost, and then find fails for 10 s.",
            find_fails_seconds=10, loses_answers=True, messages=40,
        ),
    )
}
# fmt: on
"""What `lab.bench.transient_failures` measures."""

QUIET_SECONDS = 900
"""Longest wait for anything to move; longer than the longest back-off."""

PARAMETERS = {
    "MaximumConcurrency": "4",
    "EffectTimeoutSeconds": "15",
}
"""Values of the stack's parameters: 40 deliveries at once, in batches of ten; the time-out of AWS's
default, which is shorter on the embedded AWS otherwise."""
