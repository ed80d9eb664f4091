"""What doctor finds of facts, and what it says where it could not look."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from actonce.doctor.facts import (
    Effects,
    Facts,
    Feed,
    Function,
    Missing,
    Queue,
    Unreadable,
)
from actonce.doctor.findings import CHECKS, examine
from actonce.messages.effect_store import OwnEffect
from actonce.queues.depth import Pause
from tests.support.snapshots import Snapshot

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
BOUGHT = OwnEffect("g-1", "card-7", NOW, {"amount": "20"}, has_time=True)
NOBODYS = replace(BOUGHT, message_id="")
SAMPLE = (NOBODYS, BOUGHT)
EFFECTS = Effects(
    *("cards", "order_id", "sent_at"),
    keys=("order_id", "card"),
    sample=SAMPLE,
    recovers=True,
)
PARAMETERS = {
    "DecisionTimeoutSeconds": str(14 * DAY),
    "EffectFunctionArn": EFFECT.arn,
    "EffectTimeoutSeconds": "15",
    "FindFunctionArn": EFFECT.arn,
    "KmsKeyArn": "",
    "QueueType": "standard",
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
    effects=EFFECTS,
    pause=None,
    subscriptions=1,
)


def parameters(**changed: str) -> dict[str, Any]:
    return {"parameters": PARAMETERS | changed}


def queue(**changed: Any) -> dict[str, Any]:
    return {"requests": replace(REQUESTS, **changed)}


def of_cards(qualifier: str) -> Function:
    return replace(EFFECT, arn=f"{LAMBDA}:cards{qualifier}")


def effects(**changed: Any) -> dict[str, Any]:
    return {"effects": replace(EFFECTS, **changed)}


OTHER = Feed(f"{LAMBDA}:old-consumer", "Enabled", reports_failures=True)
OFF = replace(OURS, state="Disabled")

ON_TROUBLE = parameters(StartExecutions="on-trouble")
ATTEMPTS = replace(STARTER, variables={"STARTER_TIMEOUT_SECONDS": "30"})

HURRIED = {"is_embedded": True, "starter": replace(STARTER, timeout=16)}

UNREADABLE = Unreadable("GetIt was answered AccessDenied: no")

FACTS: dict[str, dict[str, Any]] = {
    "all is right": {},
    "a longer time-out": {"effect": replace(EFFECT, timeout=16)},
    "a durable effect": {"effect": replace(EFFECT, durable=1)},
    "a durable effect within its time-out": {"effect": replace(EFFECT, timeout=5, durable=10)},
    "no version": {"effect": of_cards("")},
    "an alias": {"effect": of_cards(":live")},
    "code deployed since": {"effect": replace(EFFECT, deployed_since=("CodeSha256",))},
    "the look-up's version goes with the next": {
        "find": Function(
            f"{LAMBDA}:looks:1", 5, not_retained=("DeletionPolicy", "UpdateReplacePolicy")
        )
    },
    "a starter that attempts": ON_TROUBLE | {"starter": ATTEMPTS},
    "one that runs longer": ON_TROUBLE | {"starter": replace(ATTEMPTS, timeout=31)},
    "one that runs longer, and only starts": {"starter": replace(ATTEMPTS, timeout=31)},
    "another consumer": {"feeds": (OURS, OTHER)},
    "failures not reported": {"feeds": (replace(OURS, reports_failures=False),)},
    "a filter": {"feeds": (replace(OURS, filters=True),)},
    "not fed": {"feeds": (OFF,)},
    "no queue": {"requests": Missing(), "feeds": (OURS,)},
    "a FIFO queue": queue(arn=f"{SQS}:orders.fifo"),
    "a FIFO queue as is said": queue(arn=f"{SQS}:orders.fifo") | parameters(QueueType="fifo"),
    "a key": queue(key="arn:aws:kms:us-east-1:1:key/a"),
    "the key that is named": queue(key="a") | parameters(KmsKeyArn="arn:aws:kms:us-east-1:1:key/a"),
    "SQS's own key": queue(key="alias/aws/sqs"),
    "a key's alias": queue(key="alias/own"),  # which key it names is not looked up
    "a short visibility time-out": queue(visibility=179),
    "too short a visibility time-out": queue(visibility=29),
    "one as long as the time-out": queue(visibility=30),
    "the embedded AWS's own": queue(visibility=18) | HURRIED,
    "theirs there, too short on AWS": queue(visibility=29)
    | HURRIED
    | parameters(RequestsQueueName="o"),
    "theirs there, with a longer starter": queue(visibility=59)
    | HURRIED
    | parameters(RequestsQueueName="o", StarterTimeoutSeconds="60"),
    "4 days in the queue": queue(retention=4 * DAY),
    "an hour in the queue": queue(retention=3600),
    "no redrive": queue(dead_letter_target=""),
    "99 receives": queue(max_receive_count=99),
    "100 receives": queue(max_receive_count=100),
    "another dead-letter queue": queue(dead_letter_target=f"{SQS}:dlq"),
    "paused": {"pause": Pause("2026-03-12T12:00:00Z", "kim", ""), "feeds": (OFF,)},
    "another decides": {"decides": (OTHER,)},
    "no dead letters": {"dead_letters": Missing()},
    "4 days for dead letters": {"dead_letters": replace(LETTERS, retention=4 * DAY)},
    "dead letters are moved": {"dead_letters": replace(LETTERS, dead_letter_target="x")},
    "no unstarted": {"unstarted": Missing()},
    "no effect": {"effect": Missing()},
    "no look-up": {"find": Missing()},
    "no starter": {"starter": Missing(), "feeds": ()},
    "the effect may not run": {"effect": replace(EFFECT, reserved=0)},
    "the starter may not run": {"starter": replace(STARTER, reserved=0)},
    "no table of effects": {"effects": None},
    "no table of effects, of the example": {"effects": None} | parameters(EffectFunctionArn=""),
    "the table of effects is gone": {"effects": Missing()} | parameters(EffectsTableName="cards"),
    "a key that is the message's alone": effects(keys=("order_id",)),
    "no index by message": effects(keys=("card",), no_lookup="order_id is no key."),
    "no effects yet": effects(sample=()),
    "no effect is a message's": effects(sample=(NOBODYS, NOBODYS)),
    "no effect has a time": effects(sample=(replace(BOUGHT, at=None),)),
    "one of many has no time": effects(sample=(*SAMPLE, replace(BOUGHT, at=None))),
    "no time is named": effects(time=None, sample=(replace(BOUGHT, at=None),)),
    "no audit exports them": effects(recovers=None),
    "the audit cannot export them": effects(recovers=False),
    "alarms that tell nobody": {"subscriptions": 0},
    "the worst comes first": {
        "decides": (OTHER,),
        "effect": replace(EFFECT, timeout=90),
        "subscriptions": 0,
    },
    # What could not be read is named and never taken for good.
    **{
        f"{fact} could not be read": {fact: UNREADABLE}
        for fact in (
            *("effect", "find", "starter", "requests", "unstarted", "dead_letters"),
            *("feeds", "decides", "effects", "pause", "subscriptions"),
        )
    },
    **{
        f"{fact} of the effects could not be read": effects(**{fact: UNREADABLE})
        for fact in ("no_lookup", "sample", "recovers")
    },
    "concurrency could not be read": {"effect": replace(EFFECT, reserved=UNREADABLE)},
    "what was deployed could not be read": {"effect": replace(EFFECT, deployed_since=UNREADABLE)},
    "what keeps the version could not be read": {
        "effect": replace(EFFECT, not_retained=UNREADABLE)
    },
    # Who may not use the function's key is told no variables.
    "variables could not be read": ON_TROUBLE | {"starter": replace(STARTER, variables=UNREADABLE)},
    "found before a check broke off": {"feeds": (OTHER, OFF), "pause": UNREADABLE},
}


def test_findings_are_as_reviewed(snapshot: Snapshot) -> None:
    lines: list[str] = []
    found: set[str] = set()
    for name, changed in FACTS.items():
        examination = examine(replace(SOUND, **changed))
        lines.append(f"{name}: {examination.exit_status}\n")
        for one in examination.findings:
            found.add(one.check)
            lines += [f"    {one.check}, {one.hazard.name}: {one.sentence}\n"]
        for check, why in examination.not_checked.items():
            found.add(check)
            lines += [f"    {check} not checked: {why}\n"]
    snapshot("doctor.txt", "".join(lines))
    assert found == set(CHECKS)
