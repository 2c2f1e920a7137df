"""A model that the text names by its number of weights, set against one core or chip of a TPU.

An array that finds no room there is most likely one of its weights: those that were placed before it fill the
device. RAM of the host, which such texts often count, holds none of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.situation import TENSORFLOW, TORCH_XLA, framework_of, situation
from tfmemlens.findings.support.stated_weights import StatedWeights, weights_of_the_failed
from tfmemlens.knowledge import tpu_memory
from tfmemlens.knowledge.device_names import TPU
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import CompilerMemory, FailedRequest, RequestKind
from tfmemlens.units import GIB, human

_SMALLEST = 16 * GIB
"""What a core or chip has of v3, v5e and others, where the text does not say."""
_MUCH_GIVEN = 3
_MOST_SHARE = 8
"""Devices of one TPU that share a model."""


def generation(case: Case) -> tuple[str, int] | None:
    """The TPU that the text names, and what one of its devices has."""
    told = case.capture.surroundings
    lines = filter(None, map(told.shows, ("using this TPU", "naming a TPU")))
    return next(filter(None, (tpu_memory.named(line.text) for line in lines)), None)


def vmem(case: Case) -> tuple[str, int] | None:
    """The TPU that the text names, and how much vmem a core of it has."""
    known = generation(case)
    return (known[0], tpu_memory.vmem_of(known[0])) if known else None


def too_heavy(case: Case, moment: Moment, compiler: CompilerMemory) -> StatedWeights | None:
    """The stated weights, where one device of a TPU cannot hold them in float32; of a program that states
    what the device has, not in 16 bits either.
    """
    failed = moment.request.failed if moment.request else None
    weights = weights_of_the_failed(case, moment)
    if weights is None or failed is None or not _on_a_tpu(case, moment, failed):
        return None
    if (
        framework_of(case) == TENSORFLOW
        or failed.allocator not in (None, "hbm")
        or given_less(compiler, weights)
    ):
        return None
    if compiler.capacity:
        return weights if weights.bytes // 2 > compiler.capacity.bytes else None
    known = generation(case)
    return weights if weights.bytes > (known[1] if known else _SMALLEST) else None


def _given(compiler: CompilerMemory) -> int | None:
    """What a program is given: runtimes that print 0 B of all of it say at least what of it results share."""
    given = compiler.section("arguments", "parameter")
    return (given.bytes if given else 0) or compiler.shared_bytes or None


def is_shared(compiler: CompilerMemory) -> bool:
    """Whether what a program is given is a small part of the device: weights and state are sharded then."""
    given = _given(compiler)
    return bool(given and compiler.capacity and given < compiler.capacity.bytes // _MUCH_GIVEN)


def given_less(compiler: CompilerMemory, weights: StatedWeights) -> bool:
    """Whether the compiler counts what the program is given, and that is less than the weights in a quarter
    of the bits, shared by eight: then these are no arguments of this program. Or less than half of the
    device, and of the weights in eight bits: then they are shared already, and are not what is too much.
    """
    given = _given(compiler)
    if is_shared(compiler):
        return True  # it leaves most of the device to the program
    if given is None:
        return False
    shared = compiler.capacity is not None and 2 * given < compiler.capacity.bytes
    return given < weights.bytes // (4 if shared else 4 * _MOST_SHARE)


def _on_a_tpu(case: Case, moment: Moment, failed: FailedRequest) -> bool:
    """Whether it is a TPU's message, or XLA's own of a device that the text calls one."""
    of_xla = failed.kind is RequestKind.XLA and situation(case, moment).device == TPU
    return failed.kind is RequestKind.TPU or of_xla


def because(case: Case, weights: StatedWeights, compiler: CompilerMemory) -> str:
    """What they take, and what a device has."""
    takes = f"{human(weights.bytes)} in float32, {human(weights.bytes // 2)} in 16 bits"
    if compiler.capacity:
        return f"the text names a model of {weights.text} ({takes}), which more devices must share"
    left = f" ({human(compiler.free.bytes)} was left)" if compiler.free else ""
    known = generation(case)
    room = "one core or chip of a TPU has 8 to 32 GiB, of the largest 95 GiB"
    if known:
        room = has(known)
    return (
        f"most likely weights fill it{left}: the text names {weights.text} ({takes}), and {room}, whatever"
        " RAM the host has"
    )


def of_the_named_tpu(case: Case, moment: Moment, compiler: CompilerMemory) -> str:
    """What one device of the TPU that the text names has, as a clause, where that is less than is needed and
    the message does not state it.
    """
    failed, known = moment.request.failed if moment.request else None, generation(case)
    needed = compiler.needed
    if failed is None or known is None or needed is None or compiler.capacity or needed.low <= known[1]:
        return ""
    return f"; {has(known)}" if _on_a_tpu(case, moment, failed) else ""


def beside_another(case: Case, said: str) -> str:
    """What one device of each of two TPUs has that the text names, as a clause, where the other has more: a
    program that fits that one may not fit this, whatever else is alike. What was `said` stands before it.
    """
    told, own = case.capture.surroundings, generation(case)
    lines = filter(None, map(told.shows, ("using this TPU", "naming a TPU")))
    named = {name: size for line in lines for name, size in tpu_memory.all_named(line.text).items()}
    others = [(name, size) for name, size in named.items() if own and size > own[1]]
    if own is None or not others:
        return ""
    first = "" if has(own) in said else f"{has(own)}, and "
    return f"; {first}{has(others[0])}"


def has(known: tuple[str, int]) -> str:
    """What one device of a generation has."""
    one = "core" if known[0] in ("v2", "v3") else "device"
    return f"one {one} of a TPU {known[0]} has {human(known[1]).replace('.00 ', ' ')}"


def remedies(case: Case) -> Iterator[Remedy]:
    """More devices, fewer bits, a smaller model."""
    keras = case.api.library == "Keras"
    torch = framework_of(case) == TORCH_XLA
    code = None
    if torch:
        code = (
            "model = SpmdFullyShardedDataParallel(model, mesh=mesh)   #"
            " torch_xla.experimental.spmd_fully_sharded_data_parallel"
        )
    elif keras:
        code = "keras.distribution.set_distribution(keras.distribution.ModelParallel(layout_map=...))"
    yield Remedy(
        "shard the weights over all devices before they are loaded: each then holds its part"
        " (data-parallel copies are whole)",
        code,
        slug="shard-arguments",
    )
    yield Remedy(
        "load them in bfloat16: half of float32",
        _in_16_bits(keras, torch),
        slug="narrow-weights-of-torch" if torch else "narrow-weights",
    )
    yield Remedy(
        "take a smaller model of the family, one with weights in 8 or 4 bits, or a TPU of more chips",
        slug="smaller-model",
    )


def _in_16_bits(keras: bool, torch: bool) -> str | None:
    if torch:
        return "AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)"
    return "keras.config.set_dtype_policy('bfloat16')   # before the model is built" if keras else None
