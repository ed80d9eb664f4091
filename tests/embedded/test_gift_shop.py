"""A team's own project with ActOnce nested in it, as examples/ has them, deployed as on AWS."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actonce.adopt.project.placing import place
from actonce.adopt.project.plan import stack_files
from actonce.embedded import faults, lifecycle
from actonce.embedded.injected import fault_injection
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.terminal.errors import Failed
from tests.embedded.command_line import run, run_json
from tests.embedded.waiting import wait_for_execution, wait_until

pytestmark = pytest.mark.embedded


def shop_of(example: str, folder: Path) -> Paths:
    """The example as a team has it after `actonce init`."""
    project = folder / example
    shutil.copytree(PROJECT / "examples" / example, project)
    place(project, "0.0.0", stack_files(), seeds={})
    return Paths(project / ".actonce", project, is_project=True)


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def shop(
    tmp_path_factory: pytest.TempPathFactory, said: list[str]
) -> Iterator[tuple[Paths, State, Stack]]:
    paths = shop_of("gift_shop", tmp_path_factory.mktemp("shop"))
    try:
        yield paths, *lifecycle.up(paths, said.append)
    finally:
        lifecycle.down(paths)


def outputs(state: State) -> dict[str, str]:
    """Of the shop's own stack, which is `actonce` here."""
    stacks = Aws(state.endpoint_url).client("cloudformation").describe_stacks(StackName="actonce")
    return {one["OutputKey"]: one["OutputValue"] for one in stacks["Stacks"][0]["Outputs"]}


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


def cards(state: State, table: str) -> dict[str, int]:
    rows = Aws(state.endpoint_url).client("dynamodb").scan(TableName=table, ConsistentRead=True)
    return {row["order_id"]["S"]: int(row["amount"]["N"]) for row in rows["Items"]}


@pytest.mark.long
def test_the_shops_orders_become_one_gift_card_each(
    shop: tuple[Paths, State, Stack], said: list[str]
) -> None:
    paths, state, stack = shop
    assert stack.called == "actonce/Once"
    assert not (paths.stack / "actonce" / ".actonce").exists()
    for amount in (20, 20):
        order(state, order_id="twice", amount=amount)
    order(state, order_id="never", amount="twenty")
    twice = wait_for_execution(stack, stack.execution_arn("twice"), 60)
    assert json.loads(twice["output"])["outcome"] == "performed"

    def letters() -> Any:
        return run_json(state, "dead-letters", "list")["dead_letters"]

    (letter,) = wait_until(letters, 60)
    assert (letter["message_id"], letter["reason"]) == ("never", "rejected")
    assert cards(state, outputs(state)["GiftCardsTableName"]) == {"twice": 20}
    # By the name of the shop's own stack, and by where ActOnce is in it.
    assert "by the word of its execution" in run(state, "where", "twice").stdout
    assert run_json(state, "status", "--stack-name", "actonce/Once")["stack"] == "actonce/Once"
    other = run(state, "status", "--stack-name", "actonce/Twice")
    assert (other.returncode, "is not nested" in other.stderr) == (1, True)
    # Its time-out stays what the shop says; what only waits is short.
    (described,) = stack.aws.client("cloudformation").describe_stacks(StackName=stack.name)[
        "Stacks"
    ]
    given = {one["ParameterKey"]: one["ParameterValue"] for one in described["Parameters"]}
    assert (given["EffectTimeoutSeconds"], given["StragglerMarginSeconds"]) == ("10", "1")
    assert not any("cannot run" in one for one in said)


