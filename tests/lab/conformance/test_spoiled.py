"""What ships, spoiled on purpose in one place: the suite finds each of them out."""

import copy
import inspect
import textwrap
from dataclasses import replace
from functools import partial, reduce
from operator import getitem
from typing import Any

import pytest

from actonce_core import first_attempt, start
from actonce_core.first_attempt import FirstAttempt
from actonce_core.locking import idempotent
from actonce_core.locking.lease import Lease
from actonce_core.locking.lease_table import LeaseTable
from actonce_core.start import Starter
from lab.conformance import simulated_stack, trial
from lab.conformance.deployments import deploy_in_turn, replace_state_machine
from lab.conformance.hazards import ONCE_OR_TWICE, Scenario, Sent, find_scenario
from lab.conformance.process import Hazard
from lab.conformance.simulated_stack import (
    FUNCTION,
    SimulatedStack,
    StrategyUnderTest,
    process_message,
)
from lab.conformance.stepfunctions import InvariantViolation
from lab.conformance.strategies import lease
from lab.conformance.strategies.lease import LEASE_FENCED, LEASE_ON_A_HOST, LEASE_WAY
from lab.conformance.strategies.step_functions import ON_TROUBLE, STEP_FUNCTIONS
from lab.conformance.trial import run_trial
from lab.conformance.verdict import FinalState, Kind, Verdict, judge

LOST, PARKED, TWICE = Kind.LOST, Kind.PARKED, Kind.TWICE


def _worst(way: StrategyUnderTest, hazard: str, definition: Any = None) -> Kind:
    return run_trial(way, find_scenario(hazard), definition=definition).worst.kind


