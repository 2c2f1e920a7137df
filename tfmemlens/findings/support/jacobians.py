"""Jacobians that a program of TensorFlow takes by a tape: one backward pass for each output, all at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.on_the_way.code import parts
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.finding import Certainty, Remedy

_JACOBIANS = frozenset({"jacobian", "batch_jacobian"})

FEWER_SAMPLES = Remedy(
    "compute it for fewer samples at a time, and reduce each part before the next: the result itself has all"
    " weights once for each output of each sample",
    "for part in np.array_split(x, 8): add_up(jacobian_of(part))   # both are functions of yours",
    slug="in-blocks",
)
"""An ordinary loop makes a result as large."""
_EACH_ROW = Remedy(
    "or take the gradient of one output, or of a few, at a time, and reduce it before the next: the whole"
    " result has every weight once for each output, and two GPUs are no larger one",
    slug="in-blocks",
)


def one_after_the_other(need: int | None, turns: int | None, first: bool = False) -> Remedy:
    """Without vectorising; what it saves is known where bytes and iterations are."""
    smaller = f"this tensor is {turns:,} times smaller" if turns else "it holds one output's tensors only"
    saves = need - need // turns if need and turns else None
    return Remedy(
        f"{'' if first else 'or '}compute the Jacobian in an ordinary loop, one output after the other:"
        f" slower, and {smaller}; the result is as large",
        "tape.jacobian(y, x, experimental_use_pfor=False)   # eager: persistent=True",
        saves,
        Certainty.ESTIMATE if saves else None,
        slug="without-pfor",
    )


def of_each_sample(told: Surroundings, shape: tuple[int | None, ...], need: int | None) -> Iterator[Remedy]:
    """A Jacobian by samples, where the program's one call takes that of a network by its own inputs: of a
    result of so many samples by all of them nearly all is zero.
    """
    calls = [
        (part, node, line)
        for part in parts(told.program())
        for node, line in part.calls()
        if isinstance(node.func, ast.Attribute) and node.func.attr == "jacobian" and len(node.args) > 1
    ]
    if len({line for _, _, line in calls}) != 1:
        return
    part, call, line = calls[0]
    output, given = call.args[0], ast.unparse(call.args[1])
    made = part.value_of(output, line.number)
    if not isinstance(made, ast.Call) or given not in [ast.unparse(each) for each in made.args]:
        return
    if any(_IN_TRAINING in ast.unparse(each) for each in made.keywords):
        return
    samples = shape[1] if len(shape) > 2 and shape[1] and not (shape[0] or 1) % shape[1] else None
    saves = need - need // samples if need and samples and samples > 1 else None
    small = f": this tensor is {samples:,} times smaller then" if saves else ""
    yield Remedy(
        f"if each sample's outputs depend on its own `{given}` alone (as without batch normalization): take"
        f" batch_jacobian, which leaves out samples by other samples, all zeros{small}; it has no second axis"
        " of samples to sum over or to take the diagonal of",
        f"{ast.unparse(call.func.value)}.batch_jacobian({ast.unparse(output)}, {given})"
        if isinstance(call.func, ast.Attribute)
        else None,
        saves,
        Certainty.ESTIMATE if saves else None,
        slug="jacobian-by-samples",
    )


_IN_TRAINING = "training=True"


def by_the_code(told: Surroundings) -> Iterator[Grower]:
    """The Jacobian that the quoted program takes by a tape."""
    for statement in told.program():
        for node in statement.nodes:
            if not isinstance(node, ast.Call) or last_name(node.func) not in _JACOBIANS or not node.args:
                continue
            without = any(word.arg == "experimental_use_pfor" for word in node.keywords)
            if not isinstance(node.func, ast.Attribute) or without:
                continue
            line = statement.line_of(node)
            yield Grower(
                f"the Jacobian of {line.place}: one backward pass for each output, all of them at once in one"
                " vectorised loop, and all weights once for each output in the result",
                line,
                (one_after_the_other(None, None, first=True), _EACH_ROW),
                True,
            )
            return
