"""The first action fits the kind of tensor, the moment and the program that asked."""

from __future__ import annotations

import pytest

from tests.findings.logs import GPU, oom
from tests.findings.test_texts_of_strangers import explained, first

PRESET = "lm = keras_nlp.models.MistralCausalLM.from_preset('mistral_7b_en')"


def late(epoch: int) -> str:
    grad = oom("3,3,96,192", "gradient_tape/unet/conv_b/Conv2DBackpropFilter")
    ran = f"It ran for {epoch} epochs and then this comes.\nEpoch {epoch}/500\n"
    return f"{ran} 41/120 [=>...] - loss: 0.07\n{grad}"


def test_after_many_epochs_a_bystander_is_asked_for_growth() -> None:
    assert first(late(193)) == "find-what-grows"
    assert first(late(1)) != "find-what-grows"


def in_a_cell(line: str, shape: str) -> str:
    return (
        "ResourceExhaustedError                    Traceback (most recent call last)\n"
        f"<ipython-input-9-0b1e44a3c712> in <module>\n----> 6 {line}\n\n"
        f"ResourceExhaustedError: {{{{function_node __wrapped__AddV2_device_{GPU}}}}} OOM when allocating"
        f" tensor with shape[{shape}] and type bfloat16 on {GPU} by allocator GPU_0_bfc [Op:AddV2] name:\n"
    )


def test_a_pretrained_model_that_is_made_has_no_batch() -> None:
    found = explained(in_a_cell(PRESET, "4096,14336"))
    assert found.findings[0].rule == "weights-loaded"
    assert found.actions[0].remedy.slug == "smaller-model"
    assert "in-pieces" not in [each.remedy.slug for each in found.actions]
    images = explained(in_a_cell(PRESET, "8,512,512,3"))
    assert images.findings[0].rule != "weights-loaded"


def nameless(shape: str) -> str:
    return (
        "W tensorflow/core/framework/op_kernel.cc:975] Resource exhausted: OOM when allocating"
        f" tensor with shape[{shape}]\n"
    )


IN_USE = "".join(
    f"I tensorflow/core/common_runtime/bfc_allocator.cc:{line}\n"
    for line in (
        "670] Chunk at 0x402800000 of size 1073741824",
        "670] Chunk at 0x442800000 of size 738197504",
        "685]      Summary of in-use Chunks by size: ",
        "688] 1 Chunks of size 738197504 totalling 704.00MiB",
        "688] 1 Chunks of size 1073741824 totalling 1.00GiB",
        "692] Sum Total of in-use chunks: 1.69GiB",
        "694] Stats: ",
    )
)
STATS = (
    "Limit:                  1818230784\nInUse:                  1812080640\n"
    "MaxInUse:               1812080640\n"
    "NumAllocs:                      97\nMaxAllocSize:           1073741824\n\n"
    "W tensorflow/core/common_runtime/bfc_allocator.cc:274] Ran out of memory trying to allocate 1.00GiB."
    "  See logs for memory state.\n"
)
FULL = IN_USE + STATS


@pytest.mark.parametrize("shape", ["65536,4096", "32768,8192"])
def test_a_nameless_matrix_of_round_sides_is_a_dense_weight(shape: str) -> None:
    found = explained(FULL + nameless(shape))
    assert found.actions[0].remedy.text.startswith("by its shape it may be a dense layer's weight")


@pytest.mark.parametrize("shape", ["65537,4096", "65536,300"])
def test_a_matrix_of_any_rows_is_none(shape: str) -> None:
    found = explained(FULL + nameless(shape))
    assert "dense layer's weight" not in str([each.remedy.text for each in found.actions])


def run(samples: int, code: str) -> str:
    failed = oom(f"{samples},16,128,128,3", "gradients/max_pooling3d/MaxPool3D_grad/MaxPool3DGrad")
    return (
        f'Traceback (most recent call last):\n  File "cnn3d.py", line 174, in <module>\n    {code}\n{failed}'
    )


def test_a_whole_set_that_is_fed_goes_in_batches() -> None:
    feed = "_, l = sess.run([train_op, loss], feed_dict=train_feed)"
    found = explained(run(860, feed))
    assert found.actions[0].remedy.slug == "in-batches"
    assert "860 -> 64" in found.actions[0].remedy.text
    assert first(run(512, feed)) == "smaller-batch"
    assert first(run(860, "model.fit(x, y)")) == "smaller-batch"


def directml(in_use: int) -> str:
    return (
        f"25 Chunks of size {in_use // 25} totalling 6GiB\n"
        f"Sum Total of in-use chunks: {in_use / 2**30:.2f}GiB\n"
        f"total_region_allocated_bytes_: 6860832768 memory_limit_: 6871947673 available bytes: 11114905\n"
        "OP_REQUIRES failed at dml_ops_common.cc:96 : Resource exhausted: OOM when allocating a buffer of"
        " 268435456 bytes\n"
    )


def test_a_pool_that_the_process_fills_itself_sends_nobody_to_others() -> None:
    assert first(directml(25 * (256 << 20))) == "smaller-input"
    room = [each.remedy.text for each in explained(directml(25 * (64 << 20))).actions]
    assert not any("this process itself fills its pool" in text for text in room)


THROWN = "Microsoft C++ exception: std::bad_alloc at memory location 0x000000A1F73FD0E0.\n"


def test_a_program_of_the_c_api_has_no_input_pipeline() -> None:
    slugs = [each.remedy.slug for each in explained(f"libtensorflow-cpu-windows 2.4.0\n{THROWN}").actions]
    assert slugs[0] == "smaller-input"
    assert not {"smaller-pipeline", "size-the-slabs"} & set(slugs)
    python = [
        each.remedy.slug for each in explained(f"tensorflow 1.10\nlibtensorflow_cc.so.2\n{THROWN}").actions
    ]
    assert {"smaller-pipeline", "size-the-slabs"} <= set(python)


_ON_THE_CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def in_ram(shape: str) -> str:
    return (
        f"ResourceExhaustedError: OOM when allocating tensor with shape[{shape}] and type float on"
        f" {_ON_THE_CPU} by allocator cpu\n"
    )


def test_next_to_nothing_of_full_ram_has_no_batch() -> None:
    assert first(in_ram("2048,24")) == "tell-which"
    assert "smaller-batch" not in [each.remedy.slug for each in explained(in_ram("2048,24")).actions]


def test_a_large_request_of_ram_may_have_a_batch() -> None:
    assert "tell-which" not in [each.remedy.slug for each in explained(in_ram("256,224,224,64")).actions]


_WHOLE = "OOM when allocating tensor with shape[50000,32,30,30] and type float on {} by allocator GPU_0_bfc"


def test_where_a_batch_was_tried_in_vain_another_call_takes_all() -> None:
    asked = f"ResourceExhaustedError: {_WHOLE.format(GPU)} [Op:Conv2D]\n"
    tried = explained(f"{asked}I set the batch_size to 4, and the same error occurs.\n").actions[0].remedy
    assert tried.text.startswith("a batch of 4 is not what this call took")
    assert tried.code and "predict" not in tried.code
    assert "is not what this call took" not in explained(asked).actions[0].remedy.text
    evaluated = f"{asked}I set the batch_size to 4, and the same error occurs in model.evaluate(x, y).\n"
    assert "is not what this call took" not in explained(evaluated).actions[0].remedy.text
