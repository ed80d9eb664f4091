"""DynamoDB's condition, key condition and update expressions, as far as the ways use them.

Each expression is parsed once and kept. What this does not know it refuses.
Source: "Condition expressions" and "Update expressions", Amazon DynamoDB Developer Guide.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

Value = Mapping[str, Any]
"""A value as DynamoDB has it: `{"S": "text"}`."""

Item = Mapping[str, Value]

_TOKEN = re.compile(r"\s*(?:([#:]?[A-Za-z_][A-Za-z0-9_]*)|(<>|<=|>=|[=<>(),+-]))")
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})


class InvalidExpression(Exception):
    """DynamoDB would not take it, or this does not know it."""


@dataclass(frozen=True, slots=True)
class Given:
    """An item and what the expression's placeholders stand for."""

    item: Item
    names: Mapping[str, str]
    values: Mapping[str, Value]

    def name(self, token: str) -> str:
        """The attribute that a token names."""
        if not token.startswith("#"):
            return token
        if token not in self.names:
            raise InvalidExpression(f"{token} is not among ExpressionAttributeNames")
        return self.names[token]

    def value(self, token: str) -> Value:
        """The value that a token stands for."""
        if token not in self.values:
            raise InvalidExpression(f"{token} is not among ExpressionAttributeValues")
        return self.values[token]


Condition = Callable[[Given], bool]
Operand = Callable[[Given], Value | None]


@dataclass(frozen=True, slots=True)
class Update:
    """What an update expression says: attribute tokens, and what each is set to or increased by."""

    sets: tuple[tuple[str, Operand], ...]
    removes: tuple[str, ...]
    adds: tuple[tuple[str, Operand], ...]

    def apply(self, given: Given) -> dict[str, Value]:
        """The item as it is afterwards; every right-hand side reads the item as it was."""
        item = dict(given.item)
        for token, operand in self.sets:
            value = operand(given)
            if value is None:
                raise InvalidExpression("an operand of SET names an attribute that does not exist")
            item[given.name(token)] = value
        for token in self.removes:
            item.pop(given.name(token), None)
        for token, operand in self.adds:
            name = given.name(token)
            item[name] = _sum(given.item.get(name, {"N": "0"}), operand(given), 1)
        return item


@cache
def condition(expression: str) -> Condition:
    """Parse a condition or key condition expression."""
    parser = _Parser(expression)
    parsed = parser.either()
    parser.end()
    return parsed


@cache
def update(expression: str) -> Update:
    """Parse an update expression."""
    return _Parser(expression).update()


@cache
def placeholders(expression: str) -> frozenset[str]:
    """The `#names` and `:values` that an expression uses."""
    return frozenset(token for token in _tokens(expression) if token[0] in "#:")


