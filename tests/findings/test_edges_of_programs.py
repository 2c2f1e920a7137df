"""Edges of what is said of a program that XLA compiled: by its account, its device, its words, the code."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_edges_of_tensors import failed, slugs
from tests.findings.test_support import A, case, exactly
from tfmemlens.findings import xla_arena_too_large
from tfmemlens.model.case import Api, Balance, FrontEnd, Moment
from tfmemlens.model.finding import Finding
from tfmemlens.model.incident import CompilerMemory, Frame, Incident, RequestKind
from tfmemlens.values import replace

MIB, GIB = 1 << 20, 1 << 30
JAX, TORCH, KERAS = (Api(front_end=each) for each in (FrontEnd.JAX, FrontEnd.TORCH_XLA, FrontEnd.KERAS))
NAMES = {
    "arguments": "parameter",
    "results": "maybe_live_out",
    "temporaries": "preallocated temp",
    "constants": "constant",
    "total": "total",
}


def program(
    size: int | None = None, limit: int | None = None, in_use: int | None = None, **more: Any
) -> Moment:
    """A failed request of XLA's with this account; all sizes in GiB."""
    sections = tuple((NAMES[key], exactly(int(more.pop(key) * GIB)), at(3)) for key in NAMES if key in more)
    account = {
        key: exactly(int(more.pop(key) * GIB))
        for key in ("needed", "capacity", "free", "excess", "reduced_to", "goal")
        if key in more
    }
    cut, rows = more.pop("cut", False), more.pop("rows", ())
    compiler = CompilerMemory(sections=sections, cut=cut, **account)
    books = Balance(limit=limit and exactly(limit * GIB), in_use=in_use and exactly(in_use * GIB))
    moment = failed(
        None, rows=rows, **{"node": None, "what": RequestKind.XLA, "dtype": None, **more}, books=books
    )
    assert moment.request
    request = replace(
        moment.request,
        failed=replace(moment.request.failed, size=None if size is None else exactly(int(size * GIB))),
    )
    return replace(moment, request=request, incident=Incident(request.failed, compiler=compiler))


def told(moment: Moment, api: Api = JAX, **surroundings: Any) -> Finding:
    (found,) = xla_arena_too_large.check(replace(case(moment, **surroundings), api=api))
    return found


def shows(*purposes: str, **more: Any) -> dict[str, Any]:
    return {"purposes": tuple((each, at(5, more.get(each.replace(" ", "_"), "x"))) for each in purposes)}


@pytest.mark.parametrize(
    "moment, because",
    [
        (program(16), "one array, or all temporaries of a compiled program"),
        (program(289), "no single device has so much"),
        (program(288), "one array, or all temporaries of a compiled program"),
        (program(16, executable="jit_f"), "XLA allocates all temporaries of a program as one block"),
        (
            program(16, temporaries=16, total=20),
            "these are the program's temporaries, which XLA allocates as one block",
        ),
        (program(16, temporaries=15, total=20), "15.00 GiB of it are its temporaries"),
        (program(16, results=16, temporaries=17, total=40), "these are the results of the program"),
        (program(16, results=16, temporaries=16, total=40), "these are the program's temporaries"),
        (program(16, results=0, temporaries=16, total=40), "these are the program's temporaries"),
        (
            program(16, temporaries=16, total=20, limit=19),
            "as one block; the whole program needs 20.00 GiB, more than the device has",
        ),
        (program(16, temporaries=16, total=20, limit=20), "which XLA allocates as one block"),
        (
            program(16, results=10, temporaries=9, arguments=1, total=40),
            "its largest part are its results, 10.00 GiB, more than",
        ),
        (program(16, results=10, temporaries=10, arguments=1, total=40), "XLA allocates all temporaries"),
        (program(16, results=10, total=40), "its largest part are its results, 10.00 GiB"),
        (program(16, constants=11, temporaries=5, total=20), "11.00 GiB of the program are constants"),
        (program(16, constants=10, temporaries=5, total=20), "XLA allocates all temporaries"),
        (program(16, constants=10, temporaries=5), "10.00 GiB of the program are constants"),
        (program(16, constants=5, temporaries=5), "XLA allocates all temporaries"),
        (
            program(16, arguments=9, results=9, temporaries=4, total=22),
            "9.00 GiB of it are results, made beside arguments of 9.00",
        ),
        (
            program(16, arguments=9, results=9, temporaries=4, total=13),
            "9.00 GiB of it are its arguments (returned anew, so most likely weights",
        ),
        (
            program(16, arguments=9, results=9, temporaries=0, total=18),
            "one operation ran by itself, and its result (9.00 GiB)",
        ),
        (program(16, free=3), "only 3.00 GiB was free on the device: arrays and programs"),
        (program(16, free=15), "only 15.00 GiB was free on the device"),
        (program(16, free=16), "16.00 GiB was free on the device, and not where the program needs it"),
        (program(16, needed=30, capacity=20), "the device has 20.00 GiB, about 10.00 GiB too little"),
        (program(16, needed=30, capacity=20, excess=11), "the device has 20.00 GiB, 11.00 GiB too little"),
        (
            program(16, needed=30, capacity=20, arguments=16),
            "too little; 16.00 GiB of it are its arguments (weights and data)",
        ),
        (program(16, needed=30, capacity=20, arguments=15), "about 10.00 GiB too little"),
        (program(16, needed=50, capacity=20, arguments=21), "too little; 21.00 GiB of it are its arguments"),
        (
            program(15, reduced_to=12, goal=9),
            "even after rematerialisation it needs 12.00 GiB, and 9.00 GiB was the compiler's",
        ),
        (
            program(16, reduced_to=12, goal=9),
            "the compiler reckoned with 12.00 GiB after rematerialisation (its goal was 9.00 GiB)",
        ),
        (program(16, reduced_to=12, goal=0), "XLA allocates all temporaries of a program as one block"),
        (program(16, cut=True), "the list of its buffers begins behind the largest"),
        (program(16, cut=True, needed=20), "one array, or all temporaries"),
    ],
)
def test_what_a_program_asked_for(moment: Moment, because: str) -> None:
    said = told(moment).because
    assert said.startswith(because) or because in said
    assert "more than the device has" not in said or "more than the device has" in because


