"""Data that the quoted program reads or converts whole, by its syntax trees: an array that is divided as a
whole, and a generator whose constructor reads every file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.findings.support.grower import Grower
from tfmemlens.knowledge.tree_values import dotted, last_name
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.patterns import regex
from tfmemlens.values import replace

_MAKES_ARRAYS = frozenset({"array", "asarray", "stack", "concatenate", "vstack", "load", "reshape", "astype"})
_OF_NUMPY = frozenset({"np", "numpy"})
_READS = frozenset({"imread", "load_img", "open", "load", "imread_collection", "read_csv", "img_to_array"})
_GENERATORS = frozenset({"Sequence", "PyDataset"})
_LEAST_FACTOR = 2

_AS_IT_IS = Remedy(
    "keep it as uint8, and convert one batch at a time: by a data set's map, or by the model's first layer",
    "x = np.asarray(images, np.uint8)   # the model: keras.layers.Rescaling(1 / 255) first (TF 2.6+)",
    slug="narrow-array",
)
_WITHOUT_THE_LIST = Remedy(
    "or fill one array of the right type from the start, and let go of the list that it is made from: both"
    " are there together",
    "x = np.empty((n, h, w, 3), np.uint8); x[i] = image   # then: del images",
    slug="fill-one-array",
)
_PATHS_ALONE = Remedy(
    "keep paths in the constructor, and read the files of one batch in __getitem__",
    "self.paths = paths   # __getitem__: np.stack([imread(p) for p in self.paths[a:b]])",
    slug="map-the-file",
)


def by_the_code(told: Surroundings) -> Iterator[Grower]:
    """What it reads whole in a generator, then what it converts whole."""
    program = told.program()
    if not program:
        return
    for line, name, read, floats in _read_in_constructors(program):
        wide = ", as float32 four times the bytes of uint8" if floats else ""
        what = (
            f"`{name}` ({line.place}), whose constructor reads every file (`{read}`) and keeps all{wide}:"
            " each worker process holds it once more"
        )
        yield Grower(what, line, (_PATHS_ALONE, *((_AS_IT_IS,) if floats else ())), True)
    for line, code, name in _divided(program):
        what = (
            f"`{code}` ({line.place}): NumPy makes float64 of the whole array, eight times the bytes of uint8"
            f" images, beside `{name}` itself"
        )
        yield Grower(what, line, (_AS_IT_IS, _WITHOUT_THE_LIST), True)


def _divided(program: Program) -> Iterator[tuple[Line, str, str]]:
    """Lines of the program itself that divide an array which it made as a whole by a number."""
    arrays: set[str] = set()
    for statement in program:
        for node in _of_the_program(statement):
            if not isinstance(node, ast.Assign | ast.AugAssign):
                continue
            value, targets = node.value, node.targets if isinstance(node, ast.Assign) else [node.target]
            if isinstance(value, ast.BinOp) and isinstance(node, ast.Assign) and _is_divided(value, arrays):
                yield statement.line_of(node), ast.unparse(value), ast.unparse(value.left)
            if isinstance(node, ast.Assign) and _is_an_array(value):
                arrays |= {last_name(each) for each in targets}


def _of_the_program(statement: Statement) -> Iterator[ast.AST]:
    """What runs once: nothing of functions, classes and loops."""
    todo: list[ast.AST] = [statement.node]
    while todo:
        node = todo.pop(0)
        if isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.For | ast.While | ast.Lambda
        ):
            continue
        yield node
        todo += ast.iter_child_nodes(node)


def _is_an_array(value: ast.expr) -> bool:
    """`np.array(...)`, also with methods behind it; no float32 of its own."""
    if any(
        isinstance(each, ast.Attribute | ast.Constant) and "float" in ast.unparse(each)
        for each in ast.walk(value)
    ):
        return False
    calls = [each for each in ast.walk(value) if isinstance(each, ast.Call)]
    return any(
        last_name(each.func) in _MAKES_ARRAYS and dotted(each.func).partition(".")[0] in _OF_NUMPY
        for each in calls
    )


def _is_divided(value: ast.BinOp, arrays: set[str]) -> bool:
    by = value.right.value if isinstance(value.right, ast.Constant) else None
    if not isinstance(value.op, ast.Div) or not isinstance(by, int | float) or by < _LEAST_FACTOR:
        return False
    left = value.left
    return last_name(left) in arrays or (isinstance(left, ast.Call) and _is_an_array(left))


def _read_in_constructors(program: Program) -> Iterator[tuple[Line, str, str, bool]]:
    """Generators of Keras whose `__init__` keeps what a list of all files gives: the line, the class, the
    call that reads, and whether floats are made of it.
    """
    for statement in program:
        for node in statement.nodes:
            if not isinstance(node, ast.ClassDef) or not any(
                last_name(each) in _GENERATORS for each in node.bases
            ):
                continue
            makes = (
                each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"
            )
            for assigned in (
                part for each in makes for part in ast.walk(each) if isinstance(part, ast.Assign)
            ):
                kept = isinstance(assigned.targets[0], ast.Attribute)
                listed = [each for each in ast.walk(assigned.value) if isinstance(each, ast.ListComp)]
                reads = [
                    call
                    for each in listed
                    for call in ast.walk(each.elt)
                    if isinstance(call, ast.Call) and last_name(call.func) in _READS
                ]
                if kept and reads:
                    floats = "float" in ast.unparse(assigned.value)
                    yield statement.line_of(assigned), node.name, dotted(reads[0].func), floats
                    break


def of_a_joined_list(program: Program, failing: str) -> Iterator[Remedy]:
    """What helps where the failing line makes one array of a list that a loop of the program has filled:
    predicting in pieces where it is only predicted, the type of its entries, no list beside the array.
    """
    call = _ARRAY_OF.search(failing)
    added = next(_added_to(program, call["name"]), None) if call else None
    if call is None or added is None:
        return
    line, value = added
    name = call["name"]
    other = ""
    if any(_predicts(each, name) for statement in program for each in statement.nodes):
        other = "or "
        yield Remedy(
            f"predict each batch as soon as it is made, and keep the results alone (classes as uint8, or a"
            f" file): neither `{name}` nor an array of it is needed then",
            "out = model.predict_on_batch(np.stack(batch)).argmax(-1).astype(np.uint8); batch.clear()",
            slug="predict-in-pieces",
        )
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
        other = "or "
        yield Remedy(
            f"`{ast.unparse(value)}` ({line.place}) makes float64, eight times the bytes of uint8: divide one"
            " batch at a time, in float32, just before the model takes it",
            f"{name}.append({ast.unparse(value.left)})   # as it is",
            slug="narrow-array",
        )
    yield replace(
        _WITHOUT_THE_LIST,
        text=f"{other}fill one array from the start: the list `{name}`, filled by {line.place}, and the array"
        " that is made of it are there together",
        code="x = np.empty((n, *first.shape), first.dtype); x[i] = each   # n: how many there are",
    )


_ARRAY_OF = regex(
    r"\b(?:np|numpy)\.(?:array|asarray|stack|vstack|concatenate)\((?P<name>[A-Za-z_]\w*)\s*[,)]"
)


def _added_to(program: Program, name: str) -> Iterator[tuple[Line, ast.expr]]:
    """Lines of loops that append to a list, and what they add."""
    for statement in program:
        for loop in statement.nodes:
            for call in ast.walk(loop) if isinstance(loop, ast.For | ast.While) else ():
                if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args):
                    continue
                if call.func.attr == "append" and last_name(call.func.value) == name:
                    yield statement.line_of(call), call.args[0]


def _predicts(node: ast.AST, name: str) -> bool:
    """Whether a model predicts what has this name."""
    call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "predict"
    return call and isinstance(node, ast.Call) and bool(node.args) and last_name(node.args[0]) == name


def generators_that_compute(program: Program) -> Iterator[tuple[Line, str]]:
    """Generators of Keras whose methods call TensorFlow: the line of a call, and the call."""
    for statement in program:
        for node in statement.nodes:
            if not isinstance(node, ast.ClassDef) or not any(
                last_name(each) in _GENERATORS for each in node.bases
            ):
                continue
            for part in (
                inner for each in node.body if isinstance(each, ast.FunctionDef) for inner in ast.walk(each)
            ):
                name = dotted(part.func) if isinstance(part, ast.Call) else ""
                if name.startswith(("tf.", "tensorflow.")) and ".keras.utils" not in name:
                    yield statement.line_of(part), name
