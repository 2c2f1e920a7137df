"""The program beside its log: found by the line that the traceback quotes, and read as code."""

from __future__ import annotations

import ast
import shutil
import textwrap
from pathlib import Path

import pytest

from tests.answers import explained
from tfmemlens import pipeline
from tfmemlens.findings.support.kept_trees import kept_by_loops
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.readers.formats import python_source
from tfmemlens.readers.gathering import program_files
from tfmemlens.readers.oom.pasted_output import pasted_output
from tfmemlens.readers.program import read_file
from tfmemlens.values import replace

SAMPLES = Path(__file__).parents[2] / "sample_traces" / "with_program"
LOG, PROGRAM = SAMPLES / "2.11-keep-features.txt", SAMPLES / "keep_features.py"
NAMED = "`feature_bank` (line 17 of keep_features.py) keeps [8,64,64,64] float32 (8.00 MiB) of"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log alone in a folder."""
    return Path(shutil.copy(LOG, tmp_path / "run.log"))


def headlines(log: Path, *others: Path) -> list[str]:
    return [finding.headline for finding in pipeline.explain([log, *others]).findings]


def test_a_program_beside_its_log_names_the_list() -> None:
    report = explained(LOG)
    assert report.findings[0].headline.startswith(NAMED)
    assert "47 blocks of that size" in report.findings[0].headline
    assert any("keep_features.py was read, too" in note.text for note in report.case.capture.notes)


def test_a_log_alone_names_no_list(log: Path) -> None:
    assert not any("feature_bank" in each for each in headlines(log))


def test_a_program_that_is_given_is_read_wherever_it_lies(log: Path) -> None:
    assert headlines(log, PROGRAM)[0].startswith(NAMED)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            ("features = encoder(images)", "features = encoder(images, training=True)"), id="edited"
        ),
        pytest.param(('"""Collects', '\n"""Collects'), id="moved by a line"),
        pytest.param(("import tensorflow as tf", "import tensorflow as ("), id="no Python"),
    ],
)
def test_a_file_that_is_not_what_ran_is_not_read(log: Path, change: tuple[str, str]) -> None:
    text = PROGRAM.read_text(encoding="utf-8")
    assert change[0] in text
    (log.parent / PROGRAM.name).write_text(text.replace(*change), encoding="utf-8")
    assert not any("feature_bank" in each for each in headlines(log))


def test_a_large_file_is_not_opened(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(PROGRAM, log.parent)
    assert headlines(log)[0].startswith(NAMED)
    monkeypatch.setattr(python_source, "LARGEST", PROGRAM.stat().st_size - 1)
    assert not any("feature_bank" in each for each in headlines(log))


def test_a_folder_of_that_name_is_no_program(log: Path) -> None:
    (log.parent / PROGRAM.name).mkdir()
    assert not any("feature_bank" in each for each in headlines(log))


def test_files_of_libraries_are_left_alone(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "somebody.py"
    library.parent.mkdir()
    library.write_text("import os\nx = 1\n", encoding="utf-8")
    capture = pipeline.capture(LOG.read_text(encoding="utf-8").replace("keep_features.py", str(library)))
    assert not program_files._frames(capture.incidents[0])


def test_what_a_program_prints_is_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "told.py"
    path.write_text(
        "import sys\n"
        'print("OOM when allocating tensor with shape[8,8] and type float on GPU by allocator GPU_0_bfc")\n',
        encoding="utf-8",
    )
    report = pipeline.explain(path)
    assert not report.case.capture.incidents
    assert "told.py is a program, and no log of it" in report.case.capture.notes[0].text


def test_a_traceback_that_quotes_code_is_no_program(tmp_path: Path) -> None:
    assert "feature_bank" not in PROGRAM.name
    path = tmp_path / "paste.txt"
    path.write_text(f"import os\n{LOG.read_text(encoding='utf-8')}", encoding="utf-8")
    assert pipeline.explain(path).case.capture.incidents


def test_statements_know_their_lines() -> None:
    report = pipeline.explain([LOG, PROGRAM])
    program = report.case.capture.surroundings.program()
    loop = next(each for each in program if isinstance(each.node, ast.For))
    append = loop.node.body[2]
    assert loop.line_of(append)[:2] == (17, "    feature_bank.append(features)")
    assert (loop.line.number, loop.line.source) == (14, "keep_features.py")
    assert not any(each.of_frame for each in program), "the file has the traceback's line, too"


def test_decorators_belong_to_their_function(tmp_path: Path) -> None:
    path = tmp_path / "step.py"
    path.write_text("import tensorflow as tf\n\n@tf.function\ndef step(x):\n    return x\n", encoding="utf-8")
    program = pipeline.explain(path).case.capture.surroundings.program()
    step = next(each for each in program if isinstance(each.node, ast.FunctionDef))
    assert [line.number for line in step.lines] == [3, 4, 5]
    assert step.line.number == 4


TWO_LOOPS = """
def collect(model, batches):
    kept = []
    for batch in batches:
        kept.append(model(batch))
    return kept

def evaluate(model, batches):
    results = []
    for batch in batches:
        results.append(model(batch))
    return results
