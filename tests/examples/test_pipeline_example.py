"""What a team deploys its stages by: samconfig.toml, the example of a pipeline, and its roles."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

from actonce.adopt.project.copied_files import seeds
from actonce.stack.embedded_folder import PROJECT
from tests.support import policies, template

EXAMPLE = PROJECT / "examples" / "pipeline"
SKELETON = PROJECT / "actonce" / "adopt" / "project" / "skeleton"
DOCS = PROJECT / "docs"
WORKFLOW: dict[Any, Any] = yaml.safe_load((EXAMPLE / "deploy.yml").read_text())
ROLES = template.load(EXAMPLE / "roles.yaml")
SAMCONFIG = tomllib.loads(
    next(text for path, text in seeds("shop").items() if path.name == "samconfig.toml").decode()
)
STAGES = ("staging", "prod")


def lines(job: str) -> list[str]:
    """What a job of the example runs, a command each."""
    return [step["run"] for step in WORKFLOW["jobs"][job]["steps"] if "run" in step]


def allowed(role: str) -> set[str]:
    return {
        one
        for said in template.statements(ROLES["Resources"][role]["Properties"])
        for one in template.as_list(said["Action"])
    }


# --------------------------------------------------------------------------- the workflow


def test_a_stage_is_deployed_after_the_one_before_it_was_found_good() -> None:
    jobs = WORKFLOW["jobs"]
    assert [(name, job.get("needs")) for name, job in jobs.items()] == [
        ("try", None),
        ("staging", "try"),
        ("prod", "staging"),
    ]
    # A pull request, perhaps a stranger's, comes to no account.
    assert jobs["staging"]["if"] == "github.event_name == 'push'"
    assert WORKFLOW[True]["push"] == {"branches": ["main"]}
    for stage in STAGES:
        build, deploy, doctor = lines(stage)[1:]
        assert build == "sam build"
        assert deploy.startswith(f"sam deploy --config-env {stage} ")
        deployed = SAMCONFIG[stage]["global"]["parameters"]["stack_name"]
        assert doctor == f"actonce doctor --aws --stack-name {deployed}"


def test_only_a_job_of_an_environment_may_ask_for_credentials_and_none_are_kept() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    for name, job in WORKFLOW["jobs"].items():
        roles = [s["with"]["role-to-assume"] for s in job["steps"] if "aws-actions" in str(s)]
        is_stage = name in STAGES
        assert job.get("environment") == (name if is_stage else None)
        assert roles == (["${{ vars.PIPELINE_ROLE }}"] if is_stage else [])
        wanted = {"contents": "read", "id-token": "write"} if is_stage else None
        assert job.get("permissions") == wanted
    text = (EXAMPLE / "deploy.yml").read_text()
    assert "secrets." not in text
    # What an environment says is what the roles' stack has made, and where it is.
    names = {name.upper() for name in ROLES["Outputs"]}
    variables = {name.replace("_", "") for name in re.findall(r"vars\.(\w+)", text)}
    assert variables == names | {"AWSREGION"}


# --------------------------------------------------------------------------- samconfig.toml


def test_each_stage_has_a_stack_of_its_own_and_all_that_its_deployment_needs() -> None:
    """Sam takes a section by itself; tests/repository/test_wheel.py has it take them."""
    stages = {name: said for name, said in SAMCONFIG.items() if name != "version"}
    parameters = {name: said["deploy"]["parameters"] for name, said in stages.items()}
    stacks = [said["global"]["parameters"]["stack_name"] for said in stages.values()]

    assert list(stages) == ["default", *STAGES]
    assert stacks == ["shop", "shop-staging", "shop-prod"]
    needed = parameters["default"]["capabilities"]
    assert [said["capabilities"] for said in parameters.values()] == [needed] * 3
    known = template.load(SKELETON / "template.yaml")["Parameters"]
    for said in parameters.values():
        assert {one.partition("=")[0] for one in said.get("parameter_overrides", [])} <= {*known}
    for stage in STAGES:  # an empty change is no failure, and nobody is there to confirm one
        assert parameters[stage]["fail_on_empty_changeset"] is False
        assert "confirm_changeset" not in parameters[stage]


# --------------------------------------------------------------------------- the roles


def test_the_pipeline_s_role_may_do_what_doctor_does() -> None:
    (text,) = re.findall(
        r"^\| who runs `doctor` \| (.*) \|$", (DOCS / "deploying.md").read_text(), re.M
    )
    doctors = {":".join(one) for one in of_services(text)}
    assert len(doctors) > 5
    assert doctors | {"cloudformation:ListStackResources"} <= allowed("PipelineRole")


def of_services(text: str) -> list[tuple[str, str]]:
    """Actions as a page lists them: a service's name stands before the first of its own."""
    service, found = "", []
    for one in re.findall(r"`([\w:]+)`", text):
        services, _, action = one.rpartition(":")
        service = services or service
        found.append((service, action))
    return found


