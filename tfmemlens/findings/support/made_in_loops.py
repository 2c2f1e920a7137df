"""What a loop of the quoted program makes anew in each of its turns, though the process keeps it: models,
predictions that build a pipeline of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_MODEL = regex(
    r"(?i)\A(?:Sequential|(?:build|make|create|get|define|init)_?\w*(?:model|net|network|classifier|gan"
    r"|encoder|cnn|rnn|lstm)\w*|load_model|clone_model|from_pretrained)\Z"
)
"""Calls that make a network, whoever wrote the function."""
_OF_A_LIBRARY = regex(r"\A(?!tf\.|keras\.)\w+\.models\.[A-Z]\w*\Z")
"""A class of a library's module of models: `gpflow.models.GPR`."""
_OF_KERAS = frozenset({"Model", "Functional"})
_TRAINS = frozenset(
    {
        "compile",
        "fit",
        "fit_generator",
        "train_on_batch",
        "evaluate",
        "predict",
        "load_weights",
        "set_weights",
        "minimize",
    }
)
_CLEARS = frozenset({"clear_session", "reset_default_graph"})
_OWN_PROCESS = frozenset({"Process", "Pool", "ProcessPoolExecutor", "Popen"})
_WATCHES = regex(r"psutil\.|(?:\w+\.)?Process\((?:os\.getpid\(\))?\)")
"""psutil's `Process` is this one, whose RAM is printed."""
_FREES = frozenset({"collect"})
_OTHER_PREDICT = frozenset({"stable_baselines", "stable_baselines3", "sklearn", "xgboost", "lightgbm"})
"""Packages whose models have a predict that is not Keras's."""


@dataclass(frozen=True, slots=True)
class ModelLoop:
    """A loop that makes and trains a network in each turn."""

    loop: Line
    model: Line
    """The line that makes the network: in the loop, or in a function that it calls."""
    clears: Line | None = None
    """The line of each turn that clears what Keras keeps."""
    frees: Line | None = None
    """The line that deletes the model, or collects garbage."""
    alike: bool = False
    """Whether every turn makes the same network: nothing that makes it depends on the loop."""
    foreign: bool = False
    """Whether it is a library's model, of which Keras knows nothing."""


def model_loops(program: Program) -> Iterator[ModelLoop]:
    """Every loop that makes a network in each turn, in the order of the text; none where processes are begun
    for them.
    """
    functions = {
        node.name: (statement, node)
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.FunctionDef)
    }
    calls = [call for each in program for call in _calls([each.node])]
    if any(last_name(call.func) in _OWN_PROCESS and not _WATCHES.match(ast.unparse(call)) for call in calls):
        return
    own = _own_models(program)
    for statement in program:
        for loop in statement.nodes:
            if not isinstance(loop, ast.For | ast.While):
                continue
            if found := _of_loop(statement, loop, functions, own):
                yield found


_HANDLES = regex(r"\A(?:\w+\.)*(?:route|get|post|put|api_view|websocket)\b")
"""A decorator that gives a function to a web server."""
_LOADS = regex(r"(?i)\A(?:load\w*|from_pretrained|build_model|create_model)\Z")
_USES = frozenset(
    {"predict", "predict_on_batch", "detect", "generate", "transcribe", "infer", "encode", "call"}
)


def loading_handlers(program: Program) -> Iterator[tuple[Line, str]]:
    """Lines of functions of a web server that load a model and use it, so again for each request, and what
    they call.
    """
    for statement in program:
        for function in statement.nodes:
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if not any(_HANDLES.match(ast.unparse(each)) for each in function.decorator_list):
                continue
            for name, call in _assigned(function.body).items():
                if _LOADS.match(last_name(call.func)) and name in _used(function.body):
                    yield statement.line_of(call), ast.unparse(call.func)


_LOADS_A_MODEL = regex(
    r"\A(?:[\w.]*\.)?(?:(?:hub|saved_model)\.load|KerasLayer|load_model\w*|from_pretrained)\Z"
)
_DEEPEST = 3
"""Calls between a loop and what loads."""


def loading_loops(program: Program) -> Iterator[tuple[Line, Line, str]]:
    """Lines of functions that load the same model at each call, the line of the loop that calls them, by
    others or itself, and what they call. Nothing of a function that keeps what it loaded.
    """
    functions = {
        node.name: (statement, node)
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.FunctionDef) and not node.decorator_list
    }
    for statement in program:
        for loop in statement.nodes:
            if isinstance(loop, ast.For | ast.While):
                for where, call in _loaded_below(loop.body, functions, _DEEPEST):
                    yield where.line_of(call), statement.line_of(loop), ast.unparse(call.func)


