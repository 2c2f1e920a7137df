"""Edges of what tells that others hold the device: TensorFlow's own lines, `nvidia-smi`, processes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_support import asked, case, exactly, held
from tfmemlens import pipeline
from tfmemlens.findings import device_held_by_others, processes_on_one_device
from tfmemlens.findings.support import device_users
from tfmemlens.model.capture import DeviceInfo, DeviceProcess, DeviceUse
from tfmemlens.model.case import Api, Balance, FrontEnd, Moment
from tfmemlens.model.finding import Finding, Severity
from tfmemlens.model.incident import AllocatorState, Incident, RequestKind
from tfmemlens.model.report import Report
from tfmemlens.renderers.terminal import _balance
from tfmemlens.units import Size
from tfmemlens.values import replace

GIB = 1 << 30
MIB = 1 << 20


def size(count: float | None) -> Size | None:
    """So many hundredths of a GiB."""
    return None if count is None else exactly(int(count * GIB) // 100)


def failed(
    need: float | None = 100, drivers: tuple[float, ...] = (), incident: bool = True, **books: Any
) -> Moment:
    """A request of the GPU's pool that failed; books in hundredths of a GiB."""
    facts = {"kind": books.pop("kind", RequestKind.TENSOR), "allocator": books.pop("allocator", "GPU_0_bfc")}
    request = asked(size=None, **facts)
    failure = replace(request.failed, size=size(need))
    sizes: Any = {name: size(value) for name, value in books.items()}
    refused = tuple((exactly(int(each * GIB) // 100), at(7)) for each in drivers)
    told = Incident(
        failure, state=AllocatorState(lines=(("in_use", at(5)), ("limit", at(6)))), driver_failures=refused
    )
    asked_for = failure.size.bytes if failure.size else None
    rest = sizes["limit"].bytes - sizes["pool"].bytes if {"limit", "pool"} <= set(sizes) else None
    balance = Balance(**sizes, requested=asked_for, growable=None if rest is None else exactly(rest))
    return held(request=replace(request, failed=failure), books=balance, incident=told if incident else None)


def device(
    total: float | None = None, free: float | None = None, limit: float | None = None, **more: Any
) -> DeviceInfo:
    return DeviceInfo(
        more.pop("name", "GPU:0"), total=size(total), free=size(free), limit=size(limit), line=at(3), **more
    )


def proofs(moment: Moment, api: Api = Api(), **told: Any) -> list[tuple[str, int | None]]:
    """What shows that others hold the device, and how many hundredths of a GiB they have."""
    found = list(device_held_by_others.check(replace(case(moment, **told), api=api)))
    return [
        (evidence.fact, each.explains and round(each.explains * 100 / GIB))
        for each in found
        for evidence in each.evidence
    ]


@pytest.mark.parametrize(
    "total, free, limit, held_by_others",
    [
        (1000, 599, None, 401),
        (1000, 600, None, None),
        (1000, None, 399, 601),
        (1000, None, 400, 600),
        (1000, None, 699, 301),
        (1000, None, 700, None),
        (1000, 700, 399, 601),
        (1000, None, 0, 1000),
        (None, None, 0, 0),
        (None, 100, None, None),
        (None, None, 400, None),
        (1000, 599, 100, 401),  # what was free at the start says it
    ],
)
def test_what_tensorflow_logged_of_its_device(
    total: float | None, free: float | None, limit: float | None, held_by_others: int | None
) -> None:
    found = proofs(failed(), devices=(device(total, free, limit),))
    assert [shown for _, shown in found] == ([] if held_by_others is None else [held_by_others or None])


@pytest.mark.parametrize(
    "model, limit, settings, told",
    [
        ("Tesla T4", 559, (), "only 5.59 GiB of this GPU's 14 GiB or more (Tesla T4)"),
        ("Tesla T4", 561, (), None),
        ("Tesla T4", 559, ("memory_limit",), None),
        ("Tesla T4", 559, ("per_process_gpu_memory_fraction",), None),
        ("Orin", 1, (), None),
        ("a GPU of next year", 26, (), None),
        (None, 1, (), None),
    ],
)
def test_a_small_part_of_a_known_gpu(
    model: str | None, limit: float, settings: tuple[str, ...], told: str | None
) -> None:
    shown = {
        "devices": (device(limit=limit, model=model),),
        "settings": tuple((each, "1", at(2)) for each in settings),
    }
    found = proofs(failed(), **shown)
    assert not found if told is None else told in found[0][0] and found[0][1] == 1400 - limit


@pytest.mark.parametrize(
    "need, books, told, bytes_",
    [
        (499, {"limit": 1000, "in_use": 49}, "only 501.76 MiB (5 %) of the 10.00 GiB limit was in use", 951),
        (500, {"limit": 1000, "in_use": 49}, None, None),
        (499, {"limit": 1000, "in_use": 50}, None, None),
        (None, {"limit": 1000, "in_use": 49}, None, None),
        (499, {"limit": 1000}, None, None),
        (10, {"limit": 99, "in_use": 90}, "limit on this GPU is only 1013.76 MiB", 99),
        (10, {"limit": 100, "in_use": 90}, None, None),
        (10, {"limit": 99, "in_use": 90, "allocator": "cpu_bfc"}, None, None),
        (449, {"limit": 1000, "in_use": 300, "pool": 500}, "was refused its next region", 500),
        (450, {"limit": 1000, "in_use": 300, "pool": 500}, None, None),
        (449, {"limit": 1000, "in_use": 300, "pool": 500, "kind": RequestKind.COPY}, None, None),
        (449, {"limit": 1000, "in_use": 300, "pool": 500, "kind": RequestKind.XLA}, "was refused", 500),
        (449, {"in_use": 300, "pool": 500}, None, None),
        (449, {"limit": 1000, "in_use": 300, "pool": 500, "incident": False}, None, None),
        (900, {"limit": 1000, "in_use": 300, "drivers": (499,)}, "the driver refused 4.99 GiB", 700),
        (900, {"limit": 1000, "in_use": 300, "drivers": (500,)}, None, None),
        (900, {"limit": 1000, "in_use": 300, "drivers": (600, 499)}, "the driver refused 4.99 GiB", 700),
        (900, {"limit": 1000, "in_use": 300, "pool": 400, "drivers": (399,)}, "pool held only 4.00 GiB", 600),
        (900, {"in_use": 300, "drivers": (1,)}, None, None),
    ],
)
def test_what_the_pool_could_not_get(
    need: float | None, books: Any, told: str | None, bytes_: int | None
) -> None:
    found = proofs(failed(need, **books))
    assert not found if told is None else [told in fact for fact, _ in found] == [True]
    assert all(shown == bytes_ for _, shown in found)


def test_a_limit_of_the_programs_own_is_no_other_process() -> None:
    moment = failed(10, limit=99, in_use=90)
    assert proofs(moment) and not proofs(moment, settings=(("memory_limit", "1013", at(2)),))
    assert not list(device_held_by_others.check(case(replace(moment, request=None))))
    on_host = failed(10, limit=99, in_use=90, kind=RequestKind.HOST)
    assert not proofs(on_host)


def slugs(found: Finding) -> list[str]:
    return [str(remedy.slug) for remedy in found.remedies]


@pytest.mark.parametrize(
    "got, told",
    [
        ([500, 1000], "rank 0 got only 5.00 GiB"),
        ([501, 1000], None),
        ([1000, 100], "rank 1 got only 1.00 GiB"),
        ([500], None),
        ([500, None], None),
    ],
)
def test_ranks_that_opened_one_card(got: list[float | None], told: str | None) -> None:
    ranks = tuple((str(number), device(limit=each, bus="0000:01")) for number, each in enumerate(got))
    found = list(device_held_by_others.check(case(failed(), on_one_device=ranks)))
    assert not found if told is None else told in found[0].headline
    for each in found:
        assert each.explains == int((max(filter(None, got)) - min(filter(None, got))) * GIB) // 100
        code = next(remedy.code for remedy in each.remedies if remedy.slug == "one-device-each")
        assert code and "set_visible_devices" in code and slugs(each).count("one-device-each") == 1


@pytest.mark.parametrize(
    "code, unpinned, sessions",
    [
        (["sess = tf.Session(config=config)"], True, False),
        (["config = tf.ConfigProto(x=1)"], True, True),
        (["config = tf.ConfigProto()", "config.gpu_options.visible_device_list = '0'"], False, True),
        (["x = 3"], False, False),
    ],
)
def test_a_session_that_sees_every_card(code: list[str], unpinned: bool, sessions: bool) -> None:
    ranks = tuple((str(number), device(limit=each)) for number, each in enumerate((100, 900)))
    told = {"on_one_device": ranks, "code": tuple(at(number, text) for number, text in enumerate(code, 9))}
    (found,) = device_held_by_others.check(case(failed(), **told))
    assert ("line 9 makes the session without visible_device_list" in found.headline) is unpinned
    code_shown = next(each.code for each in found.remedies if each.slug == "one-device-each")
    assert code_shown is not None and ("gpu_options" in code_shown) is sessions


@pytest.mark.parametrize(
    "front_end, grows, name, limit, told",
    [
        (FrontEnd.JAX, None, "GPU:0", 900, True),
        (FrontEnd.JAX, "False", "GPU:0", 900, True),
        (FrontEnd.JAX, "True", "GPU:0", 900, False),
        (FrontEnd.KERAS, None, "GPU:0", 900, False),
        (FrontEnd.JAX, None, "CPU:0", 900, False),
        (FrontEnd.JAX, None, "GPU:0", 0, False),
    ],
)
def test_tensorflow_that_feeds_jax(
    front_end: FrontEnd, grows: str | None, name: str, limit: float, told: bool
) -> None:
    settings = (("allow_growth", grows, at(2)),) if grows else ()
    moment = failed(kind=RequestKind.XLA)
    given = case(moment, devices=(device(limit=limit, name=name),), settings=settings)
    found = list(device_held_by_others.check(replace(given, api=Api(front_end=front_end))))
    offered = [slug for each in found for slug in slugs(each)]
    assert ("tensorflow-off-the-gpu" in offered) is told
    if told:
        assert [each.explains for each in found] == [int(limit * GIB) // 100] and len(found[0].evidence) == 1


# ------------------------------------------------------------------ nvidia-smi


def process(pid: int, used: float | None, name: str = "python", draws: bool = False) -> DeviceProcess:
    return DeviceProcess(pid, name, size(used), at(pid), draws)


def use(
    *processes: DeviceProcess, number: str = "0", used: float | None = None, total: float | None = 1000
) -> DeviceUse:
    return DeviceUse(number, None, size(used), size(total), processes, at(8))


def pids(found: Any) -> list[int]:
    return [each.pid for each in found]


@pytest.mark.parametrize(
    "books, processes, strangers",
    [
        ({"in_use": 500}, [(1, 510), (2, 100)], [2]),
        ({"in_use": 500}, [(1, 510), (2, 99)], []),
        ({"in_use": 500}, [(1, 510), (2, 60), (3, 41)], [2, 3]),
        ({"in_use": 500}, [(1, 510), (2, 41), (3, 60)], [3, 2]),
        ({"in_use": 500}, [(1, 701), (2, 702)], [2, 1]),  # more than its pool and what CUDA keeps
        ({"in_use": 500}, [(1, 700), (2, 600)], [1]),  # the nearest above its pool is its own
        ({"in_use": 500}, [(1, 499), (2, 100)], [1, 2]),
        ({"pool": 600, "in_use": 500}, [(1, 599), (2, 600)], [1]),
        ({}, [(1, 300), (2, 500)], [1]),  # without a pool the largest
        ({}, [(1, 300), (2, None)], []),
    ],
)
def test_whose_processes_are_strangers(books: Any, processes: Any, strangers: list[int]) -> None:
    moment = failed(**books)
    given = case(moment, device_uses=(use(*(process(*each) for each in processes)),))
    assert pids(device_users.strangers(given, moment)) == strangers
    told = [fact for fact, _ in proofs(moment, device_uses=given.capture.surroundings.device_uses)]
    assert len([fact for fact in told if "as well" in fact]) == len(strangers)


def test_a_python_is_rather_the_logs_own_process() -> None:
    moment = failed(in_use=500)
    shown = use(process(1, 510, "trainer"), process(2, 600, "/usr/bin/Python3"))
    assert pids(device_users.strangers(case(moment, device_uses=(shown,)), moment)) == [1]
    other = use(process(1, 510, "trainer"), process(2, 600, "server"))
    assert pids(device_users.strangers(case(moment, device_uses=(other,)), moment)) == [2]


@pytest.mark.parametrize(
    "limit, used, sizes, strangers",
    [
        (600, 900, [610, 290], [2]),  # a pool takes all that it may
        (600, 900, [599, 801], [2, 1]),
        (600, 900, [599, 800], [1]),
        (600, 900, [600, 800], [1]),
        (600, 900, [800, 600], [2]),
        (600, 400, [800, 600], [2]),
        (600, 400, [100, 300], [1]),  # of before the run
        (600, 401, [100, 300], [1]),
    ],
)
def test_without_a_pool_the_devices_line_tells_its_own(
    limit: float, used: float, sizes: list[float], strangers: list[int]
) -> None:
    moment = failed(limit=limit)
    shown = use(*(process(number, each) for number, each in enumerate(sizes, 1)), used=used)
    assert pids(device_users.strangers(case(moment, device_uses=(shown,)), moment)) == strangers


@pytest.mark.parametrize(
    "used, in_use, listed, told",
    [
        (701, 500, False, 201),
        (700, 500, False, None),
        (701, 500, True, None),
        (701, None, False, None),
    ],
)
def test_more_is_in_use_than_the_pool_and_what_cuda_keeps(
    used: float, in_use: float | None, listed: bool, told: int | None
) -> None:
    moment = failed(in_use=in_use)
    processes = (process(1, 510), process(2, 90)) if listed else (process(1, None),)
    found = proofs(moment, device_uses=(use(*processes, used=used),))
    assert [shown for _, shown in found] == ([] if told is None else [told])
    assert not found or "nvidia-smi shows 7.01 GiB of the device in use" in found[0][0]


@pytest.mark.parametrize(
    "given, ends",
    [
        ([(2, 110)], [2]),
        ([(2, 110, "/usr/lib/xorg/Xorg")], []),
        ([(2, 110, "server", True)], []),
        ([(2, 110, "server")], [2]),
        ([(2, 100), (3, 50)], [2, 3]),
        ([(2, 100), (3, 49)], [2]),
        ([(2, 110, "gnome-shell"), (3, 60, "server")], [3]),
    ],
)
def test_whose_end_would_help(given: Any, ends: list[int]) -> None:
    moment = failed(in_use=500)
    shown = case(moment, device_uses=(use(process(1, 510), *(process(*each) for each in given)),))
    assert pids(device_users.to_end(shown, moment)) == ends
    (found,) = device_held_by_others.check(shown)
    code = [remedy.code for remedy in found.remedies if remedy.slug == "end-the-process"]
    assert code == ([f"kill {' '.join(map(str, ends))}"] if ends else [])


@pytest.mark.parametrize(
    "allocator, others, free",
    [
        ("GPU_1_bfc", [("0", 99, 1000)], "0"),
        ("GPU_1_bfc", [("0", 100, 1000)], None),
        ("GPU_1_bfc", [("0", 50, 1000), ("2", 60, 2000)], "2"),
        ("GPU_1_bfc", [("", 5, 1000)], None),
        ("GPU_1_bfc", [("0", None, 1000)], None),
        ("GPU_1_bfc", [("0", 5, None)], None),
        ("GPU_7_bfc", [("0", 5, 1000)], None),
        ("cuda", [("0", 5, 1000)], None),
    ],
)
def test_another_gpu_that_is_nearly_empty(allocator: str, others: Any, free: str | None) -> None:
    moment = failed(in_use=500, allocator=allocator)
    ours = use(process(1, 510), process(2, 300), number="1", used=810)
    uses = (ours, *(use(number=number, used=used, total=total) for number, used, total in others))
    spare = device_users.spare(case(moment, device_uses=uses), moment)
    assert (spare and spare.device) == free
    found = list(device_held_by_others.check(case(moment, device_uses=uses)))
    assert bool(found) is allocator.startswith("GPU_1")
    codes = [remedy.code for each in found for remedy in each.remedies if remedy.slug == "another-gpu"]
    assert codes == ([f"export CUDA_VISIBLE_DEVICES={free}"] if free else [])


@pytest.mark.parametrize("number, listed, whole", [("0", True, True), ("", True, False), ("0", False, False)])
def test_a_table_of_one_device_lists_all(number: str, listed: bool, whole: bool) -> None:
    moment = failed(in_use=500)
    processes = (process(1, 510), process(2, 300)) if listed else ()
    assert (
        device_users.lists_all(case(moment, device_uses=(use(*processes, number=number),)), moment) is whole
    )
    assert not device_users.lists_all(case(moment), moment)


def test_of_a_program_on_several_devices_its_own_process_is_on_all() -> None:
    moment = failed(in_use=100, allocator="GPU_0_bfc")
    uses = (use(process(1, 400), process(2, 300)), use(process(1, 400), number="1"))
    several = (device(limit=900), device(limit=900, name="GPU:1"))
    assert pids(device_users.strangers(case(moment, device_uses=uses, devices=several), moment)) == [2]
    assert pids(device_users.strangers(case(moment, device_uses=uses, devices=several[:1]), moment)) == [1]
    both = (use(process(1, 400), process(2, 300)), use(process(1, 400), process(2, 300), number="1"))
    assert pids(device_users.strangers(case(moment, device_uses=both, devices=several), moment)) == [1]


# ------------------------------------------------------------------ several processes


def sharing(
    moment: Moment, front_end: FrontEnd = FrontEnd.JAX, words: str = "two notebooks", **told: Any
) -> Any:
    given = case(moment, purposes=(("sharing the device", at(4, words)),), **told)
    return list(processes_on_one_device.check(replace(given, api=Api(front_end=front_end))))


def program(need: float | None = 100, **books: Any) -> Moment:
    return failed(need, kind=RequestKind.XLA, allocator="", **books)


@pytest.mark.parametrize(
    "moment, explains",
    [
        (program(1000, limit=1000), 500),
        (program(1001, limit=1000), None),
        (program(1000), 1000),
        (program(None, limit=1000), 500),
        (failed(100, kind=RequestKind.HOST), None),
        (failed(100, kind=RequestKind.TPU, allocator=""), None),
    ],
)
def test_what_several_processes_explain(moment: Moment, explains: int | None) -> None:
    found = sharing(moment)
    assert [each.explains * 100 // GIB for each in found] == ([] if explains is None else [explains])


@pytest.mark.parametrize(
    "front_end, words, books, severity",
    [
        (FrontEnd.JAX, "x", {"limit": 900}, Severity.CAUSE),
        (FrontEnd.KERAS, "x", {"limit": 900}, Severity.FACTOR),
        (FrontEnd.KERAS, "x", {}, Severity.CAUSE),
        (FrontEnd.XLA, "x", {}, None),
        (FrontEnd.KERAS, "with Pool(4) as pool:", {}, None),
        (FrontEnd.JAX, "with Pool(4) as pool:", {}, Severity.CAUSE),
    ],
)
def test_of_which_framework_processes_are_the_cause(
    front_end: FrontEnd, words: str, books: Any, severity: Severity | None
) -> None:
    found = sharing(failed(100, **books), front_end, words)
    assert [each.severity for each in found] == ([severity] if severity else [])


@pytest.mark.parametrize(
    "front_end, setting, told",
    [
        (FrontEnd.JAX, ("XLA_PYTHON_CLIENT_PREALLOCATE", "False"), "keeps what it once took"),
        (FrontEnd.JAX, ("XLA_PYTHON_CLIENT_PREALLOCATE", "True"), "takes 75 % of it"),
        (FrontEnd.JAX, ("XLA_PYTHON_CLIENT_MEM_FRACTION", ".4"), "takes 40 % of the GPU at its start"),
        (FrontEnd.KERAS, ("allow_growth", "True"), "keeps what it once took"),
        (FrontEnd.KERAS, ("allow_growth", "False"), "takes nearly all of it"),
        (FrontEnd.KERAS, ("per_process_gpu_memory_fraction", "0.4"), "may take 0.4 of it"),
    ],
)
def test_what_each_process_takes(front_end: FrontEnd, setting: tuple[str, str], told: str) -> None:
    (found,) = sharing(program(100), front_end, settings=((*setting, at(2)),))
    assert told in found.because
    has_its_part = setting[0] == "XLA_PYTHON_CLIENT_MEM_FRACTION"
    assert found.remedies[0].text.startswith("each has its part already") is has_its_part


def test_what_goes_well_alone_is_said_of_tensorflow() -> None:
    (found,) = sharing(failed(100), FrontEnd.KERAS, alone=at(12))
    assert found.because.startswith("it goes well alone (line 12), and line 4 tells of several")
    (found,) = sharing(program(100), FrontEnd.JAX, alone=at(12))
    assert found.because.startswith("line 4 tells of several")


@pytest.mark.parametrize(
    "words, first, code",
    [("pytest -n 4", "smaller-fraction", None), ("two notebooks", "see-device-users", "nvidia-smi")],
)
def test_workers_get_parts_and_notebooks_end(words: str, first: str, code: str | None) -> None:
    (found,) = sharing(program(100), words=words)
    assert slugs(found) == [
        first,
        *({"smaller-fraction", "fewer-processes" if code is None else "see-device-users"} - {first}),
        "growth",
    ]
    ends = next(each for each in found.remedies if each.slug in ("fewer-processes", "see-device-users"))
    assert ends.code == code
    part = next(each for each in found.remedies if each.slug == "smaller-fraction")
    assert part.code and "MEM_FRACTION" in part.code
    (other,) = sharing(failed(100), FrontEnd.KERAS, words)
    part = next(each for each in other.remedies if each.slug == "smaller-fraction")
    assert part.code and "MEM_FRACTION" not in part.code


@pytest.mark.parametrize("uses, shown", [(1, 2), (2, 0)])
def test_processes_of_the_only_device_are_shown(uses: int, shown: int) -> None:
    table = tuple(
        use(process(1, 50), process(2, 40), process(3, None), number=str(each)) for each in range(uses)
    )
    (found,) = sharing(program(100), device_uses=table)
    assert len(found.evidence) == 1 + shown
    large = use(process(1, 500), process(2, 400))
    (found,) = sharing(program(100), device_uses=(large,))
    assert [each.line.number for each in found.evidence if each.line] == [4, 1]


def mapped(occupied: float, free_run: float, need: int = 96) -> Finding | None:
    """What is said of a map at a dump's end, and a request of so many MiB."""
    moment = failed()
    assert moment.incident and moment.request
    request = replace(moment.request.failed, kind=RequestKind.DUMP, size=exactly(need * MIB))
    state = AllocatorState(occupied=occupied, free_run=free_run, lines=(("occupied", at(9)),))
    told = replace(moment, incident=replace(moment.incident, request=request, state=state))
    return next(iter(device_held_by_others.check(case(told))), None)


def test_a_pool_with_next_to_nothing_in_it_is_small_where_a_small_request_fails() -> None:
    found = mapped(0.05, 0.5)
    assert found is not None
    assert found.because.startswith(
        "next to nothing of the pool was in use, and 96.00 MiB still did not fit: the pool is smaller than"
        " about 384"
    )
    assert {"smaller-batch", "smaller-vocabulary", "narrower-layer"} <= set(found.rules_out)
    assert mapped(0.06, 0.5) is None
    assert mapped(0.05, 0.5, 768) is not None
    assert mapped(0.05, 0.5, 769) is None  # such a pool may be that of a whole GPU
    nothing = mapped(0, 1.0)
    assert nothing is not None and nothing.because.startswith("nothing of the pool was in use")


REFUSED = (
    "{0}2022-03-02 10:11:12.100000: W tensorflow/core/common_runtime/bfc_allocator.cc:431] Allocator"
    " (GPU_0_bfc) ran out of memory trying to allocate 48.00MiB (rounded to 50331648)requested by op Fill\n"
    "{0}2022-03-02 10:11:12.100400: W tensorflow/core/common_runtime/bfc_allocator.cc:439] {1}\n"
    "{0}2022-03-02 10:11:12.100900: W tensorflow/core/framework/op_kernel.cc:1767] OP_REQUIRES failed at"
    " constant_op.cc:175 : Resource exhausted: OOM when allocating tensor with shape[{2},4096] and type"
    " float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
)


def test_several_ranks_that_fail_with_an_empty_pool_share_a_gpu() -> None:
    almost = "**" + "_" * 98
    text = REFUSED.format("[1,2]<stderr>:", almost, 3072) + REFUSED.format("[1,5]<stderr>:", almost, 3072)
    told = pipeline.explain(text)
    assert "2 ranks failed (1,2, 1,5), so most likely they share a GPU" in told.verdict
    assert told.actions[0].remedy.slug == "one-device-each"
    alone = pipeline.explain(REFUSED.format("[1,2]<stderr>:", almost, 3072))
    assert "ranks failed" not in alone.verdict
    assert alone.actions[0].remedy.slug == "see-device-users"
    full = pipeline.explain(text.replace(almost, "*" * 100))
    assert "share a GPU" not in full.verdict


STATISTICS = (
    "2020-06-03 08:01:02.100000: I tensorflow/core/common_runtime/bfc_allocator.cc:923]"
    " total_region_allocated_bytes_: {pool} memory_limit_: {limit} available bytes: {rest}"
    " curr_region_allocation_bytes_: 4294967296\n"
    "2020-06-03 08:01:02.100100: I tensorflow/core/common_runtime/bfc_allocator.cc:929] Stats: \n"
    "Limit:                  {limit}\nInUse:                  {used}\nMaxInUse:               {used}\n\n"
    "2020-06-03 08:01:02.100500: W tensorflow/core/framework/op_kernel.cc:1651] OP_REQUIRES failed at"
    " conv_ops.cc:500 : Resource exhausted: OOM when allocating tensor with shape[8,64,256,256] and type"
    " float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
)


def pool_of(pool: int, limit: int, used: int) -> Report:
    """What is told of a pool, its limit and what is in use, all in MiB; 128 MiB were asked for."""
    text = STATISTICS.format(pool=pool * MIB, limit=limit * MIB, rest=(limit - pool) * MIB, used=used * MIB)
    return pipeline.explain(text)


def test_a_pool_that_was_refused_its_next_region_shows_who_holds_the_device() -> None:
    refused = pool_of(2100, 4600, 2000)
    assert "was refused its next region" in refused.verdict
    assert refused.actions[0].remedy.slug == "see-device-users"
    assert _balance.free(refused.case.moments[0]) == ("never got from the device", "2.44 GiB")
    grown = pool_of(4500, 4600, 4450)
    assert "was refused its next region" not in grown.verdict
    assert _balance.free(grown.case.moments[0]) == ("free", "150.00 MiB")
