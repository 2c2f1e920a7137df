"""How long `tfmemlens profile` takes on a big trace, as ratios to parsing the same bytes with tensorboard's
generated protos.

    TFMEMLENS_ENVS=… python scripts/benchmarks/profile_speed.py TRACE.pb... [--others] [--runs 3]

The floor runs in the environment `tf2.11`, TensorFlow's own tools (`--others`) in `tf1.15`;
scripts/make_traces/environments.sh makes both, and scripts/benchmarks/big_trace.py the traces. All figures
are CPU seconds inside a process that has done its imports; nothing is freed within them. `upb` is the same
parse by a newer protobuf.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ENVS = Path(os.environ.get("TFMEMLENS_ENVS", Path.home() / ".cache/tfmemlens/envs"))
TIMED = """
import resource, sys, time
{before}
start = time.process_time()
{work}
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""
FLOOR = (
    "from tensorboard.compat.proto.config_pb2 import RunMetadata\nraw = open(sys.argv[1], 'rb').read()",
    "metadata = RunMetadata()\nmetadata.ParseFromString(raw)",
)
UPB = (
    "from tfmemlens.schema import parse\nparse('RunMetadata', b'')\nraw = open(sys.argv[1], 'rb').read()",
    "metadata = parse('RunMetadata', raw)",
)
WARM = (
    "import tfmemlens\nfrom tfmemlens.renderers import render\n"
    "render(tfmemlens.read(sys.argv[2]).peak, 'report')"
)
PEAK = (WARM, "trace = tfmemlens.read(sys.argv[1])\nassert trace.peak_bytes")
PAGE = (WARM, "trace = tfmemlens.read(sys.argv[1])\nrender(trace.peak, 'report')")
READ = (WARM, "trace = tfmemlens.read(sys.argv[1])")
CURVE = (WARM + "\ntrace = tfmemlens.read(sys.argv[1])\nimport pandas", "assert len(trace.timeline())")
_TF = (
    "from tensorflow.core.protobuf import config_pb2\nmetadata ="
    " config_pb2.RunMetadata()\nmetadata.ParseFromString(open(sys.argv[1], 'rb').read())\n"
)
TIMELINE = (
    _TF + "from tensorflow.python.client import timeline",
    "timeline.Timeline(metadata.step_stats).generate_chrome_trace_format(show_memory=True)",
)
TFPROF = (
    _TF + "import tensorflow as tf\nfrom google.protobuf import text_format\nnodes = tf.GraphDef()\n"
    "nodes.ParseFromString(open(sys.argv[1] + '.graph', 'rb').read())\ngraph = tf.Graph()\n"
    "with graph.as_default():\n    tf.import_graph_def(nodes, name='')\n"
    "builder = tf.profiler.ProfileOptionBuilder\n"
    "options = builder(builder.time_and_memory()).with_empty_output().build()",
    "tf.profiler.profile(graph, run_meta=metadata, cmd='scope', options=options)",
)

LIMIT_SECONDS, LIMIT_BYTES, OF_BYTES = 2.5, 350 << 20, 107e6
"""What the page of a trace of 107 MB may take. Others may in proportion, but for small ones, of which the
imports are the most.
"""


def limits(size_bytes: int) -> tuple[float, float]:
    """The most processor seconds, and the most memory (bytes), that the page of a trace so large may take."""
    share = size_bytes / OF_BYTES
    return LIMIT_SECONDS * share, LIMIT_BYTES * share


def measured(python: str | Path, parts: tuple[str, str], arguments: Sequence[str]) -> tuple[float, float]:
    """CPU seconds and the largest memory (bytes) of one run."""
    code = TIMED.format(before=parts[0], work=parts[1])
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [str(python), "-c", code, *arguments], capture_output=True, text=True, check=True, env=environment
    )
    seconds, memory = map(float, done.stdout.split()[-2:])
    return seconds, memory


def main() -> None:
    """Print a line for each trace and tool: medians of runs that take turns."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", nargs="+")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--others", action="store_true", help="time timeline.py and tfprof, too: minutes on a big trace"
    )
    args = parser.parse_args()
    small = str(Path(__file__).parents[2] / "sample_traces/run_metadata/2.21-lenet.pb")
    old, older = ENVS / "tf2.11/bin/python", ENVS / "tf1.15/bin/python"
    ours: list[tuple[str, str | Path, tuple[str, str]]] = [
        ("upb parse", sys.executable, UPB),
        ("our read", sys.executable, READ),
        ("our timeline()", sys.executable, CURVE),
        ("our peak", sys.executable, PEAK),
        ("our page", sys.executable, PAGE),
    ]
    others = (
        [("timeline.py, memory", older, TIMELINE), ("tfprof, scope", older, TFPROF)] if args.others else []
    )
    print(f"{'trace':20}{'what':22}{'CPU s':>9}{'x floor':>9}{'MiB':>7}")
    for trace in args.traces:
        rounds = [
            {
                name: measured(python, parts, [trace, small])
                for name, python, parts in [("floor", old, FLOOR), *ours]
            }
            for _ in range(args.runs)
        ]
        last = {name: measured(python, parts, [trace]) for name, python, parts in others}
        for name in ("floor", *(name for name, _, _ in [*ours, *others])):
            seen = [each[name] for each in rounds] if name in rounds[0] else [last[name]]
            ratio = statistics.median(
                seconds / each["floor"][0] for (seconds, _), each in zip(seen, rounds, strict=False)
            )
            seconds, memory = statistics.median(found for found, _ in seen), max(found for _, found in seen)
            print(
                f"{Path(trace).name:20}{name:22}{seconds:9.3f}{ratio:9.2f}{memory / 2**20:7.0f}", flush=True
            )
        size_bytes = Path(trace).stat().st_size
        if size_bytes > OF_BYTES / 2:
            seconds, memory = limits(size_bytes)
            print(
                f"{Path(trace).name:20}our page may take {seconds:.2f} s, {memory / 2**20:.0f} MiB",
                flush=True,
            )
        curve = statistics.median(each["our timeline()"][0] / each["our read"][0] for each in rounds)
        print(f"{Path(trace).name:20}timeline() takes {curve:.2f} x read() (limit 2)", flush=True)


if __name__ == "__main__":
    main()
