"""Does a pattern's time grow faster than its line? repeated_words.py [--length 4000] [--share 1.0] [--seed 1]

Every pattern that is tried on lines of a log is asked for a line that repeats one of the pattern's own words,
and for one four times as long. A pattern whose time grows by more than eight (four is linear) and that takes
more than two milliseconds for the longer line is printed; the exit status is 1 if there is one.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import pkgutil
import random
import re
import sys
import time
from collections.abc import Iterator

import tfmemlens.readers
from tfmemlens.readers.oom.rules import LineRule

_NOTABLE, _LINEAR, _LONGER = 0.002, 8.0, 4


def rules() -> list[LineRule]:
    """Every rule of the package, in a fixed order."""
    for module in pkgutil.walk_packages(tfmemlens.readers.__path__, "tfmemlens.readers."):
        importlib.import_module(module.name)
    return sorted((each for each in gc.get_objects() if isinstance(each, LineRule)), key=lambda r: r.pattern)


def repeated(pattern: str) -> Iterator[str]:
    """What may be repeated to make the pattern begin again and again: its words and its marks."""
    plain = re.sub(r"\\.|\?P<\w+>|\(\?[a-z]+\)", " ", pattern)
    words = sorted(set(re.findall(r"[A-Za-z_]{2,}|[.,:=\[\](){}<>/|'\"#%-]", plain)))
    for word in (*words, " ", "a", "1", "1.1", "'a'", "a/"):
        yield from (word, word + " ", word + "1")


def seconds(pattern: re.Pattern[str], text: str) -> float:
    """The least of three times of the processor."""

    def once() -> float:
        before = time.process_time()
        pattern.search(text)
        return time.process_time() - before

    return min(once() for _ in range(3))


def main(length: int, share: float, seed: int) -> int:
    """Print the patterns that grow; 1 if there is one."""
    chosen = [rule for rule in rules() if random.Random(f"{seed}{rule.pattern}").random() < share]
    grown = 0
    for rule in chosen:
        pattern = re.compile(rule.pattern)
        for word in repeated(rule.pattern):
            long = (
                word * (length * _LONGER // len(word))
                + " "
                + (rule.needs if isinstance(rule.needs, str) else " ".join(rule.needs))
            )
            if (taken := seconds(pattern, long)) < _NOTABLE:
                continue
            growth = taken / max(seconds(pattern, long[len(long) * (_LONGER - 1) // _LONGER :]), 1e-6)
            if growth > _LINEAR:
                print(f"{growth:5.1f} times for {_LONGER} times {word!r}: {rule.pattern[:120]}")
                grown += 1
                break
    print(f"{len(chosen)} patterns, {grown} grow faster than their line")
    return int(grown > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--length", type=int, default=4000)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.exit(main(options.length, options.share, options.seed))
