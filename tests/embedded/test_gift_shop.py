"""A team's own project with ActOnce nested in it, as examples/ has them, deployed as on AWS."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from actonce.adopt.project.copied_files import stack_files
from actonce.adopt.project.placing import place
from actonce.embedded import faults, lifecycle, nesting, prepared, sam
from actonce.embedded.lifecycle import State
from actonce.queues.scan import counts
from actonce.stack.clients import Aws, Stack, outputs_of
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.stack.message_ids import parameters
from actonce.terminal.errors import Failed
from tests.embedded.command_line import run, run_json
from tests.embedded.waiting import wait_for_execution, wait_until

pytestmark = [pytest.mark.embedded, pytest.mark.long]


def shop_of(example: str, folder: Path, *, audit: bool = False) -> Paths:
    """The example as a team has it after `actonce init`, or `actonce init --audit`."""
    project = folder / example
    shutil.copytree(PROJECT / "examples" / example, project)
    place(project, "0.0.0", stack_files(audit=audit), seeds={})
    return Paths(project / ".actonce", project, is_project=True)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Paths, State, Stack]]:
    paths = shop_of("gift_shop", tmp_path_factory.mktemp("shop"))
    try:
        yield paths, *lifecycle.up(paths, lambda _: None)
    finally:
        lifecycle.down(paths)


def outputs(state: State) -> dict[str, str]:
    """Of the shop's own stack, which is `actonce` here."""
    return outputs_of(Aws(state.endpoint_url), "actonce")


def order(state: State, **order: Any) -> None:
    """Call the shop's own function that puts an order on the queue."""
    answer = (
        Aws(state.endpoint_url)
        .client("lambda")
        .invoke(
            FunctionName=outputs(state)["OrdersFunctionName"], Payload=json.dumps(order).encode()
        )
    )
    assert "FunctionError" not in answer, answer["Payload"].read()


def cards(state: State) -> dict[str, int]:
    table = outputs(state)["GiftCardsTableName"]
    rows = Aws(state.endpoint_url).client("dynamodb").scan(TableName=table, ConsistentRead=True)
    return {row["order_id"]["S"]: int(row["amount"]["N"]) for row in rows["Items"]}


def outcome_of(stack: Stack, message_id: str) -> str:
    ended = wait_for_execution(stack, stack.execution_arn(message_id), 120)
    outcome: str = json.loads(ended["output"])["outcome"]
    return outcome


def test_the_shops_orders_become_one_gift_card_each(
    shop: tuple[Paths, State, Stack],
) -> None:
    paths, state, stack = shop
    assert stack.display_name == "actonce/Once"
    assert not (paths.stack / "actonce" / ".actonce").exists()
    interrupted = {
        "lost": {"perform": ["after:killed"]},
        "again": {"perform": ["before:killed"]},
        # Longer than looking up is tried again.
        "cannot-look": {"perform": ["after:Lambda.Unknown"], "find": ["before:killed"] * 5},
    }
    with faults.around_functions(paths.faults, interrupted):
        for order_id, amount in (
            ("twice", 20),
            ("twice", 20),
            ("never", "twenty"),
            ("lost", 30),
            ("again", 35),
            ("cannot-look", 40),
        ):
            order(state, order_id=order_id, amount=amount)

        outcomes = {"twice": "performed", "lost": "found", "again": "performed"}
        for order_id, outcome in outcomes.items():
            assert outcome_of(stack, order_id) == outcome

        def letters() -> Any:
            found = run_json(state, "dead-letters", "list")["dead_letters"]
            return found if len(found) == 2 else None

        found = {(one["message_id"], one["reason"]) for one in wait_until(letters)}
    assert found == {("never", "rejected"), ("cannot-look", "outcome_unknown")}
    assert cards(state) == {"twice": 20, "lost": 30, "again": 35, "cannot-look": 40}

    # Of one whose execution has not ended the card is there all the same: that is what decides.
    assert summary(state, "twice")["outcome"] == "performed"
    shown = run_json(state, "dead-letters", "show", "cannot-look")["summary"]
    for how in (summary(state, "cannot-look"), shown):
        assert (how["state"], how["effects"]) == ("waiting_for_decision", 1)
        assert how["advised"] == "resolve"

    assert run_json(state, "status", "--stack-name", "actonce/Once")["stack"] == "actonce/Once"
    # Its time-out stays what the shop says; what only waits is short.
    given = parameters(stack)
    assert (given["EffectTimeoutSeconds"], given["StragglerMarginSeconds"]) == ("10", "1")