@pytest.mark.long
def test_doctor_finds_what_somebody_changed_on_the_deployed_stack(
    shop: tuple[Paths, State, Stack],
) -> None:
    _, state, stack = shop

    def doctor() -> tuple[int, dict[str, str]]:
        answer = run(state, "doctor", "--json")
        told = json.loads(answer.stdout)
        assert told["stack"] == "actonce/Once"
        assert told["not_checked"] == []
        found = {one["sentence"]: one["hazard"] for one in told["findings"]}
        return answer.returncode, {s: h for s, h in found.items() if h != "none"}

    assert doctor() == (0, {})
    queue = stack.outputs["RequestsQueueArn"]
    other = outputs(state)["OrdersFunctionName"]
    try:
        # As a team has it that left its old consumer at the queue.
        mapping = stack.lambda_.create_event_source_mapping(
            FunctionName=other, EventSourceArn=queue, BatchSize=1
        )
        status, found = doctor()
    finally:
        stack.lambda_.delete_event_source_mapping(UUID=mapping["UUID"])
    assert status == 1
    assert list(found.values()) == ["twice"]
    assert f"{other} takes from the requests queue as well" in "".join(found)


@pytest.mark.long
def test_what_cannot_be_deployed_leaves_the_stack_that_ran_with_its_data(
    shop: tuple[Paths, State, Stack],
) -> None:
    paths, state, stack = shop
    template = paths.stack / "template.yaml"
    good = template.read_text()
    bad = "{QueueName: 'no name!', VisibilityTimeout: -7}"
    broken = f"  Bad: {{Type: AWS::SQS::Queue, Properties: {bad}}}\n\nOutputs:\n"
    order(state, order_id="before", amount=5)
    wait_for_execution(stack, stack.execution_arn("before"), 60)
    try:
        # What the effect runs has to be taken back, too.
        changed = good.replace("Handler: gift_cards.handler", "Handler: nothing.handler")
        assert changed != good
        template.write_text(changed.replace("Outputs:\n", broken, 1))
        with pytest.raises(Failed, match="Bad: "):
            lifecycle.up(paths, lambda _: None)
        template.write_text("Resources: {}\n")
        with pytest.raises(Failed, match="has no ActOnce nested in it"):
            lifecycle.up(paths, lambda _: None)
    finally:
        template.write_text(good)
    again = lifecycle.running(paths)
    assert again is not None
    assert again.pid == state.pid
    order(state, order_id="before", amount=5)
    order(state, order_id="after", amount=7)
    wait_for_execution(stack, stack.execution_arn("after"), 60)
    table = outputs(state)["GiftCardsTableName"]
    assert {"before": 5, "after": 7}.items() <= cards(state, table).items()
    assert run(state, "where", "before").returncode == 0


@pytest.mark.long
def test_a_nested_project_is_edited_and_what_was_sent_before_is_still_known(
    shop: tuple[Paths, State, Stack],
) -> None:
    paths, state, stack = shop
    template = paths.stack / "template.yaml"
    good = template.read_text()
    find = "        FindFunctionArn: !Ref GiftCards.Version\n"
    seconds = "        EffectTimeoutSeconds: !Ref GiftCardSeconds\n"
    assert find in good
    assert seconds in good
    edited = good.replace(seconds, "        EffectTimeoutSeconds: 30\n")
    edits: list[tuple[str, dict[str, str], dict[str, str]]] = [
        (good, {"GiftCardSeconds": "12"}, {"EffectTimeoutSeconds": "12"}),
        (good.replace(find, ""), {}, {"FindFunctionArn": ""}),
        (edited, {}, {"EffectTimeoutSeconds": "30"}),
        (good, {"AlarmEmail": "shop@example.com"}, {"AlarmEmail": "shop@example.com"}),
        (good, {"NamesRememberedDays": "20"}, {"NamesRememberedDays": "20"}),
    ]
    sent = ["edit-0"]
    order(state, order_id="edit-0", amount=1)
    wait_for_execution(stack, stack.execution_arn("edit-0"), 60)
    try:
        for number, (text, parameters, deployed) in enumerate(edits, start=1):
            template.write_text(text)
            after = lifecycle.up(paths, lambda _: None, parameters=parameters)[1]
            assert (after.requests_queue, after.state_machine) == (
                stack.requests_queue,
                stack.state_machine,
            )
            (one,) = stack.aws.client("cloudformation").describe_stacks(StackName=stack.name)[
                "Stacks"
            ]
            given = {one["ParameterKey"]: one["ParameterValue"] for one in one["Parameters"]}
            assert deployed.items() <= given.items()
            sent.append(f"edit-{number}")
            for name in sent:  # those before once more
                order(state, order_id=name, amount=1)
            done = wait_for_execution(stack, stack.execution_arn(sent[-1]), 60)
            assert json.loads(done["output"])["outcome"] == "performed"
            for name in sent:
                assert "by the word of its execution" in run(state, "where", name).stdout
    finally:
        template.write_text(good)
        lifecycle.up(paths, lambda _: None, parameters={})
    table = outputs(state)["GiftCardsTableName"]
    assert dict.fromkeys(sent, 1).items() <= cards(state, table).items()


