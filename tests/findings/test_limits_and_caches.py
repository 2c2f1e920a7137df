"""Limits that are no lack of memory, kills by the machine, and what prose tells of caches and loops."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, GPU, MIB, dump_by_size, oom
from tests.findings.test_what_is_no_batch import explained
from tfmemlens.model.finding import Severity
from tfmemlens.model.report import Report


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize(
    ("text", "what", "slug"),
    [
        (
            "Could not open events file: /logs/run/events.out.tfevents.1: Resource exhausted;"
            " Write failed because file could not be opened.\n",
            "could not open a file",
            "room-for-files",
        ),
        (
            "ResourceExhaustedError: train.tfrecord; Too many open files\n",
            "too many files",
            "more-open-files",
        ),
        (
            "ResourceExhaustedError: /ckpt/model.tempstate; No space left on device [Op:SaveV2]\n",
            "the disk was full",
            "room-for-files",
        ),
        (
            "ResourceExhaustedError: disk quota exceeded [Op:SaveV2]\n",
            "the disk quota was used up",
            "room-for-files",
        ),
    ],
)
def test_limits_on_files_are_no_lack_of_memory(text: str, what: str, slug: str) -> None:
    report = explained(text)
    assert report.verdict.startswith("No lack of memory") and what in report.verdict
    assert slugs(report) == [slug]


def test_a_checkpoint_that_was_not_written_asks_for_more_than_the_disk() -> None:
    report = explained("Resource exhausted: /data/run/model.ckpt-20.data-00000-of-00001\n")
    code = report.actions[0].remedy.code or ""
    assert "df -i" in code and "ulimit -n" in code and "quota -s" in code


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ("I solved it by giving the folder a shorter name.", "room-for-files"),
        ("I solved it by deleting old checkpoints.", "what-ended-it"),
    ],
)
def test_of_a_full_disk_only_what_makes_room_ended_it(said: str, first: str) -> None:
    report = explained(f"ResourceExhaustedError: disk quota exceeded [Op:SaveV2]\n\n{said}\n")
    assert slugs(report)[0] == first
    assert ("ended it" in report.verdict) is (first == "what-ended-it")


KERNEL = "Out of memory: Kill process 27888 (python3) score 900 total-vm:18059264kB, anon-rss:3788464kB\n"


@pytest.mark.parametrize(("before", "machine"), [("", True), ("Memory cgroup out of memory: ", False)])
def test_a_kill_by_the_machine_asks_for_no_larger_container(before: str, machine: bool) -> None:
    text = KERNEL if machine else KERNEL.replace("Out of memory: ", before)
    report = explained(text)
    assert ("more-ram" in slugs(report)) is machine
    assert ("the machine had no host RAM left" in report.verdict) is machine
    assert "container-limit" not in slugs(report)


REFUSED = (
    "No algorithm worked!  Error messages:\n"
    "  Profiling failure on CUDNN engine 1#TC: RESOURCE_EXHAUSTED: Allocating {} bytes exceeds the memory"
    " limit of 4294967296 bytes.\n\t [[{{{{node model/conv3d_transpose_3/conv3d_transpose}}}}]]\n"
)


def test_a_workspace_beyond_its_own_limit() -> None:
    report = explained(REFUSED.format(5368709121))
    assert "wants a workspace of 5.00 GiB or more, and one may take 4.00 GiB" in report.verdict
    first = report.actions[0].remedy
    assert first.code == "export TF_CUDNN_WORKSPACE_LIMIT_IN_MB=6144"
    assert not {"growth", "see-device-users"} & set(slugs(report))
    plain = explained("UnknownError: No algorithm worked!\n")
    assert "growth" in slugs(plain) and "one may take" not in plain.verdict


@pytest.mark.parametrize("mark", [";", ","])
def test_an_op_ends_where_the_sentence_goes_on(mark: str) -> None:
    asked = "84.38MiB (rounded to 88473600)requested by op"
    said = f"Allocator (GPU_0_bfc) ran out of memory trying to allocate {asked}"
    assert explained(f"{said} net/Sigmoid{mark} then more\n").verdict.startswith("Out of memory in `net")
    assert mark not in explained(f"{said} Sigmoid{mark} then more\n").verdict.partition(" while")[0]


def test_a_type_ends_where_the_sentence_does() -> None:
    array = "an array with shape (10774, 10098) and data type uint16."
    text = f"MemoryError: Unable to allocate 208. MiB for {array} Then\n"
    assert "[10774,10098] uint16 (207.51 MiB)" in explained(text).verdict


@pytest.mark.parametrize(
    ("node", "map_"),
    [("enc/SelfAttention/einsum_7/Einsum", False), ("enc/up_7/concat", True)],
)
def test_heads_and_positions_are_no_volume(node: str, map_: bool) -> None:
    assert ("image, map or volume" in explained(oom("1,4,64,256,256", node)).verdict) is map_


@pytest.mark.parametrize(
    ("shape", "node", "told"),
    [
        ("510,510,510,510", "loss/batch_all/ToFloat_1", "every combination of four of 510 rows"),
        ("510,510,510,511", "loss/batch_all/ToFloat_1", ""),
        ("300,300,300", "loss/batch_all/ToFloat_1", "every triplet of 300 rows"),
    ],
)
def test_combinations_of_rows(shape: str, node: str, told: str) -> None:
    report = explained(oom(shape, node, on=CPU, by="cpu"))
    findings = [each for each in report.findings if each.rule == "pairwise-broadcast"]
    assert (told in (findings[0].because or "")) if told else not findings
    if told:
        assert not {"smaller-input", "in-batches"} & set(slugs(report))
    if "four" in told:
        assert slugs(report)[0] == "one-shape"


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        (
            "the server's 64GB of memory run out, it caches the training data with ds.cache()\n",
            "cache-to-file",
        ),
        ("RAM grows until it is killed\ntrain = train.cache().shuffle(100).batch(4)\n", "cache-to-file"),
        ("with dataset.cache(filename) the RAM is full before the epoch ends\n", "cache-to-file"),
        ("the RAM is full after an hour of shuffle\n", "smaller-shuffle"),
        ("the RAM is full after an hour of reading\n", "map-the-file"),
    ],
)
def test_words_of_a_cache(text: str, slug: str) -> None:
    report = explained(text)
    assert slugs(report)[0] == slug and "host RAM" in report.verdict


LOOP = "my PC memory is rising on every step\nfor epoch in range(50):\n{}dataset = dataset.shuffle(1000)\n"


@pytest.mark.parametrize(("indent", "told"), [("    ", True), ("", False)])
def test_a_pipeline_that_a_loop_wraps_again(indent: str, told: bool) -> None:
    assert ("make-once" in slugs(explained(LOOP.format(indent)))) is told


def test_a_kernel_that_died_while_a_buffer_was_filled_in_chinese() -> None:
    filling = (
        "shuffle_dataset_op.cc:98] Filling up shuffle buffer (this may take a while): 359987 of 604388\n"
    )
    report = explained("\u8fd0\u884c\u4e4b\u540e kernel \u5c31\u5d29\u6e83\u4e86\n" + filling)
    assert "kernel died while the input pipeline filled" in report.verdict


def test_words_of_shuffling_beside_a_bare_message() -> None:
    text = "after 10 epochs, while shuffling: Resource exhausted: OOM\n"
    assert slugs(explained(text))[0] == "shuffle-files"
    assert "shuffle-files" not in slugs(explained(text.replace("shuffling", "training")))


def test_an_abort_after_a_warning_of_a_large_request() -> None:
    warned = "Allocation of 3456000000 exceeds 10% of free system memory.\n"
    report = explained(warned + "Aborted (core dumped)\n")
    assert report.verdict.startswith("Most likely host RAM")
    assert "find-the-crash" not in slugs(report)
    assert "find-the-crash" in slugs(explained(warned + "Segmentation fault (core dumped)\n"))


STATS = "Stats: \nLimit:             {}\nInUse:             11984328960\nMaxInUse:          12038083584\n"
ASKED = "Ran out of memory trying to allocate 39.81MiB.  See logs for memory state.\n"


@pytest.mark.parametrize(("limit", "full"), [(12049707828, True), (16000000000, False)])
def test_pieces_of_a_nearly_full_pool_are_no_scattering(limit: int, full: bool) -> None:
    report = explained(
        "batch_size=256\n" + STATS.format(limit) + ASKED + oom("256,832,7,7", "net/conv/Conv2D")
    )
    assert ("constant-shapes" not in slugs(report)) is full
    assert ("nearly full" in report.verdict) is full


def test_a_tensor_of_a_models_layer_is_cut_by_its_batch() -> None:
    report = explained(oom("8,65536,64", "swin/block_15/norm2/batchnorm/mul_2"))
    assert "in-pieces" not in slugs(report) and "smaller-batch" in slugs(report)
    eager = explained(
        f"OOM when allocating tensor with shape[8,65536,640] and type float on {GPU} [Op:Mul]\n"
    )
    assert "in-pieces" in slugs(eager)


def test_a_copy_of_a_whole_set_that_is_fed() -> None:
    cell = "---> 26 print('Accuracy:', accuracy.eval({x: mnist.test.images, y: mnist.test.labels}))\n"
    report = explained(cell + "InternalError: Dst tensor is not initialized.\n")
    assert slugs(report)[0] == "in-batches"
    assert report.findings[0].severity is Severity.CAUSE
    batch = explained(
        cell.replace("images", "images[:10]") + "InternalError: Dst tensor is not initialized.\n"
    )
    assert slugs(batch)[0] != "in-batches"


def test_a_dump_of_sizes_is_what_it_says() -> None:
    text = dump_by_size(MIB, 10, (2, 4 * MIB), (1, MIB))
    assert "totalling 8.00MiB" in text and "InUse:                     9437184" in text


@pytest.mark.parametrize(("batch", "users"), [("even when batch_size is 1", True), ("with my data", False)])
def test_a_bare_message_whose_batch_is_one(batch: str, users: bool) -> None:
    report = explained(f"ResourceExhaustedError: OOM when allocating tensor, {batch}\n")
    assert (slugs(report)[0] == "see-device-users") is users


@pytest.mark.parametrize(
    ("named", "told"), [("vocabulary table of size 195370", True), ("195370 files", False)]
)
def test_a_last_dimension_that_the_text_calls_a_vocabulary(named: str, told: bool) -> None:
    report = explained(f"made a {named}\nOOM when allocating tensor with shape[59,128,195370]\n")
    assert slugs(report)[0] == "smaller-vocabulary"
    assert ("is the vocabulary's" in report.verdict) is told


def test_protobufs_limit_on_a_constant() -> None:
    report = explained(
        "libprotobuf ERROR: Cannot allocate buffer larger than kint32max for StringOutputStream.\n"
    )
    assert report.verdict.startswith("No lack of memory: a constant or data set is larger than the 2 GiB")


@pytest.mark.parametrize(
    ("shape", "node", "cached"),
    [
        ("480,640,3", "convert/Cast", True),  # one image, as the pipeline makes it
        ("32,112,112,64", "net/conv2d/Relu", False),  # of a step that runs on the CPU
    ],
)
def test_a_cache_in_ram_is_named_where_an_element_fails(shape: str, node: str, cached: bool) -> None:
    text = "ds = ds.map(load).repeat().batch(8)\nds = ds.cache()\n" + oom(shape, node, on=CPU, by="mklcpu")
    report = explained(text)
    assert ("cache() (line 2)" in report.verdict) is cached
    assert ("cache-to-file" in slugs(report)) is cached


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ds = ds.cache().batch(8)", True),
        ("Is it something like ds.cache().batch(8)?", False),
        ("You could write ds.cache().batch(8) there.", False),
    ],
)
def test_a_cache_that_is_only_asked_for_keeps_nothing(line: str, told: bool) -> None:
    assert ("cache()" in explained(f"RAM grows in TensorFlow until it is killed.\n{line}").verdict) is told


def test_a_cache_in_a_file_is_no_array_of_all_samples() -> None:
    report = explained("# tf.data: ds.cache('/data/c') loads the whole dataset into memory")
    assert "cache-to-file" in slugs(report)
    assert "map-the-file" not in slugs(report)


BESIDE = "With `ds.cache().shuffle(count)` it takes what the set has, as expected."


@pytest.mark.parametrize(
    ("grows", "cached"),
    [
        (
            "In TensorFlow RAM grows with a shuffle buffer of tf.data that is not freed until it is killed.",
            False,
        ),
        ("In TensorFlow RAM grows until it is killed where the tf.data set has not been cached.", False),
        ("In TensorFlow RAM grows with a tf.data set until it is killed.", True),
        ("In TensorFlow RAM grows with a cache of tf.data before the shuffle until it is killed.", True),
    ],
)
def test_a_cache_of_the_case_that_is_fine_is_no_cause(grows: str, cached: bool) -> None:
    assert ("`cache()`" in explained(f"{grows}\n\n{BESIDE}").verdict) is cached


def test_a_cache_in_the_code_is_a_cause_whatever_else_is_named() -> None:
    grows = "In TensorFlow RAM grows with a shuffle buffer of tf.data that is not freed until it is killed."
    assert "`cache()`" in explained(f"{grows}\n\nds = ds.cache().shuffle(count)").verdict
