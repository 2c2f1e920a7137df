"""What fills host RAM in programs that separate songs or find objects, and which of their options help."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

SEPARATE = "$ spleeter separate {} -o out -p spleeter:4stems talk.mp3\n"
KILLED = "Killed\n"
LOOP = "import tensorflow as tf\nfor stack in stacks:\n    labels, more = model.{}(stack)\n"


@pytest.mark.parametrize(
    ("options", "says", "first"),
    [
        ("", "about 81 MiB a minute each", "shorter-parts"),
        ("-d 3600", "lets it take 3,600 s: 4.75 GiB each", "shorter-parts"),
        ("--mwf", "--mwf (line 1) needs several times that", "without-the-filter"),
    ],
)
@pytest.mark.parametrize(
    "ended",
    [
        KILLED,
        "My machine has 16 GB, and the shell says that it was killed.\n",
        "numpy.core._exceptions.MemoryError: Unable to allocate 9.91 GiB for an array with shape (1396913,"
        " 190, 5) and data type float64\n",
    ],
)
def test_a_song_that_is_separated(options: str, says: str, first: str, ended: str) -> None:
    text = SEPARATE.format(options) + ended
    assert says in explained(text).verdict
    assert offered(text)[0] == first


def test_a_kill_is_made_sure_of() -> None:
    assert "read-the-kernel-log" in offered(SEPARATE.format("") + KILLED)


@pytest.mark.parametrize(
    "text",
    [
        "$ python separate.py talk.mp3\n" + KILLED,
        "$ spleeter train -p config.json -d musdb\nEpoch 1/10\n" + KILLED,
        SEPARATE.format("--mwf")
        + "OOM when allocating tensor with shape[27,512,1024,16] and type float on /job:localhost/replica:0/"
        "task:0/device:GPU:0 by allocator GPU_0_bfc\n",
        SEPARATE.format("")
        + "Memory cgroup out of memory: Killed process 71 (java) total-vm:20000000kB, anon-rss:8000000kB\n",
    ],
)
def test_other_ends_are_not_of_a_song(text: str) -> None:
    assert "Spleeter holds at once" not in explained(text).verdict
    assert not {"shorter-parts", "without-the-filter"} & set(offered(text))


@pytest.mark.parametrize(
    "text",
    [
        "RAM grows to 50 GB while it is in the NMS.\n" + LOOP.format("predict_instances"),
        "predict_instances of StarDist takes more RAM with each image, in a loop.\n",
        "The inference is fine, then all of the RAM is used and the process was killed.\n"
        + LOOP.format("predict_instances"),
        LOOP.format("predict_instances") + "\n$ python objects.py\n" + KILLED,
    ],
)
def test_objects_of_a_volume(text: str) -> None:
    verdict = explained(text).verdict
    assert "finds its objects on the CPU once the network is done" in verdict
    assert "each call makes its own data set" not in verdict
    assert offered(text)[:2] == ["fewer-candidates", "in-blocks"]


@pytest.mark.parametrize(
    "text",
    [
        "RAM grows to 50 GB.\n" + LOOP.format("predict_instances_big"),
        "The GPU memory is full in predict_instances, and it runs out of memory.\n",
        LOOP.format("predict_instances")
        + "OOM when allocating tensor with shape[1,64,64,256,256] and type float on /job:localhost/replica:0/"
        "task:0/device:GPU:0 by allocator GPU_0_bfc\n",
        "StarDist: model.train(X, Y) fills the RAM until it is killed.\n",
    ],
)
def test_other_ends_are_not_of_objects(text: str) -> None:
    assert "fewer-candidates" not in offered(text)
