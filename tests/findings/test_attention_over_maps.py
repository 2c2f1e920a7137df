"""Scores of an attention layer of two dimensions are over the positions of a map."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained, first
from tfmemlens import pipeline


@pytest.mark.parametrize(
    ("node", "shape", "of_a_map"),
    [
        ("attention_augmentation2d_3/MatMul", "16,4,1024,1024", True),
        ("self_attention_2d/MatMul", "16,4,1024,1024", True),
        ("non_local_block/MatMul", "16,4,1024,1024", True),
        ("attention_augmentation1d_3/MatMul", "16,4,1024,1024", False),
        ("attention_augmentation2d_3/MatMul", "16,4,1000,1000", False),  # no square number of positions
        ("self_attention/MatMul", "16,4,1024,1024", False),
    ],
)
def test_a_layer_of_two_dimensions_has_a_map(node: str, shape: str, of_a_map: bool) -> None:
    advice = first(oom(shape, node))
    assert ("pool the map before it" in advice) is of_a_map
    assert "sequence length" not in advice or not of_a_map


@pytest.mark.parametrize(
    ("dtype", "told"),
    [("bool", "and the scores take 103.00 MiB as float32"), ("float", None)],
)
def test_a_mask_of_a_byte_names_the_scores_beside_it(dtype: str, told: str | None) -> None:
    text = oom("2,6,1500,1500", "net/self_attention/dropout").replace("type float", f"type {dtype}")
    finding = next(each for each in pipeline.explain(text).findings if each.rule == "attention-scores")
    clause = (finding.because or "").partition("; ")[2]
    assert (told in clause) if told else not clause


@pytest.mark.parametrize(
    ("shape", "batch_first"),
    [
        ("12,8,160,160", True),
        ("4,8,160,160", False),  # few samples
        ("12,8,1024,1024", False),  # a long text
        ("48,32,512,512", False),  # scores of more than a small part of a device
    ],
)
def test_small_scores_of_short_texts_are_one_of_many(shape: str, batch_first: bool) -> None:
    advice = first(oom(shape, "encoder/layer_3/attention/self/Softmax"))
    assert ("batch" in advice) is batch_first


@pytest.mark.parametrize(
    ("kernel", "shape", "scores"),
    [
        ("batch_matmul_op_impl.h:601", "96,6000,6000", False),  # of any matrices
        ("softmax_op_gpu.cu.cc:201", "96,6000,6000", True),
        ("batch_matmul_op_impl.h:601", "12,8,6000,6000", True),  # samples x heads
    ],
)
def test_any_product_of_matrices_is_no_attention(kernel: str, shape: str, scores: bool) -> None:
    text = (
        f"W tensorflow/core/framework/op_kernel.cc:1502] OP_REQUIRES failed at {kernel} : Resource exhausted:"
        f" OOM when allocating tensor with shape[{shape}] and type float on /device:GPU:0 by allocator"
        " GPU_0_bfc\n"
    )
    assert ("attention scores" in explained(text).verdict) is scores


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("parser.add_argument('--attn_res', type=int, nargs='+', default=[48, 24, 12])", "begins at 24 x 24"),
        ("config = dict(size=96, attn_levels=(48, 12))", "begins at 12 x 12"),
        ("attention_sides = [48]", "take 48 out of `attention_sides` (line 1): of the map"),
        ("attn_res = [32, 16]", None),  # another map
        ("widths = [48, 24]", None),
    ],
)
def test_the_setting_that_lists_maps_with_attention(setting: str, told: str | None) -> None:
    text = f"{setting}\n{oom('2,4,2304,2304', 'unet/down0_attn/MatMul')}"
    actions = [each.remedy for each in explained(text).actions]
    of_setting = next((each for each in actions if each.slug == "lower-setting"), None)
    assert (of_setting is not None) is (told is not None)
    if told and of_setting:
        assert actions[0] is of_setting and told in of_setting.text
        assert "smaller-input" not in {each.slug for each in actions}


def test_scores_of_the_next_map_are_left() -> None:
    text = f"attn_res = [48, 24]\n{oom('2,4,2304,2304', 'unet/down0_attn/MatMul')}"
    need = 2 * 4 * 2304 * 2304 * 4
    assert explained(text).actions[0].remedy.saves_bytes == need - need // 16


@pytest.mark.parametrize(("op", "of_pairs"), [("Tile", False), ("Reshape_1", False), ("einsum/Einsum", True)])
def test_an_image_upscaled_by_hand_is_no_attention(op: str, of_pairs: bool) -> None:
    verdict = explained(oom("64,16,32,64,32,64", f"up/{op}")).verdict
    assert ("positions with every other" in verdict) is of_pairs


def test_an_annotated_setting_lists_maps_as_well() -> None:
    text = f"    attn_at: Tuple[int, ...] = (48, 12)\n{oom('2,4,2304,2304', 'unet/attn/MatMul')}"
    assert "take 48 out of `attn_at` (line 1)" in explained(text).actions[0].remedy.text
