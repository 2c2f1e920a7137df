"""The text states how many samples there are and of which shape: what all take as one array in host RAM.

What it means: 40,000 images of 224 x 224 x 3 are some hundred megabytes of files. As one array they take a
byte a value in uint8, four in float32, and eight in float64, which NumPy makes of them when they are divided
by 255.0.
When it fires: host RAM ran out, by a kill or in words, and one line states a count of samples and the shape
of one, or the shape of a whole array, or code resizes each image and adds it to a list, and words count them;
all take a GiB or more in float32, and nothing says that files are read a batch at a time.
What to do: read batches from files, or map the array; keep uint8 until a batch is made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from tfmemlens.findings import told_in_words
from tfmemlens.findings.support import which_memory
from tfmemlens.findings.support.contrasted import compared, stated_cause
from tfmemlens.findings.support.kills import another_program
from tfmemlens.findings.support.rows import failures, on_host
from tfmemlens.findings.support.told_again import DATA_IN_PARTS
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, rough
from tfmemlens.values import dataclass, replace

BASIS = Basis.NAME
EXPLAINS = "all samples in the type of floats that is stated, else in float32"

_LEAST_BYTES = GIB
"""In float32: what is smaller fills no machine's RAM by itself."""
_LEAST_SAMPLES, _LEAST_SIDE = 500, 16
_FLOAT32, _FLOAT64 = 4, 8
_COUNT = regex(
    r"(?i)(?<![\w.x×,])(?P<count>\d{1,3}(?:[,.]\d{3}){1,3}|\d{3,9}|\d{1,4}(?:\.\d)?(?P<unit>k|m))\s{1,2}"
    r"(?:[a-z-]{1,20}\s{1,2}){0,3}?(?P<what>images?|pictures|pics|photos|frames|samples|slices|scans"
    r"|patches|crops|spectrograms|records|examples|sequences|videos|clips|volumes|bilder|fotos)\b"
)
_UNITS = {"": 1, "k": 1000, "m": 10**6}
_GREY = regex(r"(?i)\bgr[ae]y|\bmnist|\bx-?rays?\b|\bM?RI\b|\bCT\b|\bbinary\b|\bb/w\b")
_RGB = 3
_READ_IN_PARTS = regex(
    r"(?i)flow_from_|from_directory|TFRecord|from_generator|ImageDataGenerator|DataLoader"
    r"|mmap_mode|memmap|Sequence\)"
)
_GIVEN_WHOLE = regex(r"\.(?:flow|fit)\(\s*(?!validation)(?:[xX]|train|images|data)\w{0,20}\s*[,)]")
"""`datagen.flow(X, y)`: a generator that is given the whole array reads nothing in parts."""
_SCALES = regex(r"255|\bastype\b|(?i:normali|rescal)")
"""Code that may make floats of pixels; a text with a line or two of the program may have it as well."""
_A_PROGRAM = 3
_COPIES = regex(
    r"\b(?:train_test_split|np\.(?:concatenate|vstack|stack|copy))\(|\bdata_?gen\w*\.fit\(|\.astype\("
    r"|=[^\n]{1,80}/ ?255\b"
)
_LABELS = regex(r"(?i)y(?:_\w{1,20})?(?:\.shape)?\Z|\w{0,20}(?:label|target)s?\w{0,10}(?:\.shape)?\Z")
"""Names of what is no image: what is large of labels is what is made of them."""
_OF_A_NET = regex(r"(?i)layer|hidden|units|filters|kernel|widths?\b|mlp|channels|stride|neurons|nodes|pool_")
"""Names of lists that say how wide a net is, and no shape of anything."""
_MOST_VALUES = 1 << 44
"""Numbers of no array that anybody makes on purpose."""
_NO_NAMES = ("shape", "size", "shapes", "dimensions")
_FLAT = frozenset("samples records examples sequences".split())
"""What has two dimensions as it is; an image of height and width has channels, too."""


@dataclass(frozen=True, slots=True)
class StatedSet:
    """A data set as a line of the text states it."""

    words: str
    """`40,000 images of 224 x 224 x 3`."""
    values: int
    line: Line
    made: str = ""
    """The code that makes the array of a list."""
    image_size: str = ""
    """The height and width that code gives each image."""

    @property
    def dtype(self) -> str | None:
        """The one type of floats that is stated."""
        stated = set(_FLOATS.findall(f"{self.line.text} {self.made}"))
        return stated.pop() if len(stated) == 1 else None

    @property
    def bytes(self) -> int:
        """In the type that is stated, else in float32."""
        return self.values * (_FLOAT64 if self.dtype == "float64" else _FLOAT32)

    @property
    def size(self) -> str:
        """How much it takes, in the types that it may have."""
        if self.dtype:
            return f"{rough(self.bytes)} as {self.dtype}"
        return f"{rough(self.values)} as uint8, {rough(self.bytes)} as float32"