def summary(state: State, name: str) -> dict[str, Any]:
    """How a message stands, as `actonce where` says."""
    result: dict[str, Any] = run_json(state, "where", name)["summary"]
    return result


def test_doctor_finds_what_somebody_changed_on_the_deployed_stack(
    shop: tuple[Paths, State, Stack],
) -> None:
    _, state, stack = shop

    def doctor() -> tuple[int, list[str]]:
        answer = run(state, "doctor", "--json")
        result = json.loads(answer.stdout)
        assert (result["stack"], result["not_checked"]) == ("actonce/Once", [])
        found = [(one["check"], one["hazard"]) for one in result["findings"]]
        return answer.returncode, [check for check, hazard in found if hazard != "none"]

    assert doctor() == (0, [])
    # As a team has it that left its old consumer at the queue.
    mapping = stack.lambda_.create_event_source_mapping(
        FunctionName=outputs(state)["OrdersFunctionName"],
        EventSourceArn=stack.outputs["RequestsQueueArn"],
        BatchSize=1,
    )
    try:
        assert doctor() == (1, ["feeding"])
    finally:
        stack.lambda_.delete_event_source_mapping(UUID=mapping["UUID"])


def test_an_edit_is_deployed_or_leaves_the_stack_that_ran_and_all_that_was_sent_is_still_known(
    shop: tuple[Paths, State, Stack],
) -> None:
    paths, state, stack = shop
    template = paths.stack / "template.yaml"
    good = template.read_text()
    find = "        FindFunctionArn: !Ref GiftCards.Version\n"
    # What the effect runs has to be taken back, too.
    bad = "{QueueName: 'no name!', VisibilityTimeout: -7}"
    queue = f"  Bad: {{Type: AWS::SQS::Queue, Properties: {bad}}}\n\nOutputs:\n"
    changed = good.replace("Handler: gift_cards.handler", "Handler: nothing.handler")
    broken = changed.replace("Outputs:\n", queue, 1)
    assert broken.count("Bad:") == broken.count("nothing.handler") == good.count(find) == 1
    edits: list[tuple[str, dict[str, str], dict[str, str] | str]] = [
        (good, {"GiftCardSeconds": "12"}, {"EffectTimeoutSeconds": "12"}),
        (broken, {}, "Bad: "),
        (good.replace(find, ""), {}, {"FindFunctionArn": ""}),
        ("Resources: {}\n", {}, "has no ActOnce nested in it"),
        (good, {"NamesRememberedDays": "20"}, {"NamesRememberedDays": "20"}),
    ]
    sent: list[str] = []
    try:
        for number, (text, given, expected) in enumerate(edits):
            template.write_text(text)
            if isinstance(expected, str):
                with pytest.raises(Failed, match=expected):
                    lifecycle.up(paths, lambda _: None, parameters=given)
            else:
                after = lifecycle.up(paths, lambda _: None, parameters=given)[1]
                assert (after.requests_queue, after.state_machine) == (
                    stack.requests_queue,
                    stack.state_machine,
                )
                assert expected.items() <= parameters(stack).items()
            again = lifecycle.running(paths)
            assert again is not None
            assert again.pid == state.pid
            sent.append(f"edit-{number}")
            for name in sent:  # those before once more
                order(state, order_id=name, amount=1)
            assert outcome_of(stack, sent[-1]) == "performed"
            for name in sent:
                assert summary(state, name)["outcome"] == "performed"
    finally:
        template.write_text(good)
        lifecycle.up(paths, lambda _: None, parameters={})
    assert dict.fromkeys(sent, 1).items() <= cards(state).items()


