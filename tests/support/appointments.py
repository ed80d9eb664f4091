"""Real appointment requests, where they are at hand: their licence keeps them out of here."""

import csv
import json
import os
from pathlib import Path

import pytest

_KNOWN_ONLY_LATER = {"AppointmentID", "SMS_received", "No-show"}

needed = pytest.mark.skipif(
    not os.environ.get("APPOINTMENTS_CSV"),
    reason="real double bookings: set APPOINTMENTS_CSV to the first 1,000 rows (and the header) of "
    "the public 'Medical Appointment No Shows' data set (J. Hoppen, Kaggle, CC BY-NC-SA 4.0).",
)


def as_json_lines(*, sms_received: bool) -> str:
    """One message per row; a request's id is the patient, the second and the day.

    Args:
        sms_received: keep this field, in which some double bookings differ.
    """
    left_out = _KNOWN_ONLY_LATER - ({"SMS_received"} if sms_received else set())
    with Path(os.environ["APPOINTMENTS_CSV"]).open(newline="") as file:
        rows = list(csv.DictReader(file))
    return "\n".join(
        json.dumps(
            {"message_id": f"{row['PatientId']}/{row['ScheduledDay']}/{row['AppointmentDay']}"}
            | {name: value for name, value in row.items() if name not in left_out}
        )
        for row in rows
    )
