"""What runs inside the user's process: here a process with a TensorFlow of a few lines."""

from __future__ import annotations

import base64
import functools
import gc
import inspect
import json
import subprocess
import sys
import threading
import time
import types
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tfmemlens.model.live_model import OF_A_TAPE
from tfmemlens.recording.beside import recorded
from tfmemlens.recording.inside import (
    after_import,
    bundle,
    function_constants,
    graphs,
    inputs,
    keras_models,
    living,
    programs,
    recorded_steps,
    recorder,
    session_graphs,
)

SESSION = """
class config_pb2:
    class RunOptions:
        SOFTWARE_TRACE, NO_TRACE = 1, 0
        def __init__(self, **options): self.options = options
        def SerializeToString(self): return repr(sorted(k for k, v in self.options.items() if v)).encode()
class BaseSession:
    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        told = options.SerializeToString() if options else b""
        print(len(told) > 40, end=" ")
        if fetches == "fail":
            raise MemoryError("OOM when allocating tensor")
        if run_metadata:
            run_metadata.ParseFromString(b"metadata of " + fetches.encode())
"""
FILES = {
    "tensorflow/__init__.py": "from tensorflow.python.client import session\n__version__ = '1.15.0'\n",
    "tensorflow/python/__init__.py": "",
    "tensorflow/python/client/__init__.py": "",
    "tensorflow/python/client/session.py": SESSION,
}
GRAPHS = """
import types, sys
class Context:
    _context_handle, log = 1, []
    def enable_run_metadata(self): self.log.append("on")
    def disable_run_metadata(self): self.log.append("off")
    def export_run_metadata(self):
        self.log.append("read")
        return types.SimpleNamespace(partition_graphs=[])
def names(**known): return types.SimpleNamespace(**known)
context = Context()
sys.modules["tensorflow.python.eager.context"] = names(_context=context)
sys.modules["tensorflow.python.ops.summary_ops_v2"] = names(_current_trace_context=TRACED)
from tfmemlens.recording.inside.function_graphs import Collector
own = Collector(None)
own.open(); own.close(); own.close()
print(context.log)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with a small TensorFlow beside the program."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "bundle").mkdir()
    return tmp_path


def run(folder: Path, code: str, every: int | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(code)
    known = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder), **more}
    return subprocess.run(
        [sys.executable, "train.py"],
        cwd=folder,
        env=recorded.environment(known, str(folder / "bundle"), every),
        capture_output=True,
        text=True,
        timeout=60,
    )


def bundle_of(folder: Path) -> dict[str, str]:
    place = folder / "bundle"
    return {str(file.relative_to(place)): file.read_text() for file in place.rglob("*") if file.is_file()}


STEPS = """
import tensorflow as tf
session = tf.session.BaseSession()
for _ in range(7): session.run("train")
session.run("train", options=tf.session.config_pb2.RunOptions(mine=1))
"""


def test_every_run_asks_for_the_list_and_every_third_for_its_allocations(program: Path) -> None:
    ended = run(program, STEPS, every=3)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split() == ["False", "True", "True", "False", "False", "True", "False", "False"]
    kept = bundle_of(program)
    assert {name for name in kept if name.startswith("step")} == {"step-0000003.pb", "step-0000006.pb"}
    assert kept["step-0000006.pb"] == "metadata of train"
    record = json.loads(kept["recorder.json"])
    assert (record["versions"]["tensorflow"], record["steps"], record["traced_steps"]) == (
        "1.15.0", {"train": 7}, 3,
    )  # fmt: skip


@pytest.mark.parametrize(
    "version, lists",
    [("1.14.0", True), ("1.15.0", False), ("2.3.1", False), ("2.4.0", True), ("unknown", True)],
)
def test_no_list_is_asked_for_where_it_may_decide_about_a_crash(
    program: Path, version: str, lists: bool
) -> None:
    (program / "tensorflow/python/framework").mkdir()
    (program / "tensorflow/python/framework/versions.py").write_text(f"VERSION = {version!r}\n")
    told = SESSION.replace(
        "repr(sorted(k for k, v in self.options.items() if v)).encode()", "(print(self.options), b'')[1]"
    )
    (program / "tensorflow/python/client/session.py").write_text(
        "import tensorflow.python.framework.versions\n" + told
    )
    ended = run(program, "import tensorflow as tf\ns = tf.session.BaseSession()\ns.run('a')\ns.run('a')\n")
    assert ended.stderr == ""
    plain, traced = (line for line in ended.stdout.splitlines() if "{" in line)
    for options in (plain, traced):
        assert f"'report_tensor_allocations_upon_oom': {lists}" in options
    assert ("'trace_level': 0" in plain, "'trace_level': 1" in traced) == (True, True)


class RunOptions:
    SOFTWARE_TRACE, NO_TRACE = 1, 0

    def __init__(self, **options: Any) -> None:
        self.options = options


class Graph:
    """Of ops of these types."""

    def __init__(self, *types: str) -> None:
        self.types, self.asked = list(types), 0

    @property
    def version(self) -> int:
        return len(self.types)

    def get_operations(self) -> list[Any]:
        self.asked += 1
        return [SimpleNamespace(type=each) for each in self.types]


@pytest.mark.parametrize("version, of_loops", [((1, 12), False), ((1, 13), True), ((2, 4), True)])
def test_old_versions_are_asked_for_nothing_where_a_graph_has_loops(
    tmp_path: Path, version: tuple[int, int], of_loops: bool
) -> None:
    runs = graphs.Runs(recorder.Recorder(str(tmp_path), {}, None), RunOptions, None, version)
    graph = Graph("MatMul", "Add")
    session = types.new_class("Session")()
    session.graph = graph
    assert runs._begin(["train"], session) is False
    assert runs.options(due=False).options["report_tensor_allocations_upon_oom"] is True
    assert runs.lists(graph) and runs.lists(graph) and graph.asked == (version < (1, 13))
    graph.types.append("Enter")
    runs._begin(["train"], session)
    assert runs.options(due=True).options["report_tensor_allocations_upon_oom"] is of_loops
    assert runs.listed(graph).options["report_tensor_allocations_upon_oom"] is of_loops
    assert runs.lists(None) is of_loops


class Callables:
    """A Keras function as TensorFlow 1.15 has it, as far as its callable goes."""

    def __init__(self, *given: tuple[str, str]) -> None:
        self.run_options: Any = None
        self._callable_fn: Any = "made before"
        self._feed_symbols = [SimpleNamespace(dtype=symbol) for symbol, _ in given]
        self._symbol_vals = [SimpleNamespace(dtype=value) for _, value in given]


def test_the_second_run_alone_of_a_keras_function_has_a_callable_that_traces() -> None:
    function = Callables(("float32", "float32"))
    once, seen = graphs.TracedOnce(function, "traced"), []
    for _ in range(4):
        once.ran()
        seen.append((function.run_options, function._callable_fn))
        function._callable_fn = function._callable_fn or "made anew"
    assert seen == [("traced", None), (None, None), (None, "made anew"), (None, "made anew")]


def test_a_callable_that_would_add_a_cast_is_not_made_anew() -> None:
    function = Callables(("float32", "float64"))
    once = graphs.TracedOnce(function, "traced")
    for _ in range(3):
        once.ran()
    assert (function.run_options, function._callable_fn) == (None, "made before")


@pytest.mark.parametrize(
    "careful, sizes, due",
    [
        (True, (10, 16, 16), [False, False, True]),
        (False, (10, 16, 16), [False, True, False]),
        (True, (10, 15, 16), [False, True, False]),  # each is given more: the first that is little more
        (True, (10, 15, 15), [False, True, True]),
    ],
)
def test_where_a_crash_threatens_only_what_ran_before_is_traced(
    tmp_path: Path, careful: bool, sizes: tuple[int, ...], due: list[bool]
) -> None:
    own = recorder.Recorder(str(tmp_path), {}, None)
    own._next = 0.0 if careful else float("inf")
    assert [own.begins("step", size, careful) for size in sizes] == due


def test_a_failure_looks_as_it_does_without_us(program: Path) -> None:
    code = 'import tensorflow as tf\ntf.session.BaseSession().run("fail")\n'
    recorded_run = run(program, code)
    (program / "plain").mkdir()
    plain = subprocess.run(
        [sys.executable, "train.py"], cwd=program, capture_output=True, text=True, timeout=60, check=False
    )
    assert recorded_run.stderr == plain.stderr
    assert recorded_run.returncode == plain.returncode == 1


def test_a_session_that_is_not_known_is_left_alone_and_noted(program: Path) -> None:
    other = SESSION.replace("options=None, run_metadata=None", "options=None").replace(
        "run_metadata", "feed_dict"
    )
    (program / "tensorflow/python/client/session.py").write_text(other)
    ended = run(program, STEPS)
    assert (ended.returncode, ended.stdout.split()) == (0, ["False"] * 8)
    assert "another Session.run" in bundle_of(program)["recorder.json"]


def test_the_users_own_sitecustomize_runs_and_our_folder_is_not_on_the_path(program: Path) -> None:
    (program / "sitecustomize.py").write_text("print('theirs')\n")
    ended = run(program, "import sys, sitecustomize; print(sitecustomize.__file__, sys.path)")
    first, second = ended.stdout.splitlines()
    assert first == "theirs"
    assert second.startswith(str(program / "sitecustomize.py"))
    assert recorded.STARTUP not in second
    assert bundle_of(program) == {}


def test_a_folder_that_is_gone_hurts_nobody(program: Path) -> None:
    (program / "bundle").rmdir()
    ended = run(program, STEPS)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_ranks_and_further_processes_have_folders_of_their_own(program: Path) -> None:
    fork = "import os\nchild = os.fork()\n" + STEPS + "if child: os.waitpid(child, 0)\n"
    assert run(program, fork, OMPI_COMM_WORLD_RANK="").returncode == 0
    names = sorted(name.partition("-")[0] for name in bundle_of(program) if name.endswith("recorder.json"))
    assert names == ["process", "recorder.json"]


def test_a_rank_that_the_run_itself_is_not_has_a_folder(program: Path) -> None:
    assert run(program, "import os\nos.environ['RANK'] = '3'\n" + STEPS).returncode == 0
    assert "rank-3/recorder.json" in bundle_of(program)


def test_small_steps_push_no_training_step_out(tmp_path: Path) -> None:
    own = bundle.Bundle(str(tmp_path))
    kept = [own.keep_trace(step, bytes(size), ".pb") for step, size in enumerate([10, 900, 20, 800, 700])]
    assert kept == [True, True, False, True, True]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["step-0000003.pb", "step-0000004.pb"]


@pytest.mark.parametrize(
    ("kinds", "left"),
    [
        (["train", "train", "train"], [1, 2]),  # the first was traced anew: its record is long
        (["train", "read", "train"], [0, 2]),
        (["train", "read", "read"], [0]),
    ],
)
def test_a_later_step_of_the_same_kind_replaces_a_larger_record(
    kinds: list[str], left: list[int], tmp_path: Path
) -> None:
    own = bundle.Bundle(str(tmp_path))
    for step, (kind, size) in enumerate(zip(kinds, [9000, 90, 90], strict=True)):
        own.keep_trace(step, bytes(size), ".pb", kind=kind)
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"step-{step:07}.pb" for step in left]


@pytest.mark.parametrize(
    ("told", "rank"),
    [
        ({"OMPI_COMM_WORLD_RANK": "2"}, "2"),
        ({"SLURM_PROCID": "0"}, None),
        ({"SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, "1"),
        ({"TF_CONFIG": '{"task": {"type": "worker", "index": 1}}'}, "worker-1"),
        ({"TF_CONFIG": "{"}, None),
        ({"TF_CONFIG": '{"task": {"type": "../x", "index": 1}}'}, None),
        ({}, None),
    ],
)
def test_the_rank_is_what_the_launcher_says(told: dict[str, str], rank: str | None) -> None:
    assert bundle.rank_of(told) == rank


class EagerTensor:
    """Looks like TensorFlow's."""

    __module__ = "tensorflow.python.framework.ops"

    def __init__(self, *shape: int) -> None:
        self.shape = shape
        self.dtype = type("DType", (), {"name": "float32", "size": 4})


