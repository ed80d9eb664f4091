"""Stands around a function's own handler, and interrupts the call as planned.

`function_processes` calls it in the place of the handler while there is a plan. What neither SQS
nor ActOnce asked is handed on.
"""

import dataclasses
import functools
import importlib
import json
import os
from collections.abc import Callable
from typing import Any

import fault_injection as inject

Handler = Callable[[Any, Any], Any]

_context: Any = None


def call(own: Handler, event: Any, context: Any) -> Any:
    """What the function's own handler answers, unless a fault comes before, after or instead."""
    global _context  # noqa: PLW0603 - one invocation at a time, as in Lambda
    _context = context
    if isinstance(event, dict) and "Records" in event:
        if "LEDGER_TABLE" in os.environ:
            _put_faults_around_the_consumers_effect()
        return _batch(own, event, context)
    if isinstance(event, dict) and {"operation", "message"} <= event.keys():
        return _effect(own, event, context)
    return own(event, context)


def _effect(own: Handler, event: dict[str, Any], context: Any) -> Any:
    late, after = _interrupt_before(event["message"]["message_id"], event["operation"])
    if late:
        inject.leave_to_a_straggler(float(late), event["message"], None)
        inject.outlast(context)
    answer = own(event, context)
    inject.interrupt(after, context)
    return answer


def _batch(own: Handler, event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Interrupt the call before or after the batch, or let SQS deliver a message again."""
    faults = {record["messageId"]: _of_delivery(record) for record in event["Records"]}
    for moment in ("before:", "after:"):
        if moment == "after:":
            answer = own(event, context)
        for fault in faults.values():
            if fault.startswith(moment):
                inject.interrupt(fault.removeprefix(moment), context)
    # The message was acted on, and its deletion is lost: SQS brings it back.
    again = [{"itemIdentifier": id_} for id_, fault in faults.items() if fault == "delivered-again"]
    return {"batchItemFailures": answer["batchItemFailures"] + again}


def _of_delivery(record: dict[str, Any]) -> str:
    try:
        message_id = json.loads(record["body"])["message_id"]
    except (ValueError, TypeError, KeyError):
        return ""
    return inject.next_fault(message_id, "delivery") if isinstance(message_id, str) else ""


def _interrupt_before(message_id: str, operation: str) -> tuple[str, str]:
    """Interrupt if the fault comes before; else how late it comes, and what comes after."""
    moment, _, name = inject.next_fault(message_id, operation).partition(":")
    if moment == "before":
        inject.interrupt(name, _context)
    return name if moment == "late" else "", name if moment == "after" else ""


class FaultyEffect:
    """The consumer's effect, with the faults around it that its function has otherwise."""

    def __init__(self, effect: Any) -> None:
        self._effect = effect

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        """Interrupted before or after it, or not interrupted at all."""
        _, after = _interrupt_before(request["message_id"], "perform")
        done: dict[str, Any] = self._effect.perform(request)
        inject.interrupt(after, _context)
        return done

    def find(self, message_id: str) -> dict[str, Any] | None:
        """Interrupted before or after it, or not at all."""
        _, after = _interrupt_before(message_id, "find")
        found: dict[str, Any] | None = self._effect.find(message_id)
        inject.interrupt(after, _context)
        return found


class FaultyFencedEffect(FaultyEffect):
    """The same where the effect is fenced: only then may it be called so."""

    def perform_fenced(self, request: dict[str, Any], fence: dict[str, Any]) -> dict[str, Any]:
        """Interrupted before or after it, left to a straggler, or not interrupted at all."""
        late, after = _interrupt_before(request["message_id"], "perform")
        if late:
            inject.leave_to_a_straggler(float(late), request, fence)
            inject.outlast(_context)
        done: dict[str, Any] = self._effect.perform_fenced(request, fence)
        inject.interrupt(after, _context)
        return done


def with_faults(effect: Any) -> FaultyEffect:
    """The effect with faults around it, fenced if it is."""
    return (FaultyFencedEffect if hasattr(effect, "perform_fenced") else FaultyEffect)(effect)


@functools.cache
def _put_faults_around_the_consumers_effect() -> None:
    """Once in a process; without a plan they do nothing."""
    consumer: Any = importlib.import_module("consumer")
    product = consumer.consumer_from_environment()
    faulty = dataclasses.replace(product, effect=with_faults(product.effect))
    consumer.consumer_from_environment = lambda: faulty
    consumer._batch.cache_clear()  # noqa: SLF001 - it may have been made without them
