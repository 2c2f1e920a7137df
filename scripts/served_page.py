"""A page as a browser's own screenshot sees it: that is taken when everything is loaded, and a report draws
itself a moment later. So the page is served in a frame, beside a picture that arrives when the page is ready.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_PATIENCE = 30.0
"""Seconds; what is not drawn by then is shown as it is."""
_AROUND = b"""<!doctype html>
<style>body{margin:0}iframe{border:0;display:block;width:100vw;height:100vh}</style>
<iframe src="page"></iframe><img src="late" style="display:none"><script>
const asked = setInterval(() => {
  const root = document.querySelector("iframe").contentDocument?.documentElement;
  if (!root?.dataset.ready) return;
  clearInterval(asked);
  fetch(`ready/${root.scrollWidth}`);
}, 100);
</script>"""


class Served:
    """Where the page is, and what was seen of it."""

    def __init__(self, page: Path) -> None:
        self.page = page.read_bytes()
        self.ready = threading.Event()
        self.pixels: int | None = None
        """The width that the page needs, None where it was not drawn."""
        self.address = ""


@contextmanager
def served(page: Path) -> Iterator[Served]:
    """Serve a page on this machine alone while the block runs."""
    told = Served(page)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, _, rest = self.path.strip("/").partition("/")
            if name == "ready":
                told.pixels = int(rest)
                told.ready.set()
            elif name == "late":
                told.ready.wait(_PATIENCE)
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write({"": _AROUND, "page": told.page}.get(name, b""))

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.address = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