AS_LONG_AS_IT_TAKES = 900.0
"""Seconds: a process that runs many tests has millions of objects, and may share its processor."""

history: dict[str, list[EagerTensor]] = {"loss": []}


@pytest.fixture(autouse=True)
def _all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(living, "MAX_OBJECTS", 10**9)


def test_tensors_are_named_by_the_container_that_holds_them() -> None:
    for _ in range(3):
        history["loss"].append(EagerTensor(8, 16))
    kept = {"a": (EagerTensor(2, 2), 1)}
    told = living.living(seconds=AS_LONG_AS_IT_TAKES)
    big, small = (
        next(group for group in told["groups"] if group["shape"] == shape) for shape in ([8, 16], [2, 2])
    )
    assert (big["count"], big["bytes"]) == (3, 3 * 8 * 16 * 4)
    holder = big["held_by"][0]
    assert (holder["name"], holder["kind"], holder["count"]) == ("history['loss']", "list", 3)
    source = Path(__file__).read_text().splitlines()
    assert source[holder["line"] - 1].strip() == 'history["loss"].append(EagerTensor(8, 16))'
    assert small["held_by"][0]["name"] == "kept['a']"
    assert kept


class GradientTape:
    """Looks like TensorFlow's; what it recorded hangs on `_tape`."""

    __module__ = "tensorflow.python.eager.backprop"

    def __init__(self) -> None:
        self._tape: object | None = object()

    def __enter__(self) -> GradientTape:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_the_recorder_and_its_reader_call_a_tape_the_same() -> None:
    assert living.TAPE == OF_A_TAPE


