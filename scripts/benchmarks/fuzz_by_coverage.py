"""Search damaged files of every format by the branches that they take, with atheris:

    python -m venv v && v/bin/pip install . atheris hypothesis pytest    # Python 3.11 to 3.13
    v/bin/python scripts/benchmarks/fuzz_by_coverage.py FOLDER -max_total_time=600

FOLDER gets the corpus, at first small samples of every format and pieces of them; each input that took a
branch which none had taken is added, and the next run goes on from there. What raised anything but an error
of ours, or was too slow, is kept in FOLDER/failed, and the search goes on. Options are libFuzzer's own.
Prints each failure, and each minute how many inputs ran. `fuzz.py --files` needs no atheris, and sees new
lines only.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).parent.parent.parent), str(Path(__file__).parent)]

with atheris.instrument_imports(include=["tfmemlens"]):
    import fuzz

    import tfmemlens
    from tests import fuzzing

    for package in ("attribution", "estimation", "findings", "knowledge", "readers", "renderers", "what_if"):
        start = [f"{tfmemlens.__path__[0]}/{package}"]
        for module in pkgutil.walk_packages(start, f"tfmemlens.{package}."):
            importlib.import_module(module.name)  # what is imported later, by what is read, is not watched

LONGEST = 1 << 15
"""Bytes of an input: many small ones find more than few large ones."""
_SAID_EVERY = 60.0
_OWN_MUTATIONS = 0.5
"""How often an input is damaged as logs and traces are; else libFuzzer changes its bytes."""


class Search:
    """What is done with each input, and what came of all."""

    def __init__(self, folder: Path) -> None:
        self.failed = folder / "failed"
        self.failed.mkdir(parents=True, exist_ok=True)
        self.failures, self.ran, self.slowest = Counter[str](), 0, 0.0
        self._seeds = fuzz.seeds()
        self._said_at = time.monotonic()
        shared = Path("/dev/shm")
        self._input = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None)) / "input"

    def one(self, raw: bytes) -> None:
        """Run an input; whatever it raises is kept and counted."""
        self._input.write_bytes(raw)
        self.ran += 1
        begun, problem = time.process_time(), ""
        try:
            with fuzz.given_up():
                fuzz.check_file(self._input, random.Random(hashlib.sha1(raw).digest()))
        except (Exception, RecursionError, MemoryError) as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            problem = f"{type(error).__name__} in {where.name}:{where.lineno}"
        took = time.process_time() - begun
        self.slowest = max(self.slowest, took)
        if not problem and took > fuzz.SECONDS_A_MEGABYTE * max(len(raw) / 1e6, 1):
            problem = "too slow"
        if time.monotonic() - self._said_at > _SAID_EVERY:
            self.said()
        if problem:
            self.failures[problem] += 1
            if self.failures[problem] == 1:
                path = self.failed / f"{hashlib.sha1(raw).hexdigest()[:16]}.in"
                path.write_bytes(raw)
                print(f"{problem}, {took:.1f} s of the processor: {path}", flush=True)

    def mutated(self, raw: bytes, most: int, seed: int) -> bytes:
        """An input after an accident."""
        rng = random.Random(seed)
        if rng.random() >= _OWN_MUTATIONS:
            return bytes(atheris.Mutate(raw, most))
        change = fuzzing.damaged if rng.random() < 0.5 else fuzzing.retyped
        return change(raw, rng, self._seeds)[:most]

    def said(self) -> None:
        """How it goes; libFuzzer ends the process without a word of Python's."""
        self._said_at = time.monotonic()
        print(
            f"{self.ran:,} inputs, {self.failures.total()} failures at {len(self.failures)} places,"
            f" the slowest took {self.slowest:.2f} s of the processor",
            flush=True,
        )


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit((__doc__ or "").strip())
    folder = Path(sys.argv[1])
    corpus = folder / "corpus"
    if not corpus.is_dir():
        corpus.mkdir(parents=True)
        for raw in fuzz.seeds():
            (corpus / hashlib.sha1(raw).hexdigest()).write_bytes(raw[:LONGEST])
    search = Search(folder)
    options = [f"-max_len={LONGEST}", "-timeout=120", "-rss_limit_mb=4096", *sys.argv[2:]]
    atheris.Setup([sys.argv[0], str(corpus), *options], search.one, custom_mutator=search.mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
