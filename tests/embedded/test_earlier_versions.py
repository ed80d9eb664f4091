"""What becomes of earlier versions of a function, with the lines that `actonce init` prints."""

import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest

from actonce.cli.init import PUBLISHED
from actonce.doctor.findings import Finding, examine
from actonce.doctor.looking import look
from actonce.stack.clients import Stack, outputs_of
from tests.embedded.waiting import wait_until

POLICY = "      UpdateReplacePolicy: Retain"
TEMPLATE = f"""\
Transform: AWS::Serverless-2016-10-31
Parameters:
  GiftCardSeconds: {{Type: Number}}
Resources:
{PUBLISHED}\
        Runtime: python3.13
        Handler: index.handler
        InlineCode: "def handler(event, context): pass"
Outputs:
  Version: {{Value: !Ref GiftCards.Version}}
"""


class Deployed:
    """A stack of the function alone, as it was deployed last."""

    def __init__(self, stack: Stack) -> None:
        self.cloudformation = stack.aws.client("cloudformation")
        self.name = f"versions-{uuid.uuid4()}"
        self._actonce, self._change = stack, self.cloudformation.create_stack

    def deploy(self, template: str, seconds: int) -> None:
        self._change(
            StackName=self.name,
            TemplateBody=template,
            Parameters=[{"ParameterKey": "GiftCardSeconds", "ParameterValue": str(seconds)}],
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
        ended, self._change = (
            f"{self._change.__name__[:6].upper()}_COMPLETE",
            self.cloudformation.update_stack,
        )

        def status() -> str:
            (one,) = self.cloudformation.describe_stacks(StackName=self.name)["Stacks"]
            return "" if one["StackStatus"].endswith("IN_PROGRESS") else str(one["StackStatus"])

        assert wait_until(status) == ended

    @property
    def version(self) -> str:
        """ARN of the version that ActOnce is given."""
        return outputs_of(self._actonce.aws, self.name)["Version"]

    def versions(self) -> list[str]:
        """What is left of those that were published."""
        function = self.version.rpartition(":")[0]
        answer = self._actonce.lambda_.list_versions_by_function(FunctionName=function)
        return [one["Version"] for one in answer["Versions"] if one["Version"] != "$LATEST"]

    def findings(self) -> list[Finding]:
        """Doctor's about the version, of an ActOnce that calls it."""
        called = dict.fromkeys(("EffectFunctionArn", "FindFunctionArn"), self.version)
        actonce = replace(self._actonce, outputs=self._actonce.outputs | called)
        examination = examine(look(actonce))
        assert not examination.not_checked
        return [one for one in examination.findings if "version" in one.check]


@pytest.fixture
def deployed(stack: Stack) -> Iterator[Deployed]:
    deployed = Deployed(stack)
    yield deployed
    deployed.cloudformation.delete_stack(StackName=deployed.name)


def test_without_the_policy_the_next_version_deletes_the_one_before_and_doctor_stops_it(
    deployed: Deployed,
) -> None:
    without = TEMPLATE.replace(POLICY, "      #")
    assert without != TEMPLATE
    deployed.deploy(without, 10)

    (found,) = deployed.findings()

    assert (found.check, found.hazard) == ("earlier-versions", "stops")
    assert "UpdateReplacePolicy" in found.sentence
    assert "DeletionPolicy" not in found.sentence  # SAM sets it
    deployed.deploy(without, 20)
    assert deployed.versions() == ["2"]  # what doctor said
    # What it advises mends it.
    deployed.deploy(TEMPLATE, 20)
    assert deployed.findings() == []
    deployed.deploy(TEMPLATE, 30)
    assert deployed.versions() == ["2", "3"]


def test_a_parameter_that_no_version_has_is_found(deployed: Deployed) -> None:
    unnamed = TEMPLATE.replace("        VersionDescription", "        # VersionDescription")
    assert unnamed != TEMPLATE
    deployed.deploy(unnamed, 10)
    deployed.deploy(unnamed, 20)

    (found,) = deployed.findings()

    assert (deployed.versions(), found.check) == (["1"], "effect-version")
    assert "VersionDescription" in found.sentence
    assert "UpdateReplacePolicy: Retain" in found.sentence
