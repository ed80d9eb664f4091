"""An outage longer than the patience, and what a person then does: one command, one yes."""

import os
import re
from collections import Counter
from dataclasses import replace

import pytest

from actonce.demo import records, requests
from actonce.demo.outcome import judge
from actonce.demo.run import Resting, reader_of, send, wait_for_rest
from actonce.embedded import lifecycle
from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION
from actonce.stack.embedded_folder import Paths
from lab.faults.figures import of_run
from lab.faults.kinds import MEASURED
from lab.faults.stack import under
from lab.faults.transient import Injector, TransientFailure
from tests import terminal
from tests.actonce_server import ACTONCE

MESSAGES = int(os.environ.get("ACTONCE_LETTERS", "100"))
RETRY = "dead-letters retry --all --reason not_performed --rate 20"
OUTAGE = 3600.0
"""It is ended by hand."""


@pytest.mark.long
@pytest.mark.embedded
def test_all_dead_letters_of_an_outage_longer_than_the_patience_are_one_decision(
    paths: Paths,
) -> None:
    provider_down = replace(MEASURED["provider-down"], down_seconds=OUTAGE)
    state, stack = lifecycle.up(paths, lambda _: None, parameters={})
    traffic = requests.generate(MESSAGES, 1)
    injector = Injector()
    with under(stack, injector, is_patient=False):
        injector.change(provider_down)
        sent = send(stack, reader_of(stack), "\n".join(traffic.bodies).encode())
        # It goes on for longer than anybody waits: all come to rest as dead letters.
        wait_for_rest(stack, Resting(MESSAGES, 300))
        before = of_run(records.read(stack), sent)
        assert Counter(before.executions.values()) == {"RUNNING": MESSAGES}
        assert (before.effects, before.refused) == ({}, set())

        injector.change(TransientFailure("mended", "The provider is back."))
        # No faster than the functions' processes can take: with so short a patience some would be
        # letters again.
        ended = terminal.run(
            [str(ACTONCE), *RETRY.split()],
            EMBEDDED_CREDENTIALS
            | {
                "AWS_ENDPOINT_URL": state.endpoint_url,
                "AWS_DEFAULT_REGION": EMBEDDED_REGION,
                "PATH": os.environ["PATH"],
                "HOME": "/nonexistent",
            },
            paths.home,
            answers=b"y\n",
            after=b"[y/N]",
            is_input=True,
            timeout=1200,
        )
        assert (ended.status, ended.told.count("[y/N]")) == (0, 1), ended.told
        assert re.search(rf"Decided: {MESSAGES:,}\b", ended.told)
        wait_for_rest(stack, Resting(MESSAGES, 300))

    found = of_run(records.read(stack), sent)
    counted = judge(sent, found, 0, ordered=False)
    assert (counted.effects, counted.awaiting_decision) == (MESSAGES, 0)
    assert (counted.acted_on_twice, counted.lost) == (0, 0)
    assert set(found.executions.values()) == {"SUCCEEDED"}
