"""`tfmemlens conv`: pages, the document, the picture, mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tfmemlens import renderers
from tfmemlens.cli import conv
from tfmemlens.cli.main import main, parser
from tfmemlens.renderers.view import View

Q2 = "--input 200x321x481x1 --kernel 135x135x3 --padding valid --threads 2"
PAGES = {
    "question-2-in-1.10": f"{Q2} --tf 1.10",
    "question-2-in-1.15": f"{Q2} --tf 1.15",
    "refine-block-in-2.4": "--input 8x256x256x64 --kernel 3x3x64 --tf 2.4 --threads 4",
    "stem-on-a-gpu": "--input 32x224x224x3 --kernel 4x4x64 --tf 1.15 --threads 2 --device gpu",
    "depthwise-on-a-gpu": (
        "--input 4x64x64x8 --kernel 3x3x2 --kind depthwise --device gpu --tf 1.12 --threads 2"
    ),
    "volumes-on-a-gpu": "--input 2x32x64x64x16 --kernel 3x3x3x16 --device gpu --tf 2.4 --threads 2",
    "volumes": "--input 2x32x64x64x16 --kernel 3x3x3x16 --tf 2.4 --threads 2",
    "transposed": (
        "--input 8x128x128x32 --kernel 4x4x32x64 --strides 2 --kind transposed --tf 2.8 --threads 2"
    ),
    "depthwise-with-onednn": "--input 8x112x112x32 --kernel 3x3 --kind depthwise --tf 2.21 --threads 2",
    "dilated": "--input 4x64x64x32 --kernel 3x3x32x32 --dilations 2x2 --tf 1.15 --threads 2 --dtype float64",
}


def run(arguments: str) -> int:
    return main(["conv", *arguments.split()])


@pytest.mark.parametrize("name", PAGES)
def test_the_page_reads_well(
    name: str, golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"{PAGES[name]} --full") == 0
    golden(f"conv/{name}.txt", capsys.readouterr().out)


@pytest.mark.parametrize("name", PAGES)
def test_the_short_page_is_one_screen(
    name: str, golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(PAGES[name]) == 0
    page = capsys.readouterr().out
    lines = page.splitlines()
    assert len(lines) <= 24
    assert all(len(line) <= 80 or line.lstrip().startswith("|") for line in lines)
    assert "--full shows" in page and "EXTRA MEMORY: TENSORFLOW" in page
    golden(f"conv/{name}-short.txt", page)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", PAGES)
def test_it_fits_a_narrow_terminal(name: str, full: bool) -> None:
    report = conv.sized(parser("conv").parse_args(["conv", *PAGES[name].split()]))
    for width in (60, 70, 80):
        page = renderers.render(report, "convolution", view=View(width=width, full=full))
        wide = [line for line in page.splitlines() if len(line) > width and "  | " not in line]
        assert wide == []
        if full:
            assert ("d input" in page.partition("OTHER KERNELS")[2]) and "forward" in page


def test_a_table_that_is_too_wide_leaves_out_what_matters_least() -> None:
    report = conv.sized(parser("conv").parse_args(["conv", *PAGES["question-2-in-1.10"].split()]))

    def head(width: int) -> str:
        page = renderers.render(report, "convolution", view=View(width=width, full=True))
        return " ".join(page.partition("BATCHES\n")[2].split("\n")[0].split())

    assert head(76) == head(160) == "kernel batch output patches forward d weights d input"
    assert head(75) == head(64) == "kernel batch output forward d weights d input"
    assert head(63) == head(40) == "kernel batch forward d weights d input"


def test_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(PAGES["question-2-in-1.10"] + " --json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tfmemlens.convolution/1"
    assert document["output"] == {"shape": [200, 187, 347, 3], "bytes": 155_733_600}
    assert document["patch_matrix_bytes"] == 946_081_620_000
    assert document["flops"] == 2 * 200 * 187 * 347 * 135 * 135 * 3
    assert document["forward"]["temporary_bytes"] == 33_223_175_680
    assert document["forward"]["tracked"] is False
    assert document["forward"]["certainty"] == "estimate"
    assert document["backward_filter"] == document["backward_input"]
    assert document["backward_filter"]["temporary_bytes"] == 4_730_408_100
    assert document["backward_filter"]["shape"] == [1, 64889, 18225]
    assert {"text", "code", "bytes", "saves_bytes", "certainty"} <= set(document["alternatives"][0])
    assert {"kernel", "batch", "forward_bytes"} <= set(document["table"][0])


@pytest.mark.parametrize("name", PAGES)
def test_every_size_in_the_document_is_an_integer(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(PAGES[name] + " --json") == 0

    def sizes(value: object) -> None:
        if isinstance(value, dict):
            for key, each in value.items():
                if key == "bytes" or key.endswith("_bytes"):
                    assert each is None or (isinstance(each, int) and each >= 0), key
                sizes(each)
        elif isinstance(value, list):
            for each in value:
                sizes(each)

    sizes(json.loads(capsys.readouterr().out))


def test_the_kernel_with_and_without_its_channels_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--input 8x64x64x16 --kernel 3x3x16x32 --threads 2") == 0
    long = capsys.readouterr().out
    assert (
        run("--input [8,64,64,16] --kernel 3x3x32 --threads 2 --strides 1x1x1x1 --padding SAME --dtype float")
        == 0
    )
    assert capsys.readouterr().out == long


def test_tensorflows_own_names_are_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    pages = []
    for kind, kernel in (("transposed", "4x4x16x8"), ("conv2d_transpose", "4x4x8x16"), ("deconv", "4x4x8")):
        assert (
            run(f"--input 8x32x32x16 --kernel {kernel} --strides 2 --kind {kind} --threads 2 --tf 1.15") == 0
        )
        pages.append(capsys.readouterr().out)
    assert pages[0] == pages[1] == pages[2]


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
@pytest.mark.parametrize("name", ["question-2-in-1.10", "stem-on-a-gpu", "volumes", "dilated"])
@pytest.mark.whole
def test_the_picture(name: str, suffix: str, tmp_path: Path) -> None:
    target = tmp_path / f"bytes{suffix}"
    assert run(f"{PAGES[name]} --plot {target}") == 0
    assert target.stat().st_size > 2000


WRONG = [
    "--input 321x481x1 --kernel 5x5x3",
    "--input 8x64x64 --kernel 3x3x8",
    "--input fish --kernel 3x3x8",
    "--input 8x?x64x3 --kernel 3x3x8",
    "--input 8x0x64x3 --kernel 3x3x8",
    "--input 8x64x64x3 --kernel 3",
    "--input 8x64x64x3 --kernel 3x3",
    "--input 8x64x64x3 --kernel 3x3x4x8",
    "--input 8x64x64x3 --kernel 3x3x3x4x8",
    "--input 8x64x64x3 --kernel 65x3x8 --padding valid",
    "--input 8x64x64x3 --kernel 40x40x8 --dilations 2 --padding valid",
    "--input 8x64x64x3 --kernel 3x3x8 --padding full",
    "--input 8x64x64x3 --kernel 3x3x8 --strides 2x2x2",
    "--input 8x64x64x3 --kernel 3x3x8 --strides 0",
    "--input 8x64x64x3 --kernel 3x3x8 --tf ten",
    "--input 8x64x64x3 --kernel 3x3x8 --tf 3.1",
    "--input 8x64x64x3 --kernel 3x3x8 --tf 1.10 --onednn",
    "--input 8x64x64x3 --kernel 3x3x8 --threads 0",
    "--input 8x64x64x3 --kernel 3x3x8 --threads two",
    "--input 8x64x64x3 --kernel 3x3x8 --device tpu",
    "--input 8x64x64x3 --kernel 3x3x8 --dtype int32",
    "--input 8x64x64x3 --kernel 3x3x8 --kind conv3d",
    "--input 8x64x64x64x3 --kernel 3x3x8 --kind depthwise",
    "--input 8x64x64x3 --kernel 3x3x8 --kind pooling",
    "--input 8x64x64x3 --kernel 3x3x8 --l3 much",
    "--input 8x64x64x3 --kernel 3x3x8 --plot picture.docx",
    "--input 8x64x64x3 --kernel 3x3x8 --plot /no/such/folder/x.png",
]


@pytest.mark.parametrize("arguments", WRONG)
def test_a_mistake_is_explained(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    complaint = capsys.readouterr().err
    assert "Traceback" not in complaint
    assert "hint: " in complaint
