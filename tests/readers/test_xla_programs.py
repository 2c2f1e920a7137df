"""The compiled programs that a JAX program kept when it failed, beside its log."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.attribution import _is_of_the_host
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.report import Report
from tfmemlens.readers.formats import xla_programs

STEP = SAMPLES / "xla_programs" / "jax-0.10-step.json"
NEEDS = 13170114560
LOG = """Traceback (most recent call last):
  File "train.py", line 36, in <module>
    print(n, float(params["layer0"]["b"].sum()), flush=True)
jax.errors.JaxRuntimeError: INTERNAL: Error dispatching computation: Out of memory allocating {} bytes.
"""


def explained(folder: Path, size: int, document: str | None = None) -> Report:
    (folder / "log.txt").write_text(LOG.format(size))
    if document is None:
        shutil.copy(STEP, folder / "programs.json")
    else:
        (folder / "programs.json").write_text(document)
    return pipeline.explain(folder)


def test_a_failure_has_the_account_of_the_program_whose_temporaries_it_asks_for(tmp_path: Path) -> None:
    report = explained(tmp_path, NEEDS)
    (moment,) = report.case.moments
    held = {group.name: group.total_bytes for group in moment.attribution.by("layer")}
    weights = 4 * 8192 * (256 + 1) + 4  # and a scalar that XLA made for it
    assert held["layer1"] == 2 * 131072 * 8192 * 4 + weights
    assert moment.incident is not None and moment.incident.compiler is not None
    assert moment.incident.request.executable == "jit_step"
    schedule = moment.incident.compiler.schedule
    assert schedule is not None and NEEDS <= schedule.peak_bytes < 1.01 * NEEDS
    assert "`layer1` holds most of them, 8.00 GiB" in report.findings[0].because


@pytest.mark.parametrize("space, told", [(3072000000, 3072000000), (None, None), (0, None), ("3", None)])
def test_the_address_space_that_the_run_had_is_told_beside_a_failure_of_the_host(
    tmp_path: Path, space: object, told: int | None
) -> None:
    record = {"tfmemlens_run": 1, "ending": "exit status 1", "address_space_bytes": space}
    (tmp_path / "run.json").write_text(json.dumps(record))
    (moment,) = explained(tmp_path, NEEDS).case.moments
    assert (moment.balance.limit, moment.balance.address_space) == (None, told)


@pytest.mark.parametrize(
    "kind, device, told",
    [(RequestKind.HOST, None, True), (RequestKind.XLA, "/device:CPU:0", True),
     (RequestKind.XLA, "/device:GPU:0", False), (RequestKind.XLA, None, False)],
)  # fmt: skip
def test_the_address_space_bears_on_the_hosts_memory_alone(
    kind: RequestKind, device: str | None, told: bool
) -> None:
    assert _is_of_the_host(FailedRequest(kind, device=device)) is told


def test_another_size_is_not_explained_by_it(tmp_path: Path) -> None:
    report = explained(tmp_path, NEEDS + 1)
    (moment,) = report.case.moments
    assert moment.incident is not None
    assert (moment.incident.holders, moment.incident.request.kind) == ((), RequestKind.HOST)


def test_a_request_for_a_large_result_has_its_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 256 * 8192 * 4
    report = explained(tmp_path, size)
    assert report.case.moments[0].request is not None
    assert report.case.moments[0].request.failed.shape is None  # such arrays are made in many places
    monkeypatch.setattr(xla_programs, "_LEAST_RESULT", size)
    request = explained(tmp_path, size).case.moments[0].request
    assert request is not None
    assert (request.failed.shape, request.failed.dtype) == ((256, 8192), "float32")


def test_alone_it_is_an_account_and_no_failure() -> None:
    (incident,) = pipeline.capture(STEP).incidents
    assert (incident.fatal, incident.request.kind) == (False, RequestKind.PROGRAM)


def test_a_damaged_program_is_left_out_with_a_note(tmp_path: Path) -> None:
    document = json.loads(STEP.read_text())
    whole = document["programs"][0]["hlo_proto"]
    for damage in ("!", whole[:400], f"!{whole}", ""):
        document["programs"][0]["hlo_proto"] = damage
        report = explained(tmp_path, NEEDS, json.dumps(document))
        assert any("cannot be read" in note.text for note in report.case.capture.notes), damage
        assert report.case.moments[0].incident is not None


def _page(tmp_path: Path, name: str) -> str:
    """What is told of a failure that asks for just what this program's temporaries take."""
    sample = STEP.with_name(f"jax-0.10-{name}.json")
    document = json.loads(sample.read_text())
    report = explained(tmp_path, document["programs"][0]["temporary_bytes"], sample.read_text())
    told = report.findings[0]
    return f"{told.because} " + " ".join(f"{each.fact} {each.line}" for each in told.evidence)


def test_without_scopes_the_weights_in_a_dictionary_name_the_layer(tmp_path: Path) -> None:
    page = _page(tmp_path, "autoencoder")
    assert "`net['decoder']['hidden']` holds most of them, 6.71 GiB" in page
    assert "the line of `wide` (jax_without_scopes.py:25) makes 3.35 GiB of them" in page
    assert 'wide = jnp.tanh(code @ net["decoder"]["hidden"])' in page


def test_what_a_scan_stacks_is_told_by_the_line_of_its_body(tmp_path: Path) -> None:
    page = _page(tmp_path, "scan")
    assert "values that a scan keeps of all 20,000 steps for the backward pass" in page
    assert "the line of `h` (jax_without_scopes.py:43) makes" in page and "h = jnp.tanh(h @" in page
