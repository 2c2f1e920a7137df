"""Memory ran out where nothing states who held it: a microcontroller, a browser, Apple's GPU, Vulkan.

What it means: TensorFlow Lite Micro, TensorFlow.js and the plug-ins for Metal and DirectML allocate without
TensorFlow's BFC allocator. Their messages say that memory ran out, and at most how much was requested.
When it fires: the log has such a line, and no failure that says more.
What to do: what helps on that device; tools for NVIDIA's GPUs see nothing there.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "no bytes"

_MISSING = regex(r"Requested:? (\d+)(?: bytes)?, available:? (\d+)(?: bytes)?, missing:? (\d+)")
_TEXTURES = regex(r"High memory usage in GPU: ([\d.]+) MB")
_BROWSER, _GUESSED = "(WebGL)", "could not compile a shader"
_HELP = {
    "OpenCL refused one buffer": (
        Remedy(
            "compare what it holds as one buffer (rows x features, a byte for each bin) with the largest"
            " single buffer of the device, which is often a quarter of its memory: fewer rows or features at"
            " a time, or a build for CUDA, which has no such limit",
            "clinfo | grep -i 'max memory allocation'   # LightGBM: device_type='cuda'",
            slug="split-buffer",
        ),
    ),
    "TensorFlow Lite Micro": (
        Remedy(
            "or use a smaller model: 8-bit weights and activations, fewer channels, a smaller input",
            slug="smaller-model",
        ),
    ),
    "OpenCL found": (
        Remedy(
            "use a smaller model or 8-bit weights, or split it, so that fewer kernels are compiled and fewer"
            " weights copied at once; a larger Java heap gives native code nothing",
            slug="smaller-model",
        ),
        Remedy("or run it on the CPU, without the GPU delegate", slug="without-delegate"),
    ),
    "OpenCL had": (
        Remedy(
            "use a smaller model or input: 8-bit weights, fewer channels, a lower resolution",
            slug="smaller-model",
        ),
        Remedy("or run it on the CPU, without the GPU delegate", slug="without-delegate"),
    ),
    "TensorFlow Serving": (
        Remedy(
            "give the server more RAM, or serve fewer models and versions: while a new version loads, the"
            " old one stays",
            slug="fewer-versions",
        ),
    ),
    "Metal had": (
        Remedy(
            "train with a smaller batch, or feed smaller images: this memory is the machine's RAM",
            slug="smaller-batch",
        ),
        Remedy(
            "close other programs that use much RAM (Activity Monitor, Memory)", slug="close-other-programs"
        ),
    ),
    "Metal's table": (
        Remedy(
            "give the device fewer operations at a time: shorter sequences or loops, one jitted function"
            " around the step; no smaller batch, since buffers are counted and not their bytes",
            slug="shorter-sequences",
        ),
        Remedy(
            "or run this part on the CPU",
            "JAX_PLATFORMS=cpu python train.py",
            slug="without-delegate",
        ),
    ),
    "Vulkan": (
        Remedy(
            "let programs beside it take less: JAX takes 75 % of a GPU when it first uses it, TensorFlow"
            " nearly all, whether they need it or not",
            "export XLA_PYTHON_CLIENT_PREALLOCATE=false TF_FORCE_GPU_ALLOW_GROWTH=true",
            slug="growth",
        ),
        Remedy(
            "see who holds the GPU, with its maker's tool; where nobody else does: a smaller scene, picture"
            " or model",
            slug="see-device-users",
        ),
    ),
    "larger texture": (
        Remedy(
            "make the tensor smaller: a smaller input, or another model whose layers and weights are smaller",
            slug="smaller-input",
        ),
        Remedy(
            "or compute without WebGL's textures",
            "await tf.setBackend('wasm')   // import '@tensorflow/tfjs-backend-wasm'",
            slug="another-backend",
        ),
    ),
    "(WebGL)": (
        Remedy(
            "let each frame's tensors go, and dispose of those you keep",
            "const out = tf.tidy(() => model.predict(frame)); out.dispose();",
            slug="tidy-textures",
        ),
        Remedy(
            "count tensors after each call: a number that grows is a leak",
            "console.log(tf.memory().numTensors, tf.memory().numBytesInGPU)",
            slug="count-tensors",
        ),
    ),
    "WebAssembly": (
        Remedy(
            "where it fails on phones alone: WebAssembly with threads reserves its largest memory at once,"
            " which Safari on iOS refuses, however small the model. Send those browsers the page without the"
            " headers of cross-origin isolation (COOP, COEP), so that the module without threads is taken:"
            " slower, and it runs",
            slug="another-backend",
        ),
        Remedy(
            "where it fails without threads, too: take a smaller model or input, or weights of 8 bits",
            slug="smaller-model",
        ),
    ),
    "DirectML": (
        Remedy("use a smaller batch or smaller inputs", slug="smaller-batch"),
        Remedy(
            "see who holds the GPU (Task Manager, Performance, GPU memory), and end what you do not need",
            slug="see-device-users",
        ),
    ),
}
"""What helps, by a word of what ran out."""


def check(case: Case) -> Iterator[Finding]:
    if case.moments:
        return
    told = case.capture.surroundings.without_figures
    one_call = case.capture.surroundings.shows("one call fills it")
    certain = any(_BROWSER in what and _GUESSED not in what for what, _ in told)
    for what, line in told:
        if certain and _GUESSED in what:
            continue  # a consequence
        yield Finding(
            severity=Severity.FACTOR if _GUESSED in what else Severity.CAUSE,
            headline=f"{what}{_figures(line)}{_at_once(what, one_call)}",
            evidence=(Evidence("the message", line),),
            remedies=(
                *_larger_arena(line),
                *_of_one_call(what, one_call),
                *(
                    remedy
                    for word, helps in _HELP.items()
                    if word in what
                    for remedy in helps
                    if one_call is None or remedy.slug not in _OF_MANY_CALLS
                ),
            ),
        )


_OF_MANY_CALLS = ("tidy-textures", "count-tensors")
"""What helps where each call leaves something behind."""


def _at_once(what: str, one_call: Line | None) -> str:
    if one_call is None or _BROWSER not in what:
        return ""
    return (
        f"; {one_call.place} says that one call fills it, so most likely the model itself is too large there"
    )


def _of_one_call(what: str, one_call: Line | None) -> Iterator[Remedy]:
    """What is left where the outputs of all layers of one call are too much for WebGL's textures."""
    if one_call is None or _BROWSER not in what:
        return
    yield Remedy(
        "give it a smaller picture or a smaller model, or keep its textures in 16 bits",
        "tf.env().set('WEBGL_FORCE_F16_TEXTURES', true);   // before the model is loaded",
        slug="smaller-input",
    )
    yield Remedy(
        "or compute without WebGL's textures, each of which pads its tensor: in WebAssembly, or in Node",
        "await tf.setBackend('wasm');   // import '@tensorflow/tfjs-backend-wasm'",
        slug="another-backend",
    )