@pytest.mark.skipif(shutil.which("node") is None, reason="the shop in Node needs node on the PATH")
def test_the_shop_in_node_keeps_its_own_queue(tmp_path: Path) -> None:
    paths = shop_of("gift_shop_node", tmp_path)
    lines: list[str] = []
    try:
        state, stack = lifecycle.up(paths, lines.append)
        queue = outputs(state)["OrdersQueueUrl"]
        assert stack.requests_queue.rpartition("/")[2] == queue.rpartition("/")[2]
        for body in ({"order_id": "twice", "amount": 20},) * 2:
            stack.sqs.send_message(QueueUrl=queue, MessageBody=json.dumps(body))
        run(state, "send", "-", input_text='{"order_id": "sent", "amount": 30}\n')
        assert {outcome_of(stack, name) for name in ("twice", "sent")} == {"performed"}
        run(state, "send", "-", input_text='{"order_id": "refused", "amount": 0}\n')
        letters = wait_until(lambda: run_json(state, "dead-letters", "list")["dead_letters"])
        assert [(one["message_id"], one["reason"]) for one in letters] == [("refused", "rejected")]
        assert cards(state) == {"twice": 20, "sent": 30}
        assert any("this machine's Node" in one for one in lines)
        attributes = stack.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])
        assert attributes["Attributes"]["VisibilityTimeout"] == "210"
    finally:
        lifecycle.down(paths)


# --------------------------------------------------------------------------- leaving

PAGE = (PROJECT / "docs" / "leaving.md").read_text()


def of_page(language: str) -> str:
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)
    return str(text)


def without_actonce(template: Path, queue_arn: str, queue_url: str) -> None:
    """Edit the shop's template as the page says."""
    text = template.read_text()
    once = re.compile(r"  # ---- the lines that ActOnce needs.*?\n\n", re.S)
    handler, _, rest = of_page("yaml").partition("      Policies:\n")
    policy, events = rest.splitlines(keepends=True)[0], "".join(rest.splitlines(keepends=True)[1:])
    text = once.sub("", text)
    text = text.replace("      Handler: gift_cards.handler\n", handler + events, 1)
    text = text.replace("      Policies:\n", f"      Policies:\n{policy}", 1)
    text = text.replace("!GetAtt Once.Outputs.RequestsQueueUrl", queue_url)
    text = text.replace("!GetAtt Once.Outputs.RequestsQueueArn", queue_arn)
    given = f"Parameters:\n  OrdersQueueArn: {{Type: String, Default: '{queue_arn}'}}\n"
    template.write_text(text.replace("Parameters:\n", given, 1))


def sent(aws: Aws, table: str) -> dict[str, str]:
    rows = aws.client("dynamodb").scan(TableName=table, ConsistentRead=True)["Items"]
    return {row["order_id"]["S"]: row["card_id"]["S"] for row in rows}


def test_after_actonce_each_order_has_its_one_card(shop: tuple[Paths, State, Stack]) -> None:
    """The last test of this shop: what it does is not taken back."""
    paths, state, stack = shop
    aws, table = Aws(state.endpoint_url), outputs(state)["GiftCardsTableName"]
    for order_id in ("before", "before", "other"):
        order(state, order_id=order_id, amount=5)
    assert {outcome_of(stack, name) for name in ("before", "other")} == {"performed"}

    run(state, "pause", "--yes")
    for order_id in ("before", "held", "held"):
        order(state, order_id=order_id, amount=5)
    assert run_json(state, "status")["queues"]["requests"]["waiting"] == 3
    as_it_was = sent(aws, table)
    assert "held" not in as_it_was

    queue = stack.outputs["RequestsQueueArn"], stack.requests_queue
    without_actonce(paths.stack / "template.yaml", *queue)
    code = paths.stack / "shop" / "gift_cards.py"
    code.write_text(f"{code.read_text()}\n\n{of_page('python')}")
    copy, _ = prepared.prepare(nesting.read(paths.stack / "template.yaml"), paths.prepared)
    build = ["build", "--template-file", str(copy), "--build-dir", str(paths.build)]
    sam.run(build, paths)
    sam.deploy(paths, state.endpoint_url, paths.build / "template.yaml", {})

    wait_until(lambda: counts(stack.sqs, stack.requests_queue) == (0, 0))
    assert sent(aws, table) == as_it_was | {"held": sent(aws, table)["held"]}

    tags = stack.sqs.list_queue_tags(QueueUrl=queue[1])["Tags"]
    assert {tag for tag in tags if tag.startswith("actonce-paused")} == set(
        re.findall(r"actonce-paused-\w+", PAGE)
    )
    # What the page says that stays, and one thing that goes.
    for queue_url in (stack.unstarted_queue, stack.dead_letter_queue):
        stack.sqs.get_queue_attributes(QueueUrl=queue_url)
    history = stack.stepfunctions.describe_execution(executionArn=stack.execution_arn("before"))
    assert json.loads(history["output"])["outcome"] == "performed"
    with pytest.raises(ClientError):
        stack.lambda_.get_function(FunctionName=stack.starter_function)
