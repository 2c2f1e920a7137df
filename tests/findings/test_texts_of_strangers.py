"""Short texts as they are pasted: what a shape, a counter or the allocator's figures tell by themselves."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, GPU, oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report

COPY = f"InternalError: Failed copying input tensor from {CPU} to {GPU} in order to run"
DST = "Dst tensor is not initialized."


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def first(text: str) -> str | None:
    """The slug of the first action."""
    actions = explained(text).actions
    return actions[0].remedy.slug if actions else None


def leading(text: str) -> str:
    return explained(text).findings[0].rule


def eager(op: str, shape: str) -> str:
    said = f"OOM when allocating tensor with shape[{shape}] and type float on {GPU} by allocator GPU_0_bfc"
    return f"{said} [Op:{op}]"


def statistics(limit: int, in_use: int) -> str:
    return (
        "2021-05-02 11:02:03.100000: I tensorflow/core/common_runtime/bfc_allocator.cc:1010] Stats: \n"
        f"Limit:             {limit}\nInUse:             {in_use}\nMaxInUse:          {in_use}\n"
        "NumAllocs:                 7\nMaxAllocSize:           1280\n"
    )


@pytest.mark.parametrize("shape", ["1,4800,3600,3", "1,32,2400,1800"])
def test_a_large_image_at_a_batch_of_one_is_made_smaller(shape: str) -> None:
    text = f"ResourceExhaustedError: OOM when allocating tensor with shape[{shape}]"
    assert first(text) == "smaller-input"
    assert "at a batch of 1" in explained(text).verdict


def test_two_images_are_no_single_one() -> None:
    assert (
        first("ResourceExhaustedError: OOM when allocating tensor with shape[2,4800,3600,3]")
        != "smaller-input"
    )


@pytest.mark.parametrize("shape", ["8,32,7000,6800", "8,7000,6800,32"])
def test_images_of_which_one_is_too_large_are_made_smaller_before_the_batch(shape: str) -> None:
    found = explained(f"ResourceExhaustedError: OOM when allocating tensor with shape[{shape}]")
    assert [action.remedy.slug for action in found.actions][:2] == ["smaller-input", "smaller-batch"]
    assert "one sample takes 5.67 GiB of it in float32, at any batch (7,000 x 6,800)" in found.verdict
    typed = explained(
        f"ResourceExhaustedError: OOM when allocating tensor with shape[{shape}] and type float on {GPU}"
    )
    assert "takes 5.67 GiB of it, at any batch" in typed.verdict
    assert typed.actions[0].remedy.slug == "smaller-input"
    less = explained("ResourceExhaustedError: OOM when allocating tensor with shape[8,32,5800,5700]")
    assert less.actions[0].remedy.slug == "smaller-batch"


def test_an_unexplained_first_dimension_is_the_batch_only_as_a_question() -> None:
    found = explained(
        "ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[96,2048,24]"
    )
    assert found.actions[0].remedy.text.startswith(
        "if its first dimension, 96, is your batch: halve it (96 -> 48)"
    )
    image = explained("ResourceExhaustedError: OOM when allocating tensor with shape[720,1280,3]")
    assert "is your batch" not in " ".join(action.remedy.text for action in image.actions)


def test_a_small_kernel_that_finds_no_room_means_a_full_device() -> None:
    text = eager("Mul", "3,3,256,512")
    assert first(text) == "see-device-users"
    assert "as large whatever the batch" in explained(text).verdict
    assert first(eager("Mul", "32,64,256,512")) != "see-device-users"
    made = oom("3,3,256,512", "conv2d_9/random_uniform/RandomUniform")
    assert first(made) == "see-device-users"
    assert "does not help here: so small a weight" in explained(made).verdict
    assert first(oom("3,3,2048,2048", "conv2d_9/random_uniform/RandomUniform")) != "see-device-users"


def test_a_table_that_an_eager_update_works_on_has_no_batch() -> None:
    assert first(eager("Mul", "240016,512")) == "smaller-model"
    assert first(eager("Mul", "4096,512")) != "smaller-model"


def test_the_gradient_of_a_matrix_is_told_as_that() -> None:
    node = "net/gradients/cell/MatMul_12_grad/MatMul_1"
    tag = f'[[Node: {node} = MatMul[T=DT_FLOAT, transpose_a={{}}, transpose_b=false, _device="{GPU}"](a, b)]]'
    text = "OOM when allocating tensor with shape[1536,3072]\n\t " + tag
    assert "the gradient of a weight" in explained(text.format("true")).verdict
    assert "the gradient of a weight" not in explained(text.format("false")).verdict


def test_a_kernel_as_cudnn_turns_it_shows_no_batch() -> None:
    def halved(shape: str) -> bool:
        actions = explained(oom(shape, "net/block2/conv2/Conv2D")).actions
        return any(" -> " in action.remedy.text for action in actions)

    assert not halved("128,128,3,3")
    assert halved("128,128,28,28")


def test_a_pool_of_next_to_nothing_is_another_process() -> None:
    tiny = statistics(60_000_000, 2048) + f"{DST} [Op:IteratorGetNext]"
    assert (leading(tiny), first(tiny)) == ("cut-dump", "see-device-users")
    small = (
        statistics(110_000_000, 2048)
        + "Ran out of memory trying to allocate 200.00MiB.  See logs for memory state."
    )
    assert first(small) == "see-device-users"  # of shapes that are too large nothing is known
    full = statistics(400_000_100, 399_990_000) + "OOM when allocating tensor with shape[1,600,400,3]"
    assert (leading(full), first(full)) == ("cut-dump", "see-device-users")
    own = full.replace("400000100", "419430400")
    assert first(own) != "see-device-users"
    idle = statistics(9_000_000_000, 20_480)
    assert (leading(idle), first(idle)) == ("cut-dump", "find-the-size")
    half = statistics(9_000_000_000, 4_500_000_000)
    assert first(half) != "find-the-size"


def test_a_warning_that_is_cut_behind_its_count_is_still_no_failure() -> None:
    said = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.75GiB with freed_by_count=0."
    assert leading(f'# tensorflow: "{said}"') == "soft-warnings-only"
    real = said.replace(" with freed_by_count=0", "  Current allocation summary follows")
    assert leading(real) != "soft-warnings-only"


def test_arrays_that_fit_splits_are_copied_whole() -> None:
    text = f"{COPY} GatherV2: {DST} [Op:GatherV2]"
    fit = "model.fit(x_all, y_all, batch_size=64, epochs=5, validation_split=0.2)\n"
    assert first(f"```\n{fit}```\n{text}") == "split-on-the-host"
    assert first(text) == "one-batch-at-a-time"


def test_a_value_of_a_file_of_weights_is_no_data_set() -> None:
    text = (
        'Traceback (most recent call last):\n  File "sample.py", line 41, in build\n'
        "    unet.load_weights(path)\n"
        f"tensorflow.python.framework.errors_impl.{COPY} _EagerConst: {DST}"
    )
    assert (leading(text), first(text)) == ("weights-loaded", "see-device-users")
    assert leading(text.replace("unet.load_weights(path)", "unet.fit(x, y)")) == "whole-set-in-one-batch"


def test_a_fed_test_set_goes_in_batches() -> None:
    node = "_recv_Placeholder_2_0/_5"
    text = (
        "<ipython-input-8-00aa11bb22cc> in <module>()\n"
        "---> 12 print(accuracy.eval({x: images, y: labels}))\n\n"
        f"InternalError: {DST}\n\t [[Node: {node} = _Recv[client_terminated=false,"
        f' recv_device="{GPU}", send_device="{CPU}", tensor_type=DT_FLOAT]()]]'
    )
    assert first(text) == "in-batches"
    assert first(text.replace("accuracy.eval(", "step.run(")) != "in-batches"


def test_layers_counted_on_from_earlier_models() -> None:
    def summary(number: int) -> str:
        rows = [(f"embedding_{number}", "Embedding", 18_000_000), (f"conv1d_{number}", "Conv1D", 9_632)]
        rows += [(f"dropout_{number}", "Dropout", 0)]
        lines = "\n".join(f"{name} ({kind})     (None, 80, 120)    {count}" for name, kind, count in rows)
        return f"Layer (type)      Output Shape      Param #\n{lines}\n"

    failed = "OOM when allocating tensor of shape [150000,120] and type float"
    assert (leading(summary(21) + failed), first(summary(21) + failed)) == ("stale-graphs", "clear-session")
    assert leading(summary(1) + failed) != "stale-graphs"


def test_a_vector_has_no_batch() -> None:
    text = statistics(3_000_000_000, 9_984) + (
        f"OOM when allocating tensor with shape[1290000000] and type int32 on {GPU} by allocator GPU_0_bfc"
    )
    assert (leading(text), first(text)) == ("request-larger-than-device", "compare-shapes")


def test_a_width_that_nobody_chooses_is_no_weight() -> None:
    def alone(shape: str) -> str:
        return (
            f"OOM when allocating tensor with shape[{shape}] and type float on {GPU} by allocator GPU_0_bfc"
        )

    assert leading(alone("310000,1204")) == "matrix-without-a-name"
    assert leading(alone("310000,1207")) != "matrix-without-a-name"


def test_a_node_that_was_typed_off_the_screen() -> None:
    text = (
        "Error: OOM when allocating tensor with shape [3,3,256,1024] and type float\n"
        "[[{{node training/adam/mul_41}} Mul[T=DT_float]\n\nAlso [[{{node loss/decoder_loss/Mean/_31}}]]"
    )
    assert "`training/adam/mul_41`" in explained(text).verdict


def test_a_heading_gives_way_to_the_log_below_it() -> None:
    title = (
        "# ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[2048]\n"
    )
    log = statistics(1_700_000_000, 1_690_000_000) + (
        "W tensorflow/core/framework/op_kernel.cc:1152] Resource exhausted: OOM when allocating tensor with"
        " shape[18432,2048]"
    )
    assert "[18432,2048]" in explained(title + log).verdict
    assert "[2048]" in explained(title).verdict


def test_workers_of_a_web_server_share_the_device() -> None:
    failed = oom("600,900,3", "Cast")
    assert leading(f"served by gunicorn with several processes\n{failed}") == "processes-on-one-device"
    assert leading(f"served by gunicorn\n{failed}") != "processes-on-one-device"


def test_many_equal_chunks_ask_whether_they_grow() -> None:
    chunks = (
        "I tensorflow/core/bfc_allocator.cc:1097] 5200 Chunks of size 204800 totalling 1015.6MiB\n"
        "I tensorflow/core/bfc_allocator.cc:1101] Sum Total of in-use chunks: 1015.6MiB\n"
    )
    action = explained(chunks).actions[0].remedy
    assert action.text.startswith("see whether their number grows")


def test_a_class_for_every_string_is_looked_for() -> None:
    slot = oom("1024,380000", "out/Adam_1/Assign")
    assert first(slot) == "fewer-classes"
    assert first(oom("1024,3800", "out/Adam_1/Assign")) != "fewer-classes"
    assigned = oom("48,9000000", "", kernel="assign_op.h").partition("\n")[0]
    assert first(assigned) == "fewer-classes"


def test_a_variable_that_is_assigned_is_known_by_its_source() -> None:
    text = oom("2,2,2,256,512", "", kernel="assign_op.h").partition("\n")[0]
    assert (leading(text), first(text)) == ("parameters-dominate", "see-device-users")
    assert leading(text.replace("assign_op", "cwise_op")) != "parameters-dominate"


def test_a_first_value_of_next_to_nothing_means_a_full_device() -> None:
    text = oom("", "net/conv/w/Initializer/truncated_normal/stddev")
    assert first(text) == "see-device-users"


def test_a_kernel_without_type_or_op_is_a_weight() -> None:
    cut = "OOM when allocating tensor with shape"
    assert first(f"`Resource exhausted: {cut}[3, 3, 96, 192]`") == "see-device-users"
    host = f"ResourceExhaustedError: {cut}[5,5,128,256] and type float on {CPU} by"
    assert "Out of host RAM" in explained(host).verdict
    assert first(host) == "tell-which"


def test_one_volume_is_cut_into_patches() -> None:
    said = f"OOM when allocating tensor with shape[1,112,112,112,24] and type float on {GPU}"
    assert first(said) == "smaller-input"
    assert "an eighth" in explained(said).actions[0].remedy.text
    assert first(said.replace("[1,112,112,112,24]", "[1,16,16,16,24]")) != "smaller-input"


def test_trying_to_train_is_no_advice() -> None:
    said = "When I try to train it with input (96, 96, 96, 1) and batch size = 1, it fails.\n"
    volume = oom("1,96,96,96,40", "net/conv3d/Conv3D")
    texts = [action.remedy.text for action in explained(said + volume).actions]
    assert any("the batch is 1 already" in text for text in texts)
    advice = explained("Try to set batch_size=1.\n" + oom("96,96,96,40", "net/conv/Conv2D")).actions
    assert not any("the batch is 1 already" in action.remedy.text for action in advice)


def test_a_number_of_samples_that_is_no_batch_is_a_set() -> None:
    assert leading(oom("1130,96,96,24", "net/pool/MaxPool")) == "whole-set-in-one-batch"
    assert leading(oom("1024,96,96,24", "net/pool/MaxPool")) != "whole-set-in-one-batch"


def test_a_full_pool_is_met_with_less_of_all() -> None:
    text = statistics(1_900_000_000, 1_900_000_000) + "OOM when allocating tensor with shape[3072]"
    assert "need less in all" in explained(text).actions[0].remedy.text
    half = statistics(1_900_000_000, 900_000_000) + "OOM when allocating tensor with shape[3072]"
    assert "need less in all" not in explained(half).actions[0].remedy.text


def test_a_small_part_of_a_card_that_the_program_grants_itself() -> None:
    code = "config.gpu_options.per_process_gpu_memory_fraction = {}\n"
    failed = "I use a GTX 1060 6GB\n" + oom("80,40000", "match/Mul")
    assert leading(code.format("0.25") + failed) == "limit-of-your-own"
    assert leading(code.format("0.7") + failed) != "limit-of-your-own"


def test_a_card_that_is_named_with_its_bus() -> None:
    table = oom("400000,256", "embeddings/Adam/Initializer/zeros")
    assert first("Machine: 4 * Tesla V100-PCIE-16GB\n" + table) == "see-device-users"
    assert first(table) != "see-device-users"


def test_a_server_is_sent_less() -> None:
    died = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
    assert first(f"The request of 64 images to TFServing fails:\n{died}") == "smaller-requests"
    assert first(f"The request to TFServing fails:\n{died}") == "container-limit"
    assert first(f"The program fails:\n{died}") != "smaller-requests"


def test_a_killed_process_on_a_jetson_leaves_the_gpu_less() -> None:
    board = "name: NVIDIA Tegra X2 major: 6 minor: 2\ntotalMemory: 7.67GiB freeMemory: 6.14GiB\n"
    assert first(f"{board}loading the model\nKilled\n") == "room-beside-the-pool"
    assert first("loading the model\nKilled\n") != "room-beside-the-pool"


def test_a_matrix_behind_flatten_is_pooled_first() -> None:
    slot = oom("131072,2048", "training/Adam/mul_3")
    code = "```\nmodel.add(TimeDistributed(Flatten(), input_shape=(24, 8, 8, 2048)))\n```\n"
    assert first(code + slot) == "pool-first"
    assert first(slot) == "smaller-vocabulary"
    assert first(oom("123008,512", "training/Adam/mul_3")) == "pool-first"


@pytest.mark.parametrize(
    ("limit", "rule", "not_it"),
    [
        (60_000_000, "cut-dump", "limit-of-your-own"),  # what was free when the process started
        (64 << 20, "limit-of-your-own", "cut-dump"),  # what somebody sets
    ],
)
def test_a_tiny_pool_has_one_reason(limit: int, rule: str, not_it: str) -> None:
    failed = "OOM when allocating tensor with shape[256] and type float on {} by allocator GPU_0_bfc\n"
    rules = [each.rule for each in explained(statistics(limit, limit - 512) + failed.format(GPU)).findings]
    assert rule in rules and not_it not in rules
