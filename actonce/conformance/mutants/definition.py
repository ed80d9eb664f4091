"""Mutants of the state machine's definition: each Retry, Catch, way, condition and field changed.

Left alone is how long is waited between retries, which decides when, and not what.
"""

import copy
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from actonce.conformance.machine import Definition
from actonce.conformance.mutants.mutant import Mutant
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
        Mutant(FILE, where, 0, what, _applied(change))
        for name, state in states.items()
        for where, what, change in _of_state(name, state)
    ]


def _applied(change: _Change) -> Callable[[], Any]:
    @contextmanager
    def applied() -> Iterator[Definition]:
        definition = copy.deepcopy(dict(process_message()))
        change(definition["States"])
        yield definition

    return applied


def _of_state(name: str, state: Any) -> Iterator[_Changed]:  # noqa: C901, PLR0912 - a list of parts
    for index, entry in enumerate(state.get("Retry", [])):
        yield from _of_handler(name, "Retry", index, entry)
        if entry["MaxAttempts"]:
            yield (
                f"{name}, Retry {index + 1}",
                "no attempts",
                _set((name, "Retry", index, "MaxAttempts"), 0),
            )
        else:
            yield (
                f"{name}, Retry {index + 1}",
                "attempts",
                _set((name, "Retry", index, "MaxAttempts"), 3),
            )
    for index, entry in enumerate(state.get("Catch", [])):
        yield from _of_handler(name, "Catch", index, entry)
        yield from _of_next(
            (name, "Catch", index, "Next"), f"{name}, Catch {index + 1}", entry["Next"]
        )
        yield from _of_fields(
            (name, "Catch", index, "Output"), f"{name}, Catch {index + 1}", entry["Output"]
        )
    for part in ("Retry", "Catch", "Choices"):
        for index in range(len(state.get(part, [])) - 1):
            yield f"{name}, {part}", f"{index + 1} after {index + 2}", _swap(name, part, index)
    for index, rule in enumerate(state.get("Choices", [])):
        where = f"{name}, choice {index + 1}"
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
    where = f"{name}, {part} {index + 1}"
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
    inner = text.removeprefix("{%").removesuffix("%}").strip()
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
    inner = text.removeprefix("{%").removesuffix("%}").strip()
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
