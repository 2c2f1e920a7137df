"""Which parts of a log tell of one failure: pairs that belong together, and the nearest that do not."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens import pipeline
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.readers.oom.compiler import Executable
from tfmemlens.readers.oom.disguises import IndirectFailure
from tfmemlens.readers.oom.dump_figures import Dump
from tfmemlens.readers.oom.incidents import incident
from tfmemlens.readers.oom.report import Block
from tfmemlens.readers.oom.same_failure import IncidentDraft, Joiner, Part
from tfmemlens.readers.oom.sentence import OomMessage
from tfmemlens.units import Size

EXACT = Size.exactly


def told(at: int = 1, **given: Any) -> OomMessage:
    """2000 bytes on the GPU, which BFC rounds up to 2048."""
    known: dict[str, Any] = {"shape": (500,), "dtype": "float32", "allocator": "GPU_0_bfc", **given}
    return OomMessage(Line(at, "OOM when allocating"), **known)


def dump(at: int = 1, size: int | None = 2048, **given: Any) -> Dump:
    known: dict[str, Any] = {"allocator": "GPU_0_bfc", **given}
    return Dump(Line(at, "ran out"), size=None if size is None else EXACT(size), **known)


def block(at: int = 1, *names: str, **given: Any) -> Block:
    rows = [(name, EXACT(256), Line(at, name)) for name in names or ("a",)]
    return Block(Line(at, "Current usage"), rows=rows, **given)


def program(size: int | None = None, kind: RequestKind = RequestKind.XLA, **given: Any) -> Executable:
    return Executable(Line(1, "program"), kind, None if size is None else EXACT(size), **given)


def disguise(kind: RequestKind = RequestKind.COPY, what: str = "batch", **given: Any) -> IndirectFailure:
    return IndirectFailure(Line(1, what), kind=kind, what=what, **given)


def joined(*parts: Part, log_below: bool = False) -> list[IncidentDraft]:
    joiner = Joiner("rank 3", log_below)
    for part in parts:
        joiner.take(part)
    return joiner.finish()


def counts(*parts: Part) -> list[tuple[int, int, int, int, int]]:
    """Of each failure how many tellings, dumps, blocks, programs and disguises."""
    return [
        (len(each.tellings), len(each.dumps), len(each.blocks), len(each.executables), len(each.disguises))
        for each in joined(*parts)
    ]


class TestRetellings:
    @pytest.mark.parametrize(
        "changed, same",
        [
            ({}, True),
            ({"shape": (501,)}, False),
            ({"shape": None}, False),
            ({"shape": None, "cut": True}, True),
            ({"shape": (501,), "cut": True}, False),
            ({"dtype": "float16"}, False),
            ({"dtype": None}, True),
            ({"allocator": "cpu"}, False),
            ({"allocator": None}, True),
            ({"device": "/device:GPU:0"}, True),
            ({"device": "/device:GPU:1"}, False),
            ({"node": "net/mul"}, True),
            ({"node": "net/add"}, False),
            ({"node": None}, True),
        ],
    )
    def test_a_sentence_again(self, changed: dict[str, Any], same: bool) -> None:
        first = told(node="net/mul", device="/device:GPU:0")
        second = told(2, **{"node": "net/mul", "device": "/device:GPU:0", **changed})
        assert (len(joined(first, second)) == 1) is same

    def test_a_nameless_sentence_may_get_its_name_later(self) -> None:
        assert len(joined(told(), told(2, node="net/mul"))) == 1
        assert len(joined(told(), told(2, node="net/mul"), told(3, node="net/add"))) == 2

    def test_the_latest_failure_is_asked_first(self) -> None:
        first, second = joined(told(shape=(1,)), told(2), told(3))
        assert (len(first.tellings), len(second.tellings)) == (1, 2)

    def test_python_tells_last(self) -> None:
        """After Python's exception a line of C++ with a dump of its own is another failure, where the first
        had its dump.
        """
        python = told(in_python=True)
        assert counts(told(), python, told(3)) == [(3, 0, 0, 0, 0)]
        again = [(1, 1, 0, 0, 0), (1, 1, 0, 0, 0)]
        assert counts(dump(1), python, dump(2, op="net/mul"), told(3)) == again
        assert counts(python, dump(2), told(3, in_python=True)) == [(2, 1, 0, 0, 0)]
        other = told(2, shape=(7,))
        assert counts(python, other, told(3)) == [(1, 0, 0, 0, 0), (1, 0, 0, 0, 0), (1, 0, 0, 0, 0)]
        assert counts(python, disguise(), told(3)) == [(2, 0, 0, 0, 0), (0, 0, 0, 0, 1)]

    @pytest.mark.parametrize(
        "ends, source, dumps",
        [
            ((10, 40), "", [1, 1]),  # the sentence stands within the second dump
            ((10, 20), "", [2, 0]),  # below both
            ((31, 40), "", [2, 0]),  # no dump had ended
            ((10, 40), "other.log", [2, 0]),  # of another file's lines nobody knows the order
        ],
    )
    def test_a_sentence_within_another_threads_dump(
        self, ends: tuple[int, int], source: str, dumps: list[int]
    ) -> None:
        parts = [
            dump(start, op=op, stats={"Limit": (EXACT(4096), Line(end, "Limit", source))})
            for start, op, end in zip((1, 15), ("draw", "cast"), ends, strict=True)
        ]
        found = joined(*parts, told(30), told(50, dtype="int32"))
        assert [len(each.dumps) for each in found] == dumps

    def test_pytest_shows_the_log_below_the_exception(self) -> None:
        python, other = told(in_python=True), told(3, shape=(7,))
        assert len(joined(python, dump(2), told(3), log_below=True)) == 1
        assert len(joined(python, told(3), log_below=True)) == 1
        assert len(joined(python, dump(2), other, log_below=True)) == 3
        assert len(joined(told(), dump(2), told(3), log_below=True)) == 1

    def test_who_pastes_the_traceback_first(self) -> None:
        """The only exception and the only log, of one request: the log is the exception's."""
        python = told(in_python=True)
        assert counts(python, dump(2)) == [(1, 1, 0, 0, 0)]
        assert counts(python, dump(2), told(3)) == [(2, 1, 0, 0, 0)]
        assert counts(python, dump(2, size=4096)) == [(1, 0, 0, 0, 0), (0, 1, 0, 0, 0)]
        assert counts(python, dump(2, size=None), told(3, shape=(7,)))[0] == (1, 0, 0, 0, 0)
        assert len(joined(told(shape=(7,), in_python=True), python, dump(2))) == 3
        assert len(joined(told(shape=None, in_python=True), dump(2))) == 2

    def test_drafts_know_their_rank_and_place(self) -> None:
        drafts = joined(told(shape=(1,)), told(shape=(2,)))
        assert [(each.rank, each.order) for each in drafts] == [("rank 3", 0), ("rank 3", 1)]

    def test_what_a_draft_says_of_its_parts(self) -> None:
        assert IncidentDraft(tellings=[told(), told(root=2), told(root=1)]).root == 2
        assert IncidentDraft(tellings=[told(root=0)]).root == 0
        assert IncidentDraft().root is None
        assert not IncidentDraft().fits(told())
        assert not IncidentDraft(tellings=[told()], disguises=[disguise()]).in_python
        assert IncidentDraft(tellings=[told(), told(in_python=True)]).in_python
        assert IncidentDraft(tellings=[told()], disguises=[disguise(in_python=True)]).in_python


