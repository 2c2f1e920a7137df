"""What helps where a failure is told in words alone: by what runs, where, and what the words say of when."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.board import board, what_helps
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of, situation
from tfmemlens.findings.support.watching import find_what_grows
from tfmemlens.model.capture import DeviceUse
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line

JAVASCRIPT = ("Node", "TensorFlow.js")
_FULL = 0.9
_ONE_BATCH_AT_A_TIME = Remedy(
    "let the server put requests together and bound how many run at once: each thread that serves keeps"
    " buffers of its own",
    "tensorflow_model_server --enable_batching=true --tensorflow_session_parallelism=4 ...",
    slug="bound-requests",
)
_LOAD_ONCE = Remedy(
    "load the model once, not for each call, and end each scope that you start; after a call the number of"
    " tensors must be what it was before",
    "console.log(tf.memory().numTensors)",
    slug="count-tensors",
)
SHARD_THE_DATA = Remedy(
    "each rank is a process that loads its data by itself: let each read its own part of the files, or map"
    " them, so that they are in RAM once",
    "data = data.shard(hvd.size(), hvd.rank())   # before batch(); arrays: np.load(path, mmap_mode='r')",
    slug="shard-the-data",
)
DATA_IN_PARTS = Remedy(
    "hold the data in files and read a batch at a time, instead of one array of all of it; images stay uint8"
    " until they are in a batch, other arrays are float32 rather than float64",
    "train = tf.keras.utils.image_dataset_from_directory(folder)   # arrays: np.load(path, mmap_mode='r')",
    slug="map-the-file",
)
_IF_IT_TRAINS = Remedy(
    "if it trains, with a smaller batch; else smaller inputs (images, sequences), fewer at a time; if that"
    " changes nothing, see what else holds the GPU",
    "nvidia-smi",
    slug="smaller-batch",
)
_ONE_GPU_EACH = Remedy(
    "let each rank see its own GPU alone, before TensorFlow starts: else each takes memory of all of them",
    "tf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')   # or export CUDA_VISIBLE_DEVICES",
    slug="one-device-each",
)
_OWN_PROCESS = Remedy(
    "train each model in a process of its own, whose end frees everything: that works whatever it is that"
    " stays",
    "with multiprocessing.get_context('spawn').Pool(1, maxtasksperchild=1) as pool: pool.map(train, folds)",
    slug="own-process",
)
_SMALLER_EVALUATION = Remedy(
    "evaluate in batches that fit: evaluate, predict and validation have a batch of their own, and a whole"
    " array given to model(x) is one batch",
    "model.evaluate(x, y, batch_size=32)   # fit(..., validation_batch_size=32)",
    slug="smaller-evaluation-batch",
)
_SMALLER_BATCH = Remedy(
    "train with a smaller batch: that helps most trainings; if it fails at a batch of 1, too, make the"
    " samples (images, sequences) or the model smaller",
    slug="smaller-batch",
)
_SEE_USERS = Remedy(
    "see whose that memory is: end an earlier run or a notebook's kernel, or use another GPU",
    "nvidia-smi   # then: export CUDA_VISIBLE_DEVICES=1",
    slug="see-device-users",
)


def full_device(case: Case) -> DeviceUse | None:
    """A device of which a table shows hardly anything left."""
    uses = case.capture.surroundings.device_uses
    return next(
        (use for use in uses if use.used and use.total and use.used.bytes >= _FULL * use.total.bytes), None
    )


def advice(case: Case, of_host: bool, grows: Line | None) -> Iterator[Remedy]:
    """What fits such a program best, the most particular first."""
    told, program = case.capture.surroundings, situation(case).program
    if program in JAVASCRIPT:
        yield from (remedies.TIDY, _LOAD_ONCE)
        return
    if program == "TensorFlow Serving":
        yield from (remedies.smaller_requests(case), _ONE_BATCH_AT_A_TIME)
    if on_board := board(case):
        yield from what_helps(on_board[0])
    if framework_of(case) == TENSORFLOW:
        yield from _of_tensorflow(case, of_host, grows)
    if grows and not program:
        yield find_what_grows(case, of_host)
    if program or grows or framework_of(case) != TENSORFLOW:
        return
    if of_host:
        yield DATA_IN_PARTS
    elif told.shows("training"):
        yield _SMALLER_BATCH
    elif not (on_board or told.shows("failing in evaluation") or told.shows("several ranks")):
        yield _IF_IT_TRAINS


def _of_tensorflow(case: Case, of_host: bool, grows: Line | None) -> Iterator[Remedy]:
    told = case.capture.surroundings
    if told.shows("models in a loop") or (grows and told.shows("clearing the session")):
        yield _OWN_PROCESS
    if told.shows("several ranks"):
        yield SHARD_THE_DATA if of_host else _ONE_GPU_EACH
    if told.shows("failing in evaluation") and not of_host:
        yield _SMALLER_EVALUATION
    if full_device(case) and not of_host:
        yield _SEE_USERS
