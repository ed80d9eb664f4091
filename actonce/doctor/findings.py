"""Doctor's checks: each is a function of the facts, and yields sentences that say what to do."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from actonce.doctor.facts import CannotCheck, Facts, Function, Queue, existing, readable
from actonce.messages.filters import lasted

_DAY = 24 * 60 * 60
_KEPT_LONGEST = 14 * _DAY
_BATCHES_IN_SIX = 6
_CALM_RECEIVES = 100


class Hazard(StrEnum):
    """What may come of a finding."""

    TWICE = "twice"
    LOST = "lost"
    STOPS = "stops"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        check: the check's name.
        hazard: what may come of it.
        sentence: what is wrong, what may come of it, and what to do.
    """

    check: str
    hazard: Hazard
    sentence: str


@dataclass(frozen=True, slots=True)
class Examination:
    """A stack's findings, the worst first, and why a check could not be made, by its name.

    `start_executions`: see `Facts`.
    """

    stack: str
    findings: tuple[Finding, ...]
    not_checked: Mapping[str, str]
    start_executions: str

    @property
    def exit_status(self) -> int:
        """1: something can act twice, lose or stop; 3: a check could not be made; else 0."""
        if any(one.hazard is not Hazard.NONE for one in self.findings):
            return 1
        return 3 if self.not_checked else 0


class _Found(NamedTuple):
    hazard: Hazard
    sentence: str


Findings = Iterator[_Found]

_twice = partial(_Found, Hazard.TWICE)
_lost = partial(_Found, Hazard.LOST)
_stops = partial(_Found, Hazard.STOPS)
_advice = partial(_Found, Hazard.NONE)


def examine(facts: Facts) -> Examination:
    """Make every check."""
    findings: list[Finding] = []
    not_checked = {}
    for name, check in CHECKS.items():
        try:
            for hazard, sentence in check(facts):
                findings.append(Finding(name, hazard, sentence))
        except CannotCheck as cannot:
            not_checked[name] = str(cannot)
    findings.sort(key=lambda one: list(Hazard).index(one.hazard))
    return Examination(facts.stack, tuple(findings), not_checked, facts.start_executions)


def effect_time_out(facts: Facts) -> Findings:
    """The effect's function ends within EffectTimeoutSeconds."""
    function, allowed = existing(facts.effect), facts.number("EffectTimeoutSeconds")
    if function is None:
        return
    if function.timeout > allowed:
        yield _twice(
            f"{function.name} may run {function.timeout} s and EffectTimeoutSeconds is {allowed}: "
            "it could act after it was looked up, and be asked again. Give the function a time-out "
            f"of {allowed} s or less; or, while no message is open, set EffectTimeoutSeconds to "
            f"{function.timeout}."
        )
    if function.durable is not None and function.durable + function.timeout > allowed:
        yield _twice(
            f"{function.name} is a durable function, which goes on in further invocations when its "
            f"caller has gone, for {function.durable} s (its ExecutionTimeout), and "
            f"EffectTimeoutSeconds is {allowed}: it could act after it was looked up, and be asked "
            "again. Have a function without DurableConfig perform, or one whose ExecutionTimeout "
            f"and time-out together are {allowed} s or less."
        )


def effect_version(facts: Facts) -> Findings:
    """Executions call a published version, which no deployment changes, and it is the newest."""
    function = existing(facts.effect)
    if function is not None and not function.is_version:
        yield _twice(
            f"{function.name} is not a published version, so what is deployed there while "
            "executions are open is theirs as well: with a longer time-out it could act after it "
            "was looked up, and be asked again. Name a version of it with EffectFunctionArn."
        )
    for one in _called(facts):
        if since := readable(one.deployed_since):
            yield _advice(
                f"Executions call {one.name}, without the {' and '.join(since)} deployed "
                "by now. SAM publishes a version when the function's own text changes, not a "
                "parameter's value or a layer: name that parameter or layer in its "
                "VersionDescription, with UpdateReplacePolicy: Retain on the function, and deploy."
            )


