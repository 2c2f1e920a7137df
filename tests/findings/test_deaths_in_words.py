"""Deaths and growth that nothing but prose tells."""

import pytest

from tfmemlens import pipeline
from tfmemlens.findings import data_set_in_ram, told_in_words
from tfmemlens.model.case import Case
from tfmemlens.readers.formats import oom_log


def case(text: str) -> Case:
    return pipeline.case(oom_log.read_lines(list(enumerate(text.splitlines(), 1))))


def told(text: str) -> str:
    """All that the page says."""
    return " ".join(each.headline for each in pipeline.report(case(text).capture).findings)


@pytest.mark.parametrize(
    "text, words",
    [
        ("Keras, my RAM jumps to 118 GB of my 128 and then the process disappears", "host RAM ran out"),
        ("The Keras training takes 24 GB of RAM and the box (24 GB) kills my job", "host RAM"),
        ("TensorFlow loses 0.8 GB of free RAM with every epoch of model.fit", "host RAM grows"),
        ("tf.keras export, 40 GB of RAM\nI0000 pass is on\n^C\nthat ^C was not by me", "nobody typed its ^C"),
        (
            "Keras: as soon as fit starts RAM jumps to 30 GB and the machine kills it",
            "what fit makes of whole",
        ),
    ],
)
def test_a_death_in_words(text: str, words: str) -> None:
    assert words in told(text)


@pytest.mark.parametrize(
    "text",
    [
        "the node (64 GB) runs my Keras job for a week",
        "I pressed ^C, and Keras ended the training",
        "the RAM of Keras goes to 20 GB of my 64 and stays there",
    ],
)
def test_no_death(text: str) -> None:
    assert not list(told_in_words.check(case(text)))


def test_workers_that_are_switched_off_are_not_blamed() -> None:
    text = "Keras loses 0.8 GB of RAM per epoch with workers=2 and use_multiprocessing{}"
    assert "worker processes" not in told(text.format(" switched off"))
    assert "worker processes" in told(text.format("=True"))


GIVEN = """Colab: your session crashed after using all available RAM
x = np.array([cv2.resize(cv2.imread(p), (300, 300)) for p in files])   # 9100 photos
xa, xb = train_test_split(x, test_size=0.1)
gen = ImageDataGenerator(rotation_range=9)
"""


def test_a_generator_that_is_given_the_whole_array() -> None:
    (seen,) = data_set_in_ram.check(case(GIVEN + "batches = gen.flow(xa, ya, batch_size=8)\n"))
    assert "9,100 photos" in seen.because and "line 3 makes another copy" in seen.because
    assert not list(data_set_in_ram.check(case(GIVEN + "batches = gen.flow_from_directory('d')\n")))


SESSION = """sess = tf.Session()
for name in names:
    x = tf.image.decode_png(read(name))
    out = sess.run({run})
In the end the process is Killed.
"""


def test_a_loop_that_adds_to_the_graph_of_a_killed_process() -> None:
    assert "adds `tf.image.decode_png` to the graph" in told(SESSION.format(run="x"))
    fed = SESSION.replace("tf.image.decode_png(read(name))", "read(name)")
    assert "to the graph" not in told(fed.format(run="y, {x_: x}"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Keras on my GPU: then we have a GPU out of memory issue, the next one runs on the CPU",
            "a device's",
        ),
        (
            "Keras on a Tesla K80 GPU.\nMemory error indicates that the process has consumed all RAM.",
            "memory ran",
        ),
        ("Keras.\nMemory error: the process has consumed all RAM.", "host RAM"),
    ],
)
def test_whose_memory_it_was(text: str, words: str) -> None:
    assert f"in words that {words}" in told(text)


@pytest.mark.parametrize(
    "text",
    [
        "TensorFlow: doing so results in no CUDA OOM errors, but the process still quits.",
        "TensorFlow: it is not the rollout and not host RAM. The failure is in writing.",
    ],
)
def test_what_is_denied_did_not_run_out(text: str) -> None:
    assert "ran out" not in told(text)


def test_what_a_phone_puts_below_a_mail_tells_nothing() -> None:
    text = "TensorFlow training runs out of memory, what can I do?\n{}"
    assert told(text.format("Sent from my iPhone")) == told(text.format(""))
