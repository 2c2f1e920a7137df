"""The HTML page: its size, how long it takes to write beside `tfmemlens profile`, to open, and to answer a
click.

    python scripts/benchmarks/html_report.py TRACE.pb [TRACE.pb ...] [--runs 5]

Make a big trace under TensorFlow 1.15 with scripts/benchmarks/big_trace.py. Needs chromium and playwright;
without them only size and writing are measured. The time of a click ends with the frame that shows it; it
includes waiting for the screen, up to 17 ms.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
SAMPLES = ROOT / "sample_traces"
TFMEMLENS = [sys.executable, "-m", "tfmemlens"]
CLICKS = """
async () => {
  const canvas = [...document.querySelectorAll('canvas.cursor')].find((each) => each.offsetParent);
  if (!canvas) return [];
  canvas.scrollIntoView({block: 'center'});
  const box = canvas.getBoundingClientRect();
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const found = [];
  for (let share = 0.05; share < 1; share += 0.045) {
    await frame();
    const start = performance.now();
    canvas.dispatchEvent(new PointerEvent('pointerdown', {clientX: box.left + share * box.width,
        clientY: box.top + 50, pointerId: 1, bubbles: true}));
    canvas.dispatchEvent(new PointerEvent('pointerup', {pointerId: 1, bubbles: true}));
    const answered = performance.now() - start;
    await frame();
    found.push([answered, performance.now() - start]);
  }
  return found;
}
"""


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([*TFMEMLENS, *command], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return time.perf_counter() - start


def written(trace: Path, page: Path, runs: int) -> tuple[float, float, float]:
    """Median ratio of pairs run in turn, median seconds of the report and of the profile."""
    report = ["report", str(trace), "-o", str(page)]
    profile = ["explain" if trace.suffix in (".txt", ".log") else "profile", str(trace)]
    seconds(report), seconds(profile)
    pairs = [(seconds(report), seconds(profile)) for _ in range(runs)]
    return (
        statistics.median(a / b for a, b in pairs),
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
    )


def opened(browser: Any, page: Path, runs: int) -> tuple[float, list[list[float]]]:
    """Median milliseconds from the navigation's start until everything is drawn and answers, and (answered,
    on screen) of clicks in ms.
    """
    took, clicks = [], []
    for _ in range(runs):
        tab = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready]")
        took.append(
            tab.evaluate(
                "new Promise((done) => requestAnimationFrame(() => setTimeout(() =>"
                " done(performance.now()))))"
            )
        )
        clicks += tab.evaluate(CLICKS)
        tab.close()
    return statistics.median(took), clicks


def measured(trace: Path, browser: Any, runs: int, folder: Path) -> None:
    page = folder / f"{trace.name}.html"
    ratio, report, profile = written(trace, page, runs)
    print(f"{trace.name}")
    print(f"  size              {page.stat().st_size / 1e6:8.2f} MB  (limit 4.19; common logs 0.40)")
    print(f"  written           {report:8.2f} s   = {ratio:.2f} x text page ({profile:.2f} s; limit 2)")
    if browser is None:
        return
    took, clicks = opened(browser, page, runs)
    print(f"  drawn             {took:8.0f} ms  (limit 1000)")
    if clicks:
        answered, shown = zip(*clicks, strict=True)
        print(
            f"  a click answers in{statistics.median(answered):8.1f} ms  (largest of {len(answered)}:"
            f" {max(answered):.1f}; limit 50)"
        )
        print(f"  and is on screen  {statistics.median(shown):8.1f} ms  (largest: {max(shown):.1f})")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    traces = [path.resolve() for path in args.traces] or [
        SAMPLES / "run_metadata/2.11-unet.pb.gz",
        SAMPLES / "oom_log/2.11-unet-layout.txt",
    ]
    sys.path.insert(0, str(ROOT))
    from tests.browser.conftest import chromium

    with tempfile.TemporaryDirectory() as folder:
        if chromium() is None:
            print("no chromium: only size and writing are measured")
            for trace in traces:
                measured(trace, None, args.runs, Path(folder))
            return
        from playwright.sync_api import sync_playwright

        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium())
            for trace in traces:
                measured(trace, browser, args.runs, Path(folder))
            browser.close()


if __name__ == "__main__":
    main()
