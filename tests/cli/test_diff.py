"""`tfmemlens diff`: what grew, matched over renamed layers, in three forms, with an exit status for CI."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import MIB, capture, row, timeline
from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.attribution.difference import matched, plain
from tfmemlens.cli.main import main
from tfmemlens.model.capture import Hints
from tfmemlens.renderers.json import difference as difference_document
from tfmemlens.use_cases.difference import compare

LENET_15, LENET_21 = "sample_traces/run_metadata/1.15-lenet.pb", "sample_traces/run_metadata/2.21-lenet.pb"
STEPS = SAMPLES / "tfevents" / "1.15-tagged-steps.tfevents"
LAYOUT, TRAINING = (
    "sample_traces/oom_log/2.11-unet-layout.txt",
    "sample_traces/oom_log/2.11-unet-layout-training.txt",
)


def document(before: str, after: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["diff", before, after, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def balances(found: dict[str, Any]) -> None:
    assert found["change_bytes"] == found["after"]["bytes"] - found["before"]["bytes"]
    for part in ("layers", "kinds", "allocations"):
        assert sum(entry["before_bytes"] for entry in found[part]) == found["before"]["bytes"]
        assert sum(entry["after_bytes"] for entry in found[part]) == found["after"]["bytes"]
        assert all(
            entry["change_bytes"] == entry["after_bytes"] - entry["before_bytes"] for entry in found[part]
        )


@pytest.mark.parametrize(
    "pair",
    [
        (LENET_15, LENET_21),
        (LENET_21, LENET_15),
        (LAYOUT, TRAINING),
        (LENET_15, LENET_15),
        (LAYOUT, LENET_15),
    ],
)
def test_the_books_balance(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    found = document(*pair, capsys)
    assert found["schema"] == "tfmemlens.diff/1"
    balances(found)


def test_nothing_changes_against_itself(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(LENET_15, LENET_15, capsys)
    assert found["change_bytes"] == 0
    assert {entry["state"] for part in ("layers", "kinds", "allocations") for entry in found[part]} == {
        "same"
    }


def test_a_larger_batch_grows_activations_and_no_weights() -> None:
    """The same step traced at batch 64 and 256."""
    small, large = (
        pipeline.report(pipeline.timelines(STEPS, Hints(tag=tag))).case for tag in ("step000", "step002")
    )
    found = difference_document.document(compare(small, large))
    balances(found)
    kinds = {entry["kind"]: entry for entry in found["kinds"]}
    assert kinds["activation"]["after_bytes"] == 4 * kinds["activation"]["before_bytes"]
    assert kinds["parameter"]["change_bytes"] == 0


def test_layers_that_were_numbered_anew_are_matched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second model in one process: every layer gets a higher number, the optimizer's scope, too."""
    log = Path("sample_traces/oom_log/1.15-lenet-keras.txt").read_text(encoding="utf-8")
    again = tmp_path / "again.txt"
    renumber = re.compile(r"\b((?:update_)?(?:training|conv1|conv2|fc1|pool1|pool2))(?:_(\d+))?(?=/)")
    again.write_text(
        renumber.sub(lambda found: f"{found[1]}_{int(found[2] or 0) + 7}", log), encoding="utf-8"
    )
    found = document("sample_traces/oom_log/1.15-lenet-keras.txt", str(again), capsys)
    balances(found)
    assert found["change_bytes"] == 0
    assert any(entry["layer_before"] != entry["layer_after"] for entry in found["layers"])
    for part in ("layers", "allocations"):
        assert {entry["state"] for entry in found[part]} == {"same"}


