"""What is known of a run that decides which remedies apply to it."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.phase import (
    is_jacobian,
    other_than_training,
    runs_forward_alone,
    updates_in_a_session,
)
from tfmemlens.findings.support.rows import is_forward_only, on_host
from tfmemlens.findings.support.tried import ruled_out
from tfmemlens.findings.support.whole_program import takes_no_gradient
from tfmemlens.knowledge.device_names import CPU, TPU, kind_of_device
from tfmemlens.knowledge.gpu_memory import is_before_ampere, is_for_games, is_older
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.capture import LIBRARY_FRAME, OWN_FRAME
from tfmemlens.model.case import Case, FrontEnd, Moment
from tfmemlens.model.incident import FailedRequest
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

TENSORFLOW, JAX, TORCH_XLA = "tensorflow", "jax", "torch_xla"
_FRAMEWORKS = {FrontEnd.JAX: JAX, FrontEnd.TORCH_XLA: TORCH_XLA, FrontEnd.XLA: None}
_NAMES = {TENSORFLOW: "TensorFlow", JAX: "JAX", TORCH_XLA: "PyTorch/XLA", None: "the framework"}


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known of a run. None where nothing tells."""

    framework: str | None = TENSORFLOW
    """None of a program of XLA's that nobody names as his own."""
    oldest: tuple[int, int] = (0, 0)
    newest: tuple[int, int] = (2, 99)
    """TensorFlow's version, as far as it is known; of other frameworks it says nothing."""
    device: str | None = None
    """`cpu`, `gpu` or `tpu`."""
    session: bool = False
    """Whether graphs are run by sessions."""
    training: bool | None = None
    optimizer: bool | None = None
    """Whether the optimizer keeps slots."""
    half: bool = False
    """Whether activations are in 16 bits already."""
    settings: frozenset[str] = frozenset()
    """What the input says is set: `name=value`."""
    library: str | None = None
    """The library on top of JAX that the program is written with."""
    tool: bool = False
    """Whether its user starts and configures the program, and did not write it."""
    ruled_out: frozenset[str] = frozenset()
    """Slugs of remedies that the text says cannot help."""
    no_python: bool = False
    """Whether the program is R's, which runs Python's Keras, or Julia's: words are for it, and Python's code
    is not.
    """

    @property
    def program(self) -> str | None:
        """What runs the model, where that is no Python program: `Java`, `Node`, `C++`, ..."""
        return next(
            (each.removeprefix("program=") for each in sorted(self.settings) if each.startswith("program=")),
            None,
        )

    @property
    def name(self) -> str:
        """The framework as its users write it."""
        return _NAMES[self.framework]


def situation(case: Case, moment: Moment | None = None) -> Situation:
    """What a case tells of its run, at one of its moments where it has any."""
    framework = framework_of(case)
    return Situation(
        framework,
        case.api.oldest,
        case.api.newest,
        _device(moment) if moment else _device_in_words(case),
        framework == TENSORFLOW and (case.api.is_tf1 or case.api.front_end is FrontEnd.SESSION),
        _training(case, moment) if moment else None,
        _keeps_slots(moment) if moment else None,
        _is_half(moment) if moment else False,
        frozenset(_settings(case)),
        case.api.library,
        case.capture.surroundings.shows("using a tool") is not None,
        ruled_out(case),
        in_r(case) or any(map(case.capture.surroundings.shows, ("code of Julia", "no Python"))),
    )


def in_r(case: Case) -> bool:
    """Whether the text quotes code of R or names its tools."""
    return case.capture.surroundings.shows("code of R") is not None


def framework_of(case: Case) -> str | None:
    """The framework of the run; None of a program of XLA's that may be anybody's."""
    return _FRAMEWORKS.get(case.api.front_end, TENSORFLOW)


def framework_name(case: Case) -> str:
    """The same as its users write it."""
    return _NAMES[framework_of(case)]


def _training(case: Case, moment: Moment) -> bool | None:
    if is_forward_only(moment) or (moment.request and other_than_training(case, moment.request)):
        return False
    told = case.capture.surroundings
    if takes_no_gradient(told.program()) or (moment.request and runs_forward_alone(case, moment.request)):
        return False
    jacobian = moment.request and is_jacobian(moment.request) and not told.shows("fitting")
    if told.shows("explaining") or told.shows("sampling") or jacobian:
        return False
    if told.shows("training") or (moment.request and _names_training(moment.request.failed)):
        return True
    if updates_in_a_session(case):
        return True
    owners = [*moment.attribution.owners, *([moment.request.owner] if moment.request else [])]
    if any(owner.phase in (Phase.GRADIENT, Phase.OPTIMIZER) for owner in owners):
        return True
    return False if only_infers(case) else None


_OF_TRAINING = (
    *("training", "training in words", "learning in words", "fitting", "stepping", "differentiating"),
    "training step",
)