_OF_AN_ARENA = regex(r"Needed (?P<needed>\d{1,12}) but only (?P<has>\d{1,12})\b")


def _figures(line: Line) -> str:
    """What the message states."""
    if match := _MISSING.search(line.text):
        asked, free, missing = (f"{int(figure):,}" for figure in match.groups())
        return f": {asked} B were requested, {free} B were free, {missing} B are missing"
    if match := _TEXTURES.search(line.text):
        return (
            f": {match[1]} MB are in use there, which TensorFlow.js calls a likely leak (a warning: nothing"
            " has failed by it)"
        )
    if match := _OF_AN_ARENA.search(line.text):
        needed, has = int(match["needed"]), int(match["has"])
        return f": {needed:,} B are needed and {has:,} B are there, {needed - has:,} B too little"
    return ""


def _larger_arena(line: Line) -> Iterator[Remedy]:
    """The arena's size is a constant of the program; an arena that is larger meets the next request."""
    match = _MISSING.search(line.text)
    if match:
        yield Remedy(
            f"make the arena at least {int(match[3]):,} B larger: later requests may want more",
            f"constexpr int kTensorArenaSize = ... + {match[3]};",
            slug="larger-arena",
        )
    elif "Arena size" in line.text:
        arena = _OF_AN_ARENA.search(line.text)
        more = int(arena["needed"]) - int(arena["has"]) if arena else 0
        yield Remedy(
            f"make the arena at least {more:,} B larger; where the chip has no RAM for that (the linker says"
            " so), only a smaller model helps"
            if more > 0
            else "make the arena as large as the message says that it needs",
            f"constexpr int kTensorArenaSize = ... + {more};" if more > 0 else None,
            slug="larger-arena",
        )