@pytest.mark.parametrize(("open_still", "kind"), [(True, "gradient tape"), (False, "tuple")])
def test_what_no_name_leads_to_is_an_open_tapes(open_still: bool, kind: str) -> None:
    """TensorFlow's functions of the backward pass hold tuples, and nothing of Python's holds those."""
    loose = object.__new__(type("Loose", (), {"__slots__": ("kept",), "__module__": "tensorflow.core"}))
    loose.kept = (EagerTensor(6, 5, 4), EagerTensor(6, 5, 4))  # type: ignore[attr-defined]
    with GradientTape() as recorder:
        if not open_still:
            recorder._tape = None
        told = living.living(seconds=AS_LONG_AS_IT_TAKES)
    (group,) = (each for each in told["groups"] if each["shape"] == [6, 5, 4])
    (holder,) = group["held_by"]
    assert (holder["name"], holder["kind"], holder["count"]) == (None, kind, 2)
    assert ("line" in holder) is open_still
    if open_still:
        source = Path(__file__).read_text().splitlines()
        assert source[holder["line"] - 1].strip() == "with GradientTape() as recorder:"


@functools.lru_cache(maxsize=4)
def remembered(at: int) -> tuple[EagerTensor, int]:
    return EagerTensor(9, 9, 9), at


def test_what_a_function_remembers_is_named_after_it() -> None:
    for at in range(6):
        remembered(at)
    (group,) = (
        each for each in living.living(seconds=AS_LONG_AS_IT_TAKES)["groups"] if each["shape"] == [9, 9, 9]
    )
    (holder,) = group["held_by"]
    assert (holder["name"], holder["count"]) == ("remembered()", 4)
    source = Path(__file__).read_text().splitlines()
    assert source[holder["line"] - 1].startswith("def remembered(")
    remembered.cache_clear()


@pytest.mark.parametrize(
    ("library", "name"), [("IPython.core.autocall", "kept"), ("shop.stock", "leaver._ns")]
)
def test_a_notebooks_own_objects_lead_nowhere(
    monkeypatch: pytest.MonkeyPatch, library: str, name: str
) -> None:
    """IPython's `exit` knows the shell, and that all names of the cells."""
    shell, program = type("Shell", (), {"__module__": library})(), types.ModuleType("__main__")
    shell._ns = {"kept": EagerTensor(5, 7)}
    vars(program).update(leaver=shell, **shell._ns)
    monkeypatch.setattr(living, "gc", SimpleNamespace(get_objects=list, get_referents=gc.get_referents))
    monkeypatch.setitem(sys.modules, "__main__", program)
    (group,) = (
        each for each in living.living(seconds=AS_LONG_AS_IT_TAKES)["groups"] if each["shape"] == [5, 7]
    )
    assert [holder["name"] for holder in group["held_by"]] == [name]


def test_looking_for_tensors_ends_in_time() -> None:
    history["loss"] = [EagerTensor(1)]
    assert living.living(seconds=0.0)["complete"] is False


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError(), True),
        (RuntimeError("OOM when allocating tensor with shape[2]"), True),
        (type("XlaRuntimeError", (Exception,), {})("INVALID_ARGUMENT: no"), False),
        (type("XlaRuntimeError", (Exception,), {})("RESOURCE_EXHAUSTED: Out of memory"), True),
        (
            type("InvalidArgumentError", (Exception,), {})("Cannot parse tensor from proto: dtype: DT_INT8"),
            True,
        ),
        (type("InvalidArgumentError", (Exception,), {})("Cannot parse the feed"), False),
        (ValueError("no such layer"), False),
    ],
)
def test_which_failures_are_for_memory(error: Exception, told: bool) -> None:
    assert recorder.is_for_memory(error) is told