def earlier_versions(facts: Facts) -> Findings:
    """The version that open executions name outlives the next deployment."""
    for one in _called(facts):
        if policies := readable(one.not_retained):
            yield _stops(
                f"The next deployment that publishes a version deletes {one.name}, and executions "
                f"that are open by then cannot go on. Set {' and '.join(policies)} of its "
                "AWS::Lambda::Version to Retain (with SAM on the function, which passes it on), "
                "and deploy."
            )


def _called(facts: Facts) -> list[Function]:
    """The functions that executions call, each once."""
    functions = (facts.find, existing(facts.effect))
    return list({one.arn: one for one in functions if isinstance(one, Function)}.values())


def starter_time_out(facts: Facts) -> Findings:
    """A starter that makes first attempts ends no later than executions assume of it."""
    if facts.start_executions == "always" or (starter := existing(facts.starter)) is None:
        return
    configured = int((readable(starter.variables) or {}).get("STARTER_TIMEOUT_SECONDS", "0"))
    if configured and starter.timeout > configured:
        yield _twice(
            f"{starter.name} may run {starter.timeout} s, and executions look up what it began as "
            f"if it ended after {configured}. Somebody changed the function: deploy it again."
        )


def effects(facts: Facts) -> Findings:
    """The effects are in a table that the stack names, and that can tell a second one."""
    if facts.effects is None:
        if facts.parameters.get("EffectFunctionArn"):
            yield _advice(
                "The stack names no table of effects, so actonce where takes the executions' word "
                "for each, the audit judges none, and nobody can see that one happened twice. If "
                "they are in DynamoDB, name the table by EffectsTableName and EffectsAttributes."
            )
        return
    table = existing(facts.effects)
    if table is None:
        name = facts.parameters.get("EffectsTableName") or "of the example"
        yield _stops(
            f"The effects table {name} is not there, in {facts.region}, so actonce where, the "
            "console and the audit can read no effect. Make it, or name another by "
            "EffectsTableName."
        )
        return
    if table.keys == (table.key,):
        yield _advice(
            f"The key of {table.name} is {table.key} alone, so a second effect of a message takes "
            "the place of the first, and nobody can see it. Give a new table a sort key, such as "
            "the order's number; or another key, and an index by message."
        )
    if no_lookup := readable(table.no_lookup):
        yield _advice(
            f"actonce where and the console cannot look up the effects of one message: {no_lookup} "
            f"They need {table.key} as a text or a number, and as the key of {table.name} or of an "
            "index with all attributes."
        )


def effects_items(facts: Facts) -> Findings:
    """The effects have the attributes that the stack names."""
    table = existing(facts.effects)
    if table is None:
        return
    items = readable(table.sample)
    if items and not any(one.message_id and (one.at or not table.time) for one in items):
        time = table.time and (
            f" and {table.time} as ISO 8601 with its zone, or as seconds or milliseconds since 1970"
        )
        yield _advice(
            f"No item in a sample of {len(items)} from {table.name} has {table.key}{time or ''}, "
            "so none counts as an effect. If these are effects, have EffectsAttributes name the "
            "attribute that has the message's id, then the one that says when."
        )


def effects_export(facts: Facts) -> Findings:
    """The nightly audit can export the effects."""
    table = existing(facts.effects)
    if table is not None and table.recovers is not None and not readable(table.recovers):
        yield _stops(
            f"{table.name} has no point-in-time recovery, so the nightly audit cannot export it, "
            "and ends as not audited. Turn it on in its template, by "
            "PointInTimeRecoverySpecification."
        )


def functions(facts: Facts) -> Findings:
    """The functions that the stack calls exist."""
    for parameter, fact in (("EffectFunctionArn", facts.effect), ("FindFunctionArn", facts.find)):
        if fact is not None and existing(fact) is None:
            yield _stops(
                f"The function of {parameter} is not there, in {facts.region}, so every message "
                "becomes a dead letter. Deploy it, or name another."
            )
    if existing(facts.starter) is None:
        yield _stops(
            "The function that the queue feeds is not there, so nothing is taken. Deploy the stack "
            "again."
        )


