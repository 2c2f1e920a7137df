"""How many readings change when two carriers in a row mangle a log: carried_texts.py [COUNT] [SEED] [--show].

Carriers, samples and parts of them are drawn from the seed; a reading is the failed request, the line of your
code, the allocator's figures and who holds how much. Carriers that take letters away are counted apart:
figures may be missing there, but no other figure may come of it. With --show each pair that changed something
is printed.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from tests.carriers import FORMS, LOGS, carried, facts, journeys, lines_of


def main() -> None:
    """Draw, read, count."""
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    count, seed = (*numbers, *(1000, 1)[len(numbers) :])
    dice, tally = Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for first, second in journeys(seed, count):
            log, form = dice.choice(LOGS), dice.choice(FORMS)
            lines = lines_of(log, form)
            clean = facts("\n".join(lines).encode(), Path(folder))
            found = facts(carried(lines, first, second), Path(folder))
            changed = [name for name in clean if clean[name] != found[name]]
            kind = "some letters gone" if first.lossy or second.lossy else "all letters there"
            tally[f"{kind}: {'changed' if changed else 'the same'}"] += 1
            if changed and "--show" in sys.argv:
                print(f"{first.name} | {second.name} | {log.name} | {form}: {', '.join(changed)}")
    for what, times in sorted(tally.items()):
        print(f"{times:6d}  {what}")


if __name__ == "__main__":
    main()
