"""Mutants of Python: each decision of a module's functions changed, one at a time.

A condition is negated, and each operand of `and` and `or` left out; a comparison moves its
boundary; sums and products are changed; what leaves a function early, re-raises or only acts is
left out; two neighbouring actions change places; a clause of a DynamoDB condition always holds, or
never; a module's number is doubled, halved.

A mutant is made by giving the function that is there the changed one's code, so that whoever holds
the function runs the mutant.
"""

import ast
import builtins
import copy
import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from inspect import getattr_static, unwrap
from itertools import chain
from types import CodeType, FunctionType, ModuleType
from typing import Any

import actonce.deployed  # noqa: F401 - puts functions/ on the path
from actonce.conformance.mutants.mutant import Mutant, Place
from actonce.sources import sources

Change = Callable[[ast.AST], None]
"""Changes a copy of the function's tree; given the node that stands where the original's does."""

NOT_RUN = frozenset(
    {
        ("time_allowed", "end_process_in"),
        ("locking.lease", "heartbeats_in_a_thread"),
        ("locking.lease", "seconds_for_a_takeover"),
        ("time_allowed", "_STANDARD_ERROR"),
        ("invoked_effect", "client_config"),
        ("invoked_effect", "SECONDS_BEFORE_A_FUNCTION_BEGINS"),
        ("deduplication.message", "MessageReader.read_whole"),
        ("actonce_message.identity", "execution_name_of_stored"),
    }
)
"""Functions that no walk runs, or runs with one answer only; see `judging.NOT_TRIED`."""

_BOUNDARIES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_Function = ast.FunctionDef
_BLOCKS = ("body", "orelse", "finalbody")


def mutants_of(module_name: str) -> list[Mutant]:
    """The mutants of a module of `functions/`, in the order of its lines."""
    file = file_of(module_name)
    tree = ast.parse((sources() / file).read_text())
    module = importlib.import_module(module_name)
    found = [
        one for one in _of_constants(tree, module, file) if (module_name, one.where) not in NOT_RUN
    ]
    for where, function in _functions(tree):
        if (module_name, where) in NOT_RUN:
            continue
        for change, line, changed in _of_function(function):
            code = partial(_code_of, tree, function, changed)
            found.append(
                Mutant(
                    file,
                    where,
                    line,
                    change,
                    frozenset({(file, where, line)}),
                    _swapped(_live(module, where), code),
                )
            )
    return _each_with_a_name_of_its_own(sorted(found, key=lambda one: one.line))


def _each_with_a_name_of_its_own(mutants: list[Mutant]) -> list[Mutant]:
    """The same change may be made to two statements of one text."""
    seen: Counter[str] = Counter()
    named = []
    for one in mutants:
        seen[one.name] += 1
        number = seen[one.name]
        named.append(one if number == 1 else replace(one, change=f"{one.change}, number {number}"))
    return named


@contextmanager
def probed(module_names: Iterable[str]) -> Iterator[set[Place]]:
    """While the context is open, the statements that are run in these modules' functions.

    The set that it yields is added to; it may be cleared in between.
    """
    walked: set[Place] = set()
    originals: list[tuple[FunctionType, CodeType]] = []
    setattr(builtins, _PROBE, lambda *place: walked.add(place))
    try:
        for live, code in chain.from_iterable(map(_probes, module_names)):
            originals.append((live, live.__code__))
            live.__code__ = code
        yield walked
    finally:
        for live, code in originals:
            live.__code__ = code
        delattr(builtins, _PROBE)


@cache
def _probes(module_name: str) -> list[tuple[FunctionType, CodeType]]:
    """A module's functions, and their code with a probe before each statement."""
    file = file_of(module_name)
    tree = ast.parse((sources() / file).read_text())
    module = importlib.import_module(module_name)
    return [
        (_live(module, where), _code_of(tree, function, _with_probes(function, file, where)))
        for where, function in _functions(tree)
    ]


_PROBE = "__a_mutants_place__"


def _with_probes(function: _Function, file: str, where: str) -> _Function:
    probed_one = copy.deepcopy(function)
    for node in list(ast.walk(probed_one)):
        for field in _BLOCKS:
            block = getattr(node, field, None)
            if not isinstance(block, list):
                continue
            with_probes: list[ast.stmt] = []
            for statement in block:
                place: list[ast.expr] = [
                    ast.Constant(part) for part in (file, where, statement.lineno)
                ]
                call = ast.Call(ast.Name(_PROBE, ast.Load()), place, [])
                with_probes += [ast.Expr(call), statement]
            setattr(node, field, with_probes)
    return ast.fix_missing_locations(probed_one)


