"""Check the OOM samples: does each show what its name and its truth file say? oom_check.py SAMPLES_FOLDER.

Prints one line for every doubt; exit status 1 if there was one.
"""
import glob
import gzip
import json
import os
import re
import sys

MACHINE_PATH = re.compile(r"/(?:root|home|work|tmp|usr/local|opt)/\S+|\S+/site-packages/|/var/folders")
FAILURE = re.compile(r"OOM when|Out of memory|ran out of memory|Current usage from device", re.I)
DTYPES = {"float32": "float", "float16": "half"}


def read(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as raw:
        return raw.read().decode("utf-8", "replace")


def stem(path):
    return re.sub(r"\.(txt|pb)(\.gz)?$", "", path)


def doubts_of_log(path, text):
    """What is not as the file's name promises."""
    name = os.path.basename(path)
    if not FAILURE.search(text):
        yield "no failure in it"
    if "layout" in name and not re.search(r"[KM]iB from \S+Transpose\S+-LayoutOptimizer", text):
        yield "no transposes in the report"
    if "report" in name and "Current usage from device" not in text:
        yield "no report"
    if "hint" in name and ("Current usage" in text or "Hint: If you want" not in text):
        yield "not the hint alone"
    if "fragmentation" in name and not is_fragmented(text):
        yield "the last dump is not of fragmentation"


def is_fragmented(text):
    """Enough free in total, and no free chunk large enough, by the last dump's own numbers."""
    dump = text[text.rindex("ran out of memory trying to allocate"):]
    wanted = int(re.search(r"rounded to (\d+)", dump).group(1))
    free = [int(size) for size in re.findall(r"\] Free  at [0-9a-f]+ of size (\d+)", dump)]
    print("    %d bytes wanted, %d free in %d chunks, the largest %d" % (wanted, sum(free), len(free), max(free)))
    return max(free) < wanted <= sum(free)


def doubts_of_truth(truth, text):
    """Where the truth file and the log speak of the same thing and disagree."""
    shape, dtype = truth.get("failing_shape"), truth.get("failing_dtype")
    if shape is not None:
        sentence = "shape[%s] and type %s" % (",".join(map(str, shape)), DTYPES.get(dtype, dtype))
        if sentence not in text:
            yield "no failure of " + sentence
    if "failing_node" in truth and truth["failing_node"] not in text:
        yield "failing node %s not in it" % truth["failing_node"]
    limits = re.findall(r"^Limit: +(\d+)$", text, re.M)
    if limits and truth.get("limit_bytes") not in (None, int(limits[-1])):
        yield "limit %s, the log says %s" % (truth["limit_bytes"], limits[-1])
    if truth.get("allocator") and truth["allocator"] not in text:
        yield "allocator %s not in it" % truth["allocator"]


def main(folder):
    failed = False
    for path in sorted(glob.glob(os.path.join(folder, "*_*", "*"))):
        if path.endswith(".truth.json") or os.path.basename(os.path.dirname(path)) not in (
                "oom_log", "memory_dump", "xla_dump"):
            continue
        text, doubts = read(path), []
        doubts += ["machine path %s" % found for found in set(MACHINE_PATH.findall(text))]
        if os.path.dirname(path).endswith("oom_log"):
            doubts += doubts_of_log(path, text)
            truth = stem(path) + ".truth.json"
            doubts += doubts_of_truth(json.load(open(truth)), text) if os.path.exists(truth) else ["no truth file"]
        for doubt in doubts:
            failed = True
            print("%s: %s" % (os.path.relpath(path, folder), doubt))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
