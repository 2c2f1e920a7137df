"""The programs that JAX has compiled, asked for when one of them fails: XLA's own account of what each needs,
with the scopes and source lines of what it computes.
"""

import base64
import linecache
import re
from typing import Any, Dict, List, Optional, Tuple

from .bundle import Bundle
from .living import is_users

KEY, NAME = "tfmemlens_programs", "programs.json"
_MOST, _MOST_ASKED, _MOST_LINES = 3, 500, 400
_MOST_BYTES = 16 << 20
_REQUESTED = re.compile(r"(?:allocating|trying to allocate) (\d+(?:\.\d+)?) ?(bytes|[KMGT]iB)")
_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_FILES = re.compile(r"^FileNames\n((?:\d+ .*\n)*)", re.MULTILINE)
_FILE = re.compile(r'^(\d+) "(.*)"$', re.MULTILINE)
_PLACE = re.compile(r"\{file_name_id=(\d+) function_name_id=\d+ line=(\d+)")


def save(jax: Any, message: str, bundle: Bundle) -> bool:
    """Write the programs that may have asked for what the message names; whether there was one."""
    requested = _bytes_of(message)
    told: List[Dict[str, Any]] = []
    for executable, stats in _likeliest(jax, requested):
        module = executable.hlo_modules()[0]
        row = _row(module, stats)
        if row is not None:
            told.append(row)
    asked = requested[0] if requested else None
    return bool(told) and bundle.write_json(NAME, {KEY: 1, "requested": asked, "programs": told})


def _bytes_of(message: str) -> Optional[Tuple[int, int]]:
    """The least and the most bytes that a message tells of: `8.08GiB` is rounded (jax 0.11 on a GPU)."""
    match = _REQUESTED.search(message)
    if match is None:
        return None
    figure, unit = match.group(1), _UNITS[match.group(2)]
    digits = len(figure.partition(".")[2])
    error = 0 if unit == 1 else unit * 0.5 / 10**digits + 256
    return int(float(figure) * unit - error), int(float(figure) * unit + error)


def _likeliest(jax: Any, requested: Optional[Tuple[int, int]]) -> List[Tuple[Any, Any]]:
    """Programs whose temporaries are the request, else whose results may be; of equals the one that was
    compiled first, for later ones wait for its result.
    """
    ranked = []
    client = jax.devices()[0].client
    for age, executable in enumerate(client.live_executables()[:_MOST_ASKED]):
        stats = executable.get_compiled_memory_stats()
        temporary, results = stats.temp_size_in_bytes, stats.output_size_in_bytes
        if requested is None or requested[0] <= temporary <= requested[1]:
            rank = (0, -temporary)
        elif results >= requested[0]:
            rank = (1, results - requested[0])
        elif temporary + results > requested[0] // 2:
            rank = (2, -temporary)
        else:
            continue
        ranked.append((rank, -age, executable, stats))
    ranked.sort(key=lambda each: each[:2])
    return [(executable, stats) for _, _, executable, stats in ranked[:_MOST]]


def _row(module: Any, stats: Any) -> Optional[Dict[str, Any]]:
    """The program as XLA's HloProto (hlo.proto): the module is its first field, the buffers its third; XLA of
    a GPU gives none (measured: jax 0.11), and the module alone is kept.
    """
    raw = module.as_serialized_hlo_module_proto()
    buffers = getattr(stats, "serialized_buffer_assignment_proto", b"")
    if len(raw) + len(buffers) > _MOST_BYTES:
        return None
    proto = b"\x0a" + _varint(len(raw)) + raw
    if buffers:
        proto += b"\x1a" + _varint(len(buffers)) + buffers
    return {
        "name": str(module.name),
        "temporary_bytes": int(stats.temp_size_in_bytes),
        "lines": _lines(module.to_string()),
        "hlo_proto": base64.b64encode(proto).decode("ascii"),
    }


def _lines(text: str) -> Dict[str, str]:
    """The user's own lines that the program was made of: `train.py:30` and what stands there."""
    files = _FILES.search(text)
    names = {int(number): name for number, name in _FILE.findall(files.group(1))} if files else {}
    lines: Dict[str, str] = {}
    for number, line in _PLACE.findall(text):
        file = names.get(int(number), "")
        if len(lines) < _MOST_LINES and is_users(file):
            lines["%s:%s" % (file, line)] = linecache.getline(file, int(line)).strip()[:200]
    return lines


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
