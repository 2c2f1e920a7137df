"""From the parts of one failure to what is known of it: which part counts, one field at a time."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from tfmemlens import pipeline
from tfmemlens.model.incident import FailedRequest, RequestKind, SizeClass
from tfmemlens.model.line import Line
from tfmemlens.readers.oom.compiler import Executable
from tfmemlens.readers.oom.context import Context
from tfmemlens.readers.oom.disguises import IndirectFailure
from tfmemlens.readers.oom.dump_figures import Dump
from tfmemlens.readers.oom.incidents import incident, version_text
from tfmemlens.readers.oom.report import Block
from tfmemlens.readers.oom.rules import FIRST, LAST
from tfmemlens.readers.oom.same_failure import IncidentDraft
from tfmemlens.readers.oom.sentence import OomMessage
from tfmemlens.units import Size

EXACT = Size.exactly


def line(at: int) -> Line:
    return Line(at, "x")


def told(at: int = 1, **given: Any) -> OomMessage:
    return OomMessage(line(at), **{"shape": (500,), **given})


def dump(**given: Any) -> Dump:
    return Dump(line(9), **{"allocator": "GPU_0_bfc", "start": line(9), **given})


def program(**given: Any) -> Executable:
    return Executable(line(5), RequestKind.XLA, **given)


def disguise(kind: RequestKind = RequestKind.COPY, **given: Any) -> IndirectFailure:
    return IndirectFailure(line(7), kind=kind, what="batch", **given)


def request(*tellings: OomMessage, **parts: Any) -> FailedRequest:
    return incident(IncidentDraft(tellings=list(tellings), **parts)).request


class TestSentences:
    def test_the_first_that_knows_counts(self) -> None:
        found = request(
            told(1, dtype=None, kernel=None, shape=()),
            told(2, dtype="float32", kernel="a.cc:1", device="/device:GPU:0", op="Mul", shape=(3,)),
            told(3, dtype="float16", kernel="b.cc:1", device="/device:GPU:1", op="Add", temporary=True),
        )
        assert (found.kind, found.line, found.shape) == (RequestKind.TENSOR, line(1), ())
        assert (found.dtype, found.kernel, found.device, found.op) == (
            "float32",
            "a.cc:1",
            "/device:GPU:0",
            "Mul",
        )
        assert found.temporary
        assert not request(told()).temporary

    def test_brackets_name_the_node_then_the_dump_then_a_header(self) -> None:
        above = told(node_above="c")
        assert request(told(2, node="a"), above, dumps=[dump(op="b")]).node == "a"
        assert request(above, dumps=[dump(op="b")]).node == "b"
        assert request(above).node == "c"

    def test_what_it_ran_at_stands_in_for_what_made_it(self) -> None:
        ran, made = ("train.py:3", "fit()"), {"source": "net.py:5", "source_text": "conv(x)"}
        assert (request(told(ran_at=ran)).source, request(told(ran_at=ran)).source_text) == ran
        found = request(told(ran_at=ran, **made))
        assert (found.source, found.source_text) == ("net.py:5", "conv(x)")
        bare = request(told(ran_at=ran, source="net.py:5"))
        assert (bare.source, bare.source_text) == ("net.py:5", None)
        same = request(told(ran_at=ran, source="train.py:3"))
        assert (same.source, same.source_text) == ran
        assert request(told(source_text="lost")).source_text is None

    @pytest.mark.parametrize("name", ["updating", "creating"])
    def test_what_any_of_them_says(self, name: str) -> None:
        assert getattr(request(told(), told(**{name: True})), name)
        assert not getattr(request(told(), told()), name)

    def test_the_device_of_a_node(self) -> None:
        attributes = (("T", "DT_FLOAT"), ("_device", '"/device:GPU:3"'))
        assert request(told(attributes=attributes)).device == "/device:GPU:3"
        assert request(told(attributes=attributes, device="/device:GPU:1")).device == "/device:GPU:1"
        assert request(told(attributes=attributes[:1])).device is None

    @pytest.mark.parametrize(
        "given, size, dtype",
        [
            ({}, 2048, "float32"),  # 500 elements of 4 bytes are 2000, which BFC rounds up to 2048
            ({}, 1024, None),
            ({}, 4096, None),
            ({}, None, None),
            ({"shape": None}, 2048, None),
            ({"shape": (1,)}, 256, None),  # of any type
            ({"op": "Add", "attributes": (("T", "DT_HALF"),)}, 2048, "float16"),
            ({"op": "Add", "attributes": (("T", "DT_HALF"),), "dtype": "int8"}, 2048, "int8"),
        ],
    )
    def test_a_type_that_no_sentence_names(
        self, given: dict[str, Any], size: int | None, dtype: str | None
    ) -> None:
        dumps = [dump(size=None if size is None else EXACT(size))]
        assert request(told(**given), dumps=dumps).dtype == dtype
        assert request(told()).dtype is None

    def test_the_dump_fills_in(self) -> None:
        assert request(told(), dumps=[dump(size=EXACT(7))]).allocator == "GPU_0_bfc"
        found = request(told(allocator="cpu"), dumps=[dump(size=EXACT(7))])
        assert (found.allocator, found.size) == ("cpu", EXACT(7))
        assert (request(told()).allocator, request(told()).size) == (None, None)

    def test_the_input_pipeline_is_on_the_host(self) -> None:
        waiting = {"also": ["IteratorGetNext"]}
        assert request(told(**waiting)).pipeline
        assert request(told(device="/device:CPU:0", **waiting)).pipeline
        assert not request(told(device="/device:GPU:0", **waiting)).pipeline
        assert not request(told()).pipeline


class TestOtherFailures:
    def test_a_program(self) -> None:
        context = Context(line(4), node="XRTExecute", op="Mul", source="a.py:1", source_text="f()")
        named = Context(line(4), node="net/mul")
        found = request(
            executables=[
                program(context=context, size=EXACT(9), name="f", device="d"),
                program(context=named),
            ],
            dumps=[dump(start=None)],
        )
        assert (found.kind, found.node, found.op, found.source) == (
            RequestKind.XLA,
            "net/mul",
            "Mul",
            "a.py:1",
        )
        assert (found.size, found.executable, found.device, found.allocator) == (
            EXACT(9),
            "f",
            "d",
            "GPU_0_bfc",
        )
        assert found.line == line(5)
        assert request(executables=[program(tellings=[line(3)])]).line == line(3)
        assert request(executables=[program(allocator="x")], dumps=[dump(start=None)]).allocator == "x"
        assert request(executables=[program()], dumps=[dump(start=None, size=EXACT(8))]).size == EXACT(8)

    def test_its_arena_is_its_size(self) -> None:
        sections = [("parameter", EXACT(3), line(1)), ("preallocated temp", EXACT(8), line(2))]
        assert request(executables=[program(sections=sections)]).size == EXACT(8)
        assert request(executables=[program(sections=sections, size=EXACT(9))]).size == EXACT(9)
        assert request(executables=[program(sections=sections[:1])]).size is None
        both = [program(sections=sections), program(size=EXACT(7))]
        assert request(executables=both).size == EXACT(7)

    def test_a_dump_says_more_than_a_programs_one_sentence(self) -> None:
        context = Context(line(4), op="Mul")
        found = incident(
            IncidentDraft(executables=[program(context=context, name="f")], dumps=[dump(op="net/mul")])
        )
        asked = found.request
        assert (asked.kind, asked.node, asked.op, asked.executable) == (
            RequestKind.DUMP,
            "net/mul",
            "Mul",
            "f",
        )
        assert asked.compiled and found.compiler is None and asked.line == line(9)
        alone = incident(IncidentDraft(dumps=[dump(size=EXACT(7))]))
        assert (alone.request.kind, alone.request.size, alone.request.compiled) == (
            RequestKind.DUMP,
            EXACT(7),
            False,
        )
        assert incident(IncidentDraft(executables=[program()])).compiler is not None

    def test_a_program_that_fits_is_no_end(self) -> None:
        account = Executable(line(5), RequestKind.PROGRAM)
        assert not incident(IncidentDraft(executables=[account])).fatal
        assert incident(IncidentDraft(executables=[program()])).fatal

    def test_a_disguise(self) -> None:
        given = {"shape": (3,), "dtype": "int8", "device": "d", "size": EXACT(4), "node": None, "op": "Mul"}
        found = request(disguises=[disguise(**given)], dumps=[dump(op="b", size=EXACT(5))])
        assert (found.kind, found.shape, found.dtype, found.device) == (RequestKind.COPY, (3,), "int8", "d")
        assert (found.size, found.op, found.node, found.allocator) == (EXACT(4), "Mul", None, "GPU_0_bfc")
        assert request(disguises=[disguise()], dumps=[dump(size=EXACT(5))]).size == EXACT(5)
        tensor = [disguise(RequestKind.TENSOR)]
        assert request(disguises=tensor, dumps=[dump(op="b")]).node == "b"
        assert request(disguises=tensor).allocator is None

    def test_a_constant_shows_its_own_shape(self) -> None:
        value = (("value", "Tensor<type: float shape: [32,8] values: [0 0]...>"),)
        constant = disguise(attributes=value, shape=(1,))
        assert request(disguises=[constant]).shape == (32, 8)
        other = disguise(RequestKind.WORKSPACE, attributes=value, shape=(1,))
        assert request(disguises=[other]).shape == (1,)

    def test_a_report_alone(self) -> None:
        block = Block(line(1), device="d", allocator="a", rows=[("n", EXACT(1), line(2))])
        found = request(blocks=[block])
        assert (found.kind, found.device, found.allocator) == (RequestKind.TENSOR, "d", "a")


class TestTheIncident:
    def test_the_best_dump(self) -> None:
        """The one of the failing node, then one with statistics, then the longest."""
        stats = {"Limit": (EXACT(1), line(1))}
        named, counted = dump(op="a", size=EXACT(1)), dump(size=EXACT(2), stats=stats)
        long, short = dump(size=EXACT(3), sizes=array("Q", (1, 1)), used=bytearray(2)), dump(size=EXACT(4))
        for drop, best in enumerate((1, 2, 3, 4)):
            rest = [short, long, counted, named][: 4 - drop]
            assert request(told(node="a"), dumps=rest).size == EXACT(best)

    def test_how_often_it_is_told(self) -> None:
        def times(*tellings: OomMessage, **parts: Any) -> int:
            return incident(IncidentDraft(tellings=list(tellings), **parts)).occurrences

        assert times(told(), told()) == 2
        assert times(dumps=[dump()]) == 1
        assert times(executables=[program(tellings=[line(1)])] * 3) == 3
        assert times(executables=[program()] * 3) == 1
        assert times(disguises=[disguise(), disguise(), disguise(echo=True)]) == 2

    def test_the_killers_figures(self) -> None:
        killed = disguise(RequestKind.HOST, held=EXACT(7), limit=EXACT(9))
        state = incident(IncidentDraft(disguises=[disguise(RequestKind.HOST), killed])).state
        assert (state.in_use, state.limit) == (EXACT(7), EXACT(9))
        assert state.lines == (("limit", line(7)), ("in_use", line(7)))
        assert incident(IncidentDraft(disguises=[disguise()])).state.lines == ()

    def test_a_programs_capacity_is_the_limit(self) -> None:
        state = incident(IncidentDraft(executables=[program(capacity=EXACT(9), free=EXACT(2))])).state
        assert (state.limit, state.free, state.lines) == (EXACT(9), EXACT(2), (("limit", line(5)),))
        stats = {"Limit": (EXACT(8), line(1))}
        both = IncidentDraft(executables=[program(capacity=EXACT(9))], dumps=[dump(start=None, stats=stats)])
        assert incident(both).state.limit == EXACT(8)

    def test_a_report_within_another_is_part_of_it(self) -> None:
        def block(*names: str, **given: Any) -> Block:
            return Block(line(1), rows=[(name, EXACT(1), line(2)) for name in names], **given)

        def held(*blocks: Block) -> int:
            return len(incident(IncidentDraft(blocks=list(blocks))).holders)

        assert held(block("a", "b"), block("a")) == 1
        assert held(block("a"), block("a", "b")) == 2
        assert held(block("a", "b"), block("a", device="d")) == 2
        assert held(block("a", "b"), block("a", allocator="x")) == 2

    def test_the_rest(self) -> None:
        driver = [disguise(RequestKind.DRIVER, size=EXACT(3)), disguise(RequestKind.DRIVER)]
        classes = [SizeClass(1, 256)]
        found = incident(
            IncidentDraft(
                tellings=[told(), told(2, hint=line(3))], disguises=[disguise()], driver=driver, rank="r 1",
                dumps=[dump(classes=classes)],
            )
        )  # fmt: skip
        assert (found.hint, found.ranks) == (line(3), ("r 1",))
        assert found.driver_failures == ((EXACT(3), line(7)),)
        assert found.tellings == (line(1), line(2), line(7))
        assert found.size_classes == tuple(classes)
        assert incident(IncidentDraft(tellings=[told()])).ranks == ()

    def test_the_version(self) -> None:
        assert incident(IncidentDraft(tellings=[told()])).era is None
        found = IncidentDraft(
            tellings=[told(era=((1, 5), LAST))], disguises=[disguise(era=((1, 14), LAST))],
            dumps=[dump(era=(FIRST, (2, 3)))],
        )  # fmt: skip
        assert incident(found).era == ("1.14", "2.3")
        assert version_text(LAST) == "2.21"


OF_A_RANK = (
    "[1,{rank}]<stderr>:tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating"
    " tensor with shape[{shape}] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator"
    " GPU_0_bfc\n[1,{rank}]<stderr>:\t [[{{{{node {node}}}}}]]\n"
)


@pytest.mark.parametrize(
    ("rank", "shape", "node", "failures"),
    [
        (1, "16,576,64", "gradient_tape/net/pairs/Abs/Sign", 1),
        (1, "16,576,64", "net/pairs/Abs", 1),
        (1, "16,288,64", "net/pairs/Abs", 2),
        (0, "16,576,64", "gradient_tape/net/pairs/Abs/Sign", 2),  # one rank fails at two ops
    ],
)
def test_ranks_that_ask_for_one_shape_show_one_failure(
    rank: int, shape: str, node: str, failures: int
) -> None:
    first = OF_A_RANK.format(rank=0, shape="16,576,64", node="net/pairs/Abs")
    case = pipeline.explain(first + OF_A_RANK.format(rank=rank, shape=shape, node=node)).case
    assert len(case.capture.incidents) == failures
    assert len(case.capture.incidents[0].ranks) == (2 if failures == 1 else 1)
