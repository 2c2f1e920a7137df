"""Who may import whom: every part of the package has a row, and nothing runs in a circle."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "tfmemlens"
MODULES = sorted(PACKAGE.rglob("*.py"))
BASE = {"model", "units", "errors", "garbage", "values", "patterns"}
STAGES = {"readers", "attribution", "findings", "renderers"}
ALLOWED: dict[str, set[str]] = {
    "tfmemlens": {"api", "errors", "keras", "fleet"},
    "__main__": {"cli"},
    "values": set(),
    "patterns": set(),
    "units": {"values", "patterns"},
    "errors": set(),
    "garbage": set(),
    "progress": {"escaping"},
    "discovery": set(),
    "escaping": {"patterns"},
    "child_python": {"errors", "values"},
    "model": {"units", "errors", "values", "patterns"},
    "schema": {"model", "patterns"},
    "knowledge": BASE,
    "readers": BASE | {"knowledge", "discovery", "progress", "schema", "child_python"},
    "attribution": BASE | {"knowledge"},
    "findings": BASE | {"knowledge", "discovery"},
    "renderers": BASE | {"discovery", "escaping"},
    "estimation": BASE | {"knowledge"},
    "what_if": BASE | {"knowledge", "attribution", "estimation"},
    "recording": BASE | {"knowledge", "readers", "child_python"},
    "pipeline": BASE | {"readers", "attribution", "findings", "estimation", "what_if"},
    "use_cases": BASE | STAGES | {"knowledge", "estimation", "what_if", "recording", "pipeline"},
    "api": BASE | {"pipeline", "use_cases", "renderers", "readers", "recording", "escaping"},
    "pytest_plugin": {"api", "errors", "recording", "renderers", "units", "use_cases"},
    "keras": {"errors", "units", "api", "recording"},
    "fleet": BASE | {"pipeline", "readers", "renderers", "escaping", "progress", "discovery"},
    "cli": BASE
    | {"tfmemlens", "pipeline", "use_cases", "renderers", "recording", "discovery", "progress", "escaping"}
    | {
        "fleet",
        "findings",
        "knowledge",
    },  # the catalogue of rules; a convolution's arithmetic is asked directly
}
"""For every part of the package the parts that it may import, in functions, too: add a row for a new part."""
CIRCLES = {
    # A recurrent wrapper asks for the description of the layer in it, which the whole folder gives.
    frozenset(f"tfmemlens.knowledge.keras_layers{name}" for name in ("", ".model_types", ".recurrent")),
}
"""The circles that are argued for: their imports are inside functions."""


def name_of(file: Path) -> str:
    """`tfmemlens.readers.formats` of its `__init__.py`."""
    parts = ("tfmemlens", *file.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(file: Path, known: Iterable[str]) -> set[str]:
    """The modules of the package that a module imports anywhere in it."""
    modules = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        if (
            isinstance(node, ast.ImportFrom)
            and node.level
            and file.parent == PACKAGE / "recording" / "inside"
        ):
            inside = f"tfmemlens.recording.inside.{node.module or ''}".rstrip(".")
            modules |= {inside} if node.module else {f"{inside}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                modules.add(inner if inner in known else node.module or "")
    return {module for module in modules if module.split(".")[0] == "tfmemlens"}


@cache
def graph() -> Mapping[str, set[str]]:
    """Every module of the package with those that it imports."""
    names = {name_of(file): file for file in MODULES}
    return {name: imported(file, names) & set(names) for name, file in names.items()}


def part(module: str) -> str:
    """`readers` of `tfmemlens.readers.formats.tfprof`."""
    return (*module.split("."), "")[1] or "tfmemlens"


def parts() -> dict[str, set[str]]:
    """The same graph between the parts."""
    arrows: dict[str, set[str]] = {}
    for module, imports in graph().items():
        arrows.setdefault(part(module), set()).update(map(part, imports))
    return {name: others - {name} for name, others in arrows.items()}


def circles(arrows: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """Sets of nodes that reach each other."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            new = arrows.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        return seen

    reach = {node: reached(node) for node in arrows}
    return {
        frozenset(other for other in reach[node] if node in reach.get(other, set()))
        for node in arrows
        if node in reach[node]
    }


