"""What `perform` has left running when it raised, on real processes: it must not act later."""

import base64
import json
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from actonce.adopt.effect_check import checks
from actonce.adopt.effect_check.checks import CHECKS, Trial
from actonce.adopt.effect_check.finding import Finding, Settings, Status
from actonce.adopt.effect_check.on_lambda import OnLambda
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce_core.invoked_effect import client_config
from tests.support.gift_card_provider import Provider, running
from tests.support.packages import packed

SECONDS = 4
CONTRACT = {
    f"actonce_core/{name}": (PROJECT / "functions" / "actonce_core" / name).read_text()
    for name in ("__init__.py", "effect.py")
}
IN_PYTHON = """
import json, os
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

POOL = ThreadPoolExecutor()

def ask(method, path, body=None):
    provider = HTTPConnection("127.0.0.1", int(os.environ["PORT"]))
    provider.request(method, path, body)
    return json.load(provider.getresponse())

class Shop:
    def perform(self, request):
        order = json.dumps({"reference": request["message_id"]})
        return {"order": POOL.submit(ask, "POST", "/orders", order).result(timeout=WAITS)["id"]}

    def find(self, message_id):
        orders = ask("GET", f"/orders?reference={message_id}")
        return {"order": orders[0]["id"]} if orders else None
"""
BY_ANSWER = """
from actonce_core.effect import answer
handler = lambda event, _: answer(Shop(), event)
"""
BY_ITSELF = """
def handler(event, _):
    if event["operation"] == "find":
        found = Shop().find(event["message"]["message_id"])
        return {"performed": found is not None, "effect": found}
    return {"performed": True, "effect": Shop().perform(event["message"])}
"""
IN_NODE = """
import { setTimeout as sleep } from "node:timers/promises";

const orders = `http://127.0.0.1:${process.env.PORT}/orders`;

async function order(message) {
  const { slow } = JSON.parse(message.body);
  await sleep(slow ? 1500 : 0, undefined, SLEEPS); // as for a token that is slow to come
  const body = JSON.stringify({ reference: message.message_id });
  return (await fetch(orders, { method: "POST", body, ...SLEEPS })).json();
}

export async function handler(event) {
  const { message } = event;
  if (event.operation === "find") {
    const answered = await fetch(`${orders}?reference=${message.message_id}`);
    const [found] = await answered.json();
    return found ? { performed: true, effect: { order: found.id } } : { performed: false };
  }
  return { performed: true, effect: { order: (await PERFORMS).id } };
}
"""
ABORTED = IN_NODE.replace("SLEEPS", "{ signal: AbortSignal.timeout(500) }").replace(
    "PERFORMS", "order(message)"
)
RACED = IN_NODE.replace("SLEEPS", "{}").replace(
    "PERFORMS",
    'Promise.race([order(message), sleep(500).then(() => { throw new Error("late"); })])',
)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running() as provider:
        yield provider


@pytest.fixture
def deployed(
    stack: Stack, state: State, embedded_paths: Paths, provider: Provider
) -> Callable[..., OnLambda]:
    def deploy(files: dict[str, str], runtime: str = "") -> OnLambda:
        name = f"left-running-{uuid.uuid4()}"
        client: Any = stack.aws.fresh("lambda", client_config(SECONDS))
        client.create_function(
            FunctionName=name,
            Runtime=runtime or f"python{sys.version_info[0]}.{sys.version_info[1]}",
            Role="arn:aws:iam::000000000000:role/none",
            Handler="shop.handler",
            Timeout=SECONDS,
            Code={"ZipFile": packed(files)},
            Environment={"Variables": {"PORT": str(provider.port)}},
        )
        return OnLambda(client, state, embedded_paths.faults, name, name)

    return deploy


def python(by: str, *, waits: float) -> dict[str, str]:
    return {"shop.py": IN_PYTHON.replace("WAITS", str(waits)) + by, **CONTRACT}


def checked(caller: OnLambda, monkeypatch: pytest.MonkeyPatch, slow: Any = None) -> Finding:
    """The finding of the one check."""
    monkeypatch.setattr(checks, "CHECKS", [one for one in CHECKS if one.name == "slow-provider"])
    (found,) = Trial(caller, Settings({"amount": 20}, SECONDS, slow=slow)).run()
    return found


def test_answer_ends_the_process_in_the_real_runtime(
    deployed: Callable[..., OnLambda],
) -> None:
    shop = deployed(python(BY_ANSWER, waits=0))
    event = {"operation": "perform", "message": {"message_id": "m-1", "body": '"secret"'}}
    response = shop.lambda_.invoke(
        FunctionName=shop.effect, Payload=json.dumps(event), LogType="Tail"
    )
    assert json.load(response["Payload"])["errorType"] == "Runtime.ExitError"
    log = base64.b64decode(response["LogResult"]).decode()
    assert '"message": "perform has left threads at work' in log
    assert "secret" not in log


@pytest.mark.parametrize(
    ("files", "status"),
    [
        (python(BY_ITSELF, waits=0.5), Status.FAILED),
        pytest.param(python(BY_ANSWER, waits=0.5), Status.PASSED, marks=pytest.mark.long),
    ],
    ids=["left running", "ended"],
)
def test_the_check_sees_what_python_leaves_running_behind_a_slow_provider(
    files: dict[str, str],
    status: Status,
    deployed: Callable[..., OnLambda],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = checked(deployed(files), monkeypatch)
    assert found.status is status, found


@pytest.mark.skipif(
    shutil.which("node") is None, reason="a function in Node needs node on the PATH"
)
@pytest.mark.parametrize(
    ("text", "slow", "status"),
    [
        (RACED, {"slow": True}, Status.FAILED),
        pytest.param(ABORTED, {"slow": True}, Status.PASSED, marks=pytest.mark.long),
    ],
    ids=["left running", "aborted"],
)
def test_the_check_sees_what_node_leaves_running_where_its_provider_is_slow(
    text: str,
    slow: Any,
    status: Status,
    deployed: Callable[..., OnLambda],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = checked(deployed({"shop.mjs": text}, "nodejs20.x"), monkeypatch, slow)
    assert found.status is status, found
