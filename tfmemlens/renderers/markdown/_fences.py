"""Code as a block of Markdown, named by its language so that GitHub colours it."""

from __future__ import annotations

import ast

from tfmemlens.patterns import regex

_COMMAND = regex(
    r"(?:\$ )?(?:[A-Z][A-Z0-9_]*=\S* +)*"
    r"(?:export [A-Z]|(?:sudo|pip|conda|python3?|tfmemlens|nvidia-smi|rocm-smi|docker|kubectl|kill|free|ps"
    r"|dmesg|ulimit|watch|git|npm|setx|swapon|systemctl|tensorflow_model_server|top|node|java|mpirun|sbatch"
    r"|srun)(?=\s*$|\s+[^\s=(\[]))"
)
"""How a shell's line begins: variables for one program, then the program with its arguments."""

_TICKS = regex("`+")


def fenced(code: str, indent: str = "") -> list[str]:
    """The block's lines."""
    return [f"{indent}{line}" for line in block(code, language(code))]


def block(text: str, called: str) -> list[str]:
    """The text between fences that no line of its own can close."""
    fence = "`" * max(3, longest_ticks(text) + 1)
    return [f"{fence}{called}", *text.split("\n"), fence]


def longest_ticks(text: str) -> int:
    """The longest run of backticks: what stands around the text needs one more."""
    return max(map(len, _TICKS.findall(text)), default=0)


def language(code: str) -> str:
    """`sh`, `python`, or `text` for what is neither, or both."""
    lines = [line for line in code.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    commands = [bool(_COMMAND.match(line)) for line in lines]
    if any(commands):
        return "sh" if all(commands) else "text"
    return "python" if _is_python(code) else "text"


def _is_python(code: str) -> bool:
    """Whether it parses; a snippet may end in a head or a decorator, whose body is the reader's."""
    return any(_parses(code + rest) for rest in ("", "\n    pass", "\ndef step():\n    pass"))


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return True
