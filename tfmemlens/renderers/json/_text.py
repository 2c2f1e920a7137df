"""How every JSON document of ours is written."""

from __future__ import annotations

import json


def written(document: object) -> str:
    """Indented, in the input's own letters, with a final newline."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
