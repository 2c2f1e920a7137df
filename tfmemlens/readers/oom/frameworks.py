"""Which framework a log is from: TensorFlow, JAX and PyTorch/XLA share the compiler and the allocator, and
much of what these print.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import Words

TENSORFLOW, JAX, TORCH_XLA = "tensorflow", "jax", "torch_xla"
OTHER = "xla"
"""A program of XLA's in another language (Elixir, Julia), or one whose framework nothing names."""

NOBODYS = "nobody's"
"""What `mention` says of words that any program of XLA's may have."""
PYTORCH = "pytorch"
"""What `mention` says of PyTorch without XLA: who also says TPU, or has a message of XLA's, runs both."""

KERAS = "keras"
"""What `mention` says of Keras's model libraries, which run on several frameworks: of these JAX alone has
errors of XLA's in Python.
"""

TENSORFLOW_IN_WORDS = "tensorflow in words"
"""What `mention` says of a name that stands in any text: it only speaks against PyTorch."""
_MENTIONS = Words(
    "jax",
    "xla_bridge",
    "tialize backend '",
    "Jax",
    "JAX",
    "lax",
    "torch_xla",
    "ProcessExited",
    " terminated with ",
    "orch/XLA",
    "orch/xla",
    "mark_step",
    "SyncTensors",
    "Counter: ",
    "XlaRuntimeError",
    "in-memory CUBIN",
    "aten__",
    "xla__",
    "pmap",
    "pjit",
    "jit(",
    "jit_",
    "optax",
    "XRT",
    "PJRT_DEVICE",
    "XLA_USE_",
    "xm.",
    "xmp.",
    "XLA_PYTHON",
    "force_host_platform",
    "axtext",
    "eural_tang",
    "haiku",
    "jnp",
    "eqx",
    "equinox",
    "numpyro",
    "replica",
    "CompiledMemory",
    "EXLA",
    "ivebook",
    "livemd",
    "Elixir",
    "iex",
    "Mix.",
    "Nx.",
    "Bumblebee",
    "exla",
    "Reactant",
    ".jl:",
    "tpu_worker",
    "Error recorded from",
    "backend/tensorflow",
    "errors_impl",
    "__inference_",
    "tf.",
    "Graph execution error",
    "xla_run",
    "StatusOr",
    "pt-xla",
    "orch xla",
    "orch-xla",
    "orch on ",
    "rax",
    "orch",
    "ensorflow",
    "ensorFlow",
    "eras",
    "pallas",
    "Pallas",
    "rbax",
    "ackjax",
    "iffrax",
    "raph",
    "hex",
    "paxml",
    "t5x",
    "penzai",
    "EasyDeL",
    "easydel",
    "MJX",
    "mjx",
    "axText",
    "fold",
    "Fold",
    "evanter",
    "haliax",
    "auldron",
    "etket",
    "etKet",
    "oseq",
    "oSeq",
    "kpms",
    "ynamax",
    "flowMC",
    "jitted",
    "GPJax",
    "aphcast",
    "reamer",
    "ultinerf",
    "aphCast",
    "nk.",
    "expect_and_grad",
    "ptimistix",
    "ineax",
    "inygp",
    "lashbax",
)
"""What a line must hold to be looked at closely."""
_TORCH_XLA = regex(
    r"torch_xla|(?i:torch/xla)|\bmark_step\(|\bSyncTensorsGraphSize\b|\bCounter: (?:aten|xla)::"
    r"|\b(?:aten|xla)__\w+|\bxm\.\w+\(|\bxmp\.\w+\(|XRTExecute|XRTCompile"
    r"|RuntimeError: Resource exhausted: From /job:tpu_worker|\bpt-xla-profiler\b"
    r"|RuntimeError: Bad StatusOr access: |\bPJRT_DEVICE ?=|\bXLA_USE_(?:BF16|SPMD) ?=|\bXRT_TPU_CONFIG\b"
    r"|(?i:\bpytorch[ -]xla\b|\bpytorch on (?:a |the )?(?:Cloud )?TPUs?\b)"
)
_TENSORFLOW_IN_WORDS = regex(r"\b[Tt]ensor[Ff]low\b(?!/|\.\w)|\b[Kk]eras\b")
_OTHER = regex(
    r"\bEXLA\b|\(exla \d|\bReactant\b|\.jl:\d|\b[Ll]ivebook\b|\.livemd\b|\bElixir \d|\bBumblebee\b"
    r"|\biex\b|\bMix\.install\b|\bNx\.(?:Serving|Defn|Tensor|default_backend)\b"
)
_TENSORFLOW = regex(
    r"Error recorded from (?:training|evaluation|prediction)_loop|keras/src/backend/tensorflow/"
    r"|\berrors_impl\.(?:ResourceExhausted|Internal)Error|\[Op:__inference_"
    r"|\{function_node __inference_|^Graph execution error"
    r"|\btf\.(?:distribute|keras\.Model)\b"
    r"|\bcluster_\d+(?:_\d+)?/xla_run\b|\bjit_compile\b|\bintel[_-]extension[_-]for[_-]tensorflow\b"
)
_JAX = regex(
    r"\bjax(?:lib|_src|3d)?(?:[./\\ :,_'`\")\[=<>~?!;-]|\Z)|\b[Ff]lax\b|_flax(?:_|\b)|JaxRuntimeError"
    r"|\bp(?:map|jit)(?:ped"
    r"|\b)|\bjit\("
    r"|\bxla_bridge\.py\b|\bUnable to initialize backend '|\bjitted (?:function|step|update|loop|code)s?\b"
    r"|of a replicated computation|Execution of replica \d+ failed|CompiledMemoryStats|\boptax\b"
    r"|\bjit_(?!compile\b)\w"
    r"|XLA_PYTHON_CLIENT|\bxla_force_host_platform_device_count"
    r"|\blax\.(?:scan|map|while_loop|fori_loop|cond|switch)\b"
    r"|\bnk\.(?:operator|vqs|VMC|Vmc|driver|sampler|optimizer|models|hilbert|graph)\b|\bexpect_and_grad\b"
    r"|\bjax_[a-z]\w{2,20}|\bneural_tangents\b|\bhaiku\b|\b(?:jnp|eqx)\.\w|\bequinox\b|\bnumpyro\b|\bJAX\b"
    r"|\b(?:[Bb]rax|MJX|mjx|[Tt]rax|MaxText|[Mm]axtext)\b(?!\.js)|\bJax\b(?!['\u2019])"
    r"|\b(?:jaxline|jaxopt|[Bb]lackjax|BlackJAX|NumPyro|[Dd]iffrax|[Jj]raph|[Cc]hex|[Oo]rbax|paxml"
    r"|t5x|penzai|[Ee]asy[Dd]e[Ll])\b|\bfrom jax|\bjax\.experimental\b|\b[Pp]allas\b"
    r"|\b(?:[Ll]evanter|haliax|[Kk]auldron|[Nn]et[Kk]et|[Kk]eypoint[-_ ][Mm]o[Ss]eq|kpms"
    r"|[Dd]ynamax|flowMC|GPJax|[Gg]raph[Cc]ast|[Oo]ptimistix|[Ll]ineax|JAXNS|jaxns|JAXopt|jax-md"
    r"|[Ff]lashbax|[Tt]inygp)\b"
    r"|\b(?:[Aa]lpha|[Cc]olab|[Ll]ocal_?[Cc]olab)[Ff]old\w*|\b(?:mpi4jax|MPI4JAX)"
    r"|\b[Dd]reamer[Vv]3\b|\b[Mm]ultinerf\b",
)
_PYTORCH = regex(
    r"\b(?:[Pp]y[Tt]orch|import torch|torch\.\w)|\bProcessExitedException\b"
    r"|\bprocess \d{1,3} terminated with (?:signal SIG|exit code)"
)
_KERAS = regex(r"\bkeras_(?:nlp|hub)\b")
_NOBODY = regex(r"XlaRuntimeError|Failed to load in-memory CUBIN")
"""Words that show XLA without its caller, which may be JAX, TensorFlow or PyTorch/XLA."""


