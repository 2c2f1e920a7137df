"""Who holds a GPU and what the writer set, changed or asks: what must be said of it, and what must not."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.readers.test_nvidia_smi import table
from tfmemlens import pipeline

REFUSED = "".join(
    f"E cuda_driver.cc:99] failed to allocate {size} ({count} bytes) from device: CUDA_ERROR_OUT_OF_MEMORY\n"
    for size, count in (("14.08G", 15120000000), ("12.67G", 13608000000), ("11.41G", 12247200000))
)
ABORTED = "Aborted (core dumped)\n"
SMALL = "failed to allocate 2.2K (2304 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
HOLDER = ((0, 4711, "python", 14700),)
OLD = """\
|   0  Tesla T4            Off  | 00000000:00:04.0 Off |                    0 |
| N/A   38C    P8     9W /  70W |  14800MiB / 15109MiB |      0%      Default |
"""


def verdict(text: str) -> str:
    return pipeline.explain(text).verdict


@pytest.mark.parametrize(
    "text",
    [
        SMALL + ABORTED + table(14800, processes=HOLDER),
        REFUSED + table(14800, processes=HOLDER),
        REFUSED + OLD + "|    0      4711  python                                             14700MiB |\n",
        REFUSED + OLD + "|    0      4711    C   /home/ann/envs/tf/bin/python\n           14700MiB |\n",
        REFUSED + OLD + "    0      4711    C   python    14700MiB\n",
        table(14800, processes=HOLDER) + SMALL.replace("2.2K (2304", "166.62M (174718976"),
    ],
    ids=[
        "ended before the table",
        "more than was refused",
        "no types",
        "a broken row",
        "no frame",
        "before the run",
    ],
)
def test_a_process_that_this_run_cannot_be_holds_the_gpu(text: str) -> None:
    assert "(pid 4711) held 14.36 GiB" in verdict(text)


@pytest.mark.parametrize(
    "text",
    [
        SMALL + table(14800, processes=HOLDER),
        table(14800, processes=HOLDER) + SMALL + ABORTED,
        REFUSED + table(12800, processes=((0, 4711, "python", 12700),)),
    ],
    ids=["a pool that is full", "ended after the table", "what it may have got itself"],
)
def test_a_process_that_may_be_this_run_is_nobody_elses(text: str) -> None:
    assert "pid 4711" not in verdict(text)


TORCH = (
    "RuntimeError: CUDA out of memory. Tried to allocate 90.00 MiB (GPU 0; 14.76 GiB total capacity;"
    " 330.11 MiB already allocated; 55.75 MiB free; 346.00 MiB reserved in total by PyTorch)\n"
)
NEWER = (
    "OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity"
    " of 23.69 GiB of which 11.25 MiB is free. Including non-PyTorch memory, this process has 23.60 GiB"
    " memory in use. Of the allocated memory {} is allocated by PyTorch, and 30.20 MiB is reserved by PyTorch"
    " but unallocated.\n"
)
USES = "net = keras.models.load_model('a.h5')\n"


@pytest.mark.parametrize(
    "text",
    [
        TORCH + "import tensorflow as tf\nv = tf.zeros([8])\n",
        USES + NEWER.format("1.12 GiB"),
        TORCH + "use = hub.load('https://tfhub.dev/a/b/4')\n",
    ],
)
def test_tensorflow_in_the_same_program_holds_what_pytorch_lacks(text: str) -> None:
    report = pipeline.explain(text)
    assert "most likely TensorFlow's" in report.verdict
    assert report.actions[0].remedy.slug == "growth"


@pytest.mark.parametrize(
    "text",
    [
        TORCH + "tf.config.set_visible_devices([], 'GPU')\nv = tf.zeros([8])\n",
        USES + NEWER.format("23.12 GiB"),
        TORCH + "model = torch.load('a.pt')\n",
    ],
    ids=["kept off the GPU", "PyTorch's own", "no TensorFlow"],
)
def test_pytorch_alone_is_nobody_elses(text: str) -> None:
    assert "TensorFlow's" not in verdict(text)


FRACTION = "gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction=0.4)\n"
STATS = "Stats: \nLimit:                  {}\nInUse:                  {}\n"
FAILED = oom("12,256,256,128", "net/concat")


@pytest.mark.parametrize(
    ("text", "own"),
    [
        (STATS.format(4720558080, 4502773760) + FAILED + "it says 4900MiB / 11019MiB\n" + FRACTION, True),
        (STATS.format(4720558080, 4502773760) + FAILED + FRACTION, True),
        (STATS.format(11092508672, 10942773760) + FAILED + FRACTION, False),
        (STATS.format(4720558080, 4502773760) + FAILED + FRACTION.replace("0.4", "0.9"), False),
    ],
    ids=["of a table's GPU", "of a GPU as they are sold", "another limit", "nearly all"],
)
def test_a_fraction_that_the_limit_comes_from(text: str, own: bool) -> None:
    assert ("lets TensorFlow have only" in verdict(text)) is own


POOLING = [
    ("I have two 8 GB cards. With MirroredStrategy, will the memory add up to 16 GB?", True),
    ("Can I combine the memory of two GPUs for one model in keras?", True),
    ("I use MirroredStrategy, does it split the model over both GPUs?", True),
    ("Will two GPUs be faster with MirroredStrategy in keras?", False),
    ("With MirroredStrategy the losses add up over two GPUs.", False),
    ("How do I split my model into two files for keras?", False),
    ("It is as if memory is accumulated and not given back, right?", False),
    ("Is the memory added to each step of my one GPU?", False),
    ("Is the memory accumulated over my two GPUs?", True),
]


@pytest.mark.parametrize(("text", "asked"), POOLING)
def test_whether_memory_of_several_gpus_adds_up(text: str, asked: bool) -> None:
    assert ("memory does not add up" in verdict(f"{text}\nimport tensorflow as tf\n")) is asked


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Phase 1 with base.trainable=False: OK\nbase.trainable = True\n", True),
        ("With the backbone frozen it trains fine. As soon as I unfreeze it:\n", True),
        ("Only the top was trained and that worked.\nbase_model.trainable = True\n", True),
        ("I train only the head, base.trainable = False, and it does not fit:\n", False),
        ("base.trainable = True\n", False),
        ("With the backbone frozen it fails as well as after I unfreeze it:\n", False),
    ],
)
def test_layers_that_were_frozen_and_are_trained(text: str, told: bool) -> None:
    assert ("frozen ones have none of these" in verdict(text + oom("16,288,150,150", "net/act/mul"))) is told


COUNTED = """The RAM goes up with each call of my function:

