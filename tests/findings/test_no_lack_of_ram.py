"""What throws std::bad_alloc, or warns, where no memory is short."""

from __future__ import annotations

import pytest

from tests.findings.test_what_is_no_batch import explained

THROWN = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
EVENTS = "[evhttp_server.cc : 245] NET_LOG: Entering the event loop ...\n"


@pytest.mark.parametrize(
    ("release", "fixed"),
    [
        ("docker run tensorflow/serving:2.9.1", "2.9.3"),
        ("TF Serving by docker, version 2.10.0.", "2.10.1"),
        ("TensorFlow Serving (2.9.0) is started\nTF Serving 2.8.2 works.", "2.9.3"),
    ],
)
def test_a_server_whose_release_throws_is_changed_first(release: str, fixed: str) -> None:
    told = explained(f"{release}\n{EVENTS}{THROWN}")
    assert "not for lack of RAM" in told.verdict
    assert [each.remedy.slug for each in told.actions] == ["newer-release"]
    assert f"tensorflow/serving:{fixed}" in told.actions[0].remedy.text


@pytest.mark.parametrize(
    "text",
    [
        f"docker run tensorflow/serving:2.9.3\n{EVENTS}{THROWN}",
        f"docker run tensorflow/serving:2.8.2\n{EVENTS}{THROWN}",
        f"TF Serving 2.9.1 works, TF Serving 2.12.0 does not.\n{EVENTS}{THROWN}",
        f"tensorflow/serving:2.9.1\nIts memory grows with each request.\n{EVENTS}{THROWN}",
        "tensorflow/serving:2.9.1\ncpu_allocator_impl.cc:81] Allocation of 4294967296 exceeds 10% of free"
        f" system memory.\n{EVENTS}{THROWN}",
        f"TensorFlow 2.9.1 on a laptop\n{THROWN}",
        "tensorflow/serving:2.9.1\nMemoryError: Unable to allocate 64.0 GiB for an array with shape (262144,"
        " 32768) and data type float64\n",
    ],
)
def test_other_failures_of_a_server_stay_those_of_ram(text: str) -> None:
    told = explained(text)
    assert "for lack of RAM" not in told.verdict and "newer-release" not in [
        each.remedy.slug for each in told.actions
    ]


SOFT = (
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.05GiB. The caller indicates that this is"
    " not a failure, but may mean that there could be performance gains if more memory were available.\n"
)
TITLE = "OOM with detect_image.py although train.py runs fine\n\n"


@pytest.mark.parametrize(
    "empty",
    [
        "The picture has no bounding boxes.",
        "My cards are not detected.",
        "It draws no boxes at all, and it is slow.",
        "The output folder holds no plate, no detections.",
        "It does not detect any objects.",
    ],
)
def test_an_empty_result_beside_warnings_has_another_cause(empty: str) -> None:
    told = explained(f"{TITLE}{SOFT}\n{empty}\n")
    assert "no failure" in told.verdict and "has another cause than memory" in told.verdict
    assert [each.remedy.slug for each in told.actions] == ["see-the-scores"]


@pytest.mark.parametrize(
    "ended",
    [
        "The picture has no boxes.\nThen training crashes with out of memory.",
        "The picture has no boxes.\nThe process was killed.",
        "The picture has the boxes.",
        "There is no result, ResourceExhaustedError: OOM when allocating tensor with shape[64,112,112,64]",
    ],
)
def test_what_ends_a_program_is_no_empty_result(ended: str) -> None:
    told = explained(f"{TITLE}{SOFT}\n{ended}\n")
    assert "see-the-scores" not in [each.remedy.slug for each in told.actions]


@pytest.mark.parametrize(
    "stock",
    [
        "There are 4 cards in the box and 25G of RAM are available.",
        "Ubuntu, 64GB of RAM available, one GTX 1080.",
        "The machine has 64 GB RAM, and one GTX 1080.",
    ],
)
def test_ram_that_is_there_is_not_what_ran_out(stock: str) -> None:
    told = explained(f"train.py of this TensorFlow model ends in OOM.\n\n{stock} The OOM stays.\n")
    assert "host RAM" not in told.verdict and "RAM are available" not in told.verdict