def file_of(module_name: str) -> str:
    """The module's file, under the project's folder."""
    return f"functions/{module_name.replace('.', '/')}.py"


def _functions(tree: ast.Module) -> Iterator[tuple[str, _Function]]:
    for node in tree.body:
        if isinstance(node, _Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, _Function) and not _is_declared_only(inner):
                    yield f"{node.name}.{inner.name}", inner


def _is_declared_only(function: _Function) -> bool:
    """A protocol's, or an abstract one: there is nothing but its docstring."""
    return all(
        isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in function.body
    )


# ------------------------------------------------------------------ what is changed


def _of_function(function: _Function) -> Iterator[tuple[str, int, _Function]]:
    """Each change in words, the line of the statement that it is made to, and the function."""
    nodes = list(ast.walk(function))
    statements = _statements(function)
    for number, node in enumerate(nodes):
        own_line = statements.get(node, function.lineno)
        changes = [(change, own_line, apply) for change, apply in _changes(node)]
        for field in _BLOCKS:
            block = getattr(node, field, None)
            if isinstance(block, list):
                changes += _of_block(node, field, block)
        for change, line, apply in changes:
            changed = copy.deepcopy(function)
            apply(list(ast.walk(changed))[number])
            yield change, line, ast.fix_missing_locations(changed)


def _statements(function: _Function) -> dict[ast.AST, int]:
    """For each node the line of the innermost statement that it is a part of."""
    lines: dict[ast.AST, int] = {}

    def visit(node: ast.AST, line: int) -> None:
        line = node.lineno if isinstance(node, ast.stmt) else line
        lines[node] = line
        for child in ast.iter_child_nodes(node):
            visit(child, line)

    visit(function, function.lineno)
    return lines


