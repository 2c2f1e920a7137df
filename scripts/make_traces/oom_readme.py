"""Rewrite the table of sample_traces/README.md from oom_samples.txt: oom_readme.py SAMPLES_FOLDER."""
import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN, END = "<!-- table: made by scripts/make_traces/oom_readme.py -->\n", "<!-- end of table -->\n"
BUILDS = {"tf1.10": "1.10.1", "tf1.13": "1.13.2", "tf1.15": "1.15.5", "tf2.4": "2.4.4", "tf2.8": "2.8.4",
          "tf2.11": "2.11.0", "tf2.16": "2.16.2", "tf2.21": "2.21.0", "jax": "JAX 0.10.2",
          "tf1.15-intel": "1.15.2, Intel's build", "tf2.4-intel": "2.4.0, Intel's build"}


def rows():
    """One row for every sample of the list that has files."""
    for line in open(os.path.join(HERE, "oom_samples.txt"), encoding="utf-8"):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 6 and not line.startswith("#"):
            yield cells


def files_of(folder, kind, stem):
    found = glob.glob(os.path.join(folder, kind, glob.escape(stem) + ".*"))
    found += glob.glob(os.path.join(folder, kind, glob.escape(stem) + "-*usage-report.txt*"))
    found += glob.glob(os.path.join(folder, kind, glob.escape(stem) + "-buffer-assignment.txt*"))
    return sorted({kind + "/" + os.path.basename(path) for path in found if not path.endswith(".truth.json")})


def table(folder):
    yield "| file | TensorFlow | script and arguments | limit, MB | what it shows |\n|---|---|---|---|---|\n"
    shown = ""
    for kind, stem, name, limit, command, shows in rows():
        shown = shown if shows == "the same" else shows
        for path in files_of(folder, kind, stem):
            yield "| `%s` | %s | `%s` | %s | %s |\n" % (path, BUILDS[name], command, limit.replace("-", ""), shown)


def main(folder):
    path = os.path.join(folder, "README.md")
    with open(path, encoding="utf-8") as old:
        text = old.read()
    head, rest = text.split(BEGIN)
    with open(path, "w", encoding="utf-8") as new:
        new.write(head + BEGIN + "\n" + "".join(table(folder)) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main(sys.argv[1])