def test_nothing_is_described_where_nothing_lives() -> None:
    assert keras_models.describe([]) == {"tfmemlens_model": 1, "models": [], "variables": []}


@pytest.mark.parametrize(
    "traced, log", [("None", "['on', 'read', 'off']"), ("'by the program'", "[]")], ids=["ours", "theirs"]
)
def test_graphs_are_collected_unless_the_program_does(traced: str, log: str) -> None:
    code = GRAPHS.replace("TRACED", traced)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.stdout.strip(), ended.stderr) == (log, "")


class Spec:
    dtype = "float32"

    def __init__(self, *shape: int | None) -> None:
        self.shape = shape


class Data:
    """Keras's adapter, and a data set with a batch somewhere behind it."""

    def __init__(self, batch_size: int | None, behind: int = 0) -> None:
        self.batch_size = batch_size
        self._dataset: object = self
        if behind:
            batched = SimpleNamespace(_batch_size=SimpleNamespace(numpy=lambda: behind))
            self._dataset = SimpleNamespace(_input_dataset=SimpleNamespace(_input_dataset=batched))


@pytest.mark.parametrize(
    "args, adapter, told",
    [
        ((Spec(8, 3), Spec(8)), None, {"inputs": [[8, 3], [8]], "batch": 8}),
        ((Spec(8, 3), Spec(4)), None, {"inputs": [[8, 3], [4]], "batch": None}),
        (([{"x": Spec(8, 3)}],), None, {"inputs": [[8, 3]], "batch": 8}),
        ((SimpleNamespace(element_spec=(Spec(None, 3), Spec(None)), get_next=None),), Data(32),
         {"inputs": [[None, 3], [None]], "batch": 32, "ahead": True}),
        ((SimpleNamespace(element_spec=(Spec(None, 3), Spec(None))),), Data(32),
         {"inputs": [[None, 3], [None]], "batch": 32}),
        ((), Data(None, behind=16), {"inputs": [], "batch": 16}),
        ((), None, {}),
        ((1, "two"), None, {}),
    ],
)  # fmt: skip
def test_the_batch_of_a_call(args: tuple[Any, ...], adapter: Data | None, told: dict[str, Any]) -> None:
    def call(args: tuple[Any, ...]) -> dict[str, Any]:
        return inputs.of_call(0)

    epoch_iterator = adapter and SimpleNamespace(data_adapter=adapter)
    types = {"types": ["float32"] * len(told["inputs"])} if told else {}
    assert call(args) == {**told, **types}
    del epoch_iterator


def test_lists_that_are_fed_are_one_array_of_the_placeholders_type() -> None:
    """`feed_dict={x: [each.frame for each in sample]}`."""

    def call(feed_dict: Any) -> tuple[dict[str, Any], int]:
        return inputs.of_call(0), inputs.bytes_of_call(0)

    frame = SimpleNamespace(shape=(5, 5), dtype=SimpleNamespace(name="float64", itemsize=8))
    key = SimpleNamespace(dtype=SimpleNamespace(base_dtype=SimpleNamespace(name="float32", size=4)))

    class Key:
        dtype = key.dtype

    pairs = namedtuple("pairs", "indices values")
    told, size = call({Key(): [frame] * 3, Key(): [[1, 2], [3, 4], [5, 6]], Key(): 0.5})
    assert told == {"inputs": [[3, 5, 5], [3, 2]], "types": ["float32"] * 2, "batch": 3}
    assert size == 3 * 25 * 4 + 6 * 4 + 4
    assert inputs.shape_of(pairs(frame, frame)) is None is inputs.shape_of([]) is inputs.shape_of("x")


def test_the_bytes_of_a_call() -> None:
    def call(args: Any = None, feed_dict: Any = None) -> int:
        return inputs.bytes_of_call(0)

    array = SimpleNamespace(shape=(8, 3), dtype=SimpleNamespace(itemsize=8))
    tensor = SimpleNamespace(shape=(8,), dtype=SimpleNamespace(size=4))
    variable = SimpleNamespace(shape=(9,), dtype=SimpleNamespace(size=4), assign=None)
    assert call(([array, {"y": tensor}], 3, variable)) == 8 * 3 * 8 + 8 * 4
    assert call(feed_dict={"x": array}) == 192
    assert call((Spec(8, 3),)) == 0  # a type that is not known
    assert call(([tensor] * 300,)) == 195 * 32  # no more than so many parts are looked at


@pytest.mark.parametrize(
    "sizes, traced",
    [
        ([100, 100, 199, 200, 399, 400], [1, 3, 5]),
        ([900, 100, 100, 900], [1, 3]),
        ([0, 0, 0, 900], [1]),  # an iterator gives them
    ],
)
def test_a_much_larger_step_is_not_waited_with(tmp_path: Path, sizes: list[int], traced: list[int]) -> None:
    own = recorder.Recorder(str(tmp_path), {}, None)
    seen = []
    for at, size in enumerate(sizes):
        if own.begins("step", size):
            seen.append(at)
            own.ended(b"", ".pb", 1000.0)
    assert seen == traced
    fixed = recorder.Recorder(str(tmp_path), {}, 1000)
    assert [at for at, size in enumerate(sizes) if fixed.begins("step", size)] == [1]


def test_what_stands_for_a_function_has_its_arguments() -> None:
    """Keras of TensorFlow 1.10 refuses a keyword that `getargspec` does not list, and annotations."""

    def original(self, inputs, outputs=None, **session_kwargs):  # type: ignore[no-untyped-def]
        """Theirs."""

    def ours(*args: Any, **kwargs: Any) -> None:
        """Ours."""

    stands = after_import.stands_for(ours, original)
    told = inspect.getfullargspec(stands)
    assert (told.args, told.varkw) == (["self", "inputs", "outputs"], "session_kwargs")
    assert (stands.__doc__, stands.__name__, told.annotations) == ("Theirs.", "original", {})
    assert after_import.stands_for(ours, 3) is ours