_FLOATS = regex(r"\bfloat(?:32|64)\b")


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    whole = any(_GIVEN_WHOLE.search(line.text) for line in told.code)
    in_parts = any(_READ_IN_PARTS.search(line.text) for line in told.code) and not whole
    if in_parts or told.shows("joining predictions"):
        return
    if not case.moments and (told.shows("writing histograms") or stated_cause(case) or compared(case)):
        return
    if not case.moments and told.shows("failing in evaluation") and not _of_host(case):
        return  # a batch of the evaluation, most likely
    if not case.moments and told_in_words.caches(told, told.kernel_died):
        return  # no array
    sets = (*_stated_sets(case), *_collected(case))
    data = next((each for each in sets if each.values * _FLOAT32 >= _LEAST_BYTES), None)
    if data is None:
        return
    scales = len(told.code) < _A_PROGRAM or any(_SCALES.search(line.text) for line in told.code)
    size = f"in one array {data.words} take about {data.size}{_copied(told.code, data.line)}"
    if not case.moments and (said := _told_in_words(case)):
        where = "host RAM" if _of_host(case) else "host RAM, or the GPU's memory if it is given all at once,"
        yield _finding(data, f"{size}: most likely {where} ran out ({said.place})", size, 0, scales)
    for index, moment in list(failures(case))[:1]:
        if on_host(moment) and not _has_a_size(moment) and not another_program(moment):
            yield _finding(data, size, size, index, scales)


def _copied(code: Sequence[Line], stated: Line) -> str:
    """Which lines of the code make further arrays as large."""
    places = [line.place for line in code if line != stated and _COPIES.search(line.text.partition("#")[0])]
    if not places:
        return ""
    more = "makes another copy" if len(places) == 1 else "make further copies"
    return f"; {' and '.join(places[:3])} {more}"


def _finding(data: StatedSet, headline: str, because: str, moment: int, scales: bool) -> Finding:
    return Finding(
        severity=Severity.CAUSE,
        headline=headline,
        because=because,
        explains=data.bytes,
        evidence=(Evidence("how many there are, and how large each is", data.line),),
        remedies=(_in_parts(data), *((_no_doubles(data),) if scales else ())),
        moment=moment,
    )


def _in_parts(data: StatedSet) -> Remedy:
    if not data.image_size:
        return DATA_IN_PARTS
    return replace(
        DATA_IN_PARTS,
        text=f"{DATA_IN_PARTS.text}; or smaller images",
        code=f"ds = keras.utils.image_dataset_from_directory(path, image_size=({data.image_size}),"
        " batch_size=32)",
    )


def _told_in_words(case: Case) -> Line | None:
    """The line that tells that host RAM ran out, or that the notebook's kernel died."""
    told = case.capture.surroundings
    if told.foreign or told.elsewhere or told.crash:
        return None
    said = told_in_words.spoken(case)
    if told.kernel_died or said is None:
        return told.kernel_died
    collected = any(_ADDS.search(line.text) or _MAKES_ARRAY.search(line.text) for line in told.code)
    whole = said[1] == which_memory.HOST or any(map(told.shows, _OF_ARRAYS)) or collected
    whole = whole or _LOADS_ALL.search(said[0].text) is not None
    in_steps = _BATCH.search(said[0].text) or told.setting("batch_size")
    if said[1] == which_memory.DEVICE or (in_steps and not whole):
        return None  # a count of images says nothing of how many are held at once
    return said[0]


_OF_ARRAYS = ("an array of all samples", "large data")
_LOADS_ALL = regex(
    r"(?i)\b(?:load|read|convert|stor|keep|put)\w*\b[^.;\n]{0,40}\b(?:all|everything|whole|entire|arrays?)\b"
)
_BATCH = regex(r"(?i)\bbatch(?:es|[ _-]?size)?\b")
"""Whoever names the batch beside the failure tells of training steps."""


def _of_host(case: Case) -> bool:
    """Whether words tell that it was host RAM, or no exception of TensorFlow's by its usual name."""
    said = told_in_words.spoken(case)
    return said is None or said[1] == which_memory.HOST or not _OOM.search(said[0].text)


_OOM = regex(r"\bOOM\b")
"""What users of TensorFlow call its ResourceExhaustedError, mostly of a GPU."""


def _no_doubles(data: StatedSet) -> Remedy:
    if data.dtype:
        return Remedy(
            "scale batch by batch, or in place: `x / 255.0` makes a second array as large (about"
            f" {rough(data.bytes)}); uint8, where the values are whole numbers, takes"
            f" {rough(data.values)} in all",
            "np.divide(x, 255.0, out=x)   # or keras.layers.Rescaling(1 / 255) in the model",
            slug="narrow-array",
        )
    doubles = rough(data.values * _FLOAT64)
    return Remedy(
        "divide batch by batch, not the whole array: dividing it by 255.0 makes float64 of uint8 (about"
        f" {doubles})",
        "model = keras.Sequential([keras.layers.Rescaling(1 / 255), ...])   # or x.astype('float32') / 255",
        slug="narrow-array",
    )