@pytest.mark.table
def test_faults_around_the_shops_effect_are_found_out(shop: tuple[Paths, State, Stack]) -> None:
    paths, _, _ = shop
    plan = faults.drawn(faults.Level.MANY)
    names = {
        "".join(fault_injection.planned(plan, f"f-{n}", "perform")): f"f-{n}" for n in range(200)
    }
    try:
        state, stack = lifecycle.up(paths, lambda _: None, faults="many")
        for name in names.values():
            order(state, order_id=name, amount=5)
        ended = {}
        for fault, name in names.items():
            done = wait_for_execution(stack, stack.execution_arn(name), 120)
            ended[fault] = json.loads(done["output"])["outcome"]
        found = {"after:killed", "after:timed-out", "after:ConnectionResetError"}
        assert ended == {one: "found" if one in found else "performed" for one in names}
        sent = cards(state, outputs(state)["GiftCardsTableName"])
        assert dict.fromkeys(names.values(), 5).items() <= sent.items()
    finally:
        state, stack = lifecycle.up(paths, lambda _: None, faults="")
    effect = stack.outputs["EffectFunctionArn"]
    deployed = stack.lambda_.get_function_configuration(FunctionName=effect)
    assert deployed["Handler"] == "gift_cards.handler"


@pytest.mark.table
@pytest.mark.skipif(shutil.which("node") is None, reason="the shop in Node needs node on the PATH")
def test_the_shop_in_node_keeps_its_own_queue(tmp_path: Path) -> None:
    paths = shop_of("gift_shop_node", tmp_path)
    said: list[str] = []
    try:
        state, stack = lifecycle.up(paths, said.append)
        queue = outputs(state)["OrdersQueueUrl"]
        assert stack.requests_queue.rpartition("/")[2] == queue.rpartition("/")[2]
        for body in ({"order_id": "twice", "amount": 20},) * 2:
            stack.sqs.send_message(QueueUrl=queue, MessageBody=json.dumps(body))
        run(state, "send", "-", input_text='{"order_id": "sent", "amount": 30}\n')
        for name in ("twice", "sent"):
            done = wait_for_execution(stack, stack.execution_arn(name), 60)
            assert json.loads(done["output"])["outcome"] == "performed"
        table = outputs(state)["GiftCardsTableName"]
        assert cards(state, table) == {"twice": 20, "sent": 30}
        assert any("this machine's Node" in one for one in said)
        attributes = stack.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])
        assert attributes["Attributes"]["VisibilityTimeout"] == "210"
    finally:
        lifecycle.down(paths)


@pytest.mark.parametrize("example", ["gift_shop", "gift_shop_node"])
@pytest.mark.long
def test_the_example_has_nothing_that_cfn_lint_finds(example: str) -> None:
    template = PROJECT / "examples" / example / "template.yaml"
    command = [str(Path(sys.executable).with_name("cfn-lint")), str(template)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout
