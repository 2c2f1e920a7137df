"""Run programs with a known culprit: run.py FOLDER [NAME ...] [--without | --apply] (all programs without a name).

Writes NAME.log (standard output and error as one stream, scrubbed) into FOLDER and prints how each ended. With --without
the culprit is taken away (programs.txt), with --apply the page's first action is applied (remedies.txt). Environments come from $TFMEMLENS_ENVS (see environments.sh).
"""
import argparse
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from scrub import scrub  # noqa: E402

ENVIRONMENTS = os.environ.get("TFMEMLENS_ENVS", os.path.expanduser("~/.cache/tfmemlens/envs"))
SECONDS = 900

Program = namedtuple("Program", "name environment limit_mb command without cause culprit")


def table(name, columns):
    """The rows of a table of this folder, split at its bars."""
    with open(os.path.join(HERE, name)) as lines:
        rows = [[cell.strip() for cell in line.split("|")] for line in lines if line.strip() and line[0] != "#"]
    for row in rows:
        if len(row) != columns:
            raise SystemExit("%s: %d cells instead of %d: %s" % (name, len(row), columns, " | ".join(row)))
    return rows


def programs():
    return [Program(*row) for row in table("programs.txt", len(Program._fields))]


def variables(program, folder, extra):
    """The environment of a run: a BFC allocator on the CPU with this limit, and nothing of the caller's."""
    known = {"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1",
             "TF_CPP_MIN_LOG_LEVEL": "0", "TF_ENABLE_ONEDNN_OPTS": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    if program.environment.startswith("tf"):
        known.update(TF_CPU_ALLOCATOR_USE_BFC="1", TF_CPU_BFC_MEM_LIMIT_IN_MB=program.limit_mb)
    known.update(extra)
    return known


def address_space(program):
    """JAX on the CPU has no allocator with a limit of its own, so the process gets one."""
    if program.environment.startswith("tf"):
        return None
    limit = int(program.limit_mb) << 20
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def settings_and_options(words):
    """Split VAR=value of the environment from key=value of a function."""
    settings = dict(word.split("=", 1) for word in words if word.split("=")[0].isupper())
    return settings, [word for word in words if word.split("=")[0] not in settings]


def run(program, extra, target):
    """Run one program in an empty folder; return its exit status and its seconds."""
    folder = tempfile.mkdtemp()
    script, *words = shlex.split(program.command)
    settings, options = settings_and_options(shlex.split(extra))
    shutil.copy(os.path.join(HERE, script), folder)
    python = os.path.join(ENVIRONMENTS, program.environment, "bin", "python")
    start = time.time()
    ended = subprocess.run(["timeout", str(SECONDS), python, script, *words, *options], cwd=folder,
                           env=variables(program, folder, settings), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           preexec_fn=address_space(program))
    seconds = time.time() - start
    text = ended.stdout.decode("utf-8", "surrogateescape")
    with open(target, "w", encoding="utf-8", errors="surrogateescape") as out:
        out.write(scrub(text, folder))
    for name in os.listdir(folder):
        if name.endswith(".prof"):
            shutil.copy(os.path.join(folder, name), target[:-len(".log")] + ".prof")
    shutil.rmtree(folder, ignore_errors=True)
    return ended.returncode, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", default=[])
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--without", action="store_true", help="take the culprit away")
    change.add_argument("--apply", action="store_true", help="apply the page's first action")
    args = parser.parse_intermixed_args()
    os.makedirs(args.folder, exist_ok=True)
    remedies = {row[0]: row[1] for row in table("remedies.txt", 4)}
    for program in programs():
        if (args.names and program.name not in args.names) or (args.apply and program.name not in remedies):
            continue
        extra = remedies[program.name] if args.apply else ""
        if args.without:
            extra = program.without
        target = os.path.join(args.folder, program.name + ".log")
        status, seconds = run(program, extra, target)
        print("%-34s exit %3d %4.0f s %8d bytes" % (program.name, status, seconds, os.path.getsize(target)), flush=True)


if __name__ == "__main__":
    main()
