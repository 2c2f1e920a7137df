"""What works beside what fails, read from the words of a post."""

import pytest

from tfmemlens.model.line import Line
from tfmemlens.readers.oom.contrasts import (
    CAUSED_BY,
    ENDED_BY,
    FINE_WITHOUT,
    NOT_THERE,
    ContrastCollector,
)


def _told(*lines: str) -> dict[str, Line]:
    collector = ContrastCollector()
    for number, text in enumerate(lines, 1):
        collector.observe(Line(number, text))
    return collector.value()


@pytest.mark.parametrize(
    ("fact", "lines"),
    [
        ("fails with several GPUs", ("I get an OOM while training with 8 GPUs but not with 1 GPU.",)),
        ("fails with several GPUs", ("It fits on a single GPU.", "On four GPUs, it runs out of memory.")),
        (
            "fails with more data",
            ("It trains successfully when I limit the data to 700 rows. Above that value I get an OOM.",),
        ),
        ("fails on the GPU alone", ("It works on the CPU, but when I take the GPU, it is out of memory.",)),
        ("fails with Adam", ("I can train it with SGD.", "I can't train at all using AdamW.")),
        ("each process holds its own", ("It starts 8 processes that all load the features separately.",)),
    ],
)
def test_two_sides_of_one_thing_are_told(fact, lines):
    assert fact in _told(*lines)


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("fails with several GPUs", "I have 8 GPUs, and training works fine on one GPU of them."),
        ("fails with several GPUs", "It runs out of memory with 1 GPU and with 8 GPUs."),
        ("fails with more data", "A smaller batch of the data works. A larger batch of data fails."),
        ("fails on the GPU alone", "It works on the GPU and on the CPU."),
        ("fails with Adam", "I train with Adam, and it fails."),
        ("each process holds its own", "The process loads the whole set."),
    ],
)
def test_one_side_alone_tells_nothing(fact, text):
    assert fact not in _told(text)


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        ("shuffle", "If I set shuffle to False then the training works as expected."),
        ("multiprocessing", "When I disable multiprocessing, everything is working fine."),
        ("@tf.function", "After deleting @tf.function, it doesn't make the issue."),
        ("callback", "This leak only happens when a callback is assigned."),
        ("cache()", "It works without cache()."),
    ],
)
def test_what_it_is_fine_without_is_named(thing, text):
    assert f"{FINE_WITHOUT}{thing}" in _told(text)


@pytest.mark.parametrize(
    "text",
    [
        "It doesn't work without memory_growth.",
        "It trained without any problem.",
        "Removing the callback did not help.",
        "Without the cache it still runs out of memory.",
        "It finished my program without any changing in other parts, which is fine.",
    ],
)
def test_what_does_not_help_is_no_cause(text):
    assert not any(name.startswith(FINE_WITHOUT) for name in _told(text))


def test_what_ended_it_and_what_caused_it_are_quoted():
    assert f"{ENDED_BY}I fixed this issue by creating a generator." in _told(
        "It was bad. I fixed this issue by creating a generator."
    )
    line = "The root cause is that the array is copied."
    assert _told(line) == {f"{CAUSED_BY}{line}": Line(1, line)}
    assert _told("I hope this can be fixed by a newer release.") == {}
    assert _told("The SIGKILL is because of out-of-memory.") == {}


def test_a_short_sentence_is_about_the_code_before_it():
    told = _told("config.gpu_options.per_process_gpu_memory_fraction = 0.9", "\u5c31\u597d\u4e86")
    assert list(told) == [f"{ENDED_BY}config.gpu_options.per_process_gpu_memory_fraction = 0.9"]


@pytest.mark.parametrize(
    "text",
    [
        "I am adding a swap file now and will let you know if that solved it.",
        "Adding RAM temporarily fixed it.",
        "Lowering the resolution may have fixed it.",
        "Hopefully adding RAM fixed it.",
        "The solution is not clear.",
        "The fix is in the next release.",
        "Thanks @someone, that solved it for me!",
        "Thank you very much, this fixed my problem.",
        "Perfect, your solution worked for me, thanks a lot",
        "I have the same error here. That fixed it.",
    ],
)
def test_what_names_no_cure_ended_nothing(text):
    assert not any(name.startswith(ENDED_BY) for name in _told(text))


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("I reduced the pool to 0.4. That fixed it, thanks!", "I reduced the pool to 0.4."),
        ("Thanks, setting allow_growth solved it", "Thanks, setting allow_growth solved it"),
        ("The solution is to restart the kernel", "The solution is to restart the kernel"),
    ],
)
def test_what_was_done_is_the_cure(text, cure):
    assert f"{ENDED_BY}{cure}" in _told(text)


