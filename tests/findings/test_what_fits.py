"""Advice fits what was asked for and what the run was doing: weights by kind, evaluation, named causes."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, dump, oom, report
from tfmemlens import pipeline
from tfmemlens.model.report import Report

FIT = " [Op:__inference_train_function_17]"


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def advice(text: str) -> str:
    return " | ".join(action.remedy.text for action in explained(text).actions)


def rules(text: str) -> set[str]:
    return {finding.rule for finding in explained(text).findings}


def test_a_table_is_made_smaller_and_no_image_is_pooled() -> None:
    said = advice(oom("250002,4096", "lm/embeddings/Adam"))
    assert "fewer rows" in said and "lighter" not in said and "keeps less" in said
    assert "pool" not in said and "batch" not in said


def test_a_wide_dense_kernel_is_pooled_before() -> None:
    said = advice(oom("200704,4096", "fc6/kernel/Initializer/random_uniform/RandomUniform"))
    assert "pool before the layer" in said and "halve the batch" not in said
    assert "pool before" not in advice(
        oom("4096,8192", "fc7/kernel/Initializer/random_uniform/RandomUniform")
    )


def test_a_filter_has_fewer_channels() -> None:
    said = advice(oom("3,3,2048,2048", "conv/kernel/Initializer/random_uniform/RandomUniform"))
    assert "half the filters" in said and "Flatten" not in said


@pytest.mark.parametrize(
    ("slot", "times"), [("Momentum", 3), ("Adam_1", 4), ("RMSProp", 3), ("Initializer/zeros", 4)]
)
def test_the_optimizer_that_a_slot_names_is_counted(slot: str, times: int) -> None:
    text = oom("50176,4096", f"fc6/weights/{slot}")
    headline = next(
        each.headline for each in explained(text).findings if each.rule == "dense-kernel-gradient"
    )
    assert headline.endswith({3: "2.30 GiB", 4: "3.06 GiB"}[times]), headline
    assert ("Adam" in headline) == (times == 4)


RAN = {
    "test_function": oom("256,56,56,8") + " [Op:__inference_test_function_21]",
    "a served model": oom("256,56,56,8") + " [Op:__inference_signature_wrapper_4]",
    "a layer that does not train": (
        'Exception encountered when calling layer "net" (type Net).\n\n'
        + oom("256,56,56,8")
        + '\nCall arguments received by layer "net" (type Net):\n  \u2022 training=False\n'
    ),
    "a call of predict": (
        'Traceback (most recent call last):\n  File "/home/u/a.py", line 3, in f\n    model.predict(x)\n'
        + oom("256,56,56,8")
    ),
    "an evaluation in a session": (
        'Traceback (most recent call last):\n  File "/home/u/a.py", line 3, in <module>\n'
        "    print(accuracy.eval(feed_dict={x: test.images}))\n" + oom("256,56,56,8")
    ),
}


@pytest.mark.parametrize("name", RAN)
def test_nothing_of_training_is_advised_where_none_runs(name: str) -> None:
    said = advice(RAN[name])
    assert "use a smaller batch for" in said
    assert "accumulation" not in said and "checkpointing" not in said and "halve the batch" not in said


def test_a_frozen_layer_inside_training_is_training() -> None:
    near = RAN["a layer that does not train"].replace("}}]]", "}}]]" + FIT)
    assert "use a smaller batch for" not in advice(near)
    assert "accumulation" in advice(oom("256,56,56,8") + FIT)


def test_the_input_pipeline_is_no_training() -> None:
    said = advice(
        "(0) Resource exhausted:  OOM when allocating tensor with shape[4096,4096,3] and type float on"
        f" {CPU} by allocator cpu\n\t [[{{{{node resize/ResizeBilinear}}}}]]\n\t [[IteratorGetNext]]\n"
    )
    assert "input pipeline" in said and "mixed precision" not in said and "accumulation" not in said


def test_a_named_cause_makes_general_advice_unnecessary() -> None:
    assert "request-alone" not in rules(
        oom("200000,128", "gradients/w/embedding_lookup_grad/UnsortedSegmentSum")
    )
    assert "request-alone" in rules(oom("64,56,56,8"))
    alone = dump(4096, 8000, 6000) + oom("256,256,256,64")
    assert "one-tensor-dominates" in rules(alone), "the allocator's sums name no cause"


def test_a_product_is_no_vocabulary_without_a_name_or_a_known_size() -> None:
    assert "vocabulary-logits" not in rules(oom("2500,40000", "MatMul_3"))
    assert "vocabulary-logits" in rules(oom("2500,50257", "MatMul_3"))
    assert "vocabulary-logits" in rules(oom("2500,40000", "logits/MatMul"))
    sparse = advice(oom("2500,40000", "loss/SparseSoftmaxCrossEntropyWithLogits"))
    assert "integer labels" not in sparse and "part of the positions" in sparse


def test_small_weights_are_not_blamed_for_a_request_many_times_as_large() -> None:
    held = report(
        "100.00MiB from net/fc/kernel/Adam", "100.00MiB from net/fc/kernel/Assign", "9.00MiB from x/Relu"
    )
    assert "parameters-dominate" in rules(oom("8,64,64,8") + held)
    large = oom("120000,50,180", "dist/Tile") + held
    assert "parameters-dominate" not in rules(large)
    assert all(action.remedy.saves_bytes is None for action in explained(large).actions)


def test_an_array_that_is_copied_whole_is_cut_on_the_host() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/home/u/a.py", line 3, in <module>\n'
        "    model.fit(x, y, batch_size=2)\n"
        "tensorflow.python.framework.errors_impl.InternalError: Failed copying input tensor from"
        " /job:localhost/replica:0/task:0/device:CPU:0 to"
        " /job:localhost/replica:0/task:0/device:GPU:0 in order to run _EagerConst: Dst tensor is not"
        " initialized."
    )
    said = advice(text)
    assert "copy one batch at a time" in said and "halve the batch" not in said


LAYER = """Exception encountered when calling layer "%s" (type %s).

OOM when allocating tensor with shape[64,12,512,512] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:AddV2]
"""  # noqa: E501


def test_attention_is_known_by_the_type_of_its_layer() -> None:
    assert "attention-scores" in rules(LAYER % ("self", "TFBertSelfAttention"))
    assert "attention-scores" in rules(LAYER % ("mha_3", "MultiHeadAttention"))
    assert "attention-scores" not in rules(LAYER % ("blend", "Blend"))


def test_a_gradients_scope_may_stand_twice() -> None:
    once = "training/Adam/gradients/gradients/pool/MaxPool_grad/MaxPoolGrad"
    twice = "gradients_1/gradients/conv/Conv2D_grad/Conv2DBackpropInput_grad/Conv2D"
    assert "second-derivative" not in rules(oom("48,64,64,32", once))
    assert "second-derivative" in rules(oom("48,64,64,32", twice))
