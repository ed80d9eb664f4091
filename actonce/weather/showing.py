"""One weather on one stack: messages sent into it, waited for, and counted."""

from dataclasses import dataclass

from actonce.aws import Stack
from actonce.demo import records, requests
from actonce.demo.run import reader_of, send, wait_for_rest
from actonce.embedded import lifecycle
from actonce.weather.figures import Before, Figures, figures
from actonce.weather.kinds import Shown
from actonce.weather.sky import Sky
from actonce.weather.stack import under

_WARM_EFFECTS = 16
"""What had to wait comes all at once when the weather is over."""


@dataclass(frozen=True, slots=True)
class Showing:
    """How a weather is shown.

    Attributes:
        seed: of the messages; on one stack each run needs a seed of its own.
        quiet_seconds: longest wait for anything to move; longer than the longest back-off.
    """

    seed: int
    quiet_seconds: float = 900.0


def show(stack: Stack, shown: Shown, showing: Showing) -> Figures:
    """Send messages into a weather, wait until all has come to rest, and count.

    Raises:
        Failed: it did not come to rest.
    """
    traffic = requests.generate(shown.messages, showing.seed)
    sky = Sky()
    with under(stack, sky):
        lifecycle.warm(stack, _WARM_EFFECTS)
        before = Before.of(stack)
        sky.change(shown.weather)
        sent = send(stack, reader_of(stack), "\n".join(traffic.bodies).encode())
        wait_for_rest(
            stack,
            expected=shown.messages,
            quiet_seconds=showing.quiet_seconds,
            may_rest=sky.is_over,
        )
        return figures(stack, sky, sent, records.read(stack), before)