def _has_a_size(moment: Moment) -> bool:
    """Whether the message says how much was asked for: then that is what is to be explained."""
    failed = moment.request.failed if moment.request else None
    return failed is not None and (failed.size is not None or failed.shape is not None)


def _stated_sets(case: Case) -> Iterator[StatedSet]:
    for stated in case.capture.surroundings.sizes:
        sample = stated.sizes
        if _LABELS.match(stated.name) or _OF_A_NET.search(stated.name):
            continue
        if math.prod(sample) > _MOST_VALUES:
            continue
        if len(sample) > 2 and sample[0] >= _LEAST_SAMPLES and _is_sample(sample[1:]):
            name = "" if stated.name in _NO_NAMES else stated.name.removesuffix(".shape")
            named = f"`{name}` " if name else ""
            words = f"the values of {named}{format_shape(sample)}"
            yield StatedSet(words, math.prod(sample), stated.line)
        elif len(sample) > 1 and _is_sample(sample) and (match := _COUNT.search(stated.line.text)):
            text = stated.line.text
            count = _number(match["count"], (match["unit"] or "").lower())
            if count in sample:
                continue  # the array of all of them
            if len(sample) == 2 and match["what"].lower() not in _FLAT:
                sample = (*sample, 1 if _GREY.search(text) else _RGB)
            if count >= _LEAST_SAMPLES:
                shape = " x ".join(map(str, sample))
                yield StatedSet(
                    f"{count:,} {match['what']} of {shape}", count * math.prod(sample), stated.line
                )


_RESIZES = regex(
    r"(?:(?P<name>\w{1,40})\s*=\s*[^=\n]{0,60}?)?\b(?:resize|imresize|load_img|smart_resize)\([^\n]{0,80}?"
    r"[(\[]\s*(?P<height>\w{1,40})\s*,\s*(?P<width>\w{1,40})\s*[)\]]"
)
"""`img = cv2.resize(img, (IMG_SIZE, IMG_SIZE))`."""
_ADDS = regex(r"\.append\((?P<what>[^\n]{1,120})")
_IN_GREY = regex(
    r"IMREAD_GRAYSCALE|COLOR_\w{3,4}2GRAY|imread\([^,\n]{1,80}, ?0\)|gr[ae]yscale|convert\([\"']L[\"']\)"
)
_MAKES_ARRAY = regex(r"\b(?:as)?array\(|\bstack\(|\.astype\(")
_OF_IMAGES = frozenset("image images picture pictures pics photo photos frames bilder fotos".split())


def _collected(case: Case) -> Iterator[StatedSet]:
    """The images that code resizes one by one and adds to a list, where words say how many there are."""
    told = case.capture.surroundings
    numbers = {each.name: each.sizes[0] for each in told.sizes if len(each.sizes) == 1}
    adds = [(match["what"], line) for line in told.code if (match := _ADDS.search(line.text))]
    counts = [
        (_number(match["count"], (match["unit"] or "").lower()), match["what"], each.line)
        for each in told.sizes
        for match in _COUNT.finditer(each.line.text)
        if match["what"].lower() in _OF_IMAGES
    ]
    if not adds or not counts:
        return
    count, what, stated = max(counts, key=lambda each: each[0])
    channels = 1 if any(_IN_GREY.search(line.text) for line in told.code) else _RGB
    for line in told.code:
        match = _RESIZES.search(line.text)
        sides = [_side(match[name], numbers) for name in ("height", "width")] if match else []
        if match is None or not all(side >= _LEAST_SIDE for side in sides) or count < _LEAST_SAMPLES:
            continue
        if line in [added for _, added in adds] or any(
            re.search(rf"\b{match['name']}\b", added) for added, _ in adds if match["name"]
        ):
            shape = " x ".join(map(str, (*sides, channels)))
            words = f"{count:,} {what} of {shape} ({line.place} adds each to a list)"
            made = " ".join(each.text for each in told.code if _MAKES_ARRAY.search(each.text))
            size = ", ".join(map(str, sides))
            yield StatedSet(words, count * math.prod(sides) * channels, stated, made, size)
            return


def _side(written: str, numbers: Mapping[str, int]) -> int:
    """A number of code, or the one that its name stands for."""
    return int(written) if written.isdigit() else numbers.get(written, 0)


def _is_sample(shape: tuple[int, ...]) -> bool:
    """Whether this may be the shape of one sample: a sequence of features, an image, a volume."""
    sides = [size for size in shape if size >= _LEAST_SIDE]
    return len(shape) < 5 and len(sides) > 1 and (shape[0] >= _LEAST_SIDE or len(shape) > 2)


def _number(figure: str, unit: str) -> int:
    """`40,000`, `40.000`, `1.5k`."""
    digits = figure[:-1] if unit else figure.replace(",", "").replace(".", "")
    return round(float(digits) * _UNITS[unit])
