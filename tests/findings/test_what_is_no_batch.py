"""First dimensions that are no batch, and advice that fits what they are."""

from __future__ import annotations

import pytest

from tests.findings.logs import GPU, dump, oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report

SERVING = "I server_core.cc:87] Successfully loaded servable version {name: ocr version: 3}\n"
EDGES = (
    "Arguments received by Aggregate.call():\n  \u2022 x=tf.Tensor(shape=(90000, 64), dtype=float32)\n"
    "  \u2022 pairs=tf.Tensor(shape=(2, 700000), dtype=int64)\n"
)


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def slugs(text: str) -> list[str]:
    return [action.remedy.slug or "" for action in explained(text).actions]


def in_layer(kind: str, op: str, shape: str, arguments: str = "") -> str:
    return (
        'Traceback (most recent call last):\n  File "net.py", line 40, in call\n    h = self.mix(h)\n'
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Exception encountered when calling"
        f" {kind}.call().\n\n{{{{function_node __wrapped__{op}_device_{GPU}}}}} OOM when allocating tensor"
        f" with shape[{shape}] and type float on {GPU} by allocator GPU_0_bfc [Op:{op}]\n\n{arguments}"
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (in_layer("Aggregate", "GatherV2", "700000,64", EDGES), "each edge"),
        (in_layer("Aggregate", "MatMul", "90000,64", EDGES), "each node"),
        (in_layer("GATConv", "LeakyRelu", "90000,256"), "each edge or node"),
        (oom("500000,32", "gcn/layer_1/GatherV2"), "each edge"),
    ],
)
def test_rows_of_a_whole_graph_are_no_batch(text: str, what: str) -> None:
    assert what in explained(text).verdict
    told = slugs(text)
    assert "sample-neighbours" in told and "smaller-batch" not in told
    assert ("sparse-product" in told) is (what == "each edge")


@pytest.mark.parametrize(
    "text",
    [
        in_layer("Dense", "MatMul", "90000,64"),
        in_layer("GATConv", "LeakyRelu", "4096,256"),
        in_layer("Lookup", "GatherV2", "90000,64", EDGES.replace("2, 700000", "64, 700")),
        oom("500000,32", "gather/GatherV2"),
    ],
)
def test_many_rows_alone_are_no_graph(text: str) -> None:
    assert "sample-neighbours" not in slugs(text)


@pytest.mark.parametrize("shape", ["900,512,14,14", "900,14,14,512"])
def test_crops_of_a_second_stage_are_boxes(shape: str) -> None:
    text = oom(shape, "SecondStageFeatureExtractor/block4/unit_1/conv1/Conv2D")
    assert "900 boxes" in explained(text).verdict and "14 x 14" in explained(text).verdict
    assert slugs(text)[0] == "fewer-boxes"
    assert "smaller-batch" not in slugs(text)


@pytest.mark.parametrize(
    "node", ["FirstStageFeatureExtractor/conv1/Conv2D", "resnet/stage_2/conv/Conv2D", "net/heroic/Conv2D"]
)
def test_images_of_a_first_stage_are_a_batch(node: str) -> None:
    assert "fewer-boxes" not in slugs(oom("8,14,14,512", node))


def test_rows_of_all_tokens_are_not_told_as_a_batch() -> None:
    halves = [each.remedy.text for each in explained(oom("50432,768", "vit/mlp/fc1/BiasAdd")).actions]
    assert any(text.startswith("halve the batch") for text in halves)
    assert not any("50432" in text for text in halves)
    assert any(
        "(512 -> 256)" in each.remedy.text for each in explained(oom("512,768", "net/fc1/BiasAdd")).actions
    )


def test_a_server_is_told_of_requests_and_not_of_training() -> None:
    told = slugs(SERVING + oom("5,240,512,512"))
    assert told[:2] == ["smaller-requests", "smaller-examples"]
    assert "smaller-batch" not in told and "record-a-step" not in told
    assert "smaller-requests" in slugs(SERVING + oom("64,12,512,512", "bert/attention/MatMul"))
    assert "smaller-requests" not in slugs(oom("5,240,512,512"))


@pytest.mark.parametrize(
    ("setting", "first"),
    [
        ("LogicalDeviceConfiguration(memory_limit=400)", True),
        ("LogicalDeviceConfiguration(memory_limit=4000)", False),
        ("allow_growth = True", False),
    ],
)
def test_a_limit_that_the_program_sets_is_named_first(setting: str, first: bool) -> None:
    created = f"Created device {GPU} with 400 MB memory:  -> device: 0, name: NVIDIA A100-SXM4-40GB, pci\n"
    assert (slugs(f"{setting}\n{created}{oom('8,64,256,200')}")[0] == "raise-own-limit") is first


def test_a_limit_that_is_nearly_the_whole_gpu_is_no_cause() -> None:
    created = (
        f"Created device {GPU} with %d MB memory:  -> device: 0, name: Tesla T4, pci bus id: 0000:00:04.0,"
        " compute capability: 7.5\n"
    )
    settings = "LogicalDeviceConfiguration(memory_limit=%d)\n"
    for limit, told in ((13500, False), (3000, True)):
        text = settings % limit + created % limit + oom("64,128,256,256")
        assert ("raise-own-limit" in slugs(text)) is told


def test_one_sample_is_not_halved() -> None:
    assert "smaller-batch" not in slugs(oom("1,8,4096,4096", "net/attention/MatMul"))
    assert "smaller-batch" not in slugs(
        "model.fit(ds.batch(1))\n" + oom("8,4096,4096", "net/attention/MatMul")
    )
    assert "smaller-batch" in slugs(oom("2,8,4096,4096", "net/attention/MatMul"))


def test_positions_of_an_image_are_no_sequence() -> None:
    text = explained(oom("1,8,4096,4096", "diffusion_unet/attn_64/MatMul")).actions[0].remedy.text
    assert "64 x 64" in text and "sequence" not in text
    assert "sequence" in explained(oom("1,8,4096,4096", "encoder/attn/MatMul")).actions[0].remedy.text


def test_holes_are_mended_before_the_batch() -> None:
    told = slugs(dump(120, 1000, 600, (100, 90, 80, 70, 60)) + oom("8,64,240,256"))
    assert told.index("async-allocator") < told.index("batch-for-the-block")


@pytest.mark.parametrize(
    ("line", "training", "validation"),
    [
        ("model.fit(tr.batch(2), validation_data=va.batch(16))", "2", "16"),
        ("ds = ds.shuffle(100).batch(32, drop_remainder=True)", "32", None),
        ("val_ds = load('val').batch(8)", None, "8"),
        ("y = np.batch(x)", None, None),
    ],
)
def test_the_batches_of_data_sets(line: str, training: str | None, validation: str | None) -> None:
    told = explained(line + "\n" + oom("8,8")).case.capture.surroundings
    known = (told.setting("batch_size"), told.setting("validation_batch_size"))
    assert tuple(each[0] if each else None for each in known) == (training, validation)


def test_what_is_held_is_not_asked_for_where_the_cause_is_known() -> None:
    assert "record-a-step" not in slugs(in_layer("GATConv", "LeakyRelu", "90000,256"))
    assert {"record-a-step", "list-tensors", "read-the-log"} & set(slugs(oom("8,64,64,64")))
