"""What flows along a graph's edges when a step is only thought through: types, small values, and who holds
which buffer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tfmemlens.errors import MalformedNode
from tfmemlens.knowledge.bfc import Chunk, Pool
from tfmemlens.model.allocation import OUTPUT, PERSISTENT, TEMPORARY, Allocation
from tfmemlens.model.tensor import ITEM_BYTES
from tfmemlens.values import dataclass, field

Shape = tuple[int, ...]
LARGEST_BYTES = 1 << 60
"""More is damage, no tensor."""


class TokenBuffer:
    """A piece of memory with the number of tensors that hold it."""

    __slots__ = ("chunk", "elements", "holders", "persistent", "row", "size_bytes")

    def __init__(self, size_bytes: int, chunk: Chunk, row: int, persistent: bool = False) -> None:
        self.size_bytes = size_bytes
        self.chunk = chunk
        self.row = row
        self.holders = 0
        self.persistent = persistent
        self.elements: list[Token] | None = None
        """Of a TensorList's handle, the tensors in it: they live as long as it."""


@dataclass(slots=True)
class Token:
    """One tensor: its type, its values where they are few whole numbers, its buffer; `resource` is a
    variable, a stack or a list.
    """

    shape: Shape = ()
    dtype: str = "float32"
    values: tuple[int, ...] | None = None
    buffer: TokenBuffer | None = None
    dead: bool = False
    resource: Any = None

    @property
    def bytes(self) -> int:
        """Elements x bytes of one; 0 for resources and texts."""
        return math.prod(self.shape) * ITEM_BYTES.get(self.dtype, 0)


DEAD = Token(dead=True)


@dataclass(slots=True)
class Variable:
    """What a VarHandleOp or a VariableV2 names."""

    name: str
    token: Token
    initialized: bool = False


@dataclass
class Memory:
    """The allocator of one device and the record of what it gave: one row an allocation, times in ticks of
    one event.
    """

    pool: Pool
    rows: list[Allocation] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int | None] = field(default_factory=list)
    clock: int = 0
    onednn: bool = False
    """Whether oneDNN computes convolutions, which book no patches then."""
    l3_bytes: int | None = None
    """The L3 cache of the processor, which gradients of convolutions of volumes fill; None: a usual one."""
    widened: frozenset[str] = frozenset()
    """Types whose products of matrices are computed in float32 copies."""

    def allocate(
        self, node: str, op: str, size_bytes: int, shape: Sequence[int], dtype: str, purpose: str = OUTPUT
    ) -> TokenBuffer:
        """A buffer that nobody holds yet. Raises MalformedNode for a size that no tensor has."""
        if not 0 <= size_bytes < LARGEST_BYTES:
            raise MalformedNode(f"it would take {size_bytes} bytes")
        chunk = self.pool.allocate(size_bytes)
        assert chunk is not None, "a pool without a limit always finds room"
        self.clock += 1
        persistent = purpose == PERSISTENT
        self.rows.append(
            Allocation(
                node,
                chunk.size_bytes,
                op,
                requested_bytes=size_bytes,
                shape=tuple(shape),
                dtype=dtype,
                purpose=purpose,
            )
        )
        self.starts.append(self.clock)
        self.ends.append(None)
        return TokenBuffer(size_bytes, chunk, len(self.rows) - 1, persistent)

    def temporary(
        self, node: str, op: str, size_bytes: int, shape: Sequence[int] = (), dtype: str = "float32"
    ) -> TokenBuffer:
        """Scratch memory of a kernel, to be freed when it is done."""
        return self.allocate(node, op, size_bytes, shape, dtype, TEMPORARY)

    def hold(self, buffer: TokenBuffer | None) -> None:
        """One tensor more points to it."""
        if buffer is not None:
            buffer.holders += 1

    def release(self, buffer: TokenBuffer | None) -> None:
        """One tensor less; the last one frees it."""
        if buffer is None:
            return
        buffer.holders -= 1
        if buffer.holders <= 0 and not buffer.persistent:
            self.free(buffer)

    def free(self, buffer: TokenBuffer) -> None:
        """Give it back, whoever held it."""
        if self.ends[buffer.row] is None:
            self.clock += 1
            self.ends[buffer.row] = self.clock
            self.pool.free(buffer.chunk)
            for token in buffer.elements or ():
                self.release(token.buffer)
            buffer.elements = None
