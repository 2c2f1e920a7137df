"""What the layers of a quoted Keras program make: its statements are followed in their order, with shapes in
the place of tensors and an open batch.
"""

from __future__ import annotations

from tfmemlens.knowledge.keras_program.outputs import LayerOutput, fits, layer_outputs

__all__ = ["LayerOutput", "fits", "layer_outputs"]