def concurrency(facts: Facts) -> Findings:
    """The functions that the stack calls may run."""
    for fact, then in (
        (facts.effect, "messages become dead letters after their retries"),
        (facts.starter, "no message is taken"),
    ):
        function = existing(fact)
        if function is not None and readable(function.reserved) == 0:
            yield _stops(
                f"{function.name} has a reserved concurrency of 0, so it is never run, and {then}. "
                f"Take the limit away; to pause the stack: actonce pause{facts.options}"
            )


def queue(facts: Facts) -> Findings:
    """The requests queue is of the right type, hides messages long enough, and can be read."""
    requests = existing(facts.requests)
    if requests is None:
        yield _stops(
            "The requests queue is not there, so nothing is taken and nobody can send. Make it "
            "again by deploying the stack that it belongs to."
        )
        return
    wanted = facts.parameters.get("QueueType", "standard")
    if requests.is_fifo != (wanted == "fifo"):
        kind = "FIFO" if requests.is_fifo else "standard"
        yield _lost(
            f"{requests.name} is a {kind} queue and QueueType is "
            f"{wanted}, so what cannot be started cannot be moved to UnstartedQueue, and is "
            "dropped when the queue's retention is over. Set QueueType to what the queue is."
        )
    key, given = requests.key, facts.parameters.get("KmsKeyArn", "")
    if key not in ("", "alias/aws/sqs", given, given.rpartition("/")[2]):
        yield _Found(
            Hazard.NONE if "alias/" in key else Hazard.STOPS,
            f"{requests.name} is encrypted with {key}, and KmsKeyArn is {given or 'not set'}: if "
            "that is another key, the stack's roles may not use it, and nothing can be taken. Give "
            "the key's ARN as KmsKeyArn.",
        )
    starter = existing(facts.starter)
    is_hurried = facts.is_embedded and not facts.parameters.get("RequestsQueueName")
    if starter is None or is_hurried:
        return
    seconds, visibility = facts.seconds_of(starter), requests.visibility
    enough = _BATCHES_IN_SIX * seconds
    if visibility < seconds:
        yield _stops(
            f"{requests.name} has a visibility timeout of {visibility} s, less than the time-out "
            f"of what it feeds ({seconds} s): AWS refuses to deploy such an event source mapping. "
            f"Set it to {enough} s or more."
        )
    elif visibility < enough:
        yield _advice(
            f"{requests.name} has a visibility timeout of {visibility} s, less than six times the "
            f"time-out of what it feeds ({seconds} s): messages come again while they are at work. "
            f"Set it to {enough} s or more."
        )


def redrive(facts: Facts) -> Findings:
    """What SQS itself removes from the requests queue ends where somebody looks."""
    requests = existing(facts.requests)
    if requests is None:
        return
    if requests.retention < _KEPT_LONGEST:
        yield _Found(
            Hazard.LOST if requests.retention < _DAY else Hazard.NONE,
            f"{requests.name} drops what was not taken within {lasted(requests.retention)}. "
            "Set its retention to 14 days, so that an outage or a pause has time.",
        )
    if not requests.dead_letter_target:
        yield _advice(
            f"{requests.name} has no redrive policy: what ends the starter each time comes again "
            "until it is dropped. Give it one, with a maxReceiveCount of 1000."
        )
        return
    target = requests.dead_letter_target.rpartition(":")[2]
    if requests.max_receive_count < _CALM_RECEIVES:
        yield _lost(
            f"{requests.name} moves a message to {target} when it was received "
            f"{requests.max_receive_count} times: throttling or an outage does that, and it ends "
            "where it was never acted on. Set maxReceiveCount to 1000: what cannot be started is "
            "handed on by itself."
        )
    unstarted = existing(facts.unstarted)
    if unstarted is None or unstarted.arn != requests.dead_letter_target:
        yield _advice(
            f"{requests.name} moves what was received too often to {target}, where actonce "
            "unstarted and actonce where do not look. Have an alarm on it."
        )


