"""What stands in a line after terminals, loggers and web pages are undone, and what must stay."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.readers.oom.cleaning import clean
from tfmemlens.readers.oom.compiler import parse_hlo_shape


def cleaned(text: str) -> list[str]:
    return [line.line.text for line in clean([(1, text)])]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("**OOM when allocating tensor**", "OOM when allocating tensor"),
        ("**OOM when allocating tensor", "OOM when allocating tensor"),
        ("see **this** and **that one**.", "see this and that one."),
        ("loss = x**2 + y**2", "loss = x**2 + y**2"),
        ("model.fit(**options)", "model.fit(**options)"),
        ("n = rows ** 2", "n = rows ** 2"),
    ],
)
def test_bold_letters_go_and_powers_stay(text: str, kept: str) -> None:
    assert cleaned(text) == [kept]


def test_a_windows_path_is_no_line_break() -> None:
    text = r'File "C:\work\training\networks.py", line 3\nResource exhausted: OOM when allocating\t[[x]]'
    assert cleaned(text) == [
        r'File "C:\work\training\networks.py", line 3',
        "Resource exhausted: OOM when allocating\t[[x]]",
    ]


@pytest.mark.parametrize(
    ("digits", "kept"),
    [("18446744073709551615", "18446744073709551615"), ("1" * 21, "…"), ("9" * 400, "…")],
)
def test_a_figure_without_end_is_none(digits: str, kept: str) -> None:
    assert cleaned(f"Chunk of size {digits} bytes") == [f"Chunk of size {kept} bytes"]


def test_figures_of_hundreds_of_digits_yield_a_page() -> None:
    for figure in ("9" * 20, "9" * 400):
        report = pipeline.explain(
            f"OOM when allocating tensor with shape[{figure},{figure}] and type float on"
            " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
        )
        assert report.case.moments[0].request is not None
        assert report.case.moments[0].request.needed_bytes is None


def test_what_no_machine_can_count_is_no_size() -> None:
    assert tensor_bytes((2**70,), "float32") == 2**72
    assert tensor_bytes((2**79,), "float32") is None


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("f32[512,<=245]{1,0}", (512, 245)),
        ("f32[]", ()),
        ("f32[2=6,3]", None),
        ("f32[<,3]", None),
        ("(f32[2], s32[3])", None),
    ],
)
def test_a_garbled_shape_of_a_compiler_is_none(text: str, shape: tuple[int, ...] | None) -> None:
    assert parse_hlo_shape(text)[0] == shape
