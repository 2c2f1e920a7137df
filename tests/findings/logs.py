"""Short logs in TensorFlow's own wording, for the rules: a sentence, a list, an allocator's figures."""

from __future__ import annotations

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
MIB = 1 << 20


def oom(
    shape: str,
    node: str = "net/conv/Conv2D",
    *,
    dtype: str = "float",
    on: str = GPU,
    by: str = "GPU_0_bfc",
    kernel: str = "",
) -> str:
    """The sentence of TensorFlow 1.15 to 2.x, with the tag that names the node."""
    head = (
        f"OP_REQUIRES failed at {kernel}:531 : Resource exhausted: "
        if kernel
        else "tensorflow.python.framework.errors_impl.ResourceExhaustedError: "
    )
    return (
        f"{head}OOM when allocating tensor with shape[{shape}] and type {dtype} on {on} by allocator {by}\n\t"
        f" [[{{{{node {node}}}}}]]\n"
    )


def report(*rows: str, rest: str = "") -> str:
    """A list of live tensors; each row is `450.14MiB from node`."""
    lines = [
        f"Current usage from device: {GPU}, allocator: GPU_0_bfc",
        *(f"  {row}" for row in rows),
        *([f"  Remaining {rest}"] if rest else []),
    ]
    return "\n".join(["", *lines, ""])


def dump(
    request: int,
    limit: int,
    in_use: int,
    free: tuple[int, ...] = (),
    *,
    op: str = "net/conv/Conv2D",
    pool: int = 0,
) -> str:
    """A dump of TensorFlow 2.4's BFC with one in-use chunk and these free ones; sizes in MiB."""
    pool = pool or in_use + sum(free)
    chunks = [
        f"InUse at 7f0000000000 of size {in_use * MIB} next 1",
        *(f"Free  at 7f1000000000 of size {size * MIB} next 2" for size in free),
    ]
    return "\n".join(
        [
            (
                f"Allocator (GPU_0_bfc) ran out of memory trying to allocate {request}.00MiB (rounded to"
                f" {request * MIB})requested by op {op}"
            ),
            "BFCAllocator dump for GPU_0_bfc",
            f"Next region of size {pool * MIB}",
            *chunks,
            "     Summary of in-use Chunks by size: ",
            f"1 Chunks of size {in_use * MIB} totalling {in_use}.00MiB",
            f"Sum Total of in-use chunks: {in_use}.00MiB",
            (
                f"total_region_allocated_bytes_: {pool * MIB} memory_limit_: {limit * MIB} available bytes:"
                f" {(limit - pool) * MIB} curr_region_allocation_bytes_: {2 * limit * MIB}"
            ),
            "Stats: ",
            f"Limit:                     {limit * MIB}",
            f"InUse:                     {in_use * MIB}",
            f"MaxInUse:                  {in_use * MIB}",
            "NumAllocs:                      43",
            f"MaxAllocSize:              {in_use * MIB}",
            "",
            "*" * 100,
            "",
        ]
    )


def dump_by_size(request: int, limit: int, *sizes: tuple[int, int], allocator: str = "GPU_0_bfc") -> str:
    """The part of such a dump from its summary on, of these counts of chunks and their bytes; the request in
    bytes, the limit in MiB, and nothing is left of it.
    """
    held = sum(count * size for count, size in sizes)
    return "\n".join(
        [
            (
                f"Allocator ({allocator}) ran out of memory trying to allocate {request / MIB:.2f}MiB"
                f" (rounded to {request})requested by op net/dense/MatMul"
            ),
            f"BFCAllocator dump for {allocator}",
            "     Summary of in-use Chunks by size: ",
            *(
                f"{count} Chunks of size {size} totalling {count * size / MIB:.2f}MiB"
                for count, size in sizes
            ),
            f"Sum Total of in-use chunks: {held / MIB:.2f}MiB",
            f"total_region_allocated_bytes_: {limit * MIB} memory_limit_: {limit * MIB} available bytes: 0"
            f" curr_region_allocation_bytes_: {2 * limit * MIB}",
            "Stats: ",
            f"Limit:                     {limit * MIB}",
            f"InUse:                     {held}",
            f"MaxInUse:                  {held}",
            "NumAllocs:                      43",
            f"MaxAllocSize:              {max(size for _, size in sizes)}",
            "",
            "*" * 100,
            "",
        ]
    )