class Layer:
    """As Keras has it."""

    __module__ = "keras.layers"

    def __init__(self, name: str) -> None:
        self.name = name


def test_a_layer_that_fails_while_it_is_made_is_named() -> None:
    assert keras_models.describe([], [object(), Layer("table"), Layer("net")])["failed_in"] == "table"


class Described(Layer):
    """A model of Keras's own class."""

    __module__ = "keras.models"

    def __init__(self, text: Any, *layers: Any) -> None:
        super().__init__("net")
        self._layers, self.weights, self._text = layers, (), text

    def to_json(self) -> Any:
        if isinstance(self._text, Exception):
            raise self._text
        return self._text


class Mine(Layer):
    """A layer of the program's own."""

    __module__ = "train"
    weights = ()


class Lambda(Layer):
    """Keras's, around a function of the program's."""

    __module__ = "keras.layers"
    weights = ()


@pytest.mark.parametrize(
    "text, inside, told",
    [
        ("{}", (), "{}"),
        ("{}", (Mine("own"),), None),
        ("{}", (Lambda("shift"),), None),
        (NotImplementedError(), (), None),
        ("x" * keras_models.MAX_DESCRIPTION, (), "x" * keras_models.MAX_DESCRIPTION),
        ("x" * (keras_models.MAX_DESCRIPTION + 1), (), None),
    ],
)
def test_a_model_describes_itself_where_no_code_of_the_users_runs(
    text: Any, inside: tuple[Any, ...], told: str | None
) -> None:
    assert keras_models.description(Described(text, *inside)) == told


@pytest.mark.parametrize("whole", [True, False])
def test_the_model_is_described_whole_at_a_failure(whole: bool) -> None:
    (row,) = keras_models.describe([Described("{}", Described("other"))], whole=whole)["models"]
    assert row.get("description") == ("{}" if whole else None)


class Weighted(Described):
    """One of a loop's."""

    def __init__(self, name: str, *shape: int) -> None:
        super().__init__("{}", Described("inner"))
        self.name, self.weights = name, (SimpleNamespace(shape=shape, dtype="float32", name="kernel"),)


@pytest.mark.parametrize("running", [True, False])
def test_models_alike_are_counted_and_the_one_that_failed_is_told(running: bool) -> None:
    models = [Weighted(f"net_{number}", 3, 5) for number in range(keras_models.MAX_MODELS + 4)]
    other = Weighted("other", 3, 6)
    told = keras_models.describe([*models, other], [models[-1]] if running else [])
    assert told["alike"] == len(models)
    names = [row["name"] for row in told["models"]]
    assert len(names) == keras_models.MAX_MODELS and (models[-1].name in names) is running
    assert "alike" not in keras_models.describe([models[0], other])


class Module:
    """A program that XLA has compiled, as jaxlib hands it out."""

    name = "jit_step"

    def as_serialized_hlo_module_proto(self) -> bytes:
        return bytes(200)

    def to_string(self) -> str:
        head = f'FileNames\n1 "{__file__}"\n2 "{json.__file__}"\n\nFileLocations\n'
        return head + "".join(
            f"{at} {{file_name_id={at} function_name_id=1 line=1 end_line=1}}\n" for at in (1, 2)
        )


def compiled(temporary: int, results: int, buffers: bytes = b"buffers") -> Any:
    stats = SimpleNamespace(
        temp_size_in_bytes=temporary,
        output_size_in_bytes=results,
        serialized_buffer_assignment_proto=buffers,
    )
    return SimpleNamespace(get_compiled_memory_stats=lambda: stats, hlo_modules=lambda: [Module()])


def saved(folder: Path, message: str, *known: Any) -> list[Any]:
    jax = SimpleNamespace(
        devices=lambda: [SimpleNamespace(client=SimpleNamespace(live_executables=lambda: list(known)))]
    )
    if not programs.save(jax, message, bundle.Bundle(str(folder))):
        return []
    rows: list[Any] = json.loads((folder / "programs.json").read_text())["programs"]
    return rows


def test_the_programs_that_may_have_asked_are_kept_the_surest_first(tmp_path: Path) -> None:
    known = [compiled(0, 4), compiled(0, 900), compiled(700, 4), compiled(800, 4), compiled(300, 4)]
    rows = saved(tmp_path, "Out of memory allocating 700 bytes.", *known)
    assert [row["temporary_bytes"] for row in rows] == [700, 0, 800]
    assert rows[0]["lines"] == {f"{__file__}:1": Path(__file__).read_text().splitlines()[0]}
    assert base64.b64decode(rows[0]["hlo_proto"]) == b"\x0a\xc8\x01" + bytes(200) + b"\x1a\x07buffers"


@pytest.mark.parametrize(
    "temporary, kept",
    [(8674886360, True), (8670465000, True), (8681202900, True), (8670464900, False), (8681203000, False)],
)
def test_a_request_that_is_told_in_gibibytes_is_rounded(tmp_path: Path, temporary: int, kept: bool) -> None:
    message = "Out of memory while trying to allocate 8.08GiB with allocator GPU_0_bfc on device 0."
    known = [compiled(4 << 40, 0), compiled(temporary, 4), compiled(2, 3)]
    rows = saved(tmp_path, message, *known)
    first = [row["temporary_bytes"] for row in rows][:1]
    assert first == ([temporary] if kept else [4 << 40])


def test_a_program_of_a_gpu_is_kept_without_buffers(tmp_path: Path) -> None:
    (row,) = saved(tmp_path, "Out of memory allocating 700 bytes.", compiled(700, 4, b""))
    assert base64.b64decode(row["hlo_proto"]) == b"\x0a\xc8\x01" + bytes(200)


