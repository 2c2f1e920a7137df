"""Python imports this at its start when `tfmemlens run --trace` put its folder first on PYTHONPATH. It hands
on to the `sitecustomize` that it stands before, and takes its folder off `sys.path`. Any Python can parse it.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _hand_on():
    """Import the module of this name that would have been found without us."""
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != _HERE]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", None) not in ("sitecustomize", None):
            raise
        if own is not None:
            sys.modules["sitecustomize"] = own


def _start():
    """Load the recorder next to our folder under a name that no program uses."""
    from importlib import import_module, util

    folder = os.path.dirname(_HERE)
    spec = util.spec_from_file_location(
        "_tfmemlens_inside", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    package = util.module_from_spec(spec)
    sys.modules["_tfmemlens_inside"] = package
    spec.loader.exec_module(package)
    import_module("_tfmemlens_inside.start").start(os.environ)


try:
    _hand_on()
finally:
    if sys.version_info >= (3, 6) and os.environ.get("TFMEMLENS_RUN_DIR"):
        try:
            _start()
        except Exception:
            sys.modules.pop("_tfmemlens_inside", None)
