"""Advice that has no reason in the log is not given: what may be stands aside where something is known."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, dump, oom
from tests.findings.test_what_is_no_batch import explained, slugs

LATE = "".join(f"step {step} loss 0.5\n" for step in (10, 500, 1000, 1500))


def test_a_tensor_of_the_program_on_the_cpu_blames_neither_gpu_nor_pipeline() -> None:
    text = dump(49, 400, 380) + oom("64,112,112,16", on=CPU, by="cpu")
    assert not {"check-the-device", "smaller-pipeline", "container-limit"} & set(slugs(text))
    read = oom("64,112,112,16", "IteratorGetNext", on=CPU, by="cpu")
    assert "smaller-pipeline" in slugs(read)


def test_a_line_that_says_that_the_cpu_runs_it_all_is_a_reason() -> None:
    text = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
    assert "check-the-device" in slugs(text)


@pytest.mark.parametrize(("length", "offered"), [(3076, True), (3072, False), (1023, True), (1024, False)])
def test_buckets_are_for_lengths_that_data_have(length: int, offered: bool) -> None:
    found = slugs(oom(f"4,8,{length},{length}", "encoder/attention/scores"))
    assert ("bucket-sequences" in found) is offered


def test_who_failed_late_reads_of_growth_only_where_nothing_names_the_cause() -> None:
    named = LATE + oom("9000,64,64,16", "net/conv/Relu")
    assert not {"compare-shapes", "keep-numbers", "one-signature"} & set(slugs(named))
    assert any(each.rule == "growth-between-steps" for each in explained(named).findings)
    unknown = LATE + oom("16,340,768", "net/dense/Relu")
    assert "compare-shapes" in slugs(unknown)


def test_masks_are_pasted_where_a_name_speaks_of_masks() -> None:
    assert "masks-on-host" not in slugs(oom("1200,28,28,256", "head/CropAndResize"))
    assert "masks-on-host" in slugs(oom("1200,28,28,256", "mrcnn_mask/CropAndResize"))


def test_an_eager_op_on_boxes_is_in_no_network() -> None:
    fit = "    model.fit(x, y)\n"
    boxes = oom("16,40000,300,4").replace(" [[{{node net/conv/Conv2D}}]]", " [Op:BroadcastTo]")
    assert "mixed-precision" not in slugs(fit + boxes)
    assert "mixed-precision" in slugs(fit + oom("16,256,256,64", "net/conv/Conv2D"))


def test_a_harmless_warning_asks_for_nothing() -> None:
    text = (
        "W bfc_allocator.cc:245] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.27GiB with"
        " freed_by_count=0. The caller indicates that this is not a failure, but may mean that"
        " there could be performance gains if more memory were available.\n"
    )
    assert slugs(text) == []


def test_beside_a_remedy_one_way_to_know_more_is_enough() -> None:
    more = {"read-the-log", "record-a-step", "dump-file", "list-tensors"}
    found = slugs("    model.fit(x, y)\n" + oom("16,256,256,64", "net/conv/Conv2D"))
    assert len(more & set(found)) == 1


def test_one_thing_in_two_rules_words_is_one_action() -> None:
    text = LATE + dump(49, 400, 380) + oom("16,8,128,1024,1024", "encoder/attention/scores")
    found = slugs(text)
    assert len(found) == len(set(found))
