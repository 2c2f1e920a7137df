"""Logs behind a web server: a file, a page that lists files, a glob; known again by what the server says."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.needed import fleet
from tests.fleet.test_scan import FOUR, LOG, Here
from tfmemlens.errors import MissingInput
from tfmemlens.fleet import sources, tasks
from tfmemlens.fleet.scanning import scan
from tfmemlens.fleet.store import Store

pytestmark = fleet


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *told: object) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """The address of a server with three logs in two folders."""
    pytest.importorskip("aiohttp", reason="pip install tfmemlens[http]")
    folder = tmp_path / "web" / "jobs" / "unet"
    (folder / "old").mkdir(parents=True)
    shutil.copy(LOG, folder / "0.log")
    shutil.copy(FOUR, folder / "old" / "1.log")
    (folder / "2.log").write_text("step 1\n")
    handler = functools.partial(Quiet, directory=str(tmp_path / "web"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield f"http://127.0.0.1:{server.server_port}"
        tasks.close()
    server.shutdown()
    server.server_close()


def test_a_page_that_lists_files_is_a_folder(web: str) -> None:
    found = sources.find([f"{web}/jobs/"], {}).inputs
    assert {each.source for each in found} == {
        f"{web}/jobs/unet/{name}" for name in ("0.log", "2.log", "old/1.log")
    }
    sizes = {each.source.rpartition("/")[2]: each.size for each in found}
    assert sizes == {"0.log": LOG.stat().st_size, "1.log": FOUR.stat().st_size, "2.log": 7}
    with pytest.raises(MissingInput):
        sources.find([f"{web}/nothing/"], {})


def test_a_scan_reads_a_glob_once(web: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    first = scan(f"{web}/jobs/**/*.log", out, Here())
    assert (first.listed, first.incidents) == (3, 5)
    assert first.bytes == LOG.stat().st_size + FOUR.stat().st_size + 7
    shutil.copy(FOUR, tmp_path / "web" / "jobs" / "unet" / "2.log")
    again = scan(f"{web}/jobs/**/*.log", out, Here())
    if all(each.mtime for each in sources.find([f"{web}/jobs/**/*.log"], {}).inputs):
        assert (again.unchanged, again.files) == (2, 1), (
            "newer versions of fsspec say when a file was changed"
        )
    found = {row["source"]: row["incidents"] for row in Store(out).table("inputs").to_pylist()}
    assert sorted(found.values()) == [1, 4, 4]
