"""Compare what two checkouts answer to every sample: compare_answers.py write DIR; compare_answers.py diff
DIR DIR.

`write` puts the JSON document of `explain` (logs), `profile` (traces) and `estimate` (models) of every sample
into DIR, one file a sample; run it in each checkout (`PYTHONPATH=. python scripts/compare_answers.py write
DIR`).
`diff` prints which documents differ, and in which fields, and exits with 1 when any does.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_LOGS = ("oom_log", "memory_dump", "xla_dump")
_NO_SAMPLES = (".truth.json", ".md", ".origin.txt", "-live-range.txt", "-assignment-values.txt")
_MAX_LINES = 12


def samples() -> list[tuple[str, str]]:
    """Command and path of every sample."""
    traces = [path for path in sorted((ROOT / "sample_traces").rglob("*")) if path.is_file()]
    kept = [path for path in traces if not path.name.endswith(_NO_SAMPLES)]
    rooms = [(path.relative_to(ROOT / "sample_traces").parts[0], path) for path in kept]
    found = [("explain" if room in _LOGS else "profile", str(path.relative_to(ROOT))) for room, path in rooms]
    models = [path for path in sorted((ROOT / "sample_models").rglob("*")) if path.is_file()]
    found += [
        ("estimate", str(path.relative_to(ROOT)))
        for path in models
        if path.suffix in (".keras", ".json", ".h5")
    ]
    return found


def answer(sample: tuple[str, str]) -> str:
    """The JSON document of one sample, or what was printed instead."""
    from tfmemlens.cli.main import main

    command, path = sample
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([command, path, "--json"])
        except SystemExit as left:
            status = int(left.code or 0)
    try:
        document = json.loads(out.getvalue())
    except ValueError:
        document = {"printed": out.getvalue()}
    said = {"status": status, "said": err.getvalue(), "document": document}
    return json.dumps(said, indent=1, sort_keys=True)


def write(folder: Path) -> None:
    """Every sample's answer as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    found = samples()
    with ProcessPoolExecutor() as pool:
        for (command, path), text in zip(found, pool.map(answer, found, chunksize=4), strict=True):
            (folder / f"{command}-{path.replace('/', '-')}.json").write_text(text, encoding="utf-8")


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every figure and text of a document with its place."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, f"{place}.{key}")
    elif isinstance(value, list):
        yield f"{place}.length", len(value)
        for index, each in enumerate(value):
            yield from leaves(each, f"{place}[{index}]")
    else:
        yield place, value


def diff(before: Path, after: Path) -> int:
    """Print what differs; 1 when anything does."""
    names = sorted({path.name for folder in (before, after) for path in folder.glob("*.json")})
    changed, fields = 0, Counter[str]()
    for name in names:
        texts = [
            (folder / name).read_text(encoding="utf-8") if (folder / name).exists() else "{}"
            for folder in (before, after)
        ]
        if texts[0] == texts[1]:
            continue
        changed += 1
        old, new = (dict(leaves(json.loads(text))) for text in texts)
        places = [place for place in {**old, **new} if old.get(place) != new.get(place)]
        fields.update(
            {"".join("[]" if each.isdigit() else each for each in place.split("[")[0:1]) for place in places}
        )
        print(f"{name}: {len(places)} places")
        for place in places[:_MAX_LINES]:
            print(f"    {place}: {old.get(place)!r:.120} -> {new.get(place)!r:.120}")
    print(f"{changed} of {len(names)} documents differ")
    for field, count in fields.most_common():
        print(f"    {count:5} {field}")
    return 1 if changed else 0


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("write", "diff"))
    parser.add_argument("folders", nargs="+", type=Path)
    args = parser.parse_args()
    if args.action == "diff":
        return diff(*args.folders)
    write(args.folders[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
