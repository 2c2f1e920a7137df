"""A script that starts a program is no code of the user's; an installed program is called what it is."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered
from tfmemlens.knowledge.stack_frames import project_frame, user_frame
from tfmemlens.renderers.terminal import report as terminal

SITE = "/home/u/.local/lib/python3.10/site-packages"
START = '  File "/home/u/.local/bin/{script}", line 8, in <module>\n    sys.exit(main())\n'
FRAMES = (
    "Traceback (most recent call last):\n" + START.format(script="weather")
    + f'  File "{SITE}/weathernet/model.py", line 114, in run\n    return self.model(x)\n'
    f'  File "{SITE}/jax/_src/traceback_util.py", line 179, in reraise\n    return fun(*args, **kwargs)\n'
)  # fmt: skip
ASKED = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 2.99GiB"
    " (3206250496B) on device ordinal 0\n"
)
VMEM = (
    "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of"
    " memory in memory space vmem. Used 29.96M of 16.00M vmem. Exceeded vmem capacity by 13.96M.\n"
)


@pytest.mark.parametrize(
    ("place", "own"),
    [
        ("/home/u/.local/bin/ai-models:8", False),
        ("/opt/venv/bin/train", False),
        (r"C:\env\Scripts\train.exe\__main__.py:7", False),
        ("/home/u/bin/train.py:8", True),
        ("/home/u/bin/nets/train.py", True),
        ("bin/run.sh.py:3", True),
    ],
)
def test_console_scripts_are_not_the_users_own(place: str, own: bool) -> None:
    assert user_frame(place) is own


@pytest.mark.parametrize(
    ("package", "own"), [("weathernet", True), ("jax", False), ("haiku", False), ("transformers", False)]
)
def test_programs_that_are_installed_are_told_from_libraries(package: str, own: bool) -> None:
    assert project_frame(f"{SITE}/{package}/model.py:3") is own
    assert not project_frame(f"/home/u/{package}/model.py:3")


def test_the_installed_program_is_the_place_where_no_code_is_the_users() -> None:
    page = explained(FRAMES + ASKED)
    screen = terminal.render(page)
    assert "called in: " in screen and "weathernet/model.py:114 `return self.model(x)`" in screen
    assert "your code" not in screen and "sys.exit" not in screen
    pieces = next(action.remedy for action in page.actions if action.remedy.slug == "in-pieces")
    assert pieces.text.startswith("`weathernet` calls its program there") and pieces.code is None


def test_a_line_of_the_users_own_stays_the_place() -> None:
    own = START.format(script="weather").replace("/home/u/.local/bin/weather", "/home/u/run.py")
    assert "your code: /home/u/run.py:8" in terminal.render(
        explained(FRAMES.replace(START.format(script="weather"), own) + ASKED)
    )


@pytest.mark.parametrize(("code", "mapped"), [("for x in xs: y = f(x)", True), ("y = f(x)", False)])
def test_rows_are_taken_in_parts_where_the_text_goes_over_rows(code: str, mapped: bool) -> None:
    text = f'Traceback (most recent call last):\n  File "run.py", line 3, in <module>\n    {code}\n{ASKED}'
    assert "in-pieces" in offered(text)
    pieces = next(each.remedy for each in explained(text).actions if each.remedy.slug == "in-pieces")
    assert bool(pieces.code) is mapped


@pytest.mark.parametrize(("needed", "mistaken"), [("3.47E", True), ("64.0G", False)])
def test_nobody_cuts_a_call_into_millions_of_parts(needed: str, mistaken: bool) -> None:
    text = (
        "jax on a TPU\nAborting compilation early because it's unlikely to have enough memory."
        f" Requires {needed}, has 14.49G available.\n"
    )
    said = " ".join(action.remedy.text for action in explained(text).actions)
    assert ("most likely a size is a mistake" in said) is mistaken
    assert "1/536870912" not in said


def test_the_op_that_the_traceback_ends_in_is_named() -> None:
    frames = (
        'Traceback (most recent call last):\n  File "/home/u/run.py", line 83, in <module>\n'
        "    ids = model.generate(**inputs)\n"
        f'  File "{SITE}/transformers/generation/utils.py", line 1387, in _pos\n'
        "    at = torch.ones_like(ids[0, :], dtype=torch.int64).{op}(0) - 1\n"
    )
    torch = "torch_xla on v3-8\n"
    assert (
        "the traceback ends in `cumsum` (generation/utils.py:1387)"
        in explained(torch + frames.replace("{op}", "cumsum") + VMEM).verdict
    )
    assert "the traceback ends in" not in explained(torch + frames.replace("{op}", "view") + VMEM).verdict
