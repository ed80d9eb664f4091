"""What doctor finds of facts, and what it says where it could not look."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from actonce.doctor.facts import Alarms, Facts, Feed, Function, Gone, Queue, Unseen
from actonce.doctor.findings import CHECKS, Hazard, examine
from actonce.queues.standing import Pause

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
LAMBDA = "arn:aws:lambda:us-east-1:123456789012:function"
SQS = "arn:aws:sqs:us-east-1:123456789012"
DAY = 24 * 60 * 60
EFFECT = Function(f"{LAMBDA}:cards:3", 15)
STARTER = Function(f"{LAMBDA}:starter", 30)
REQUESTS = Queue(f"{SQS}:requests", 210, 14 * DAY, f"{SQS}:unstarted", 1000)
UNSTARTED = Queue(f"{SQS}:unstarted", 30, 14 * DAY)
LETTERS = Queue(f"{SQS}:letters", 30, 14 * DAY)
OURS = Feed(STARTER.arn, "Enabled", reports_failures=True)
PARAMETERS = {
    "DecisionTimeoutSeconds": str(14 * DAY),
    "EffectFunctionArn": EFFECT.arn,
    "EffectTimeoutSeconds": "15",
    "FindFunctionArn": EFFECT.arn,
    "KmsKeyArn": "",
    "MaximumConcurrency": "10",
    "NamesRememberedDays": "25",
    "QueueType": "standard",
    "Strategy": "step-functions",
}
SOUND = Facts(
    stack="shop/Once",
    parameters=PARAMETERS,
    region="us-east-1",
    effect=EFFECT,
    find=EFFECT,
    starter=STARTER,
    requests=REQUESTS,
    unstarted=UNSTARTED,
    dead_letters=LETTERS,
    feeds=(OURS,),
    decides=(),
    pause=None,
    alarms=Alarms(1, 0),
    now=NOW,
)


def sound_but(**changed: Any) -> Facts:
    return replace(SOUND, **changed)


def told(**parameters: str) -> dict[str, Any]:
    return {"parameters": PARAMETERS | parameters}


def queue(**changed: Any) -> dict[str, Any]:
    return {"requests": replace(REQUESTS, **changed)}


def of_cards(qualifier: str) -> Function:
    return replace(EFFECT, arn=f"{LAMBDA}:cards{qualifier}")


def paused(days: float) -> Pause:
    return Pause((NOW - timedelta(days=days)).isoformat(), "kim", "")


OTHER = Feed(f"{LAMBDA}:old-consumer", "Enabled", reports_failures=True)
OFF = replace(OURS, state="Disabled")
LEDGER = told(Strategy="ledger")
CONSUMER = replace(STARTER, variables={"FUNCTION_TIMEOUT_SECONDS": "30"})

FOUND: list[tuple[dict[str, Any], str, Hazard]] = [
    ({"effect": replace(EFFECT, timeout=16)}, "effect-time-out", Hazard.TWICE),
    ({"effect": replace(EFFECT, durable=1)}, "effect-time-out", Hazard.TWICE),
    ({"effect": of_cards("")}, "effect-version", Hazard.TWICE),
    ({"effect": of_cards(":live")}, "effect-version", Hazard.TWICE),
    ({"effect": replace(EFFECT, deployed_since=("code",))}, "effect-version", Hazard.NONE),
    (
        {"find": Function(f"{LAMBDA}:looks:1", 5, deployed_since=("variables",))},
        "effect-version",
        Hazard.NONE,
    ),
    (LEDGER | {"starter": replace(CONSUMER, timeout=60)}, "consumer-time-out", Hazard.TWICE),
    ({"feeds": (OURS, OTHER)}, "feeding", Hazard.TWICE),
    ({"feeds": (replace(OURS, reports_failures=False),)}, "feeding", Hazard.LOST),
    ({"feeds": (replace(OURS, filters=True),)}, "feeding", Hazard.LOST),
    ({"feeds": (OFF,)}, "feeding", Hazard.STOPS),
    ({"feeds": ()}, "feeding", Hazard.STOPS),
    ({"requests": Gone(), "feeds": (OURS,)}, "queue", Hazard.STOPS),
    (queue(arn=f"{SQS}:orders.fifo"), "queue", Hazard.LOST),
    (queue(key="arn:aws:kms:us-east-1:1:key/a"), "queue", Hazard.STOPS),
    (queue(visibility=179) | told(RequestsQueueName="orders"), "queue", Hazard.NONE),
    (queue(retention=4 * DAY), "redrive", Hazard.NONE),
    (queue(retention=3600), "redrive", Hazard.LOST),
    (queue(dead_letter_target=""), "redrive", Hazard.NONE),
    (queue(max_receive_count=3), "redrive", Hazard.LOST),
    (queue(max_receive_count=10), "redrive", Hazard.NONE),
    (queue(dead_letter_target=f"{SQS}:dlq"), "redrive", Hazard.NONE),
    ({"pause": paused(2), "feeds": (OFF,)}, "pause", Hazard.NONE),
    ({"pause": paused(12), "feeds": (OFF,)}, "pause", Hazard.LOST),
    *(
        ({"pause": Pause(since, "kim", ""), "feeds": (OFF,)}, "pause", Hazard.NONE)
        for since in ("2026-03-14T11:00:00", "2026-03-14", "a while")
    ),
    ({"decides": (OTHER,)}, "dead-letters", Hazard.LOST),
    ({"dead_letters": Gone()}, "dead-letters", Hazard.LOST),
    ({"dead_letters": replace(LETTERS, retention=4 * DAY)}, "dead-letters", Hazard.LOST),
    ({"dead_letters": replace(LETTERS, dead_letter_target="x")}, "dead-letters", Hazard.LOST),
    ({"unstarted": Gone()}, "unstarted", Hazard.LOST),
    ({"unstarted": replace(UNSTARTED, dead_letter_target="x")}, "unstarted", Hazard.LOST),
    ({"unstarted": replace(UNSTARTED, retention=4 * DAY)}, "unstarted", Hazard.LOST),
    ({"effect": Gone()}, "functions", Hazard.STOPS),
    ({"find": Gone()}, "functions", Hazard.STOPS),
    ({"starter": Gone(), "feeds": ()}, "functions", Hazard.STOPS),
    (told(EffectFunctionArn=EFFECT.arn.replace("us-", "eu-")), "functions", Hazard.STOPS),
    ({"effect": replace(EFFECT, reserved=0)}, "concurrency", Hazard.STOPS),
    ({"starter": replace(STARTER, reserved=0)}, "concurrency", Hazard.STOPS),
    ({"find": None}, "looking-up", Hazard.NONE),
    ({"alarms": Alarms(0, 1)}, "alarms", Hazard.NONE),
]


@pytest.mark.parametrize(("changed", "check", "hazard"), FOUND)
def test_it_is_found_by_its_check_and_for_its_hazard(
    changed: dict[str, Any], check: str, hazard: Hazard
) -> None:
    examined = examine(sound_but(**changed))
    assert (check, hazard) in {(one.check, one.hazard) for one in examined.findings}
    assert examined.exit_status == (0 if hazard is Hazard.NONE else 1)
    assert examined.not_checked == ()


def test_every_check_finds_something_here() -> None:
    assert {one[1] for one in FOUND} | {"remembering"} == set(CHECKS)


def test_the_worst_comes_first() -> None:
    changed = sound_but(find=None, decides=(OTHER,), effect=replace(EFFECT, timeout=90))
    hazards = [one.hazard for one in examine(changed).findings]
    assert hazards == [Hazard.TWICE, Hazard.LOST, Hazard.NONE]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        queue(arn=f"{SQS}:orders.fifo") | told(QueueType="fifo"),
        queue(max_receive_count=100),
        queue(key="alias/aws/sqs"),
        queue(visibility=18),
        {"effect": replace(EFFECT, timeout=5, durable=10)},
    ],
)
def test_what_is_right_is_not_found(changed: dict[str, Any]) -> None:
    examined = examine(sound_but(**changed))
    assert (examined.findings, examined.not_checked, examined.exit_status) == ((), (), 0)


UNSEEN = Unseen("GetIt was answered AccessDenied: no")
BLIND: dict[str, set[str]] = {
    "effect": {"effect-time-out", "effect-version", "functions", "concurrency"},
    "find": {"functions"},
    "starter": {"queue", "feeding", "functions", "concurrency"},
    "requests": {"queue", "redrive"},
    "unstarted": {"redrive", "unstarted"},
    "dead_letters": {"dead-letters"},
    "feeds": {"feeding"},
    "decides": {"dead-letters"},
    "pause": {"pause"},
    "alarms": {"alarms"},
}


@pytest.mark.parametrize("fact", BLIND)
def test_what_could_not_be_read_is_named_and_never_taken_for_good(fact: str) -> None:
    examined = examine(sound_but(**{fact: UNSEEN}))
    assert {one.check for one in examined.not_checked} == BLIND[fact]
    assert {one.why for one in examined.not_checked} == {UNSEEN.why}
    assert (examined.findings, examined.exit_status) == ((), 3)


@pytest.mark.parametrize(
    ("changed", "check"),
    [
        # Which key an alias names is not looked up.
        (queue(key="alias/own"), "queue"),
        ({"effect": replace(EFFECT, reserved=UNSEEN)}, "concurrency"),
        ({"effect": replace(EFFECT, deployed_since=UNSEEN)}, "effect-version"),
        # Nor does AWS tell for how long an account remembers names.
        (told(NamesRememberedDays="60"), "remembering"),
        # Who may not use the function's key is told no variables.
        (LEDGER | {"starter": replace(STARTER, variables=UNSEEN)}, "consumer-time-out"),
    ],
)
def test_what_may_be_right_or_wrong_is_neither(changed: dict[str, Any], check: str) -> None:
    examined = examine(sound_but(**changed))
    assert [one.check for one in examined.not_checked] == [check]
    assert (examined.findings, examined.exit_status) == ((), 3)


def test_what_was_found_before_a_check_broke_off_is_told() -> None:
    blind = sound_but(feeds=(OTHER, OFF), pause=UNSEEN)
    examined = examine(blind)
    assert [one.hazard for one in examined.findings] == [Hazard.TWICE]
    assert {one.check for one in examined.not_checked} == {"feeding", "pause"}
    assert examined.exit_status == 1