@pytest.mark.parametrize(
    "full",
    [
        "All 64 GB of RAM are full, and it ends in OOM.",
        "It needs 40 GB of RAM, then the process is killed.",
        "The machine has 64 GB RAM, and its RAM runs out.",
    ],
)
def test_ram_that_is_full_is_what_ran_out(full: str) -> None:
    assert "host RAM" in explained(f"train.py of this TensorFlow model fails.\n\n{full}\n").verdict


@pytest.mark.parametrize("word", ["end", "limit", "bound"])
def test_memory_without_end_is_fine_without_nothing(word: str) -> None:
    told = explained(
        f"ImageDataGenerator.fit swallows memory without {word}, over 100 GB of RAM, until it is killed.\n"
        "It runs fine with small images.\n"
    )
    assert f"`{word}`" not in told.verdict


@pytest.mark.parametrize(
    "vain", ["A smaller train_batch_size made no difference.", "The same with any batch size."]
)
def test_a_batch_in_vain_asks_who_holds_the_gpu(vain: str) -> None:
    text = "run_pretraining.py of BERT, a TensorFlow model, ends in OOM on my GPU.\n\n{} The OOM stays.\n"
    assert explained(text.format(vain)).actions[0].remedy.slug == "see-device-users"
    assert explained(text.format("It is slow.")).actions[0].remedy.slug != "see-device-users"


FREE = "totalMemory: {}GiB freeMemory: {}\n"
CREATED = (
    "Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:{0} with 7535 MB memory) ->"
    " physical GPU (device: {0}, name: GeForce GTX 1080, pci bus id: 0000:0{0}:00.0)\n"
)


@pytest.mark.parametrize(
    ("whole", "first", "later"), [("10.92", "10.76GiB", "359MiB"), ("7.93", "7.81GiB", "0B")]
)
def test_a_gpu_that_a_first_start_emptied_is_its_pool(whole: str, first: str, later: str) -> None:
    text = (
        f"Two keras models, one each.\n{FREE.format(whole, first)}\nthe second:\n{FREE.format(whole, later)}"
    )
    told = explained(text)
    assert "TensorFlow's own pool" in told.verdict
    assert [each.remedy.slug for each in told.actions] == ["growth", "one-process-for-all"]


@pytest.mark.parametrize(
    "text",
    [
        FREE.format("10.92", "10.76GiB") + FREE.format("10.92", "10.70GiB"),
        FREE.format("10.92", "10.76GiB") + FREE.format("7.93", "146MiB"),
        FREE.format("10.92", "359MiB") + FREE.format("10.92", "10.76GiB"),
        FREE.format("7.93", "7.81GiB")
        + FREE.format("7.93", "146MiB")
        + CREATED.format(0)
        + CREATED.format(1),
        FREE.format("7.93", "7.81GiB") + FREE.format("7.93", "146MiB") + "Its memory grows at each call.\n",
    ],
)
def test_other_figures_of_free_memory_tell_of_no_first_start(text: str) -> None:
    assert "free at the first start" not in explained(f"A keras model.\n{text}").verdict


ARRAY = (
    'Traceback (most recent call last):\n  File "show.py", line 41, in <module>\n    {}\n'
    "MemoryError: Unable to allocate {} for an array with shape {} and data type float64\n\nkeras\n"
)


@pytest.mark.parametrize(
    "line",
    [
        "display_grid = np.zeros((size * n_cols, images_per_row * size))",
        "grid = numpy.ones((rows * height, columns * width))",
        "canvas = np.empty((n * side, n * side), dtype=float)",
    ],
)
def test_a_grid_of_tiles_is_no_data_set(line: str) -> None:
    told = explained(ARRAY.format(line, "64.0 GiB", "(262144, 32768)"))
    assert [each.remedy.slug for each in told.actions] == ["wrong-side"]


@pytest.mark.parametrize(
    ("line", "size", "shape"),
    [
        ("x = np.zeros((len(files), 224 * 224))", "18.7 GiB", "(50000, 50176)"),
        ("x = np.zeros((n * 2, h * 2, w * 2))", "64.0 GiB", "(8192, 1024, 1024)"),
        ("x = load(n * 2, m * 2)", "64.0 GiB", "(262144, 32768)"),
        ("x = np.zeros((size * n, rows * size))", "1.00 MiB", "(512, 256)"),
    ],
)
def test_other_arrays_are_no_grid_of_tiles(line: str, size: str, shape: str) -> None:
    told = explained(ARRAY.format(line, size, shape))
    assert "wrong-side" not in [each.remedy.slug for each in told.actions]
