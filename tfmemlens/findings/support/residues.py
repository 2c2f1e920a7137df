"""What helps where the structure of a protein is predicted: fewer residues, and host RAM beside the GPU."""

from __future__ import annotations

from tfmemlens.model.finding import Remedy
from tfmemlens.units import Size

FEWER_RESIDUES = Remedy(
    "predict fewer residues at once: domains or chains apart, or fewer copies of a complex; half the length"
    " takes about a quarter of the memory",
    slug="shorter-sequences",
)
LESS_TO_DESIGN = Remedy(
    "cut the target down to the residues around the place that is to be bound, and design a shorter protein:"
    " half the residues in all take about a quarter of the memory, or less",
    slug="shorter-sequences",
)
SMALLER_ALIGNMENT = Remedy(
    "then a smaller alignment, and no templates; more recycles, models and seeds run one after the other, and"
    " fewer of them save time, not memory",
    "colabfold_batch --max-msa 256:512   # AlphaFold: max_msa_clusters, max_extra_msa of the model's config",
    slug="smaller-alignment",
)
SMALLER_ALIGNMENT_FIRST = Remedy(
    "take fewer sequences of the alignment: half of them halve these arrays, and the protein stays whole",
    SMALLER_ALIGNMENT.code,
    slug="smaller-alignment",
)
FEWER_RESIDUES_THEN = Remedy(
    "or predict fewer residues at once: domains or chains apart, or fewer copies of a complex",
    slug="shorter-sequences",
)
_TIMES = 4
"""So many times the GPU a pool of unified memory is by the settings of AlphaFold's own scripts."""


def with_host_ram(need: int, limit: Size | None) -> Remedy:
    """Unified memory, with a pool that has room for twice what one request asks for."""
    times = max(_TIMES, -(-2 * need // limit.bytes)) if limit and limit.bytes else _TIMES
    return Remedy(
        "let the GPU use host RAM, too, which is slower: unified memory, with a pool of several times the"
        " GPU",
        f"export TF_FORCE_UNIFIED_MEMORY=1 XLA_PYTHON_CLIENT_MEM_FRACTION={times}.0   # before Python starts",
        slug="unified-memory",
    )
