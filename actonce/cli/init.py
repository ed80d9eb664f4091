"""`actonce init`: the stack in a repository of a team's own."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from actonce.adopt.project import placing
from actonce.adopt.project.copied_files import STACK, has_audit, seeds, stack_files, stack_name
from actonce.stack.stack_files import version
from actonce.terminal import output as console
from actonce.terminal.errors import UsageError

NESTED = """\
    Once:
      Type: AWS::Serverless::Application
      Properties:
        Location: actonce/template.yaml
        Parameters:
          EffectFunctionArn: !Ref GiftCards.Version
          FindFunctionArn: !Ref GiftCards.Version
          EffectTimeoutSeconds: !Ref GiftCardSeconds
          EffectsTableName: !Ref GiftCardsTable # of DynamoDB; for none leave both lines out
          EffectsAttributes: order_id,sent_at,card # the id, the time, what describes it
"""
"""The lines for a team's template."""

PUBLISHED = """\
    GiftCards:
      Type: AWS::Serverless::Function
      UpdateReplacePolicy: Retain # of its versions
      Properties:
        Timeout: !Ref GiftCardSeconds
        AutoPublishAlias: live
        AutoPublishAliasAllProperties: true
        VersionDescription: !Sub "${GiftCardSeconds} s" # each parameter that changes the function
"""
"""The lines of a team's function."""

_TO_ADD = f"""\
Into .gitignore:

    .actonce/
    .aws-sam/
    discarded-*.jsonl
    records/

Into your template, in front of a function of yours (here GiftCards, whose time-out is the parameter
GiftCardSeconds, and whose effects are in GiftCardsTable, so that the audit sees if one happened
twice):

{NESTED}
and into that function, so that each deployment that changes it publishes a version, and none
deletes an earlier one, which open executions call:

{PUBLISHED}
A parameter's new value or a new layer alone publishes no version, so VersionDescription names each
that the function uses. The next version then replaces the last, which UpdateReplacePolicy keeps.

Take away what triggered the function before (its Events: of type SQS), and have it answer perform
and find (docs/your-own-effect.md).

Producers send to !GetAtt Once.Outputs.RequestsQueueUrl. FindFunctionArn only if the function looks
at what it is asked: one that does not would act. Location is written out, without !Sub, and sam
deploy needs CAPABILITY_AUTO_EXPAND besides CAPABILITY_IAM. sam build builds nothing of ActOnce's.
To try it here, without an account:

    actonce up --project .

Or, to deploy it as a stack of its own in front of a function that is deployed already:

    sam deploy --guided --template-file actonce/template.yaml --stack-name actonce \\
        --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND \\
        --parameter-overrides EffectFunctionArn=ARN FindFunctionArn=ARN"""


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder.")] = Path(),
    new: Annotated[
        bool, typer.Option("--new", help="Make a project in DIR, around an effect to begin with.")
    ] = False,
    audit: Annotated[
        bool,
        typer.Option("--audit", help="With what keeps records in a bucket and audits each day."),
    ] = False,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Bring what is in DIR to this version.")
    ] = False,
) -> None:
    """Put the stack into your repository, or begin a project.

    Its templates, its state machine and its functions' code go into DIR/actonce, of the version of
    this command line, to be nested in your template; actonce/actonce.json there remembers what they
    were. An upgrade brings them to this version, unless one of them was changed since: then it
    names it, and writes nothing. What an upgrade changed is shown by git diff.

    Examples:

        actonce init --new shop

        actonce init

        actonce init --upgrade
    """
    if new and upgrade:
        raise UsageError("--new makes a project, and --upgrade changes one: say one of them.")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is no folder.")
    if not new and not folder.exists():
        raise UsageError(f"There is no folder {folder}; actonce init --new makes one.")
    if upgrade:
        _upgrade(folder.resolve(), audit=audit)
    else:
        _init(folder.resolve(), folder, new=new, audit=audit)


def _init(root: Path, typed: Path, *, new: bool, audit: bool) -> None:
    managed, own = stack_files(audit=audit), seeds(root.name) if new else {}
    placing.place(root, version(), managed, own)
    console.out.print(f"ActOnce {version()} is in {root if new else root / STACK}.")
    if not new:
        for line in _TO_ADD.splitlines():
            console.out.print(line)
        return
    console.out.print("Next:")
    if typed != Path():
        console.out.print(f"    cd {shlex.quote(str(typed))}")
    console.out.print("    actonce up")
    console.out.print("    actonce send events/requests.jsonl")
    console.out.print(
        f"Yours is functions/your_effect.py; README.md says the rest. On AWS: "
        f"--stack-name {stack_name(root.name)}"
    )


def _upgrade(root: Path, *, audit: bool) -> None:
    there = placing.manifest_of(root)
    had_audit = there is not None and has_audit(there.files)
    changes = placing.upgrade(root, version(), stack_files(audit=audit or had_audit))
    for path, what in changes.items():
        console.out.print(f"{path}: {what}")
    console.out.print(
        f"{'It is' if changes else 'Nothing to upgrade: it is'} of version {version()}."
    )
