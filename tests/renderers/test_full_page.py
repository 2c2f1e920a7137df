"""The full page's parts: what else there is beside the first moment, notes, a graph that stands alone."""

from __future__ import annotations

import json
from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.builders import MIB
from tfmemlens.model.capture import Source
from tfmemlens.model.line import Line, ReadNote
from tfmemlens.model.tensor import TensorType
from tfmemlens.renderers import run_facts, savings
from tfmemlens.renderers.markdown import report as markdown
from tfmemlens.renderers.memory_viz import tab
from tfmemlens.renderers.speedscope import report as speedscope
from tfmemlens.renderers.terminal import _copies, _findings, _layers, _request, report
from tfmemlens.renderers.view import View
from tfmemlens.units import Size

VIEW = View(width=60)


def step(allocator: str = "GPU_0_bfc", device: str = "GPU:0", mib: int = 4) -> Any:
    """A moment of a traced step."""
    table = Made(total_bytes=mib * MIB)
    return Made(
        request=None, timeline=Made(allocator=allocator, device=device), attribution=Made(table=table)
    )


def failure(line: Line | None = None, layer: str | None = None, **failed: Any) -> Any:
    """A moment of a failure."""
    given = {"node": None, "op": None, "kind": Made(value="tensor"), "line": line, **failed}
    return Made(request=Made(failed=Made(**given), owner=Made(layer=layer)), timeline=None)


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_request, "tensor", lambda failed: getattr(failed, "size", ""))


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize(
    "moment, line",
    [
        (step(), "4.00 MiB on GPU_0_bfc of GPU:0"),
        (step(device=""), "4.00 MiB on GPU_0_bfc of its device"),
        (failure(size="1 MiB", layer="net/a", node="n", op="Add"), "1 MiB at net/a"),
        (failure(size="1 MiB", node="n", op="Add"), "1 MiB at n"),
        (failure(size="1 MiB", op="Add"), "1 MiB at Add"),
        (failure(), "tensor at tensor"),
        (failure(Line(7, "")), "line 7: tensor at tensor"),
        (failure(Line(7, "", "a.log")), "a.log, line 7: tensor at tensor"),
    ],
)
def test_a_moment_in_a_line(moment: Any, line: str) -> None:
    assert report._in_short(moment) == line
    without = step()
    without.timeline = None
    assert report._in_short(without) == "4.00 MiB"


@pytest.mark.usefixtures("sizes")
def test_five_more_moments_are_named() -> None:
    assert report._more([step()], VIEW) == [
        "", "BESIDES: 1 ALLOCATOR", "  --all shows it whole", "  4.00 MiB on GPU_0_bfc of GPU:0",
    ]  # fmt: skip
    many = report._more([step(), failure(), *[step()] * 5], VIEW)
    assert many[1:3] == ["BESIDES: 6 ALLOCATORS AND 1 FAILURE", "  --all shows them whole"]
    assert len(many) == 3 + 5


def told(moments: list[Any], view: View = VIEW) -> list[str]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(report, "_beside", lambda moment, view: [f"beside {moment.name}"])
        patched.setattr(report, "_more", lambda others, view: [f"more {' '.join(o.name for o in others)}"])
        shown: Any = Made(case=Made(moments=moments))
        return report._others(shown, view)


def test_a_traced_step_stands_beside_a_failure() -> None:
    def named(name: str, request: int | None = None, timeline: int | None = None) -> Any:
        return Made(name=name, request=request, timeline=timeline)

    failed, other = named("first", request=1), named("second", request=1)
    traced, again = named("third", timeline=1), named("fourth", timeline=1)
    assert told([failed]) == []
    assert told([failed, other]) == ["more second"]
    assert told([failed, traced]) == ["beside third"]
    assert told([failed, other, traced, again]) == ["beside third", "more second fourth"]
    assert told([traced, again]) == ["more fourth"]
    assert told([failed, other], View(all_moments=True)) == []


