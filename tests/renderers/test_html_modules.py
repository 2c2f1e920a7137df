"""The page's own modules, run by node without a browser, against what Python says of the same traces."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tfmemlens
from tests.conftest import ROOT, SAMPLES
from tfmemlens.escaping import visible
from tfmemlens.patterns import regex
from tfmemlens.renderers.html import fleet
from tfmemlens.renderers.html import page as html
from tfmemlens.renderers.html._joined import dense
from tfmemlens.renderers.html._pack import packed
from tfmemlens.units import human, percent
from tfmemlens.use_cases.page import build_page

TRACES = ("run_metadata/1.15-lenet.pb", "run_metadata/2.11-while-rnn.pb.gz", "xspace/2.21-function.xplane.pb")
needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="node is not installed: the page's modules cannot run"
)


def expected(name: str) -> dict[str, Any]:
    """A packed trace and what the API says of it."""
    trace = tfmemlens.read(SAMPLES / name)
    (tab,) = build_page([[SAMPLES / name]]).tabs
    times = trace.timeline().index
    asked = [float(times[index]) + 0.0004 for index in range(0, len(times), 7)]
    return {
        "packed": packed(tab),
        "curve": list(trace.main.curve),
        "peak": trace.peak_bytes,
        "at": [(micros, int(trace.at(micros)["total_bytes"].sum())) for micros in asked],
    }


@needs_node
@pytest.mark.node
def test_the_modules_agree_with_python(tmp_path: Path) -> None:
    chance = random.Random(7)
    sizes = [0, 1, 1023, 1024, 457984, 1 << 20, (1 << 30) - 1, 12345678, 1 << 40] + [
        round(2 ** chance.uniform(0, 44)) for _ in range(3000)
    ]
    shares = [(0, 7), (1, 0), (1, 1000), (1, 8), (5, 200), (7, 7)] + [
        (chance.randrange(1000), chance.randrange(1, 1000)) for _ in range(500)
    ]
    cases = {
        "human": [(size, human(size)) for size in sizes],
        "percent": [(part, whole, percent(part, whole)) for part, whole in shares],
        "readable": [(f"a{chr(code)}b", visible(f"a{chr(code)}b")) for code in range(1 << 16)],
        "pages": {name: expected(name) for name in TRACES},
    }
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    for name in html.SCRIPTS:
        (tmp_path / f"{name}.js").write_text(html.asset(f"{name}.js"), encoding="utf-8")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    environment = {**os.environ, "PAGE": tmp_path.as_uri(), "CASES": str(tmp_path / "cases.json")}
    run = subprocess.run(
        ["node", "--test", str(ROOT / "tests/renderers/page.test.mjs")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]


@needs_node
@pytest.mark.node
@pytest.mark.parametrize("names", [html.SCRIPTS, fleet.SCRIPTS], ids=["report", "fleet"])
def test_the_joined_script_is_sound(names: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "page.js"
    file.write_text(html.joined(names), encoding="utf-8")
    run = subprocess.run(["node", "--check", str(file)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.node
def test_the_linter_finds_nothing(tmp_path: Path) -> None:
    place = ROOT / "tests" / "browser"
    eslint = place / "node_modules" / "eslint" / "bin" / "eslint.js"
    if not eslint.exists() or not shutil.which("node"):
        pytest.skip("eslint is not installed: npm install --prefix tests/browser")
    for name in (*html.SCRIPTS, *fleet.SCRIPTS):
        (tmp_path / f"{name}.js").write_text(html.asset(f"{name}.js"), encoding="utf-8")
    run = subprocess.run(
        ["node", str(eslint), "--config", str(place / "eslint.config.mjs"), "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_module_is_joined_and_documented() -> None:
    folder = Path(html.__file__).parent / "assets"
    assert {file.stem for file in folder.glob("*.js")} == {*html.SCRIPTS, *fleet.SCRIPTS}
    for name in (*html.SCRIPTS, *fleet.SCRIPTS):
        code = html.asset(f"{name}.js")
        assert re.match(r"// [A-Z].+\.\n", code), name
        assert max(map(len, code.splitlines())) <= 320, name
        for word in (
            "innerHTML",
            "setHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "fetch(",
            "XMLHttpRequest",
            "http",
        ):
            assert word not in code, (name, word)


@pytest.mark.parametrize("scripts", [html.SCRIPTS, fleet.SCRIPTS], ids=["report", "fleet"])
def test_no_two_modules_share_a_name(scripts: tuple[str, ...]) -> None:
    """Joined they stand in one scope, where the later of two functions would silently replace the other."""
    outermost = regex(r"^(?:export )?(?:async )?(?:function\*?|class|const|let) (\w+)", re.MULTILINE)
    names = [found for name in scripts for found in outermost.findall(html.asset(f"{name}.js"))]
    assert len(names) > 5
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(
    ("code", "short"),
    [
        ("const a = 1; // one\nconst b = 2;\n", "const a=1;const b=2;"),
        ("a = b - -c + +d + e", "a=b- -c+ +d+e"),
        ("return /a b\\/[/ ]/.test(x) ? 1 : 2;", "return/a b\\/[/ ]/.test(x)?1:2;"),
        ("const half = a / b / c;", "const half=a/b/c;"),
        ("const t = `a  ${ b + `c  ${ {d: 1} } e` }  // f`;", "const t=`a  ${b+`c  ${{d:1}} e`}  // f`;"),
        ("s = 'it  is' + \"/* no // comment */\";", "s='it  is'+\"/* no // comment */\";"),
        ("class A {\n  /** Said. */\n  b() {}\n  get c() {}\n}\n", "class A{b(){}\nget c(){}\n}"),
        ('import { x } from "./y.js";\n\nexport async function z() {}\n', "async function z(){}"),
    ],
)
def test_only_what_readers_need_is_left_out(code: str, short: str) -> None:
    assert dense(code) == short


def test_modules_import_only_what_comes_before_them() -> None:
    for scripts in (html.SCRIPTS, fleet.SCRIPTS):
        for place, name in enumerate(scripts):
            imported = re.findall(r'from "\./(\w+)\.js"', html.asset(f"{name}.js"))
            assert set(imported) <= set(scripts[:place]), name
