"""Where a command works: the rule, over what was said, the variables and what runs."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from actonce.stack import samconfig
from actonce.stack.clients import Aws
from actonce.stack.endpoint import Chosen, Embedded, Place, decide, line, stack_name
from actonce.terminal.errors import Failed, WrongUse

HERE = "http://127.0.0.1:4566"
UP = Embedded(Path("/clone/.actonce"), HERE)
CRASHED = Embedded(Path("/clone/.actonce"), None)
EMBEDDED = Place(HERE, is_embedded=True)
KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
OTHER = "http://localhost:4567"


@pytest.mark.parametrize(
    ("chosen", "variables", "embedded", "place"),
    [
        # Nothing is said: the embedded AWS if it is up, whosever credentials lie about.
        (Chosen(), {}, UP, EMBEDDED),
        (Chosen(), {"AWS_PROFILE": "prod"}, UP, EMBEDDED),
        (Chosen(), KEYS, UP, EMBEDDED),
        (Chosen(), {"AWS_REGION": "eu-west-1"}, UP, EMBEDDED),
        (Chosen(), {}, None, Place()),
        (Chosen(), {"AWS_PROFILE": "prod"}, None, Place(shown_profile="prod")),
        (Chosen(), KEYS | {"AWS_PROFILE": "prod"}, None, Place()),
        (Chosen(), {"AWS_REGION": "eu-west-1"}, None, Place(region="eu-west-1")),
        # An endpoint is a place, also beside an embedded AWS that is up, or crashed.
        (Chosen(), {"AWS_ENDPOINT_URL": OTHER}, UP, Place(OTHER)),
        (Chosen(), {"AWS_ENDPOINT_URL": OTHER}, CRASHED, Place(OTHER)),
        (Chosen(), {"AWS_ENDPOINT_URL": HERE}, UP, EMBEDDED),
        # What is said decides.
        (Chosen(embedded=True), {"AWS_ENDPOINT_URL": OTHER}, UP, EMBEDDED),
        (Chosen(embedded=False), KEYS, UP, Place()),
        (Chosen(embedded=False), {}, CRASHED, Place()),
        (Chosen(profile="prod"), {}, UP, Place(profile="prod", shown_profile="prod")),
        (Chosen(region="eu-west-1"), {"AWS_REGION": "us-west-2"}, UP, Place(region="eu-west-1")),
        (
            Chosen(embedded=False),
            {"AWS_ENDPOINT_URL": "https://vpce.example"},
            UP,
            Place("https://vpce.example"),
        ),
    ],
)
def test_the_first_that_says_something_decides(
    chosen: Chosen, variables: Mapping[str, str], embedded: Embedded | None, place: Place
) -> None:
    assert decide(chosen, variables, embedded) == place


@pytest.mark.parametrize("variables", [{}, {"AWS_PROFILE": "prod"}, KEYS])
def test_where_the_embedded_aws_crashed_nothing_is_asked_of_the_credentials_that_are_there(
    variables: Mapping[str, str],
) -> None:
    with pytest.raises(Failed, match=r"/clone/\.actonce was up and does not answer.* --aws") as one:
        decide(Chosen(), variables, CRASHED)
    assert one.value.exit_status == 1


def test_the_embedded_aws_that_is_asked_for_and_not_up_is_no_reason_to_go_elsewhere() -> None:
    with pytest.raises(Failed, match="not up: actonce up brings it up"):
        decide(Chosen(embedded=True), KEYS, None)


@pytest.mark.parametrize(
    ("chosen", "variables", "said"),
    [
        (Chosen(embedded=True, profile="prod"), {}, "--embedded has no profiles"),
        (Chosen(embedded=True, region="eu-west-1"), {}, "--embedded has no profiles"),
        (Chosen(embedded=False), {"AWS_ENDPOINT_URL": OTHER}, "which is not AWS: unset it"),
        (Chosen(profile="prod"), {"AWS_ENDPOINT_URL": HERE}, "or leave --profile out"),
        (
            Chosen(profile="prod", region="eu-west-1"),
            {"AWS_ENDPOINT_URL": OTHER},
            "--profile and --region said, and",
        ),
    ],
)
def test_what_contradicts_itself_is_wrong_use(
    chosen: Chosen, variables: Mapping[str, str], said: str
) -> None:
    with pytest.raises(WrongUse, match=said):
        decide(chosen, variables, UP)


@pytest.mark.parametrize(
    ("url", "is_aws"),
    [
        (None, True),
        ("https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com", True),
        ("http://127.0.0.1:4566", False),
        ("http://[::1]:4566", False),
        ("http://localhost:4566", False),
        ("http://127.0.0.1.example:4566", True),
        ("http://[", True),
    ],
)
def test_only_an_emulator_on_this_machine_may_be_changed_unasked(
    url: str | None, is_aws: bool
) -> None:
    assert Place(url).is_aws is is_aws
    assert not EMBEDDED.is_aws


def test_one_line_says_account_region_stack_and_profile() -> None:
    assert (
        line(Place(shown_profile="prod"), "shop", "123456789012", "eu-west-1")
        == "On AWS: account 123456789012, Region eu-west-1, stack shop, profile prod"
    )
    assert line(Place(), None, None, "eu-west-1") == "On AWS: account unknown, Region eu-west-1"
    assert line(EMBEDDED, "actonce", None, None) == (
        f"On the embedded AWS at {HERE}, stack actonce"
    )
    assert line(Place(OTHER, shown_profile="x"), "shop", None, None) == (
        f"At {OTHER} (AWS_ENDPOINT_URL), stack shop"
    )


# --------------------------------------------------------------------------- the stack's name


def test_the_stack_is_the_one_that_was_said_or_the_variables_or_samconfigs_or_actonce() -> None:
    variables = {"ACTONCE_STACK_NAME": "of-variable"}
    aws = Place()
    assert stack_name(Chosen("said"), aws, variables, lambda: "of-file") == "said"
    assert stack_name(Chosen(), aws, variables, lambda: "of-file") == "of-variable"
    assert stack_name(Chosen(), aws, {}, lambda: "of-file") == "of-file"
    assert stack_name(Chosen(), aws, {"ACTONCE_STACK_NAME": ""}, lambda: None) == "actonce"


def test_on_the_embedded_aws_there_is_one_stack() -> None:
    variables = {"ACTONCE_STACK_NAME": "of-variable"}
    assert stack_name(Chosen(), EMBEDDED, variables, lambda: "of-file") == "actonce"
    assert stack_name(Chosen("actonce/Once"), EMBEDDED, variables, lambda: None) == "actonce/Once"


def test_samconfig_is_read_as_sam_reads_it(tmp_path: Path) -> None:
    below = tmp_path / "functions" / "more"
    below.mkdir(parents=True)
    assert samconfig.stack_name(below) is None
    file = tmp_path / "samconfig.toml"
    file.write_text('version = 0.1\n[default.global.parameters]\nstack_name = "all"\n')
    assert samconfig.stack_name(below) == "all"
    with file.open("a") as more:
        more.write('[default.deploy.parameters]\nstack_name = "shop"\n')
    assert samconfig.stack_name(below) == "shop"
    file.write_text('[default.deploy.parameters]\nregion = "eu-west-1"\n')
    assert samconfig.stack_name(below) is None


@pytest.mark.parametrize("text", ["= no toml", "default = 3", "[default]\ndeploy = 3"])
def test_a_samconfig_that_cannot_be_read_is_told_of(tmp_path: Path, text: str) -> None:
    (tmp_path / "samconfig.toml").write_text(text)
    with pytest.raises(WrongUse, match=r"samconfig\.toml cannot be read .*--stack-name"):
        samconfig.stack_name(tmp_path)


# --------------------------------------------------------------------------- for others' clients


def test_code_that_makes_clients_of_its_own_reaches_the_same() -> None:
    variables = dict(KEYS)
    Aws(profile="prod", region="eu-west-1").name_to_others(variables)
    assert variables == {
        "AWS_PROFILE": "prod",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_REGION": "eu-west-1",
    }
    variables = dict(KEYS)
    Aws().name_to_others(variables)
    assert variables == KEYS
    Aws(HERE).name_to_others(variables)
    assert variables["AWS_ENDPOINT_URL"] == HERE
    assert variables["AWS_ACCESS_KEY_ID"] == "test"
