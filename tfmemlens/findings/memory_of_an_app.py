"""The memory of an app on a phone grows while its model runs again and again.

What it means: an interpreter, its delegate, and each bitmap or pixel buffer lie in native memory, which no
garbage collector counts and which goes when it is closed or released. An app that makes them anew for every
frame fills the part of the RAM that a phone allows it; a camera gives more frames than a model takes.
When it fires: the text tells of a phone or names its classes, says that memory grows or is not given back,
and trains nothing.
What to do: make the interpreter and its buffers once; release each frame; drop frames while one is computed.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.situation import situation
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "no bytes"

_TRAINS = ("training", "training in words", "fitting", "converting a model", "converting in words")
_OF_A_MACHINE = regex(r"(?i)\b(?:nvidia|CUDA|GTX|RTX|Tesla|colab|nvidia-smi)\b")
_ONCE = Remedy(
    "make one interpreter when the screen opens, with one input and one output buffer, use these for every"
    " frame, and close it when the screen goes: each that is made anew reads the model again, and what it"
    " held may stay for long",
    "Interpreter(model, options)   // once; at the end: interpreter.close(), delegate.close()",
    slug="make-once",
)
_RELEASE = Remedy(
    "let go of each frame before the next: pictures and pixel buffers lie in native memory. iOS: an"
    " autoreleasepool around each frame, Mat and CVPixelBuffer released; Android: image.close(), one Bitmap"
    " that is used again. Drop the frames that come while one is computed",
    "autoreleasepool { ... }   // Android: bitmap.recycle(), ImageAnalysis.STRATEGY_KEEP_ONLY_LATEST",
    slug="drop-results",
)
_WITHOUT_DELEGATE = Remedy(
    "see which part grows (Android Studio's profiler: Native, Java or Graphics; Xcode: Instruments,"
    " Allocations), and run the same without a delegate (NNAPI, GPU, Metal, Core ML): where memory then stays"
    " flat, that delegate keeps it, and a newer runtime or the CPU is what helps",
    slug="without-delegate",
)
_AGAIN = regex(
    r"(?i)\b(?:new|anew|another|re-?creat\w+|re-?load\w*|re-?allocat\w+|re-?initiali[sz]\w+|destroy\w*"
    r"|(?:each|every) (?:time|frame|call))\b[^.\n]{0,60}\b(?:interpreter|model|module|session|detector)\b"
    r"|\b(?:interpreter|model|module|session|detector)\b[^.\n]{0,60}\b(?:again|anew|(?:each|every|new)"
    r" (?:time|frame|call|image))\b"
)


def check(case: Case) -> Iterator[Finding]:
    if line := dies(case):
        told = case.capture.surroundings
        named = (told.shows("on a phone"), told.shows("loading a model"), line)
        sizes = [float(size["size"]) for each in named if each for size in _WEIGHTS.finditer(each.text)]
        much = f": {max(sizes):.0f} MB of weights are {max(sizes) / 4:.0f} MB in 8 bits" if sizes else ""
        what = (
            f"the app runs out of memory while it loads a model ({line.place}), most likely of the RAM that"
            f" an app is allowed on a phone{much}"
            if _OUT_OF_IT.search(line.text)
            else f"the app ends while it loads a model ({line.place}), most likely since the RAM that a phone"
            f" allows it is full{much}"
        )
        yield Finding(
            severity=Severity.FACTOR,
            headline=what,
            because=what,
            evidence=(Evidence("what the text says", line),),
            remedies=(_FEWER_BYTES, _NATIVE),
        )
    if found := grows(case):
        line, anew = found
        likely = (
            f"most likely what the app makes anew for each call ({anew.place})"
            if anew
            else "most likely interpreters, or pictures and buffers of earlier calls, that stay in native"
            " memory"
        )
        what = f"the memory of the app grows ({line.place}), and no message is quoted; {likely}"
        yield Finding(
            severity=Severity.FACTOR,
            headline=what,
            because=what,
            evidence=(Evidence("what the text says", line),),
            remedies=(_ONCE, _RELEASE, _WITHOUT_DELEGATE),
        )


_LOADS = regex(
    r"(?i)\bload(?:s|ing|ed)?\b[^.\n]{0,30}\b(?:model|weights)\b|\b(?:model|weights)\b[^.\n]{0,20}\bload"
)
_WEIGHTS = regex(r"(?i)\b(?P<size>\d{2,4}(?:\.\d+)?) ?MB?\b")
_OUT_OF_IT = regex(r"(?i)\bout of (?:memory|RAM)\b|\bOutOfMemory|\bmemory error\b")
_ENDS = ("ending silently", "ended in words", "killed in words", "running short", "dying while it starts")
_FEWER_BYTES = Remedy(
    "take a smaller model, or weights of 8 bits: a quarter of float32. While they are read they are there"
    " two or three times (text or file, arrays, textures), and a phone gives one app a few hundred MB,"
    " whatever storage is free",
    "tensorflowjs_converter --quantize_uint8 '*' ...   # TFLite: converter.optimizations ="
    " [tf.lite.Optimize.DEFAULT]",
    slug="smaller-files",
)
_NATIVE = Remedy(
    "or let a native runtime map the file: TensorFlow Lite's Interpreter reads it without a copy in the"
    " app's heap",
    'Interpreter(FileUtil.loadMappedFile(context, "model.tflite"))',
    slug="map-the-file",
)


def dies(case: Case) -> Line | None:
    """The line of an app that ends while it loads a model."""
    told = case.capture.surroundings
    if (
        told.shows("on a phone") is None
        or case.moments
        or told.foreign
        or told.elsewhere
        or told.without_figures
    ):
        return None
    if told.crash or grows(case) or told.devices or told.named_devices or any(map(told.shows, _TRAINS)):
        return None
    ends = (told.shows(name) for name in _ENDS)
    return next((line for line in ends if line and _LOADS.search(line.text)), None)


def grows(case: Case) -> tuple[Line, Line | None] | None:
    """The line that says that the memory of a phone's app grows, and the one that tells what is made anew."""
    told = case.capture.surroundings
    phone, line = told.shows("on a phone"), told.shows("growing in words") or told.shows("kept in words")
    if (
        phone is None
        or line is None
        or case.moments
        or told.foreign
        or told.elsewhere
        or told.without_figures
    ):
        return None
    if told.shows("flat on the CPU") or told.shows("fine on the CPU"):
        return None  # the delegate is at fault, and not what the app makes
    program = situation(case).program
    if program in ("Node", "TensorFlow.js", "TensorFlow Serving") or any(map(told.shows, _TRAINS)):
        return None
    if told.devices or told.device_uses or told.named_devices or _OF_A_MACHINE.search(line.text):
        return None
    lines = (line, phone, told.shows("kept in words"), *told.code)
    return line, next((each for each in lines if each and _AGAIN.search(each.text)), None)
