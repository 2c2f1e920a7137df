"""Which framework a log is from: TensorFlow, JAX and PyTorch/XLA share the compiler and the allocator, and
much of what these print.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tfmemlens.patterns import regex

TENSORFLOW, JAX, TORCH_XLA = "tensorflow", "jax", "torch_xla"

_MENTIONS = (
    "jax",
    "Jax",
    "JAX",
    "lax",
    "torch_xla",
    "PyTorch/XLA",
    "XlaRuntimeError",
    "pmap",
    "pjit",
    "jit(",
    "jit_",
    "optax",
    "XRT",
    "xm.",
    "XLA_PYTHON",
    "haiku",
    "replica",
    "CompiledMemory",
)
"""What a line must hold to be looked at closely."""
_TORCH_XLA = regex(r"torch_xla|PyTorch/XLA|\bxm\.\w+\(|XRTExecute|XRTCompile")
_JAX = regex(
    r"\bjax(?:lib|_src)?(?:[./\\ :,_-]|\Z)|\b[Ff]lax\b|JaxRuntimeError|XlaRuntimeError|\bp(?:map|jit)(?:ped"
    r"|\b)|\bjit\("
    r"|of a replicated computation|Execution of replica \d+ failed|CompiledMemoryStats|\bjit_\w|\boptax\b"
    r"|XLA_PYTHON_CLIENT|\bhaiku\b",
)


def mention(text: str) -> str | None:
    """The framework that a line of text names, None for TensorFlow and for no one."""
    if not any(word in text for word in _MENTIONS):
        return None
    if _TORCH_XLA.search(text):
        return TORCH_XLA
    return JAX if _JAX.search(text) else None


def likeliest(mentions: Counter[str], messages: Iterable[str]) -> str | None:
    """The framework that the failure's own messages name, else the one that the rest of the log mentions."""
    said = " ".join(messages)
    if "ResourceExhaustedError" in said or "[Op:" in said or "OOM when allocating tensor" in said:
        return TENSORFLOW
    if mentions[TORCH_XLA]:
        return TORCH_XLA
    if mentions[JAX]:
        return JAX
    return None