@pytest.mark.parametrize(
    "text",
    [
        "We were able to resolve this issue by not using prefetch as the last step.",
        "I was able to reduce the memory usage by prefetching one batch.",
        "Finally I found using model(x) can avoid the memory leak.",
    ],
)
def test_a_denial_within_the_remedy_denies_no_remedy(text):
    assert next(iter(_told(text))) == f"{ENDED_BY}{text}"


def test_what_was_not_solved_is_no_remedy():
    assert _told("I was not able to reduce the memory usage by prefetching one batch.") == {}


@pytest.mark.parametrize(
    "text",
    [
        "This does not happen when using other optimisers, such as Adam.",
        "The problem did not occur with TensorFlow 2.3.",
        "The problem did not occur before version 2.3.",
        "This does not happen with Adam, but it crashes with another optimizer.",
        "It never happens on Linux.",
        "Memory leak doesn't appear if I call model.fit instead.",
    ],
)
def test_where_it_does_not_happen_is_told(text):
    assert f"{NOT_THERE}{text}" in _told("RAM grows with each epoch.", text)


@pytest.mark.parametrize(
    "text",
    [
        "It does not happen every time with this model.",
        "This does not happen at first when it trains.",
        "Why does it not happen on Linux?",
        "The problem does not occur.",
        "I hope that this does happen with Adam.",
        "Now it fails in another way: it ends with an std::bad_alloc that didn't happen before.",
        "On the CPU this error does not happen, but it crashes with a different message.",
        "I changed the optimizer to Adam, and this did not occur before.",
    ],
)
def test_what_tells_no_place_where_it_is_well(text):
    assert not any(name.startswith(NOT_THERE) for name in _told("RAM grows with each epoch.", text))


def test_what_ended_it_says_more_than_where_it_does_not_happen():
    told = _told("It does not happen on Linux.", "I fixed it by updating to 2.5.")
    assert not any(name.startswith(NOT_THERE) for name in told)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("The problem is that the graph is built anew at each call.", True),
        ("The problem is that, when I run the net, my laptop gets frozen.", False),
        ("The problem is that when I run the net it freezes.", False),
        ("The leak is due to the callback.", True),
    ],
)
def test_a_symptom_is_no_cause(text, cause):
    assert any(name.startswith(CAUSED_BY) for name in _told(text)) is cause


def test_what_a_program_is_for_is_not_left_out():
    told = _told("But if I use model.predict it throws an OOM error.")
    assert not any(name.startswith(FINE_WITHOUT) for name in told)


@pytest.mark.parametrize(
    "text",
    [
        "If I split the rows into pieces the error does not occur.",
        "I do not see this when the scale is a plain number.",
        "If I pass a plain number instead I do not observe this behaviour.",
        "Using the other loader doesn't grow.",
    ],
)
def test_where_it_is_not_seen_is_told(text):
    assert f"{NOT_THERE}{text}" in _told("RAM grows with each epoch.", text)


@pytest.mark.parametrize(
    "text",
    [
        "I tried a lot of things, but nothing worked for me.",
        "Switching the optimizer and setting growth, none of these worked for me.",
        "I went through every answer and no suggestion has worked for me.",
        "Lowering the resolution and then clearing the session worked for me, to no avail.",
    ],
)
def test_what_was_tried_in_vain_ended_nothing(text):
    assert not any(name.startswith(ENDED_BY) for name in _told(text))


@pytest.mark.parametrize(
    "text",
    [
        "Switching to the second loader worked for me.",
        "Nothing helped until I fixed it by setting the second loader up anew.",
        "I tried growth without success, then I solved it by closing the reader.",
    ],
)
def test_what_worked_after_all_is_told(text):
    assert any(name.startswith(ENDED_BY) for name in _told(text))


@pytest.mark.parametrize(
    ("text", "compared"),
    [
        ("With growth it fails. With a smaller image none of the answers here work.", False),
        ("With growth it fails. With a smaller image it works.", True),
    ],
)
def test_what_does_not_work_is_no_side_of_a_comparison(text, compared):
    collector = ContrastCollector()
    collector.observe(Line(1, text))
    assert (collector.compared() is not None) is compared


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("The big table caused this problem.", True),
        ("I want to know what caused this problem.", False),
        ("No idea what the issue is with the second layer.", False),
        ("I did not know why, but the root cause is the old cache.", True),
        ("I now know what caused this error, the table of words.", True),
    ],
)
def test_who_asks_for_the_cause_names_none(text: str, cause: bool) -> None:
    assert any(name.startswith(CAUSED_BY) for name in _told(text)) is cause
