"""Which remedies are offered where: the table as users meet it, and what no user of a framework may read."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.answers import explained
from tests.conftest import ROOT
from tests.test_verdicts import INPUTS, name_of
from tfmemlens import findings, pipeline
from tfmemlens.findings.support.applicability import TABLE, Applicability
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, TORCH_XLA, Situation
from tfmemlens.knowledge.device_names import CPU, GPU, TPU
from tfmemlens.model.case import Api, FrontEnd
from tfmemlens.model.finding import Remedy

RUNS = {
    "TF 1 session": Situation(TENSORFLOW, (1, 10), (1, 15), session=True, training=True),
    "TF 2 Keras": Situation(TENSORFLOW, (2, 4), (2, 99), training=True),
    "TF 2 function": Situation(TENSORFLOW, (2, 0), (2, 3), training=True),
    "JAX": Situation(JAX, training=True),
    "torch_xla": Situation(TORCH_XLA, training=True),
    "unknown": Situation(None, training=True),
}
DEVICES = {"G": GPU, "C": CPU, "T": TPU, "?": None}
SOURCES = sorted((ROOT / "tfmemlens" / "findings").rglob("*.py"))


def cell(where: Applicability, run: Situation) -> str:
    """The devices on which a remedy is offered, in brackets where only its words are."""
    offered = "".join(
        letter for letter, device in DEVICES.items() if where.holds(replace(run, device=device))
    )
    return offered if not offered or where.runs_code(run) else f"({offered})"


def test_the_table_reads_well(golden: Callable[[str, str], None]) -> None:
    lines = [
        "Where a remedy is offered: on G a GPU, C a CPU, T a TPU, ? an unknown device, of a run"
        " that trains; in brackets without code.",
        "Behind it what says that it is done already.",
        "",
        "".join(f"{title:<24}" if not title else f"{title:<15}" for title in ("", *RUNS)) + "done",
    ]
    for slug, where in TABLE.items():
        cells = "".join(f"{cell(where, run) or '-':<15}" for run in RUNS.values())
        lines.append(f"{slug:<24}{cells}{where.done}".rstrip())
    golden("remedies.txt", "\n".join(lines) + "\n")


def slugs(source: str) -> Iterator[str | None]:
    """The slug of each remedy that a module makes; None for one that is named while it is made."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Remedy":
            given = next((each.value for each in node.keywords if each.arg == "slug"), None)
            if isinstance(given, ast.Constant):
                yield str(given.value)
            else:
                assert given is not None or len(node.args) > 4, f"no slug in line {node.lineno}"
                yield None


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.stem)
def test_every_remedy_says_where_it_applies(file: Path) -> None:
    assert {slug for slug in slugs(file.read_text(encoding="utf-8")) if slug} <= TABLE.keys()


def test_the_table_has_no_line_too_many() -> None:
    sources = "\n".join(file.read_text(encoding="utf-8") for file in SOURCES if file.stem != "applicability")
    layout = (ROOT / "tfmemlens" / "model" / "layout.py").read_text(encoding="utf-8")
    assert [slug for slug in TABLE if f'"{slug}"' not in sources + layout] == ["no-layout-copies"]


WRONG = {
    "JAX": (Api(front_end=FrontEnd.JAX), r"\btf\.|\bsess\b|[Kk]eras|TF_|TensorFlow"),
    "torch_xla": (Api(front_end=FrontEnd.TORCH_XLA), r"\btf\.|\bsess\b|[Kk]eras|TF_|TensorFlow|\bjax\b|JAX"),
    "unknown": (Api(front_end=FrontEnd.XLA), r"\bsess\b|[Kk]eras|TF_"),
    "TF 1": (
        Api((1, 10), (1, 15), FrontEnd.SESSION),
        r"tf\.config\.|tf\.recompute_grad|malloc_async|tf\.keras\.mixed|ONEDNN|BFC_MEMORY_DUMP|\bjax\b|JAX|tfa\.",
    ),
    "TF 2": (Api((2, 11), (2, 15), FrontEnd.KERAS), r"tf\.contrib|\bsess\b|tf\.Session|\bjax\b|JAX|tf\.get_"),
}


