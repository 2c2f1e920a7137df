"""`tfmemlens estimate`: pages, the JSON contract, tables, errors."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfmemlens
from tests.models import document, small
from tests.renderers.report_schema import REPORT, validate
from tfmemlens.cli.main import main
from tfmemlens.estimation import needed_limit
from tfmemlens.model.case import Fits
from tfmemlens.model.timeline import NeededLimit

KERAS = "sample_models/files-2.21/small.keras"
APPLICATION = "sample_models/applications-2.21/{}.json.gz"


@pytest.fixture
def lenet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return saved("lenet", tmp_path, monkeypatch)


def saved(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A small model as a file in the current folder."""
    monkeypatch.chdir(folder)
    (folder / f"{name}.json").write_text(json.dumps(document(name)), encoding="utf-8")
    return f"{name}.json"


def told(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    """The JSON document of a call."""
    assert main(["estimate", *arguments, "--json"]) == status
    found = json.loads(capsys.readouterr().out)
    validate(found, REPORT)
    return found


@pytest.mark.parametrize(
    "arguments",
    [[], ["--mode", "inference"], ["--batch", "256", "--optimizer", "sgd", "--limit", "64MiB"]],
    ids=["training", "inference", "limit"],
)
def test_lenet_reads_well(
    arguments: list[str], lenet: str, golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", lenet, *arguments, "--full"]) == int("--limit" in arguments)
    golden(
        f"estimate/lenet-{'-'.join(part.strip('-') for part in arguments) or 'training'}.txt",
        capsys.readouterr().out,
    )


@pytest.mark.whole
@pytest.mark.parametrize("name", ["nested", "transformer", "recurrent"])
def test_other_models_read_well(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    golden: Callable[[str, str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["estimate", saved(name, tmp_path, monkeypatch), "--batch", "8", "--full"]) == 0
    golden(f"estimate/{name}.txt", capsys.readouterr().out)


def test_the_json_contract(lenet: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, lenet, "--batch", "64", "--optimizer", "adam", "--limit", "8GiB")
    [peak] = found["peaks"]
    assert peak["predicted"] is True
    assert peak["low_bytes"] < peak["bytes"] < peak["high_bytes"]
    assert peak["limit_bytes"] == 8 << 30
    assert sum(row["bytes"] for row in found["allocations"]) == peak["bytes"]
    layers = {layer["layer"]: layer for layer in found["layers"]}
    assert (
        layers["conv1"]["params"] == 832
        and layers["conv1"]["param_bytes"] == 3328
        and layers["conv1"]["slot_bytes"] == 6656
    )
    assert layers["conv1"]["activation_bytes_per_sample"] == 28 * 28 * 32 * 4
    assert (
        sum(layer.get("params", 0) for layer in found["layers"]) == small("2.21")["lenet"]["truth"]["total"]
    )
    assert sum(layer["total_bytes"] for layer in found["layers"]) == peak["bytes"]


@pytest.mark.parametrize(
    ("optimizer", "slots"),
    [
        ("sgd", 0),
        ("momentum", 1),
        ("adam", 2),
        ("adamw", 2),
        ("rmsprop", 1),
        ("adagrad", 1),
        ("amsgrad", 3),
        ("Adam", 2),
        ("lion", 1),
    ],
)
def test_slots_are_multiples_of_the_trainable_weights(
    optimizer: str, slots: int, lenet: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, lenet, "--optimizer", optimizer)
    described = [layer for layer in found["layers"] if "params" in layer]
    assert sum(layer["slot_bytes"] for layer in described) == slots * sum(
        layer["param_bytes"] for layer in described
    )


def test_inference_needs_less_and_has_no_slots(lenet: str, capsys: pytest.CaptureFixture[str]) -> None:
    training, inference = told(capsys, lenet), told(capsys, lenet, "--mode", "inference")
    assert inference["peaks"][0]["bytes"] < training["peaks"][0]["bytes"]
    assert not any(layer.get("slot_bytes") or layer.get("gradient_bytes") for layer in inference["layers"])


@pytest.mark.whole
def test_batch_norm_trains_half_of_its_state(capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, APPLICATION.format("ResNet50"), "--batch", "2")
    norm = next(layer for layer in found["layers"] if layer["layer"] == "conv1_bn")
    assert (norm["params"], norm["trainable_params"], norm["formula"]) == (256, 128, "4*64")


@pytest.mark.whole
def test_mixed_precision_narrows_what_norms_do_not_need(capsys: pytest.CaptureFixture[str]) -> None:
    """Weights stay as they are, and each norm keeps what came in once more in float32."""
    plain, mixed = (
        told(capsys, APPLICATION.format("MobileNet"), "--batch", "4", "--dtype", dtype)
        for dtype in ("float32", "mixed_float16")
    )
    conv = [
        next(layer for layer in found["layers"] if layer["layer"] == "conv_pw_1") for found in (plain, mixed)
    ]
    assert conv[0]["param_bytes"] == conv[1]["param_bytes"]
    assert mixed["peaks"][0]["bytes"] < 0.85 * plain["peaks"][0]["bytes"]


@pytest.mark.whole
def test_sequence_and_input_shape_fill_what_the_model_leaves_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = saved("open_length", tmp_path, monkeypatch)
    short, long = (told(capsys, text, "--sequence", str(length))["peaks"][0]["bytes"] for length in (10, 200))
    assert long > 2 * short
    assert main(["estimate", text]) == 2
    complaint = capsys.readouterr().err
    assert "the input tokens leaves a size open: N" in complaint
    assert "--sequence N" in complaint
    image = saved("open_images", tmp_path, monkeypatch)
    found = told(capsys, image, "--batch", "2", "--input-shape", "64x64x3")
    assert next(layer for layer in found["layers"] if layer["layer"].startswith("conv2d"))["output_shape"][
        :3
    ] == [2, 32, 32]


def test_one_of_several_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = saved("two_types", tmp_path, monkeypatch)
    assert told(capsys, text, "--input-shape", "image=8x8x1")["peaks"]
    assert main(["estimate", text, "--input-shape", "picture=8x8x1"]) == 2
    assert "category, image, number" in capsys.readouterr().err


def test_the_table_as_csv_and_markdown(lenet: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", lenet, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["params"] for row in rows if row["params"] != "0"] == ["832", "51264", "3212288", "10250"]
    assert main(["estimate", lenet, "--markdown"]) == 0
    assert "predicted" in capsys.readouterr().out


def test_a_limit_decides_the_status(lenet: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", lenet, "--limit", "8GiB"]) == 0
    assert main(["estimate", lenet, "--limit", "1MiB"]) == 1
    assert "does not fit 1.00 MiB" in " ".join(capsys.readouterr().out.split())


@pytest.mark.whole
def test_the_limit_that_is_needed_decides_whether_it_fits(
    lenet: str, capsys: pytest.CaptureFixture[str]
) -> None:
    [peak] = told(capsys, lenet)["peaks"]
    low, high = peak["low_bytes"], peak["needed_limit_high_bytes"]
    assert peak["fits"] is None
    assert peak["bytes"] < peak["high_bytes"] < high
    limits = {low - 1: (1, "no"), low: (3, "undecided"), high - 1: (3, "undecided"), high: (0, "yes")}
    for limit, (status, fits) in limits.items():
        found = told(capsys, lenet, "--limit", str(limit), status=status)
        assert found["peaks"][0]["fits"] == fits
        assert ("undecided: needs" in found["verdict"]) is (fits == "undecided")
    assert tfmemlens.estimate(lenet, limit=high - 1).fits is Fits.UNDECIDED
    assert tfmemlens.estimate(lenet).fits is None
    assert tfmemlens.estimate(lenet).error_bar == (low, peak["high_bytes"])
    assert tfmemlens.estimate(lenet).needed_limit == NeededLimit(peak["needed_limit_bytes"], high)


def test_a_limit_that_is_too_dear_to_find_is_not_stated(
    lenet: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    [known] = told(capsys, lenet)["peaks"]
    monkeypatch.setattr(needed_limit, "MAX_CALLS", 100)
    found = told(capsys, lenet, "--limit", str(known["high_bytes"]))
    [peak] = found["peaks"]
    assert (peak["needed_limit_bytes"], peak["needed_limit_high_bytes"]) == (None, None)
    assert (peak["high_bytes"], peak["fits"]) == (known["high_bytes"], "yes")
    assert any("was not worked out" in note["text"] for note in found["notes"])


def test_no_limit_is_worked_out_for_a_gpu(lenet: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, lenet, "--device", "gpu")
    assert found["peaks"][0]["needed_limit_high_bytes"] is None
    assert not any("memory limit" in note["text"] for note in found["notes"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing.keras"],
        [KERAS, "--batch", "0"],
        [KERAS, "--sequence", "-1"],
        [KERAS, "--optimizer", "gradient-magic"],
        [KERAS, "--input-shape", "axb"],
        [KERAS, "--limit", "lots"],
        ["sample_traces/README.md"],
        ["nomodule_of_this_name:build"],
        ["json:nothing"],
        [KERAS.replace("small.keras", "saved_model/fingerprint.pb")],
    ],
)
def test_errors_are_one_sentence_with_a_hint(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", *arguments]) == 2
    complaint = capsys.readouterr().err
    assert "Traceback" not in complaint
    assert "hint: " in complaint


def test_a_function_is_asked_in_another_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Anything with `to_json` is a model to us, so no TensorFlow is needed to test the way there and back."""
    code = (
        "class Model:\n    def to_json(self):\n        return"
        f" {json.dumps(json.dumps(document('lenet')))}\n\ndef build():\n    print('noise')\n    return"
        " Model()\n"
    )
    (tmp_path / "my_models.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for spec in ("my_models:build", "my_models.py:build"):
        assert told(capsys, spec)["layers"][1]["params"] == 832


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--input-shape", "4x28x28x1"],
            "leaves the batch out here, and the batch is 32\n  hint: write --input-shape 28x28x1 --batch 4",
        ),
        (["--input-shape", "28x28"], "takes 3 sizes, and --input-shape gives 2"),
        (["--sequence", "64"], "leaves no length open for --sequence"),
    ],
)
def test_sizes_that_do_not_fit_the_model(
    arguments: list[str], said: str, lenet: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", lenet, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_the_batch_may_stand_in_front_of_the_input(lenet: str, capsys: pytest.CaptureFixture[str]) -> None:
    pages = []
    for shape in ("28x28x1", "8x28x28x1"):
        assert main(["estimate", lenet, "--batch", "8", "--input-shape", shape]) == 0
        pages.append(capsys.readouterr().out)
    assert pages[0] == pages[1]