class TestDumps:
    @pytest.mark.parametrize(
        "given, fits",
        [
            ({"size": 2048}, True),
            ({"size": 2000}, True),
            ({"size": 2304}, False),
            ({"size": 2048, "allocator": "cpu"}, False),
            ({"size": 2048, "allocator": None}, True),
            ({"size": 2048, "op": "net/add"}, True),
            ({"size": None}, True),
            ({"size": None, "op": "net/add"}, True),
        ],
    )
    def test_a_dump_goes_to_the_sentence_that_it_fits(self, given: dict[str, Any], fits: bool) -> None:
        found = counts(dump(**given), told(node="net/mul"))
        assert found == ([(1, 1, 0, 0, 0)] if fits else [(1, 0, 0, 0, 0), (0, 1, 0, 0, 0)])

    @pytest.mark.parametrize(
        "op, node, fits",
        [
            ("net/mul", "net/mul", True),
            ("net/add", "net/mul", False),
            (None, "net/mul", True),
            ("net/add", None, True),
        ],
    )
    def test_of_a_tensor_without_a_type_the_op_decides(
        self, op: str | None, node: str | None, fits: bool
    ) -> None:
        found = counts(dump(op=op), told(node=node, dtype=None))
        assert (found == [(1, 1, 0, 0, 0)]) is fits

    def test_all_that_fit(self) -> None:
        assert counts(dump(), dump(2), told()) == [(1, 2, 0, 0, 0)]

    def test_a_dump_without_a_head_may_follow_its_sentence(self) -> None:
        assert counts(told(shape=(7,), dtype=None), told(2), dump(3, size=None)) == [
            (1, 0, 0, 0, 0), (1, 1, 0, 0, 0),
        ]  # fmt: skip
        headed = dump(3, start=Line(3, "ran out"))
        assert counts(told(shape=(7,)), told(2), headed) == [
            (1, 0, 0, 0, 0), (1, 0, 0, 0, 0), (0, 1, 0, 0, 0),
        ]  # fmt: skip

    def test_dumps_that_nothing_followed(self) -> None:
        assert counts(dump(), dump(2)) == [(0, 2, 0, 0, 0)]
        assert counts(dump(), dump(2, op="x")) == [(0, 1, 0, 0, 0), (0, 1, 0, 0, 0)]
        assert counts(dump(), dump(2, allocator="GPU_1_bfc"))[0] == (0, 2, 0, 0, 0)  # the same op and size
        assert counts(dump(), dump(2, size=4096)) == [(0, 1, 0, 0, 0), (0, 1, 0, 0, 0)]
        assert counts(dump(size=None), dump(2, size=None, op="x")) == [(0, 1, 0, 0, 0), (0, 1, 0, 0, 0)]

    def test_a_dump_again_after_its_failure(self) -> None:
        assert counts(dump(), told(), dump(9)) == [(1, 2, 0, 0, 0)]

    def test_a_dump_without_a_head_goes_to_the_only_failure(self) -> None:
        python = told(in_python=True)
        assert counts(python, dump(2, size=None)) == [(1, 1, 0, 0, 0)]
        assert counts(python, dump(2, size=77)) == [(1, 0, 0, 0, 0), (0, 1, 0, 0, 0)]
        two = (python, told(2, shape=(7,), in_python=True), dump(3, size=None))
        assert counts(*two) == [(1, 0, 0, 0, 0), (1, 0, 0, 0, 0), (0, 1, 0, 0, 0)]


