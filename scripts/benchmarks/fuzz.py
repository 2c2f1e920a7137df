"""Feed many damaged logs to the whole pipeline: fuzz.py [COUNT] [SEED]. Prints each input that raised; says
how many ran.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from tests import fuzzing
from tests.test_properties import check


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
    arguments = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(*(arguments + [100_000, 1][len(arguments) :])))
