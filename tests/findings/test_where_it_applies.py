"""From which TensorFlow on a remedy exists, and each thing known of a run that rules one out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import row, timeline
from tfmemlens.findings.support import situation as situations
from tfmemlens.findings.support.applicability import TABLE, Applicability
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, Situation, situation
from tfmemlens.knowledge.device_names import CPU, GPU, TPU
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import Capture, Hints, Source, Surroundings
from tfmemlens.model.case import Api, Balance, Case, FrontEnd, Moment, Request
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.values import replace

VERSIONS = [(1, minor) for minor in range(16)] + [(2, minor) for minor in range(22)]
FIRST, LAST = VERSIONS[0], VERSIONS[-1]

LAYOUT = (
    "no-layout-copies", "batch-norm-fused", "static-rank", "keep-axes", "place-on-gpu", "apply-gradients",
    "pass-off", "replace-op", "native-layout", "batch-norm-training",
)  # fmt: skip
ON_GPU = {
    **dict.fromkeys(LAYOUT, ((1, 4), LAST)),  # the layout pass is on since 1.4
    "recompute": ((1, 4), LAST),  # tf.contrib.layers.recompute_grad
    "mixed-precision": ((1, 14), LAST),  # enable_mixed_precision_graph_rewrite
    "tensor-cores": ((1, 15), LAST),
    "async-allocator": ((2, 5), LAST),  # TF_GPU_ALLOCATOR=cuda_malloc_async
    "cudnn-workspace-limit": ((1, 1), LAST),
    "list-tensors": ((1, 5), LAST),  # report_tensor_allocations_upon_oom
    "dump-file": ((2, 1), LAST),  # TF_BFC_MEMORY_DUMP
    "without-xla": ((2, 0), LAST),
    "without-pfor": ((1, 14), LAST),
    "swap-to-host": (FIRST, (1, 15)),  # dynamic_rnn(swap_memory=True)
}
ON_CPU = {
    **{slug: ON_GPU[slug] for slug in (*LAYOUT, "recompute", "list-tensors", "dump-file", "without-xla",
                                       "without-pfor")},
    "mixed-precision": ((2, 4), LAST),  # bfloat16 off GPUs
    "onednn": ((2, 5), LAST),  # TF_ENABLE_ONEDNN_OPTS
    "size-the-slabs": (FIRST, (1, 13)),
}  # fmt: skip
WITHOUT_SESSION = {
    **dict.fromkeys(
        (
            "one-function", "one-model", "one-signature", "own-function", "own-gradient", "pass-arrays",
            "stop-recording", "without-tqdm",
        ),
        ((2, 0), LAST),
    ),
    "pieces-again": ((2, 4), LAST),  # a graph's loop that is called with variables, as run
}  # fmt: skip


@pytest.mark.parametrize("session", [True, False])
@pytest.mark.parametrize("device, known", [(GPU, ON_GPU), (CPU, ON_CPU)])
def test_the_tensorflows_that_have_a_remedy(device: str, known: dict[str, Any], session: bool) -> None:
    found = {}
    for slug, where in TABLE.items():
        having = [
            version for version in VERSIONS
            if where.holds(Situation(TENSORFLOW, version, version, device, session, True))
        ]  # fmt: skip
        if having and len(having) < len(VERSIONS):
            assert having == VERSIONS[VERSIONS.index(having[0]) : VERSIONS.index(having[-1]) + 1]
            found[slug] = (having[0], having[-1])
    assert found == {**known, **({} if session else WITHOUT_SESSION)}


def test_a_version_that_is_not_known_rules_nothing_out() -> None:
    where = Applicability(since=(2, 5), until=(2, 7))
    for oldest, newest, holds in (((2, 0), (2, 5), True), ((2, 0), (2, 4), False), ((2, 7), (2, 9), True),
                                  ((2, 8), (2, 9), False), ((0, 0), (2, 99), True)):  # fmt: skip
        assert where.holds(Situation(TENSORFLOW, oldest, newest)) is holds
    assert where.holds(Situation(JAX, (0, 0), (0, 0)))


@pytest.mark.parametrize(
    "where, run, holds",
    [
        ({"training": True}, {"training": False}, False),
        ({"training": True}, {"training": None}, True),
        ({"shown": True}, {"training": None}, False),
        ({"shown": True}, {"training": True}, True),
        ({"wide": True}, {"half": True}, False),
        ({"wide": True}, {"half": False}, True),
        ({"wide": False}, {"half": True}, True),
        ({"optimizer": True}, {"optimizer": False}, False),
        ({"optimizer": True}, {"optimizer": None}, True),
        ({"optimizer": False}, {"optimizer": False}, True),
        ({"session": True}, {"session": False}, False),
        ({"session": False}, {"session": True}, False),
        ({"session": True}, {"session": False, "framework": JAX}, True),
        ({"devices": frozenset({GPU})}, {"device": CPU}, False),
        ({"devices": frozenset({GPU})}, {"device": None}, True),
        ({"since_off_gpu": (2, 4)}, {"device": CPU, "newest": (2, 3)}, False),
        ({"since_off_gpu": (2, 4)}, {"device": CPU, "newest": (2, 4)}, True),
        ({"since_off_gpu": (2, 4)}, {"device": GPU, "newest": (2, 3)}, True),
        ({"since_off_gpu": (2, 4)}, {"device": CPU, "newest": (2, 3), "framework": JAX}, True),
        ({"frameworks": frozenset({JAX})}, {"framework": TENSORFLOW}, False),
        ({"frameworks": frozenset({JAX})}, {"framework": None}, False),
        ({}, {"framework": None}, True),
        ({"not_in": frozenset({"Keras"})}, {"library": "Keras", "framework": JAX}, False),
        ({"not_in": frozenset({"Keras"})}, {"library": "Flax", "framework": JAX}, True),
        ({"program": frozenset({"Node"})}, {"settings": frozenset({"program=Node"})}, True),
        ({"program": frozenset({"Node"})}, {"settings": frozenset({"program=Java"})}, False),
        ({"program": frozenset({"Node"})}, {}, False),
        ({"python": True}, {"settings": frozenset({"program=Java"})}, False),
        ({"training": True}, {"settings": frozenset({"program=Java"}), "training": True}, False),
        ({}, {"settings": frozenset({"program=Java"})}, True),
        ({"done": "a=1|b=.*"}, {"settings": frozenset({"a=1"})}, False),
        ({"done": "a=1|b=.*"}, {"settings": frozenset({"a=12", "c=b=1"})}, True),
        ({"done": ""}, {"settings": frozenset({""})}, True),
    ],
)
def test_what_rules_a_remedy_out(where: dict[str, Any], run: dict[str, Any], holds: bool) -> None:
    assert Applicability(**where).holds(Situation(**run)) is holds


# ------------------------------------------------------------------ what a case tells of its run


def moment(
    *kinds: tuple[Kind, Phase, str | None, int], failed: FailedRequest | None = None, **more: Any
) -> Moment:
    table = AllocationTable.of(
        [Allocation(f"n{at}", size, dtype=dtype) for at, (_, _, dtype, size) in enumerate(kinds)]
    )
    owners = [Owner("l", kind, phase) for kind, phase, _, _ in kinds]
    owner = Owner("l", Kind.ACTIVATION, Phase.FORWARD)
    return Moment(
        Attribution(table, owners), Balance(), request=failed and Request(failed, owner, None), **more
    )


def case(*moments: Moment, api: Api = Api(), hints: Hints = Hints(), **told: Any) -> Case:
    capture = Capture(Source("x", (), "tensorflow"), hints=hints, surroundings=Surroundings(**told))
    return Case(capture, moments, api)


@pytest.mark.parametrize(
    "failed, device",
    [
        (FailedRequest(device="/job:x/device:GPU:0"), GPU),
        (FailedRequest(device="/job:x/device:TPU:0"), TPU),
        (FailedRequest(device="/job:x/device:CPU:0"), CPU),
        (FailedRequest(allocator="GPU_0_bfc"), GPU),
        (FailedRequest(allocator="gpu_host_bfc"), CPU),
        (FailedRequest(kind=RequestKind.TPU), TPU),
        (FailedRequest(kind=RequestKind.HOST), CPU),
        (FailedRequest(), None),
    ],
)
def test_the_device_of_a_failure(failed: FailedRequest, device: str | None) -> None:
    assert situations._device(moment(failed=failed)) == device


@pytest.mark.parametrize(
    "device, allocator, expected",
    [
        ("/device:GPU:0", "", GPU),
        ("", "GPU_0_bfc", GPU),
        ("/device:CPU:0", "bfc_cpu_allocator_for_gpu", CPU),
        ("", "bfc_cpu_allocator_for_gpu", CPU),
        ("", "", None),
    ],
)
def test_the_device_of_a_step(device: str, allocator: str, expected: str | None) -> None:
    step = replace(timeline(row("a", 1, 0, 1)), device=device, allocator=allocator)
    assert situations._device(moment(timeline=step)) == expected
    assert situations._device(moment()) is None


A, F = Kind.ACTIVATION, Phase.FORWARD


@pytest.mark.parametrize(
    "rows, dtype, half",
    [
        ([(A, F, "float16", 60), (A, F, "float32", 40)], None, True),
        ([(A, F, "bfloat16", 60), (A, F, "float32", 40)], None, True),
        ([(A, F, "float16", 50), (A, F, "float32", 50)], None, False),
        ([(A, F, None, 90), (A, F, "float16", 10)], None, True),
        ([(Kind.PARAMETER, F, "float32", 90), (A, F, "float16", 10)], None, True),
        ([(A, F, "float32", 1)], "half", False),
        ([], "half", True),
        ([], "bfloat16", True),
        ([], "float32", False),
        ([], None, False),
    ],
)
def test_whether_activations_are_in_16_bits(rows: list[Any], dtype: str | None, half: bool) -> None:
    failed = FailedRequest(dtype=dtype) if dtype else None
    assert situations._is_half(moment(*rows, failed=failed)) is half


@pytest.mark.parametrize(
    "shown, failed, phase, training",
    [
        ((), {}, F, None),
        (("training",), {}, F, True),
        (("training", "explaining"), {}, F, False),
        (("sampling",), {}, F, False),
        ((), {"function": "__inference_train_function_12"}, F, True),
        ((), {"executable": "jit_train_step"}, F, True),
        ((), {"updating": True}, F, True),
        ((), {}, Phase.GRADIENT, True),
        ((), {}, Phase.OPTIMIZER, True),
    ],
)
def test_whether_a_run_trains(
    shown: tuple[str, ...], failed: dict[str, Any], phase: Phase, training: bool | None
) -> None:
    at = moment((A, phase, "float32", 1), failed=FailedRequest(**failed))
    told = case(at, purposes=tuple((name, Line(1, "")) for name in shown))
    assert situation(told, at).training is training


def test_whether_the_optimizer_keeps_slots() -> None:
    slots = moment((Kind.OPTIMIZER_SLOT, F, "float32", 1))
    assert situations._keeps_slots(slots) is True
    assert situations._keeps_slots(moment((A, F, "float32", 1))) is None
    step = timeline(row("a", 1, 0, 1))
    assert situations._keeps_slots(moment(timeline=step)) is None
    standing = AllocationTable.of([Allocation("w", 1)])
    assert situations._keeps_slots(moment(timeline=replace(step, standing=standing))) is False


@pytest.mark.parametrize(
    "api, session",
    [
        (Api(newest=(1, 15)), True),
        (Api(newest=(2, 0)), False),
        (Api(front_end=FrontEnd.SESSION), True),
        (Api(newest=(1, 15), front_end=FrontEnd.JAX), False),
    ],
)
def test_whether_sessions_run_it(api: Api, session: bool) -> None:
    assert situation(case(api=api)).session is session


def test_settings_of_the_input_of_the_user_and_of_the_allocator() -> None:
    settings = (("allow_growth", "True", Line(1, "")),)
    for allocator, told in (("gpu_async_0", True), ("cuda_malloc_async", True), ("GPU_0_bfc", False)):
        at = moment(failed=FailedRequest(allocator=allocator))
        found = situation(case(at, settings=settings, hints=Hints(batch=4)), at).settings
        always = {"allow_growth=True", "batch_size=4"}
        assert found == always | ({"TF_GPU_ALLOCATOR=cuda_malloc_async"} if told else set())


# ------------------------------------------------------------------ what the table says of each


OF_TRAINING = {
    "batch-norm-training", "clip-per-variable", "drop-channels", "fewer-microbatches", "fewer-trained-layers",
    "draw-masks-again", "cheaper-draws", "one-random-direction",
    "first-order", "freeze-weights", "gradient-accumulation", "keep-slices", "lighter-optimizer",
    "penalty-on-part", "recompute", "sampled-loss", "smaller-moments", "sparse-labels", "sparse-updates",
    "penalty-on-rows", "recompute-turns", "unstack-once", "not-trainable",
    "swap-to-host", "truncate", "fewer-turns", "pieces-again", "without-penalty",
}  # fmt: skip
"""Gradients, slots and losses are of training alone."""
WHERE_TRAINING_SHOWS = {"gradient-accumulation", "mixed-precision", "recompute"}
"""Each costs something that a run which only infers should not pay."""
IN_32_BITS = {"mixed-precision", "tensor-cores"}
OF_PYTHON = {"find-the-growth", "freeze-weights", "list-tensors", "mixed-precision", "record-a-step"}
OF_A_SHELL = {
    "as-advised", "one-op-less", "one-order-of-feeds", "close-tensors-of-go", "why-it-went",
    "shorter-parts",
    "pool-of-exla", "free-tensors-of-exla", "find-the-call", "ram-for-the-build",
    "install-without-cache", "without-cache", "train-elsewhere", "watch-the-client",
    "setting-that-works", "add-swap", "another-allocator", "another-backend", "another-malloc",
    "growth-at-first", "bound-requests", "part-of-a-server", "one-server-for-all", "one-server-for-each",
    "watch-it-load",
    "close-models", "close-tensors", "delete-textures",
    "collectives-in-the-pool", "compute-mode", "convert-on-the-cpu", "count-tensors", "one-framework-each",
    "one-simulated-device",
    "how-it-ended", "smaller-collectives", "smaller-first",
    "dump-file", "free-shared-ram", "hide-the-gpu", "larger-host-pool",
    "fewer-instances", "in-batches-of-r", "larger-message", "other-allocator", "other-arena", "read-in-parts",
    "larger-heap", "more-memory-maps", "more-pinned-memory",
    "more-ram-for-wsl", "pool-for-unified-memory", "raise-host-limit", "save-in-parts",
    "see-device-users", "smaller-files",
    "smaller-alignment", "smaller-cache-part", "smaller-examples", "smaller-requests", "tidy", "dispose",
    "tidy-textures", "who-ended-it", "reload-the-driver",
    "raise-container-limit", "read-the-kernel-log", "small-pool-in-cpp", "end-what-is-left",
    "end-the-suspended", "cap-the-power", "log-the-hardware", "smallest-program",
    "ask-for-a-gpu", "drop-the-cache",
}  # fmt: skip
"""Their code is a shell's, or the other program's own."""
ELSEWHERE = Situation(settings=frozenset({"program=R"}), training=True)


@pytest.mark.parametrize("slug", TABLE)
def test_what_a_run_must_be_for_each_remedy(slug: str) -> None:
    anywhen: dict[str, Any] = {"since": FIRST, "until": LAST, "frameworks": frozenset({TENSORFLOW})}
    where = replace(TABLE[slug], **anywhen, session=None, program=None)
    trains = Situation(training=True)
    assert where.holds(trains)
    offered = {training: where.holds(replace(trains, training=training)) for training in (None, False)}
    shown = slug in WHERE_TRAINING_SHOWS
    assert offered == {None: not shown, False: not shown and slug not in OF_TRAINING}
    assert where.holds(replace(trains, half=True)) is (slug not in IN_32_BITS)
    assert where.holds(replace(trains, optimizer=False)) is (slug != "lighter-optimizer")
    serves = replace(trains, settings=frozenset({"program=Java"}))
    assert where.holds(serves) is (slug not in OF_PYTHON | OF_TRAINING)
    assert where.runs_code(ELSEWHERE) is (slug in OF_A_SHELL)


@pytest.mark.parametrize("slug", TABLE)
def test_whether_sessions_have_each_remedy(slug: str) -> None:
    runs = {session: Situation(session=session, training=True, oldest=(1, 0)) for session in (True, False)}
    where = replace(TABLE[slug], frameworks=frozenset({TENSORFLOW}), program=None)
    without = {
        "fewer-steps", "fill-one-array", "first-order", "freeze-weights", "keep-numbers",
        "no-kept-tape", "no-persistent-tape", "one-function", "one-model", "one-random-direction",
        "one-repetition-at-a-time", "one-signature", "own-function", "own-gradient", "parts-to-host",
        "pass-arrays", "pieces-again", "plain-tapes",
        "stop-recording", "tape-inside-loop", "tape-per-part", "without-tqdm",
    }  # fmt: skip
    held = {session: where.holds(run) for session, run in runs.items()}
    assert held == {True: slug not in without, False: slug != "finalize-graph"}