def test_six_notes_stand_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_findings, "quote", lambda line, view: [f"quoted {line.number}"])

    def notes(count: int) -> list[str]:
        made = [ReadNote(f"note {at}", Line(at, "") if at == 2 else None) for at in range(1, count + 1)]
        shown: Any = Made(case=Made(capture=Made(notes=made)))
        return report._notes(shown, VIEW)

    assert notes(0) == []
    assert notes(2) == ["", "NOTES", "  - note 1", "  - note 2", "quoted 2"]
    assert notes(6)[-1] == "  - note 6"
    assert notes(9)[-2:] == ["  - note 6", "  … 3 more (--json lists them)"]


def test_a_graph_that_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_copies, "trials", lambda case, view: ["trial"] if case.trials else [])
    for name in ("causes", "peak", "largest"):
        monkeypatch.setattr(_copies, name, lambda study, view, name=name: [name])

    def page(copies: tuple[int, ...] | None, *trials: int) -> list[str]:
        study = None if copies is None else Made(copies=copies)
        shown: Any = Made(case=Made(layout=study, trials=trials))
        return report._layout_pass(shown, VIEW)

    largest = ["", "THE LARGEST COPIES", "largest"]
    assert page(None) == page(()) == page(None, 1) == []
    assert page((), 1) == ["", "TRIED", "trial"]
    assert page((1,)) == ["", "COPIES BY CAUSE", "causes", "peak", *largest]
    assert page((1,), 1) == ["", "TRIED", "trial", "", "COPIES BY CAUSE", "causes", "peak", *largest]


def test_edits_that_were_tried_stand_below_what_is() -> None:
    def study(count: int, size: int, peak: int | None) -> Any:
        return Made(copies=(1,) * count, bytes=size, peak=None if peak is None else Made(bytes=peak))

    trial = Made(remedy="an edit", study=study(1, MIB, None), text="so it goes")
    case: Any = Made(layout=study(20, 3 * MIB, 7 * MIB), trials=(trial,))
    assert _copies.trials(case, VIEW) == [
        "  as it is  20  3.00 MiB  peak about 7.00 MiB",
        "  an edit    1  1.00 MiB",
        "  an edit: so it goes",
    ]


# ------------------------------------------------------------------ the model


def layer(**changed: Any) -> Any:
    """A described layer of 100 parameters at a batch of 4."""
    told = {
        "class_name": "Dense", "calls": 1, "activation_bytes": 4 * MIB,
        "activation_bytes_per_sample": MIB, "gradient_bytes": 0, "workspace_bytes": 0, "why": "",
        "problem": None,
    }  # fmt: skip
    own = {
        "layer": "dense", "parameters": 1000, "formula": "", "parameter_bytes": 4000, "slot_bytes": 0,
        "outputs": (TensorType((4, 8, None), "float32"),),
    }  # fmt: skip
    told.update({name: value for name, value in changed.items() if name in told})
    own.update({name: value for name, value in changed.items() if name in own})
    return Made(**own, prediction=Made(**told))


@pytest.mark.parametrize(
    "changed, cells",
    [
        ({}, ("dense", "Dense", "[N,8,?]", "1,000", "1.00 MiB")),
        ({"calls": 2}, ("dense", "Dense x2", "[N,8,?]", "1,000", "1.00 MiB")),
        ({"parameters": 0}, ("dense", "Dense", "[N,8,?]", "-", "1.00 MiB")),
        ({"activation_bytes": 0}, ("dense", "Dense", "[N,8,?]", "1,000", "-")),
        ({"outputs": ()}, ("dense", "Dense", "?", "1,000", "1.00 MiB")),
        ({"outputs": (TensorType(None, None),)}, ("dense", "Dense", "?", "1,000", "1.00 MiB")),
        ({"layer": "a" * 24}, ("a" * 24, "Dense", "[N,8,?]", "1,000", "1.00 MiB")),
        ({"layer": "a" * 25}, (f"{'a' * 8}…{'a' * 15}", "Dense", "[N,8,?]", "1,000", "1.00 MiB")),
        ({"class_name": "b" * 18}, ("dense", "b" * 18, "[N,8,?]", "1,000", "1.00 MiB")),
    ],
)
def test_a_row_of_a_model(changed: dict[str, Any], cells: tuple[str, ...]) -> None:
    assert _layers._row(layer(**changed)) == cells


