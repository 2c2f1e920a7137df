"""Read a RunMetadata that protobuf refuses: beyond_protobuf.py [SAMPLE] [--gib 2.1] [--keep FILE].

The node records of a real trace are repeated, each time a step's length later, until the file is larger than
2 GiB. Buffers that a step leaves behind are freed at its end, so every repetition has the same curve, and the
peak of the whole must be the sample's own. Prints that, the time and the memory.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tfmemlens.schema import message, parse

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "run_metadata" / "1.15-unet.pb.gz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sample", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--gib", type=float, default=2.1)
    parser.add_argument("--keep", type=Path, help="leave the file here")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.read:
        read(args.read)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = args.keep or Path(folder) / "big.pb"
        metadata = closed(args.sample)
        nodes = write(metadata, file, int(args.gib * 2**30))
        print(f"{file.stat().st_size:,} bytes, {nodes:,} node executions")
        from tfmemlens.use_cases.traced_step import of_run_metadata

        print(f"peak of the sample: {of_run_metadata(metadata).timelines[0].peak_bytes:,}")
        sys.stdout.flush()
        subprocess.run([sys.executable, __file__, "--read", str(file)], check=True)


def closed(sample: Path) -> object:
    """The sample with a free for whatever a node leaves allocated, stamped with the end of the step."""
    raw = gzip.decompress(sample.read_bytes()) if sample.suffix == ".gz" else sample.read_bytes()
    metadata = parse("RunMetadata", raw)
    nodes = [node for device in metadata.step_stats.dev_stats for node in device.node_stats]
    last = max(
        max(
            [
                node.all_start_micros + node.all_end_rel_micros,
                *(record.alloc_micros for used in node.memory for record in used.allocation_records),
            ]
        )
        for node in nodes
    )
    for node in nodes:
        for used in node.memory:
            left = sum(record.alloc_bytes for record in used.allocation_records)
            if left > 0:
                used.allocation_records.add(alloc_micros=last + 1, alloc_bytes=-left)
    return metadata


def write(metadata: object, file: Path, wanted: int) -> int:
    """RunMetadata > StepStats > one DeviceStepStats for each repetition; their lengths are known before they
    are written.
    """
    first = metadata.step_stats  # type: ignore[attr-defined]
    times = [node.all_start_micros for device in first.dev_stats for node in device.node_stats]
    span = max(times) - min(times) + 1_000_000
    one = first.ByteSize()
    count = wanted // one + 1
    nodes = 0
    with tempfile.TemporaryFile() as body:
        shifted = message("StepStats")()
        shifted.CopyFrom(first)
        for _ in range(count):
            body.write(shifted.SerializeToString())
            nodes += sum(len(device.node_stats) for device in shifted.dev_stats)
            for device in shifted.dev_stats:
                for node in device.node_stats:
                    node.all_start_micros += span
                    for used in node.memory:
                        for record in used.allocation_records:
                            record.alloc_micros += span
        with file.open("wb") as out:
            out.write(b"\x0a" + encoded(body.tell()))
            body.seek(0)
            while piece := body.read(1 << 24):
                out.write(piece)
    return nodes


def encoded(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def read(file: Path) -> None:
    """In a process of its own, so that the memory is its own."""
    from tfmemlens import pipeline

    begun = time.process_time()
    found = pipeline.capture(file)
    timeline = found.timelines[0]
    print(
        f"peak of the whole:  {timeline.peak_bytes:,} ({timeline.baseline_confidence or 0:.0%} of the samples"
        " agree on the baseline)"
    )
    print(
        f"curve: {time.process_time() - begun:.0f} s of CPU,"
        f" {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB at most"
    )
    rows = pipeline.report(found).case.moments[0].attribution.table
    print(
        f"page:  {time.process_time() - begun:.0f} s of CPU,"
        f" {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB at most, {len(rows)} rows at"
        " the peak"
    )
    print(f"one ParseFromString of {os.path.getsize(file):,} bytes: {refusal(file)}")


def refusal(file: Path) -> str:
    """What protobuf itself says to such a file."""
    try:
        parse("RunMetadata", file.read_bytes())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "was read"


if __name__ == "__main__":
    main()
