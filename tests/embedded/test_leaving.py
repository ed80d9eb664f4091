"""Back to a plain trigger, as docs/leaving.md says, with its own lines."""

import json
import re
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from actonce.embedded import lifecycle, nesting, prepared, sam
from actonce.queues.scan import counts
from actonce.stack.clients import Aws
from actonce.stack.embedded_folder import PROJECT
from tests.embedded.command_line import run, run_json
from tests.embedded.test_gift_shop import cards, order, outcome_of, outputs, shop_of
from tests.embedded.waiting import wait_until

pytestmark = [pytest.mark.embedded, pytest.mark.long]

PAGE = (PROJECT / "docs" / "leaving.md").read_text()


def said(language: str) -> str:
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)
    return str(text)


def without_actonce(template: Path, queue_arn: str, queue_url: str) -> None:
    """Edit the shop's template as the page says."""
    text = template.read_text()
    once = re.compile(r"  # ---- the lines that ActOnce needs.*?\n\n", re.S)
    handler, _, rest = said("yaml").partition("      Policies:\n")
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


def test_after_actonce_each_order_has_its_one_card(tmp_path: Path) -> None:
    paths = shop_of("gift_shop", tmp_path)
    try:
        state, stack = lifecycle.up(paths, lambda _: None)
        aws, table = Aws(state.endpoint_url), outputs(state)["GiftCardsTableName"]
        for order_id in ("before", "before", "other"):
            order(state, order_id=order_id, amount=5)
        assert {outcome_of(stack, name) for name in ("before", "other")} == {"performed"}

        run(state, "pause", "--yes")
        for order_id in ("before", "held", "held"):
            order(state, order_id=order_id, amount=5)
        status = run_json(state, "status")
        assert (status["waits_for"], status["queues"]["requests"]["waiting"]) == (None, 3)
        as_it_was = sent(aws, table)
        assert as_it_was.keys() == {"before", "other"}

        queue = stack.outputs["RequestsQueueArn"], stack.requests_queue
        without_actonce(paths.stack / "template.yaml", *queue)
        code = paths.stack / "shop" / "gift_cards.py"
        code.write_text(f"{code.read_text()}\n\n{said('python')}")
        copy, _ = prepared.prepare(nesting.read(paths.stack / "template.yaml"), paths.prepared)
        build = ["build", "--template-file", str(copy), "--build-dir", str(paths.build)]
        sam.run(build, paths)
        sam.deploy(paths, state.endpoint_url, paths.build / "template.yaml", {})

        wait_until(lambda: counts(stack.sqs, stack.requests_queue) == (0, 0))
        assert cards(state).keys() == {"before", "other", "held"}
        assert as_it_was.items() <= sent(aws, table).items(), "a card was sent again"

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
    finally:
        lifecycle.down(paths)