@pytest.mark.parametrize(
    "size, limit, more, full",
    [
        (0.255, None, {"executable": "jit_f"}, False),
        (0.37, None, {}, True),
        (0.376, None, {}, False),
        (0.24, None, {"executable": "jit_f"}, True),
        (0.25, None, {"executable": "jit_f"}, False),
        (0.59, 20, {}, True),
        (0.601, 20, {}, False),
        (0.24, None, {"total": 0.3}, False),
        (0.24, None, {"total": 0.24}, True),
        (0.24, None, {"free": 0.1}, False),
        (0.24, None, {"reduced_to": 0.2}, False),
    ],
)
def test_so_small_a_program_fails_only_on_a_full_device(
    size: float, limit: int | None, more: Any, full: bool
) -> None:
    moment = program(None, limit, **more)
    assert moment.request and moment.incident
    asked = replace(moment.request, failed=replace(moment.request.failed, size=exactly(int(size * GIB))))
    found = told(replace(moment, request=asked))
    assert found.because.startswith("so small a request fails only where the device is full") is full
    assert ("read-the-log" in slugs([found])) is full  # of the message alone
    on_a_tpu = told(replace(moment, request=asked), **shows("on a TPU"))
    assert ("see-device-users" in slugs([found])) is full and "see-device-users" not in slugs([on_a_tpu])


@pytest.mark.parametrize(
    "moment, headline",
    [
        (program(16), "XLA asked for 16.00 GiB in one piece"),
        (program(16, limit=40), "XLA asked for 16.00 GiB in one piece on a device with 40.00 GiB"),
        (program(16, executable="jit_f"), "one compiled program asked for 16.00 GiB in one piece"),
        (program(None, executable="jit_f"), "one compiled program asked for an unknown amount in one piece"),
        (program(16, free=3), "a buffer asks for 16.00 GiB, and 3.00 GiB was free"),
        (program(16, free=3, executable="jit_f"), "loading jit_f asks for 16.00 GiB, and 3.00 GiB was free"),
        (
            program(16, needed=30, capacity=20),
            "the compiled program needs 30.00 GiB of 20.00 GiB: about 10.00 GiB too much",
        ),
        (
            program(16, needed=30, capacity=20, allocator="vmem"),
            "the compiled program needs 30.00 GiB of vmem, memory on the chip, of 20.00 GiB",
        ),
        (
            program(16, allocator="vmem", executable="attn"),
            "a kernel (attn) does not fit vmem, memory on the chip",
        ),
        (program(16, allocator="smem"), "a kernel does not fit smem, memory on the chip"),
        (program(16, allocator="hbm"), "XLA asked for 16.00 GiB in one piece"),
    ],
)
def test_headlines_of_programs(moment: Moment, headline: str) -> None:
    assert told(moment).headline.endswith(headline) or told(moment).headline.startswith(headline)


