"""The data set lies in a variable that the optimizer trains.

What it means: a variable is trainable unless it is told otherwise. One that holds the samples, from which
each step gathers a batch, gets a gradient as large as the whole set, and the optimizer's slots: with Adam
four times the set; and training changes the data.
When it fires: what failed, or blocks of its size, has the shape of a variable that the program fills with an
array or a placeholder of as many samples, without `trainable=False`; the optimizer is given no list of
variables; and the variable is gathered from or sliced.
What to do: `trainable=False`, or feed batches from the host.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.findings.support.code_tensors import tensors_made
from tfmemlens.findings.support.rows import device_limit, requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex
from tfmemlens.units import human
from tfmemlens.values import dataclass

BASIS = Basis.MEASURED
EXPLAINS = "the set, its gradient and two slots, at most the limit"

_LEAST_ROWS, _OF_ADAM = 64, 4
_PICKS = ("gather", "embedding_lookup", "gather_nd", "slice", "dynamic_slice", "strided_slice")
_DATA = regex(
    r"(?i)(?:\A|[._])(?:raw_?\w*|imgs?|images?|data\w*|samples?|features?|feats?|train\w*|x|xs|x_\w+|inputs?"
    r"|frames|scans|volumes|signals?|windows|records|series|corpus|\w*_(?:img|images?|data|set|x))\d?\Z"
)


@dataclass(frozen=True, slots=True)
class TrainedData:
    """A variable of samples, and where a step picks from it."""

    name: str
    made: Line
    picked: Line


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        shape = request.failed.shape or ()
        if not shape or (shape[0] or 0) < _LEAST_ROWS or None in shape:
            continue
        found = trained_data(case.capture.surroundings.program(), tuple(size or 0 for size in shape))
        if found is None:
            continue
        need, limit = request.failed.tensor_bytes or 0, device_limit(case, moment)
        whole = _OF_ADAM * need
        what = (
            f"`{found.name}` ({found.made.place}) holds the whole data set, and the optimizer trains it: it"
            f" has a gradient and slots of its size, with Adam {human(whole)} in all, and its values change"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=min(whole, limit.bytes) if limit and limit.bytes else whole,
            evidence=(
                Evidence("a variable of samples", found.made),
                Evidence("what a step picks of it", found.picked),
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            ),
            remedies=(
                Remedy(
                    f"tell that `{found.name}` is not trained: it stays as it is, without gradient and slots",
                    f"tf.Variable(..., trainable=False)   # {found.made.place}",
                    whole - need,
                    Certainty.ESTIMATE,
                    slug="not-trainable",
                ),
                Remedy(
                    "or keep the samples on the host, and feed a batch to each step",
                    slug="keep-off-the-device",
                ),
            ),
            moment=index,
            rules_out=(
                "smaller-batch",
                "narrower-layer",
                "lighter-optimizer",
                "lower-constant",
                "lower-setting",
            ),
        )


def trained_data(program: Program, shape: tuple[int, ...]) -> TrainedData | None:
    """The variable of this shape, or of one that nothing tells, that holds samples and is trained."""
    if not program or _names_what_it_trains(program):
        return None
    for statement in program:
        if statement.of_frame:
            continue
        for node in statement.nodes:
            if (
                not isinstance(node, ast.Assign)
                or not isinstance(node.value, ast.Call)
                or len(node.targets) != 1
            ):
                continue
            if not _is_of_data(node.value) or not _fits(program, node.value, statement.line_of(node), shape):
                continue
            name = ast.unparse(node.targets[0])
            if picked := _picked(program, name):
                return TrainedData(name, statement.line_of(node), picked)
    return None


def _is_of_data(call: ast.Call) -> bool:
    """Whether it makes a variable of values that something else has, by a name of data, and trains it."""
    words = {each.arg: each.value for each in call.keywords}
    told = words.get("trainable")
    if isinstance(told, ast.Constant) and told.value is False:
        return False
    if last_name(call.func) == "Variable":
        value = call.args[0] if call.args else words.get("initial_value")
    elif last_name(call.func) == "get_variable":
        value = words.get("initializer")
    else:
        return False
    while isinstance(value, ast.Call) and value.args and last_name(value.func) in _SAME_VALUES:
        value = value.args[0]
    return isinstance(value, ast.Name | ast.Attribute) and _DATA.search(ast.unparse(value)) is not None


_SAME_VALUES = ("constant", "convert_to_tensor", "asarray", "array", "astype", "cast", "float32")


def _fits(program: Program, call: ast.Call, line: Line, shape: tuple[int, ...]) -> bool:
    """Whether the variable has this shape, where its value's is known."""
    value = ast.unparse(call.args[0]) if call.args else ""
    known = [
        each.shape
        for each in tensors_made(program)
        if each.line == line or (value and each.code.startswith(f"{value} ="))
    ]
    full = [each for each in known if None not in each]
    return not full or shape in full


def _picked(program: Program, name: str) -> Line | None:
    """Where rows of it are picked."""
    for statement in program:
        for node in statement.nodes:
            given: ast.AST | None = None
            if isinstance(node, ast.Call) and last_name(node.func) in _PICKS and node.args:
                given = node.args[0]
            elif isinstance(node, ast.Subscript):
                given = node.value
            if given is not None and ast.unparse(given) == name:
                return statement.line_of(node)
    return None


def _names_what_it_trains(program: Program) -> bool:
    """Whether the optimizer is given its variables, or no optimizer of a graph is there at all."""
    minimizes = [
        node
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.Call)
        and last_name(node.func) in ("minimize", "compute_gradients", "gradients")
    ]
    named = any(each.arg == "var_list" for call in minimizes for each in call.keywords)
    trains_all = any("trainable_variables" in ast.unparse(node) for each in program for node in (each.node,))
    return named or not (minimizes or trains_all)
