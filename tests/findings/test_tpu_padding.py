"""Padding to TPU tiles where a listing states it only of all temporaries together."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.knowledge.tpu_tiles import padded_dimension
from tfmemlens.model.finding import Finding, Severity

LISTING = """Total hbm usage >= 11.47G:
    reserved        530.00M
    program          {size}
    arguments            0B

Output size 0B; shares 0B with arguments.

Program hbm requirement {size}:
    global             4.0K
    HLO temp         {size} (1.2% utilization: Unpadded ({data}) Padded ({size}), 0.0% fragmentation (0B))

  Largest program allocations in hbm:

  1. Size: 8.77G
"""


def found(data: str, size: str = "10.96G") -> list[Finding]:
    report = pipeline.explain(LISTING.format(data=data, size=size))
    return [finding for finding in report.findings if finding.rule == "tpu-padding"]


def test_all_temporaries_are_told_where_no_buffer_is() -> None:
    told = found("140.25M")[0]
    assert told.explains == round(10.96 * 2**30) - round(140.25 * 2**20)
    assert told.because and "all temporaries together grow 80.0 times" in told.because
    assert told.remedies[0].slug == "aligned-shapes"


@pytest.mark.parametrize("data", ["10.96G", "10.50G"])
def test_temporaries_that_hardly_grow_are_no_cause(data: str) -> None:
    assert found(data) == []


@pytest.mark.parametrize(("size", "told"), [("64.0K", False), ("64.0M", True)])
def test_next_to_nothing_of_a_cut_list_is_no_cause(size: str, told: bool) -> None:
    entry = f"  4. Size: {size}\n     Shape: f32[128,6]{{1,0}}\n     Unpadded size: 3.0K\n"
    report = pipeline.explain(f"import torch_xla\n{entry}     Allocation type: scoped\n")
    assert any(each.rule == "tpu-padding" for each in report.findings) is told


ENTRY = """  1. Size: 4.00G
     Shape: {shape}
     Unpadded size: 1.00G
     Extra memory due to padding: 3.00G (4.0x expansion)
     Allocation type: HLO temp
"""


def test_the_totals_of_all_temporaries_are_the_figure_and_not_one_buffer() -> None:
    text = LISTING.format(data="896.00M", size="64.00G").split("  1. Size")[0]
    report = pipeline.explain(text + ENTRY.format(shape="f32[2048,1,2048,32]{3,2,1,0:T(8,128)}"))
    (told,) = (finding for finding in report.findings if finding.rule == "tpu-padding")
    assert told.explains == (64 * 2**30) - (896 * 2**20)
    assert told.because and "[2048,1,2048,32] grows 4.0 times" in told.because


def test_the_buffer_is_the_figure_where_the_totals_tell_less() -> None:
    text = LISTING.format(data="10.00G", size="10.96G").split("  1. Size")[0]
    report = pipeline.explain(text + ENTRY.format(shape="f32[2048,1,2048,32]{3,2,1,0:T(8,128)}"))
    (told,) = (finding for finding in report.findings if finding.rule == "tpu-padding")
    assert told.explains == 3 * 2**30


def test_a_total_that_hardly_grows_twofold_is_a_factor_without_a_tensor() -> None:
    assert found("7.00G", "12.00G")[0].severity is Severity.FACTOR
    assert found("5.00G", "12.00G")[0].severity is Severity.CAUSE
    assert found("7.00G", "12.00G")[0].remedies[0].text.startswith("find the tensors that are padded")
    assert found("7.00G", "12.00G")[0].remedies[0].saves_bytes is None


@pytest.mark.parametrize(
    ("shape", "layout", "grown"),
    [
        ((2048, 1, 2048, 128), "{0,1,3,2:T(4,128)(2,1)}", (1, 1, 4, False)),
        ((2048, 1, 128, 128, 4), "{4,3,2,0,1:T(8,128)}", (4, 4, 128, True)),
        ((3, 256), "{0,1:T(8,128)}", (0, 3, 128, True)),
        ((3, 256), "{1,0:T(8,128)}", (0, 3, 8, False)),
        ((512, 100, 30000), "", (1, 100, 104, False)),
        ((1000,), "{0:T(1024)}", (0, 1000, 1024, True)),
        ((16, 256), "{1,0:T(8,128)}", None),
        ((3, 256), "{1,0,2:T(8,128)}", (0, 3, 8, False)),
        (None, "{1,0}", None),
    ],
)
def test_the_layout_says_which_dimension_is_padded(
    shape: tuple[int, ...] | None, layout: str, grown: tuple[int, int, int, bool] | None
) -> None:
    assert padded_dimension(shape, layout) == grown


def test_the_sentence_names_the_dimension_and_its_size() -> None:
    text = LISTING.format(data="9.40G", size="15.44G").split("  1. Size")[0]
    report = pipeline.explain(text + ENTRY.format(shape="bf16[2048,1,2048,128]{0,1,3,2:T(4,128)(2,1)}"))
    (told,) = (finding for finding in report.findings if finding.rule == "tpu-padding")
    assert [remedy.text for remedy in told.remedies] == [
        "make dimension 1 of [2048,1,2048,128] larger, or merge it with a large one: in this layout"
        " ({0,1,3,2:T(4,128)(2,1)}) its 1 is padded to 4; another 3.04 GiB are lost in buffers that are not"
        " listed, of this shape or others"
    ]


@pytest.mark.parametrize(
    ("op", "alone"),
    [("jit(_normal)/jit(main)/erf_inv", True), ("jit(step)/net/dropout/jit(_normal)/mul", False)],
)
def test_a_draw_by_itself_is_no_activation_and_goes_in_no_loop(op: str, alone: bool) -> None:
    report = pipeline.explain(
        "I use jax.\nXlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 9.00G"
        " of 7.48G hbm. Exceeded hbm capacity by 1.52G.\n"
        "  Largest program allocations in hbm:\n"
        f'  1. Size: 8.00G\n     Operator: op_name="{op}"\n'
        "     Shape: f32[16777216,2]{1,0:T(8,128)}\n     Unpadded size: 128.00M\n"
        "     Extra memory due to padding: 7.88G (64.0x expansion)\n     XLA label: copy.1\n"
        "     Allocation type: HLO temp\n     ==========================\n"
    )
    kinds = {owner.kind.value for owner in report.case.moments[0].attribution.owners}
    assert kinds == ({"unattributed"} if alone else {"activation"})
    assert not (alone and any("draw fewer" in each.remedy.text for each in report.actions))
