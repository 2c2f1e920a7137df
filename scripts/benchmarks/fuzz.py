"""Feed many damaged logs to the whole pipeline: fuzz.py [COUNT] [SEED] [--files]. Prints each input that
raised; says how many ran.

With --files the inputs are files of every format, damaged byte by byte, spliced with another format's and
recoded; each may be refused with a hint, and none may raise anything else.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from tests import fuzzing
from tests.test_properties import check
from tfmemlens import pipeline
from tfmemlens.errors import TfmemlensError
from tfmemlens.renderers.json import report as report_document
from tfmemlens.renderers.terminal import report as terminal
from tfmemlens.renderers.view import View


def check_file(raw: bytes, folder: Path) -> None:
    """A report that every renderer shows, or an error of ours."""
    path = folder / "input"
    path.write_bytes(raw)
    try:
        report = pipeline.explain(path)
    except TfmemlensError:
        return
    for view in (View(), View(full=True, all_moments=True)):
        assert terminal.render(report, view)
    assert report_document.render(report)


def files(count: int, seed: int) -> int:
    """Damaged files of all formats."""
    kinds, failures, slowest = fuzzing.files(), 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            rng = random.Random(f"{seed}-{number}")
            raw = fuzzing.damaged(rng.choice(kinds), rng, kinds)
            start = time.perf_counter()
            try:
                check_file(raw, Path(folder))
            except Exception as error:
                failures += 1
                where = traceback.extract_tb(error.__traceback__)[-1]
                print(f"file {seed}-{number}: {type(error).__name__}: {error} ({where.name}:{where.lineno})")
            took = time.perf_counter() - start
            if took > 2 * max(len(raw) / 1e6, 1):
                print(f"file {seed}-{number}: {took:.1f} s for {len(raw):,} bytes")
            slowest = max(slowest, took)
    print(f"{count} files, {failures} failures, the slowest took {slowest:.2f} s")
    return bool(failures)


def main(count: int, seed: int) -> int:
    bodies, failures, slowest = fuzzing.bodies(), 0, 0.0
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        text = (
            fuzzing.soup(rng)
            if rng.random() < 0.3
            else fuzzing.mutated(rng.choice(bodies), rng, most_lines=120)
        )
        start = time.perf_counter()
        try:
            check(text)
        except Exception as error:
            failures += 1
            print(f"input {seed}-{number}: {type(error).__name__}: {error}", flush=True)
        slowest = max(slowest, time.perf_counter() - start)
    print(f"{count} inputs, {failures} failures, the slowest took {slowest:.2f} s")
    return bool(failures)


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:] if argument != "--files"]
    run = files if "--files" in sys.argv else main
    sys.exit(run(*(arguments + [100_000, 1][len(arguments) :])))