def test_every_part_has_a_row() -> None:
    assert sorted(parts()) == sorted(ALLOWED)
    assert set().union(*ALLOWED.values()) <= set(ALLOWED)


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_a_part_imports_what_its_row_allows(name: str) -> None:
    assert parts()[name] <= ALLOWED[name]


def test_no_row_allows_a_circle() -> None:
    assert not circles(ALLOWED)
    assert not circles(parts())


def test_modules_run_in_no_circle_that_is_not_argued_for() -> None:
    assert circles(graph()) == CIRCLES


def test_the_rules_see_a_violation(tmp_path: Path) -> None:
    culprit = tmp_path / "culprit.py"
    culprit.write_text(
        "def f():\n    from tfmemlens.findings import rules\n    import tfmemlens.readers.gathering.inputs\n"
        "    from tfmemlens import readers, __version__\n    import os\n"
    )
    assert imported(culprit, ["tfmemlens.readers"]) == {
        "tfmemlens", "tfmemlens.findings", "tfmemlens.readers", "tfmemlens.readers.gathering.inputs",
    }  # fmt: skip
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == {frozenset("abc")}
    assert circles({"a": {"a"}}) == {frozenset("a")}
    assert not circles({"a": {"b", "c"}, "b": {"c"}, "c": set()})


def test_what_runs_inside_the_users_process_imports_the_standard_library_and_itself() -> None:
    for file in sorted((PACKAGE / "recording" / "inside").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 6))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names.append(node.module or "")
            roots = {name.split(".")[0] for name in names}
            assert roots <= {*sys.stdlib_module_names, "sitecustomize"}, file


def test_only_the_recorder_imports_tensorflow() -> None:
    for file in MODULES:
        if file.relative_to(PACKAGE).parts[0] != "recording":
            assert not re.search(r"(?m)^\s*(?:import|from) tensorflow\b", file.read_text(encoding="utf-8")), (
                file
            )


def run_and_modules(*words: str) -> tuple[str, set[str]]:
    """What the command line prints, and the modules that are imported after it, `site`'s apart."""
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom tfmemlens.cli.main import main\n"
        f"try:\n    main({list(words)!r})\nexcept SystemExit:\n    pass\n"
        "print(*(set(sys.modules) - before), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout, set(run.stderr.split())


def test_explaining_a_paste_stays_light() -> None:
    out, modules = run_and_modules("explain", "sample_traces/oom_log/1.10-founding-question-unet.txt")
    heavy = {"pandas", "numpy", "matplotlib", "plotly", "tensorflow", "google.protobuf", "rich", "jinja2"}
    waiting = {
        "pkgutil",
        "inspect",
        "dataclasses",
        "subprocess",
        "tempfile",
        "gzip",
        "tfmemlens.child_python",
    }
    assert not (heavy | waiting) & modules
    readers = "tfmemlens.readers"
    machinery = {f"{readers}.graphs.proto_graph", f"{readers}.timelines.step_stats", "zipfile"}
    assert not machinery & modules, "a format that only looks at a text brings no machinery of its own"
    assert "tfmemlens.knowledge.ops.table" not in modules, "the table of ops is for graphs"
    assert "tfmemlens.knowledge.keras_layers" not in modules, "the shapes of layers are for models"
    assert "LayoutOptimizer" in out


def test_recording_in_a_program_is_light() -> None:
    code = "import sys; import tfmemlens.recording.in_program; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pandas", "numpy", "google.protobuf", "matplotlib", "tfmemlens.readers", "tfmemlens.pipeline"}
    assert not heavy & set(run.stdout.split())


def test_help_imports_no_command() -> None:
    out, modules = run_and_modules("--help")
    assert {name for name in modules if name.startswith("tfmemlens.")} == {
        f"tfmemlens.{name}"
        for name in ("cli", "cli.main", "discovery", "errors", "escaping", "patterns", "progress")
    }
    assert not {"inspect", "dataclasses", "pkgutil"} & modules
    assert "explain" in out


def test_no_module_compiles_a_pattern_at_import() -> None:
    in_the_users_python = ("recording/", "child_python.py")
    early = [
        name
        for file in MODULES
        if not (name := file.relative_to(PACKAGE).as_posix()).startswith(in_the_users_python)
        and "re.compile(" in file.read_text(encoding="utf-8")
    ]
    assert early == ["patterns.py"], "patterns.regex compiles when first asked"