@pytest.mark.parametrize(
    "changed, text",
    [
        ({}, "weights 3.9 KiB"),
        ({"formula": "10*100"}, "1,000 = 10*100; weights 3.9 KiB"),
        (
            {"gradient_bytes": 1024, "slot_bytes": 2048, "workspace_bytes": 4096, "why": "kept"},
            "weights 3.9 KiB, gradient 1.0 KiB, slots 2.0 KiB, temporary buffers 4.0 KiB; kept",
        ),
        ({"parameter_bytes": 0}, ""),
        ({"parameter_bytes": 0, "problem": "unknown"}, "unknown"),
        ({"problem": "unknown", "why": "kept"}, "weights 3.9 KiB; unknown"),
    ],
)
def test_what_a_layer_owns_and_keeps(changed: dict[str, Any], text: str) -> None:
    assert _layers._detail(layer(**changed)) == text


def test_a_long_detail_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_layers, "_totals", lambda layers, view: ["totals"])
    long = {"why": "word " * 12 + "end", "parameter_bytes": 0}
    layers = [
        layer(layer="a"), layer(layer="b", **long), layer(layer="c", **long), layer(layer="d"),
        layer(layer="e", parameter_bytes=0),
    ]  # fmt: skip
    case: Any = Made(layers=[*layers, Made(prediction=None)])
    lines = _layers.table(case, VIEW)
    assert [line.split()[0] for line in lines] == [
        "layer", "a", "weights", "b", *["word", "word", "c", "as"], "d", "weights", "e", "totals",
    ]  # fmt: skip
    assert lines[0] == "  layer  class  output   parameters  per sample"
    assert lines[1] == "  a      Dense  [N,8,?]       1,000    1.00 MiB"
    assert lines[2] == "      weights 3.9 KiB"
    assert lines[7] == "      as b"
    assert _layers.table(Made(layers=[]), VIEW) == []  # type: ignore[arg-type]


# ------------------------------------------------------------------ the run


@pytest.mark.parametrize(
    "at, words",
    [
        (None, []),
        ({"epoch": None, "step": None}, []),
        ({"epoch": 3, "epochs": None, "step": None}, ["epoch 3 (line 5)"]),
        ({"epoch": 3, "epochs": 9, "step": 2, "steps": 7}, ["epoch 3 of 9, 2 of 7 steps done (line 5)"]),
        ({"epoch": None, "step": 2, "steps": 7}, ["2 of 7 steps done (line 5)"]),
    ],
)
def test_how_far_a_run_was(at: dict[str, Any] | None, words: list[str]) -> None:
    asked: list[Any] = []
    progress = None if at is None else Made(**at, line=Line(5, ""))

    def before(line: Line | None) -> Any:
        asked.append(line)
        return progress

    shown = Made(progress_before=before, evaluating=None)
    page: Any = Made(case=Made(capture=Made(surroundings=shown)))
    moment: Any = Made(request=Made(failed=Made(line=Line(9, ""))))
    assert run_facts._progress(page, moment) == words
    assert asked == [Line(9, "")]
    shown.evaluating = Line(8, "")
    assert run_facts._progress(page, moment) == [*words, "in an evaluation (line 8)"]
    traced: Any = Made(request=None)
    run_facts._progress(page, traced)
    assert asked[-1] is None


@pytest.mark.parametrize("times, again", [(1, ""), (2, " 2 times"), (5, " 5 times")])
def test_how_often_retracing_was_warned_of(times: int, again: str) -> None:
    shown = Made(retraced=(times, Line(5, "")))
    page: Any = Made(case=Made(capture=Made(surroundings=shown)))
    assert run_facts._retraced(page) == [f"TensorFlow warned of retracing{again} (line 5)"]
    shown.retraced = None
    assert run_facts._retraced(page) == []


