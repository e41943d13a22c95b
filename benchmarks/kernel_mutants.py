"""Kernels of proofs that differ from ours in one place: a term dropped, a condition relaxed, a constant moved."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

__all__ = ["Mutant", "mutants"]

#: What stands in the place of operators, and of functions and methods.
COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="), ast.GtE: (">", "<"), ast.Eq: ("!=",),
    ast.NotEq: ("==",), ast.In: ("not in",), ast.NotIn: ("in",), ast.Is: ("is not",), ast.IsNot: ("is",),
}  # fmt: skip
OPERATORS: dict[type[ast.operator], str] = {
    ast.Sub: "+", ast.Div: "*", ast.FloorDiv: "*", ast.Pow: "*", ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip
#: Operators of which an operand can be dropped, and which ones.
DROPPED: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("left", "right"), ast.Mult: ("left", "right"), ast.Sub: ("left",), ast.BitAnd: ("left", "right"),
    ast.BitOr: ("left", "right"), ast.MatMult: ("left", "right"),
}  # fmt: skip
NAMES = {
    "minimum": "maximum", "min": "max", "floor": "ceil", "above": "below", "upper": "lower", "any": "all",
}  # fmt: skip
NAMES |= {other: name for name, other in NAMES.items()}
#: Functions without which their first argument is left.
TRANSPARENT = ("abs", "up", "sort", "sorted", "sqrt", "nan_to_num", "clip", "cumsum", "sign", "broadcast_to")
#: Strings of keys that a table must or may have, each of which is dropped once: arguments and attributes.
TABLES = ("wanted", "optional", "parameters", "dual_keys")


@dataclass(frozen=True)
class Mutant:
    """A change of one file, named by where it is and what it does, so that it is known again when lines move."""

    path: Path
    where: str
    line: str
    change: str
    text: str
    #: Its place among those of its line, of which conditions come first, then terms, and constants last.
    rank: int = 0

    @property
    def key(self) -> str:
        return f"{self.where} | {self.line} | {self.change}"


def mutants(path: Path) -> list[Mutant]:
    """All of a file, in the order of its lines."""
    text = path.read_bytes().decode("ascii")
    found, seen, kinds = [], Counter[str](), []
    lines = text.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]
    for where, node, new in _Places(text, path.stem).all():
        first, last = _offsets(starts, node)
        old, line = " ".join(text[first:last].split()), lines[node.lineno - 1].strip()
        change = f"{old} -> {' '.join(new.split())}"
        mutated = text[:first] + new + text[last:]
        seen[f"{where} {line} {change}"] += 1
        kinds.append(_kind(node, new))
        again = seen[f"{where} {line} {change}"]
        found.append(Mutant(path, where, line, change + (f" (again, {again})" if again > 1 else ""), mutated))
    ranks, counts = {}, Counter[str]()
    for at in sorted(range(len(found)), key=lambda at: kinds[at]):
        place = f"{found[at].where} {found[at].line}"
        ranks[at], counts[place] = counts[place], counts[place] + 1
    return [replace(mutant, rank=ranks[at]) for at, mutant in enumerate(found)]


def _kind(node: ast.AST, new: str) -> int:
    if new in ("True", "False", "pass") or (isinstance(node, ast.Call) and _called(node) in ("demand", "show")):
        return 0
    return 2 if isinstance(node, ast.Constant) or _constant(node) else 1


def _offsets(starts: list[int], node: ast.expr | ast.stmt) -> tuple[int, int]:
    return starts[node.lineno - 1] + node.col_offset, starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)


class _Places:
    """Nodes of a file and what may take their place."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        #: Constants that are places in an array, of which the next one is enough.
        self.places = set[int]()
        self.starts = [0, *itertools.accumulate(map(len, text.splitlines(keepends=True)))]

    def all(self) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
        yield from self._of(ast.parse(self.text), self.name)

    def _source(self, node: ast.AST) -> str:
        if not isinstance(node, (ast.expr, ast.stmt)):
            return ""
        first, last = _offsets(self.starts, node)
        return self.text[first:last]

    def _of(self, node: ast.AST, where: str) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            where = f"{where}.{node.name}"
        if isinstance(node, (ast.expr, ast.stmt)):
            for new in dict.fromkeys(self._instead(node)):
                if new != self._source(node):
                    yield where, node, new
        if isinstance(node, ast.Subscript):
            self.places |= {id(part) for part in ast.walk(node.slice)}
        if isinstance(node, ast.keyword) and node.arg == "axis":
            self.places.add(id(node.value))
        if isinstance(node, (ast.If, ast.While)):
            yield from ((where, node.test, word) for word in ("True", "False"))
        if isinstance(node, ast.comprehension):
            yield from ((where, test, "True") for test in node.ifs)
        for child in self._children(node):
            yield from self._of(child, where)

    def _children(self, node: ast.AST) -> Iterator[ast.AST]:
        """All that computes: no annotations, names of exports, docstrings, messages and formatted text."""
        if isinstance(node, ast.Assign) and self._source(node.targets[0]) == "__all__":
            return
        if isinstance(node, ast.BinOp) and _constant(node):
            return
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "op", "ops", "ctx"):
                continue
            if isinstance(node, ast.Call) and _called(node) in ("demand", "show") and name == "args":
                value = value[:1]
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(child, (ast.JoinedStr, ast.arguments)):
                    yield child
                if isinstance(child, ast.arguments):
                    yield from filter(None, [*child.defaults, *child.kw_defaults])

    def _instead(self, node: ast.AST) -> Iterator[str]:
        source = self._source
        match node:
            case ast.Compare():
                parts = [source(part) for part in (node.left, *node.comparators)]
                operators = [_SYMBOLS[type(op)] for op in node.ops]
                for at, op in enumerate(node.ops):
                    for new in COMPARISONS[type(op)]:
                        signs = [*operators[:at], new, *operators[at + 1 :], ""]
                        yield "(" + " ".join(f"{part} {sign}" for part, sign in zip(parts, signs)).strip() + ")"
            case ast.BoolOp():
                parts = [f"({source(value)})" for value in node.values]
                yield "(" + (" or " if isinstance(node.op, ast.And) else " and ").join(parts) + ")"
                word = " and " if isinstance(node.op, ast.And) else " or "
                for at in range(len(parts)):
                    # A name that is bound on the way is bound all the same.
                    if not any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.values[at])):
                        yield "(" + word.join(parts[:at] + parts[at + 1 :]) + ")"
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                yield f"({source(node.operand)})"
            case ast.BinOp() if _constant(node):
                yield f"({source(node)} * 2)"
                yield f"({source(node)} / 2)" if "." in source(node) else f"({source(node)} // 2)"
            case ast.BinOp():
                left, right = f"({source(node.left)})", f"({source(node.right)})"
                if type(node.op) in OPERATORS:
                    yield f"({left} {OPERATORS[type(node.op)]} {right})"
                for side in DROPPED.get(type(node.op), ()):
                    yield right if side == "left" else left
            case ast.Constant(value=bool()):
                yield str(not node.value)
            case ast.Constant(value=int()):
                yield str(node.value + 1)
                yield from [str(node.value - 1)] * (node.value > 0 and id(node) not in self.places)
            case ast.Constant(value=float()):
                yield from [repr(node.value / 2.0), repr(node.value * 2.0)] if node.value else ["1.0"]
            case ast.IfExp():
                yield f"({source(node.body)})"
                yield f"({source(node.orelse)})"
            case ast.Slice(lower=lower, upper=upper, step=None) if lower or upper:
                yield f"{source(lower) if lower and upper else ''}:"
                yield f":{source(upper) if lower and upper else ''}"
            case ast.Call():
                yield from self._calls(node)
            case ast.Assign(targets=[ast.Name(id=name)]) if name in TABLES:
                yield from self._words(node, node.value)
            case ast.Assign(targets=[ast.Tuple() as names], value=ast.Tuple() as values):
                for at, name in enumerate(names.elts):
                    if isinstance(name, ast.Name) and name.id in TABLES:
                        yield from self._words(node, values.elts[at])
            case ast.Expr(value=ast.Call() as call) if _called(call) not in ("demand", "show"):
                yield "pass"
            case ast.AugAssign() | ast.Raise():
                yield "pass"

    def _calls(self, node: ast.Call) -> Iterator[str]:
        called, source = _called(node), self._source
        function = source(node.func)
        if called in ("demand", "show"):
            # A list of one thing holds.
            held = source(node.args[0])
            yield source(node).replace(held, f"[{held}]", 1)
        if called in NAMES:
            yield source(node)[: len(function) - len(called)] + NAMES[called] + source(node)[len(function) :]
        if called in TRANSPARENT and node.args and not function.startswith("self"):
            yield f"({source(node.args[0])})"
        if called == "gamma":
            yield "0.0"
        if called == "keys":
            for argument in node.args[2:]:
                yield from self._words(node, argument)

    def _words(self, whole: ast.AST, node: ast.AST) -> Iterator[str]:
        """The source of something without one of the words of a string in it, or with one more."""
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return
        text, own = self._source(whole), self._source(node)
        words = node.value.split()
        for at in range(len(words)):
            yield text.replace(own, repr(" ".join(words[:at] + words[at + 1 :])).replace("'", '"'))
        yield text.replace(own, f'"{node.value} note"')


_SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _constant(node: ast.AST) -> bool:
    """Whether it is a power of two constants."""
    base, power = getattr(node, "left", None), getattr(node, "right", None)
    power = power.operand if isinstance(power, ast.UnaryOp) else power
    return isinstance(getattr(node, "op", None), ast.Pow) and all(
        isinstance(one, ast.Constant) for one in (base, power)
    )
