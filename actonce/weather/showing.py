"""One weather on one stack: messages sent into it, waited for, and counted."""

from actonce.demo import records, requests
from actonce.demo.run import WARM_IN_WEATHER, Resting, reader_of, send, wait_for_rest
from actonce.embedded import functions
from actonce.stack.clients import Stack
from actonce.weather.figures import Before, Figures, figures
from actonce.weather.kinds import Shown
from actonce.weather.sky import Sky
from actonce.weather.stack import under


def show(stack: Stack, shown: Shown, seed: int, quiet_seconds: float) -> Figures:
    """Send messages into a weather, wait until all has come to rest, and count.

    Args:
        stack: on the embedded AWS.
        shown: the weather, and how many messages.
        seed: of the messages; on one stack each run needs a seed of its own.
        quiet_seconds: longest wait for anything to move; longer than the longest back-off.

    Raises:
        Failed: it did not come to rest.
    """
    traffic = requests.generate(shown.messages, seed)
    sky = Sky()
    with under(stack, sky):
        functions.warm(stack, WARM_IN_WEATHER)
        before = Before.of(stack)
        sky.change(shown.weather)
        sent = send(stack, reader_of(stack), "\n".join(traffic.bodies).encode())
        wait_for_rest(stack, Resting(shown.messages, quiet_seconds, sky))
        return figures(stack, sky, sent, records.read(stack), before)