def _loaded_below(
    body: Sequence[ast.AST], functions: _Functions, depth: int
) -> Iterator[tuple[Statement, ast.Call]]:
    """Calls that load a model by no argument of their functions, in what the body calls."""
    for name in dict.fromkeys(call.func.id for call in _calls(body) if isinstance(call.func, ast.Name)):
        if name not in functions or not depth:
            continue
        where, function = functions[name]
        given = {each.arg for each in (*function.args.args, *function.args.kwonlyargs)}
        kept = {each for node in function.body if isinstance(node, ast.Global) for each in node.names}
        made = [
            node.value
            for node in function.body
            if isinstance(node, ast.Assign | ast.Return)
            and isinstance(node.value, ast.Call)
            and not (isinstance(node, ast.Assign) and kept & _names(node))
        ]
        yield from (
            (where, call)
            for call in made
            if _LOADS_A_MODEL.match(ast.unparse(call.func)) and not given & _names(call)
        )
        yield from _loaded_below(function.body, functions, depth - 1)


def _used(body: Sequence[ast.AST]) -> set[str]:
    """Names on which a model's method is called, or which are called themselves."""
    used = set()
    for call in _calls(body):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(owner, ast.Name) and last_name(call.func) in _USES:
            used.add(owner.id)
        elif isinstance(call.func, ast.Name):
            used.add(call.func.id)
    return used


_OF_OTHERS = frozenset(
    "predict evaluate fit compile call step run update reset get append join save load close add".split()
)
"""Methods that objects of libraries have as well."""


def predicting_loops(program: Program) -> Iterator[tuple[Line, str]]:
    """Lines of loops that call `predict` of a model in each turn, and what they call."""
    if any(_OTHER_PREDICT & _imported(node) for each in program for node in each.nodes):
        return
    predicting = {
        function.name: (where.line_of(call), ast.unparse(call.func))
        for where in program
        for function in where.nodes
        if isinstance(function, ast.FunctionDef) and function.name not in _ONCE_EACH | _OF_OTHERS
        for call in _calls(function.body)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "predict"
    }
    for statement in program:
        for loop in statement.nodes:
            for call in _calls(loop.body) if isinstance(loop, ast.For | ast.While) else ():
                if isinstance(call.func, ast.Attribute) and call.func.attr == "predict":
                    yield statement.line_of(call), ast.unparse(call.func)
                elif last_name(call.func) in predicting:
                    yield predicting[last_name(call.func)]


def single_predicts(program: Program) -> Iterator[tuple[Line, str]]:
    """Lines of the program itself that call `predict`, where no loop and no function does: once each."""
    inside = {
        id(part)
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.For | ast.While | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for part in ast.walk(node)
    }
    calls = [(each, call) for each in program for call in _calls([each.node]) if _is_predict(call)]
    if not any(id(call) in inside for _, call in calls):
        yield from ((statement.line_of(call), ast.unparse(call.func)) for statement, call in calls)


def _is_predict(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("predict", "predict_generator")


_SLICES = frozenset({"from_tensor_slices", "from_tensors"})


def datasets_made(program: Program) -> Iterator[tuple[Line, Line, bool]]:
    """Lines that make a data set of arrays in each turn of a loop that uses it, or at each call of a function
    that does: the line, the loop's or the function's, and whether it is a loop.
    """
    functions = {
        node.name: (statement, node)
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.FunctionDef)
    }
    looped: set[str] = set()
    for statement in program:
        for loop in statement.nodes:
            if not isinstance(loop, ast.For | ast.While) or not statement.runs(loop):
                continue
            for where, body in _bodies(statement, loop.body, functions):
                looped.update(each for each, (_, node) in functions.items() if node.body is body)
                if call := _made_of_arrays(body):
                    yield where.line_of(call), statement.line_of(loop), True
                    break
    for name, (statement, function) in functions.items():
        if name in looped or name in _ONCE_EACH or not _iterates(function):
            continue
        if call := _made_of_arrays(function.body):
            yield statement.line_of(call), statement.line_of(function), False


def _made_of_arrays(body: Sequence[ast.AST]) -> ast.Call | None:
    return next((call for call in _calls(body) if last_name(call.func) in _SLICES and call.args), None)