@pytest.mark.parametrize(
    "more, explains",
    [({}, 16), ({"needed": 30}, 30), ({"size": None}, None), ({"size": None, "needed": 30}, 30)],
)
def test_a_program_explains_all_that_it_needs(more: Any, explains: int | None) -> None:
    assert told(program(**{"size": 16, **more})).explains == (explains and explains * GIB)


@pytest.mark.parametrize(
    "moment, detail",
    [
        (program(16), False),
        (program(16, executable="jit_f"), True),
        (program(16, executable="f", free=3), False),
        (program(16, executable="f", allocator="vmem"), False),
    ],
)
def test_other_arrays_come_on_top_of_a_program(moment: Moment, detail: bool) -> None:
    assert bool(told(moment).detail) is detail


@pytest.mark.parametrize(
    "what, compiler, api, fires",
    [
        (RequestKind.XLA, True, JAX, True),
        (RequestKind.TPU, True, JAX, True),
        (RequestKind.XLA, False, JAX, False),
        (RequestKind.TENSOR, True, JAX, False),
        (RequestKind.TENSOR, True, KERAS, False),
    ],
)
def test_which_requests_are_programs(what: RequestKind, compiler: bool, api: Api, fires: bool) -> None:
    moment = program(16, what=what)
    assert moment.incident
    moment = moment if compiler else replace(moment, incident=replace(moment.incident, compiler=None))
    found = list(xla_arena_too_large.check(replace(case(moment), api=api)))
    assert bool(found) is fires


@pytest.mark.parametrize("api, asked, without", [(JAX, 0, True), (KERAS, 1, True), (TORCH, 1, False)])
def test_a_program_that_asked_the_allocator(api: Api, asked: int, without: bool) -> None:
    moment = failed(None, None, size=5, compiled=True, what=RequestKind.DUMP)
    found = list(xla_arena_too_large.check(replace(case(moment), api=api)))
    said = [each for each in found if each.because.startswith("XLA asked for all temporaries")]
    assert len(said) == asked and len(found) == 1
    for each in said:
        assert ("(jit_compile)" in each.because) is without and each.explains == 5
        assert ("without XLA the error names" in each.detail) is without


def test_pinned_host_memory_holds_no_arena() -> None:
    assert not list(
        xla_arena_too_large.check(replace(case(program(16, allocator="xla_gpu_host_bfc")), api=JAX))
    )


@pytest.mark.parametrize(
    "size, printed, constants, told_of",
    [
        (16, "9.00GiB", None, True),
        (16, "8.00GiB", None, False),
        (16, "8.01GiB", None, True),
        (0.4, "205MiB", None, True),
        (0.4, "204MiB", None, False),
        (16, "9.00GiB", 5, False),
        (None, "9.00GiB", None, False),
    ],
)
def test_constants_that_jax_warned_of(
    size: float | None, printed: str, constants: int | None, told_of: bool
) -> None:
    line = f"A large amount of constants were captured during lowering ({printed} total)."
    moment = program(None, 10, **({"constants": constants, "total": 90} if constants else {}))
    assert moment.request
    asked = replace(
        moment.request,
        failed=replace(moment.request.failed, size=None if size is None else exactly(int(size * GIB))),
    )
    found = told(replace(moment, request=asked), **shows("capturing", capturing=line))
    assert found.because.startswith(f"JAX warned that {printed} of constants") is told_of
    assert ("pass-as-argument" in slugs([found])) is told_of


@pytest.mark.parametrize("rows, vain", [((), True), ([("a/x", 5, A)], False)])
def test_arrays_that_were_donated_in_vain(rows: Any, vain: bool) -> None:
    line = "Some donated buffers were not usable: ShapedArray(float32[8,8])."
    found = told(program(16, rows=rows), **shows("donating in vain", donating_in_vain=line))
    assert found.because.startswith("JAX warned that donated arrays (float32[8,8] and others)") is vain
    assert ("donatable-results" in slugs([found])) is vain


@pytest.mark.parametrize(
    "purposes, stores, api, vague",
    [
        (("stepping",), True, TORCH, True),
        (("stepping",), False, TORCH, False),
        (("stepping", "reading seldom"), False, TORCH, True),
        (("stepping", "ending steps"), True, TORCH, False),
        ((), True, TORCH, False),
        (("stepping",), True, JAX, False),
    ],
)
def test_a_loop_that_ends_no_step(purposes: Any, stores: bool, api: Api, vague: bool) -> None:
    more: dict[str, Any] = {"stores": ("losses", at(4)) if stores else None}
    found = told(program(16, needed=30, capacity=20), api, **shows(*purposes), **more)
    assert found.because.startswith("the quoted loop ends no step") is vague
    assert ("mark-step" in slugs([found])) is vague