def mention(text: str) -> str | None:
    """The framework that a line of text names, `NOBODYS` where it shows XLA alone; None where it names none,
    or TensorFlow in other words than those that tell a program of XLA's.
    """
    if not _MENTIONS.occur_in(text):
        return None
    return _named(text) if len(text) <= _LONGEST_REMEMBERED else _named.__wrapped__(text)


_LONGEST_REMEMBERED, _REMEMBERED = 500, 2048
"""Lines that come again are looked through once: a traceback's, a compiler's."""


@lru_cache(_REMEMBERED)
def _named(text: str) -> str | None:
    for framework, words in ((TORCH_XLA, _TORCH_XLA), (OTHER, _OTHER), (TENSORFLOW, _TENSORFLOW)):
        if words.search(text):
            return framework
    if _JAX.search(text):
        return JAX
    if _NOBODY.search(text):
        return NOBODYS
    if _TENSORFLOW_IN_WORDS.search(text):
        return TENSORFLOW_IN_WORDS
    if _KERAS.search(text):
        return KERAS
    return PYTORCH if _PYTORCH.search(text) else None


_BUILT_APART = regex(
    r"external/(?:org_tensorflow/tensorflow/compiler/xla|xla/xla|tsl/tsl)/"
    r"|\babsl:(?:gpu_cudamallocasync_allocator|bfc_allocator|pjrt_\w+|hlo_\w+|se_gpu_\w+|gpu_executable"
    r"|cuda_executor|cuda_driver|execution_engine|contiguous_section_memory_manager|buffer_\w+)\.cc"
)
"""Where jaxlib's build has XLA, and what its logger, which was started, names of it; TensorFlow has it at
`tensorflow/compiler/xla` or `external/local_xla`.
"""
_BUILT_INSIDE = "external/org_tensorflow/"


def is_built_for_jax(origins: Iterable[str]) -> bool:
    """Whether the files that log lines name are most likely jaxlib's. TensorFlow Serving's build, too, has
    TensorFlow as a part from outside.
    """
    named = " ".join(origins)
    return "tensorflow_serving" not in named and bool(_BUILT_APART.search(named))


def is_built_inside(origins: Iterable[str]) -> bool:
    """Whether the files that log lines name belong to a program that was built with TensorFlow as a part:
    jaxlib before 2023, TensorFlow Serving and others.
    """
    return any(origin.startswith(_BUILT_INSIDE) for origin in origins)


def likeliest(mentions: Counter[str], messages: Iterable[str], *, on_a_tpu: bool = False) -> str | None:
    """The framework that the failure's own messages name, else the one that the rest of the log mentions.
    PyTorch reaches a TPU through XLA alone; beside JAX it may do anything else.
    """
    said = " ".join(messages)
    if "ResourceExhaustedError" in said or "[Op:" in said or "OOM when allocating tensor" in said:
        return TENSORFLOW
    if mentions[TORCH_XLA]:
        return TORCH_XLA
    named = next((framework for framework in (OTHER, TENSORFLOW, JAX) if mentions[framework]), None)
    if named is None and mentions[KERAS] and "XlaRuntimeError" in said:
        return JAX
    if named is None and on_a_tpu and mentions[PYTORCH] and not mentions[TENSORFLOW_IN_WORDS]:
        return TORCH_XLA
    return named or (OTHER if mentions[NOBODYS] else None)