"""


@pytest.mark.parametrize(
    ("running", "lists"),
    [
        (None, ["kept", "results"]),
        ({5}, ["kept"]),
        ({12, 99}, []),  # the loop is over by then
        ({4, 11}, ["kept", "results"]),
    ],
)
def test_of_a_file_only_loops_that_ran_keep_something(running: set[int] | None, lists: list[str]) -> None:
    lines = tuple(Line(number, text, "a.py") for number, text in enumerate(TWO_LOOPS.splitlines(), 1))
    ran = None if running is None else frozenset(running)
    program = Program(tuple(replace(each, running=ran) for each in read_file(lines)))
    found = kept_by_loops(Surroundings(program=lambda: program))
    assert [each.container for each in found] == lists


def test_lines_that_the_traceback_goes_through_are_known() -> None:
    program = explained(LOG).case.capture.surroundings.program()
    assert {each.running for each in program if each.line.source} == {frozenset({16})}


TILES = """import sys
import jax.numpy as jnp
weight = jnp.ones((8, 4000))
maps = []
for tile in range(60):
    patch = jnp.full((10000, 8), float(tile))
    heat = (patch @ weight).block_until_ready()
    maps.append(heat.mean() if "off" in sys.argv else heat)
"""
TRACEBACK = """Traceback (most recent call last):
  File "tiles.py", line 7, in <module>
    heat = (patch @ weight).block_until_ready()
jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 160000000 bytes.
"""


@pytest.mark.parametrize(
    ("kept", "named"),
    [
        ("heat.mean() if quick else heat", True),
        ("heat", True),
        ("heat.mean()", False),  # a number
        ("patch", False),  # another line makes it
    ],
)
def test_what_the_failing_line_makes_is_what_the_list_keeps(tmp_path: Path, kept: str, named: bool) -> None:
    kept_line = f"    maps.append({kept})"
    program = "\n".join([*TILES.splitlines()[:-1], kept_line, ""])
    (tmp_path / "tiles.py").write_text(program, encoding="utf-8")
    log = tmp_path / "run.log"
    log.write_text(TRACEBACK, encoding="utf-8")
    told = "`maps` (line 8 of tiles.py) keeps every result of each iteration in host RAM, and it failed where"
    assert any(each.startswith(told) for each in headlines(log)) is named


def test_the_batch_that_a_program_states_is_not_taken_for_the_one_that_ran(log: Path) -> None:
    told = "import sys\nbatch_size = 4 if 'off' in sys.argv else 64\n"
    path = log.parent / "settings.py"
    path.write_text(told + "tf.config.experimental.set_memory_growth(gpu, True)\n", encoding="utf-8")
    settings = pipeline.explain([log, path]).case.capture.surroundings.settings
    assert [name for name, *_ in settings] == ["allow_growth"]


CALLS = """\
loader = make(1)
model.fit(
    pairs(2),
    callbacks=[Say(3)],
)
model.fit(x, y,
          verbose=0, callbacks=[Say(
              4)])
other(1)
limits = (1, 2),
""".splitlines()


@pytest.mark.parametrize(
    ("number", "statement"),
    [
        (1, "loader = make(1)"),
        (2, "model.fit("),
        (3, "model.fit( pairs(2), callbacks=[Say(3)], )"),
        (4, "model.fit( pairs(2), callbacks=[Say(3)], )"),
        (5, "model.fit( pairs(2), callbacks=[Say(3)], )"),
        (6, "model.fit(x, y,"),
        (8, "model.fit(x, y, verbose=0, callbacks=[Say( 4)])"),
        (9, "other(1)"),
        (10, "limits = (1, 2),"),
    ],
)
def test_the_call_that_a_line_is_the_end_of(number: int, statement: str) -> None:
    """A line that opens a bracket is its statement's first; one without a call above it stays as it is."""
    assert program_files.whole_statement(CALLS, number) == statement
    assert program_files.whole_statement(["f(", *["a(1),"] * 18, ")"], 20) != ")"
    assert program_files.whole_statement(["f(", *["a(1),"] * 19, ")"], 21) == ")"


def test_a_line_that_is_only_named_is_read_from_the_same_file(tmp_path: Path) -> None:
    """Of a graph's function the traceback has the place without its code; of the call both."""
    code = [
        "import tensorflow as tf",
        "def step(x):",
        "    return tf.nn.conv2d(x, w, 1, 'SAME')",
        "step(images)",
    ]
    (tmp_path / "net.py").write_text("\n".join(code))
    text = (
        'Traceback (most recent call last):\n  File "net.py", line 4, in <module>\n    step(images)\n'
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:\n\n"
        "Detected at node Conv2D defined at (most recent call last):\n"
        '  File "net.py", line 4, in <module>\n\n  File "net.py", line 3, in step\n\n'
        "OOM when allocating tensor with shape[8,64,64,32] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
        "\t [[{{node Conv2D}}]] [Op:__inference_step_12]\n"
    )

    def quoted(log: str) -> str | None:
        path = tmp_path / "run.log"
        path.write_text(log)
        request = pipeline.explain([path]).case.moments[0].request
        assert request and request.failed.source == "net.py:3"
        return request.failed.source_text

    assert quoted(text) == "return tf.nn.conv2d(x, w, 1, 'SAME')"
    assert not quoted(text.replace("    step(images)\n", "    step(others)\n"))  # another file of that name


