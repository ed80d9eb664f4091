"""Your effect, without AWS: `python -m unittest discover -s tests`.

What a real lost answer or crash does to it, the embedded AWS shows: actonce up
"""

import json
import os
import sys
import unittest
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError
from botocore.stub import ANY, Stubber

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / "functions"))  # as Lambda does
os.environ |= {
    "EFFECTS_TABLE": "effects",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
}

from your_effect import Rejected, YourEffect, answer


# Of the table itself, and no copy of it that lags.
LOOKS = {"TableName": "effects", "ConsistentRead": True}
LOOKS |= {"KeyConditionExpression": ANY, "ExpressionAttributeValues": ANY}


def event(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((PROJECT / "events" / name).read_text())
    return read


class TestYourEffect(unittest.TestCase):
    def setUp(self) -> None:
        dynamodb = boto3.client("dynamodb")
        self.aws = Stubber(dynamodb)
        self.aws.activate()
        self.addCleanup(self.aws.assert_no_pending_responses)
        self.effect = YourEffect(dynamodb, "effects")

    def test_it_says_what_it_did(self) -> None:
        self.aws.add_response("put_item", {}, {"TableName": "effects", "Item": ANY})
        response = answer(self.effect, event("perform.json"))
        self.assertTrue(response["performed"])
        self.assertEqual(response["effect"]["amount"], 20)

    def test_what_never_happens_is_rejected_before_anything_is_called(self) -> None:
        request = event("perform.json")
        request["message"]["body"] = '{"amount": "twenty"}'
        with self.assertRaises(Rejected):
            answer(self.effect, request)

    def test_whatever_else_goes_wrong_is_an_unknown_outcome(self) -> None:
        self.aws.add_client_error("put_item", "InternalServerError")
        with self.assertRaises(ClientError):
            answer(self.effect, event("perform.json"))

    def test_it_finds_nothing_where_nothing_was_done(self) -> None:
        self.aws.add_response("query", {"Items": []}, LOOKS)
        response = answer(self.effect, event("find.json"))
        self.assertEqual(response, {"performed": False, "effect": None})

    def test_it_finds_what_it_did(self) -> None:
        row = {"effect_id": {"S": "order-1"}, "amount": {"N": "20"}}
        self.aws.add_response("query", {"Items": [row]}, LOOKS)
        response = answer(self.effect, event("find.json"))
        self.assertEqual(response["effect"], {"order": "order-1", "amount": 20})

    def test_that_it_could_not_look_is_not_taken_for_nothing(self) -> None:
        self.aws.add_client_error("query", "InternalServerError")
        with self.assertRaises(ClientError):
            answer(self.effect, event("find.json"))


if __name__ == "__main__":
    unittest.main()
