"""An array for which Python found no host RAM, and what helps."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.host_ram.new_array import NewArray, made_by_a_line
from tfmemlens.findings.support.host_ram.pipeline import buffers_shown
from tfmemlens.findings.support.host_ram.replay import smaller_buffer
from tfmemlens.findings.support.told_again import smaller_replay
from tfmemlens.findings.support.told_mechanism import OF_JOINED_OUTPUTS
from tfmemlens.findings.support.watching import find_what_grows
from tfmemlens.findings.support.what_grows import THREADS, grower
from tfmemlens.findings.support.whole_arrays import of_a_joined_list
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import FailedRequest, Frame, RequestKind
from tfmemlens.model.tensor import text_bytes
from tfmemlens.patterns import regex
from tfmemlens.units import MIB

_SMALL_BYTES, _ELEMENT_BYTES = 16 * MIB, 128 * MIB
"""What has room wherever there is any: an array, and what a pipeline's function makes of one element."""
MEMORY_ERROR = regex(r"(?<!OutOf)MemoryError")
"""Python's own; Ray calls a worker that it killed OutOfMemoryError."""
FILLS = regex(r"\b(?:np|numpy)\.(?P<call>zeros|ones|empty)\((?!.*dtype)")


def joins_outputs(failed: FailedRequest) -> bool:
    """Whether Keras's predict was joining what it had computed, and took no data any more."""
    names = [frame.name for frame in failed.frames]
    if failed.kind is not RequestKind.HOST or failed.shape is None or not _PREDICTS.intersection(names):
        return False
    reads = any(_READS.search(frame.place) for frame in failed.frames)
    return not reads and any(_JOINS.search(f"{frame.name} {frame.text}") for frame in failed.frames[-4:])


_PREDICTS = frozenset({"predict", "predict_generator", "predict_loop", "_predict_loop"})
_READS = regex(r"data_adapter|array_data|data_handler|data_utils")
_JOINS = regex(r"concat|map_structure_up_to|\bfinalize\b|\bvstack\b")


def is_small(failed: FailedRequest) -> bool:
    """Whether an array of this size has room wherever there is any."""
    least = _ELEMENT_BYTES if failed.pipeline else _SMALL_BYTES
    return failed.tensor_bytes is not None and failed.tensor_bytes < least


_MAP_THE_FILE = Remedy(
    "do not hold the whole data set as one array: read it in batches, or map the file",
    "x = np.load('x.npy', mmap_mode='r')",
    slug="map-the-file",
)
_FEWER_FEATURES = Remedy(
    "each example has a column for every n-gram of characters or words: bound them in config.yml,"
    " `max_features` and a smaller `max_ngram` of CountVectorsFeaturizer (`analyzer: char_wb`), or use word"
    " vectors of a pretrained featurizer instead",
    "- name: CountVectorsFeaturizer   # max_ngram: 4, max_features: 10000",
    slug="fewer-entries",
)
_OF_WEIGHTS = ("glorot_uniform", "he_normal", "add_weight", "random_uniform_variable", "sharedX", "build")
_FEWER_WEIGHTS = Remedy(
    "what asks is a layer that makes its weights, inputs x units of them: fewer units there, or smaller maps"
    " before it (pooling, strides), and see that its input has the sides that you meant",
    "model.summary()   # before this layer",
    slug="smaller-model",
)


_OF_ONE_SAMPLE = regex(r"__getitem__|data_generator|load_(?:image|mask|sample|example)(?:_gt)?")
"""Functions that read one sample of a set, for a batch that is put together beside."""
_FEWER_READ = Remedy(
    "read fewer samples at once: each worker holds one with all that is made of it, and its queue holds"
    " batches that wait; see what one sample takes (its masks, its full size), and shrink large files once,"
    " beforehand",
    "fit_generator(..., workers=1, max_queue_size=4, use_multiprocessing=False)   # Mask R-CNN: in model.py",
    slug="smaller-pipeline",
)
_AS_STRINGS = Remedy(
    "keep the texts as Python strings or in files: an array of text gives each the length of the longest;"
    " where it must be an array, dtype=object, or cut the few that are long",
    "texts = np.asarray(texts, dtype=object)   # or: tf.data.TextLineDataset(files)",
    slug="narrow-array",
)


def reads_one_sample(failed: FailedRequest) -> Frame | None:
    """The frame of a traceback that reads one sample, of which many are read."""
    return next((frame for frame in reversed(failed.frames) if _OF_ONE_SAMPLE.fullmatch(frame.name)), None)


def characters(failed: FailedRequest) -> int:
    """How many characters each element of an array of text has; 0 of other arrays."""
    each = text_bytes(failed.dtype or "") if failed.shape is not None else None
    return each // 4 if each and (failed.dtype or "")[1:2] == "U" else 0


