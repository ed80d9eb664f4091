"""Why a delivery is refused: the one list, for the starter, the CLI and the audit."""

from enum import StrEnum


class Reason(StrEnum):
    """Why a delivery was refused, as UnstartedQueue, logs and metrics name it."""

    NOT_JSON = "not_json"
    NO_MESSAGE_ID = "no_message_id"
    TOO_LARGE = "too_large"
    CONFLICT = "conflict"
    TOO_OLD_TO_TELL = "too_old_to_tell"
    OTHER_MEMORY = "other_memory"
    """Only another state machine or lock knows whether it was acted on."""
    NOT_STARTABLE = "not_startable"
    """Step Functions refused a name or an input that the starter had checked; never seen."""
