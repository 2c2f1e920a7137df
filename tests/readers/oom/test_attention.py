"""A text of prose without end is read as far as a post tells something, and then for failures alone."""

from tfmemlens.readers.formats.oom_log import read_lines
from tfmemlens.readers.oom.attention import Attention


def _tired() -> Attention:
    attention = Attention()
    for number in range(800):
        assert not attention.passes(f"The model of my work is {number % 100} layers deep and it works.")
    return attention


def test_the_first_pages_are_read_and_later_prose_is_passed_over():
    attention = _tired()
    assert attention.passes("And then I went on and trained the model once more.")
    assert not attention.passes("Since then the memory is never given back.")


def test_of_much_that_speaks_of_memory_only_failures_are_read_in_the_end():
    attention = _tired()
    for _ in range(400):
        assert not attention.passes("It takes memory, and the GPU is busy.")
    assert attention.passes("It takes memory, and the GPU is busy.")
    assert not attention.passes("Then my program was killed.")


def test_what_a_program_prints_is_no_prose():
    attention = _tired()
    for line in (
        'File "train.py", line 3, in step',
        "loss = model(x)",
        "Allocator ran out of memory trying to allocate 4096 bytes",
        "Limit: 12",
    ):
        assert not attention.passes(line)


def test_a_failure_at_the_end_of_a_book_is_found():
    words = [f"Chapter {'I' * (number % 90)} tells of a man and his dog." for number in range(3000)]
    told = "In the end my training runs out of memory."
    capture = read_lines(list(enumerate([*words, told], 1)))
    line = capture.surroundings.shows("running short")
    assert line is not None and line.text == told


def _of_a_kind_each(number: int) -> str:
    letters = "".join(chr(97 + number // 26**place % 26) for place in range(3))
    return f"/data/{letters}_{number % 10}.jpg of {letters}"


def test_names_of_files_without_end_are_passed_over_and_what_speaks_is_read():
    attention = Attention()
    for number in range(1500):
        assert not attention.passes(_of_a_kind_each(number))
    assert attention.passes(_of_a_kind_each(2001))
    assert not attention.passes(_of_a_kind_each(0))  # of a kind that came before
    for line in (
        "/data/xyz.jpg of 8 GiB",
        "Killed",
        "xq_step[8,3]",
        'File "/data/xq.py", line 3',
        "import xq",
    ):
        assert not attention.passes(line)


def test_a_failure_below_names_of_files_is_found():
    lines = [_of_a_kind_each(number) for number in range(6000)]
    capture = read_lines(list(enumerate([*lines, "OOM when allocating tensor with shape[3,4]"], 1)))
    assert [incident.request.shape for incident in capture.incidents] == [(3, 4)]


def _speaking(number: int) -> str:
    letters = "".join(chr(97 + number // 26**place % 26) for place in range(3))
    return f"step {letters} = {letters}.batch"


def test_of_lines_that_speak_in_ever_new_ways_only_memory_and_errors_are_read_in_the_end():
    attention = Attention()
    for number in range(2500):
        assert not attention.passes(_speaking(number))
    below = [attention.passes(_speaking(number)) for number in range(2500, 2504)]
    assert below == [False, False, False, True]
    assert attention.passes("loss = model(x, training=flag)")
    for line in (
        "InUse at 7fab09c00000 of size 1179648 next 42",
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor",
        "  16.0KiB from a/b",
        'File "/data/xq.py", line 3, in step',
        "    loss = model(x, training=flag)",
    ):
        assert not attention.passes(line)


def test_a_traceback_below_lines_that_speak_is_read_with_its_code():
    lines = [*map(_speaking, range(6000)), *FAILED.splitlines()]
    incident = read_lines(list(enumerate(lines, 1))).incidents[0]
    assert incident.request.shape == (3, 4)
    assert [frame.text for frame in incident.request.frames] == ["scores = left @ right"]


FAILED = """Traceback (most recent call last):
  File "/home/u/pairs.py", line 9, in <module>
    scores = left @ right
tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[3,4]
Current usage from device: /job:localhost/replica:0/task:0/device:GPU:0, allocator: GPU_0_bfc
  512B from dense/bias_add
  16B from a/b
"""


def test_what_stands_below_a_line_that_speaks_is_read():
    lines = [*map(_of_a_kind_each, range(6000)), *FAILED.splitlines()]
    capture = read_lines(list(enumerate(lines, 1)))
    (incident,) = capture.incidents
    assert incident.request.source_text == "scores = left @ right"
    assert [row.node for row in incident.holders[0].table] == ["dense/bias_add", "a/b"]
    attention = Attention()
    for number in range(2000):
        attention.passes(_of_a_kind_each(number))
    attention.passes('  File "xq.py", line 3, in g')
    told = [attention.passes(f"q {chr(97 + at)}") for at in range(5)]
    assert told == [False] * 3 + [True] * 2  # three lines below it, and no more