OF_VMEM = ["smaller-kernel-blocks", "larger-vmem", "newer-release"]


@pytest.mark.parametrize(
    "space, executable, line, offered, words",
    [
        ("vmem", "attn", "x", OF_VMEM, "or what it keeps per sequence"),
        ("vmem", "mm", "x", OF_VMEM, "block shapes, number of buffers)"),
        ("cmem", "mm", "x", ["smaller-kernel-blocks"], "number of buffers)"),
        ("smem", "mm", "x", ["smaller-kernel-blocks"], "make the tables of indices smaller"),
    ],
)
def test_memory_on_the_chip(space: str, executable: str, line: str, offered: list[str], words: str) -> None:
    found = told(
        program(16, allocator=space, executable=executable, line=at(3, line), needed=30, capacity=20)
    )
    assert slugs([found]) == offered and words in found.remedies[0].text
    assert found.because.startswith(f"a TPU core has 20.00 GiB of {space}, which holds")
    scoped = told(
        program(
            16,
            allocator=space,
            executable=executable,
            line=at(3, "Scoped allocation"),
            needed=30,
            capacity=20,
        )
    )
    assert scoped.because.startswith(f"the limit of this kernel is 20.00 GiB of {space}")
    small = told(program(16, allocator=space, executable=executable, line=at(3, line)))
    assert small.because.endswith(f"is too small for those of the kernel {executable}")
    nameless = told(program(16, allocator=space, line=at(3, line)))
    assert nameless.because.endswith("is too small for it")


@pytest.mark.parametrize(
    "name, place, moves",
    [
        ("_apply", "/x/torch/nn/modules/module.py:797", True),
        ("to", "/x/torch/nn/modules/module.py:797", True),
        ("forward", "/x/torch/nn/modules/module.py:797", False),
        ("to", "/x/torch/tensor.py:7", False),
    ],
)
def test_a_module_that_is_moved_to_the_device(name: str, place: str, moves: bool) -> None:
    frames = (Frame(place, "", name),)
    found = told(program(16, free=3, frames=frames), TORCH, parameters=(10**9, at(6)))
    assert found.because.startswith("the module's weights are being moved to the device") is moves
    assert (": only 3.00 GiB was left" in found.because) is moves
    assert ("narrow-weights-of-torch" in slugs([found])) is moves and (
        "drop-references" in slugs([found])
    ) is not moves
    half = told(
        program(16, free=3, frames=frames), TORCH, parameters=(10**9, at(6)),
        settings=(("mixed_precision", "bfloat16", at(7, "m = M.from_pretrained(n)")),),
    )  # fmt: skip
    assert ("1.86 GiB in bfloat16" in half.because) is moves and (
        "3.73 GiB in float32" in found.because
    ) is moves


@pytest.mark.parametrize(
    "text, waits",
    [
        ("y.block_until_ready()", True),
        ("print(y)", True),
        ("z = float(loss)", True),
        ("y = f(x)", False),
        (None, False),
    ],
)
def test_a_line_that_waits_for_a_result(text: str | None, waits: bool) -> None:
    found = told(program(16, source_text=text, source="a.py:3"))
    assert found.because.startswith("JAX runs ahead of Python, so an earlier call asked for it") is waits


@pytest.mark.parametrize(
    "node, api, setting, executable, of_an_op",
    [
        ("net/conv", KERAS, None, None, True),
        ("net/conv", KERAS, "False", None, True),
        ("net/conv", KERAS, "True", None, False),
        ("conv", KERAS, None, None, False),
        ("net/StatefulPartitionedCall", KERAS, None, None, False),
        ("net/conv", JAX, None, None, False),
        ("net/conv", KERAS, None, "cluster_0", False),
        (None, KERAS, None, None, False),
    ],
)
def test_an_op_of_tensorflow_in_xlas_words(
    node: str | None, api: Api, setting: str | None, executable: str | None, of_an_op: bool
) -> None:
    more: dict[str, Any] = {"settings": (("jit_compile", setting, at(2)),)} if setting else {}
    found = told(program(16, node=node, executable=executable), api, **more)
    assert found.because.startswith("an op of the graph asked for it") is of_an_op


