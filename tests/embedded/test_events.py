"""What a rule hears of one message: its dead letter, its conflict and its decision."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from actonce.operate.deciding import decide
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT
from actonce_core.events import EventBus
from actonce_core.start import End, Start
from tests.embedded.waiting import wait_for_execution, wait_until
from tests.support.deliveries import delivery
from tests.template import load

NOTIFICATIONS = PROJECT / "examples" / "notifications" / "template.yaml"


def test_a_dead_letter_a_conflict_and_a_decision_are_heard_once_each(
    stack: Stack, send: Callable[[Any], None], message_id: str
) -> None:
    queue = stack.sqs.create_queue(QueueName=message_id)["QueueUrl"]
    bus: Any = stack.aws.client("events")
    pattern = {"source": ["actonce"], "detail": {"message_id": [message_id]}}
    bus.put_rule(Name=message_id, EventPattern=json.dumps(pattern))
    arn = f"arn:aws:sqs:us-east-1:000000000000:{message_id}"
    bus.put_targets(Rule=message_id, Targets=[{"Id": "heard", "Arn": arn}])
    heard: list[Any] = []

    def hear(kind: str) -> Any:
        def found() -> Any:
            got = stack.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
            heard.extend(json.loads(one["Body"]) for one in got.get("Messages", []))
            return [one for one in heard if one["detail-type"] == kind]

        (event,) = wait_until(found)
        return event["detail"]

    send({"message_id": message_id, "practice": 7})
    needed = hear("Decision Needed")
    send({"message_id": message_id, "practice": 8})
    refused = hear("Delivery Refused")
    assert decide(stack, message_id, "resolve", "by telephone").decided
    made = hear("Decision Made")

    ended = wait_for_execution(stack, stack.execution_arn(message_id))
    assert (ended["status"], len(heard)) == ("SUCCEEDED", 3)
    same = {"version": 1, "stack": stack.name, "message_id": message_id}
    same["execution_name"] = message_id
    of_execution = {**same, "execution_arn": ended["executionArn"], "reason": "rejected"}
    assert needed == {**of_execution, "error": "Rejected", "rounds": 0}
    assert made == {**of_execution, "decision": "resolve"}
    assert refused.pop("sqs_message_id")
    assert refused == {**same, "reason": "conflict"}
    assert "telephone" not in json.dumps(heard)


def test_the_example_s_rule_writes_a_line_into_a_chat(stack: Stack, message_id: str) -> None:
    bus: Any = stack.aws.client("events")
    properties = load(NOTIFICATIONS)["Resources"]["DecisionNeededToChat"]["Properties"]
    transformer = properties["Targets"][0]["InputTransformer"]
    template = transformer["InputTemplate"]["Fn::Sub"].replace("${ChatTextField}", "text")
    with chat() as (url, lines):
        auth = {"ApiKeyAuthParameters": {"ApiKeyName": "X-Sent-By", "ApiKeyValue": "ActOnce"}}
        connection = bus.create_connection(
            Name=message_id[:64], AuthorizationType="API_KEY", AuthParameters=auth
        )["ConnectionArn"]
        destination = bus.create_api_destination(
            Name=message_id[:64],
            ConnectionArn=connection,
            InvocationEndpoint=url,
            HttpMethod="POST",
        )["ApiDestinationArn"]
        pattern = {**properties["EventPattern"], "detail": {"message_id": [message_id]}}
        bus.put_rule(Name=message_id, EventPattern=json.dumps(pattern))
        target = {"Id": "chat", "Arn": destination, "RoleArn": "arn:aws:iam::000000000000:role/r"}
        target["InputTransformer"] = {**transformer, "InputTemplate": template}
        bus.put_targets(Rule=message_id, Targets=[target])

        letter = {"message_id": message_id, "execution_name": message_id, "reason": "rejected"}
        end = End(Start.STARTED, None, {**letter, "error": "Rejected", "rounds": 0})
        EventBus(lambda: bus, "shop").tell([(delivery("{}"), end)])

        line = wait_until(lambda: next(iter(lines), None))
    assert line == {
        "text": "A message needs a decision in shop (rejected): "
        f"actonce dead-letters show {message_id}"
    }


@contextmanager
def chat() -> Iterator[tuple[str, list[Any]]]:
    """An incoming webhook on this machine: its URL, and what was posted to it."""
    lines: list[Any] = []

    class Webhook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            lines.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Webhook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/hook", lines
        finally:
            server.shutdown()
