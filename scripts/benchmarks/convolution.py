"""Confront the formulas of `tfmemlens.knowledge.convolution` with real TensorFlow: predicted and measured
bytes of many convolutions.

    TFMEMLENS_ENVS=... python scripts/benchmarks/convolution.py [--write FILE] [--only TEXT] [--versions
    tf1.10 tf1.15 tf2.21]

Each configuration runs in a child process of its own (`convolution_child.py`), in each environment that
`make_traces/environments.sh` made. Backward buffers are read from RunMetadata and must agree to the byte; the
forward pass is the growth of the resident set, for TensorFlow books nothing of it. `--write` saves what was
measured as the table that `tests/costs/` checks. Needs up to 5 GB of free memory.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tfmemlens.knowledge.convolution.passes import passes
from tfmemlens.model.convolution import Convolution, ConvolutionKind, ConvolutionSetting, Need
from tfmemlens.model.finding import Certainty

HERE = Path(__file__).parent
ENVIRONMENTS = Path(os.environ.get("TFMEMLENS_ENVS", Path.home() / ".cache/tfmemlens/envs"))
COLUMNS = (
    "tf onednn kind input kernel strides dilations padding dtype threads l3_bytes part op output_bytes"
    " temp_bytes largest_bytes peak_bytes rss_growth".split()
)
Spec = dict[str, Any]


def conv(shape: str, kernel: str, padding: str = "same", **more: Any) -> Spec:
    """A 2-D convolution: `8x64x64x3`, `3x3x16` (kernel height, width, filters)."""
    sizes, taps = numbers(shape), numbers(kernel)
    return {
        "kind": "conv",
        "input": sizes,
        "kernel": [*taps[:-1], sizes[-1], taps[-1]],
        "padding": padding,
        **more,
    }


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split("x")]


def transposed(shape: str, kernel: str, stride: int, padding: str = "same", **more: Any) -> Spec:
    sizes, taps = numbers(shape), numbers(kernel)
    rank = len(sizes) - 2
    out = [
        side * stride + (max(tap - stride, 0) if padding == "valid" else 0)
        for side, tap in zip(sizes[1:-1], taps, strict=False)
    ]
    spec = {
        "kind": "transposed",
        "input": sizes,
        "kernel": [*taps, sizes[-1]],
        "padding": padding,
        "strides": [stride] * rank,
    }
    return {**spec, "output": [sizes[0], *out, taps[-1]], **more}


def depthwise(shape: str, kernel: str, padding: str = "same", **more: Any) -> Spec:
    return {**conv(shape, kernel, padding, **more), "kind": "depthwise"}


def conv3d(shape: str, kernel: str, padding: str = "same", **more: Any) -> Spec:
    return {**conv(shape, kernel, padding, **more), "kind": "conv3d"}


def patches(shape: str, kernel: str, padding: str = "valid", **more: Any) -> Spec:
    return {"kind": "patches", "input": numbers(shape), "kernel": numbers(kernel), "padding": padding, **more}


BACKWARD = [
    conv("8x256x256x64", "3x3x64"), conv("1x256x256x64", "3x3x64"), conv("8x64x64x64", "3x3x64"),
    conv("2x16x16x8", "3x3x8"),
    conv("8x64x64x9", "5x5x32", strides=[2, 2]), conv("4x128x128x1", "31x31x4"),
    conv("16x32x32x128", "3x3x128", "valid"),
    conv("8x64x64x64", "1x1x64"), conv("8x64x64x64", "2x2x64"), conv("3x65x43x7", "4x4x5"),
    conv("3x65x43x7", "4x4x5", strides=[2, 3]),
    conv("3x65x43x7", "1x7x5", "valid"), conv("3x65x43x7", "7x1x5"), conv("32x8x8x256", "3x3x512"),
    conv("32x28x28x1", "5x5x32"),
    conv("64x14x14x32", "5x5x64"), conv("2x224x224x3", "11x11x96", "valid", strides=[4, 4]),
    conv("2x224x224x3", "7x7x64", strides=[2, 2]),
    conv("1x13x13x3", "13x13x10", "valid"), conv("5x40x40x4", "15x15x2"),
    conv("8x64x64x64", "3x3x64", threads=1), conv("8x64x64x64", "3x3x64", threads=4),
    conv("2x16x16x8", "3x3x8", threads=1), conv("2x16x16x8", "3x3x8", threads=4),
    conv("4x24x24x16", "3x3x16", threads=1),
    conv("4x24x24x16", "3x3x16", threads=2), conv("4x24x24x16", "3x3x16", threads=4),
    conv("2x48x48x8", "3x3x8", dtype="float64"),
    conv("2x48x48x8", "3x3x8", dtype="float16"), conv("8x64x64x64", "3x3x64", dtype="float64"),
    conv("1x1x1x4", "1x1x4"), conv("200x4x4x4", "3x3x4"),
]  # fmt: skip
OTHERS = [
    transposed("8x32x32x16", "4x4x8", 2), transposed("4x64x64x64", "2x2x32", 2),
    transposed("2x16x16x128", "5x5x64", 2, "valid"),
    transposed("1x64x64x64", "4x4x32", 2), transposed("2x8x8x4", "3x3x4", 1),
    transposed("4x30x20x8", "16x16x3", 8),
    transposed("2x10x12x14x16", "2x2x2x8", 2), transposed("1x24x24x24x32", "4x4x4x16", 2),
    conv("4x32x32x12", "3x3x16", dilations=[2, 2]),
    depthwise("4x32x32x12", "3x3x2", threads=1), depthwise("4x32x32x12", "3x3x1", threads=1),
    depthwise("2x64x64x32", "5x5x1", threads=1),
    depthwise("8x32x32x12", "3x3x2", threads=2), depthwise("8x64x64x3", "3x3x3", threads=2, strides=[2, 2]),
    depthwise("4x40x40x1", "7x7x4", threads=2),
    conv3d("2x16x32x32x8", "3x3x3x16"), conv3d("1x32x32x32x8", "1x1x1x8"),
    conv3d("2x32x32x32x32", "1x1x1x256"), conv3d("2x32x64x64x16", "3x3x3x16"),
    conv3d("1x24x48x48x16", "3x3x3x16"), conv3d("2x20x30x30x4", "2x3x5x8", strides=[1, 2, 2]),
    conv3d("2x20x30x30x4", "3x3x3x8", "valid"),
    conv3d("2x33x31x30x4", "4x4x4x8", strides=[2, 2, 2]),
    patches("16x112x112x3", "7x7", "same"), patches("4x64x64x8", "3x3", strides=[2, 2]),
    patches("2x50x70x1", "11x11"),
]  # fmt: skip
FORWARD = [
    conv("50x321x481x1", "5x5x1", "valid"), conv("50x321x481x1", "7x7x1", "valid"),
    conv("50x321x481x1", "7x7x8", "valid"),
    conv("10x321x481x1", "31x31x1", "valid"), conv("40x321x481x1", "11x11x3", "valid"),
    conv("8x128x128x64", "3x3x64"), conv("8x128x128x64", "7x7x64"),
    conv("8x128x128x64", "3x3x64", threads=1), conv("50x321x481x1", "5x5x1", "valid", threads=1),
    conv("8x128x128x64", "3x3x64", threads=4),
    conv("32x128x128x64", "1x1x64"), conv("16x256x256x3", "7x7x64", strides=[2, 2]),
    conv("8x128x128x64", "3x3x64", dilations=[2, 2]),
    conv("8x128x128x32", "3x3x32", dtype="float64"), conv("8x128x128x64", "5x5x128", "valid"),
    conv("16x200x200x16", "3x3x64"), conv("4x256x256x64", "3x3x256"),
    conv("10x321x481x1", "21x21x3", "valid"), conv("10x321x481x1", "21x21x3", "valid", threads=4),
    conv("10x321x481x1", "21x21x7", "valid", threads=3),
    conv("10x321x481x1", "21x21x8", "valid"), conv("10x321x481x1", "21x21x7", "valid", threads=1),
    conv("20x321x481x3", "17x17x4", strides=[2, 2]),
    conv("60x321x481x1", "11x11x7", "valid"),
    conv("64x64x64x64", "3x3x128"), conv3d("2x32x64x64x16", "3x3x3x32"), conv3d("1x48x96x96x8", "3x3x3x32"),
    conv("12x300x300x3", "9x9x32"),
]  # fmt: skip


def specs() -> Iterator[Spec]:
    """Every configuration; those of the forward pass carry `rss`."""
    yield from BACKWARD + OTHERS
    for spec in FORWARD:
        yield {**spec, "rss": True, "parts": ["forward"], "backward": False}


def measured(version: str, onednn: str, spec: Spec) -> list[dict[str, Any]]:
    """The rows of one child process; none where it fails."""
    environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": onednn, "TF_CPP_MIN_LOG_LEVEL": "2"}
    command = [
        str(ENVIRONMENTS / version / "bin/python"),
        str(HERE / "convolution_child.py"),
        json.dumps(spec),
    ]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    line = next((line for line in run.stdout.splitlines() if line.startswith("RESULT ")), None)
    if line is None:
        print(f"failed: {version} {spec}\n{run.stderr[-600:]}", file=sys.stderr)
        return []
    answer = json.loads(line[7:])
    return [row(answer, onednn, spec, part) for part in ("forward", "filter", "input") if part in answer]


def row(answer: dict[str, Any], onednn: str, spec: Spec, part: str) -> dict[str, Any]:
    """One line of the table."""
    found = answer[part]
    rank = len(spec["input"]) - 2
    beside = list(found.get("allocations", []))
    if found.get("output_bytes") in beside:
        beside.remove(found["output_bytes"])
    return {
        "tf": answer["tf"], "onednn": onednn, "kind": spec["kind"], "input": text(spec["input"]),
        "kernel": text(spec["kernel"]),
        "strides": text(spec.get("strides", [1] * rank)),
        "dilations": text(spec.get("dilations", [1] * rank)), "padding": spec["padding"],
        "dtype": spec.get("dtype", "float32"), "threads": answer["threads"], "l3_bytes": level_3_cache(),
        "part": part,
        "op": found.get("op", ""), "output_bytes": found.get("output_bytes", ""),
        "temp_bytes": found.get("temp_bytes", ""),
        "largest_bytes": max(beside, default=0) if "temp_bytes" in found else "",
        "peak_bytes": found.get("peak_bytes", ""),
        "rss_growth": answer.get("rss_growth", "") if part == "forward" else "",
    }  # fmt: skip


def text(sizes: list[int]) -> str:
    return "x".join(map(str, sizes))


def level_3_cache() -> int:
    """What the processor says of its L3 cache (CPUID), as Eigen reads it for Conv3D."""
    return int(
        subprocess.run(["getconf", "LEVEL3_CACHE_SIZE"], capture_output=True, text=True, check=False).stdout
        or 0
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, help="save the table of what was measured")
    parser.add_argument(
        "--check", type=Path, help="measure nothing: compare the formulas with this saved table"
    )
    parser.add_argument("--only", default="", help="only configurations whose text contains this")
    parser.add_argument("--versions", nargs="+", default=["tf1.10", "tf1.15", "tf2.21", "tf2.21+onednn"])
    parser.add_argument(
        "--jobs", type=int, default=1, help="children at once (the forward pass is always measured alone)"
    )
    arguments = parser.parse_args()
    if arguments.check:
        with arguments.check.open(newline="", encoding="utf-8") as saved:
            return compare([*csv.DictReader(saved)])
    wanted = [spec for spec in specs() if arguments.only in json.dumps(spec)]
    tasks = [
        (name.split("+")[0], "1" if "+onednn" in name else "0", spec)
        for spec, name in itertools.product(wanted, arguments.versions)
    ]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = [*pool.map(lambda task: measured(*task), [task for task in tasks if "rss" not in task[2]])]
    results += [measured(*task) for task in tasks if "rss" in task[2]]
    table = [line for rows in results for line in rows]
    if arguments.write:
        with arguments.write.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)
    return compare(table)


def convolution_of(line: dict[str, Any]) -> Convolution:
    """The convolution of a line of the table."""
    sizes = {name: tuple(numbers(line[name])) for name in ("input", "kernel", "strides", "dilations")}
    kind = ConvolutionKind("conv" if line["kind"] == "patches" else line["kind"])
    taps = sizes["kernel"][: len(sizes["input"]) - 2]
    filters = (
        1 if line["kind"] == "patches" else sizes["kernel"][-2 if kind is ConvolutionKind.TRANSPOSED else -1]
    )
    return Convolution(
        kind,
        sizes["input"],
        taps,
        filters,
        sizes["strides"],
        sizes["dilations"],
        line["padding"],
        line["dtype"],
    )


def predicted(line: dict[str, Any]) -> Need:
    """What the formulas say of this line beside its output."""
    version = tuple(int(part) for part in line["tf"].split(".")[:2])
    where = ConvolutionSetting(
        (version[0], version[1]),
        int(line["threads"]),
        onednn=line["onednn"] == "1",
        l3_bytes=int(line["l3_bytes"]),
    )
    if line["kind"] == "patches":
        return Need(0, True, Certainty.EXACT, "the output is all there is")
    found = passes(convolution_of(line), where)
    return {"forward": found.forward, "filter": found.filter_gradient, "input": found.input_gradient}[
        line["part"]
    ]


def verdict(line: dict[str, Any]) -> tuple[str, int | None, int | None, bool]:
    """How a line is judged: what was compared, predicted bytes, measured bytes, and whether they agree."""
    need, output = predicted(line), int(line["output_bytes"] or 0)
    if line["rss_growth"] not in ("", None) and line["onednn"] == "0":
        expected, found = output + (need.temporary_bytes or 0), int(line["rss_growth"])
        return "resident set", expected, found, abs(expected - found) <= 0.1 * found
    if line["temp_bytes"] in ("", None):
        return "fails", need.temporary_bytes, None, need.temporary_bytes is None
    booked = int(line["peak_bytes"]) - output if line["kind"] == "depthwise" else int(line["temp_bytes"])
    if not need.tracked:
        return "books nothing", 0, booked, booked == 0
    if need.certainty is Certainty.BOUND:
        return "at most", need.temporary_bytes, booked, booked <= (need.temporary_bytes or 0)
    return "exactly", need.temporary_bytes, booked, booked == need.temporary_bytes


def compare(table: list[dict[str, Any]]) -> int:
    """Print predicted and measured; the number of disagreements."""
    wrong = 0
    for line in table:
        how, expected, found, agrees = verdict(line)
        wrong += not agrees
        ratio = f"{expected / found:.3f}" if expected and found else "-"
        name = (
            f"{line['tf']}{'+oneDNN' if line['onednn'] == '1' else ''} {line['kind']} {line['input']} *"
            f" {line['kernel']} {line['part']}"
        )
        print(
            f"{'ok ' if agrees else 'BAD'} {name:<70} {how:<13} predicted {expected!s:>13} measured"
            f" {found!s:>13} {ratio}"
        )
    configurations = {
        tuple(
            line[name]
            for name in ("kind", "input", "kernel", "strides", "dilations", "padding", "dtype", "threads")
        )
        for line in table
    }
    print(f"{len(configurations)} configurations, {len(table)} measurements, {wrong} disagree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