def _changes(node: Any) -> Iterator[tuple[str, Change]]:  # noqa: C901 - a list of kinds
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield f"`{_short(node.test)}` negated", _negate_test
    if isinstance(node, ast.BoolOp):
        for index, operand in enumerate(node.values):
            yield f"`{_short(operand)}` left out", _leave_operand_out(index)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _comparison(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        text = (ast.JoinedStr, ast.Constant)
        if not (isinstance(node.left, text) and not _is_number(node.left)):
            yield f"`{_short(node)}` is `{_short(node.left)}`", _only_left
    if isinstance(node, ast.Return) and node.value is not None and _is_truth(node.value):
        yield f"`{_short(node)}` negated", _negate_value
    if isinstance(node, ast.JoinedStr):
        for index, part in enumerate(node.values):
            if isinstance(part, ast.FormattedValue) and _is_clause(part.value):
                yield f"`{_short(part.value)}` always holds", _clause(index, "OR")
                yield f"`{_short(part.value)}` never holds", _clause(index, "AND")
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    if is_text and node.value.startswith("attribute_"):
        yield f"`{node.value}` always holds", _literal_clause("OR")


def _comparison(node: ast.Compare) -> Iterator[tuple[str, Change]]:
    kind = type(node.ops[0])
    if kind in _BOUNDARIES:
        yield f"the boundary of `{_short(node)}`", _set_operator(_BOUNDARIES[kind])


def _of_block(
    node: ast.AST, field: str, block: list[ast.stmt]
) -> Iterator[tuple[str, int, Change]]:
    is_end_of_function = isinstance(node, ast.FunctionDef)
    for index, statement in enumerate(block):
        is_last = index == len(block) - 1
        line = statement.lineno
        if isinstance(statement, ast.Return | ast.Raise) and not (is_end_of_function and is_last):
            yield f"`{_short(statement)}` left out", line, _drop(field, index)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield f"`{_short(statement)}` left out", line, _drop(field, index)
        if isinstance(statement, ast.Continue | ast.Break):
            yield f"`{_short(statement)}` left out", line, _drop(field, index)
        if not is_last and _may_swap(statement, block[index + 1]):
            words = f"`{_short(statement)}` after `{_short(block[index + 1])}`"
            yield words, line, _swap(field, index)
        if isinstance(statement, ast.With):
            called = _short(statement.items[0].context_expr)
            yield f"not within `{called}`", line, _unwrap_with(field, index)


def _may_swap(first: ast.stmt, second: ast.stmt) -> bool:
    """Both act, and the second can be done without what the first one gives."""
    if not all(isinstance(one, ast.Expr | ast.Assign) for one in (first, second)):
        return False
    if not all(any(isinstance(n, ast.Call) for n in ast.walk(one)) for one in (first, second)):
        return False
    given = {
        n.id for n in ast.walk(first) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    used = {n.id for n in ast.walk(second) if isinstance(n, ast.Name)}
    return not given & used


def _negate_test(node: Any) -> None:
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _negate_value(node: Any) -> None:
    node.value = ast.UnaryOp(ast.Not(), node.value)


def _leave_operand_out(index: int) -> Change:
    def change(node: Any) -> None:
        neutral = isinstance(node.op, ast.And)
        node.values[index] = ast.Constant(neutral)
        # `a or b` is often a default: without `a` it is `b`, and without `b` it is `a`.
        if not neutral:
            del node.values[index]
            if len(node.values) == 1:
                node.values.append(copy.deepcopy(node.values[0]))

    return change


def _set_operator(kind: type[ast.cmpop]) -> Change:
    def change(node: Any) -> None:
        node.ops = [kind()]

    return change


def _only_left(node: Any) -> None:
    node.right = ast.Constant(1) if isinstance(node.op, ast.Mult | ast.Div) else _zero_like(node)


def _zero_like(node: Any) -> ast.expr:
    """`right - right`: nothing, of the right type."""
    return ast.BinOp(copy.deepcopy(node.right), ast.Sub(), copy.deepcopy(node.right))


def _clause(index: int, word: str) -> Change:
    def change(node: Any) -> None:
        clause = node.values[index]
        again = copy.deepcopy(clause)
        node.values[index : index + 1] = [
            ast.Constant("("),
            clause,
            ast.Constant(f" {word} NOT "),
            again,
            ast.Constant(")"),
        ]

    return change


def _literal_clause(word: str) -> Change:
    def change(node: Any) -> None:
        node.value = f"({node.value} {word} NOT {node.value})"

    return change


def _drop(field: str, index: int) -> Change:
    def change(node: Any) -> None:
        getattr(node, field)[index] = ast.Pass()

    return change


def _swap(field: str, index: int) -> Change:
    def change(node: Any) -> None:
        block = getattr(node, field)
        block[index], block[index + 1] = block[index + 1], block[index]

    return change


def _unwrap_with(field: str, index: int) -> Change:
    def change(node: Any) -> None:
        block = getattr(node, field)
        block[index : index + 1] = block[index].body

    return change


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_truth(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.Constant) and isinstance(node.value, bool)
    )


def _is_clause(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id.startswith(("IS_", "ID_IS_"))


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else f"{text[:57]}…"


# ------------------------------------------------------------------ how it is put in place


def _code_of(tree: ast.Module, original: _Function, changed: _Function) -> CodeType:
    """The changed function's code, compiled where it stands."""
    whole = copy.deepcopy(tree)
    for node in ast.walk(whole):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for index, inner in enumerate(body):
            if isinstance(inner, _Function) and inner.lineno == original.lineno:
                replacement = copy.deepcopy(changed)
                replacement.decorator_list = []
                body[index] = replacement
                compiled = compile(
                    ast.fix_missing_locations(whole), "<mutant>", "exec", dont_inherit=True
                )
                return _found(compiled, original)
    raise LookupError(original.name)


def _found(code: CodeType, original: _Function) -> CodeType:
    codes = [code]
    while codes:
        one = codes.pop()
        if one.co_name == original.name and one.co_firstlineno == original.lineno:
            return one
        codes += [inner for inner in one.co_consts if isinstance(inner, CodeType)]
    raise LookupError(original.name)


def _live(module: ModuleType, where: str) -> FunctionType:
    value: Any = module
    for name in where.split("."):
        value = getattr_static(value, name)
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    function = unwrap(value)
    assert isinstance(function, FunctionType)  # noqa: S101 - what the tree says it is
    return function


def _swapped(function: FunctionType, code: Callable[[], CodeType]) -> Callable[[], Any]:
    @contextmanager
    def applied() -> Iterator[None]:
        original = function.__code__
        function.__code__ = code()
        try:
            yield None
        finally:
            function.__code__ = original

    return applied


def _of_constants(tree: ast.Module, module: ModuleType, file: str) -> Iterator[Mutant]:
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name = node.targets[0].id
        value = getattr(module, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or name == "VERSION":
            continue
        for words, other in (("doubled", value * 2), ("halved", value / 2)):
            applied = _other_value(module, name, other)
            yield Mutant(file, name, node.lineno, words, frozenset(), applied)


def _other_value(module: ModuleType, name: str, value: Any) -> Callable[[], Any]:
    @contextmanager
    def applied() -> Iterator[None]:
        original = getattr(module, name)
        setattr(module, name, value)
        try:
            yield None
        finally:
            setattr(module, name, original)

    return applied
