"""The graphs that TensorFlow 2 runs for a `tf.function`, as the runtime made them of it: a trace has their
nodes' names and not what they are, nor who reads what.

The runtime hands them out where it makes them, in a function's first call, and never again.
"""

import sys
from typing import Any, List, Optional, Set

from .recorder import Recorder

NAME = "function_graphs.pb"
MAX_BYTES = 48 << 20
_FEW_NODES = 20
"""A function of fewer counts, converts, or moves a batch."""


class Collector:
    """Collects in the first calls of a process's functions."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._graphs: List[Any] = []
        self._context: Optional[Any] = None

    def open(self) -> None:
        """Begin, unless the program collects graphs itself, or nothing has run yet."""
        module = sys.modules.get("tensorflow.python.eager.context") or sys.modules.get(
            "tensorflow_core.python.eager.context"
        )
        context = getattr(module, "_context", None)
        if context is None or context._context_handle is None or _is_traced_by_the_program():
            return
        if hasattr(context, "enable_run_metadata"):
            context.enable_run_metadata()
            self._context = context

    def close(self) -> None:
        """End, and keep what there was."""
        context, self._context = self._context, None
        if context is None:
            return
        try:
            metadata = context.export_run_metadata()
        except Exception:  # 2.4 waits here for the step, whose failure the program has seen already
            return
        finally:
            context.disable_run_metadata()
        graphs = [graph for graph in metadata.partition_graphs if len(graph.node) > _FEW_NODES]
        if graphs:
            self._graphs = sorted(self._graphs + graphs, key=lambda graph: -len(graph.node))
            self._recorder.bundle.write(NAME, _joined(self._graphs))


def _is_traced_by_the_program() -> bool:
    """Whether `tf.summary.trace_on` is on: reading its graphs would take them away."""
    for root in ("tensorflow", "tensorflow_core"):
        summary = sys.modules.get(root + ".python.ops.summary_ops_v2")
        if getattr(summary, "_current_trace_context", None) is not None:
            return True
    return False


def _joined(graphs: List[Any]) -> bytes:
    """One GraphDef of several, the largest first; of nodes with one name the first."""
    seen: Set[str] = set()
    joined = None  # type: Any
    size = 0
    for graph in graphs:
        size += graph.ByteSize()
        if size > MAX_BYTES:
            break
        if joined is None:
            joined = type(graph)()
            joined.versions.CopyFrom(graph.versions)
            joined.library.CopyFrom(graph.library)
        for node in graph.node:
            if node.name not in seen:
                seen.add(node.name)
                joined.node.add().CopyFrom(node)
    return bytes(joined.SerializeToString()) if joined is not None else b""
