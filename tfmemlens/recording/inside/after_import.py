"""Change a module right after it was imported, whoever imports it and whenever."""

import functools
import inspect
import sys
from typing import Any, Callable, Dict, Optional, cast

Patch = Callable[[Any], Any]


class Finder:
    """Stands first on `sys.meta_path`, finds the modules that are waited for as the others would, and sees
    them once.
    """

    def __init__(self, patches: Dict[str, Patch]) -> None:
        self._waiting = dict(patches)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec that the other finders have, with a loader that patches after it."""
        patch = self._waiting.pop(name, None)
        if patch is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = cast(Any, _Loader(spec, patch))
                return spec
        return None

    def invalidate_caches(self) -> None:
        """Nothing is cached."""


class _Loader:
    """The module's own loader, after which the module is patched; the module does not see us."""

    def __init__(self, spec: Any, patch: Patch) -> None:
        self._loader, self._patch = spec.loader, patch

    def create_module(self, spec: Any) -> Any:
        create = getattr(self._loader, "create_module", None)
        return create(spec) if create else None

    def exec_module(self, module: Any) -> None:
        spec = getattr(module, "__spec__", None)
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._patch(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def stands_for(function: Any, original: Any) -> Any:
    """The function with the original's name and signature: Keras of TensorFlow 1.10 asks for its own
    functions' arguments before it calls them.
    """
    functools.update_wrapper(function, original)
    try:
        function.__signature__ = inspect.signature(original)
    except (TypeError, ValueError):  # one that is not Python's
        pass
    return function


class Namespace:
    """A module with some of its names replaced, for those who know it by this one."""

    def __init__(self, module: Any, **replaced: Any) -> None:
        self._module = module
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def watch(patches: Dict[str, Patch]) -> Finder:
    """Patch these modules when they are imported, or now where they have been."""
    waiting = {}
    for name, patch in patches.items():
        module: Optional[Any] = sys.modules.get(name)
        if module is not None:
            patch(module)
        else:
            waiting[name] = patch
    finder = Finder(waiting)
    sys.meta_path.insert(0, finder)
    return finder
