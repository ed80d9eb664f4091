"""The real level: which ways are deployed for it, and how each hazard is caused there.

The tests cause them; a hazard or a way that is not named here fails a test.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RealWay:
    """A way that is deployed on the embedded AWS.

    Attributes:
        name: for the tests.
        title: in the page.
        columns: its ways of the table; what happens really must be an end that each of them has.
        only: the hazards that are caused for it; None: all.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    only: frozenset[str] | None = None


_ZOMBIE = frozenset({"zombie"})
_FENCED_WORKER = _ZOMBIE | {"crash"}

REAL_WAYS = (
    RealWay("step-functions", "Step Functions", ("step-functions",)),
    RealWay("ledger", "ledger", ("ledger-fenced",)),
    RealWay("lease", "lease, FIFO queue", ("lease-fenced", "lease-fenced-fifo")),
    RealWay("ledger-worker", "ledger, worker", ("ledger-worker",), _ZOMBIE),
    RealWay(
        "ledger-worker-fenced", "ledger, worker, fenced", ("ledger-worker-fenced",), _FENCED_WORKER
    ),
    RealWay("lease-worker", "lease, worker", ("lease-worker",), _ZOMBIE),
    RealWay(
        "lease-worker-fenced", "lease, worker, fenced", ("lease-worker-fenced",), _FENCED_WORKER
    ),
)

NOT_DEPLOYED = {
    "step-functions-fifo": "the starter is the same function; only its queue differs",
    "ledger-idempotent": "the same ledger, called by a decorator in a handler of one's own",
    "ledger": "the example's effect is fenced; without a fence it runs in a worker",
    "lease": "the example's effect is fenced; without a fence it runs in a worker",
    "ledger-invoking": "the same consumer; what it calls a function of one's own by has tests",
    "lease-invoking": "likewise",
}
"""This project's ways that are not deployed for it, and why; the rivals are not ours to deploy."""

CAUSED = {
    "twice-at-once": "The function is called twice side by side with one delivery, and the effect "
    "takes a second.",
    "again-later": "The function returns a delivery that it has handled, as if SQS had not learnt.",
    "resend-5-minutes": "Sent twice at once, and once more when it was acted on.",
    "crash": "A process is killed by SIGKILL before its batch, after it, and before its effect; a "
    "worker again and again under load.",
    "crash-after-effect": "The process is killed between the effect and what follows it.",
    "effect-unheard": "The effect happens and its caller gets an error; or it proves that it did "
    "not happen.",
    "effect-late": "The function is ended at its time-out before its effect, after it, and while "
    "another process goes on with it and acts seconds later.",
    "margin": "The function is ended at its time-out while another process goes on with its "
    "effect, and acts within the margin; sent twice, so that another consumer waits for it.",
    "zombie": "A process is stopped by SIGSTOP before its effect, before and after its batch, and "
    "goes on seconds later, others having taken over; or Lambda ends it before that.",
    "conflict": "Sent with two contents, at once and one after the other.",
    "services-fail": "Of a delivery each call in turn is refused by a proxy, or done and its "
    "answer lost, once or until the SDK gives up. What is not real: the services are well, and "
    "what Step Functions itself calls answers.",
    "poison": "What is no JSON, and a message that the effect rejects.",
    "late-takeover": "The function is killed before its effect, and the message is given to a "
    "consumer to which the answer of its first call comes two seconds late.",
    "provider-gone": "The practice's book stays closed for longer than it is retried, which is "
    "seconds here. What is not real: nothing else goes wrong.",
    "group-order": "Two messages of one group; the effect of the first does not happen at first.",
}
"""How each hazard is caused, and what of it is not real."""

NOT_CAUSED = {
    "resend-later": "how old a row is, is plain data to the tests of the starter",
    "resend-91-days": "likewise",
    "short-history": "likewise",
    "clock-ahead": "the tests of the locks have machines whose clocks differ",
    "clock-behind": "likewise",
    "given-up": "poison has a message that the effect rejects, crash a function that is killed",
    "closed": "poison has a message that the effect rejects",
    "tried-again": "the tests of each kind of end have a dead letter answered so",
    "unclear": "the tests of each kind of end have an effect whose answer is no yes",
    "cold-start": "after crash each next invocation begins cold",
    "long-effect": "twice-at-once has an effect that takes a second",
    "late-answer": "late-takeover has an answer that comes late",
    "provider-down": "effect-unheard has an effect that proves that it did not happen",
    "find-down": "the state machine's definition is evaluated with a look-up that fails",
    "any-two": "the two are caused one by one",
    "deployed-between": "a test of its own deploys a longer time-out and a shorter one again",
    "aborted-redriven": "the tests of each kind of end have a copy that takes itself for redriven",
    "another-memory": "what a row says of its memory is plain data to the tests of the starter",
    "unheard": "heartbeats fail one by one in the tests of the lease",
    "late-straggler": "late-takeover and margin, in one run",
    "find-away": "the definition is evaluated with a look-up that fails",
    "long-zombie": "it is the zombie again, with an effect that takes as long as a lease",
    "slow-look-up": "a look-up that is slow differs only in when it answers",
    "changed-by-hand": "the test of deployments has what is deployed by now with a longer time-out",
    "no-clear-yes": "the tests of each kind of end have an effect answer so",
    "not-looked-up": "likewise",
    "told-by-a-person": "likewise: one of them has a person's word perform it",
    "mended-by-deploying": "likewise: one is tried again by a version deployed since",
    "any-and-memory": "nothing is deployed for it; the two are caused one by one",
}
"""Hazards that are only walked, and why."""