class TestDumpsOfSeveralProcesses:
    """Two processes fail at once for tensors of one size: no sentence of C++ names its node."""

    def given(self, one: str = "a/Abs", other: str = "b/Sign", **differs: Any) -> list[list[str | None]]:
        parts = (
            dump(1, op="b/Sign"),
            told(2),
            dump(3, op="a/Abs"),
            told(4),
            told(5, node=one, in_python=True),
            told(6, node=other, in_python=True, **differs),
        )
        return [[each.op for each in draft.dumps] for draft in joined(*parts)]

    def test_each_dump_goes_where_its_op_is_told_of(self) -> None:
        assert self.given() == [["a/Abs"], ["b/Sign"]]
        assert self.given("b/Sign", "a/Abs") == [["b/Sign"], ["a/Abs"]]

    @pytest.mark.parametrize(
        ("other", "differs"), [("c/Mul", {}), ("b/Sign", {"allocator": "mklcpu"}), ("a/Abs", {})]
    )
    def test_others_stay(self, other: str, differs: dict[str, Any]) -> None:
        assert self.given(other=other, **differs)[0] == ["b/Sign", "a/Abs"]


class TestBlocks:
    def test_a_report_belongs_to_the_latest_sentence_of_its_allocator(self) -> None:
        one, other = told(1, shape=(1,)), told(2, shape=(2,), allocator="GPU_1_bfc", device="/device:GPU:1")
        owner = block(3, allocator="GPU_0_bfc", device="/device:GPU:0")
        one.device = "/device:GPU:0"
        assert counts(one, other, owner) == [(1, 0, 1, 0, 0), (1, 0, 0, 0, 0)]
        assert counts(one, other, block(3)) == [(1, 0, 0, 0, 0), (1, 0, 1, 0, 0)]

    def test_the_same_block_counts_once(self) -> None:
        assert counts(told(), block(2), block(3)) == [(1, 0, 1, 0, 0)]
        assert counts(told(), block(2), block(3, "b")) == [(1, 0, 2, 0, 0)]

    def test_blocks_without_a_sentence_stay_together(self) -> None:
        assert counts(block(1), block(2, "b")) == [(0, 0, 2, 0, 0)]
        assert counts(disguise(), block(1), block(2, "b")) == [(0, 0, 0, 0, 1), (0, 0, 2, 0, 0)]

    def test_a_block_of_neither_its_device_nor_its_allocator_stands_alone(self) -> None:
        foreign = block(2, allocator="cpu", device="/device:CPU:0")
        assert counts(told(device="/device:GPU:0"), foreign) == [(1, 0, 0, 0, 0), (0, 0, 1, 0, 0)]


