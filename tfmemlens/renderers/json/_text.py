"""How every JSON document of ours is written."""

from __future__ import annotations

import json

from tfmemlens.escaping import in_json


def written(document: object) -> str:
    """Indented, in the input's own letters but for those that command a terminal, with a final newline."""
    return in_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"