def test_no_program_is_kept_where_none_is_as_large(tmp_path: Path) -> None:
    assert saved(tmp_path, "Out of memory allocating 700 bytes.", compiled(90, 4)) == []
    assert not (tmp_path / "programs.json").exists()


class Op:
    """One of a function's graph, as TensorFlow has it."""

    def __init__(self, name: str, kind: str, shape: tuple[int, ...] | None, dtype: str = "float32") -> None:
        self.name, self.type = name, kind
        dtypes = SimpleNamespace(name=dtype, size=4, as_datatype_enum=1)
        known = (
            SimpleNamespace(rank=None)
            if shape is None
            else type("Shape", (tuple,), {"rank": len(shape)})(shape)
        )
        self.outputs = [SimpleNamespace(dtype=dtypes, shape=known)]


class FuncGraph:
    """The graph of a trace."""

    def __init__(self, name: str, *ops: Op) -> None:
        self.name, self._ops, self.asked = name, ops, 0

    def get_operations(self) -> list[Op]:
        self.asked += 1
        return list(self._ops)


def test_constants_of_functions_are_counted_over_their_traces() -> None:
    bank, small = Op("bank", "Const", (16, 16)), Op("small", "Const", (255,))
    others = [Op("x", "Placeholder", (16, 16)), Op("s", "Const", (999,), "string"), Op("u", "Const", None)]
    graphs = [FuncGraph("step", bank, small, *others), FuncGraph("step", bank, Op("b", "Const", (257,)))]
    graphs += [
        FuncGraph("__backward_step_17", bank),
        FuncGraph("keras_graph", bank),
        FuncGraph("idle", small),
    ]
    known = function_constants.FunctionConstants()
    rows, functions = known.told()
    assert [(row["name"], row["shape"], row["bytes"], row["chunk"], row["count"]) for row in rows] == [
        ("step/bank", [16, 16], 1024, 1024, 3),
        ("step/b", [257], 1028, 1280, 1),
    ]
    assert functions == [{"name": "step", "traces": 2, "bytes": 3 * 1024 + 1028}]
    assert known.told() == (rows, functions) and [graph.asked for graph in graphs] == [1, 1, 1, 0, 1]
    del graphs
    assert known.told() == ([], [])


def test_tensors_that_one_trace_captured_are_its_own() -> None:
    """What several traces share, such as a global tensor, is none that tracing multiplies."""

    class EagerTensor:
        def __init__(self, *shape: int, dtype: str = "float32") -> None:
            self.shape, self.dtype = shape, Op("x", "Const", shape, dtype).outputs[0].dtype

    class Tensor(EagerTensor):
        pass

    common, graphs = EagerTensor(99, 99), []
    for size in (256, 300, 255):  # 255 is less than a row is worth
        graph = FuncGraph("step")
        graph.external_captures = [
            common,
            EagerTensor(size),
            Tensor(9999),
            EagerTensor(999, dtype="resource"),
        ]
        graphs.append(graph)
    known = function_constants.FunctionConstants()
    assert known.told() == ([], [{"name": "step", "traces": 3, "bytes": 4 * (256 + 300)}])
    graphs[2].external_captures = []
    graphs[1].external_captures = []
    assert known.told()[1] == [{"name": "step", "traces": 3, "bytes": 4 * (256 + 99 * 99)}]


@pytest.mark.parametrize(
    "asked, file, told",
    [
        ("bfc", "bfc.1", True),
        ("bfc", "log.txt", False),
        ("", "bfc.1", False),
        ("gone/bfc", "bfc.1", False),
    ],
)
def test_a_dump_tells_that_memory_ran_out(tmp_path: Path, asked: str, file: str, told: bool) -> None:
    (tmp_path / file).touch()
    environment = {"TF_BFC_MEMORY_DUMP": str(tmp_path / asked)} if asked else {}
    assert bundle.is_dumped(environment) is told


@pytest.mark.parametrize("dumped", [True, False])
def test_models_are_described_where_a_library_hides_the_failure(tmp_path: Path, dumped: bool) -> None:
    graph = FuncGraph("step", Op("bank", "Const", (16, 16)))
    if dumped:
        (tmp_path / "bfc.1").touch()
    own = recorder.Recorder(str(tmp_path), {"TF_BFC_MEMORY_DUMP": str(tmp_path / "bfc")}, None)
    own.finish()
    assert (tmp_path / "model.json").exists() is dumped and bool(graph.asked) is dumped


def test_constants_of_a_session_that_its_failure_closed_are_kept(tmp_path: Path) -> None:
    answers: list[list[dict[str, Any]]] = [[{"name": "zeros"}], [], [{"name": "ones"}]]
    own = recorder.Recorder(str(tmp_path), {}, None)
    own.constants = SimpleNamespace(told=lambda: answers.pop(0))
    for name in ("zeros", "zeros", "ones"):
        own.describe_models([])
        (row,) = json.loads((tmp_path / "model.json").read_text())["constants"]
        assert row == {"name": name}


def told_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "model.json").read_text())
    return {name: found.get(name) for name in ("batch", "failed_batch")}


def in_a_third_step(folder: Path, every: int) -> recorder.Recorder:
    """The recorder of a program whose second step, of a batch of 4, is kept, and whose third has begun."""
    own = recorder.Recorder(str(folder), {}, every)
    own.begins("step")
    own.begins("step")
    own.given({"batch": 4})
    own.ended(b"x" * 100, ".pb", 0.0, [{"shape": [4]}])
    own.begins("step")
    return own


def test_the_inputs_told_are_those_of_the_step_that_is_kept(tmp_path: Path) -> None:
    own = in_a_third_step(tmp_path, 1)
    own.given({"batch": 9})
    own.failing()
    own.ended(b"x", ".pb", 0.0, [])  # too small beside the other
    own.failed(MemoryError())
    assert told_of(tmp_path) == {"batch": 4, "failed_batch": 9}


