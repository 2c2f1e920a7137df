"""No handler takes a slip of ours for a damaged input: KeyError and its like are caught where a question to
somebody else's code is all that is tried.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "tfmemlens"
BROAD = set(
    "BaseException Exception ArithmeticError AssertionError AttributeError IndexError KeyError LookupError"
    " NameError RuntimeError StopIteration TypeError ZeroDivisionError".split()
)
"""What a slip of ours raises, too."""
NARROW_BODY = 3
"""A ValueError is what `int`, `json.loads` and parsers of one word raise: tried are so many statements."""
ALLOWED = {
    "cli/_options.py _can_draw": "str.encode raises LookupError for an encoding that Python does not have",
    "knowledge/keras_program/ops.py made_by": "a program that is followed may give a call anything",
    "cli/run.py _page": "a defect of ours is no end of the user's program, whose status is handed on",
    "use_cases/run.py run": "the same",
    "use_cases/run.py _address_space": "a system without the module, the limit or the right to ask has none",
    "cli/main.py main": "the outermost boundary: it apologises, and says how to report the defect",
    "fleet/flow.py explained": "one of a million logs must not stop the others: its row says what failed",
    "readers/keras_models/hdf5.py asked": "h5py raises them for damaged files; only its answers are tried",
    "readers/keras_models/keras_archive.py _network": "zipfile raises RuntimeError for an encrypted member",
    "recording/export_graph.py source_line": "runs inside TensorFlow 1.0 to 2.21, whose errors differ",
    "recording/export_graph.py trains": "runs inside TensorFlow 1.0 to 2.21, whose errors differ",
    "recording/try_batches.py trial_of": "the user's model may raise anything: it is told in the answer",
    "recording/try_batches.py metrics_of": "a metric of the user's own: what it raises is the user's",
    "recording/try_batches.py reads": "a layer that was never called raises what its Keras likes",
    "recording/trace_training_graph.py traced_with_some": "the user's step, of other labels; raised again",
    "recording/trace_training_graph.py traced_step": "whatever the model raises: a plainer step stands in",
    "estimation/batch_scaling/conv3d_cache.py this_machines_cache_bytes": "Windows has no os.sysconf",
    "estimation/conditions.py this_machine": "macOS and Windows have no os.sched_getaffinity",
    "fleet/scanning.py run": "Ctrl-C, too, leaves nothing half-done; raised again",
    "fleet/tasks.py _reader": "a process that may still answer the last question is ended; raised again",
    "fleet/opening.py _ask": "file systems of any kind, each with errors of its own",
    "fleet/sources.py storage_errors": "the same; Python's own errors are raised again",
    "api/recording.py watch": "any failure of the user's block, raised again",
    "recording/inside/safely.py guarded": "inside the user's program: noted, never raised",
    "recording/inside/startup/sitecustomize.py ": "the same, before there is a bundle",
    "recording/inside/recorder.py is_for_memory": "the user's exceptions, whose texts may raise anything",
    "recording/inside/inputs.py of_call": "arguments of the user's calls, of any kind, in frames of anybody",
    "recording/inside/inputs.py bytes_of_call": "the same",
    "recording/inside/given.py is_copy": "the numbers of a user's arrays and tensors, of any kind",
    "recording/inside/after_import.py stands_for": "inspect raises either for what is not Python's",
    "recording/inside/function_graphs.py close": "the error of a step that failed, of any kind",
    "recording/inside/keras_models.py _kind": "any class of the user's process",
    "recording/inside/bundle.py rank_of": "TF_CONFIG is what somebody wrote: any JSON, or none",
    "recording/inside/keras_models.py description": "Keras's own code, of five generations, on any model",
    "recording/inside/keras_models.py _parts": "one Keras takes no arguments there",
    "recording/inside/keras_models.py _own_variables": "a layer that was never built raises what it likes",
    "recording/inside/keras_models.py _slots": "optimizers of five generations of Keras",
    "recording/inside/keras_models.py _outputs": "layers of five generations of Keras",
    "recording/inside/keras_models.py _shape": "tensors of any framework",
    "recording/inside/keras_models.py _shape_now": "a variable without a value, or no byte left to ask",
    "recording/inside/living.py _hanging": "attributes of an object of the user's process",
    "recording/inside/living.py tensor_type": "tensors of any framework, some given away",
    "recording/inside/living.py _address": "a tensor that was given away, or another TensorFlow's",
    "recording/inside/eager_scopes.py _register": "pybind11 raises it for what its binding does not take",
    "recording/inside/living.py _inside": "any object of the user's process",
    "recording/inside/python_names.py _inside": "the same",
    "recording/printed.py __exit__": "sys.stdout may be None, closed, or anything that somebody put there",
    "recording/printed.py _listen": "the same: it may forbid that its write is another one",
    "recording/printed.py _writes_to": "the same: it may have no descriptor",
    "recording/training_graph.py record_live": "runs the user's own code, which may raise anything",
    "use_cases/estimate.py _description": "Keras raises them for a model that has none; only it is asked",
}
"""A function, and why it may."""


def handlers(source: str) -> Iterator[tuple[str, int, set[str]]]:
    """For each handler, and each `suppress`: the function, how many statements it guards, what it catches."""

    def visit(node: ast.AST, function: str) -> Iterator[tuple[str, int, set[str]]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.Try):
            for handler in node.handlers:
                yield function, len(node.body), _names(handler.type)
        if isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and _names(call.func) == {"suppress"}:
                    yield function, len(node.body), set().union(*map(_names, call.args))
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    return visit(ast.parse(source), "")


def _names(caught: ast.expr | None) -> set[str]:
    if caught is None:
        return {"BaseException"}
    if isinstance(caught, ast.Tuple):
        return set().union(*map(_names, caught.elts))
    return {ast.unparse(caught).rpartition(".")[2]}


def broad(source: str) -> Iterator[str]:
    """The functions with such a handler."""
    for function, statements, names in handlers(source):
        if names & BROAD or ("ValueError" in names and statements > NARROW_BODY):
            yield function


def test_only_argued_handlers_are_broad() -> None:
    seen = {
        f"{file.relative_to(PACKAGE).as_posix()} {function}"
        for file in PACKAGE.rglob("*.py")
        for function in broad(file.read_text(encoding="utf-8"))
    }
    assert seen == set(ALLOWED)


@pytest.mark.parametrize(
    ("body", "is_broad"),
    [
        ("try: x()\n    except KeyError: pass", True),
        ("try: x()\n    except (OSError, builtins.TypeError): pass", True),
        ("try: x()\n    except: pass", True),
        ("with suppress(OSError, LookupError): x()", True),
        ("with contextlib.suppress(IndexError): x()", True),
        ("try: a(); b(); c(); d()\n    except ValueError: pass", True),
        ("try: a(); b(); c()\n    except ValueError: pass", False),
        ("try: x()\n    except OSError: pass", False),
        ("with suppress(OSError), open(f): x()", False),
    ],
)
def test_the_test_sees_them(body: str, is_broad: bool) -> None:
    assert list(broad(f"def f():\n    {body}")) == (["f"] if is_broad else [])