def only_infers(case: Case) -> bool:
    """Whether the text tells of inference, and no word or line of it of a training."""
    told = case.capture.surroundings
    trains = any(map(told.shows, _OF_TRAINING)) or told.steps or told.progress
    return told.shows("inferring in words") is not None and not trains


def says_it_trains(case: Case) -> bool:
    """Whether the text says in words that it is the training that fails, and names nothing else it may be."""
    told = case.capture.surroundings
    line = told.shows("training in words")
    other = any(map(told.shows, _NO_TRAINING))
    if line is None or other or _INFERS.search(line.text):
        return False
    return _IT_TRAINS.search(line.text) is not None


_NO_TRAINING = ("inferring in words", "failing in evaluation", "explaining", "sampling", "converting a model")
_INFERS = regex(r"(?i)\b(?:inferenc\w*|predict\w*|evaluat\w*|validat\w*|serv(?:e|es|ing)|export\w*)\b")
_IT_TRAINS = regex(
    r"(?i)(?<!after )(?<!post-)(?<!pre-)\b(?:(?:when|while|during|start(?:s|ed)?|run(?:s|ning)?|actual|multi"
    r"|GPU|in|the|my|to|I|we|of|for|on) (?:\w+ ){0,2}?(?:training|train|fine-?tun\w+)"
    r"|\Atrain(?:ing)?\b|fine-?tuning)\b(?! (?:data|set|images|samples|was|is|finish\w*|went|done))"
)


def _names_training(failed: FailedRequest) -> bool:
    """Whether the function or program that ran is called a training step."""
    return "train" in f"{failed.function} {failed.executable} {failed.caller}".lower() or failed.updating


def _keeps_slots(moment: Moment) -> bool | None:
    """A list may leave slots out; a traced step that updates weights shows them."""
    if any(owner.kind is Kind.OPTIMIZER_SLOT for owner in moment.attribution.owners):
        return True
    return False if moment.timeline and len(moment.timeline.standing) else None


def _device(moment: Moment) -> str | None:
    """The device as it is named, else as its allocator's name tells."""
    if moment.timeline is not None:
        names = moment.timeline.device, moment.timeline.allocator
    elif moment.request is not None:
        failed = moment.request.failed
        if on_host(moment) or failed.kind.name == "TPU":
            return CPU if on_host(moment) else TPU
        names = failed.device or "", failed.allocator or ""
    else:
        return None
    return kind_of_device(*names)


def _device_in_words(case: Case) -> str | None:
    """A TPU that the text names, where no failure says which device it was; the CPU where no GPU can be. What
    killed a program is the RAM of a TPU's host as well.
    """
    if case.moments:
        return None
    told = case.capture.surroundings
    if told.shows("on a TPU"):
        of_host = told.shows("killed in words") or told.shows("host RAM in words")
        return None if of_host and not told.shows("device memory in words") else TPU
    return CPU if without_gpu(case) else None


def on_windows(case: Case) -> bool:
    """Whether the program runs on Windows itself, rather than on a Linux within it."""
    told = case.capture.surroundings
    platform = told.setting("platform")
    return told.shows("on Windows") is not None and not (platform and platform[0] == "WSL2")


def on_a_mac(case: Case) -> bool:
    """Whether the program runs on a Mac, and not on one among other systems."""
    line = case.capture.surroundings.shows("on a Mac")
    if line is None:
        return False
    return _OTHER_SYSTEM.search(_EXAMPLE.sub(" ", line.text)) is None


_EXAMPLE = regex(r"\(e\.g[^()\n]{0,80}\)")
"""What the form of a report gives as an example."""
_OTHER_SYSTEM = regex(r"(?i)\b(?:ubuntu|debian|centos|linux|windows|win ?1[01])\b")


def on_apple_gpu(case: Case) -> bool:
    """Whether the only GPU that there may be is Apple's, which knows nothing of CUDA."""
    told = case.capture.surroundings
    named = (*told.devices, *told.named_devices, *told.device_uses)
    compared = told.shows("fine on the CPU") or told.shows("flat on the CPU")
    notebook = told.shows("in a notebook")
    hosted = notebook is not None and _HOSTED.search(notebook.text) is not None
    elsewhere = hosted or told.shows("on a TPU") or (without_gpu(case) and not compared)
    return on_a_mac(case) and case.api.newest >= _WITH_APPLES_GPU and not named and not elsewhere


_WITH_APPLES_GPU = (2, 4)
"""The first TensorFlow that computes on Apple's GPUs."""


_HOSTED = regex(r"(?i)(?<![\w./])(?:colab|kaggle)\b(?!\.|/|[^.\n]{0,40}\b(?:gist|works?|fine|http))")
"""A notebook on somebody's server, whatever machine shows it: no link to one, nor where it goes well."""


