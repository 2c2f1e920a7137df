"""Memory that grows, in words, and what the text names as that which grows."""

from __future__ import annotations

import ast

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.findings.support.code_snippets import relaxed
from tfmemlens.findings.support.made_in_loops import model_loops, predicting_loops
from tfmemlens.model.case import Api
from tfmemlens.model.finding import Finding
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

GROWS = "The GPU memory grows from run to run.\n"
RULE = "named-growth"


def told(text: str) -> Finding | None:
    report = pipeline.explain(text + "\n")
    found = [finding for finding in report.findings if finding.rule == RULE]
    return found[0] if found else None


def slugs(text: str) -> list[str] | None:
    found = told(text)
    return [each.slug for each in found.remedies] if found else None


def program(text: str) -> Program:
    lines = tuple(Line(number, each) for number, each in enumerate(text.splitlines(), 1))
    return Program(tuple(Statement(node, lines) for node in ast.parse(text).body))


LOOP = """
for rate in (1e-2, 1e-3):
    net = keras.Sequential([keras.layers.Dense(512)])
    net.compile('adam', 'mse')
    net.fit(x, y)
"""


@pytest.mark.parametrize(
    ("code", "loop", "model"),
    [
        (LOOP, 2, 3),
        (LOOP.replace("keras.Sequential([keras.layers.Dense(512)])", "build_model(rate)"), 2, 3),
        (LOOP.replace("keras.Sequential([keras.layers.Dense(512)])", "keras.Model(a, b)"), 2, 3),
        (LOOP.replace("keras.Sequential([keras.layers.Dense(512)])", "Model(inputs=a, outputs=b)"), 2, 3),
        ("def run(f):\n    m = make_net()\n    m.fit(f)\nwhile folds:\n    run(folds.pop())", 4, 2),
    ],
)
def test_a_loop_that_makes_models(code: str, loop: int, model: int) -> None:
    (found,) = model_loops(program(code))
    assert (found.loop.number, found.model.number, found.clears, found.frees) == (loop, model, None, None)


@pytest.mark.parametrize(
    "code",
    [
        LOOP.replace("net.compile('adam', 'mse')\n    net.fit(x, y)", "names.append(net)"),  # never trained
        LOOP.replace("keras.Sequential([keras.layers.Dense(512)])", "models[rate]"),
        LOOP.replace("keras.Sequential([keras.layers.Dense(512)])", "Model(rate)"),  # one argument
        f"{LOOP}\nmultiprocessing.Process(target=one).start()",
        "net = Sequential()\nfor epoch in range(3):\n    net.fit(x, y)",
    ],
)
def test_a_loop_that_makes_none(code: str) -> None:
    assert not list(model_loops(program(code)))


def test_what_a_turn_frees_and_whether_turns_are_alike() -> None:
    freed = LOOP + "    del net\n    gc.collect()\n"
    (found,) = model_loops(program(freed))
    assert found.frees is not None and found.frees.number == 7 and found.alike
    (found,) = model_loops(program(LOOP + "    keras.backend.clear_session()\n"))
    assert found.clears is not None and found.clears.number == 6
    (found,) = model_loops(program(LOOP.replace("for rate in (1e-2, 1e-3)", "while True")))
    assert found.alike
    (found,) = model_loops(program(LOOP.replace("Dense(512)", "Dense(rate)")))
    assert not found.alike
    (found,) = model_loops(program(LOOP))
    assert found.alike


def test_who_prints_the_ram_of_the_process_starts_none() -> None:
    code = LOOP + "    print(psutil.Process(os.getpid()).memory_info().rss)\n"
    assert list(model_loops(program(code)))


def test_a_loop_that_predicts() -> None:
    code = "for x in frames:\n    y = net.predict(x)\nz = net.predict(all_of_them)\n"
    assert [(line.number, call) for line, call in predicting_loops(program(code))] == [(2, "net.predict")]


def test_the_loop_is_named_with_what_was_tried() -> None:
    found = told(GROWS + LOOP)
    assert found is not None
    assert found.headline == (
        "the text says in words that a device's memory grows (line 1); most likely the loop on line 3 makes a"
        " model in each turn (line 4), and Keras keeps each with its weights"
    )
    assert [each.slug for each in found.remedies] == ["build-once", "clear-session", "own-process"]
    found = told(GROWS + LOOP.replace("Dense(512)", "Dense(rate)") + "    del net\n")
    assert found is not None and "line 7 frees only what nothing else holds" in found.headline
    assert [each.slug for each in found.remedies] == ["clear-session", "own-process"]
    found = told(GROWS + LOOP + "    keras.backend.clear_session()\n")
    assert found is not None and "cleared by line 7" in found.headline
    assert [each.slug for each in found.remedies] == ["build-once", "own-process"]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (GROWS + "Keras, for x in frames:\n    y = net.predict(x)", None),  # no code that can be read
        (GROWS + "for x in frames:\n    y = net.predict(x)", ["one-call"]),
        (GROWS + "I call fit(seq, use_multiprocessing=True)", ["fewer-workers"]),
        (GROWS + "I call fit(seq, use_multiprocessing=False)", None),
        (
            GROWS + "My tf.estimator.Estimator is trained every day",
            ["one-call", "own-process"],
        ),
        ("RAM is eaten slowly.\nMemory fills more with each validation", ["make-once", "newer-release"]),
        ("RAM is exhausted.\nThe validation accuracy increases", None),
        ("Keras: OOM. The log is full of retracing warnings", ["one-signature", "constant-shapes"]),
        ("The log is full of retracing warnings", None),
        ("OOM. My Estimator fails at once", None),  # nothing grows
        (GROWS + "import jax\nuse_multiprocessing=True", None),
        (GROWS + "torch.cuda.OutOfMemoryError: CUDA out of memory.\nuse_multiprocessing=True", None),
        (GROWS + LOOP + oom("64,512"), ["build-once", "clear-session", "own-process"]),
        (GROWS + "use_multiprocessing=True\n" + oom("64,512"), None),  # no host RAM
        (GROWS + "use_multiprocessing=True\nMemoryError", ["fewer-workers"]),
    ],
)
def test_what_is_named_and_advised(text: str, advice: list[str] | None) -> None:
    assert slugs(text) == advice