ONE_EACH = {
    "AWS::Serverless::StateMachine": "AWS::StepFunctions::StateMachine",
    "AWS::Serverless::Application": "AWS::CloudFormation::Stack",
}


OURS = ("template.yaml", "templates/alarms.yaml", "actonce/adopt/project/skeleton/template.yaml")
AUDIT = ("templates/records.yaml", "templates/audit.yaml")


def kinds(*files: str) -> set[str]:
    """The types of resources that a project of `actonce init --new` consists of on AWS."""
    read = [template.load(PROJECT / file) for file in files]
    found = {one["Type"] for file in read for one in file["Resources"].values()}
    plain = {ONE_EACH.get(kind, kind) for kind in found} - {"AWS::Serverless::Function"}
    of_functions = ("Function", "Version", "Alias", "EventSourceMapping")
    return plain | {f"AWS::Lambda::{one}" for one in of_functions}


def asked_by(kind: str) -> dict[str, set[str]]:
    """What AWS says that each operation on a resource of this type needs to be allowed."""
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema
    handlers = schema.get("handlers", OF_NO_SCHEMA.get(kind, {}))
    # In one schema a service's name has a capital letter.
    return {
        name: {action[0].lower() + action[1:] for action in one["permissions"]}
        for name, one in handlers.items()
    }


OF_NO_SCHEMA = {
    "AWS::Glue::Table": {
        "create": {"permissions": ["glue:CreateTable"]},
        "read": {"permissions": ["glue:GetTable"]},
        "update": {"permissions": ["glue:UpdateTable"]},
        "delete": {"permissions": ["glue:DeleteTable"]},
    },
}

OF_WHAT_THE_STACK_HAS_NOT = {
    "cloudformation:GetStackPolicy",
    "cloudformation:GetTemplate",
    "dynamodb:CreateTableReplica",
    "glue:CreateConnection",
    "glue:DeleteConnection",
    "glue:GetConnection",
    "iam:CreateServiceLinkedRole",  # of Lambda; of EMR Serverless the audit's policy has it
    "iam:DeleteGroupPolicy",
    "iam:DeleteUserPolicy",
    "kms:CreateAlias",
    "kms:CreateGrant",  # docs/operations.md: whoever deploys with a key of their own
    "kms:Decrypt",
    "kms:RevokeGrant",
    "logs:CreateLogDelivery",
    "logs:CreateLogStream",
    "logs:DeleteDataProtectionPolicy",
    "s3:CreateBucketMetadataTableConfiguration",
}


@pytest.mark.parametrize("audited", ["no", "yes"])
def test_cloudformation_may_make_read_and_delete_each_resource_and_do_nothing_else(
    audited: str,
) -> None:
    files = (*OURS, *(AUDIT if audited == "yes" else ()))
    handlers = [asked_by(kind) for kind in sorted(kinds(*files))]
    everything = {one for said in handlers for needed in said.values() for one in needed}
    always = {one for said in handlers for name in ("read", "delete") for one in said.get(name, ())}
    always |= {one for said in handlers for one in said["create"] if ":Create" in one}
    roles = policies.made(EXAMPLE / "roles.yaml", {"Stack": "shop-prod", "Audited": audited})
    has = [one for one in policies.statements(roles) if "CloudFormationRole" in one.who]
    may = {action for one in has for action in one.parsed.actions}

    assert may - everything == {"cloudformation:CreateChangeSet", "ssm:GetParameters"}
    services = {one.partition(":")[0] for one in may}
    own = {one for one in always if one.partition(":")[0] in services}
    assert own - may <= OF_WHAT_THE_STACK_HAS_NOT
    assert own >= OF_WHAT_THE_STACK_HAS_NOT or audited == "no"


def test_each_role_has_the_boundary_that_the_page_puts_into_the_templates(tmp_path: Path) -> None:
    files = ("template.yaml", "templates/alarms.yaml", *AUDIT)
    (tmp_path / "templates").mkdir()
    for name in files:
        shutil.copy(PROJECT / name, tmp_path / name)
    (command,) = re.findall(r"```sh\n(perl .*)\n```", (DOCS / "deploying.md").read_text())
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)

    for name in files:
        roles = template.of_type(template.load(tmp_path / name), "AWS::IAM::Role")
        assert roles == {
            role: one
            | {
                "Properties": one["Properties"]
                | {"PermissionsBoundary": "arn:aws:iam::123456789012:policy/boundary"}
            }
            for role, one in template.of_type(
                template.load(PROJECT / name), "AWS::IAM::Role"
            ).items()
        }
