"""Keras on JAX, whose weights a map of their names shards over devices."""

from __future__ import annotations

from tfmemlens.model.finding import Remedy

_BEFORE_LOADING = Remedy(
    "set the distribution before the model is made or loaded: weights that exist already stay whole on one"
    " device",
    "keras.distribution.set_distribution(parallel)   # before from_preset(...)",
    slug="shard-arguments",
)
_IN_THE_MAP = Remedy(
    "see that the layout map's names fit the large weights, the embedding first: what no name of it fits"
    " is held"
    " whole by every device",
    "for v in model.variables: print(v.path, v.shape, v.value.sharding)",
    slug="list-shardings",
)
_NARROW_PRESET = Remedy(
    "load the weights in bfloat16: half of them, also while they are loaded",
    "Model.from_preset(name, dtype='bfloat16')",
    slug="narrow-weights",
)
SHARDED_BY_NAME = (_BEFORE_LOADING, _IN_THE_MAP, _NARROW_PRESET)
"""What helps those who shard already, and whose devices are too small even so."""
