"""The kinds of transient failure that are measured, and with how many messages each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lab.faults.token_bucket import Quota
from lab.faults.transient import DYNAMODB, LAMBDA, PROVIDER, SQS, STEP_FUNCTIONS, TransientFailure


@dataclass(frozen=True, slots=True)
class Case:
    """A failure, and how many messages meet it; all of them are sent at once."""

    failure: TransientFailure
    messages: int

    def resized(
        self,
        *,
        messages: int | None = None,
        down_seconds: float | None = None,
        bucket: float | None = None,
        refill: float | None = None,
    ) -> "Case":
        """The same with other sizes; None keeps each, and what it has none of it does not get."""
        failure = self.failure
        quotas = {
            what: Quota(
                quota.bucket if bucket is None else bucket,
                quota.refill if refill is None else refill,
            )
            for what, quota in failure.quotas.items()
        }
        seconds = failure.down_seconds
        if seconds and down_seconds is not None:
            seconds = down_seconds
        return Case(
            replace(failure, quotas=quotas, down_seconds=seconds),
            self.messages if messages is None else messages,
        )


def _by_name(*shown: Case) -> Mapping[str, Case]:
    return {one.failure.name: one for one in shown}


MEASURED = _by_name(
    Case(
        TransientFailure(
            "throttled",
            "StartExecution is allowed 6 times a second.",
            quotas={"StartExecution": Quota(25, 6)},
        ),
        600,
    ),
    Case(
        TransientFailure(
            "throttled-less",
            "StartExecution is allowed 20 times a second.",
            quotas={"StartExecution": Quota(25, 20)},
        ),
        600,
    ),
    Case(
        TransientFailure(
            "table-throttled",
            "PutItem, of the starter and of the effect, is allowed 20 times a second.",
            quotas={"PutItem": Quota(25, 20)},
        ),
        300,
    ),
    Case(
        TransientFailure(
            "lambda-throttled",
            "Lambda takes 5 calls of the effect's function a second.",
            quotas={LAMBDA: Quota(10, 5)},
        ),
        300,
    ),
    Case(
        TransientFailure(
            "provider-down",
            "The provider is down, and says that nothing was performed.",
            down=frozenset({PROVIDER}),
            down_seconds=90,
        ),
        300,
    ),
    Case(
        TransientFailure(
            "slow-provider",
            "The provider takes 10 messages a second.",
            quotas={PROVIDER: Quota(10, 10)},
        ),
        1000,
    ),
    Case(
        TransientFailure(
            "dynamodb-down",
            "DynamoDB fails: the starter's table, and the effect's.",
            down=frozenset({DYNAMODB}),
            down_seconds=120,
        ),
        300,
    ),
    Case(
        TransientFailure(
            "step-functions-down",
            "Step Functions starts nothing.",
            down=frozenset({STEP_FUNCTIONS}),
            down_seconds=120,
        ),
        300,
    ),
    Case(
        TransientFailure(
            "step-functions-silent",
            "Step Functions does not answer.",
            down=frozenset({STEP_FUNCTIONS}),
            down_seconds=120,
            is_silent=True,
        ),
        300,
    ),
    Case(
        TransientFailure(
            "sqs-down",
            "SQS takes nothing back from the functions, while Step Functions starts nothing.",
            down=frozenset({SQS, STEP_FUNCTIONS}),
            down_seconds=120,
        ),
        300,
    ),
    Case(
        TransientFailure(
            "find-down",
            "The first answer of each message's effect is lost, and then find fails for 10 s.",
            find_fails_seconds=10,
            loses_answers=True,
        ),
        40,
    ),
)
"""What `lab.bench.transient_failures` measures."""

PARAMETERS: Mapping[str, str] = {
    "MaximumConcurrency": "4",
    "EffectTimeoutSeconds": "15",
}
"""Values of the stack's parameters: 40 deliveries at once, in batches of ten; the time-out of AWS's
default, which is shorter on the embedded AWS otherwise."""


def parameters(
    known: frozenset[str],
    given: Mapping[str, str] | None = None,
    instead: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Values of a stack's parameters for transient failures.

    Args:
        known: the parameters that the stack has; others are left out.
        given: by whoever asks; stand above all, known or not.
        instead: of `PARAMETERS`.
    """
    values = {**PARAMETERS, **(instead or {})}
    return {name: value for name, value in values.items() if name in known} | dict(given or {})
