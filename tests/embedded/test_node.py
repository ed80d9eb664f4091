"""Functions in Node on the embedded AWS, beyond what MiniStack makes of them."""

import json
import shutil
import uuid
from typing import Any

import pytest

from actonce.embedded import functions
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from tests.support.packages import packed

ROLE = "arn:aws:iam::000000000000:role/none"
HANDLER = """
import { readFileSync } from "node:fs";
import { word } from "packed";

export async function handler(event) {
  if (event.throws) throw new Error("as asked");
  const { word: layered } = await import("layered").catch(() => ({}));
  const file = readFileSync("file.txt", "utf-8");
  const place = new URL(".", import.meta.url).pathname;
  return { process: process.pid, place, word, file, layered };
}
"""
MODULE = {"package.json": '{"type": "module", "main": "index.js"}'}

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None, reason="a function in Node needs node on the PATH"
)


def module(place: str, word: str) -> dict[str, str]:
    files = {**MODULE, "index.js": f"export const word = {json.dumps(word)};"}
    return {f"{place}/{name}": text for name, text in files.items()}


@pytest.mark.parametrize("layered", [False, True])
def test_a_new_process_has_the_package_that_is_unpacked_already(
    layered: bool, stack: Stack, state: State
) -> None:
    client: Any = stack.lambda_
    name = f"node-{uuid.uuid4()}"
    layer = packed(module("nodejs/node_modules/layered", "from the layer"))
    more = {}
    if layered:
        made = client.publish_layer_version(LayerName=name, Content={"ZipFile": layer})
        more = {"Layers": [made["LayerVersionArn"]]}
    client.create_function(
        FunctionName=name,
        Runtime="nodejs20.x",
        Role=ROLE,
        Handler="shop.handler",
        Timeout=20,
        Code={
            "ZipFile": packed(
                {"shop.mjs": HANDLER, "file.txt": "read", **module("node_modules/packed", "packed")}
            )
        },
        **more,
    )

    def answer(**event: Any) -> Any:
        return json.load(client.invoke(FunctionName=name, Payload=json.dumps(event))["Payload"])

    first = answer()
    assert answer(throws=True)["errorMessage"] == "as asked"
    assert answer() == first
    functions.kill(state)
    second = answer()
    assert first.pop("process") != second.pop("process")
    unpacked = first.pop("place"), second.pop("place")
    assert first == second
    expected = {"word": "packed", "file": "read"}
    assert first == (expected | {"layered": "from the layer"} if layered else expected)
    assert layered or unpacked[0] == unpacked[1]