@tf.function
def step(img, gain):
    return img * gain

for i in range(1000):
    out = step(img, {})
"""


@pytest.mark.parametrize(
    ("given", "anew"), [("float(i) / 10", True), ("i * 2", True), ("tf.constant(i)", False), ("0.5", False)]
)
def test_a_number_of_python_for_each_call_of_a_function(given: str, anew: bool) -> None:
    assert ("gets `gain` as a Python number" in verdict(COUNTED.format(given))) is anew


LOOP = """for epoch in range(EPOCHS):
    for real in ds:
        history.append(G(noise()))
"""


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("It runs out of memory at epoch 3", True),
        ("It fails after 300 steps", True),
        ("It fails at once", False),
        ("It runs out of memory in epoch 1", False),
    ],
)
def test_a_list_in_a_loop_where_the_message_names_no_size(said: str, kept: bool) -> None:
    text = f"{said}\n{LOOP}ResourceExhaustedError: failed to allocate memory [Op:Mul]\n"
    assert ("`history` (line 4) keeps every result" in verdict(text)) is kept


CLOSED = "After sess.close() the memory is still there. {}\nCUDA_ERROR_OUT_OF_MEMORY\n"


@pytest.mark.parametrize(
    ("asks", "told"),
    [
        ("How do I give the memory back?", True),
        ("Can I release the GPU memory?", True),
        ("I want the memory back.", False),
        ("Is there a way to free the disk?", False),
    ],
)
def test_memory_of_a_gpu_comes_back_with_the_end_of_the_process(asks: str, told: bool) -> None:
    assert ("only with the end of the process" in verdict(CLOSED.format(asks))) is told


@pytest.mark.parametrize(
    ("asks", "told"),
    [
        ("How can it run for 200 epochs before it fails?", True),
        ("Why does it train 4000 steps and then stop?", True),
        ("How do I run for 200 epochs?", False),
        ("It ran for 200 epochs before.", False),
    ],
)
def test_a_step_that_went_well_goes_well_again(asks: str, told: bool) -> None:
    assert ("goes well again" in verdict(oom("64,128,3750", "ecg/conv/Relu") + asks + "\n")) is told
