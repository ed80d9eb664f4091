"""The real level: which ways are deployed for it, and how each hazard is caused there.

What is refused and what is ordered goes through RequestsQueue, everything else through a standard
queue that feeds the same function one message at a time. A consumer with another clock, or with a
network that fails, is the function's code in the tests' own process.

The tests cause them; what is not named here is only walked.
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
