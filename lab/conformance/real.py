"""The real level: which ways are deployed for it, and how each hazard is caused there.

What is refused and what is ordered goes through RequestsQueue, everything else through a standard
queue that feeds the same function one message at a time. A consumer with another clock, or with a
network that fails, is the function's code in the tests' own process.

The tests cause them; a hazard or a way that is not named here fails a test.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RealWay:
    """A way that is deployed on the embedded AWS.

    Attributes:
        name: for the tests.
        columns: its ways of the table; what happens really must be an end that each of them has.
        only: the hazards that are caused for it; None: all.
    """

    name: str
    columns: tuple[str, ...]
    only: frozenset[str] | None = None


_ZOMBIE = frozenset({"zombie"})
_FENCED_WORKER = _ZOMBIE | {"crash"}

REAL_WAYS = (
    RealWay("step-functions", ("step-functions",)),
    RealWay("ledger", ("ledger-fenced",)),
    RealWay("lease", ("lease-fenced", "lease-fenced-fifo")),
    RealWay("ledger-worker", ("ledger-worker",), _ZOMBIE),
    RealWay("ledger-worker-fenced", ("ledger-worker-fenced",), _FENCED_WORKER),
    RealWay("lease-worker", ("lease-worker",), _ZOMBIE),
    RealWay("lease-worker-fenced", ("lease-worker-fenced",), _FENCED_WORKER),
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
    "resend-later": "A consumer whose clock is two hours behind handles it, so that all that is "
    "written down is two hours old; then it is sent again.",
    "resend-91-days": "The same, 91 days behind. What is not real: the execution's name is not "
    "forgotten here.",
    "short-history": "The same, 26 days behind.",
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
    "clock-ahead": "While the function holds the message, a consumer whose clock is 5 minutes "
    "ahead is given it, too.",
    "clock-behind": "The function is killed before its effect; a consumer whose clock is 5 minutes "
    "behind is given the message next.",
    "conflict": "Sent with two contents, at once and one after the other.",
    "services-fail": "Of a delivery each call in turn is refused by a proxy, or done and its "
    "answer lost, once or until the SDK gives up. What is not real: the services are well, and "
    "what Step Functions itself calls answers.",
    "poison": "What is no JSON, and a message that the effect rejects.",
    "given-up": "A message that the effect rejects, and another one whose function is killed after "
    "its batch.",
    "tried-again": "The effect rejects a message, and then its dead letter is answered: try again.",
    "closed": "The effect rejects a message that is sent twice. What is not real: nobody answers; "
    "the tests of `actonce dead-letters` do.",
    "unclear": "A copy of the state machine goes on with a message whose effect it takes for "
    "unclear, because it expects another yes.",
    "cold-start": "The function is killed, so that the next invocation begins cold. What is not "
    "real: it begins at once.",
    "long-effect": "The effect takes two seconds, delivered twice. What is not real: no call fails "
    "meanwhile.",
    "late-takeover": "The function is killed before its effect, and the message is given to a "
    "consumer to which the answer of its first call comes two seconds late.",
    "late-answer": "Sent, and given to a consumer to which the answer of a call comes two seconds "
    "late. What is not real: that is no longer than the SDK waits.",
    "provider-down": "The effect proves twice that it did not happen.",
    "provider-gone": "The practice's book stays closed for longer than it is retried, which is "
    "seconds here. What is not real: nothing else goes wrong.",
    "find-down": "The effect happens and its caller gets an error, and the look-up fails twice. "
    "What is not real: nothing is aborted.",
    "group-order": "Two messages of one group; the effect of the first does not happen at first.",
    "deployed-between": "An execution names a version that ends after a second, while what is "
    "deployed by now has four; its effect stands still for three. And by `sam deploy`, up and down "
    "again, in a test of its own.",
    "aborted-redriven": "An execution is stopped while its effect stands still. What is not real: "
    "nothing can be redriven here, so a copy of the state machine that takes itself for redriven "
    "goes on with the execution's input.",
    "another-memory": "A consumer of another strategy handles it, and with Step Functions a "
    "starter of another state machine handles a second one; then they are sent. What is not real: "
    "nothing is deployed for it.",
    "any-two": "Two pairs only: the function is killed after its batch, whose effect went unheard; "
    "a consumer stands still while another one is killed after its effect.",
}
"""How each hazard is caused, and what of it is not real."""

NOT_CAUSED = {
    "unheard": "heartbeats fail one by one in the tests of the lease",
    "late-straggler": "late-answer and margin, in one run",
    "find-away": "find-down has a look-up that fails twice, and then does not",
    "long-zombie": "it is the zombie again, with an effect that takes as long as a lease",
    "slow-look-up": "a look-up that is slow differs only in when it answers",
    "changed-by-hand": "deployed-between has what is deployed by now with a longer time-out",
    "no-clear-yes": "the tests of each way through the state machine have an effect answer so",
    "not-looked-up": "likewise",
    "told-by-a-person": "likewise: one of them has a person's word perform it",
    "mended-by-deploying": "likewise: one is tried again by a version deployed since",
    "any-and-memory": "nothing is deployed for it; the two are caused one by one",
}
"""Hazards that are only walked, and why."""
