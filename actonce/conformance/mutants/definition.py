"""Mutants of the state machine's definition: each Retry, Catch, way, condition and field changed.

Left alone is how long is waited between retries, which decides when, and not what.
"""

import copy
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from actonce.conformance.machine import Definition
from actonce.conformance.mutants.mutant import Mutant, Place
from actonce.conformance.stage import process_message

FILE = "statemachine/process_message.asl.json"

_States = dict[str, Any]
_Change = Callable[[_States], None]
_Changed = tuple[str, str, _Change]
"""Where, what, and how."""

_LEADS_TO = ("PerformEffect", "AwaitStraggler", "FindEffect", "DeadLetter", "Done")
_DEFAULTED = re.compile(r"\(?(\$exists\([^()]*\)) \? ([^:?]+?) : ('[^']*'|\w+)\)?")


def mutants_of_definition() -> list[Mutant]:
    """All of them, state by state."""
    states: _States = copy.deepcopy(dict(process_message()))["States"]
    return [
        Mutant(FILE, where, 0, what, frozenset({_place(name)}), _applied(change))
        for name, state in states.items()
        for where, what, change in _of_state(name, state)
    ]


def recorded() -> tuple[Definition, set[Place]]:
    """The definition that ships, and the states that are entered while it is run."""
    definition = dict(process_message())
    entered: set[Place] = set()
    definition["States"] = _Recorded(definition["States"], entered)
    return definition, entered


class _Recorded(dict[str, Any]):
    def __init__(self, states: _States, entered: set[Place]) -> None:
        super().__init__(states)
        self._entered = entered

    def __getitem__(self, name: str) -> Any:
        self._entered.add(_place(name))
        return super().__getitem__(name)


def _place(state: str) -> Place:
    return FILE, state, 0


def _applied(change: _Change) -> Callable[[], Any]:
    @contextmanager
    def applied() -> Iterator[Definition]:
        definition = copy.deepcopy(dict(process_message()))
        change(definition["States"])
        yield definition

    return applied


def _handler(name: str, part: str, entry: Any) -> str:
    """A Retry or a Catch, by what it is of: its number changes with others."""
    return f"{name}, {part} of {', '.join(entry['ErrorEquals'])}"


def _choice(name: str, rule: Any) -> str:
    return f"{name}, choice `{_inner(rule['Condition'])}`"


def _inner(expression: str) -> str:
    return expression.removeprefix("{%").removesuffix("%}").strip()


def _of_state(name: str, state: Any) -> Iterator[_Changed]:  # noqa: C901, PLR0912 - a list of parts
    for index, entry in enumerate(state.get("Retry", [])):
        yield from _of_handler(name, "Retry", index, entry)
        where = _handler(name, "Retry", entry)
        path = (name, "Retry", index, "MaxAttempts")
        if entry.get("MaxAttempts", 3):
            yield where, "no attempts", _set(path, 0)
        else:
            yield where, "attempts", _set(path, 3)
    for index, entry in enumerate(state.get("Catch", [])):
        yield from _of_handler(name, "Catch", index, entry)
        where = _handler(name, "Catch", entry)
        yield from _of_next((name, "Catch", index, "Next"), where, entry["Next"])
        yield from _of_fields((name, "Catch", index, "Output"), where, entry["Output"])
    for part in ("Retry", "Catch"):
        entries = state.get(part, [])
        for index in range(len(entries) - 1):
            after = f"after the one of {', '.join(entries[index + 1]['ErrorEquals'])}"
            yield _handler(name, part, entries[index]), after, _swap(name, part, index)
    choices = state.get("Choices", [])
    for index in range(len(choices) - 1):
        after = f"after `{_inner(choices[index + 1]['Condition'])}`"
        yield _choice(name, choices[index]), after, _swap(name, "Choices", index)
    for index, rule in enumerate(choices):
        where = _choice(name, rule)
        yield where, "left out", _delete((name, "Choices", index))
        yield from _of_condition((name, "Choices", index, "Condition"), where, rule["Condition"])
        yield from _of_next((name, "Choices", index, "Next"), where, rule["Next"])
        if "Output" in rule:
            yield where, "its Output left out", _delete((name, "Choices", index, "Output"))
            yield from _of_fields((name, "Choices", index, "Output"), where, rule["Output"])
    for part in ("Next", "Default"):
        if part in state:
            yield from _of_next((name, part), name, state[part])
    for part in ("Arguments", "Output"):
        if part in state:
            yield from _of_fields((name, part), f"{name}, {part}", state[part])
    for part in ("TimeoutSeconds", "Seconds"):
        if part in state:
            yield from _of_expression((name, part), f"{name}, {part}", state[part])
            yield f"{name}, {part}", "1 s", _set((name, part), 1)
    if state["Type"] == "Fail":
        yield f"{name}, Error", "another one", _set((name, "Error"), "Failed")


