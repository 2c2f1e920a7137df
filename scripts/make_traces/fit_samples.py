"""Record the steps at several batches that tests of `tfmemlens fit` and of predictions from graphs compare: fit_samples.py [STEM...].

Each is one step of step_run.py, one op at a time on a BFC allocator: <stem>-b<batch>.pb.gz (RunMetadata), its truth, and <stem>.meta.gz (the raw graph
of the first batch). Environments come from $TFMEMLENS_ENVS, see environments.sh.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ENVS = os.environ.get("TFMEMLENS_ENVS", os.path.expanduser("~/.cache/tfmemlens/envs"))
FOLDER = os.path.join(os.environ.get("TFMEMLENS_SAMPLES", os.path.join(HERE, "..", "..", "sample_traces")), "fit")
SAMPLES = (  # environment, model, its sizes, batches, another name than the model's
    ("tf1.15", "lenet", "", (32, 64, 256), ""),
    ("tf1.15", "unet", "height=96 width=96 training=1", (2, 4, 8), ""),
    ("tf1.15", "embedding", "length=32 vocabulary=8000 width=64", (8, 32), ""),
    ("tf1.15", "while_rnn", "length=20 units=128", (16, 64), ""),
    ("tf2.21", "lenet", "", (32, 128), ""),
    ("tf2.21", "unet", "height=96 width=96 training=1", (2, 4), ""),
    ("tf2.21", "deconv", "channels=32", (4, 16), ""),
    ("tf2.21", "attention", "length=256", (4, 8), ""),
    ("tf2.21", "lenet", "steps=2", (32,), "whole-process"),
)


def main(wanted):
    os.makedirs(FOLDER, exist_ok=True)
    for environment, model, sizes, batches, name in SAMPLES:
        stem = environment[2:] + "-" + (name or model.replace("_", "-"))
        if wanted and stem not in wanted:
            continue
        for batch in batches:
            record(environment, model, sizes, batch, stem, batch == batches[0])


def record(environment, model, sizes, batch, stem, with_graph):
    with tempfile.TemporaryDirectory() as work:
        step, graph, profile = (os.path.join(work, "step" + ending) for ending in (".pb", ".meta", ".xplane.pb"))
        variables = {
            "PATH": "/usr/bin:/bin", "HOME": work, "TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "0",
            "TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "8000",
        }
        command = [os.path.join(ENVS, environment, "bin", "python"), os.path.join(HERE, "step_run.py"), model, *sizes.split(),
                   "batch=%d" % batch, *(["profile=" + profile] if stem == "2.21-whole-process" else ["trace=" + step, "graph=" + graph])]
        done = subprocess.run(command, cwd=work, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        log = done.stdout.decode("utf-8", "replace")
        facts = json.loads(re.search(r"^FACTS (.*)$", log, re.MULTILINE).group(1))
        if facts["max_in_use_bytes"] is None:
            facts["max_in_use_bytes"] = int(re.findall(r"MaxInUse: +(\d+)", log)[-1])
        if os.path.exists(profile):
            pack(profile, os.path.join(FOLDER, stem + ".xplane.pb.gz"))
            return
        pack(step, os.path.join(FOLDER, "%s-b%d.pb.gz" % (stem, batch)))
        if with_graph:
            pack(graph, os.path.join(FOLDER, stem + ".meta.gz"))
        with open(os.path.join(FOLDER, "%s-b%d.truth.json" % (stem, batch)), "w") as out:
            json.dump(facts, out, indent=1, sort_keys=True)
            out.write("\n")
    print("%s-b%d: %d" % (stem, batch, facts["max_in_use_bytes"]))


def pack(source, target):
    with open(source, "rb") as raw, gzip.GzipFile(target, "wb", 9, mtime=0) as out:
        out.write(raw.read())


if __name__ == "__main__":
    main(sys.argv[1:])
