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
from deduplication.fingerprints import timestamp  # noqa: E402
from deduplication.identity import (  # noqa: E402
    execution_name,
    execution_name_of_stored,
    stored_message_id,
)
from deduplication.message import Message, MessageReader  # noqa: E402
from deduplication.refusal import Reason, Refusal  # noqa: E402
from deduplication.unstarted import SOURCE_ATTRIBUTES, unstarted_attributes  # noqa: E402
from locking.attempt import Outcome  # noqa: E402
from locking.rows import ProcessingTable  # noqa: E402

__all__ = [
    "SOURCE_ATTRIBUTES",
    "SOURCE_DEDUPLICATION_ID",
    "SOURCE_GROUP_ID",
    "SOURCE_MESSAGE_ID",
    "Delivery",
    "Message",
    "MessageReader",
    "Outcome",
    "ProcessingTable",
    "Reason",
    "Refusal",
    "execution_name",
    "execution_name_of_stored",
    "stored_message_id",
    "timestamp",
    "unstarted_attributes",
]
