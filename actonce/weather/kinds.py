"""The kinds of weather that are shown, and how many messages each is shown with."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from actonce.weather.sky import DYNAMODB, LAMBDA, PROVIDER, SQS, STEP_FUNCTIONS, Weather
from actonce.weather.token_bucket import Quota


@dataclass(frozen=True, slots=True)
class Shown:
    """A weather, and with how many messages it is shown; all of them are sent at once."""

    weather: Weather
    messages: int

    def resized(
        self,
        *,
        messages: int | None = None,
        down_seconds: float | None = None,
        bucket: float | None = None,
        refill: float | None = None,
    ) -> "Shown":
        """The same with other sizes; None keeps each, and what it has none of it does not get."""
        weather = self.weather
        quotas = {
            what: Quota(
                quota.bucket if bucket is None else bucket,
                quota.refill if refill is None else refill,
            )
            for what, quota in weather.quotas.items()
        }
        seconds = weather.down_seconds
        if seconds and down_seconds is not None:
            seconds = down_seconds
        return Shown(
            replace(weather, quotas=quotas, down_seconds=seconds),
            self.messages if messages is None else messages,
        )


def _by_name(*shown: Shown) -> Mapping[str, Shown]:
    return {one.weather.name: one for one in shown}


MEASURED = _by_name(
    Shown(
        Weather(
            "throttled",
            "StartExecution is allowed 6 times a second.",
            quotas={"StartExecution": Quota(25, 6)},
        ),
        600,
    ),
    Shown(
        Weather(
            "throttled-less",
            "StartExecution is allowed 20 times a second.",
            quotas={"StartExecution": Quota(25, 20)},
        ),
        600,
    ),
    Shown(
        Weather(
            "table-throttled",
            "PutItem, of the starter and of the effect, is allowed 20 times a second.",
            quotas={"PutItem": Quota(25, 20)},
        ),
        300,
    ),
    Shown(
        Weather(
            "lambda-throttled",
            "Lambda takes 5 calls of the effect's function a second.",
            quotas={LAMBDA: Quota(10, 5)},
        ),
        300,
    ),
    Shown(
        Weather(
            "provider-down",
            "The provider is down, and says that nothing was performed.",
            down=frozenset({PROVIDER}),
            down_seconds=90,
        ),
        300,
    ),
    Shown(
        Weather(
            "slow-provider",
            "The provider takes 10 messages a second, and does not say when it takes more.",
            quotas={PROVIDER: Quota(10, 10)},
        ),
        1000,
    ),
    Shown(
        Weather(
            "slow-provider-says-when",
            "The provider takes 10 messages a second, and says when it takes more.",
            quotas={PROVIDER: Quota(10, 10)},
        ),
        1000,
    ),
    Shown(
        Weather(
            "dynamodb-down",
            "DynamoDB fails: the starter's table, and the effect's.",
            down=frozenset({DYNAMODB}),
            down_seconds=120,
        ),
        300,
    ),
    Shown(
        Weather(
            "step-functions-down",
            "Step Functions starts nothing.",
            down=frozenset({STEP_FUNCTIONS}),
            down_seconds=120,
        ),
        300,
    ),
    Shown(
        Weather(
            "step-functions-silent",
            "Step Functions does not answer.",
            down=frozenset({STEP_FUNCTIONS}),
            down_seconds=120,
            is_silent=True,
        ),
        300,
    ),
    Shown(
        Weather(
            "sqs-down",
            "SQS takes nothing back from the functions, while Step Functions starts nothing.",
            down=frozenset({SQS, STEP_FUNCTIONS}),
            down_seconds=120,
        ),
        300,
    ),
    Shown(
        Weather(
            "find-down",
            "The first answer of each message's effect is lost, and then find fails for 10 s.",
            find_fails_seconds=10,
            loses_answers=True,
        ),
        40,
    ),
)
"""What `bench/weather.py` measures."""

DEMO = {
    "throttled": Shown(MEASURED["throttled"].weather, 200),
    "outage": Shown(
        Weather(
            "outage",
            "SQS, Step Functions and the provider are down for 20 s.",
            down=frozenset({SQS, STEP_FUNCTIONS, PROVIDER}),
            down_seconds=20,
        ),
        200,
    ),
    "burst": Shown(
        Weather(
            "burst",
            "The provider takes 10 messages a second.",
            quotas={PROVIDER: Quota(10, 10)},
        ),
        300,
    ),
}
"""What `actonce demo --weather` shows, by the words it is asked with."""

PARAMETERS: Mapping[str, str] = {
    "MaximumConcurrency": "4",
    "EffectTimeoutSeconds": "15",
}
"""Values of the stack's parameters for bad weather: 40 deliveries at once, in batches of ten; the
time-out of AWS's default, which is shorter on the embedded AWS otherwise."""


def parameters(
    known: frozenset[str],
    given: Mapping[str, str] | None = None,
    instead: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Values of a stack's parameters for bad weather.

    Args:
        known: the parameters that the stack has; others are left out.
        given: by whoever asks; stand above all, known or not.
        instead: of `PARAMETERS`.
    """
    values = {**PARAMETERS, **(instead or {})}
    return {name: value for name, value in values.items() if name in known} | dict(given or {})