@pytest.mark.parametrize(("mark", "read"), [("# ", True), ("ERROR = ", False)])
def test_a_comment_of_a_program_that_is_read_alone_quotes_its_failure(
    tmp_path: Path, mark: str, read: bool
) -> None:
    message = (
        "RESOURCE_EXHAUSTED: Attempting to allocate 48.00M. That was not possible. There are 20.5M free."
    )
    quoted = message if read else repr(message)
    path = tmp_path / "make.py"
    path.write_text(f"import jax\n# the machine has 300 GB RAM\nstate = create()\n{mark}{quoted}\n")
    verdict = pipeline.explain(path).verdict
    assert ("48.00 MiB" in verdict) is read
    assert "host RAM" not in verdict


_RUN = (
    "Traceback (most recent call last):\n"
    '  File "fit.py", line 7, in <module>\n'
    "    sess.run(train, {x: batch})\n"
    "ResourceExhaustedError: OOM when allocating tensor with shape[48,96,96,64] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    "\t [[Node: up/conv = Conv2D[T=DT_FLOAT](up/in, up/kernel/read)]]\n"
)
_MADE = "import tensorflow as tf\nloss = build(48)\n"


@pytest.mark.parametrize(
    "program",
    [
        f"'''\nto be mended\n{_RUN}'''\n{_MADE}",
        f'{_MADE}def step():\n    """Fails:\n{textwrap.indent(_RUN, "    ")}    """\n    return loss\n',
        f"{_MADE}{textwrap.indent(_RUN, '# ')}",
        f"{textwrap.indent(_RUN, '#')}{_MADE}",
        f"{_MADE}# ends in\n# {_RUN.splitlines()[-2]}\n# at node\n#{_RUN.splitlines()[-1]}\n",
    ],
)
def test_output_that_is_pasted_into_a_program_is_its_log(tmp_path: Path, program: str) -> None:
    path = tmp_path / "fit.py"
    path.write_text(program)
    case = pipeline.explain(path).case
    request = case.moments[0].request
    assert request and request.failed.shape == (48, 96, 96, 64) and request.failed.node == "up/conv"
    assert request.failed.allocator == "GPU_0_bfc"
    assert not any("no log of it" in note.text for note in case.capture.notes)


@pytest.mark.parametrize(
    "program",
    [
        f"{_MADE}SAMPLE = '''\n{_RUN}'''\n",
        f"{_MADE}check(\n'''\n{_RUN}''')\n",
        f'{_MADE}"""Retries where it says OOM when allocating tensor with shape[8,8] and type float."""\n',
        f"{_MADE}# a batch of 64 ends in OOM when allocating tensor with shape[64,96,96,64] and type float\n",
    ],
)
def test_a_message_that_a_program_holds_as_data_or_speaks_of_is_no_log(tmp_path: Path, program: str) -> None:
    assert not pasted_output(program)
    path = tmp_path / "fit.py"
    path.write_text(program)
    assert any("no log of it" in note.text for note in pipeline.explain(path).case.capture.notes)


_COPIED = (
    "tensorflow.python.framework.errors_impl.InternalError: Failed copying input tensor from"
    " /job:localhost/replica:0/task:0/device:CPU:0 to /job:localhost/replica:0/task:0/device:GPU:0 in order"
    " to run _EagerConst: Dst tensor is not initialized.\n"
)
_OUTPUT = (
    "failed to allocate memory\n\t [[{{node net/conv2d_3/Relu}}]]\nHint: If you want to see a list of"
    " allocated tensors when OOM happens, add report_tensor_allocations_upon_oom to RunOptions.\n"
)


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        (f"{_MADE}'''\nfrom the second turn on\n{_COPIED}'''\n", "COPY"),
        (f"{_MADE}{textwrap.indent(_OUTPUT, '# ')}", "TENSOR"),
        (
            f"{_MADE}# numpy._core._ArrayMemoryError: Unable to allocate 9.31 GiB for an array with"
            " shape (100000, 12500) and data type float64\n",
            "HOST",
        ),
    ],
)
def test_a_failure_in_disguise_that_is_pasted_into_a_program_is_its_log(
    tmp_path: Path, program: str, kind: str
) -> None:
    path = tmp_path / "fit.py"
    path.write_text(program)
    request = pipeline.explain(path).case.moments[0].request
    assert request and request.failed.kind.name == kind


@pytest.mark.parametrize(
    "program",
    [
        f'{_MADE}"""Splits the array where it says Dst tensor is not initialized."""\n',
        f"{_MADE}# a larger one ends in MemoryError: Unable to allocate 9.31 GiB for an array\n",
        f"{_MADE}SAMPLE = '''\n{_COPIED}'''\n",
    ],
)
def test_a_failure_in_disguise_that_a_program_speaks_of_is_no_log(program: str) -> None:
    assert not pasted_output(program)
