"""When a row of the table agrees with a failure, and what its sentences may name: of one made-up row."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_edges_of_tensors import failed, slugs
from tests.findings.test_support import A, P, case
from tfmemlens.findings import what_the_code_makes
from tfmemlens.findings.support.tf_code import Agreement, Of
from tfmemlens.findings.support.tf_code.idiom import CodeChange, TensorFlowIdiom
from tfmemlens.model.attribution import Kind
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.case import Api, FrontEnd, Moment
from tfmemlens.model.finding import Basis, Finding
from tfmemlens.model.incident import Frame, RequestKind
from tfmemlens.patterns import regex
from tfmemlens.values import replace

ROW = TensorFlowIdiom(
    "made-up",
    regex(r"make\((?P<number>[\w.]*)"),
    ("make",),
    (Agreement.LINE,),
    "it makes {shape}",
    (
        CodeChange("in-batches", "do less", "less()", "tf1()"),
        CodeChange("plain", "else of {first}", "x()", ""),
    ),
    (),
    (),
    least_bytes=0,
)


def told(
    moment: Moment, monkeypatch: pytest.MonkeyPatch, api: Api = Api(), surroundings: Any = None, **row: Any
) -> list[Finding]:
    """What the rule says where the table has only this row."""
    monkeypatch.setattr(what_the_code_makes, "TABLE", (replace(ROW, **row),))
    return list(what_the_code_makes.check(replace(case(moment, **(surroundings or {})), api=api)))


def at_line(text: str = "x = make(64)", shape: Any = (64, 9), **facts: Any) -> Moment:
    return failed(shape, **{"source": "a.py:3", "source_text": text, "line": at(8), **facts})


def quoted(*texts: str, **more: Any) -> dict[str, Any]:
    return {"code": tuple(at(number, text) for number, text in enumerate(texts, 2)), **more}


def kinds_of(found: list[Finding]) -> list[Any]:
    return [each.basis for each in found]


@pytest.mark.parametrize(
    "ways, frames, place, basis, guessed",
    [
        ((Agreement.LINE,), [], "a.py:3", Basis.SHAPE, False),
        ((Agreement.WAY,), [], None, None, False),
        ((Agreement.WAY,), ["f.py:9"], "f.py:9", Basis.NAME, True),
        ((Agreement.LINE, Agreement.WAY), ["f.py:9"], "a.py:3", Basis.SHAPE, False),
        ((Agreement.WAY,), ["f.py:9", "g.py:5"], "g.py:5", Basis.NAME, True),
        ((Agreement.WAY,), ["/usr/lib/python3.8/site-packages/keras/a.py:5"], None, None, False),
    ],
)
def test_a_line_that_failed_or_lies_on_the_way(
    ways: Any,
    frames: list[str],
    place: str | None,
    basis: Any,
    guessed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    way = tuple(Frame(each, "x = make(64)") for each in frames)
    found = told(at_line(frames=way), monkeypatch, told=ways, makes="it makes{at}")
    assert kinds_of(found) == ([basis] if place else [])
    assert all(each.because == f"{'most likely ' if guessed else ''}it makes ({place})" for each in found)


@pytest.mark.parametrize(
    "text, ran_by, place",
    [
        (None, "make(4)", "b.py:7"),
        ("y()", "make(4)", "b.py:7"),
        ("make(4)", "make(5)", "a.py:3"),
        ("y()", "", None),
    ],
)
def test_the_line_that_ran_it_counts_after_the_one_that_made_it(
    text: str | None, ran_by: str, place: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = at_line(source_text=text, ran_by=Frame("b.py:7", ran_by))
    found = told(moment, monkeypatch, makes="it makes{at}")
    assert [each.because for each in found] == ([f"it makes ({place})"] if place else [])


@pytest.mark.parametrize(
    "number, shape, more, agrees",
    [
        ("64", (64, 9), {}, True),
        ("64", (9, 64), {}, True),
        ("64", (65, 9), {}, True),
        ("64", (66, 9), {}, False),
        ("64", (63, 9), {}, False),
        ("16", (16, 9), {}, True),
        ("15", (15, 9), {}, False),
        ("64", (64, 9), {"axis": 0}, True),
        ("64", (9, 64), {"axis": 0}, False),
        ("64", (9, 64), {"axis": -1}, True),
        ("64", (64, 9), {"axis": -1}, False),
        ("64", (128, 9), {"times": 2}, True),
        ("64", (129, 9), {"times": 2}, False),
        ("64", (64, 9), {"times": 2}, False),
        ("64", (192, 9), {"times": 2}, True),
        ("64", (None, 9), {"times": 1}, False),
        ("rows", (500, 9), {}, True),
        ("FLAGS.rows", (500, 9), {}, True),
        ("other", (500, 9), {}, False),
        ("1_000", (1000, 9), {}, True),
        ("flag", (700, 9), {}, True),
        ("wide", (300, 9), {}, False),
    ],
)
def test_a_number_of_a_quoted_line(
    number: str, shape: Any, more: Any, agrees: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = (
        StatedSize("Rows", (500,), at(1)),
        StatedSize("rows", (400,), at(1)),
        StatedSize("wide", (300, 2), at(1)),
    )
    code = quoted("tf.app.flags.DEFINE_integer('flag', 7_00, 'x')", f"x = make({number})", sizes=sizes)
    moment = failed(shape, size=5)
    found = told(
        moment, monkeypatch, surroundings=code, told=(Agreement.NUMBER,), makes="it makes{at}", **more
    )
    assert [(each.because, each.basis) for each in found] == (
        [("it makes (line 3)", Basis.MEASURED)] if agrees else []
    )


@pytest.mark.parametrize(
    "number, axis, fires",
    [("64", 0, True), ("32", 0, False), ("32", None, True), ("", 0, True), ("unknown", 0, True)],
)
def test_a_line_that_states_another_size_failed_for_another_reason(
    number: str, axis: int | None, fires: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bool(told(at_line(f"x = make({number})"), monkeypatch, axis=axis)) is fires


@pytest.mark.parametrize(
    "node, of, kind, fires",
    [
        ("net/rnn/x", Of.DATA, A, True),
        ("net/dense/x", Of.DATA, A, False),
        ("net/rnn/x", Of.DATA, P, False),
        ("net/rnn/x", Of.WEIGHT, A, False),
        ("net/rnn/x", Of.WEIGHT, P, True),
        ("net/rnn/x", Of.WEIGHT, Kind.OPTIMIZER_SLOT, True),
        ("net/rnn/x", Of.ANY, A, True),
        ("net/rnn/x", Of.ANY, P, True),
    ],
)
def test_the_op_of_a_quoted_line(
    node: str, of: Of, kind: Kind, fires: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment, code = failed((64, 9), node, kind=kind), quoted("x = make(3)")
    found = told(moment, monkeypatch, surroundings=code, told=(Agreement.OP,), op=regex("rnn"), of=of)
    assert kinds_of(found) == ([Basis.MEASURED] if fires else [])
    assert not told(moment, monkeypatch, surroundings=code, told=(Agreement.OP,), of=of)
    for source in ({"op": "rnn"}, {"forward_node": "rnn"}, {"keras_layer": ("a", "rnn")}):
        named = failed((64, 9), "x", kind=kind, **source)
        other = told(named, monkeypatch, surroundings=code, told=(Agreement.OP,), op=regex("rnn"), of=of)
        assert bool(other) is ((of is not Of.DATA or kind is A) and (of is not Of.WEIGHT or kind is not A))


@pytest.mark.parametrize(
    "ways, kind, basis",
    [
        ((Agreement.RAM,), RequestKind.HOST, Basis.NAME),
        ((Agreement.RAM,), RequestKind.TENSOR, None),
        ((Agreement.TEXT,), RequestKind.TENSOR, Basis.NAME),
        ((Agreement.TEXT, Agreement.RAM), RequestKind.HOST, Basis.NAME),
        ((Agreement.LINE,), RequestKind.TENSOR, None),
        ((Agreement.TEXT,), RequestKind.COPY, Basis.NAME),
        ((Agreement.TEXT,), RequestKind.DUMP, Basis.NAME),
        ((Agreement.TEXT,), RequestKind.XLA, None),
    ],
)
def test_what_a_quoted_line_needs_besides(
    ways: Any, kind: RequestKind, basis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = failed((64, 9))
    assert moment.request
    request = replace(moment.request, failed=replace(moment.request.failed, kind=kind))
    moment = replace(moment, request=request)
    found = told(moment, monkeypatch, surroundings=quoted("x = 3", "x = make(3)"), told=ways)
    assert kinds_of(found) == ([basis] if basis else [])
    way = "host RAM ran out" if Agreement.RAM in ways else "the text quotes it"
    assert all(each.because.startswith("most likely ") and way in each.evidence[0].fact for each in found)


def test_of_several_ways_a_number_says_most(monkeypatch: pytest.MonkeyPatch) -> None:
    code = quoted("x = make(3)", "x = make(64)")
    ways = {"told": (Agreement.OP, Agreement.NUMBER), "op": regex("rnn"), "makes": "it makes{at}"}
    (found,) = told(failed((64, 9), "rnn"), monkeypatch, surroundings=code, **ways)
    assert found.because == "it makes (line 2)" and "the op that failed" in found.evidence[0].fact
    (found,) = told(failed((64, 9), "rnn"), monkeypatch, surroundings=quoted("x = make(64)"), **ways)
    assert "a number that it states" in found.evidence[0].fact


def test_another_line_may_show_that_it_is_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    for code, fires in ((quoted("y = 3"), True), (quoted("y = safe()"), False)):
        assert bool(told(at_line(), monkeypatch, surroundings=code, unless=regex("safe"))) is fires


def test_two_lines_at_most_and_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        replace(ROW, slug=str(number), told=(Agreement.TEXT,), code=regex(rf"make\((?P<number>{number})"))
        for number in (1, 1, 2, 3)
    ]
    rows.append(replace(ROW, slug="line", makes="it failed"))
    monkeypatch.setattr(what_the_code_makes, "TABLE", tuple(rows))
    code = quoted("x = make(1)", "x = make(2)", "x = make(3)")
    found = list(what_the_code_makes.check(case(at_line("x = make(9)"), **code)))
    assert [each.because for each in found] == ["it failed", "most likely it makes [64,9] (2.2 KiB)"]
    assert "make(1)" in found[1].evidence[0].fact
    found = list(what_the_code_makes.check(case(failed((64, 9)), **code)))
    assert ["make(1)" in each.evidence[0].fact for each in found] == [True, False]
    assert "make(2)" in found[1].evidence[0].fact


@pytest.mark.parametrize("front_end, fires", [(FrontEnd.KERAS, True), (FrontEnd.JAX, False)])
def test_lines_of_tensorflow_only(front_end: FrontEnd, fires: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bool(told(at_line(), monkeypatch, Api(front_end=front_end))) is fires


@pytest.mark.parametrize(
    "shape, words",
    [
        ((400, 9), "[400,9] (14.1 KiB)|14.1 KiB|400|9||9|400|9|3.5 KiB"),
        ((400, 30, 9), "[400,30,9] (421.9 KiB)|421.9 KiB|400|30|9|9|12,000|30|105.5 KiB"),
        ((400, 30, 9, 50), "|400|30|9|50|108,000|50|"),
        ((50,), "[50] (200 B)|200 B|50|||50|the|the longest|400 B"),
        ((), "the whole of it|4 B|all|||many|the|the longest|less"),
        (None, "the whole of it|as much|all|||many|the|the longest|less"),
        ((None, 9), "|as much|None|9||9|1|9|less"),
    ],
)
def test_words_of_the_sizes(shape: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    makes = "{shape}|{bytes}|{first}|{second}|{third}|{last}|{samples}|{longest}|{per_hundred}"
    (found,) = told(at_line(shape=shape), monkeypatch, makes=makes, keeps=True)
    assert words in found.because and found.explains is None and found.basis is Basis.NAME


@pytest.mark.parametrize(
    "number, shape, words",
    [
        ("64", (128, 9), "64|2|1"),
        ("64", (64, 9), "64|1|1"),
        ("64", (256, 9), "64|4|2"),
        ("64", (64, 128), "64|1|1"),
        ("7", (64, 9), "7||"),
    ],
)
def test_words_of_the_number(number: str, shape: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    times = 0 if shape[1] == 128 else 1
    (found,) = told(
        at_line(f"make({number})", shape), monkeypatch, makes="{number}|{times}|{half}", times=times
    )
    assert found.because == words


@pytest.mark.parametrize(
    "sizes, factors",
    [
        ([("batch_size", (16,)), ("w", (32,))], " = 16 (batch_size) x 32"),
        ([("w", (32,)), ("batch_size", (16,))], " = 16 (batch_size) x 32"),
        ([("batch_size", (16,)), ("w", (5, 32))], " = 16 (batch_size) x 32"),
        ([("batch_size", (16,)), ("w", (31,))], ""),
        ([("batch_size", (15,)), ("w", (34,))], ""),
        ([("batch_size", (512,)), ("w", (1,))], ""),
        ([("batch_size", (1,)), ("w", (512,))], ""),
        ([("rows", (16,)), ("w", (32,))], ""),
    ],
)
def test_the_first_size_as_the_batch_times_a_number(
    sizes: Any, factors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = tuple(StatedSize(name, each, at(1)) for name, each in sizes)
    (found,) = told(at_line(shape=(512, 9)), monkeypatch, surroundings={"sizes": stated}, makes="x{factors}")
    assert found.because == f"x{factors}"


@pytest.mark.parametrize("first, saves", [(101, 36), (100, None), (400, 36 * 300)])
def test_batches_of_a_hundred(first: int, saves: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = told(at_line(shape=(first, 9)), monkeypatch)
    assert found.remedies[0].saves_bytes == saves and found.explains == first * 36
    assert [each.code for each in found.remedies] == ["less()", "x()"] and slugs([found]) == [
        "in-batches",
        "plain",
    ]
    (older,) = told(at_line(shape=(first, 9)), monkeypatch, Api(newest=(1, 15)))
    assert [each.code for each in older.remedies] == ["tf1()", None]
    unknown = told(at_line(shape=(None, 9)), monkeypatch, keeps=True)
    assert unknown[0].remedies[0].saves_bytes is None


@pytest.mark.parametrize("same, shown", [(True, 1), (False, 2)])
def test_the_request_is_quoted_unless_it_is_the_line(
    same: bool, shown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = at_line() if same else failed((64, 9), line=at(8))
    surroundings = None if same else quoted("x = make(3)")
    (found,) = told(moment, monkeypatch, surroundings=surroundings, told=(Agreement.LINE, Agreement.TEXT))
    assert len(found.evidence) == shown