def _is_noticed(
    way: StrategyUnderTest, hazard: Scenario | str, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """Whether the walk comes upon that verdict; it ends there."""

    class Noticed(Exception):
        pass

    def first(final: FinalState) -> Verdict:
        verdict = judge(final)
        if verdict.kind == kind:
            raise Noticed
        return verdict

    monkeypatch.setattr(trial, "judge", first)
    try:
        run_trial(way, find_scenario(hazard) if isinstance(hazard, str) else hazard)
    except Noticed:
        return True
    return False


# ------------------------------------------------------------------ the state machine


def _spoiled(definition: Any, path: tuple[str | int, ...], instead: Any) -> Any:
    """The definition with another value at one place of its states."""
    definition = copy.deepcopy(definition)
    *parents, last = path
    node: Any = reduce(getitem, parents, definition["States"])
    assert node[last] != instead
    node[last] = instead
    return definition


_PROOF = ["NotPerformed", "Lambda.TooManyRequestsException", "Lambda.ResourceNotFoundException"]
_WITHOUT_ITS_SHAPE = (
    "{% $exists($states.result.Payload.performed) ? $states.result.Payload.performed : null %}"
)
_WAITS_FOR_ITS_OWN_TIME_OUT = (
    simulated_stack.EFFECT_TIMEOUT + simulated_stack.STRAGGLER_MARGIN
) // 1000


@pytest.mark.parametrize(
    ("path", "instead", "hazard"),
    [
        # As AWS advises it for steps that may be repeated.
        (
            "PerformEffect.Retry.0.ErrorEquals",
            [*_PROOF, "Lambda.ServiceException"],
            "services-fail",
        ),
        ("PerformEffect.Retry.0.ErrorEquals", [*_PROOF, "Sandbox.Timedout"], "effect-late"),
        ("PerformEffect.Arguments.Payload.operation", "perform", "aborted-redriven"),
        ("PerformEffect.Arguments.FunctionName", FUNCTION, "deployed-between"),
        ("PerformEffect.Arguments.FunctionName", FUNCTION, "changed-by-hand"),
        # Of a list of one, JSONata takes what is in it.
        ("FindEffect.Output.performed", _WITHOUT_ITS_SHAPE, "unclear"),
        ("AwaitStraggler.Seconds", 1, "effect-late"),
        pytest.param(
            *("AwaitStraggler.Seconds", _WAITS_FOR_ITS_OWN_TIME_OUT, "mended-by-deploying"),
            marks=pytest.mark.long,
        ),
        ("AwaitStraggler.Next", "PerformEffect", "crash-after-effect"),
        ("Decision.Choices.2.Next", "PerformEffect", "tried-again"),
    ],
)
def test_a_spoiled_state_machine_acts_twice(path: str, instead: Any, hazard: str) -> None:
    keys = tuple(int(key) if key.isdigit() else key for key in path.split("."))

    assert _worst(STEP_FUNCTIONS, hazard, _spoiled(process_message(), keys, instead)) == TWICE


def test_a_state_machine_that_ends_without_saying_what_happened_is_found_out() -> None:
    gives_up = _spoiled(process_message(), ("PerformEffect", "Catch", 3, "Next"), "Done")

    with pytest.raises(InvariantViolation, match="a is said to be None"):
        _worst(STEP_FUNCTIONS, "crash", gives_up)


def test_a_state_machine_that_does_not_perform_on_a_persons_word_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blind = process_message(FindFunctionArn="")
    looks = _spoiled(blind, ("Decision", "Choices", 0, "Next"), "FindEffect")
    monkeypatch.setattr(simulated_stack, "_blind_machine", lambda: looks)

    with pytest.raises(InvariantViolation, match="was to be performed, and asks again"):
        _worst(STEP_FUNCTIONS, "told-by-a-person")


# ------------------------------------------------------------------ the starter and the lease


def _spoil(monkeypatch: pytest.MonkeyPatch, function: str, line: str, instead: str) -> None:
    """Compile a function of `_OWNERS` anew, with one line of it replaced."""
    owner, _, name = function.partition(".")
    place = _OWNERS[owner]
    before: Any = getattr(place, name)
    source = textwrap.dedent(inspect.getsource(before))
    assert source.count(line) == 1, f"{function} has no such line any more: {line}"
    compiled: dict[str, Any] = {}
    exec(source.replace(line, instead), before.__globals__, compiled)
    monkeypatch.setattr(place, name, compiled[name])


_OWNERS: dict[str, Any] = {
    "function": simulated_stack,
    "start": start,
    "FirstAttempt": FirstAttempt,
    "act_once": idempotent,
    "idempotent": lease,
    "Starter": Starter,
    "Stack": SimulatedStack,
    "Table": LeaseTable,
    "Lease": Lease,
}

_START = "return self._start(message, first_seen_now=False, attempted=version_in(known))"
_HELD = 'raise StillInProgress(f"message {message_id} is held by another attempt")'
_END = '_end_process(left, message["message_id"], error)'
_NOT_HEARD = "return True  # the next one may succeed; until then `may_begin_until` stays as it is"


@pytest.mark.parametrize(
    ("function", "line", "instead", "way", "hazard", "expected"),
    [
        # The fingerprint is forgotten; its row is taken for a start; a refusal is not handed on.
        ("Starter._begin", 'self._put(row, "attribute_not_exists(message_id)")', "None",
         STEP_FUNCTIONS, "conflict", LOST),
        ("Starter._go_by", _START, "return Start.SUPPRESSED",
         STEP_FUNCTIONS, "crash", LOST),
        ("Starter.start_message", "self.unstarted.send_to_unstarted(delivery, message)", "pass",
         STEP_FUNCTIONS, "poison", LOST),
        ("Starter._start", "        raise\n", "        return Start.SUPPRESSED\n",
         STEP_FUNCTIONS, "services-fail", LOST),
        # The row is young enough, and the name is free again.
        ("Starter._go_by", "=self.names_remembered", "=self.names_remembered * 3",
         STEP_FUNCTIONS, "short-history", TWICE),
        pytest.param("start.refusal_of", "known_memory != memory", "False",
                     STEP_FUNCTIONS, "another-memory", TWICE, marks=pytest.mark.long),
        ("act_once.act_once", "effect = find()", "pass",
         LEASE_FENCED, "crash-after-effect", TWICE),
        ("Lease._completed", 'row["fingerprint"]["S"] != fingerprint', "False",
         LEASE_FENCED, "conflict", LOST),
        # Whatever happened, the message is released as if nothing had; then acknowledged.
        ("idempotent.idempotent", "except (NotPerformed, Rejected):", "except Exception:",
         LEASE_FENCED, "effect-unheard", TWICE),
        ("idempotent.idempotent", "return act_once(lease, got, perform, look_up)",
         ("try:\n                return act_once(lease, got, perform, look_up)\n            "
          "except NotPerformed:\n                return {'a': 1}"),
         LEASE_FENCED, "redriven", LOST),
        # It is not looked up; or its heart does not beat meanwhile.
        ("idempotent.idempotent", "None if find is None else functools.partial(find, message)",
         "None", LEASE_FENCED, "crash", PARKED),
        ("act_once.act_once", "with lease.at_work(attempt):", "if True:",
         LEASE_WAY, "slow-look-up", PARKED),
        # A takeover that does not wait for the lease, or the margin; or ignores the version.
        ("Lease._outwait", "> 0", "> 1e9", LEASE_WAY, "effect-late", TWICE),
        ("act_once.act_once", "if attempt.straggler_seconds:", "if False:",
         LEASE_WAY, "margin", TWICE),
        ("Lease.acquire_processing_lock", "IS_AS_SEEN, ", '"#status = :in_progress", ',
         LEASE_WAY, "effect-late", TWICE),
        ("Lease._beat", _NOT_HEARD, "pass", LEASE_WAY, "unheard", TWICE),
        ("Table.fence", "IS_HELD", '"attribute_exists(message_id)"', LEASE_FENCED, "zombie", TWICE),
        # What the effect has left running goes on in the sandbox in which it is looked up.
        ("function.answer", _END, "pass", STEP_FUNCTIONS, "frozen", TWICE),
        # Needed where nothing ends an attempt before the next may begin, and nothing fences it.
        ("act_once.act_once", "if lease.is_lost(attempt):", "if False:",
         LEASE_ON_A_HOST, "late-answer", TWICE),
        ("act_once.act_once", "if lease.is_lost(attempt):", "if False:",
         LEASE_WAY, "late-answer", TWICE),
    ],
)  # fmt: skip
def test_a_spoiled_starter_or_lease_is_found_out(
    function: str,
    line: str,
    instead: str,
    way: StrategyUnderTest,
    hazard: str,
    expected: Kind,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _spoil(monkeypatch, function, line, instead)

    assert _is_noticed(way, hazard, expected, monkeypatch)


def test_a_delivery_that_is_acknowledged_while_another_attempt_holds_its_message_loses_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = 'return Completed(Outcome.PERFORMED, {"slot": 1})'
    _spoil(monkeypatch, "Lease.acquire_processing_lock", _HELD, done)
    # The first dies, and the second, which the third sees at work.
    dying = Scenario("", "", "", Sent(at_once=(3,)), (Hazard.CRASH_BEFORE_EFFECT,), budget=2)

    assert _is_noticed(LEASE_FENCED, dying, LOST, monkeypatch)


# ------------------------------------------------------------------ first attempts

_PERFORM = "effect = first.perform(message, attempts)"
_ANSWER = 'description: dict[str, Any] = answer(self.effect, event)["effect"]'
_RELEASE = 'self._replace(row, row | {"stage": {"S": RELEASED}})'
_DELETE = 'self.dynamodb.delete_item(TableName=self.table, Key={"message_id": row["message_id"]})'
_UNCONDITIONAL = 'self._put(row | {"stage": {"S": RELEASED}}, "attribute_exists(message_id)")'
_TWICE_INVOKED = """try:
        description = answer(self.effect, event)["effect"]
    except Exception:
        description = answer(self.effect, event)["effect"]"""
_ACKNOWLEDGED = "return self._go_on(row, message, row, now)"
_STORED = "attempted=version_in(known))"
_ANEW = "attempted=first.version if first else None)"
_UNMARKED = "if stage == RELEASED:"
_WAIT = 'return {name: one["S"] if "S" in one else int(one["N"]) for name, one in stored.items()}'
_AN_OUTLIVING_EFFECT_AND_A_PAUSE = Scenario(
    "pause-and-outlives", "", "", ONCE_OR_TWICE,
    (Hazard.PAUSE, Hazard.EFFECT_OUTLIVES), budget=2, pauses=(20_000,),
)  # fmt: skip
_REPLACED_AT_ONCE = Scenario(
    "replaced-at-once", "", "", Sent(again=(500,)),
    (Hazard.CRASH, Hazard.EFFECT_LATE), budget=2,
    set_up=partial(deploy_in_turn, after=0, changes=[("replaces it", replace_state_machine)]),
)  # fmt: skip


@pytest.mark.parametrize(
    ("function", "line", "instead", "hazard", "kind"),
    [
        # It waits for nothing; reads anew what it waits for, or where the execution is.
        ("start.version_in", _WAIT, f'{_WAIT} | {{"margin": -15}}', "effect-late", TWICE),
        pytest.param("Starter._go_by", _STORED, _ANEW, "retimed", TWICE, marks=pytest.mark.long),
        ("start.refusal_of", "known_memory != memory", "False", _REPLACED_AT_ONCE, TWICE),
        # Complete before the effect; acknowledged before the start; begun taken for done.
        ("Starter._attempt", _PERFORM, f"self._complete(row, {{}}); {_PERFORM}", "crash", LOST),
        ("Starter._attempt", _ACKNOWLEDGED, "return Start.STARTED", "crash", LOST),
        ("Starter._go_by", ' and known["status"]["S"] == "COMPLETE"', "", "crash", LOST),
        ("start.refusal_of", "fingerprint != message.fingerprint", "False",
         "conflict", LOST),
        # Another name for each execution; another invocation; an execution that begins anew.
        ("Starter._start", "name=message.execution_name",
         "name=message.execution_name + self.first_attempt.new_id()[-2:]", "crash", TWICE),
        ("FirstAttempt.perform", _ANSWER, _TWICE_INVOKED, "crash", TWICE),
        ("start.execution_input", '"redrives": -1', '"redrives": 1', "aborted-redriven", TWICE),
        # While others may have an execution on its way.
        ("Starter._attempt", _RELEASE, _DELETE, "down-and-twice", TWICE),
        ("Starter._attempt", _RELEASE, _UNCONDITIONAL, "down-and-twice", TWICE),
        ("Starter._go_by", "if stage in (BEGUN, RELEASED):", _UNMARKED, "down-and-twice", TWICE),
    ],
)  # fmt: skip
def test_a_spoiled_first_attempt_is_found_out(
    function: str,
    line: str,
    instead: str,
    hazard: Scenario | str,
    kind: Kind,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _spoil(monkeypatch, function, line, instead)

    assert _is_noticed(ON_TROUBLE, hazard, kind, monkeypatch)


def test_an_execution_that_does_not_wait_for_the_starter_acts_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = 'version | {"margin": version["margin"] + ends_at // 1000}'
    _spoil(monkeypatch, "Stack.deploy_starter", line, "version")

    assert _is_noticed(ON_TROUBLE, _AN_OUTLIVING_EFFECT_AND_A_PAUSE, TWICE, monkeypatch)


def test_a_row_that_an_earlier_release_takes_for_its_own_acts_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (start, first_attempt):
        monkeypatch.setattr(module, "FIRST_ATTEMPT", "")

    assert _is_noticed(ON_TROUBLE, "earlier-starter", TWICE, monkeypatch)


def test_a_starter_that_is_thawed_after_its_time_acts_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Why nothing of it may run once its handler has returned."""

    def set_up(stack: SimulatedStack) -> None:
        stack.deployed = replace(stack.deployed, ends_at=20 * 60_000)

    stands_still = Scenario(
        "thawed", "", "", ONCE_OR_TWICE, (Hazard.PAUSE,), pauses=(600_000,), set_up=set_up
    )
    assert _is_noticed(ON_TROUBLE, stands_still, TWICE, monkeypatch)