class TestPrograms:
    @pytest.mark.parametrize(
        "one, other, same",
        [
            ({"size": 100}, {"size": 100}, True),
            ({"size": 100}, {"size": 101}, False),
            ({"size": 100}, {"size": None}, True),
            ({"size": None}, {"size": 100}, True),
            ({"size": 100, "name": "f"}, {"size": 100, "name": "g"}, False),
            ({"size": 100, "name": "f"}, {"size": 100}, True),
            ({"size": 100}, {"size": 100, "kind": RequestKind.TPU}, False),
        ],
    )
    def test_the_same_program(self, one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
        assert (len(joined(program(**one), program(**other))) == 1) is same

    @pytest.mark.parametrize(
        "low, high, same", [(90, 100, True), (90, 99, False), (200, 210, True), (201, 210, False)]
    )
    def test_figures_of_one_program_overlap(self, low: int, high: int, same: bool) -> None:
        printed, other = program(), program()
        printed.size, other.size = Size(150, 100, 200), Size(low, low, high)
        assert (len(joined(printed, other)) == 1) is same

    @pytest.mark.parametrize(
        "size, dumped, same", [(2000, 2000, True), (2000, 2048, True), (2000, 2304, False)]
    )
    def test_the_dump_of_its_arena(self, size: int, dumped: int, same: bool) -> None:
        found = counts(dump(size=dumped), program(size))
        assert found == ([(0, 1, 0, 1, 0)] if same else [(0, 0, 0, 1, 0), (0, 1, 0, 0, 0)])

    def test_a_program_without_a_size_takes_a_dump_that_is_left(self) -> None:
        assert counts(dump(), program()) == [(0, 1, 0, 1, 0)]
        assert counts(dump(), dump(2, size=512), program()) == [(0, 1, 0, 1, 0), (0, 1, 0, 0, 0)]


class TestDisguises:
    @pytest.mark.parametrize(
        "changed, same",
        [
            ({}, True),
            ({"what": "element"}, False),
            ({"kind": RequestKind.WORKSPACE}, False),
            ({"op": "Mul"}, True),
            ({"op": "Add"}, False),
            ({"node": "b"}, False),
            ({"shape": (2,)}, False),
            ({"shape": None, "node": None, "op": None}, True),
        ],
    )
    def test_the_same_again(self, changed: dict[str, Any], same: bool) -> None:
        known = {"op": "Mul", "node": "a", "shape": (1,)}
        assert (len(joined(disguise(**known), disguise(**{**known, **changed}))) == 1) is same

    @pytest.mark.parametrize(
        "kind, what, takes",
        [
            (RequestKind.COPY, "x", True),
            (RequestKind.WORKSPACE, "x", True),
            (RequestKind.DRIVER, "x", True),
            (RequestKind.TENSOR, "x", True),
            (RequestKind.HOST, "x", False),
            (RequestKind.HOST, "batch", True),
        ],
    )
    def test_whose_dump_it_is(self, kind: RequestKind, what: str, takes: bool) -> None:
        assert (counts(dump(), disguise(kind, what))[0] == (0, 1, 0, 0, 1)) is takes
        assert counts(dump(allocator="gpu_host_bfc"), disguise(kind, what))[0] == (0, 0, 0, 0, 1)

    def test_the_driver_explains_what_follows(self) -> None:
        driver = disguise(RequestKind.DRIVER, "driver", size=EXACT(5))
        (only,) = joined(driver, told())
        assert (only.driver, only.disguises) == ([driver], [])
        first, second = joined(driver, told(), told(2, shape=(7,)))
        assert (first.driver, second.driver) == ([driver], [])
        assert counts(driver) == [(0, 0, 0, 0, 1)]
        assert counts(told(), driver) == [(1, 0, 0, 0, 0)]

    def test_the_driver_again_without_a_size(self) -> None:
        failed = disguise(RequestKind.DRIVER, "x")
        assert counts(failed, disguise(RequestKind.DRIVER, "driver")) == [(0, 0, 0, 0, 2)]
        assert counts(failed, disguise(RequestKind.DRIVER, "driver", size=EXACT(5))) == [(0, 0, 0, 0, 1)]
        assert counts(disguise(), disguise(RequestKind.DRIVER, "driver")) == [(0, 0, 0, 0, 1)]


class TestHeadings:
    """A post's heading tells in short what the text below it quotes."""

    BARE = told(1, shape=None, dtype=None, allocator=None)

    def test_a_heading_without_a_tensor_is_of_the_failure_below_it(self) -> None:
        assert counts(self.BARE, told(16), dump(17, size=4096)) == [(1, 0, 0, 0, 0), (0, 1, 0, 0, 0)]
        assert [each.line.number for each in joined(self.BARE, told(16))[0].tellings] == [16]

    def test_a_heading_alone_or_above_less_is_kept(self) -> None:
        assert len(joined(self.BARE)) == 1
        assert len(joined(self.BARE, disguise())) == 2

    def test_a_heading_with_a_tensor_of_its_own_is_a_failure(self) -> None:
        assert len(joined(told(1, shape=(7,)), told(16))) == 2
        assert len(joined(told(2, shape=None, dtype=None, allocator=None), told(16))) == 2


def test_a_request_is_quoted_from_the_message_and_not_from_the_heading() -> None:
    heading = IndirectFailure(Line(1, "# CUDA_ERROR_OUT_OF_MEMORY"), kind=RequestKind.DRIVER, what="context")
    message = IndirectFailure(Line(6, "failed call to cuInit"), kind=RequestKind.DRIVER, what="context")
    request = incident(IncidentDraft(disguises=[heading, message])).request
    assert request.line is not None and request.line.number == 6
    request = incident(IncidentDraft(disguises=[heading])).request
    assert request.line is not None and request.line.number == 1


def test_a_heading_tells_of_the_message_below_it_and_gives_no_place() -> None:
    error, op = "CUDNN_STATUS_ALLOC_FAILED", "[Op:Conv2D]"
    head = f"owner/name, issue 7\nlabels: bug\n# Could not create cudnn handle: {error} {op}\n\n"
    log = f"E dnn.cc:336] Could not create cudnn handle: {error}\n"
    request = pipeline.explain(head + log).case.moments[0].incident.request
    assert (request.line.number, request.op) == (5, None)
    alone = pipeline.explain(head).case.moments[0].incident.request
    assert (alone.line.number, alone.op) == (3, "Conv2D")
    late = pipeline.explain(f"\n\n{head}{log}").case.moments[0].incident.request
    assert late.line.number == 5


def test_the_bare_name_of_an_exception_ends_a_traceback() -> None:
    trace = (
        "# MemoryError in training\nTraceback (most recent call last):\n"
        '  File "train.py", line 7, in load\n    mask = decode(rle)\n'
        '  File "lib/_mask.pyx", line 150, in lib._mask.decode\n'
    )
    request = pipeline.explain(trace + "MemoryError\n").case.moments[0].incident.request
    assert (request.line.number, request.source) == (6, "train.py:7")
    code = pipeline.explain(trace + "    MemoryError\n").case.moments[0].incident.request
    assert code.line.number == 1
