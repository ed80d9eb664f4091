"""Real appointment requests, where they are at hand: their licence keeps them out of here."""

import os

import pytest

needed = pytest.mark.skipif(
    not os.environ.get("APPOINTMENTS_CSV"),
    reason="real double bookings: set APPOINTMENTS_CSV to the first 1,000 rows (and the header) of "
    "the public 'Medical Appointment No Shows' data set (J. Hoppen, Kaggle, CC BY-NC-SA 4.0).",
)
