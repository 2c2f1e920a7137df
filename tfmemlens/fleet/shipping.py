"""Our package for workers of somebody else's cluster that have none of it, or another version."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

from tfmemlens.fleet.extras import load

_PACKAGE = Path(__file__).parents[1]


def packed() -> bytes:
    """A zip file of the package as it is here; the same bytes for the same files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(_PACKAGE.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                name = file.relative_to(_PACKAGE.parent).as_posix()
                archive.writestr(zipfile.ZipInfo(name), file.read_bytes(), zipfile.ZIP_DEFLATED)
    return content.getvalue()


def plugin(version: str) -> Any:
    """A plugin that gives each worker this package, also those that come later; it leaves alone who has the
    version already.
    """
    content = packed()
    folder = f"tfmemlens-{version}-{hashlib.sha1(content).hexdigest()[:12]}"

    class Package(load("distributed").WorkerPlugin):  # type: ignore[misc]
        """Defined in a function: so it travels with its code, which needs nothing of ours."""

        name = folder

        def setup(self, worker: Any) -> None:
            import importlib
            import io
            import os
            import sys
            import zipfile

            try:
                if importlib.import_module("tfmemlens").__version__ == version:
                    return
            except ImportError:
                pass
            place = os.path.join(worker.local_directory, folder)
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                archive.extractall(place)
            sys.path.insert(0, place)
            for module in list(sys.modules):
                if module.partition(".")[0] == "tfmemlens":
                    del sys.modules[module]
            importlib.invalidate_caches()

    return Package()
