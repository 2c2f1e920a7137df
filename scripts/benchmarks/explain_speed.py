"""How long `tfmemlens explain` takes, as ratios within one run: to an empty interpreter, and to grep over the
same big log.

    python scripts/benchmarks/explain_speed.py [--gib 1] [--runs 5]

The ratios are of processor time, which a busy machine changes less than the time that passes. Modules are
compiled once, as pip does: with `PYTHONDONTWRITEBYTECODE` two thirds of a short call are the compiler.
The big logs are made in a temporary directory from training-like lines and a real sample, and removed
afterwards.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SAMPLE = ROOT / "sample_traces/oom_log/1.13-unet-report.txt"
PASTE = ROOT / "sample_traces/oom_log/1.10-founding-question-unet.txt"
EXPLAIN = [sys.executable, "-m", "tfmemlens", "explain"]


def seconds(command: Sequence[str], stdin: Path | None = None) -> tuple[float, int]:
    """Processor seconds and peak memory (bytes) of one process; its output is dropped."""
    source = stdin.open("rb") if stdin else subprocess.DEVNULL
    with (
        tempfile.TemporaryFile() as output
    ):  # not /dev/null: grep stops at the first match when nobody can see the count
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, stdin=source, cwd=ROOT)
        _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def compared(
    ours: Callable[[], tuple[float, int]], floor: Callable[[], tuple[float, int]], runs: int
) -> tuple[float, float, int]:
    """Median ratio of pairs run in turn, median seconds of ours, its largest memory."""
    ours(), floor()
    pairs = [(ours(), floor()) for _ in range(runs)]
    return (
        statistics.median(a[0] / b[0] for a, b in pairs),
        statistics.median(a[0] for a, _ in pairs),
        max(a[1] for a, _ in pairs),
    )


def few_words(count: int) -> bytes:
    """Lines of numbers in the same few words, as TF 1's hooks print them."""
    chance = random.Random(1)
    lines = (
        f"2020-03-04 12:{i % 60:02d}:33.{i:06d} step {i} loss = {chance.random():.6f} lr=0.0001"
        f" ({chance.random() * 3:.3f} sec/step) global_step/sec: {chance.random() * 30:.4f}\n"
        for i in range(count)
    )
    return "".join(lines).encode()


def all_letters(count: int) -> bytes:
    """Lines as a mixed log holds them: progress bars, warnings, paths, JSON and names in other scripts. Every
    letter, large and small, stands in every stretch of a few kilobytes.
    """
    chance = random.Random(2)
    words = "Quick zebra JKVXYZ gewürzt Größe 训练 Übung Fjord Whisky OOM-safe MIXED memory of output".split()
    kinds = (
        "2024-05-17 09:{0:02d}:33.{1:06d}: I tensorflow/core/framework/local_rendezvous.cc:404] Local"
        " rendezvous is aborting with status: OUT_OF_RANGE: End of sequence",
        "{1:>5}/50000 ━━━━━━━━━━━━━━━━━━━━ {0}s {2:.0f}ms/step - accuracy: {2:.4f} - loss: {3:.4f}",
        "WARNING:tensorflow:AutoGraph could not transform <function <lambda> at 0x7F{1:06X}> and will run it"
        " as-is. Please report this with AUTOGRAPH_VERBOSITY=10 and attach the full output.",
        "INFO:root:Saved /home/jürgen/Modèles/ResNet-50/{4}/ckpt-{1}.index, keeping {0} of them",
        '{{"step": {1}, "examples/sec": {2:.3f}, "GPU memory MiB": {5}, "note": "{4} {6}"}}',
        "W0517 09:12:{0:02d}.{1:06d} 139872 kernel_util.py:{0}] {4} {6}: buffer full of {5} bytes when moved",
    )
    lines = (
        kinds[i % len(kinds)].format(
            i % 60,
            i % 1_000_000,
            chance.random() * 90,
            chance.random() * 3,
            chance.choice(words),
            chance.randrange(16_000),
            chance.choice(words),
        )
        for i in range(count)
    )
    return "\n".join([*lines, ""]).encode()


def make_log(path: Path, size: int, where: str, filler: bytes) -> None:
    """A log of the size with a real failure in the `middle`, at the `end`, or none."""
    failure = SAMPLE.read_text(encoding="utf-8", errors="replace").encode("ascii", "replace")
    with path.open("wb") as file:
        half = size // 2
        while file.tell() < (half if where == "middle" else size):
            file.write(filler)
        if where != "none":
            file.write(failure)
        while file.tell() < size:
            file.write(filler)


def make_dump(path: Path, chunks: int) -> None:
    """A dump in the format of TF 2.4 with so many chunks."""
    with path.open("w") as file:
        stamp = "2021-03-15 17:16:57.334891: I tensorflow/core/common_runtime/bfc_allocator.cc:1031] "
        file.write(
            f"{stamp}Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00GiB (rounded to"
            " 1073741824)requested by op MatMul\n"
        )
        file.write(f"{stamp}BFCAllocator dump for GPU_0_bfc\n{stamp}Next region of size {chunks * 1280}\n")
        for index in range(chunks):
            file.write(
                f"{stamp}{'InUse' if index % 3 else 'Free '} at {0xF00950000 + 1280 * index:x} of size 1280"
                f" next {index + 1}\n"
            )
        file.write(f"{stamp}     Summary of in-use Chunks by size: \n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    empty = [sys.executable, "-c", "pass"]
    for what, command, most in (
        ("a pasted list", [*EXPLAIN, str(PASTE)], 12),
        ("--help", [*EXPLAIN[:-1], "--help"], 8),
    ):
        ratio, took, memory = compared(partial(seconds, command), partial(seconds, empty), args.runs)
        print(
            f"{what:28} {ratio:6.2f} x `python -c pass`   (limit {most})   {took:.2f} s  {memory >> 20} MiB"
        )
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "train.log"
        for kind, filler in (("few words", few_words(100_000)), ("all letters", all_letters(100_000))):
            for where, limit in (("end", 1.0), ("middle", 2.5), ("none", 2.5)):
                make_log(log, int(args.gib * (1 << 30)), where, filler)
                grep = ["grep", "-c", "OOM when allocating", str(log)]
                ratio, took, memory = compared(
                    partial(seconds, [*EXPLAIN, str(log)]), partial(seconds, grep), args.runs
                )
                print(
                    f"{f'{args.gib:g} GiB, {kind}, OOM: {where}':28} {ratio:6.2f} x grep -c"
                    f"              (limit {limit})  {took:.2f} s  {memory >> 20} MiB (limit 100)",
                    flush=True,
                )
        took, memory = seconds([*EXPLAIN, "-"], stdin=log)
        print(f"{f'{args.gib:g} GiB through a pipe':28} {took:.2f} s  {memory >> 20} MiB (limit 100)")
        log.unlink()
        per_chunk = []
        for chunks in (100_000, 1_000_000):
            make_dump(log, chunks)
            took, memory = seconds([*EXPLAIN, str(log)])
            per_chunk.append(took / chunks)
            print(f"{f'a dump of {chunks:,} chunks':28} {took:.2f} s  {memory >> 20} MiB")
        print(f"{'time per chunk, 10x larger':28} {per_chunk[1] / per_chunk[0]:6.2f} x (linear: about 1)")


if __name__ == "__main__":
    main()