def of_an_array(case: Case, failed: FailedRequest) -> Iterator[Remedy]:
    """What helps where Python found no room: where no array is named, what the words say of the cause."""
    told = case.capture.surroundings
    if replayed := smaller_buffer(case, failed):
        yield replayed
        return
    if failed.shape is None and told.shows("worker processes"):
        yield THREADS
        return
    if failed.shape is None and told.shows("replaying"):
        yield smaller_replay(told)
        return
    if failed.shape is None and any(frame.name in _OF_WEIGHTS for frame in failed.frames):
        yield _FEWER_WEIGHTS
        return
    if failed.shape is None and reads_one_sample(failed):
        yield _FEWER_READ
        return
    if characters(failed):
        yield _AS_STRINGS
        return
    if _counts_ngrams(case, failed):
        yield _FEWER_FEATURES
        return
    if failed.shape is None and (told.shows("growing in words") or told.shows("kept in words")):
        yield from of_growth(case)
        return
    listed = list(of_a_joined_list(told.program(), failed.source_text)) if failed.source_text else []
    if joins_outputs(failed):
        yield from OF_JOINED_OUTPUTS
    elif listed:
        yield from listed
        if len(listed) == 1:
            yield _MAP_THE_FILE
    elif failed.shape is None and (made := made_by_a_line(failed, told)):
        yield from _of_a_line(made)
    elif not (failed.pipeline and is_small(failed)):
        yield _MAP_THE_FILE
    elif told.shows("failing late") and not any(buffers_shown((line,)) for line in told.code):
        yield find_what_grows(case, of_host=True)


def _counts_ngrams(case: Case, failed: FailedRequest) -> bool:
    """Whether a program of Rasa's asked for a row of each example, as wide as it knows n-grams."""
    told = case.capture.surroundings
    return bool(told.shows("tool: Rasa")) and failed.shape is not None and len(failed.shape) == _SIDES


def of_a_grid(failed: FailedRequest) -> Remedy | None:
    """What to look at where a line makes an empty picture, each side a product: one that lays out tiles."""
    grid = _OF_PRODUCTS.search(failed.source_text or "")
    if grid is None or failed.shape is None or len(failed.shape) != _SIDES:
        return None
    return Remedy(
        f"print what the sides are made of (`{grid['rows'].strip()}`, `{grid['columns'].strip()}`) before"
        " this line: one may be far from what is meant. Where it lays out maps of layers, a flat layer"
        " (Flatten, Dense) has none, and its count of values is taken for a side: skip such layers. A picture"
        " that must be so large fits in a mapped file (np.memmap)",
        "if activation.ndim != 4: continue   # no (1, height, width, channels)",
        slug="wrong-side",
    )


_SIDES = 2
_OF_PRODUCTS = regex(
    r"(?:np|numpy)\.(?:zeros|ones|empty)\(\s?\(\s?(?P<rows>[^,()\n]{1,60}\*[^,()\n]{1,60}),"
    r"(?P<columns>[^,()\n]{1,60}\*[^,()\n]{1,60})\)"
)

_ONE_HOT = regex(r"(?i)vocab|chars?\b|words?\b|class|label|token|alphabet|categor|symbols")
"""What the last side of one-hot rows counts."""


def _of_a_line(made: NewArray) -> Iterator[Remedy]:
    """What helps where a line of the program makes the array, as large as its sides."""
    if _ONE_HOT.search(made.sides[-1].text):
        yield Remedy(
            "keep the indices, one whole number each, and make one-hot rows for one batch at a time, or let"
            " an Embedding and a sparse loss take the indices: the line makes all rows at once",
            "model.add(Embedding(n, 64)); model.compile(loss='sparse_categorical_crossentropy')",
            slug="map-the-file",
        )
    else:
        yield Remedy(
            "make this array for one batch at a time (a generator, keras.utils.Sequence, tf.data), or in a"
            " mapped file: the line makes all of it at once",
            "x = np.lib.format.open_memmap('x.npy', 'w+', np.uint8, shape)",
            slug="map-the-file",
        )
    if made.dtype == "float64":
        yield Remedy(
            "or give it a type: NumPy makes float64 where none is given; bool and uint8 take an eighth,"
            " float32 half",
            "x = np.zeros(shape, dtype=bool)   # of one-hot rows",
            slug="narrow-array",
        )


def of_growth(case: Case) -> Iterator[Remedy]:
    """What helps where words say that it grows: what they name, else to find it."""
    grown = grower(case)
    yield from grown.remedies if grown else (find_what_grows(case, of_host=True),)
