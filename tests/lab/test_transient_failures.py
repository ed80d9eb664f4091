"""The failure: token buckets, what calls meet, and how a run in it is counted."""

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from actonce.demo.outcome import Sent
from actonce.demo.records import Records
from lab.faults import kinds
from lab.faults.figures import (
    of_run,
    state_transitions,
    waits_of_deliveries,
    waits_of_execution,
)
from lab.faults.proxy import Answered, Forwarded, Request, Unanswered, proxy_before
from lab.faults.stack import as_answer
from lab.faults.token_bucket import Quota, TokenBucket
from lab.faults.transient import (
    DYNAMODB,
    LAMBDA,
    NO_FAILURE,
    PROVIDER,
    SQS,
    STEP_FUNCTIONS,
    Fate,
    Injector,
    Met,
    TransientFailure,
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_full_bucket_lets_a_burst_pass_and_then_what_it_is_refilled_with() -> None:
    bucket = TokenBucket(Quota(25, 6), began=0.0)
    assert [bucket.take(0.0) for _ in range(26)] == [True] * 25 + [False]
    assert not bucket.take(0.16)
    assert bucket.take(0.17)
    passed = sum(bucket.take(0.17 + n / 100) for n in range(1000))
    assert passed in {59, 60}


def test_a_throttled_call_takes_nothing_and_a_bucket_does_not_grow_beyond_its_size() -> None:
    bucket = TokenBucket(Quota(2, 1), began=0.0)
    assert [bucket.take(3600.0) for _ in range(3)] == [True, True, False]
    assert [bucket.take(3600.0 + n / 10) for n in range(1, 11)] == [False] * 9 + [True]
    assert not bucket.take(3600.0), "a clock that goes back adds none"


def test_a_quota_says_how_long_calls_take_and_how_many_can_pass() -> None:
    quota = Quota(25, 6)
    assert quota.least_seconds(20) == 0
    assert quota.least_seconds(85) == pytest.approx(10)
    assert quota.most_calls(10) == 85


def test_a_call_over_its_quota_is_throttled_and_others_are_not(clock: Clock) -> None:
    injector = Injector(clock)
    injector.change(kinds.MEASURED["throttled"].failure)
    fates = [injector.meets(STEP_FUNCTIONS, "StartExecution").fate for _ in range(26)]
    assert fates == [Fate.PASSES] * 25 + [Fate.THROTTLED]
    assert injector.meets(DYNAMODB, "PutItem").fate is Fate.PASSES
    assert injector.performs().fate is Fate.PASSES
    assert injector.counts["StartExecution", Fate.THROTTLED] == 1
    assert injector.failures == {"throttled": 1}
    clock.now += 10
    assert injector.meets(STEP_FUNCTIONS, "StartExecution").fate is Fate.PASSES
    assert injector.share_of_quota({"StartExecution": 26}) == pytest.approx(26 / 85)
    assert injector.over_at({"StartExecution": 85}) == pytest.approx(1010)


@pytest.mark.parametrize("silent", [False, True])
def test_what_is_down_is_down_until_its_time_is_over(clock: Clock, silent: bool) -> None:
    injector = Injector(clock)
    down = TransientFailure("x", "x", down=frozenset({DYNAMODB}), down_seconds=90, is_silent=silent)
    injector.change(down)
    expected = Fate.UNANSWERED if silent else Fate.FAILS
    assert injector.meets(DYNAMODB, "PutItem").fate is expected
    assert injector.meets(STEP_FUNCTIONS, "StartExecution").fate is Fate.PASSES
    clock.now += 89.9
    assert injector.meets(DYNAMODB, "UpdateItem").fate is expected
    clock.now += 0.2
    assert injector.meets(DYNAMODB, "PutItem").fate is Fate.PASSES
    assert injector.over_at({}) == pytest.approx(1090)
    assert injector.share_of_quota({}) is None


def test_find_fails_for_each_message_from_its_first_find_on(clock: Clock) -> None:
    injector = Injector(clock)
    injector.change(kinds.MEASURED["find-down"].failure)
    assert injector.finds("a").fate is Fate.FAILS
    clock.now += 9
    assert injector.finds("b").fate is Fate.FAILS
    clock.now += 1
    assert injector.finds("a").fate is Fate.PASSES
    assert injector.finds("b").fate is Fate.FAILS
    assert injector.over_at({}) == pytest.approx(1010)
    clock.now += 9
    assert injector.finds("b").fate is Fate.PASSES


def test_only_the_first_answer_of_a_message_is_lost(clock: Clock) -> None:
    injector = Injector(clock)
    assert not injector.loses_answer("a")
    injector.change(kinds.MEASURED["find-down"].failure)
    assert [injector.loses_answer("a"), injector.loses_answer("a"), injector.loses_answer("b")] == [
        True,
        False,
        True,
    ]


def test_nothing_is_counted_where_nothing_fails(clock: Clock) -> None:
    injector = Injector(clock)
    assert injector.meets(SQS, "SendMessage") == injector.performs() == Met(Fate.PASSES)
    injector.change(NO_FAILURE)
    injector.finds("a")
    assert not injector.counts


def test_a_failure_gets_the_sizes_that_are_asked_for_and_no_others() -> None:
    throttled = kinds.MEASURED["throttled"]
    smaller = throttled.resized(messages=50, refill=10, down_seconds=5)
    assert smaller.messages == 50
    assert smaller.failure.quotas == {"StartExecution": Quota(25, 10)}
    assert smaller.failure.down_seconds == 0
    outage = kinds.MEASURED["provider-down"].resized(down_seconds=5, bucket=7)
    assert (outage.messages, outage.failure.down_seconds) == (300, 5)
    assert not outage.failure.quotas
    assert throttled.resized() == throttled


def test_a_stack_is_told_only_the_parameters_that_it_has() -> None:
    known = frozenset({"MaximumConcurrency"})
    assert kinds.parameters(known, {"QueueType": "fifo"}) == {
        "MaximumConcurrency": "4",
        "QueueType": "fifo",
    }
    assert kinds.parameters(known, {"MaximumConcurrency": "9"}) == {"MaximumConcurrency": "9"}


def test_every_failure_meets_something_that_a_stack_calls() -> None:
    known = {STEP_FUNCTIONS, DYNAMODB, SQS, PROVIDER, LAMBDA, "StartExecution", "PutItem"}
    for name, shown in kinds.MEASURED.items():
        failure = shown.failure
        assert failure.quotas.keys() | failure.down <= known, name
        assert failure.quotas or failure.down_seconds or failure.find_fails_seconds, name


@pytest.mark.parametrize(
    ("service", "fate", "status", "code"),
    [
        (STEP_FUNCTIONS, Fate.THROTTLED, 400, "ThrottlingException"),
        (DYNAMODB, Fate.THROTTLED, 400, "ProvisionedThroughputExceededException"),
        (SQS, Fate.THROTTLED, 400, "RequestThrottled"),
        (DYNAMODB, Fate.FAILS, 500, "InternalServerError"),
        (STEP_FUNCTIONS, Fate.FAILS, 503, "ServiceUnavailable"),
        ("AWSOther", Fate.THROTTLED, 400, "ThrottlingException"),
    ],
)
def test_a_call_is_answered_as_its_service_answers(
    service: str, fate: Fate, status: int, code: str
) -> None:
    answer = as_answer(service, Met(fate))
    assert isinstance(answer, Answered)
    assert answer.status == status
    assert json.loads(answer.body)["__type"].rpartition("#")[2] == code
    assert as_answer(service, Met(Fate.PASSES)) == Forwarded()
    assert isinstance(as_answer(service, Met(Fate.UNANSWERED)), Unanswered)


def test_each_state_and_each_repeat_of_a_task_is_a_transition() -> None:
    happy = ["ExecutionStarted", "TaskStateEntered", "TaskScheduled", "TaskStarted"]
    happy += ["TaskSucceeded", "TaskStateExited", "ExecutionSucceeded"]
    assert state_transitions(happy) == 2
    assert state_transitions(["TaskStateEntered", *["TaskScheduled", "TaskFailed"] * 3]) == 4
    assert state_transitions(["TaskStateEntered", "WaitStateEntered", "ChoiceStateEntered"]) == 4


def test_a_back_off_is_what_was_waited_in_an_execution_or_in_the_queue() -> None:
    history = [("TaskStateEntered", 1.0), ("WaitStateEntered", 2.0), ("WaitStateExited", 7.5)]
    assert waits_of_execution([*history, ("WaitStateEntered", 9.0)]) == [(2.0, 7.5)]
    ends = [("a", 5, "failed"), ("a", 1, "failed"), ("a", 20, "started"), ("a", 30, "suppressed")]
    lines = [
        {"sqs_message_id": key, "at": f"2026-01-31T00:00:{second:02}.000Z", "end": end}
        for key, second, end in [*ends, ("b", 3, "failed"), ("c", 4, "started")]
    ]
    waited = [until - since for since, until in waits_of_deliveries(lines)]
    assert waited == [4.0, 15.0]


def test_what_was_there_before_belongs_to_no_run() -> None:
    def line(sqs_id: str) -> dict[str, str]:
        return {"sqs_message_id": sqs_id}

    found = Records(
        deliveries=[line("own"), line("old")],
        executions={"own": "SUCCEEDED", "old": "RUNNING"},
        resolved={"old"},
        effects={"own": 1, "old": 2},
        books={"main": ["old", "own"]},
        refused={("own", "conflict"), ("old", "not_json")},
        waiting={"own", "old"},
    )
    assert of_run(found, [Sent("own", "own", "own")]) == Records(
        deliveries=[line("own")],
        executions={"own": "SUCCEEDED"},
        resolved=set(),
        effects={"own": 1},
        books={"main": ["own"]},
        refused={("own", "conflict")},
        waiting={"own"},
    )


# ------------------------------------------------------------------ the proxy


@pytest.fixture
def target() -> Iterator[tuple[str, list[bytes]]]:
    """A service on loopback that echoes, and the requests that it did."""
    done: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            done.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(201)
            self.send_header("X-Service", "echo")
            self.end_headers()
            self.wfile.write(done[-1])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", done
        server.shutdown()
        thread.join()


def _post(url: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    request = urllib.request.Request(url, body, {"X-Amz-Target": "AmazonSQS.SendMessage"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def test_the_proxy_passes_on_answers_itself_and_loses(target: tuple[str, list[bytes]]) -> None:
    url, done = target
    came: list[Request] = []

    def meet(request: Request) -> Forwarded | Answered | Unanswered:
        came.append(request)
        if request.body == b"refused":
            return Answered(400, b"no")
        return Forwarded(is_lost=request.body == b"lost")

    with proxy_before(url, meet) as proxy:
        status, headers, body = _post(f"{proxy}/queue", b"passes")
        assert (status, headers["X-Service"], body) == (201, "echo", b"passes")
        assert came == [Request("/queue", "AmazonSQS.SendMessage", b"passes")]
        assert _post(proxy, b"refused")[::2] == (400, b"no")
        with pytest.raises(OSError, match="closed connection"):
            _post(proxy, b"lost")
    assert done == [b"passes", b"lost"]


def test_what_is_not_answered_is_not_done_and_holds_nothing_up_at_the_end(
    target: tuple[str, list[bytes]],
) -> None:
    url, done = target
    with proxy_before(url, lambda _: Unanswered(3600)) as proxy:
        host, _, port = proxy.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=60) as client:
            client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx")
            client.settimeout(0.05)
            with pytest.raises(TimeoutError):
                client.recv(1)
    assert not done
