"""What a program that was read whole does nowhere."""

from __future__ import annotations

import ast
import sys
from functools import lru_cache

from tfmemlens.model.program import Program
from tfmemlens.patterns import regex

_LEARNS = regex(
    r"(?i)gradient|\Agrads?\Z|minimi[sz]e|optimi[sz]er|\Aoptax\Z|\A(?:adam\w*|sgd|rmsprop|adagrad)\Z|\Afit"
    r"|train(?!ing\Z|able)|backward|\Avjp\Z|\Ajvp\Z|jacobian|\Ajac(?:fwd|rev)\Z|hessian|estimator|\Alearn"
    r"|l-?bfgs|\Aeval\Z|\Aexec\Z"
)
"""Names of what takes gradients or trains; what runs text may do anything."""
_PACKAGES = frozenset(
    "tensorflow tensorflow_hub tensorflow_datasets keras jax jaxlib flax numpy scipy pandas matplotlib PIL"
    " cv2 sklearn skimage tqdm absl h5py imageio six psutil einops chex google yaml".split()
)
"""What programs import beside Python's own modules, and what trains nothing by itself."""


@lru_cache(maxsize=2)
def takes_no_gradient(program: Program) -> bool:
    """Whether a whole program, of which a file was read, neither trains nor takes a gradient. One that is
    quoted may do so in lines that are not there, and one that imports others of its own in those.
    """
    own = [each for each in program if not each.of_frame]
    read = [each for each in own if each.line.source]
    for node in (each for statement in own for each in statement.nodes):
        if isinstance(node, ast.Import | ast.ImportFrom) and not _are_known(node):
            return False
        if _LEARNS.search(_name_of(node)):
            return False
    return any(isinstance(statement.node, ast.Import | ast.ImportFrom) for statement in read)


def _are_known(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether the modules are Python's, or those of packages that are no part of the program."""
    names = [node.module or "."] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom) and node.level:
        return False
    roots = {name.partition(".")[0] for name in names}
    return roots <= _PACKAGES | sys.stdlib_module_names


def _name_of(node: ast.AST) -> str:
    """The name that a node reads or binds, or a keyword's or definition's; empty of another node."""
    for field in ("id", "attr", "arg", "name", "asname"):
        if isinstance(name := getattr(node, field, None), str):
            return name
    return ""