def _iterates(function: ast.FunctionDef) -> bool:
    """Whether a function takes elements of a data set, or trains with one, and does not only give it back."""
    names = {last_name(call.func) for call in _calls(function.body)}
    loops = any(isinstance(node, ast.For) for node in ast.walk(function))
    return bool(names & {"iter", "next", "fit", "predict", "evaluate", "make_one_shot_iterator"}) or loops


def compiling_loops(program: Program) -> Iterator[tuple[Line, Line, str]]:
    """Lines of loops that compile a network that was made before them and train it: the line, its loop's and
    the network's name.
    """
    for statement in program:
        for loop in statement.nodes:
            if not isinstance(loop, ast.For | ast.While) or not statement.runs(loop):
                continue
            calls = list(_calls(loop.body))
            trained = {_owner(call) for call in calls if last_name(call.func) in _FITS}
            made = {
                target
                for part in loop.body
                for node in ast.walk(part)
                if isinstance(node, ast.Assign)
                for each in node.targets
                for target in _names(each)
            }
            for call in calls:
                owner = _owner(call)
                if last_name(call.func) == "compile" and owner in trained - made and call.keywords:
                    yield statement.line_of(call), statement.line_of(loop), owner
                    break


_FITS = frozenset({"fit", "fit_generator", "train_on_batch"})


def _owner(call: ast.Call) -> str:
    """`model` of `model.fit(...)`, also of `self.model.fit(...)`; empty of another call."""
    return last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def unrolled_loops(program: Program) -> Iterator[tuple[Line, Line]]:
    """Loops of tf.functions that go over what is Python's own (tqdm): tracing runs every turn, and all are
    one graph. Each with the function's line.
    """
    for statement in program:
        for function in statement.nodes:
            if not (isinstance(function, ast.FunctionDef) and any(map(_traces, function.decorator_list))):
                continue
            for loop in ast.walk(function):
                if isinstance(loop, ast.For) and _of_python(loop):
                    yield statement.line_of(loop), statement.line_of(function)


_OF_PYTHON = frozenset({"tqdm", "trange"})
"""What AutoGraph leaves to Python; range, zip and enumerate of data sets it takes into the graph."""


def _of_python(loop: ast.For) -> bool:
    return isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) in _OF_PYTHON


def _traces(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).startswith(("tf.function", "tensorflow.function"))


def _differentiates(loop: ast.For) -> bool:
    return any(last_name(call.func) == "GradientTape" for call in _calls(loop.body))


def _imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").partition(".")[0]}
    return {each.name.partition(".")[0] for each in node.names} if isinstance(node, ast.Import) else set()


_Functions = dict[str, tuple[Statement, ast.FunctionDef]]


def _own_models(program: Program) -> frozenset[str]:
    """Names of the program's own classes of networks."""
    return frozenset(
        node.name
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.ClassDef) and any(last_name(each) in _BASES for each in node.bases)
    )


_BASES = frozenset({"Model", "Sequential", "Functional"})


def _of_loop(
    statement: Statement, loop: ast.For | ast.While, functions: _Functions, own: frozenset[str]
) -> ModelLoop | None:
    made: Line | None = None
    alike = foreign = False
    done: dict[str, Line] = {}
    loaded = _loaded(loop)
    for where, body in _bodies(statement, loop.body, functions):
        for call in _calls(body):
            name = last_name(call.func)
            done.setdefault(name, where.line_of(call))
            of_weights = call in loaded
            of_keras = (
                of_weights or name in own or _MODEL.match(name) or (name in _OF_KERAS and _has_ends(call))
            )
            if made is None and (of_keras or _OF_A_LIBRARY.match(ast.unparse(call.func))):
                made, foreign = where.line_of(call), not of_keras
                alike = body is loop.body and (of_weights or not _uses(loop))
        for node in (each for part in body for each in ast.walk(part)):
            if isinstance(node, ast.Delete):
                done.setdefault("collect", where.line_of(node))
    if made is None or not _TRAINS & done.keys():
        return None
    cleared = next((done[name] for name in _CLEARS if name in done), None)
    freed = next((done[name] for name in _FREES if name in done), None)
    return ModelLoop(statement.line_of(loop), made, cleared, freed, alike, foreign)


def _loaded(loop: ast.For | ast.While) -> list[ast.Call]:
    """Calls of the loop's body whose result is given weights from a file, the same ones in each turn."""
    assigned = _assigned(loop.body)
    varies = _names(loop.target if isinstance(loop, ast.For) else loop.test)
    loaded = []
    for call in _calls(loop.body):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        made = assigned.get(owner.id) if isinstance(owner, ast.Name) else None
        if made and last_name(call.func) == "load_weights" and not varies & (_names(made) | _names(call)):
            loaded.append(made)
    return loaded


