"""What the page about many jobs holds: days, hosts that stand out, jobs and samples behind each cause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.made import at, failure, log, write
from tfmemlens.cli.main import main
from tfmemlens.fleet.overview import COLUMNS, JOBS, SAMPLES, overview
from tfmemlens.renderers.html import fleet as html
from tfmemlens.renderers.html.page import render
from tfmemlens.use_cases.page import build_page

pytest.importorskip("pyarrow")
HELD = "device-held-by-others"
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e\"'&`x`"


def held(host: str, jobs: list[str], rule: str = HELD) -> list[dict[str, Any]]:
    return [
        failure(f"{host}-{rule}-{number}.log", host=host, job=job, rule=rule, time=at(0))
        for number, job in enumerate(jobs)
    ]


@pytest.mark.parametrize(
    ("rows", "bad"),
    [
        (held("h", ["a", "a", "b"]), True),
        (held("h", ["a", "b"]), False),
        (held("h", ["a", "a", "a"]), False),
        (held("h", ["a", "b", "b"], "no-room-for-context"), True),
        (held("h", ["a", "b", "c"], "memory-shortage"), False),
        (held("h", ["a", "b", "c"]) + held("h", list("defg"), "memory-shortage"), False),
        (held("h", ["a", "b", "c"]) + held("h", list("def"), "memory-shortage"), True),
        ([row | {"host": None} for row in held("h", ["a", "b", "c"])], False),
    ],
    ids="three-in-two two one-job context other-rule minority half no-host".split(),
)
def test_a_bad_host_has_several_jobs_that_others_held_up(
    rows: list[dict[str, Any]], bad: bool, tmp_path: Path
) -> None:
    fleet = overview(write(tmp_path / "d", rows))
    assert [host.bad for host in fleet.hosts] == [bad]
    assert fleet.bad_hosts == int(bad)


def test_bad_hosts_come_first(tmp_path: Path) -> None:
    rows = held("busy", [f"j{n}" for n in range(20)], "memory-shortage") + held("bad", ["a", "b", "c"])
    assert [host.name for host in overview(write(tmp_path / "d", rows)).hosts] == ["bad", "busy"]


def test_days_add_up(tmp_path: Path) -> None:
    rows = [failure(f"{n}.log", host=f"h{n % 3}", signature=f"s{n % 2}", time=at(-n % 9)) for n in range(30)]
    fleet = overview(write(tmp_path / "d", [*rows, failure("undated.log")], files=2))
    assert len(fleet.columns) == 9 and fleet.columns[-1] == "2024-11-28"
    assert sum(fleet.totals) + fleet.off_axis == 31 and fleet.off_axis == 1
    by_cause = [sum(counts) for counts in zip(*(cause.counts for cause in fleet.causes), strict=True)]
    by_host = [sum(counts) for counts in zip(*(host.counts for host in fleet.hosts), strict=True)]
    assert tuple(by_cause) == tuple(by_host) == fleet.totals


def test_long_times_have_columns_of_several_days(tmp_path: Path) -> None:
    rows = [failure("a.log", time=at(0)), failure("b.log", time=at(-400)), failure("c.log", time=at(-9000))]
    fleet = overview(write(tmp_path / "d", rows))
    assert fleet.days == 5 and len(fleet.columns) <= COLUMNS
    assert (sum(fleet.totals), fleet.off_axis) == (2, 1), "a clock that is decades behind is not drawn"
    assert any("with a time far from the others" in note for note in html._notes(fleet))


def test_behind_a_cause_are_its_jobs_and_the_latest_of_them(tmp_path: Path) -> None:
    rows = [
        failure(f"{job}/{n}.log", job=f"j{job:02}", host=f"h{n}", time=at(job), report=json.dumps({
            "actions": [{"text": f"advice {job}", "code": "x = 1", "saves_bytes": 7}],
            "findings": [{"evidence": [{"fact": "no line"}, {"fact": "f", "line": 3, "text": "OOM"}]}],
        }))
        for job in range(12)
        for n in range(2)
    ]  # fmt: skip
    inputs = [log(row["source"], at(0), at(0, int(row["job"][1:]) + 1)) for row in rows]
    (cause,) = overview(write(tmp_path / "d", rows, inputs, files=3)).causes
    assert [job.name for job in cause.jobs] == [f"j{job:02}" for job in range(11, 1, -1)]
    assert (len(cause.jobs), cause.more_jobs) == (JOBS, 2)
    assert (cause.jobs[0].failures, cause.jobs[0].hosts, cause.jobs[0].seconds_lost) == (
        2,
        ("h0", "h1"),
        43200,
    )
    assert [sample.example.source for sample in cause.samples] == ["11/0.log", "10/0.log", "9/0.log"]
    assert len(cause.samples) == SAMPLES
    (advice,), proof = cause.samples[0].actions, cause.samples[0].proof
    assert (advice.text, advice.code, advice.saves_bytes) == ("advice 11", "x = 1", 7)
    assert proof is not None and (proof.text, proof.line) == ("OOM", 3)


@pytest.mark.parametrize(
    "report", ["", "no json", "[]", "3", '{"actions": 3}', '{"actions": [3], "findings": [{"evidence": {}}]}']
)
def test_a_document_that_is_none_costs_its_advice_alone(report: str, tmp_path: Path) -> None:
    (cause,) = overview(write(tmp_path / "d", [failure("a.log", report=report)])).causes
    assert cause.samples[0].actions == () and cause.samples[0].proof is None


def page(tmp_path: Path, rows: list[dict[str, Any]], inputs: Any = ()) -> str:
    return html.render(overview(write(tmp_path / "d", rows, inputs)))


def test_nothing_leaves_its_place_on_the_page(tmp_path: Path) -> None:
    report = json.dumps({
        "actions": [{"text": EVIL, "code": EVIL}],
        "findings": [{"evidence": [{"fact": EVIL, "text": EVIL, "line": 1}]}],
    })  # fmt: skip
    names = ("team", "job", "host", "rule", "layer", "version", "device", "framework", "signature", "verdict")
    row = failure(EVIL, **dict.fromkeys(names, EVIL), time=at(0), report=report, action=EVIL)
    text = page(tmp_path, [row])
    assert text.count("<script>") == 1 and "<img" not in text
    assert "\x1b" not in text and "\u202e" not in text
    assert "alert(1)" in text


@pytest.mark.whole
def test_a_page_of_hostile_lengths_stays_small(tmp_path: Path) -> None:
    long = "<'\u202e" * 3000
    report = json.dumps({"actions": [{"text": long, "code": long}] * 3, "findings": []})
    rows = [
        failure(
            f"{n}-{m}-{long}",
            job=f"{m}{long}",
            host=f"{m}{long}",
            verdict=long + str(m),
            report=report,
            **dict.fromkeys(("signature", "layer"), f"{n}{long}"),
        )
        for n in range(70)
        for m in range(11)
    ]
    fleet = overview(write(tmp_path / "d", rows))
    text = html.render(fleet)
    assert len(text.encode()) <= html.MOST_BYTES
    kept = text.count('<li id="cause-')
    assert 3 <= kept < 60
    assert f"{70 - kept} more signatures with {11 * (70 - kept)} failures" in text, (
        "what is left out is counted"
    )


def test_a_calm_fleet_has_a_page_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "d", [], [log("a.log", at(0), at(1), status="no failure", incidents=0)])
    target = tmp_path / "page.html"
    assert main(["fleet", "report", folder, "-o", str(target)]) == 1
    assert "No memory failure was found in 1 input." in target.read_text(encoding="utf-8")
    assert str(target) in capsys.readouterr().err


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "d", [failure("a.log", time=at(0))], [log("a.log", at(0), at(0, 2))])
    assert main(["fleet", "report", folder, "-o", "-"]) == 0
    text = capsys.readouterr().out
    assert "verdict of a.log" in text and "<dt>hours lost</dt><dd>2.0</dd>" in text


def test_since_leaves_earlier_failures_out_everywhere(tmp_path: Path) -> None:
    rows = [
        failure(f"{n}.log", job=f"j{n}", host=f"h{n}", team=f"t{n}", signature=f"s{n % 4}", time=at(-n))
        for n in range(12)
    ]
    folder = write(tmp_path / "d", [*rows, failure("undated.log")], [log("a.log", at(-30), at(0))])
    fleet = overview(folder, "3d")
    assert (fleet.ranking.whole.failures, fleet.ranking.whole.jobs) == (4, 4)
    assert sum(fleet.totals) == 4 and fleet.off_axis == 0
    assert {host.name for host in fleet.hosts} == {"h0", "h1", "h2", "h3"}
    assert [sum(cause.counts) for cause in fleet.causes] == [1, 1, 1, 1]
    assert {job.name for cause in fleet.causes for job in cause.jobs} == {"j0", "j1", "j2", "j3"}
    assert {group.name for group in fleet.tables[0].groups} == {"t0", "t1", "t2", "t3"}
    page = tmp_path / "fleet.html"
    assert main(["fleet", "report", folder, "--since", "3d", "-o", str(page)]) == 0
    assert "j3" in page.read_text() and "j4" not in page.read_text()
    assert main(["fleet", "report", folder, "--since", "2031-01-01", "-o", str(page)]) == 1


def test_the_page_of_a_failure_is_the_same_after_that_of_many(tmp_path: Path) -> None:
    """Both have a word `place`, and templates are kept."""
    text = tmp_path / "a.log"
    text.write_text("OOM when allocating tensor with shape[8,8] and type float\n", encoding="utf-8")
    before = render(build_page([[text]]))
    html.render(overview(write(tmp_path / "d", [failure("a.log", time=at(0))])))
    assert render(build_page([[text]])) == before
