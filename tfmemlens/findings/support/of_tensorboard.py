"""Whether it was TensorBoard's own process that found no room on the GPU: it needs none of it."""

from __future__ import annotations

from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy

_NEAR = 12
"""Lines from the message to the frame of the program that failed with it."""


def told(case: Case, moment: Moment) -> str:
    """That the process is TensorBoard's own, as a clause, where the failure's traceback begins with its
    program; empty elsewhere.
    """
    frame = case.capture.surroundings.shows("TensorBoard's own process")
    line = moment.request.failed.line if moment.request else None
    if frame is None or line is None or frame.source != line.source:
        return ""
    near = abs(frame.number - line.number) <= _NEAR
    return f"; the process is TensorBoard's own ({frame.place}), which needs no GPU" if near else ""


HIDE_IT = Remedy(
    "hide the GPU from TensorBoard, which reads files and computes nothing on it: what trains may keep"
    " it all",
    "CUDA_VISIBLE_DEVICES= tensorboard --logdir logs   # on Windows first: set CUDA_VISIBLE_DEVICES=-1",
    slug="keep-off-the-device",
)
FOR_THE_TRAINING = Remedy(
    "or let what trains take memory as needed, so that it leaves some (allow_growth in TensorFlow 1,"
    " set_memory_growth in 2): that belongs into the training, for TensorBoard has no such setting",
    slug="growth",
)
