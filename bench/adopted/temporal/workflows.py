"""The workflow of an order: perform once, and look up what nobody knows."""

from datetime import timedelta

from temporalio import activity, workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    import gift_cards

SECONDS = timedelta(seconds=10)
ONCE = RetryPolicy(maximum_attempts=1)


@activity.defn
def perform(order: dict) -> dict:
    """Send the card."""
    return gift_cards.send_card(order)


@activity.defn
def find(order_id: str) -> dict | None:
    """Look up whether it was sent."""
    return gift_cards.find_card(order_id)


@workflow.defn
class SendGiftCard:
    """One order."""

    @workflow.run
    async def run(self, order: dict) -> dict:
        """Repeat it only after a look."""
        for _ in range(3):
            try:
                return await workflow.execute_activity(
                    perform, order, start_to_close_timeout=SECONDS, retry_policy=ONCE
                )
            except ActivityError:
                await workflow.sleep(40)
                found = await workflow.execute_activity(
                    find, order["order_id"], start_to_close_timeout=SECONDS
                )
                if found is not None:
                    return found
        raise ApplicationError("a person has to decide")
