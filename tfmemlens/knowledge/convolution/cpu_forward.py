"""The forward pass on the CPU without oneDNN: Eigen multiplies patches that it packs in slabs, taken by
malloc behind TensorFlow's back.

The patch matrix is never whole. Up to TF 1.13 Eigen packs slabs 320 columns deep of ALL rows and keeps two of
them; from 1.14 each thread packs small blocks of its own. From 1.13 a convolution with few filters and many
taps is split along its taps instead, and each thread sums into an output of its own. Source:
TensorContractionThreadPool.h (`Context`, `shardByInnerDim`, `evalShardedByInnerDim`) of the Eigen in each
version. Measured as growth of the resident set in TF 1.10 to 1.15 and 2.21:
`sample_traces/convolution/measured.csv`.
"""

from __future__ import annotations

from tfmemlens.knowledge.convolution.col_buffer import USUAL_L3_BYTES
from tfmemlens.knowledge.convolution.sizes import output_bytes, patch, positions
from tfmemlens.model.convolution import Convolution, ConvolutionSetting, Need
from tfmemlens.model.finding import Certainty
from tfmemlens.units import human

SLAB_COLUMNS = 320
"""Depth of a slab (`kc`): what Eigen caps a block's depth at, whatever the dtype, where the L1 cache has 32
KiB or more.
"""
SLABS = 2
"""Slabs that are alive together (`P - 1` pipeline stages)."""
FIRST_SPLIT = (1, 13)
"""First version that splits along the taps (measured: 1.12.3 does not, 1.13.2 does)."""
FIRST_THREAD_LOCAL = (1, 14)
"""First version that packs per thread (measured: 1.13.2 keeps slabs, 1.14.0 does not)."""
FEW_FILTERS = 8
"""Below this (2 * `Traits::nr`) the filters are too few to share among threads."""
TAPS_PER_THREAD = 32
"""More taps than this (8 * `Traits::nr`) are worth splitting."""

_UNSEEN = (
    "two slabs of packed patches, by malloc: no report or trace shows them, and failure is std::bad_alloc or"
    " the kernel's OOM killer"
)


def packed_bytes(conv: Convolution) -> int:
    """Bytes of the slabs: (batch * positions + filters) rows x min(patch, 640) columns."""
    rows = conv.batch * positions(conv) + conv.filters
    return rows * min(patch(conv), SLABS * SLAB_COLUMNS) * conv.item_bytes


def splits_taps(conv: Convolution, setting: ConvolutionSetting) -> bool:
    """Whether each thread computes a share of the taps for all positions, into an output of its own."""
    threads = setting.threads
    return (
        setting.version >= FIRST_SPLIT
        and threads >= 2
        and (
            threads % 2 == 0 or setting.version < FIRST_THREAD_LOCAL
        )  # from 1.14 Eigen tries even numbers of threads only
        and conv.batch * positions(conv) > 1
        and conv.filters < FEW_FILTERS
        and patch(conv) // threads > TAPS_PER_THREAD
        and output_bytes(conv) <= (setting.l3_bytes or USUAL_L3_BYTES) // threads
    )


def forward(conv: Convolution, setting: ConvolutionSetting) -> Need:
    """What Conv2D and Conv3D take beside their output, by malloc."""
    rows = f"({conv.batch * positions(conv):,} + {conv.filters:,}) rows"
    columns = f"min({patch(conv):,}, {SLABS * SLAB_COLUMNS}) columns"
    slabs = f"{rows} x {columns} x {conv.item_bytes} bytes"
    if setting.threads < 2:
        return Need(0, False, Certainty.ESTIMATE, "one thread packs one small block at a time")
    if splits_taps(conv, setting):
        extra = (setting.threads - 1) * output_bytes(conv)
        formula = (
            f"{setting.threads - 1} x {output_bytes(conv):,} bytes: fewer than {FEW_FILTERS} filters, so each"
            " thread sums into an output of its own"
        )
        return Need(
            extra,
            False,
            Certainty.ESTIMATE,
            formula,
            note="it does so while these outputs fit the processor's L3 cache",
        )
    if setting.version < FIRST_THREAD_LOCAL:
        return Need(packed_bytes(conv), False, Certainty.ESTIMATE, slabs, note=_UNSEEN)
    return Need(
        0,
        False,
        Certainty.ESTIMATE,
        "each thread packs small blocks of its own",
        note=_reserved(conv, setting),
    )


def _reserved(conv: Convolution, setting: ConvolutionSetting) -> str:
    large = conv.filters < FEW_FILTERS and output_bytes(conv) * setting.threads > (
        setting.l3_bytes or USUAL_L3_BYTES
    )
    if (
        large
        and patch(conv) // setting.threads > TAPS_PER_THREAD
        and setting.threads % 2 == 0
        and setting.l3_bytes is None
    ):
        return (
            f"a processor with an L3 cache of {human(output_bytes(conv) * setting.threads)} or more takes"
            f" {human((setting.threads - 1) * output_bytes(conv))}"
        )
    return (
        f"up to {human(packed_bytes(conv))} of address space may be reserved and is hardly touched: it counts"
        " under `ulimit -v` only"
    )
