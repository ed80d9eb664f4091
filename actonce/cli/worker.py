"""`actonce worker`: a consumer on a host of one's own."""

import importlib
import os
import signal
import sys
from collections.abc import Callable
from enum import StrEnum
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from actonce.cli.options import of_a_stack
from actonce.operate.pausing import PauseWatch
from actonce.operate.worker import Worker
from actonce.queues.standing import Pause
from actonce.stack.clients import Stack
from actonce.stack.endpoint import Chosen
from actonce.stack.message_ids import DEFAULT, parameters
from actonce.stack.sources import sources
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import WrongUse
from actonce_core.effect import Effect
from actonce_core.invoked_effect import InvokedEffect, client_config
from actonce_core.locking.consumer import Consumer
from actonce_core.locking.locks import Lease, Ledger
from actonce_core.locking.posting import DeadLetterQueue
from actonce_core.message import MessageReader
from actonce_core.unstarted import UnstartedQueue

if TYPE_CHECKING:
    from actonce_core.locking.locks import ProcessingLocks

EXAMPLE = "appointments:book_from_environment"
MAX_ROUNDS = 3  # as locks.yaml has it for functions


class Way(StrEnum):
    """What the worker deduplicates with."""

    LEDGER = "ledger"
    LEASE = "lease"


@of_a_stack(asks=True)
def worker(
    strategy: Annotated[
        Way | None,
        typer.Option(
            help="What to deduplicate with  [the stack's]; another only for a --queue of its own."
        ),
    ] = None,
    queue: Annotated[
        str | None, typer.Option(metavar="URL", help="The queue  [the stack's RequestsQueue]")
    ] = None,
    effect: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FACTORY",
            help="Called without arguments, it returns the effect  [the stack's own]",
        ),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, max=256, help="Worked on side by side.")] = 4,
    visibility: Annotated[
        int, typer.Option(min=1, max=43_200, help="Seconds between signs of life to the queue.")
    ] = 60,
    lock_timeout: Annotated[
        float,
        typer.Option(min=1, help="Seconds of silence after which others take a message over."),
    ] = 60.0,
    straggler: Annotated[
        float,
        typer.Option(
            min=0,
            help="Seconds that an effect may go on unseen: of these with a ledger, after them "
            "with a lease. A function's own time-out is added to them.",
        ),
    ] = 20.0,
    clock_skew: Annotated[
        float, typer.Option(min=0, help="Ledger: seconds that hosts' clocks may be apart.")
    ] = 300.0,
    *,
    at: Chosen,
) -> None:
    """Act on the messages of the queue, on this host.

    It acts on each once, until SIGTERM or Ctrl-C. It is for a stack of locks.yaml with
    QueueFeeds=worker. Prints one JSON line per delivery, as the functions log them. Told to stop,
    it finishes what it works on and gives the rest back; killed, it loses nothing: SQS brings back
    what it had. While the stack is paused (`actonce pause`) it takes nothing; it looks about once a
    minute.

    Examples:

        actonce worker

        actonce worker --strategy lease --lock-timeout 12 --effect my_effects:gift_cards
    """
    stack = find_stack(at, changes=True)
    if stack.ledger_table is None:
        wanted = strategy.value if strategy else "ledger"
        raise WrongUse(
            f"The stack {stack.called!r} has no ledger: deploy locks.yaml with Strategy={wanted}."
        )
    values = parameters(stack)
    strategy = _strategy(strategy, values.get("Strategy"), own_queue=queue is not None)
    act_by, takes = _effect(effect, stack, float(values.get("EffectTimeoutSeconds", 15)))
    straggler += takes
    locks: ProcessingLocks
    if strategy is Way.LEDGER:
        if straggler >= lock_timeout:
            raise WrongUse(
                f"--straggler ({straggler:g} s, a function's own time-out included) is a part of "
                "--lock-timeout: make it smaller, or that one longer."
            )
        locks = Ledger(
            stack.dynamodb,
            stack.ledger_table,
            straggler_seconds=straggler,
            clock_skew_seconds=clock_skew,
        )
    else:
        locks = Lease(stack.dynamodb, stack.ledger_table, straggler_seconds=straggler)
    running = Worker(
        sqs=stack.sqs,
        queue_url=queue or stack.requests_queue,
        consumer=Consumer(
            reader=MessageReader(
                values.get("MessageIdFrom", DEFAULT), values.get("ContentFrom", "")
            ),
            locks=locks,
            effect=act_by,
            unstarted=UnstartedQueue(stack.sqs, stack.unstarted_queue),
            dead_letters=DeadLetterQueue(stack.sqs, stack.dead_letter_queue),
            lock_timeout=lock_timeout,
            max_rounds=MAX_ROUNDS,
        ),
        threads=threads,
        visibility=visibility,
        report=console.print_json,
        is_paused=PauseWatch(stack.sqs, queue or stack.requests_queue, tell=_tell).is_paused,
    )

    def stop(_signal: int, _frame: FrameType | None) -> None:
        running.stop()

    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, stop)
    console.say("Working; SIGTERM or Ctrl-C ends it after what is in hand")
    running.run()


def _strategy(asked: Way | None, of_stack: str | None, *, own_queue: bool) -> Way:
    """What to deduplicate with: on the stack's queue as all others that take from it.

    What one strategy has begun, the other one refuses.

    Raises:
        WrongUse: another is asked for than the stack's, or nobody says which.
    """
    if of_stack not in {way.value for way in Way}:
        if asked is None:
            raise WrongUse("The stack does not say its Strategy: say --strategy ledger, or lease.")
        return asked
    if asked is not None and asked.value != of_stack and not own_queue:
        raise WrongUse(
            f"The stack's strategy is {of_stack}, and a worker with a {asked.value} would refuse "
            f"what others have begun: leave --strategy out, or deploy the stack with "
            f"Strategy={asked.value}."
        )
    return asked or Way(of_stack)


def _tell(found: Pause | None) -> None:
    """Say that a worker stands still, or goes on."""
    console.say(f"Paused since {found.since} by {found.by}" if found else "Not paused any more")


def _effect(name: str | None, stack: Stack, timeout: float) -> tuple[Effect, float]:
    """What is acted by, and the seconds that a function which it calls may take.

    The example's own code acts here, where it can be fenced; a function of a team's own is called,
    by the contract, as ConsumerFunction calls it.
    """
    if name is None and not stack.is_example:
        client = stack.aws.fresh("lambda", client_config(timeout))
        called = InvokedEffect(client, stack.effect_function, stack.find_function or "")
        return called, timeout
    if stack.is_example:
        os.environ.setdefault("APPOINTMENTS_TABLE", stack.appointments_table)
    return _loaded(name or EXAMPLE, stack)(), 0.0


def _loaded(name: str, stack: Stack) -> Callable[[], Any]:
    module_name, _, factory_name = name.partition(":")
    stack.aws.name_to_others(os.environ)  # for an effect's own clients
    sys.path.insert(0, "")
    sys.path.append(str(sources() / "functions"))  # where the example is
    try:
        factory: Callable[[], Any] = getattr(importlib.import_module(module_name), factory_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise WrongUse(f"--effect {name!r} cannot be loaded: {error}.") from error
    return factory