def _assigned(body: Sequence[ast.stmt]) -> dict[str, ast.Call]:
    """Names of the body's own statements, and the calls whose results they take."""
    return {
        target.id: node.value
        for node in body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _bodies(
    statement: Statement, body: list[ast.stmt], functions: _Functions
) -> Iterator[tuple[Statement, list[ast.stmt]]]:
    """The loop's own statements, and those of functions of the text that it calls."""
    yield statement, body
    for name in dict.fromkeys(call.func.id for call in _calls(body) if isinstance(call.func, ast.Name)):
        if name in functions:
            where, function = functions[name]
            yield where, function.body


def _calls(body: Sequence[ast.AST]) -> Iterator[ast.Call]:
    return (node for part in body for node in ast.walk(part) if isinstance(node, ast.Call))


def _has_ends(call: ast.Call) -> bool:
    """Whether `Model(...)` is given its inputs and outputs."""
    named = {word.arg for word in call.keywords}
    return len(call.args) >= 2 or bool(named & {"inputs", "outputs", "input", "output"})


def _uses(loop: ast.For | ast.While) -> bool:
    """Whether the loop's body uses what it goes over: `while True` and `for _ in range(10)` use nothing."""
    if isinstance(loop, ast.While):
        return not isinstance(loop.test, ast.Constant)
    targets = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    names = {node.id for part in loop.body for node in ast.walk(part) if isinstance(node, ast.Name)}
    return bool(targets & names)


def graph_loops(program: Program) -> Iterator[tuple[Line, Line, str]]:
    """Lines of loops that make an op of a graph in each turn, beside the session's run: the line, its loop's
    and the op, or the function of the program that makes ops. Nothing of loops that begin a graph anew.
    """
    making = _functions_that_make_ops(program)
    for statement in program:
        for loop in statement.nodes:
            if not isinstance(loop, ast.For | ast.While) or not statement.runs(loop):
                continue
            calls = list(_calls(loop.body))
            names = {last_name(call.func) for call in calls}
            if "run" not in names or names & _BEGINS_A_GRAPH:
                continue
            for call in calls:
                of_function = isinstance(call.func, ast.Name) and call.func.id in making
                op = f"{ast.unparse(call.func)}()" if of_function else _graph_op(call)
                op = op or _op_of_a_method(call) or _operator_of_a_run(call, loop)
                if op is not None:
                    yield statement.line_of(call), statement.line_of(loop), op
                    break


_OPS_OF_ITERATORS = frozenset(
    {"make_initializer", "make_one_shot_iterator", "make_initializable_iterator", "get_next"}
)
_OPS_OF_VARIABLES = frozenset({"assign", "assign_add", "assign_sub"})


def _op_of_a_method(call: ast.Call) -> str | None:
    """`iterator.make_initializer` of a method that adds ops; of what a session runs also `w.assign`."""
    name = last_name(call.func)
    if name in _OPS_OF_ITERATORS and isinstance(call.func, ast.Attribute):
        return ast.unparse(call.func)
    for inner in _calls(call.args[:1]) if name == "run" else ():
        if last_name(inner.func) in _OPS_OF_VARIABLES and isinstance(inner.func, ast.Attribute):
            return ast.unparse(inner.func)
    return None


def _operator_of_a_run(call: ast.Call, loop: ast.For | ast.While) -> str | None:
    """`-loss` of `sess.run(-loss)`: an operator on what was made above the loop makes an op."""
    if last_name(call.func) != "run" or not isinstance(call.func, ast.Attribute) or not call.args:
        return None
    fetched = call.args[0].elts if isinstance(call.args[0], ast.List | ast.Tuple) else call.args[:1]
    made = {
        node.id
        for part in loop.body
        for node in ast.walk(part)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for each in fetched:
        of_tensors = isinstance(each, ast.UnaryOp) or (
            isinstance(each, ast.BinOp) and not isinstance(each.left, ast.List | ast.Constant)
        )
        if of_tensors and _names(each) and not _names(each) & made:
            return ast.unparse(each)
    return None


def functions_made(program: Program) -> Iterator[tuple[Line, Line, str]]:
    """Lines of loops that make a tf.function in each turn, by themselves or by calling what makes and gives
    one: the line, its loop's, and what makes it.
    """
    makers = {
        outer.name
        for statement in program
        for outer in statement.nodes
        if isinstance(outer, ast.FunctionDef) and _gives_a_function(outer)
    }
    for statement in program:
        for loop in statement.nodes:
            if not isinstance(loop, ast.For | ast.While) or not statement.runs(loop):
                continue
            for node in (each for part in loop.body for each in ast.walk(part)):
                name = _makes_a_function(node, makers)
                if name:
                    yield statement.line_of(node), statement.line_of(loop), name
                    break


def _gives_a_function(outer: ast.FunctionDef) -> bool:
    """Whether it returns a tf.function that it makes."""
    inside = {
        node.name
        for part in outer.body
        for node in ast.walk(part)
        if isinstance(node, ast.FunctionDef) and any(map(_traces, node.decorator_list))
    }
    if any("cache" in ast.unparse(each) for each in outer.decorator_list):
        return False
    given = [node.value for node in ast.walk(outer) if isinstance(node, ast.Return) and node.value]
    return any(
        (isinstance(each, ast.Name) and each.id in inside)
        or (isinstance(each, ast.Call) and _traces(each.func))
        for each in given
    )


def _makes_a_function(node: ast.AST, makers: set[str]) -> str:
    """What it calls, or the name that it defines; empty where it makes none."""
    if isinstance(node, ast.FunctionDef) and any(map(_traces, node.decorator_list)):
        return node.name
    if isinstance(node, ast.Call):
        if _traces(node.func):
            return ast.unparse(node.func)
        if isinstance(node.func, ast.Name) and node.func.id in makers:
            return f"{node.func.id}()"
    return ""


def _functions_that_make_ops(program: Program) -> set[str]:
    """By name: such as make ops of a graph and run none, so that each call adds its ops."""
    found = set()
    for function in (node for each in program for node in each.nodes if isinstance(node, ast.FunctionDef)):
        calls = list(_calls(function.body))
        names = {last_name(call.func) for call in calls}
        if any(map(_graph_op, calls)) and not names & (_BEGINS_A_GRAPH | _BEGINS_A_SESSION | {"run"}):
            found.add(function.name)
    return found


def graph_functions(program: Program) -> Iterator[tuple[Line, Line, str]]:
    """The same of functions that make ops, run them in a session that others made, and are no program by
    themselves: each call adds its ops.
    """
    for statement in program:
        for function in statement.nodes:
            if not isinstance(function, ast.FunctionDef) or function.name in _ONCE_EACH:
                continue
            calls = list(_calls(function.body))
            names = {last_name(call.func) for call in calls}
            read = next((call for call in calls if last_name(call.func) in _READS_A_GRAPH), None)
            if read is not None and "run" in names and not names & _BEGINS_A_GRAPH:
                yield statement.line_of(read), statement.line_of(function), ast.unparse(read.func)
                continue
            if "run" not in names or names & (_BEGINS_A_GRAPH | _BEGINS_A_SESSION):
                continue
            for call in calls:
                if (op := _graph_op(call)) is not None:
                    yield statement.line_of(call), statement.line_of(function), op
                    break


_READS_A_GRAPH = frozenset({"import_meta_graph", "import_graph_def"})
_ONCE_EACH = frozenset({"main", "train", "__init__", "build", "build_graph", "build_model", "setup"})
_BEGINS_A_SESSION = frozenset({"Session", "InteractiveSession", "MonitoredTrainingSession", "minimize"})
_BEGINS_A_GRAPH = frozenset({"Graph", "reset_default_graph", "clear_session"})
_NO_OPS = ("tf.train.", "tf.logging.", "tf.gfile.", "tf.app.", "tf.summary.", "tf.test.", "tf.io.gfile.")
_OF_PYTHON_ALONE = frozenset({"get_default_graph", "get_collection", "trainable_variables", "Summary"})


def _graph_op(call: ast.Call) -> str | None:
    """`tf.constant` of a call that adds an op to TensorFlow's default graph."""
    name = ast.unparse(call.func)
    if not name.startswith("tf.") or name.startswith(_NO_OPS):
        return None
    last = name.rpartition(".")[2]
    return name if last[:1].islower() and last not in _OF_PYTHON_ALONE else None


@dataclass(frozen=True, slots=True)
class GraphModelLoop:
    """A loop that builds a model in each turn, in one graph and for one session."""

    loop: Line
    build: Line
    """The line that calls what builds it, or that makes its optimizer in the loop."""
    code: str
    """The call."""
    alike: bool
    """Whether nothing but names is given to it that the loop goes over."""


_MINIMIZES = frozenset({"minimize", "apply_gradients"})
_MAKES_VARIABLES = regex(
    r"\A(?:tf\.(?:compat\.v1\.)?(?:get_variable|Variable|(?:keras\.|contrib\.)?layers\.\w+|variable_scope)"
    r"|(?:slim|layers)\.\w+)\Z"
)
_RUNS = frozenset({"run", "eval"})


def graph_model_loops(program: Program) -> Iterator[GraphModelLoop]:
    """Every loop that builds variables and an optimizer anew and runs them in a session from outside it;
    nothing where a turn begins a graph or a session, or where variables are shared by their names.
    """
    functions = {
        node.name: node.body
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.FunctionDef)
    }
    running = {name for name, body in functions.items() if _names_called(body) & _RUNS}
    builders = {
        name: body
        for statement in program
        for node in statement.nodes
        for name, body in _builders_in(node, functions)
        if not statement.of_frame
    }
    for statement in program:
        for loop in statement.nodes:
            if not isinstance(loop, ast.For | ast.While) or statement.of_frame or not statement.runs(loop):
                continue
            calls = list(_calls(loop.body))
            below = [
                call
                for each in calls
                if last_name(each.func) in builders
                for call in _calls(builders[last_name(each.func)])
            ]
            names = {last_name(call.func) for call in (*calls, *below)}
            if not names & (_RUNS | running) or names & (
                _BEGINS_A_GRAPH | (_BEGINS_A_SESSION - {"minimize"})
            ):
                continue
            if any(word.arg == "reuse" for call in (*calls, *below) for word in call.keywords):
                continue
            build = next((call for call in calls if last_name(call.func) in builders), None)
            if build is None and _builds(loop.body, functions):
                build = next(call for call in calls if last_name(call.func) in _MINIMIZES)
            if build is not None:
                alike = not _depends(build, loop) if last_name(build.func) in builders else False
                yield GraphModelLoop(
                    statement.line_of(loop), statement.line_of(build), ast.unparse(build), alike
                )


def _names_called(body: Sequence[ast.stmt]) -> set[str]:
    return {last_name(call.func) for call in _calls(body)}


def _builders_in(
    node: ast.AST, functions: Mapping[str, list[ast.stmt]]
) -> Iterator[tuple[str, list[ast.stmt]]]:
    """A function that builds, or a class whose objects are built when they are made."""
    if isinstance(node, ast.FunctionDef) and _builds(node.body, functions) and not _runs_itself(node.body):
        yield node.name, node.body
    if isinstance(node, ast.ClassDef) and all(last_name(each) == "object" for each in node.bases):
        own = [each for each in node.body if isinstance(each, ast.FunctionDef)]
        begun = [each for each in own if each.name in _ONCE_EACH]
        body = [part for each in own for part in each.body]
        if begun and _builds(body, functions):
            yield node.name, [part for each in begun for part in each.body]


def _runs_itself(body: Sequence[ast.stmt]) -> bool:
    """Whether a function runs a session by itself: a study, and no builder."""
    return any(last_name(call.func) in ("run", *_BEGINS_A_GRAPH, "Session") for call in _calls(body))


def _builds(body: Sequence[ast.stmt], functions: Mapping[str, list[ast.stmt]]) -> bool:
    """Whether it makes variables, by itself or by functions that it calls, and an optimizer's step, which
    makes their slots.
    """
    names = _names_called(body)
    called = (functions[name] for name in sorted(names) if name in functions)
    return bool(names & _MINIMIZES) and any(
        _MAKES_VARIABLES.match(ast.unparse(call.func)) for part in (body, *called) for call in _calls(part)
    )


def _depends(build: ast.Call, loop: ast.For | ast.While) -> bool:
    """Whether anything but a name is given that the loop goes over: a width, a rate."""
    over = _names(loop.target) if isinstance(loop, ast.For) else set()
    given = [*build.args, *(word.value for word in build.keywords)]
    return any(_names(each) & over for each in given if not _is_a_text(each))


def _is_a_text(node: ast.expr) -> bool:
    """`"q%02d" % q`, `f"fold{k}"`, `"w{}".format(w)`, `str(k)`."""
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.BinOp):
        return any(_is_a_text(each) for each in (node.left, node.right))
    if isinstance(node, ast.Call):
        of_text = isinstance(node.func, ast.Attribute) and _is_a_text(node.func.value)
        return of_text or last_name(node.func) == "str"
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
