"""Which number of the text is a size of the failed tensor, each beside one that is not; remedies' words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_edges_of_tensors import failed
from tests.findings.test_support import A, P, U, asked, case, held
from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.named_sizes import (
    Meaning,
    NamedSize,
    in_words,
    meaning_of,
    named_sizes,
    stated_length,
)
from tfmemlens.model.attribution import Kind
from tfmemlens.model.capture import Hints, StatedSize, Surroundings
from tfmemlens.model.case import Api, Case, FrontEnd, Moment
from tfmemlens.model.finding import Certainty
from tfmemlens.model.incident import CompilerMemory, Incident, RequestKind
from tfmemlens.model.what_if import Saving, SavingBasis, Shrunk
from tfmemlens.values import replace

MIB = 1 << 20


def stated(*sizes: tuple[str, Any], **more: Any) -> Surroundings:
    found = (
        StatedSize(name, each if isinstance(each, tuple) else (each,), at(number, "text"))
        for number, (name, each) in enumerate(sizes, 1)
    )
    return Surroundings(sizes=tuple(found), **more)


def told(shape: Any, *sizes: tuple[str, Any], **more: Any) -> list[tuple[int, int, str]]:
    """Axis, stated number and meaning of each named size."""
    return [
        (each.axis, each.stated, each.meaning.value) for each in named_sizes(shape, stated(*sizes, **more))
    ]


BATCH, LENGTH, IMAGE, WORDS, OTHER = "batch", "length", "image", "words", "other"


@pytest.mark.parametrize(
    "shape, sizes, expected",
    [
        ((32, 9), [("batch_size", 32)], [(0, 32, BATCH)]),
        ((9, 32), [("batch_size", 32)], []),
        ((16, 9), [("batch_size", 16)], [(0, 16, BATCH)]),
        ((15, 9), [("batch_size", 15)], [(0, 15, BATCH)]),
        ((15, 9), [("max_len", 15)], []),
        ((1, 9), [("batch_size", 1)], []),
        ((32, 128, 9), [("max_len", 128)], [(1, 128, LENGTH)]),
        ((128, 9), [("max_len", 128)], [(0, 128, LENGTH)]),
        ((32, 128, 9), [("units", 128)], []),
        ((9, 30522), [("vocab_size", 30522)], [(1, 30522, WORDS)]),
        ((2, 300, 200, 9), [("height", 300), ("width", 200)], [(1, 300, IMAGE), (2, 200, IMAGE)]),
        ((300, 200, 9), [("height", 300), ("width", 200)], []),
        ((300, 5, 6, 7), [("height", 300)], []),
        ((32, 9), [("batch_size", 32), ("max_len", 32)], [(0, 32, BATCH)]),
        ((9, 32, 5), [("vocab", 32), ("max_len", 32)], []),
        ((9, 32, 5), [("max_len", 32), ("time_steps", 32)], [(1, 32, LENGTH)]),
        ((9, 32, 5), [("vocab", 32), ("num_classes", 32)], []),
        ((9, 32, 5), [("vocab", 32), ("Vocab", 32)], [(1, 32, WORDS)]),
        ((None, 128, 9), [("max_len", 128)], [(1, 128, LENGTH)]),
        ((), [("max_len", 128)], []),
        (None, [("max_len", 128)], []),
    ],
)  # fmt: skip
def test_a_size_that_the_text_names(shape: Any, sizes: Any, expected: Any) -> None:
    assert told(shape, *sizes) == expected


@pytest.mark.parametrize("setting, expected", [("32", [(0, 32, BATCH)]), ("32x", []), ("33", [])])
def test_a_batch_that_is_a_setting(setting: str, expected: Any) -> None:
    assert told((32, 9), settings=(("batch_size", setting, at(2)), ("units", "32", at(2)))) == expected


def test_numbers_of_the_message_itself_name_nothing() -> None:
    line = at(3, "OOM when allocating tensor with shape[32,128]")
    assert not named_sizes((32, 128, 9), Surroundings(sizes=(StatedSize("max_len", (128,), line),)))


@pytest.mark.parametrize(
    "shape, name, sizes, expected",
    [
        ((9, 300, 5), "x", (1000, 300), [(1, 300, LENGTH)]),
        ((9, 300, 5), "x", (999, 300), []),
        ((9, 300), "x", (1000, 300), []),  # columns of a matrix are features
        ((9, 5, 300), "x", (1000, 300), []),
        ((9, 63, 5), "x", (1000, 63), []),
        ((9, 64, 5), "x", (1000, 64), [(1, 64, LENGTH)]),
        ((9, 300, 5), "", (1000, 300), [(1, 300, LENGTH)]),
        ((9, 300, 5), "weights", (1000, 300), []),
        ((9, 300, 5), "x_train.shape", (1000, 300), [(1, 300, LENGTH)]),
        ((9, 300, 5), "x", (20, 300, 5), [(1, 300, LENGTH)]),
        ((9, 300), "x", (20, 300, 5), [(1, 300, LENGTH)]),
        ((9, 300, 5), "x", (20, 300, 4), []),
        ((9, 300, 5), "", (20, 300, 5), []),
        ((9, 63, 5), "x", (20, 63, 5), []),
    ],
)
def test_steps_of_data(shape: Any, name: str, sizes: Any, expected: Any) -> None:
    assert told(shape, (name, sizes)) == expected


@pytest.mark.parametrize(
    "shape, sizes, expected",
    [
        ((2, 300, 200, 9), (300, 200, 3), [(1, 300, IMAGE), (2, 200, IMAGE)]),
        ((2, 300, 200, 9), (300, 200), [(1, 300, IMAGE), (2, 200, IMAGE)]),
        ((2, 320, 20, 9), (320, 20, 3), [(1, 320, IMAGE), (2, 20, IMAGE)]),
        ((2, 321, 20, 9), (321, 20, 3), []),
        ((2, 64, 80, 96, 8), (64, 80, 96), [(1, 64, IMAGE), (2, 80, IMAGE), (3, 96, IMAGE)]),
        ((2, 64, 80, 96, 8), (64, 80, 96, 70), []),
        ((2, 64, 64, 64), (64, 64, 3), [(1, 64, IMAGE), (2, 64, IMAGE)]),  # channels as many by chance
        ((2, 64, 64, 64, 64), (64, 64, 64), [(1, 64, IMAGE), (2, 64, IMAGE), (3, 64, IMAGE)]),
    ],
)
def test_sides_of_an_image(shape: Any, sizes: Any, expected: Any) -> None:
    assert told(shape, ("", sizes)) == expected


@pytest.mark.parametrize(
    "shape, sizes, expected",
    [
        ((2, 150, 100, 9), [("", (300, 200, 3))], [(1, 300, IMAGE), (2, 200, IMAGE)]),
        ((2, 38, 25, 9), [("", (300, 200, 3))], [(1, 300, IMAGE), (2, 200, IMAGE)]),
        ((2, 37, 25, 9), [("", (300, 200, 3))], [(1, 300, IMAGE), (2, 200, IMAGE)]),
        ((2, 39, 25, 9), [("", (300, 200, 3))], []),
        ((2, 36, 25, 9), [("", (300, 200, 3))], []),
        ((2, 32, 32, 9), [("side", 1024)], [(1, 1024, IMAGE), (2, 1024, IMAGE)]),
        ((2, 32, 32, 9), [("side", 2048)], []),
        ((2, 96, 96, 9), [("side", 192)], [(1, 192, IMAGE), (2, 192, IMAGE)]),
        ((2, 95, 95, 9), [("side", 190)], []),
        ((2, 100, 77, 9), [("side", 200)], []),  # once by chance
        ((2, 100, 100, 200), [("side", 200)], [(3, 200, IMAGE)]),
        ((2, 100, 100, 9), [("units", 200)], []),
        ((2, 100, 100, 9), [("", (200, 5, 7, 9))], []),
    ],
)
def test_sides_that_strides_made_smaller(shape: Any, sizes: Any, expected: Any) -> None:
    assert told(shape, *sizes) == expected


@pytest.mark.parametrize(
    "size, sizes, other, over",
    [
        (320, [("batch_size", 32), ("max_len", 10)], 10, False),
        (321, [("batch_size", 32), ("max_len", 10)], None, False),
        (320, [("batch_size", 32), ("beam_width", 10)], 10, False),
        (320, [("batch_size", 32), ("units", 10)], None, False),
        (32, [("batch_size", 128), ("num_gpus", 4)], 4, True),
        (33, [("batch_size", 128), ("num_gpus", 4)], None, False),
        (320, [("batch_size", 320 * 1), ("max_len", 1)], None, False),
        (320, [("batch_size", 32), ("max_len", 10), ("bs", 10), ("seq_len", 32)], None, False),
        (320, [("batch_size", (32, 2)), ("max_len", 10)], None, False),
        (320, [("batch_size", 32), ("max_len", (10, 2))], None, False),
    ],
)
def test_a_first_dimension_of_two_numbers(size: int, sizes: Any, other: int | None, over: bool) -> None:
    found = [each for each in named_sizes((size, 9), stated(*sizes)) if each.times]
    assert [(each.times.stated, each.over) for each in found if each.times] == (
        [] if other is None else [(other, over)]
    )
    assert not [each for each in named_sizes((9, size), stated(*sizes)) if each.times]


@pytest.mark.parametrize(
    "sizes, words",
    [
        ([("batch_size", 32), ("max_len", 10)], "320 is 32 (`batch_size`, line 1) x 10 (`max_len`, line 2)"),
        (
            [("batch_size", 1280), ("num_gpus", 4)],
            "320 is 1280 (`batch_size`, line 1) over 4 (`num_gpus`, line 2)",
        ),
        ([("batch_size", 320)], "320 is `batch_size` (line 1)"),
        ([("", (3000, 320))], ""),
    ],
)
def test_numbers_in_words(sizes: Any, words: str) -> None:
    assert in_words(named_sizes((320, 9), stated(*sizes))) == words


def test_sides_of_one_image_stand_together() -> None:
    found = named_sizes((32, 150, 100, 9), stated(("batch_size", 32), ("photo", (300, 200, 3))))
    photo = "300 (`photo`, line 2) / 2 and 100 is 200 (`photo`, line 2) / 2"
    assert in_words(found) == f"32 is `batch_size` (line 1), 150 is {photo}"
    same = named_sizes((32, 300, 200, 9), stated(("batch_size", 32), ("photo", (300, 200, 3))))
    assert in_words(same) == "32 is `batch_size` (line 1) and 300 x 200 are `photo` (line 2)"
    assert in_words(named_sizes((2, 300, 200, 9), stated(("", (300, 200, 3))))) == "300 x 200 are of line 1"
    assert in_words(()) == ""


@pytest.mark.parametrize(
    "name, of_data, words",
    [
        ("x", True, "the length in `x` (line 4)"),
        ("", True, "the length in the data (line 4)"),
        ("max_len", False, "`max_len` (line 4)"),
    ],
)
def test_a_length_of_data_and_a_set_one(name: str, of_data: bool, words: str) -> None:
    named = NamedSize(1, 300, 300, name, Meaning.LENGTH, at(4))
    assert (named.of_data, named.words) == (of_data, words)
    text = remedies.shorter(named).text
    assert ("has 300 steps" in text) is of_data and ("lower `max_len` (line 4: 300)" in text) is not of_data


@pytest.mark.parametrize(
    "sizes, length",
    [
        ([("max_len", 64)], 64),
        ([("max_len", 63)], None),
        ([("max_len", 100), ("seq_length", 200), ("time_steps", 150)], 200),
        ([("units", 100)], None),
        ([("max_len", (100, 3))], None),
    ],
)
def test_the_length_that_the_text_states(sizes: Any, length: int | None) -> None:
    found = stated_length(stated(*sizes))
    assert (found and found.size) == length


@pytest.mark.parametrize(
    "name, meaning",
    [
        ("bs", BATCH),
        ("train_batch", BATCH),
        ("max_tokens", LENGTH),
        ("img_rows", IMAGE),
        ("beam_width", OTHER),
        ("student_width", OTHER),
        ("image_width", IMAGE),
        ("units", OTHER),
    ],
)
def test_what_a_name_counts(name: str, meaning: str) -> None:
    assert meaning_of(name).value == meaning


# ------------------------------------------------------------------ remedies


def knowing(given: Case, **savings: Saving) -> Case:
    """The same with an engine that knows these savings."""

    def what_if(moment: int, change: str, to_batch: int | None = None) -> Saving:
        return savings.get(change.replace("-", "_"), Saving(change))

    return replace(given, what_if=what_if)


def offered(
    slug: str,
    moment: Moment,
    hints: Hints = Hints(),
    api: Api = Api(),
    saves: Any = None,
    **surroundings: Any,
) -> Any:
    """The remedy of a run on a GPU that trains."""
    told = {"purposes": (("training", at(1)),), **surroundings}
    given = replace(case(moment, hints=hints, **told), api=api)
    return remedies.for_case(slug, knowing(given, **(saves or {})), moment)


@pytest.mark.parametrize(
    "batch, words",
    [
        (None, "halve the batch; gradient accumulation"),
        (1, "the batch is 1 already: make the samples themselves smaller"),
        (2, "the batch is 2 already: make the samples themselves smaller"),
        (3, "halve the batch (3 -> 1)"),
        (8, "halve the batch (8 -> 4)"),
    ],
)
def test_a_smaller_batch_in_words(batch: int | None, words: str) -> None:
    found = offered("smaller-batch", failed((100 * MIB,), "net/a/Relu"), Hints(batch=batch))
    assert found is not None and found.text.startswith(words)


@pytest.mark.parametrize("batch, words", [(1, "the batch is 1 already"), (2, "halve the batch (2 -> 1)")])
def test_a_batch_that_only_a_shape_shows(batch: int, words: str) -> None:
    moment = failed((batch, 50 * MIB), "net/a/Relu")
    assert moment.request
    found = offered("smaller-batch", replace(moment, request=replace(moment.request, batch=batch)))
    assert found is not None and found.text.startswith(words)


def test_what_is_as_large_whatever_the_batch_gets_no_smaller_one() -> None:
    moment = failed((100 * MIB,), "net/a/Relu", kind=P)
    assert moment.request
    fixed = replace(moment, request=replace(moment.request, fixed=True))
    assert offered("smaller-batch", fixed) is None and offered("mixed-precision", fixed) is None
    saves = {
        change: Saving(change.replace("_", "-"), SavingBasis.REPLAY, 5 * MIB, 5 * MIB, 5 * MIB)
        for change in ("smaller_batch", "mixed_precision")
    }
    assert offered("smaller-batch", fixed, saves=saves) is not None
    assert offered("mixed-precision", fixed, saves=saves) is not None


@pytest.mark.parametrize(
    "size, rows, compiler, saved",
    [
        (10, [("a/x", 9, A)], False, None),
        (10, [("a/x", 10, A)], False, 5),
        (10, [("a/x", 9, A)], True, 5),
        (None, [("a/x", 9, A)], False, 5),
    ],
)
def test_a_request_larger_than_all_that_is_listed(
    size: int | None, rows: Any, compiler: bool, saved: int | None
) -> None:
    request = asked(size=size and size * MIB, node="net/a/Relu", layer="net/a")
    incident = Incident(request.failed, compiler=CompilerMemory() if compiler else None)
    moment = held(
        *((name, each * MIB, kind) for name, each, kind in rows), request=request, incident=incident
    )
    saves = {"recompute": Saving("recompute", SavingBasis.LIST, 5, 4, 6, Certainty.ESTIMATE)}
    found = offered("recompute", moment, saves=saves)
    assert found is not None and (found.saves_bytes, found.digits) == (saved, 2)


@pytest.mark.parametrize(
    "basis, digits",
    [(SavingBasis.REPLAY, 3), (SavingBasis.TIMELINE, 2), (SavingBasis.LIST, 2), (SavingBasis.NOTHING, 2)],
)
def test_a_saving_is_printed_with_as_many_digits_as_are_worth_it(basis: SavingBasis, digits: int) -> None:
    found = remedies.of_saving("x", None, Saving("recompute", basis, 5, 4, 6, Certainty.ESTIMATE))
    assert (found.digits, found.saves_bytes, found.low_bytes, found.high_bytes) == (digits, 5, 4, 6)


@pytest.mark.parametrize("known, saved", [(True, 5), (False, 77)])
def test_a_rules_own_words_with_the_engines_figure(known: bool, saved: int) -> None:
    saving = (
        Saving("smaller-input", SavingBasis.REPLAY, 5, 4, 6, Certainty.ESTIMATE)
        if known
        else Saving("smaller-input")
    )
    given = knowing(case(held(("a/x", 1, A))), smaller_input=saving)
    found = remedies.of_change(given, 0, "x", Shrunk("smaller-input", 77, 1, 0))
    assert found.saves_bytes == saved and found.certainty is (
        Certainty.ESTIMATE if known else Certainty.EXACT
    )
    assert found.slug == "smaller-input" and found.change == ("smaller-input" if known else None)
    nothing = remedies.of_change(knowing(case(held())), 0, "x", Shrunk("smaller-input", None))
    assert nothing.saves_bytes is nothing.certainty is None


@pytest.mark.parametrize("saves, certainty", [(None, None), (5, Certainty.BOUND)])
def test_without_the_matrix_at_most_it_is_saved(saves: int | None, certainty: Certainty | None) -> None:
    found = remedies.onednn(saves)
    assert (found.saves_bytes, found.certainty) == (saves, certainty)


@pytest.mark.parametrize(
    "batch, most, told",
    [
        ("32", 8, True),
        ("2", 1, True),
        ("3", 1, True),
        ("1", 4, False),
        ("0", 4, False),
        ("x", 4, False),
        (None, 4, False),
    ],
)
def test_a_server_takes_a_quarter_of_its_requests(batch: str | None, most: int, told: bool) -> None:
    settings = (("batch_size", batch, at(7)),) if batch else ()
    found = remedies.smaller_requests(case(held(), settings=settings))
    assert found.code == f"max_batch_size {{ value: {most} }}   # --batching_parameters_file"
    assert (f"(here {batch}, line 7)" in found.text) is told


@pytest.mark.parametrize(
    "hints, settings, batch",
    [
        (Hints(batch=5), {"batch_size": "7"}, 5),
        (Hints(input_shape=(6, 9)), {"batch_size": "7"}, 6),
        (Hints(input_shape=(None, 9)), {"batch_size": "7"}, 7),
        (Hints(), {"batch_size": "7", "failed_batch": "4, 2"}, 2),
        (Hints(), {"batch_size": "1", "failed_batch": "4, 2"}, 1),
        (Hints(), {"failed_batch": "4, 2"}, 2),
        (Hints(), {"batch_size": "0"}, 3),
        (Hints(), {}, 3),
    ],
)
def test_the_batch_as_it_is_stated(hints: Hints, settings: dict[str, str], batch: int) -> None:
    moment = held(request=replace(asked(), batch=3))
    told = tuple((name, value, at(2)) for name, value in settings.items())
    assert remedies.batch_of(case(moment, hints=hints, settings=told), moment) == batch
    assert remedies.batch_of(case(held()), held()) is None


@pytest.mark.parametrize(
    "moment, network",
    [
        (failed((5,), "Relu"), False),
        (failed((5,), "net/Relu"), True),
        (failed((5,), None), False),
        (failed((5,), "Relu", layer="net"), True),
        (failed((5,), "Relu", keras_layer=("a", "Dense")), True),
        (failed((5,), "Relu", rows=[("a/x", 5, A)]), True),
        (failed((5,), "Relu", rows=[(None, 5, U)]), False),
        (held(), True),
        (held(request=asked(kind=RequestKind.XLA)), True),
    ],
)
def test_whether_a_network_is_at_work(moment: Moment, network: bool) -> None:
    assert remedies.in_a_network(moment) is network


@pytest.mark.parametrize(
    "moment, hints, training, shown",
    [
        (failed((5,), "Relu"), Hints(), False, False),
        (failed((5,), "Relu"), Hints(batch=4), False, True),
        (failed((5,), "Relu"), Hints(), True, True),
        (failed((5,), "Relu", keras_layer=("a", "Dense")), Hints(), False, True),
        (failed((5,), "net/Relu", layer="net"), Hints(), False, True),
        (failed((5,), "Relu", layer="net"), Hints(), False, False),
        (failed((5,), "net/Relu", layer="net", kind=P), Hints(), False, False),
        (failed((5,), "Relu", rows=[("a/x", 5, A)]), Hints(), False, True),
        (failed((5,), "Relu", rows=[("a/x", 5, P)]), Hints(), False, False),
        (failed((5,), "Relu", rows=[("a/x", 5, Kind.WORKSPACE)]), Hints(), False, True),
        (failed((5,), "loop_body/MatMul/pfor/MatMul", layer="loop_body"), Hints(), False, False),
        (held(), Hints(), False, True),
    ],
)
def test_whether_a_batch_is_shown(moment: Moment, hints: Hints, training: bool, shown: bool) -> None:
    told = {"purposes": (("training", at(1)),)} if training else {}
    assert remedies.shows_batch(case(moment, hints=hints, **told), moment) is shown
    if moment.request:
        for request in (replace(moment.request, batch=3), replace(moment.request, fixed=True)):
            assert remedies.shows_batch(case(moment), replace(moment, request=request))


def pieces(moment: Moment, api: Api = Api()) -> Any:
    """What is offered where no batch is shown."""
    return remedies.for_case("smaller-batch", replace(case(moment), api=api), moment)


@pytest.mark.parametrize(
    "size, facts, words",
    [
        (64 * MIB, {}, "the failing call asks for this memory"),
        (64 * MIB - 1, {}, None),
        (64 * MIB, {"source": "a.py:3"}, "a.py:3 asks for this memory"),
        (
            64 * MIB,
            {"source": "a.py:3", "source_text": "y = f(x)"},
            "a.py:3 (`y = f(x)`) asks for this memory",
        ),
        (64 * MIB, {"source_text": "y = f(x)"}, "the failing call asks for this memory"),
        (64 * MIB, {"pipeline": True}, None),
        (64 * MIB, {"node": "IteratorGetNext"}, None),
        (64 * MIB, {"op": "Iterator"}, None),
        (64 * MIB, {"line": at(3, "Cannot parse tensor from proto")}, None),
        (64 * MIB, {"kind": RequestKind.DUMP, "node": None}, None),
        (64 * MIB, {"kind": RequestKind.DUMP, "node": "x"}, "the failing call"),
        (64 * MIB, {"kind": RequestKind.DUMP, "node": None, "op": "x"}, "the failing call"),
        (64 * MIB, {"kind": RequestKind.DUMP, "node": None, "source": "a.py:3"}, "a.py:3 asks"),
    ],
    ids=str,
)
def test_a_call_without_a_batch_goes_in_pieces(size: int, facts: Any, words: str | None) -> None:
    facts = {"node": "x", "size": size, **facts}
    kind = facts.pop("kind", RequestKind.TENSOR)
    moment = failed(None, **facts)
    assert moment.request
    request = replace(moment.request, failed=replace(moment.request.failed, kind=kind))
    found = pieces(replace(moment, request=request))
    assert found is None if words is None else found is not None and found.text.startswith(words)
    assert found is None or (found.slug == "in-pieces" and found.code)


@pytest.mark.parametrize(
    "front_end, text, waits",
    [
        (FrontEnd.JAX, "print(y)", True),
        (FrontEnd.JAX, "y = f(x)", False),
        (FrontEnd.KERAS, "print(y)", False),
    ],
)
def test_a_line_of_jax_may_wait_for_an_earlier_call(front_end: FrontEnd, text: str, waits: bool) -> None:
    moment = failed(None, None, size=64 * MIB, kind=A, source="a.py:3", source_text=text)
    found = pieces(moment, Api(front_end=front_end))
    assert found is not None and ("an earlier call, for whose result" in found.text) is waits


def test_a_program_is_given_less_at_a_time() -> None:
    moment = failed(None, None, size=64 * MIB, executable="jit_f")
    found = pieces(moment, Api(front_end=FrontEnd.JAX))
    assert found is not None and "runs a program that needs this" in found.text and found.code is None
