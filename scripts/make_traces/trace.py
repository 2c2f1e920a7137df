"""Rerun the successful runs of trace_samples.txt: trace.py [[KIND/]NAME...]. Environments come from $TFMEMLENS_ENVS, see environments.sh."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ENVS = os.environ.get("TFMEMLENS_ENVS", os.path.expanduser("~/.cache/tfmemlens/envs"))
SAMPLES = os.environ.get("TFMEMLENS_SAMPLES", os.path.join(HERE, "..", "..", "sample_traces"))
LIMIT_MB = 1000
GZIP_ABOVE_BYTES = 100_000


def main(wanted):
    for line in open(os.path.join(HERE, "trace_samples.txt")):
        parts = [part.strip() for part in line.split("|")]
        if len(parts) == 5 and not line.startswith("#") and (not wanted or {parts[1], "/".join(parts[:2])} & set(wanted)):
            record(*parts[:4])


def record(kind, stem, environment, command):
    """Run in an empty folder; what the allocator prints at the last, impossible request is the truth."""
    folder = os.path.join(SAMPLES, kind)
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        for name in os.listdir(HERE):
            if name.endswith(".py"):
                shutil.copy(os.path.join(HERE, name), work)
        variables = {
            "PATH": "/usr/bin:/bin", "HOME": work, "LANG": "C.UTF-8", "TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "0",
            "TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(LIMIT_MB),
        }
        script = command.replace("OUT", "out").split()
        done = subprocess.run([os.path.join(ENVS, environment, "bin", "python"), *script], cwd=work, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        log = done.stdout.decode("utf-8", "replace")
        made = [name for name in os.listdir(work) if name.startswith("out.")]
        if not made:
            print("%s/%s: failed\n%s" % (kind, stem, log[-1500:]))
            return
        complete_truth(os.path.join(work, "out.truth.json"), log)
        for name in made:
            keep(os.path.join(work, name), os.path.join(folder, stem + name[3:]))
    print("%s/%s: %s" % (kind, stem, ", ".join(made)))


def complete_truth(path, log):
    truth = json.load(open(path))
    stated = re.findall(r"MaxInUse: +(\d+)", log)
    if stated and "max_in_use_bytes" not in truth:
        truth.update(max_in_use_bytes=int(stated[-1]), how="Stats of the allocator after equal traced steps")
        in_use = re.findall(r"InUse: +(\d+)", log)
        truth.update(in_use_after_bytes=int(in_use[-2] if len(in_use) > 1 else in_use[-1]))
    with open(path, "w") as out:
        json.dump(truth, out, indent=1, sort_keys=True)
        out.write("\n")


def keep(source, target):
    for old in (target, target + ".gz"):
        if os.path.exists(old):
            os.remove(old)
    if os.path.getsize(source) > GZIP_ABOVE_BYTES and not source.endswith((".truth.json", ".keras")):
        with open(source, "rb") as raw, gzip.GzipFile(target + ".gz", "wb", 9, mtime=0) as out:
            out.write(raw.read())
    else:
        shutil.copy(source, target)


if __name__ == "__main__":
    main(sys.argv[1:])
