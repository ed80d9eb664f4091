"""The stack's templates as `actonce init` copies them: without the example, with nothing to build.

A team has a function of its own, so it does not need the example. And a team that writes its
functions in Node or Java should need no Python to build: the copy's functions are deployed as they
are (`SkipBuild`), with Powertools from the layer that AWS publishes. The clone builds its
functions, so that `sam local invoke` needs neither an account nor AWS's layer.

Comments in the templates say what is left out and what is put in.
"""

import re

_EXAMPLE = re.compile(
    r"^ *# -- example\n.*?^ *# -- end of the example\n\n?|^[^\n]*  # example\n", re.M | re.S
)
_EITHER = re.compile(r"!If \[IsExample, (?:'[^'\n]+'|[^,\n]+), (.+)\]$", re.M)
_PUT_IN = re.compile(r"^( *)# init: ", re.M)
_EXPLAINED = re.compile(r"^# `actonce init` copies this template (?:.*\n#)*.*\n", re.M)


def nested_template(text: str) -> str:
    """A template as a team gets it.

    Args:
        text: of a template of the clone, or of the wheel.
    """
    text = _EXAMPLE.sub("", _EXPLAINED.sub("", text))
    text = _EITHER.sub(r"\1", text).replace("Condition: LooksUp", "Condition: HasFindFunction")
    text = text.replace("Condition: HasEffects", "Condition: NamesEffects")
    return _PUT_IN.sub(r"\1", text)
