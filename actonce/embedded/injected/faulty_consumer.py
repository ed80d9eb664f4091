"""ConsumerFunction with faults around its effect and its batches: the consumer is the product's."""

import dataclasses
import functools
from typing import Any

import consumer
import fault_injection as inject
import faulty_starter
from actonce_core.batch import Batch, metrics
from actonce_core.effect import Effect, FencedEffect

_context: Any = None


class FaultyEffect:
    """The effect with faults around it, as `faulty_effect` has them around its function."""

    def __init__(self, effect: Effect) -> None:
        self._effect = effect

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        """Interrupted before or after it, or not interrupted at all."""
        _, after = self._interrupt_before(request["message_id"], "perform")
        done = self._effect.perform(request)
        inject.interrupt(after, _context)
        return done

    def find(self, message_id: str) -> dict[str, Any] | None:
        """Interrupted before or after it, or not at all."""
        _, after = self._interrupt_before(message_id, "find")
        found = self._effect.find(message_id)
        inject.interrupt(after, _context)
        return found

    @staticmethod
    def _interrupt_before(message_id: str, operation: str) -> tuple[str, str]:
        """Interrupt if the fault comes before; else how late it comes, and what comes after."""
        moment, _, name = inject.next_fault(message_id, operation).partition(":")
        if moment == "before":
            inject.interrupt(name, _context)
        return name if moment == "late" else "", name if moment == "after" else ""


class FaultyFencedEffect(FaultyEffect):
    """The same where the effect is fenced: only then may it be called so."""

    def __init__(self, effect: FencedEffect) -> None:
        super().__init__(effect)
        self._fenced = effect

    def perform_fenced(self, request: dict[str, Any], fence: dict[str, Any]) -> dict[str, Any]:
        """Interrupted before or after it, left to a straggler, or not interrupted at all."""
        late, after = self._interrupt_before(request["message_id"], "perform")
        if late:
            inject.leave_to_a_straggler(float(late), request, fence)
            inject.outlast(_context)
        done = self._fenced.perform_fenced(request, fence)
        inject.interrupt(after, _context)
        return done


def with_faults(effect: Effect) -> FaultyEffect:
    """The effect with faults around it, fenced if it is."""
    return FaultyFencedEffect(effect) if isinstance(effect, FencedEffect) else FaultyEffect(effect)


@functools.cache
def _batch() -> Batch:
    product = consumer.consumer_from_environment()
    return Batch(dataclasses.replace(product, effect=with_faults(product.effect)).consume)


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Crash before or after the batch, interrupt its effects, or deliver a message again."""
    global _context  # noqa: PLW0603 - one invocation at a time, as in Lambda
    _context = context
    answer: dict[str, Any] = faulty_starter.around(
        lambda event, _: _batch().handle(event), event, context
    )
    return answer
