"""Variables: whose buffer they hold, when an assignment takes a buffer over, and when it needs another."""

from __future__ import annotations

from tfmemlens.errors import MalformedNode
from tfmemlens.estimation.graph_step.kernels import KernelCall
from tfmemlens.estimation.graph_step.tokens import Memory, Token, TokenBuffer, Variable
from tfmemlens.knowledge.ops.shapes import shape_of
from tfmemlens.model.allocation import PERSISTENT
from tfmemlens.model.graph import Node
from tfmemlens.values import dataclass


@dataclass(slots=True)
class Variables:
    """The variables of a process, by name or shared name."""

    memory: Memory
    known: dict[str, Variable]

    def read(self, node: Node) -> Token:
        """The variable's tensor (VariableV2) or a handle to it. Raises MalformedNode."""
        name = node.name
        shared = node.attributes.get("shared_name")
        key = str(shared) if node.op == "VarHandleOp" and shared else name
        variable = self.known.get(key)
        if variable is None:
            shape = node.attributes.get("shape")
            sizes = tuple(size or 1 for size in shape_of(shape) or ()) if isinstance(shape, tuple) else ()
            token = Token(sizes, str(node.attributes.get("dtype") or "float32"))
            variable = self.known[key] = Variable(key.partition(":")[0] or name, token)
        if node.op == "VarHandleOp":
            return Token((), "resource", None, None, resource=variable)
        token = variable.token
        return Token(token.shape, token.dtype, None, token.buffer, resource=variable)

    def own(self, call: KernelCall) -> None:
        """PrepareToUpdateVariable: a resource variable that somebody still reads is copied before it
        changes.
        """
        for token in call.inputs:
            variable = token.resource
            if not isinstance(variable, Variable) or token.dtype != "resource":
                continue
            buffer = variable.token.buffer
            if buffer is not None and buffer.holders > 1:
                self._give(
                    variable,
                    self.memory.allocate(
                        variable.name,
                        "VarHandleOp",
                        buffer.size_bytes,
                        variable.token.shape,
                        variable.token.dtype,
                    ),
                )

    def _give(self, variable: Variable, buffer: TokenBuffer | None) -> None:
        """Another buffer for a variable; the old one lives as long as it is read."""
        old = variable.token.buffer
        self.memory.hold(buffer)
        variable.token = Token(variable.token.shape, variable.token.dtype, None, buffer)
        self.memory.release(old)

    def assign(self, call: KernelCall) -> list[Token]:
        """A resource variable takes the value's buffer. A reference variable takes it at first, when nobody
        else holds it, else a copy; later it is overwritten.
        Raises MalformedNode.
        """
        variable, value = call.input(0).resource, call.input(1)
        if not isinstance(variable, Variable):
            raise MalformedNode("its first input is no variable")
        if call.node.op == "AssignVariableOp":
            variable.initialized = True
            buffer = value.buffer
            if buffer is not None and buffer.persistent:  # a constant of the graph
                buffer = self.memory.allocate(
                    call.node.name, call.node.op, value.bytes, value.shape, value.dtype
                )
            variable.token = Token(value.shape, value.dtype, None, variable.token.buffer)
            self._give(variable, buffer)
            return []
        if not variable.initialized:
            variable.initialized = True
            buffer = value.buffer
            if value.bytes and (buffer is None or not call.is_last(value)):
                buffer = self.memory.allocate(
                    call.node.name, call.node.op, value.bytes, value.shape, value.dtype, PERSISTENT
                )
            variable.token = Token(value.shape, value.dtype, None, buffer)
            self.memory.hold(buffer)
            if buffer is not None:
                buffer.persistent = True
        return [variable.token]
