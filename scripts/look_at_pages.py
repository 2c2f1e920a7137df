"""Show pages as people see them: each INPUT's report in two browsers, its answer in terminals.

    python scripts/look_at_pages.py OUT [INPUT ...]

For each input OUT gets screenshots by chromium (playwright) at 1440 and 390 pixels, light and dark, and its
print as PDF; by firefox-esr at both widths; and what a terminal of 60, 80 and 120 columns shows of `explain`
(tmux). Without inputs some of the samples are shown. What is not installed is left out, and said. Prints what
needs no eyes: pages wider than their window, terminal lines wider than the screen, answers of more than 24
lines at 80 columns.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from served_page import served

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
SAMPLES = (
    "sample_traces/oom_log/1.10-founding-question-unet.txt",
    "sample_traces/oom_log/2.21-unet-layout.txt",
    "sample_traces/run_metadata/2.11-unet.pb.gz",
)
WIDTHS, COLUMNS = (1440, 390), (60, 80, 120)
ROWS, FIRST_SCREEN = 60, 24
FIREFOX = ("firefox-esr", "firefox")
SETTLES = 1.5
"""Seconds that a terminal is given after the answer's end."""


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit((__doc__ or "").strip())
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for given in sys.argv[2:] or [str(ROOT / sample) for sample in SAMPLES]:
        source = Path(given).resolve()
        page = out.resolve() / f"{source.name}.html"
        subprocess.run(tfmemlens("report", str(source), "-o", str(page)), check=True, env=environment())
        in_chromium(page)
        in_firefox(page)
        in_terminals(source, page)
    print(f"look at what lies in {out}")


def tfmemlens(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tfmemlens", *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def installed(names: tuple[str, ...], package: str) -> str | None:
    """The first of these programs; without one a line says how to get it."""
    program = next((path for name in names if (path := shutil.which(name))), None)
    if program is None:
        print(f"left out: no {names[0]} here (apt-get install {package})")
    return program


def in_chromium(page: Path) -> None:
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import NAMES, chromium

    program = chromium() or installed(NAMES, "chromium")
    if program is None:
        return

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program)
        for width in WIDTHS:
            for scheme in ("light", "dark"):
                context = browser.new_context(
                    viewport={"width": width, "height": 900},
                    color_scheme="dark" if scheme == "dark" else "light",
                )
                tab = context.new_page()
                tab.goto(page.as_uri())
                tab.wait_for_selector("html[data-ready]", timeout=30_000)
                tab.screenshot(path=page.with_suffix(f".chromium-{width}-{scheme}.png"))
                needed = tab.evaluate("document.documentElement.scrollWidth")
                if needed > width:
                    print(f"{page.name}: {needed} pixels wide in a window of {width}")
                if (width, scheme) == (WIDTHS[0], "light"):
                    tab.pdf(path=page.with_suffix(".print.pdf"))
                context.close()
        browser.close()


def in_firefox(page: Path) -> None:
    program = installed(FIREFOX, "firefox-esr")
    for width in WIDTHS if program else ():
        picture = page.with_suffix(f".firefox-{width}.png")
        size = f"--window-size={width},900"
        with served(page) as told:
            subprocess.run(
                [str(program), "--headless", f"--screenshot={picture}", size, told.address],
                check=True,
                capture_output=True,
                timeout=120,
            )
        if told.pixels is None:
            print(f"{page.name}: not drawn by Firefox")
        elif told.pixels > width:
            print(f"{page.name}: {told.pixels} pixels wide in a Firefox of {width}")


def in_terminals(source: Path, page: Path) -> None:
    """What a real terminal shows, line by line: the program sees its width by itself."""
    program = installed(("tmux",), "tmux")
    for columns in COLUMNS if program else ():
        session = f"look-{os.getpid()}-{columns}"
        command = shlex.join(["env", f"PYTHONPATH={ROOT}", *tfmemlens("explain", str(source))])
        size = ["-x", str(columns), "-y", str(ROWS)]
        started = ["tmux", "new-session", "-d", "-s", session, *size, f"{command}; echo $?. ; sleep 60"]
        subprocess.run(started, check=True)
        shown = _when_ended(session)
        subprocess.run(["tmux", "kill-session", "-t", session], check=True)
        page.with_suffix(f".{columns}-columns.txt").write_text("\n".join(shown) + "\n", encoding="utf-8")
        if columns == 80 and len(shown) > FIRST_SCREEN:
            print(f"{source.name}: {len(shown)} lines at 80 columns")
        if broken := [line for line in shown if len(line) > columns]:
            print(f"{source.name}: {len(broken)} lines wider than {columns} columns")


def _when_ended(session: str) -> list[str]:
    """The lines of the answer, once its exit status stands below it; what the terminal wrapped is whole."""
    for _ in range(200):
        time.sleep(0.2)
        captured = subprocess.run(
            ["tmux", "capture-pane", "-p", "-J", "-t", session], capture_output=True, text=True, check=True
        )
        lines = captured.stdout.rstrip().split("\n")
        if lines[-1].rstrip(". ").isdigit():
            time.sleep(SETTLES)
            return [line.rstrip() for line in lines[:-1]]
    raise TimeoutError(f"no end of the answer in {session}")


if __name__ == "__main__":
    main()