def test_a_step_that_is_not_traced_tells_no_batch_where_it_fails(tmp_path: Path) -> None:
    own = in_a_third_step(tmp_path, 2)
    own.failed(MemoryError())
    assert told_of(tmp_path) == {"batch": 4, "failed_batch": None}


def test_what_a_step_was_given_may_be_told_as_it_fails(tmp_path: Path) -> None:
    own = in_a_third_step(tmp_path, 2)
    own.failing({"batch": 12})
    own.failing({"batch": 3})  # what handles the failure runs steps, too
    own.failed(MemoryError())
    assert told_of(tmp_path) == {"batch": 4, "failed_batch": 12}


@pytest.mark.parametrize("error, batch", [(MemoryError(), 6), (None, None)])
def test_a_function_that_fails_tells_its_batch(tmp_path: Path, error: Any, batch: int | None) -> None:
    own = in_a_third_step(tmp_path, 1000)
    steps = recorded_steps.RecordedSteps(own)

    class Traced:
        def __init__(self) -> None:
            steps.enter("step")

        def close(self) -> None:
            steps.leave("step", error, None)

    def call(args: Any) -> None:
        traced = Traced()
        traced.close()

    call([SimpleNamespace(shape=(6, 2), dtype="float32")])
    own.failed(MemoryError())
    assert told_of(tmp_path)["failed_batch"] == batch


@pytest.mark.parametrize("takes", [True, False])
def test_a_profiler_that_takes_no_options_is_given_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes: bool
) -> None:
    """TensorFlow 2.21 warns of each on standard error."""
    given: list[dict[str, int]] = []

    class ProfilerSession:
        def start(self, folder: str, options: dict[str, int]) -> None:
            del folder
            given.append(options)

        def export_to_tb(self) -> None:
            """Nothing was recorded."""

    profiler = SimpleNamespace(ProfilerSession=ProfilerSession, **({"trace": None} if takes else {}))
    monkeypatch.setattr(recorded_steps, "_profiler", lambda: profiler)
    windows = recorded_steps.RecordedSteps(recorder.Recorder(str(tmp_path), {}, None))
    assert windows.open()
    windows.close()
    assert given == [
        {"host_tracer_level": 2, "python_tracer_level": 0, "device_tracer_level": 0} if takes else {}
    ]


class FirstSteps:
    """Windows over a profiler that counts what is begun, thrown away and kept."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        done = self.done = list[str]()

        class ProfilerSession:
            def start(self, at: str, options: dict[str, int]) -> None:
                del options
                done.append("begun")
                self.at = Path(at)

            def stop(self) -> None:
                done.append("thrown away")

            def export_to_tb(self) -> None:
                done.append("kept")
                self.at.mkdir()
                (self.at / "host.xplane.pb").write_bytes(b"x" * 100)

        monkeypatch.setattr(
            recorded_steps, "_profiler", lambda: SimpleNamespace(ProfilerSession=ProfilerSession)
        )
        self.own = recorder.Recorder(str(folder), {}, 1000)
        self.windows = recorded_steps.windows_of(self.own)

    def call(self, name: str, error: BaseException | None = None) -> None:
        self.windows.enter(name)
        self.windows.leave(name, error, None)


def test_a_first_step_is_kept_where_it_fails_for_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = FirstSteps(tmp_path, monkeypatch)
    steps.call("prepare")
    steps.call("train", MemoryError())
    assert steps.done == ["begun", "thrown away", "begun", "kept"]
    assert json.loads((tmp_path / "model.json").read_text())["failed_step"] is True
    assert [path.name for path in tmp_path.glob("step-*")] == ["step-0000002.xplane.pb"]


def test_a_first_step_that_fails_otherwise_or_lasts_too_long_is_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = FirstSteps(tmp_path, monkeypatch)
    steps.call("train", ValueError("a shape"))
    assert steps.done == ["begun", "thrown away"]
    monkeypatch.setattr(recorded_steps, "_MOST_RENEWED", 0)
    steps.windows.enter("evaluate")
    steps.windows._renew()
    steps.windows.leave("evaluate", MemoryError(), None)
    assert steps.done == ["begun", "thrown away"] * 2


def test_of_a_first_step_that_takes_long_the_last_seconds_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = FirstSteps(tmp_path, monkeypatch)
    steps.windows.enter("train")
    steps.windows._renew()
    steps.windows.leave("train", MemoryError(), None)
    steps.windows._renew()  # a timer that comes too late
    assert steps.done == ["begun", "thrown away", "begun", "kept"]


def test_while_its_ops_run_a_record_goes_on_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An allocator waits before it fails: what it holds was allocated before."""
    steps = FirstSteps(tmp_path, monkeypatch)
    ended: list[bool] = []

    def quick_execute() -> None:
        for _ in range(20_000):
            if not ended:
                time.sleep(0.001)

    def step() -> None:
        steps.windows.enter("train")
        quick_execute()

    thread = threading.Thread(target=step)
    thread.start()
    for _ in range(2000):
        if not steps.windows._is_running():
            time.sleep(0.005)
    for _ in range(recorded_steps._MOST_RUNNING):
        steps.windows._renew()
    assert steps.done == ["begun"]
    steps.windows._renew()
    assert steps.done == ["begun", "thrown away"]
    ended.append(True)
    thread.join()
    assert not steps.windows._is_running()


def test_a_later_step_that_fails_counts_as_one_that_was_traced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = FirstSteps(tmp_path, monkeypatch)
    steps.call("train")
    steps.call("train", MemoryError())
    assert steps.done == ["begun", "thrown away", "begun", "kept"]
    told = json.loads((tmp_path / "model.json").read_text())
    assert "failed_step" not in told and told["until_failure"] is True


def test_the_first_tape_is_kept_where_the_program_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = FirstSteps(tmp_path, monkeypatch)
    steps.windows.tape()
    steps.own.failed(MemoryError())
    assert steps.done == ["begun", "kept"]