def _tokens(expression: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    text = expression.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise InvalidExpression(f"cannot be read at {text[position:]!r}")
        tokens.append(match[1] or match[2])
        position = match.end()
    return tokens


class _Parser:
    def __init__(self, expression: str) -> None:
        self._tokens = [*_tokens(expression), ""]
        self._at = 0

    def end(self) -> None:
        if self._peek():
            raise InvalidExpression(f"more than one condition: {self._peek()!r}")

    def either(self) -> Condition:
        parts = [self._both()]
        while self._take_word("OR"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else lambda given: any(part(given) for part in parts)

    def _both(self) -> Condition:
        parts = [self._negated()]
        while self._take_word("AND"):
            parts.append(self._negated())
        return parts[0] if len(parts) == 1 else lambda given: all(part(given) for part in parts)

    def _negated(self) -> Condition:
        if self._take_word("NOT"):
            inner = self._negated()
            return lambda given: not inner(given)
        if self._take("("):
            inner = self.either()
            self._expect(")")
            return inner
        return self._function() or self._comparison()

    def _function(self) -> Condition | None:
        name = self._peek()
        if self._tokens[self._at + 1 : self._at + 2] != ["("]:
            return None
        if name not in ("attribute_exists", "attribute_not_exists", "begins_with"):
            raise InvalidExpression(f"the function {name} is not known here")
        self._at += 2
        path = self._next()
        if name == "begins_with":
            self._expect(",")
            start = self._operand()
            self._expect(")")
            return lambda given: _begins_with(given.item.get(given.name(path)), start(given))
        self._expect(")")
        if name == "attribute_exists":
            return lambda given: given.name(path) in given.item
        return lambda given: given.name(path) not in given.item

    def _comparison(self) -> Condition:
        left = self._operand()
        comparison = self._next()
        if comparison not in _COMPARISONS:
            raise InvalidExpression(f"{comparison!r} is no comparison known here")
        right = self._operand()
        return lambda given: _compare(left(given), comparison, right(given))

    def update(self) -> Update:
        sets: list[tuple[str, Operand]] = []
        removes: list[str] = []
        adds: list[tuple[str, Operand]] = []
        while clause := self._peek():
            self._at += 1
            while True:
                token = self._next()
                if clause.upper() == "SET":
                    self._expect("=")
                    sets.append((token, self._sum()))
                elif clause.upper() == "ADD":
                    adds.append((token, self._operand()))
                elif clause.upper() == "REMOVE":
                    removes.append(token)
                else:
                    raise InvalidExpression(f"the clause {clause} is not known here")
                if not self._take(","):
                    break
        return Update(tuple(sets), tuple(removes), tuple(adds))

    def _sum(self) -> Operand:
        left = self._operand()
        for sign, factor in (("+", 1), ("-", -1)):
            if self._take(sign):
                right = self._operand()
                return lambda given: _sum(left(given), right(given), factor)
        return left

    def _operand(self) -> Operand:
        token = self._next()
        if token == "if_not_exists":  # noqa: S105 - no password
            self._expect("(")
            path = self._next()
            self._expect(",")
            default = self._operand()
            self._expect(")")
            return lambda given: given.item.get(given.name(path)) or default(given)
        if token.startswith(":"):
            return lambda given: given.value(token)
        if not re.match(r"[#A-Za-z_]", token):
            raise InvalidExpression(f"{token!r} is no operand")
        return lambda given: given.item.get(given.name(token))

    def _peek(self) -> str:
        return self._tokens[self._at]

    def _next(self) -> str:
        token = self._tokens[self._at]
        if not token:
            raise InvalidExpression("it ends too early")
        self._at += 1
        return token

    def _take(self, token: str) -> bool:
        is_there = self._peek() == token
        self._at += is_there
        return is_there

    def _take_word(self, word: str) -> bool:
        is_there = self._peek().upper() == word
        self._at += is_there
        return is_there

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise InvalidExpression(f"expected {token!r} at {self._peek()!r}")


def _plain(value: Value) -> tuple[str, Any]:
    ((kind, content),) = value.items()
    return kind, Decimal(content) if kind == "N" else content


def _compare(left: Value | None, comparison: str, right: Value | None) -> bool:
    if left is None or right is None:
        return comparison == "<>" and left is not right
    (left_kind, a), (right_kind, b) = _plain(left), _plain(right)
    if left_kind != right_kind:
        return comparison == "<>"
    if comparison == "=":
        return bool(a == b)
    if comparison == "<>":
        return bool(a != b)
    if left_kind == "S":
        a, b = a.encode(), b.encode()
    elif left_kind != "N":
        raise InvalidExpression(f"values of type {left_kind} have no order known here")
    return bool({"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[comparison])


def _begins_with(value: Value | None, start: Value | None) -> bool:
    return (
        value is not None
        and start is not None
        and "S" in value
        and str(value["S"]).startswith(start["S"])
    )


def _sum(left: Value | None, right: Value | None, factor: int) -> Value:
    if left is None or right is None or "N" not in left or "N" not in right:
        raise InvalidExpression("an operand of + or - is no number")
    return {"N": format((Decimal(left["N"]) + factor * Decimal(right["N"])).normalize(), "f")}
