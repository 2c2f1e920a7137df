"""The deliberate errors: what may be changed in a module of the package, and to what.

Left alone is what no test could judge, and nothing else:

- docstrings, annotations and the parts of f-strings: words, or nothing that runs;
- `strict`, `frozen`, `slots`, `kw_only` and `repr` of a call: without them nothing changes but the refusal of
  errors of our own, and what a debugger shows; `__repr__` likewise;
- `maxsize` of a cache, `stacklevel` of a warning, and the sizes in which a file is read or written
  (`_SIZES_OF_READS`): any other value gives the same answer, slower or faster; what must hold at their edges
  is a test of the reader with sizes of its own;
- how thick a line, how large a letter or a mark of a picture is (`_LOOKS`): taste, that no test should ask
  for;
- what a `raise` says: the tests ask for the error's slug, and its text is an f-string nearly always;
- `if __name__ == "__main__":`;
- the smaller, or the larger, of two: `a if a < b else b` is the same with `<=`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_UNJUDGED_ARGUMENTS = ("strict", "frozen", "slots", "kw_only", "repr", "maxsize", "stacklevel")
_LOOKS = ("fontsize", "linewidth", "markersize", "xytext")
_SIZES_OF_READS = {
    "tfmemlens/readers/bytes/batches.py": ("_TOGETHER",),
    "tfmemlens/readers/bytes/json_events.py": ("PIECE",),
    "tfmemlens/readers/bytes/regions.py": ("_HEAD", "_BLOCK"),
    "tfmemlens/readers/bytes/large_protobuf.py": ("WINDOW",),
    "tfmemlens/readers/bytes/texts.py": ("_PIECE",),
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "*",
    ast.LShift: ">>",
    ast.RShift: "<<",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A file whose text from one position to another is replaced."""

    file: str
    line: int
    start: int
    end: int
    text: str
    kind: str

    def applied(self, source: bytes) -> bytes:
        """The file's text with the error in it."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """All mutants of a module, whose path from the root is `file`."""
    starts = [0]
    for line in source.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    raw = source.encode()

    def place(node: ast.expr) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return starts[node.lineno - 1] + node.col_offset, starts[end_line - 1] + end_column

    def text(node: ast.expr) -> str:
        start, end = place(node)
        return raw[start:end].decode()

    def replaced(node: ast.expr, new: str, kind: str) -> Mutant:
        return Mutant(file, node.lineno, *place(node), f"({new})", kind)

    for node in _expressions(ast.parse(source), _SIZES_OF_READS.get(file, ())):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            new = f"{text(node.left)} {_COMPARISONS[type(node.ops[0])]} {text(node.comparators[0])}"
            yield replaced(node, new, "comparison")
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            if (
                not isinstance(node.left, ast.JoinedStr)
                and not _is_text(node.left)
                and not _is_text(node.right)
            ):
                new = f"({text(node.left)}) {_OPERATORS[type(node.op)]} ({text(node.right)})"
                yield replaced(node, new, "operator")
        elif isinstance(node, ast.BoolOp):
            word = "or" if isinstance(node.op, ast.And) else "and"
            yield replaced(node, f" {word} ".join(f"({text(value)})" for value in node.values), "and/or")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield replaced(node, text(node.operand), "not")
        elif isinstance(node, ast.IfExp):
            new = f"({text(node.orelse)}) if ({text(node.test)}) else ({text(node.body)})"
            yield replaced(node, new, "branches")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            yield replaced(node, _other_constant(node.value), "constant")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _other_constant(value: object) -> str:
    if isinstance(value, bool):
        return str(not value)
    return str(value + 1) if isinstance(value, int) else repr(float(str(value)) / 2 or 0.5)


def _expressions(tree: ast.Module, sizes_of_reads: tuple[str, ...]) -> Iterator[ast.expr]:
    """Expressions that a test can judge."""
    waiting: list[ast.AST] = [tree]
    same_either_way = set()
    while waiting:
        node = waiting.pop()
        if _unjudged(node, sizes_of_reads):
            continue
        if isinstance(node, ast.IfExp) and _is_choice_of_two(node):
            same_either_way.add(node.test)
        if isinstance(node, ast.expr) and node not in same_either_way:
            yield node
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns"):
                children = value if isinstance(value, list) else [value]
                waiting += [each for each in children if isinstance(each, ast.AST)]


def _unjudged(node: ast.AST, sizes_of_reads: tuple[str, ...]) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in (*_UNJUDGED_ARGUMENTS, *_LOOKS)
    if isinstance(node, ast.FunctionDef):
        return node.name == "__repr__"
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Compare) and ast.unparse(node.test) == "__name__ == '__main__'"
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id in sizes_of_reads for target in node.targets)
    return isinstance(node, ast.JoinedStr | ast.Raise)


def _is_choice_of_two(node: ast.IfExp) -> bool:
    """Whether this is the smaller or the larger of two values: `a if a < b else b`."""
    if not (isinstance(node.test, ast.Compare) and len(node.test.ops) == 1):
        return False
    ordered = isinstance(node.test.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    compared = {ast.dump(node.test.left), ast.dump(node.test.comparators[0])}
    return ordered and compared == {ast.dump(node.body), ast.dump(node.orelse)}