def _of_handler(name: str, part: str, index: int, entry: Any) -> Iterator[_Changed]:
    where = _handler(name, part, entry)
    yield where, "left out", _delete((name, part, index))
    errors = entry["ErrorEquals"]
    if len(errors) > 1:
        for number, error in enumerate(errors):
            path = (name, part, index, "ErrorEquals", number)
            yield where, f"without {error}", _delete(path)
    if errors != ["States.ALL"]:
        yield where, "of all errors", _set((name, part, index, "ErrorEquals"), ["States.ALL"])


def _of_next(path: tuple[Any, ...], where: str, now: str) -> Iterator[_Changed]:
    for other in _LEADS_TO:
        if other != now:
            yield where, f"leads to {other} instead of {now}", _set(path, other)


def _of_fields(path: tuple[Any, ...], where: str, value: Any) -> Iterator[_Changed]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield where, f"`{key}` left out", _delete((*path, key))
            yield from _of_fields((*path, key), where, inner)
    elif isinstance(value, str) and value.startswith("{%"):
        yield from _of_expression(path, where, value)


def _of_expression(path: tuple[Any, ...], where: str, text: Any) -> Iterator[_Changed]:
    if not isinstance(text, str):
        return
    for match in _DEFAULTED.finditer(text):
        for taken in (match[2], match[3]):
            changed = text[: match.start()] + f"({taken})" + text[match.end() :]
            yield where, f"`{match[0]}` is `{taken}`", _set(path, changed)
    inner = _inner(text)
    for operator in (" + ", " - "):
        left, found, right = inner.rpartition(operator)
        if found and left.count("(") == left.count(")"):
            yield where, f"`{operator.strip()} {right}` left out", _set(path, f"{{% {left} %}}")
    if " ? " in inner and "$error(" in inner:
        condition, _, rest = inner.rpartition(" ? ")
        yes, _, no = rest.partition(" : $error(")
        yield where, "never an error", _set(path, f"{{% {yes} %}}")
        yield where, "always an error", _set(path, f"{{% $error({no} %}}")
        yield where, "the condition negated", _set(path, f"{{% $not({condition}) ? {rest} %}}")


def _of_condition(path: tuple[Any, ...], where: str, text: str) -> Iterator[_Changed]:
    inner = _inner(text)
    yield where, "negated", _set(path, f"{{% $not({inner}) %}}")
    if " < " in inner:
        yield where, "its boundary", _set(path, text.replace(" < ", " <= "))
        yield where, "one round fewer", _set(path, text.replace(" < ", " + 1 < "))
    clauses = inner.split(" and ")
    if len(clauses) > 1:
        for index, clause in enumerate(clauses):
            rest = " and ".join(clauses[:index] + clauses[index + 1 :])
            yield where, f"`{clause}` left out", _set(path, f"{{% {rest} %}}")
    listed = re.search(r"\[(.*)\]", inner)
    if listed is not None:
        items = listed[1].split(", ")
        for item in items:
            rest = ", ".join(one for one in items if one != item)
            yield where, f"{item} left out", _set(path, text.replace(listed[0], f"[{rest}]"))


def _parent(states: _States, path: tuple[Any, ...]) -> Any:
    found: Any = states
    for part in path[:-1]:
        found = found[part]
    return found


def _set(path: tuple[Any, ...], value: Any) -> _Change:
    def change(states: _States) -> None:
        _parent(states, path)[path[-1]] = value

    return change


def _delete(path: tuple[Any, ...]) -> _Change:
    def change(states: _States) -> None:
        del _parent(states, path)[path[-1]]

    return change


def _swap(name: str, part: str, index: int) -> _Change:
    def change(states: _States) -> None:
        entries = states[name][part]
        entries[index], entries[index + 1] = entries[index + 1], entries[index]

    return change
