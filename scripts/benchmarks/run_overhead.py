"""What recording costs a training, as ratios of CPU time within one run: a busy machine makes wall time lie.

    python scripts/benchmarks/run_overhead.py --python OTHER/bin/python [--steps 200] [--rounds 7]

`run` and `run --trace` are processes, each next to one without them, the order turned round from pair to
pair. Of each pair two ratios are told: of the steps' CPU time, and of all CPU time, with the start, the end
and the process beside it. The callback is measured within one process: blocks of `fit` with it and without it
in turn, none of whose steps is traced, where OTHER (TensorFlow 1.15 or 2) is new enough to import tfmemlens.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
import json, os, sys, time
import numpy as np, tensorflow as tf
batch, steps, blocks = (int(word) for word in sys.argv[1:4])
(tf.random.set_seed if hasattr(tf.random, "set_seed") else tf.compat.v1.set_random_seed)(1)
rng = np.random.RandomState(1)
layers = tf.keras.layers
model = tf.keras.Sequential([
    layers.Input((32, 32, 3)), layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.Conv2D(32, 3, padding="same", activation="relu"), layers.MaxPooling2D(4),
    layers.Flatten(), layers.Dense(10)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
x, y = tf.constant(rng.rand(batch, 32, 32, 3), tf.float32), tf.constant(rng.randint(0, 10, batch))
data = tf.data.Dataset.from_tensors((x, y)).repeat()
def fit(count, callbacks=()):
    start = time.process_time(), time.perf_counter()
    model.fit(data, steps_per_epoch=count, epochs=1, verbose=0, callbacks=list(callbacks))
    return time.process_time() - start[0], time.perf_counter() - start[1]
fit(3)
if blocks:
    sys.path.insert(0, sys.argv[4])
    import tfmemlens.keras
    own = tfmemlens.keras.MemoryCallback(trace_step=10**9, out=sys.argv[5])
    fit(3, [own])
    pairs = []
    for block in range(blocks):
        order = [(own,), ()] if block % 2 else [(), (own,)]
        cost = {len(each): fit(steps, each)[0] for each in order}
        pairs.append((cost[1], cost[0]))
    print(json.dumps({"pairs": pairs}))
else:
    cpu, wall = fit(steps)
    print(json.dumps({"cpu": cpu, "wall": wall, "steps": steps}))
"""


def one(prefix: Sequence[str], python: str, script: Path, arguments: Sequence[int]) -> dict[str, float]:
    """CPU seconds of the steps, of all, and those of a process beside the program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(
        [*prefix, python, str(script), *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, cwd=ROOT,
    ).stdout  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told: dict[str, float] = json.loads(output.splitlines()[-1])
    told["whole"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return told


def told(name: str, ratios: Sequence[float], goal: float) -> None:
    """One line of the answer."""
    middle, low, high = statistics.median(ratios), min(ratios), max(ratios)
    print(f"{name:36} {middle:.3f} ({low:.3f} to {high:.3f}), goal {goal}, {len(ratios)} pairs", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--python", required=True, help="an interpreter with TensorFlow 1.15 or 2")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    ours = [sys.executable, "-m", "tfmemlens", "run"]
    ways = {"run": (ours, 1.02), "run --trace": ([*ours, "--trace"], 1.10)}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.py"
        script.write_text(PROGRAM)
        sizes = (options.batch, options.steps, 0)
        steps: dict[str, list[float]] = {name: [] for name in ways}
        whole: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(options.rounds):
            for name, (command, _) in ways.items():
                prefixes = [[], [*command, "--out", f"{folder}/{name}-{turn}", "--"]]
                runs = [
                    one(prefix, options.python, script, sizes) for prefix in prefixes[:: 1 - 2 * (turn % 2)]
                ]
                plain, under = runs[:: 1 - 2 * (turn % 2)]
                steps[name].append(under["cpu"] / plain["cpu"])
                whole[name].append(under["whole"] / plain["whole"])
                each = (1000 * plain[key] / plain["steps"] for key in ("cpu", "wall"))
                print(
                    f"  {name}: {next(each):.0f} ms of CPU a step, {next(each):.0f} ms wall;"
                    f" ratio {steps[name][-1]:.3f}, of the whole program {whole[name][-1]:.3f}",
                    flush=True,
                )
        for name, (_, goal) in ways.items():
            told(f"{name}, its steps", steps[name], goal)
            told(f"{name}, start and end included", whole[name], goal)
        own = [options.batch, max(options.steps // 8, 5), 2 * options.rounds, str(ROOT), f"{folder}/callback"]
        answer = subprocess.run(
            [options.python, str(script), *map(str, own)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            check=False,
        ).stdout  # fmt: skip
        if not answer.strip():
            print("callback: not measured, this Python cannot import tfmemlens")
            return
        told(
            "callback, steps not traced",
            [a / b for a, b in json.loads(answer.splitlines()[-1])["pairs"]],
            1.01,
        )


if __name__ == "__main__":
    main()