def test_the_host_s_ram_as_printed_last() -> None:
    uses = [
        Made(what="free", used=Size.exactly(MIB * at), total=total, line=Line(at, ""))
        for at, total in ((1, None), (2, Size.exactly(4 * MIB)))
    ]
    uses.append(Made(what="docker", used=Size.exactly(3 * MIB), total=None, line=Line(3, "")))
    page: Any = Made(case=Made(capture=Made(surroundings=Made(host_uses=uses))))
    assert run_facts._host(page) == [
        "free: 2.00 MiB of 4.00 MiB of host RAM in use (line 2)",
        "docker: 3.00 MiB of host RAM in use (line 3)",
    ]


def test_three_remedies_the_first_says_that_it_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    saved = enumerate((5, 0, None, -1, 7, 9))
    kept = [Made(remedy=Made(saves_bytes=size, text=str(at), code=None)) for at, size in saved]
    page: Any = Made(actions=kept, fit=None)
    assert [each.saves_bytes for each in savings.first_remedies(page)] == [5, None, 7]
    monkeypatch.setattr(savings, "of_remedy", lambda remedy, brief: f"brief {brief}")
    assert savings.advice(page) == [
        ("0", "brief False", ""),
        ("2", "brief True", ""),
        ("4", "brief True", ""),
    ]
    saves = [Made(text=str(at), best_bytes=size) for at, size in enumerate((None, 7, 1, 0, -3, 5))]
    fitted: Any = Made(fit=Made(savings=saves))
    monkeypatch.setattr(savings, "of_saving", lambda saving: "saves")
    assert savings.advice(fitted) == [(str(at), "saves", "") for at in range(3)]


# ------------------------------------------------------------------ documents


def test_a_flame_graph_of_scopes() -> None:
    owners = [Made(layer=layer, kind=Made(value="activation")) for layer in ("net/a", "net/b", None)]
    rows = [Made(node=node, total_bytes=size) for node, size in (("x", 5), ("y", 4), (None, 3))]

    class Rows(list[Any]):
        total_bytes = 12

    first = Made(attribution=Made(table=Rows(rows), owners=owners), timeline=Made(allocator="bfc"))
    second = Made(attribution=Made(table=Rows(rows[:1]), owners=owners[:1]), timeline=None)
    empty = Made(attribution=Made(table=Rows(), owners=[]), timeline=None)
    page: Any = Made(case=Made(moments=[first, second, empty], capture=Made(source=Source("größe.log"))))
    text = speedscope.render(page)
    document = json.loads(text)
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    stacks = [[frames[at] for at in sample] for sample in document["profiles"][0]["samples"]]
    assert stacks == [
        ["net", "net/a", "activation", "x"],
        ["net", "net/b", "activation", "y"],
        ["(no layer in the name)", "activation", "(no name)"],
    ]
    assert [each["name"] for each in document["profiles"]] == ["peak of bfc", "at the failure"]
    profile = document["profiles"][0]
    assert (profile["startValue"], profile["endValue"], profile["weights"]) == (0, 12, [5, 4, 3])
    assert "größe.log" in text and text.endswith("}\n")


@pytest.mark.parametrize(
    "text, code",
    [("a", "`a`"), ("a`b", "`` a`b ``"), ("a``b`c", "``` a``b`c ```"), ("a|b", "`a|b`")],
)
def test_inline_code(text: str, code: str) -> None:
    assert markdown._code(text) == code


@pytest.mark.parametrize("text, cell", [("a", "`a`"), ("a|b", "`a\\|b`"), ("a`|", "`` a`\\| ``")])
def test_a_cell_of_a_table(text: str, cell: str) -> None:
    assert markdown._cell(text) == cell


@pytest.mark.parametrize(
    "sentence, written",
    [
        ("in `a_b` [1]", r"in `a_b` \[1\]"),
        ("run `x | y` and `f(**z)`", "run `x | y` and `f(**z)`"),
        ("one ` alone", r"one \` alone"),
        ("~~no~~ \x1b", r"\~\~no\~\~ \\x1b"),
    ],
)
def test_what_a_sentence_quotes_is_code(sentence: str, written: str) -> None:
    assert markdown._prose(sentence) == written


def test_a_gap_holds_nothing() -> None:
    assert tab._gap(100, 7) == {
        "address": 100, "size": 7, "requested_size": 0, "state": "inactive", "frames": [],
    }  # fmt: skip
