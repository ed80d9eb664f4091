"""ConsumerFunction with faults around its effect and its batches: the consumer is the product's."""

import dataclasses
import functools
from typing import Any

import consumer
import fault_injection as inject
import faulty_appointments
import faulty_starter
from deduplication.batch import Batch, metrics
from effect import FencedEffect

_context: Any = None


class FaultyEffect:
    """The effect with faults around it, as `faulty_appointments` has them around its function."""

    def __init__(self, effect: FencedEffect) -> None:
        self._effect = effect

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        """Never called: the effect is fenced."""
        return self._effect.perform(request)

    def perform_fenced(self, request: dict[str, Any], fence: dict[str, Any]) -> dict[str, Any]:
        """Interrupted before or after it, left to a straggler, or not interrupted at all."""
        moment, name = self._interrupt_before(request["message_id"], "perform")
        if moment == "late":
            inject.leave_to_a_straggler(float(name), request, fence)
            inject.outlast(_context)
        done = self._effect.perform_fenced(request, fence)
        if moment == "after":
            faulty_appointments.interrupt(name, _context)
        return done

    def find(self, message_id: str) -> dict[str, Any] | None:
        """Interrupted before or after it, or not at all."""
        moment, name = self._interrupt_before(message_id, "find")
        found = self._effect.find(message_id)
        if moment == "after":
            faulty_appointments.interrupt(name, _context)
        return found

    @staticmethod
    def _interrupt_before(message_id: str, operation: str) -> tuple[str, str]:
        """Interrupt if the fault comes before; the fault, as its moment and its name."""
        moment, _, name = (inject.next_fault(message_id, operation) or "").partition(":")
        if moment == "before":
            faulty_appointments.interrupt(name, _context)
        return moment, name


@functools.cache
def _batch() -> Batch:
    product = consumer.consumer_from_environment()
    effect = product.effect
    assert isinstance(effect, FencedEffect)  # noqa: S101 - the example's is
    return Batch(dataclasses.replace(product, effect=FaultyEffect(effect)).consume)


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Crash before or after the batch, interrupt its effects, or deliver a message again."""
    global _context  # noqa: PLW0603 - one invocation at a time, as in Lambda
    _context = context
    answer: dict[str, Any] = faulty_starter.around(_batch().handle, event, context)
    return answer
