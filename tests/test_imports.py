"""Who may import whom, and what a pasted log must never import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "tfmemlens"
BASE = {"model", "units", "errors", "garbage"}
ALLOWED = {
    "units": set(),
    "errors": set(),
    "garbage": set(),
    "progress": set(),
    "model": {"units", "errors"},
    "discovery": set(),
    "child_python": {"errors"},
    "knowledge": BASE,
    "readers": BASE | {"knowledge", "discovery", "progress", "schema", "child_python"},
    "attribution": BASE | {"knowledge"},
    "findings": BASE | {"knowledge", "discovery"},
    "renderers": BASE | {"knowledge", "discovery"},
    "estimation": BASE | {"knowledge"},
    "what_if": BASE | {"knowledge", "estimation"},
    "pipeline": BASE | {"readers", "attribution", "findings", "estimation"},
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(file: Path) -> set[str]:
    """The parts of the package that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            names = (
                [node.module or ""]
                if node.module != "tfmemlens"
                else [f"tfmemlens.{alias.name}" for alias in node.names]
            )
        found |= {name.split(".")[1] for name in names if name.startswith("tfmemlens.")}
    return found


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_stage_imports_no_other_stage(file: Path) -> None:
    part = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if part in ALLOWED:
        assert imported(file) <= ALLOWED[part] | {part}


def test_the_rule_sees_a_violation(tmp_path: Path) -> None:
    culprit = tmp_path / "culprit.py"
    culprit.write_text(
        "def f():\n    from tfmemlens.findings import rules\n    import tfmemlens.readers.gathering.inputs\n"
    )
    assert imported(culprit) == {"findings", "readers"}


def test_only_the_recorder_imports_tensorflow() -> None:
    allowed = {"recording", "estimation", "layout"}
    for file in MODULES:
        if file.relative_to(PACKAGE).parts[0] not in allowed:
            assert "import tensorflow" not in file.read_text(encoding="utf-8"), file


def test_explaining_a_paste_stays_light() -> None:
    code = (
        "import sys\nfrom tfmemlens.cli.main import main\nmain(['explain',"
        " 'sample_traces/oom_log/1.10-founding-question-unet.txt'])\nprint(' '.join(sys.modules),"
        " file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pandas", "numpy", "matplotlib", "plotly", "tensorflow", "google.protobuf", "rich", "jinja2"}
    assert not heavy & set(run.stderr.split())
    assert "LayoutOptimizer" in run.stdout
