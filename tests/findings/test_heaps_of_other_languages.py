"""Heaps of R, JavaScript and Java, and the disk that Ray's store spills to."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

OF_R = (
    "Error: cannot allocate vector of size 5.6 Gb",
    "Error: vector memory exhausted (limit reached?)",
    "Error: vector memory limit of 16.0 Gb reached, see mem.maxVSize()",
)


@pytest.mark.parametrize("line", OF_R)
def test_memory_of_r_is_no_allocator_s(line: str) -> None:
    text = f"> model %>% fit(x, y, batch_size = 128)\n{line}\n"
    assert "this out-of-memory message is R's" in explained(text).verdict
    assert offered(text) == ["read-in-parts"]


def test_another_vector() -> None:
    assert "R's" not in explained("Error: cannot convert vector of size 5\n").verdict


FATAL = "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n"


@pytest.mark.parametrize(
    ("before", "says", "code"),
    [
        ("$ node --max-old-space-size=4096 train.js\n", "4 GiB already (line 1)", "=8192 "),
        ("$ NODE_OPTIONS=--max_old_space_size=6144 node train.js\n", "6 GiB already (line 1)", "=12288 "),
        ("$ node train.js\n", "some 2 to 4 GB", "=8192 "),
    ],
)
def test_a_heap_whose_size_is_given(before: str, says: str, code: str) -> None:
    assert says in first(before + FATAL)
    assert code in first(before + FATAL)


@pytest.mark.parametrize(
    ("code", "in_parts"),
    [
        ("const rows = [];\nstream.on('data', r => rows.push(r));\nconst xs = tf.tensor2d(rows);\n", True),
        ("const m = await tf.loadLayersModel(url);\n", False),
    ],
)
def test_rows_that_are_collected(code: str, in_parts: bool) -> None:
    text = f"const tf = require('@tensorflow/tfjs-node');\n{code}{FATAL}"
    assert ("read-in-parts" in offered(text)) is in_parts


PHYSICAL = (
    'Exception in thread "main" java.lang.OutOfMemoryError: Physical memory usage is too high: physicalBytes'
    " (7G) > maxPhysicalBytes (7G)\n"
)
CALL = 'var out = session.runner().feed("x", t).fetch("y").run();\n'


@pytest.mark.parametrize(
    ("code", "closes"),
    [
        (CALL, True),
        (f"try (Tensor t = make()) {{\n  {CALL}}}\n", False),
        ("var bundle = SavedModelBundle.load(path);\n", False),
    ],
)
def test_native_tensors_that_nobody_closes(code: str, closes: bool) -> None:
    slugs = offered(code + PHYSICAL)
    assert ("close-tensors" in slugs) is closes
    assert "larger-heap" in slugs


MONITOR = (
    "(raylet) file_system_monitor.cc:111: /tmp/ray/session_2024 is over 95% full, available space: 41208;"
    " capacity: 105089261568. Object creation will fail if spilling is required.\n"
)


@pytest.mark.parametrize(
    ("text", "of_ray"),
    [
        (f"Job fails: no space left on device\n{MONITOR}", True),
        (MONITOR, True),
        ("OSError: [Errno 28] No space left on device: '/tmp/ray/session_2024/logs'\n", False),
    ],
)
def test_a_store_that_spills(text: str, of_ray: bool) -> None:
    report = explained(text)
    assert ("Ray had no disk left" in report.verdict) is of_ray
    assert ("ray memory" in first(text)) is of_ray
    assert "TMPDIR" not in first(text) or not of_ray


@pytest.mark.parametrize(
    ("line", "works"),
    [
        ("run 3 (batch 16): OK, 10.1 GB of 11 GB used", "16"),
        ("batch_size=8 -> works", "8"),
        ("batch 8: works until epoch 2", None),
        ("batch 8: not ok", None),
        ("batch 16: 10.1 GB", None),
    ],
)
def test_a_batch_in_a_list_of_runs(line: str, works: str | None) -> None:
    told = explained(f"import tensorflow\n{line}\n").case.capture.surroundings.setting("working_batch")
    assert (told[0] if told else None) == works
