"""What the command line shares with the functions that are deployed.

The only place that makes them known to Python. Lambda finds a function's modules because their
folder is on its path, so they have no package of their own, neither there nor here. They stand in
front of what else is installed, whose `effect` or `locking` would be another one.
Ids, names and reasons are read here by the very code that reads them in Lambda.
"""

import sys

from actonce.sources import sources

_FUNCTIONS = str(sources() / "functions")
if _FUNCTIONS not in sys.path:
    sys.path.insert(0, _FUNCTIONS)

from actonce_message.identity import (  # noqa: E402
    execution_name,
    execution_name_of_stored,
    stored_message_id,
)
from deduplication.coming_back import seconds_until_back  # noqa: E402
from deduplication.delivery import (  # noqa: E402
    SOURCE_DEDUPLICATION_ID,
    SOURCE_GROUP_ID,
    SOURCE_MESSAGE_ID,
    Delivery,
)
from deduplication.delivery_record import delivery_record  # noqa: E402
from deduplication.fingerprints import timestamp  # noqa: E402
from deduplication.message import Message, MessageReader  # noqa: E402
from deduplication.patience import is_weather  # noqa: E402
from deduplication.refusal import Reason, Refusal  # noqa: E402
from deduplication.unstarted import (  # noqa: E402
    SOURCE_ATTRIBUTES,
    UnstartedQueue,
    has_room,
    unstarted_attributes,
)
from effect import MAX_EFFECT_BYTES, Effect, NotPerformed, Rejected  # noqa: E402
from histories.day_file import FILE_NAME, folder_of, json_line  # noqa: E402
from histories.dead_letters import (  # noqa: E402
    DEAD_LETTER,
    Stay,
    dead_letter_records,
    dead_letter_stays,
    decision_of,
    message_id_of,
)
from histories.events import Event, details, json_object  # noqa: E402
from histories.reading import (  # noqa: E402
    executions_between,
    read_events,
    tell,
)
from invoked_effect import InvokedEffect, client_config  # noqa: E402
from locking.attempt import Outcome, ProcessingLocks  # noqa: E402
from locking.consumer import Consumer  # noqa: E402
from locking.dead_letters import DeadLetterQueue  # noqa: E402
from locking.lease import Lease  # noqa: E402
from locking.ledger import Ledger  # noqa: E402
from locking.patience import PATIENCE_SECONDS  # noqa: E402
from locking.rows import COMPLETE, OVER_FOR_EVERYBODY, ProcessingTable  # noqa: E402

__all__ = [
    "COMPLETE",
    "DEAD_LETTER",
    "FILE_NAME",
    "MAX_EFFECT_BYTES",
    "OVER_FOR_EVERYBODY",
    "PATIENCE_SECONDS",
    "SOURCE_ATTRIBUTES",
    "SOURCE_DEDUPLICATION_ID",
    "SOURCE_GROUP_ID",
    "SOURCE_MESSAGE_ID",
    "Consumer",
    "DeadLetterQueue",
    "Delivery",
    "Effect",
    "Event",
    "InvokedEffect",
    "Lease",
    "Ledger",
    "Message",
    "MessageReader",
    "NotPerformed",
    "Outcome",
    "ProcessingLocks",
    "ProcessingTable",
    "Reason",
    "Refusal",
    "Rejected",
    "Stay",
    "UnstartedQueue",
    "client_config",
    "dead_letter_records",
    "dead_letter_stays",
    "decision_of",
    "delivery_record",
    "details",
    "execution_name",
    "execution_name_of_stored",
    "executions_between",
    "folder_of",
    "has_room",
    "is_weather",
    "json_line",
    "json_object",
    "message_id_of",
    "read_events",
    "seconds_until_back",
    "stored_message_id",
    "tell",
    "timestamp",
    "unstarted_attributes",
]
