"""What tools say about the peak of the same traced steps, beside the allocator's own MaxInUse.

    TFMEMLENS_ENVS=… python scripts/benchmarks/profile_accuracy.py [--markdown]

The traces are those of sample_traces/run_metadata whose truth is known. TensorFlow's timeline.py and tfprof
run in the environment `tf1.15`; tfprof's figure is its scope view's `total_requested_bytes`. `records alone`
is what mem_util does: the allocation records of the step, from 0. `sampled` is the highest
`allocator_bytes_in_use`, `TensorBoard` the sum of the nodes' `total_bytes`, which it shows as memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import tfmemlens
from tfmemlens.readers.timelines.step_stats import keeps_memory
from tfmemlens.schema import parse

ENVS = Path(os.environ.get("TFMEMLENS_ENVS", Path.home() / ".cache/tfmemlens/envs"))
SAMPLES = Path(__file__).parents[2] / "sample_traces/run_metadata"
OTHERS = """
import json, sys
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import timeline
metadata = config_pb2.RunMetadata()
metadata.ParseFromString(open(sys.argv[1], "rb").read())
found = {}
try:
    made = timeline.Timeline(metadata.step_stats)
    made.generate_chrome_trace_format(show_memory=True)
    found["timeline.py"] = max(peak.num_bytes for peak in made._allocator_maximums.values())
except Exception as error:
    found["timeline.py"] = None
try:
    import tensorflow as tf
    builder = tf.profiler.ProfileOptionBuilder
    options = builder(builder.time_and_memory()).with_empty_output().build()
    total = tf.profiler.profile(tf.Graph(), run_meta=metadata, cmd="scope", options=options)
    found["tfprof"] = total.total_requested_bytes
except Exception as error:
    found["tfprof"] = None
print(json.dumps(found))
"""


def raw_of(path: Path) -> bytes:
    """The trace, unzipped."""
    raw = path.read_bytes()
    return gzip.decompress(raw) if path.suffix == ".gz" else raw


def records_alone(memories: list[Any]) -> int:
    """The highest running sum of one allocator's records, from 0."""
    changes = sorted(
        (record.alloc_micros, -record.alloc_bytes)
        for memory in memories
        for record in memory.allocation_records
    )
    live = highest = 0
    for _, change in changes:
        live -= change
        highest = max(highest, live)
    return highest


def simple_sums(raw: bytes) -> dict[str, int]:
    """What follows from the trace by one pass."""
    nodes = [
        node
        for device in parse("RunMetadata", raw).step_stats.dev_stats
        if keeps_memory(device.device)
        for node in device.node_stats
    ]
    memories = [memory for node in nodes for memory in node.memory]
    return {
        "records alone": records_alone(memories),
        "sampled": max((memory.allocator_bytes_in_use for memory in memories), default=0),
        "TensorBoard": sum(memory.total_bytes for memory in memories),
    }


def of_tensorflow(raw: bytes) -> dict[str, int | None]:
    """What timeline.py and tfprof say, None where they cannot read the trace."""
    with tempfile.NamedTemporaryFile(suffix=".pb") as file:
        file.write(raw)
        file.flush()
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(
            [str(ENVS / "tf1.15/bin/python"), "-c", OTHERS, file.name],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    found: dict[str, int | None] = json.loads(lines[-1]) if lines else {"timeline.py": None, "tfprof": None}
    return found


def main() -> None:
    """Print a line for each trace."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    names = ("tfmemlens", "records alone", "sampled", "timeline.py", "TensorBoard", "tfprof")
    join, edge = (" | ", "| ") if args.markdown else ("  ", "")
    print(edge + join.join(f"{name:>14}" for name in ("trace", "MaxInUse", *names)))
    if args.markdown:
        print("|---" * (len(names) + 2) + "|")
    for path in sorted(SAMPLES.glob("*.pb*")):
        truth = json.loads(
            path.with_name(path.name.split(".pb")[0] + ".truth.json").read_text(encoding="utf-8")
        ).get("max_in_use_bytes")
        if truth is None:
            continue
        raw = raw_of(path)
        said = {"tfmemlens": tfmemlens.read(path).peak_bytes, **simple_sums(raw), **of_tensorflow(raw)}
        cells = [
            f"{100 * (value - truth) / truth:+.2f} %" if (value := said[name]) is not None else "-"
            for name in names
        ]
        print(
            edge + join.join(f"{cell:>14}" for cell in (path.name.split(".pb")[0], f"{truth:,}", *cells)),
            flush=True,
        )


if __name__ == "__main__":
    main()
