"""What was held at one moment, as a ledger without a time axis."""

from __future__ import annotations

from tfmemlens.model.allocation import Shape
from tfmemlens.model.case import Moment, Naming
from tfmemlens.model.ledger import Ledger
from tfmemlens.model.tensor import TensorType


def held(moment: Moment) -> Ledger:
    """The rows of the moment's own table, each with its tensor: as measured, or the likeliest for its
    size.
    """
    table = moment.attribution.table
    namings = moment.namings or [None] * len(table)
    tensors = [
        _tensor(shape, dtype, naming)
        for shape, dtype, naming in zip(table.shape, table.dtype, namings, strict=True)
    ]
    return Ledger(table, list(moment.attribution.owners), tensors, [-1] * len(table), [0] * len(table))


def _tensor(shape: Shape | None, dtype: str | None, naming: Naming | None) -> TensorType | None:
    if shape is not None:
        return TensorType(shape, dtype)
    return naming.best.tensor if naming else None