@pytest.mark.parametrize(
    "more, larger",
    [
        ({"size": 20, "limit": 20}, True),
        ({"size": 25, "limit": 20}, True),
        ({"size": 26, "limit": 20}, False),
        ({"size": 20}, False),
        ({"size": 20, "limit": 20, "in_use": 5}, True),
        ({"size": 20, "limit": 20, "in_use": 6}, False),
        ({"size": 5, "limit": 20, "needed": 26}, False),
        ({"size": 26, "limit": 20, "goal": 21, "reduced_to": 26}, True),
        ({"size": 26, "limit": 20, "goal": 20, "reduced_to": 26}, False),
    ],
)
def test_a_larger_part_of_the_device_may_be_enough(more: Any, larger: bool) -> None:
    assert ("larger-pool" in slugs([told(program(**more))])) is larger
    assert "larger-pool" not in slugs([told(program(**more), **shows("sharing the device"))])


@pytest.mark.parametrize(
    "more, first",
    [
        ({"size": 3}, True),
        ({"size": 4}, False),
        ({"size": 9, "limit": 40}, True),
        ({"size": 10, "limit": 40}, False),
    ],
)
def test_first_what_is_in_use_where_the_request_is_modest(more: Any, first: bool) -> None:
    found = slugs([told(program(**more))])
    assert "ask-what-is-in-use" in found and (found.index("ask-what-is-in-use") == 0) is first
    assert "ask-what-is-in-use" not in slugs([told(program(**more, executable="f"))])
    assert "ask-what-is-in-use" not in slugs([told(program(**more), readings=((5, at(3)),))])


@pytest.mark.parametrize(
    "size, limit, asks", [(38, 40, True), (39, 40, False), (288, None, True), (289, None, False)]
)
def test_what_is_more_than_the_device_needs_no_question(size: int, limit: int | None, asks: bool) -> None:
    assert ("ask-what-is-in-use" in slugs([told(program(size, limit))])) is asks


@pytest.mark.parametrize(
    "more, slug, offered",
    [
        ({"arguments": 9, "results": 9, "temporaries": 4, "total": 22}, "donate-buffers", True),
        ({"arguments": 9, "results": 9, "temporaries": 4, "total": 13}, "donate-buffers", False),
        ({"arguments": 9, "results": 9, "temporaries": 0, "total": 18}, "compile-the-call", True),
        ({"results": 10, "temporaries": 9, "arguments": 1, "total": 40}, "return-less", True),
        ({"results": 9, "temporaries": 10, "arguments": 9, "total": 40}, "return-less", False),
        ({"arguments": 16, "needed": 30, "capacity": 20}, "shard-arguments", True),
        ({"arguments": 15, "needed": 30, "capacity": 20}, "shard-arguments", False),
        ({"constants": 11, "temporaries": 5, "total": 20}, "one-batch-to-the-device", True),
        ({"cut": True, "executable": "f"}, "read-the-log", True),
        ({"cut": True, "executable": "f", "needed": 20}, "read-the-log", False),
        ({"temporaries": 9}, "name-the-buffers", True),
        ({"temporaries": 9, "rows": [("a/x", 5, A)]}, "name-the-buffers", False),
    ],
)
def test_what_helps_a_program(more: Any, slug: str, offered: bool) -> None:
    assert (slug in slugs([told(program(16, **more))])) is offered


@pytest.mark.parametrize("padding, offered", [(True, True), (False, False)])
def test_texts_that_are_padded_to_one_length(padding: bool, offered: bool) -> None:
    purposes = shows("padding to a length") if padding else {}
    found = told(program(16, temporaries=9), **purposes)
    assert ("shorter-sequences" in slugs([found])) is offered
    found = told(program(16, temporaries=2, arguments=16, needed=30, capacity=20), **purposes)
    assert "shorter-sequences" not in slugs([found])


@pytest.mark.parametrize("steps, ended", [((), False), (("ending steps",), True)])
def test_arrays_of_earlier_steps_are_let_go_of(steps: Any, ended: bool) -> None:
    found = told(program(16, free=3), TORCH, **shows(*steps), stores=("losses", at(4)))
    first = next(each for each in found.remedies if each.slug == "mark-step")
    assert ("steps are ended already" in first.text) is ended and (
        "in `losses` (line 4)" in first.text
    ) is ended
    text = told(program(16, free=3, source_text="xm.mark_step()"), TORCH)
    assert any(
        "steps are ended already: keep numbers instead of tensors (" in each.text for each in text.remedies
    )