@pytest.mark.whole
@pytest.mark.parametrize("run", WRONG)
def test_no_remedy_is_another_frameworks(run: str) -> None:
    """Every sample, asked as if it came from this framework: the same rules fire, the advice differs."""
    api, wrong = WRONG[run]
    seen = 0
    for path in INPUTS:
        case = explained(path).case
        own = [each.request.failed.source_text for each in case.moments if each.request] or [None]
        for finding in findings.examine(replace(case, api=api)).findings:
            for remedy in finding.remedies:
                seen += 1
                said = f"{remedy.text}\n{remedy.code}"
                for line in filter(None, own):
                    said = said.replace(line, "")  # the program's own, which a remedy may quote
                assert not re.search(wrong, said), (name_of(path), finding.rule, said)
    assert seen > 100


DRIVER = (
    "I cuda_driver.cc:831] failed to allocate 5.21G (5594152960 bytes) from device:"
    " CUDA_ERROR_OUT_OF_MEMORY\n"
    "E cuda_dnn.cc:359] Could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED\n"
)


def all_remedies() -> Iterator[Remedy]:
    for report in (*map(explained, INPUTS), pipeline.explain(DRIVER)):
        for finding in report.findings:
            yield from finding.remedies


@pytest.mark.whole
@pytest.mark.parametrize(
    ("code", "devices"),
    [("TF_GPU_ALLOCATOR|memory_growth|allow_growth|CUDNN|nvidia-smi|CUDA_VISIBLE", {GPU}), ("ONEDNN", {CPU})],
)
def test_a_devices_switch_is_for_that_device(code: str, devices: set[str]) -> None:
    switches = {remedy.slug for remedy in all_remedies() if re.search(code, remedy.code or "")}
    assert switches
    assert all(TABLE[slug].devices == devices for slug in switches), switches


@pytest.mark.parametrize(
    ("run", "offered"),
    [
        (Situation(TENSORFLOW, (2, 5), (2, 5), GPU), True),
        (Situation(TENSORFLOW, (2, 4), (2, 4), GPU), False),
        (Situation(TENSORFLOW, (2, 5), (2, 5), CPU), False),
        (Situation(TENSORFLOW, (1, 4), (2, 99), None), True),
        (
            Situation(TENSORFLOW, device=GPU, settings=frozenset({"TF_GPU_ALLOCATOR=cuda_malloc_async"})),
            False,
        ),
        (Situation(TENSORFLOW, device=GPU, settings=frozenset({"TF_GPU_ALLOCATOR=cuda_malloc"})), True),
        (Situation(JAX, device=GPU), False),
        (Situation(None, device=GPU), False),
    ],
)
def test_the_drivers_pool_is_offered_where_it_exists(run: Situation, offered: bool) -> None:
    assert TABLE["async-allocator"].holds(run) == offered


def test_what_is_known_of_the_run_rules_out() -> None:
    run = Situation(TENSORFLOW, device=GPU)
    shown = [TABLE["recompute"].holds(replace(run, training=each)) for each in (True, None, False)]
    assert shown == [True, False, False]
    assert TABLE["truncate"].holds(run) and not TABLE["truncate"].holds(replace(run, training=False))
    trained = replace(run, training=True)
    assert TABLE["mixed-precision"].holds(trained) and not TABLE["mixed-precision"].holds(run)
    assert not TABLE["mixed-precision"].holds(replace(trained, half=True))
    lighter = TABLE["lighter-optimizer"]
    assert lighter.holds(run) and not lighter.holds(replace(run, optimizer=False))
    assert TABLE["swap-to-host"].holds(replace(run, oldest=(1, 15)))
    assert not TABLE["swap-to-host"].holds(replace(run, oldest=(2, 0)))
    assert TABLE["finalize-graph"].holds(replace(run, session=True)) and not TABLE["finalize-graph"].holds(
        run
    )