def test_a_function_after_the_only_tape_is_a_step_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = FirstSteps(tmp_path, monkeypatch)
    steps.windows.tape()
    steps.call("train")
    assert steps.done == ["begun", "thrown away"] * 2
    assert steps.own.steps == {"eager step": 1, "train": 1}


def test_few_first_steps_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = FirstSteps(tmp_path, monkeypatch)
    for number in range(15):
        steps.call(f"kind {number}")
    assert steps.done.count("begun") == recorded_steps._MOST_FIRST == 12


def test_objects_are_looked_for_by_their_classes() -> None:
    class Wanted:
        pass

    class Other(Wanted):
        pass

    first, second = Wanted(), Other()
    asked: list[type] = []

    def is_wanted(kind: type) -> bool:
        asked.append(kind)
        return kind is Wanted

    assert [each for each in living.objects(is_wanted) if each is first or each is second] == [first]
    assert len(asked) == len(set(asked))
    assert living.objects(lambda kind: False) == []


@pytest.mark.parametrize("started", [True, False])
def test_what_the_devices_of_jax_held(monkeypatch: pytest.MonkeyPatch, started: bool) -> None:
    stats = {"bytes_limit": 9, "bytes_in_use": 4, "num_allocs": 3}
    gpu = SimpleNamespace(memory_stats=lambda: stats)
    cpu = SimpleNamespace(memory_stats=lambda: None)
    monkeypatch.delitem(sys.modules, "jax._src.xla_bridge", raising=False)
    if started:
        monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", SimpleNamespace())  # type: ignore[arg-type]
    told = recorder.device_memory(SimpleNamespace(local_devices=lambda: [cpu, gpu]))
    assert told == ([{"bytes_limit": 9, "bytes_in_use": 4, "name": str(gpu)}] if started else [])


def test_variables_of_a_module_have_its_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every `tf.Module` calls its own `w`."""
    of_tensorflow = {"__module__": "tensorflow.python.module.module"}
    base = type("Module", (), of_tensorflow)
    first, second, loose = SimpleNamespace(), SimpleNamespace(), SimpleNamespace()

    class Linear(base):  # type: ignore[misc, valid-type]
        def __init__(self, scope: str, **known: Any) -> None:
            self.name_scope = SimpleNamespace(name=scope)
            self.__dict__.update(known)

    alive = [Linear("net/up/", w=first, name="up"), Linear("heads", parts=[second]), Linear("", w=loose)]
    monkeypatch.setattr(
        keras_models, "objects", lambda wanted: [each for each in alive if wanted(type(each))]
    )
    scopes = keras_models._scopes_of_modules()
    assert (scopes[id(first)], scopes[id(second)], scopes.get(id(loose))) == ("net/up", "heads", None)
    assert not keras_models._is_module(base)
    assert not keras_models._is_module(type("Layer", (base,), {"__module__": "keras.engine"}))


def test_loops_are_not_traced_where_addresses_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their record takes room that the program may need."""
    runs = graphs.Runs(recorder.Recorder(str(tmp_path), {}, 1), RunOptions, None, (2, 4))
    sessions = []
    for kinds in (["MatMul"], ["MatMul", "Enter"]):
        session = types.new_class("Session")()
        session.graph = Graph(*kinds)
        sessions.append(session)
    for limited, traced in ((False, [True, True]), (True, [True, False])):
        monkeypatch.setattr(graphs, "_has_little_room", lambda limited=limited: limited)
        runs._recorder.restart(str(tmp_path), 1)
        assert [runs._begin(["train"], each) for each in (sessions[0], *sessions)][1:] == traced


def test_what_fills_a_queue_is_counted_and_never_traced(tmp_path: Path) -> None:
    """Its thread runs beside the steps, whose records it would take the place of."""
    runs = graphs.Runs(recorder.Recorder(str(tmp_path), {}, 1), RunOptions, None, (2, 4))
    fill = SimpleNamespace(name="fill", type="QueueEnqueueManyV2")
    assert [runs._begin(fill) for _ in range(3)] == [False] * 3
    assert not runs.is_due and not runs.is_first
    assert [runs._begin(["train"]) for _ in range(2)] == [False, True]
    assert runs._recorder.steps == {"fill": 3, "train": 2}


@pytest.mark.parametrize("others", [0, 2])
def test_the_graph_of_a_run_is_kept_where_no_record_of_its_kind_is(tmp_path: Path, others: int) -> None:
    own = recorder.Recorder(str(tmp_path), {}, 1)
    for kind in ["train", *["other"] * others]:
        for _ in range(2):
            own.begins(kind)
        own.ended(b"x" * 100, ".pb", 0.0, [])
    told = {"fetches": ["train"], "feeds": {}}
    own.last_run = SimpleNamespace(
        kind="train", graph=None, fed=[], failed=lambda trace: None, saved=lambda bundle: told
    )  # type: ignore[assignment]
    own.failed(MemoryError())
    model = tmp_path / "model.json"
    assert (model.exists() and "fetches" in json.loads(model.read_text())) is bool(others)


def test_what_only_seemed_to_fail_is_not_told_of_the_run_that_did(tmp_path: Path) -> None:
    own = recorder.Recorder(str(tmp_path), {}, 1)
    own.last_run.begins(None, ["init"], None, "init")
    own._predictable = {"fetches": ["init"], "feeds": {}}
    (tmp_path / session_graphs.NAME).write_bytes(b"a graph")
    for _ in range(2):
        own.begins("train")
    own.ended(b"x" * 100, ".pb", 0.0, [{"shape": [4]}])
    own.last_run.begins(None, ["train"], None, "train")
    own.failed(MemoryError())
    assert json.loads((tmp_path / "model.json").read_text())["failed"] is True
    assert "fetches" not in json.loads((tmp_path / "model.json").read_text())
    assert not (tmp_path / session_graphs.NAME).exists()