def feeding(facts: Facts) -> Findings:
    """This stack takes messages from the requests queue, and nobody else does."""
    starter, feeds = existing(facts.starter), readable(facts.feeds)
    own = "" if starter is None else starter.arn
    ours = [one for one in feeds if one.function == own]
    for other in feeds:
        if other.function != own and other.takes:
            yield _twice(
                f"{other.name} takes from the requests queue as well, and acts on what it takes "
                "without ActOnce. Remove its event source mapping."
            )
    for one in ours:
        if one.filters or not one.reports_failures:
            fault = "has filter criteria" if one.filters else "lacks ReportBatchItemFailures"
            yield _lost(
                f"The event source mapping of {one.name} {fault}: deliveries that were not acted "
                "on are deleted. Deploy the stack again: somebody changed the mapping."
            )
    if not any(one.takes for one in ours) and readable(facts.pause) is None:
        yield _stops(
            "No event source mapping of this stack takes messages, and nobody paused it with "
            "actonce. If there is none, deploy the stack again; to enable it: actonce "
            f"resume{facts.options}"
        )


def pausing(facts: Facts) -> Findings:
    """The stack is not paused."""
    pause = readable(facts.pause)
    if pause is not None:
        yield _advice(
            f"The stack is paused since {pause.since} by {pause.by}, and SQS drops what has waited "
            f"for its queue's retention, 14 days at most. To go on: actonce resume{facts.options}"
        )


def deciding(facts: Facts) -> Findings:
    """Only people take dead letters, which wait as long as their executions do."""
    for one in readable(facts.decides):
        if one.takes:
            yield _lost(
                f"{one.name} takes from DeadLetterQueue: without its message nobody can decide "
                "on a dead letter. Remove its event source mapping."
            )
    yield from _waits(
        "DeadLetterQueue", existing(facts.dead_letters), facts.number("DecisionTimeoutSeconds")
    )


def handing_on(facts: Facts) -> Findings:
    """What cannot be started waits in UnstartedQueue until a person sees it."""
    yield from _waits("UnstartedQueue", existing(facts.unstarted), _KEPT_LONGEST)


def _waits(name: str, queue: Queue | None, seconds: int) -> Findings:
    """The queue keeps its messages for so many seconds, and moves none away."""
    if queue is None or queue.retention < seconds or queue.dead_letter_target:
        yield _lost(
            f"{name} is not as the stack deploys it: what a person has to see waits in it for "
            f"{seconds / _DAY:.3g} days, and looking counts as receiving, so it may have no "
            "redrive policy. Deploy the stack again: somebody deleted or changed the queue."
        )


def telling(facts: Facts) -> Findings:
    """Somebody hears of alarms."""
    if not readable(facts.subscriptions):
        yield _advice(
            "Nobody is told of alarms: the topic has no subscription that is confirmed. Set "
            "AlarmEmail and confirm it, or subscribe to AlarmTopicArn."
        )


CHECKS: dict[str, Callable[[Facts], Findings]] = {
    "effect-time-out": effect_time_out,
    "effect-version": effect_version,
    "earlier-versions": earlier_versions,
    "starter-time-out": starter_time_out,
    "feeding": feeding,
    "queue": queue,
    "redrive": redrive,
    "pause": pausing,
    "dead-letters": deciding,
    "unstarted": handing_on,
    "functions": functions,
    "concurrency": concurrency,
    "effects": effects,
    "effects-items": effects_items,
    "effects-export": effects_export,
    "alarms": telling,
}
"""By name, as `--json` and a person see it."""

OF_VERSIONS = frozenset({"effect-version", "earlier-versions"})
"""What `actonce up` says as well, for it deploys."""
