"""What the command line shares with the functions that are deployed.

The only place that knows where they lie: `functions/` of this clone, which is no package itself.
Ids, names and reasons are read here by the very code that reads them in Lambda.
"""

import sys

from actonce.embedded.paths import PROJECT

_FUNCTIONS = str(PROJECT / "functions")
if _FUNCTIONS not in sys.path:
    sys.path.append(_FUNCTIONS)

from deduplication.delivery import (  # noqa: E402
    SOURCE_DEDUPLICATION_ID,
    SOURCE_GROUP_ID,
    SOURCE_MESSAGE_ID,
    Delivery,
)
from deduplication.delivery_record import delivery_record  # noqa: E402
from deduplication.fingerprints import timestamp  # noqa: E402
from deduplication.identity import (  # noqa: E402
    execution_name,
    execution_name_of_stored,
    stored_message_id,
)
from deduplication.message import Message, MessageReader  # noqa: E402
from deduplication.refusal import Reason, Refusal  # noqa: E402
from deduplication.unstarted import (  # noqa: E402
    SOURCE_ATTRIBUTES,
    UnstartedQueue,
    unstarted_attributes,
)
from locking.attempt import Outcome, ProcessingLocks  # noqa: E402
from locking.consumer import Consumer  # noqa: E402
from locking.dead_letters import DeadLetterQueue  # noqa: E402
from locking.lease import Lease  # noqa: E402
from locking.ledger import Ledger  # noqa: E402
from locking.rows import ProcessingTable  # noqa: E402

__all__ = [
    "SOURCE_ATTRIBUTES",
    "SOURCE_DEDUPLICATION_ID",
    "SOURCE_GROUP_ID",
    "SOURCE_MESSAGE_ID",
    "Consumer",
    "DeadLetterQueue",
    "Delivery",
    "Lease",
    "Ledger",
    "Message",
    "MessageReader",
    "Outcome",
    "ProcessingLocks",
    "ProcessingTable",
    "Reason",
    "Refusal",
    "UnstartedQueue",
    "delivery_record",
    "execution_name",
    "execution_name_of_stored",
    "stored_message_id",
    "timestamp",
    "unstarted_attributes",
]