def without_gpu(case: Case) -> bool:
    """Whether TensorFlow has no GPU: the text says so, or it is a version that has none on Windows."""
    if case.capture.surroundings.shows("fails on the GPU alone"):
        return False
    if case.capture.surroundings.shows("without a GPU"):
        return True
    return framework_of(case) == TENSORFLOW and on_windows(case) and case.api.oldest >= _WITHOUT_WINDOWS


_WITHOUT_WINDOWS = (2, 11)
"""The first TensorFlow without GPUs on Windows itself."""


def _is_half(moment: Moment) -> bool:
    """Whether most bytes of activations are in 16 bits."""
    held = {True: 0, False: 0}
    table = moment.attribution.table
    rows = zip(moment.attribution.owners, table.dtype, table.size_bytes, table.count, strict=True)
    for owner, dtype, size, count in rows:
        if owner.kind is Kind.ACTIVATION and dtype is not None:
            held[dtype in ("float16", "bfloat16")] += size * count
    if not any(held.values()) and moment.request:
        return moment.request.failed.dtype in ("float16", "bfloat16", "half")
    return held[True] > held[False]


def without_tensor_cores(case: Case) -> bool:
    """Whether all GPUs that the input names compute in 16 bits no faster, or slower: Pascal and older."""
    told = case.capture.surroundings
    known = [
        float(device.capability) < _TENSOR_CORES if device.capability else is_older(device.model)
        for device in (*told.devices, *told.named_devices)
    ]
    return bool(known) and all(known)


_TENSOR_CORES = 7.0
_AMPERE = 8.0


def before_ampere(case: Case) -> bool:
    """Whether all GPUs that the input names have no kernel of cuDNN's fused attention."""
    told = case.capture.surroundings
    known = [
        float(device.capability) < _AMPERE if device.capability else is_before_ampere(device.model)
        for device in (*told.devices, *told.named_devices)
    ]
    return bool(known) and all(known)


def has_one_card(case: Case) -> bool:
    """Whether the writer names one card for games, and nothing of several devices: such a machine hardly has
    another to share arrays with.
    """
    told = case.capture.surroundings
    if len(told.named_devices) != 1 or len(told.devices) > 1 or len(told.device_uses) > 1:
        return False
    several = any(map(told.shows, _OF_SEVERAL))
    named = told.named_devices[0]
    alone = named.line is not None and bool(_ONE_CARD.search(named.line.text))
    return not several and (alone or is_for_games(named.model))


_OF_SEVERAL = ("several GPUs named", "fails with several GPUs", "sharding", "on a TPU")
_ONE_CARD = regex(
    r"(?i)\b(?:one|single|my(?: only)?|only an?) (?:[\w-]{1,12} ){0,3}(?:GPU|card)\b(?!s)"
    r"|\b(?:one|single) (?:[\w-]{1,12} ){0,2}(?:[AHVP]100|[TL]4|A10G?|A40|H200|RTX|GTX)\b(?!s)"
    r"|(?<![x\d.])\d{1,3} ?Gi?B card\b(?!s)"
)
"""Words of one device: `24GB card`."""


BUILT_IN = "a program with TensorFlow inside"


def _is_built_in(case: Case) -> bool:
    """Whether no Python runs the model, as far as the log shows: its lines are of a program that was built
    with TensorFlow inside, and no frame or setting tells of another. JAX's are built like that, too.
    """
    told = case.capture.surroundings
    return (
        told.shows("built into a program") is not None
        and framework_of(case) == TENSORFLOW
        and not told.setting("program")
        and not any(map(told.shows, (OWN_FRAME, LIBRARY_FRAME, "training")))
    )


def _settings(case: Case) -> Iterator[str]:
    for name, value, _ in case.capture.surroundings.settings:
        yield f"{name}={value}"
    if case.capture.hints.batch is not None:
        yield f"batch_size={case.capture.hints.batch}"
    if _is_built_in(case):
        yield f"program={BUILT_IN}"
    if without_tensor_cores(case):
        yield "tensor_cores=False"
    if before_ampere(case):
        yield "fused_attention=none"
    if case.capture.surroundings.shows("fitting"):
        yield "calls=fit"
    if case.capture.surroundings.shows("awaiting"):
        yield "calls=await"
    if on_a_mac(case):
        yield "platform=Mac"
    if on_apple_gpu(case):
        yield "gpu=Apple"
    if on_windows(case):
        yield "platform=Windows"
    uses = case.capture.surroundings.device_uses
    if any(use.processes for use in uses) or (case.moments and len(uses) > 1):
        yield "nvidia-smi=shown"
    for moment in case.moments:
        allocator = (moment.request.failed.allocator or "") if moment.request else ""
        if allocator.startswith("gpu_async") or allocator == "cuda_malloc_async":
            yield "TF_GPU_ALLOCATOR=cuda_malloc_async"