def test_what_is_named_stands_alone() -> None:
    rules = {finding.rule for finding in pipeline.explain(GROWS + "use_multiprocessing=True\n").findings}
    assert RULE in rules and "told-in-words" not in rules


@pytest.mark.parametrize(
    "words",
    [
        "Each call takes another 200 MB of RAM.",
        "The memory is consumed slowly.",
        "It steadily eats my RAM.",
        "It needs more RAM every epoch.",
    ],
)
def test_words_of_growth(words: str) -> None:
    assert slugs(f"{words}\nuse_multiprocessing=True") == ["fewer-workers"]


@pytest.mark.parametrize(
    ("oldest", "newest", "code"),
    [
        ((2, 0), (2, 3), "@tf.function(experimental_relax_shapes=True)"),
        ((2, 9), (2, 15), "@tf.function(reduce_retracing=True)"),
        (
            (2, 0),
            (2, 99),
            "@tf.function(reduce_retracing=True)   # up to 2.8: experimental_relax_shapes",
        ),
    ],
)
def test_open_lengths(oldest: tuple[int, int], newest: tuple[int, int], code: str) -> None:
    assert relaxed(Api(oldest, newest)) == code


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("for i in 1 2; do A=1  python act.py --job=actor & done\nit is out of memory", "one-device-each"),
        ("python -m her.train --num_cpu 8\nit is out of memory", "one-device-each"),
        ("rllib's a3c\nit is out of memory", "one-device-each"),
        ("We run three training jobs on one GPU: out of memory", "see-device-users"),
        ("We run three training jobs on one GPU: the host RAM is full", None),
        ("We run three training jobs on one GPU", None),
        ("the a3c of my own\nit is out of memory", None),
        ("for i in 1 2; do python act.py; done\nit is out of memory", None),
    ],
)
def test_processes_that_share_a_gpu_in_words(text: str, first: str | None) -> None:
    found = [
        each for each in pipeline.explain(text + "\n").findings if each.rule == "processes-on-one-device"
    ]
    assert (found[0].remedies[0].slug if found else None) == first


def test_a_number_is_not_what_readings_rise_by() -> None:
    code = (
        "".join(f"Fold {n}: used memory {3 + 3 * n}.0 GB\n" for n in range(1, 6))
        + "Killed\n\nfor part in folds:\n    net = create_network()\n    net.fit(x[part], y[part])\n"
        + "    {kept}\n"
    )
    number = pipeline.explain(code.format(kept="scores.append(net.evaluate(x, y)[1])")).verdict
    assert "scores" not in number and "makes a model in each turn" in number


_ROUNDS = (
    "# Memory leak with `tf.estimator.train_and_evaluate` and `model_to_estimator`\n\n"
    "Memory grows with each round. {why}\n"
)


@pytest.mark.parametrize(
    ("why", "named"),
    [
        ("When it runs, every old graph is kept in a module's dict and never freed.", True),
        ("Is every old graph kept in a dict and never freed?", False),
        ("The summaries are stored in a folder of their own.", False),
    ],
)
def test_what_holds_on_is_the_cause_that_the_text_names(why: str, named: bool) -> None:
    report = pipeline.explain(_ROUNDS.format(why=why))
    assert ('names the cause: "When it runs, every old graph is kept' in report.verdict) is named
    slugs = [action.remedy.slug for action in report.actions]
    assert slugs[:2] == ["own-process", "newer-release"]
    assert "evaluate in a process of its own" in report.actions[0].remedy.text


@pytest.mark.parametrize(
    ("after", "apart"), [("", False), ("It runs out of memory in a prediction afterwards.", True)]
)
def test_what_comes_after_an_estimator_goes_apart_where_it_fails(after: str, apart: bool) -> None:
    report = pipeline.explain(
        "# Memory leak with `tf.estimator.train_and_evaluate`\n\n"
        f"The GPU memory grows with each round. {after}\n"
    )
    first = report.actions[0].remedy.text
    assert first.startswith("do what comes after it" if apart else "evaluate in a process of its own")