def test_copies_that_a_pass_adds_belong_to_their_layer(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(LAYOUT, TRAINING, capsys)
    assert {entry["kind"]: entry["change_bytes"] < 0 for entry in found["kinds"]}["layout-transpose"]
    assert all("LayoutOptimizer" not in (entry["layer"] or "") for entry in found["layers"])


def test_a_node_that_a_pass_renamed_is_matched() -> None:
    plain_step = capture(timeline(row("net/block_1/mul", 8, 0, 9), row("net/block_1/MatMul", 4, 1, 9)))
    rewritten = capture(
        timeline(
            row("net/block_1/ArithmeticOptimizer/ReplaceMulWithSquare_mul", 8, 0, 9),
            row("net/block_1/MatMul", 5, 1, 9),
        )
    )
    found = compare(pipeline.report(plain_step).case, pipeline.report(rewritten).case)
    assert [(change.state, change.change_bytes) for change in found.allocations] == [
        ("grew", MIB),
        ("same", 0),
    ]


def test_names_without_numbers() -> None:
    assert plain("model_1/dense_2") == "model/dense"
    assert plain("shared_model/unet_01") == "shared_model/unet_01"
    assert matched(["dense", "dense_1"], ["dense_2", "dense_3"]) == [
        ("dense", "dense_2"),
        ("dense_1", "dense_3"),
    ]
    assert set(matched(["dense", "dense_1"], ["dense", "dense_1", "dense_2"])) == {
        ("dense", "dense"),
        ("dense_1", "dense_1"),
        (None, "dense_2"),
    }
    assert matched(["conv"], ["pool"]) == [("conv", None), (None, "pool")]
    assert matched([f"d_{number}" for number in (9, 10)], ["d_19", "d_20"]) == [
        ("d_9", "d_19"),
        ("d_10", "d_20"),
    ]


NAMES = st.sets(st.from_regex(r"[ab](_[0-3])?(/c(_[0-3])?)?", fullmatch=True), max_size=8)


@given(NAMES, NAMES)
def test_every_name_is_matched_once(left: set[str], right: set[str]) -> None:
    pairs = matched(sorted(left), sorted(right))
    assert sorted(a for a, _ in pairs if a is not None) == sorted(left)
    assert sorted(b for _, b in pairs if b is not None) == sorted(right)
    assert all(plain(a) == plain(b) for a, b in pairs if a is not None and b is not None)


@pytest.mark.parametrize(
    ("pair", "limit", "status"),
    [
        ((LAYOUT, TRAINING), "5%", 1),
        ((LAYOUT, TRAINING), "64%", 0),
        ((LAYOUT, TRAINING), "100MiB", 1),
        ((LAYOUT, TRAINING), "1GiB", 0),
        ((TRAINING, LAYOUT), "0%", 0),
        ((LENET_15, LENET_15), "0%", 0),
    ],
)
def test_ci_fails_when_memory_grows(
    pair: tuple[str, str], limit: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *pair, "--fail-above", limit]) == status
    assert ("above" in capsys.readouterr().err) == bool(status)


@pytest.mark.parametrize(
    "pair",
    [
        ("run_metadata/1.15-unet.pb.gz", "run_metadata/2.11-unet.pb.gz"),
        ("oom_log/2.11-unet-layout.txt", "oom_log/2.11-unet-layout-training.txt"),
    ],
)
def test_diff_reads_well(
    pair: tuple[str, str], golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    name = "--".join(Path(each).name.split(".pb")[0].split(".txt")[0] for each in pair)
    for option in ([], ["--full"]):
        assert main(["diff", *(f"sample_traces/{each}" for each in pair), *option]) == 0
        page = capsys.readouterr().out
        assert option or page.count("\n") <= 24
        golden(f"diff/{name}{''.join(option)}.txt", page)


def test_diff_as_a_page(tmp_path: Path) -> None:
    target = tmp_path / "diff.html"
    assert main(["diff", LAYOUT, TRAINING, "--html", "-o", str(target)]) == 0
    assert "Memory grew by" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-file", LENET_15],
        ["setup.cfg", LENET_15],
        [LENET_15, LENET_21, "--fail-above", "much"],
        [LENET_15, LENET_21, "-o", "/no/such/folder/x"],
    ],
)
def test_usage_errors_are_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *arguments]) == 2
    complaint = capsys.readouterr().err
    assert "Traceback" not in complaint


@pytest.mark.parametrize(("less", "status"), [(0, 0), (1, 1)])
def test_growth_of_just_the_limit_is_allowed(
    less: int, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    grew = document(LENET_15, LAYOUT, capsys)["change_bytes"]
    assert grew > 0
    assert main(["diff", LENET_15, LAYOUT, "--fail-above", str(grew - less)]) == status


def test_a_message_alone_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    bare, traced = "sample_traces/oom_log/1.10-unet-hint.txt", "sample_traces/run_metadata/1.10-unet.pb.gz"
    for pair in ((bare, traced), (traced, bare)):
        assert main(["diff", *pair]) == 2
        told = capsys.readouterr()
        assert not told.out
        assert "1.10-unet-hint.txt shows what failed, not what was using the memory" in told.err
        assert "TensorFlow's list or the allocator's dump" in told.err
