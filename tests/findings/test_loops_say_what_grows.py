"""A loop of the quoted program shows what grows, whatever words its writer has for it."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.finding import Finding

COMPILES = """
{made}
for i in range(episodes):
    {anew}
    model.compile(loss=loss, optimizer='rmsprop')
    model.fit(x, y)
"""
MODELS = """
for variant in variants:
    model = make_model(variant)
    model.fit(x, y, epochs=20)
    scores[variant] = model.evaluate(a, b)
"""
SWITCHES = """
import jax, jax.numpy as jnp

def outer():
    x = jnp.ones(100)
    {inner}
    fn(0)

def fn(i):
    return jax.lax.switch(i, [(lambda _: 1), (lambda _: 2)], None)

for i in range(1000):
    outer()
"""
SOLVES = """
import jax.numpy as jnp
from {module} import odeint
while True:
    {inside}
    sol = odeint(f, jnp.asarray(1.0), jnp.asarray([0., 1.]))
"""
TRACED = """
import tensorflow as tf

@tf.function
def operate(img):
    return img

img = tf.zeros((6, 6, 7))
for i in range(100000):
    {line}
"""
TELLS = "RAM grows with every call of a tf.function.\n"


def first(text: str) -> Finding | None:
    return next(iter(pipeline.explain(text).findings), None)


@pytest.mark.parametrize(
    ("made", "anew", "compiled"),
    [
        ("model = Sequential()", "pass", True),
        ("pass", "model = Sequential()", False),  # that loop makes models
    ],
)
def test_a_model_that_is_compiled_again_and_again(made: str, anew: str, compiled: bool) -> None:
    found = first("The memory grows in each episode.\n" + COMPILES.format(made=made, anew=anew))
    assert found is not None
    assert ("compiles `model` anew" in found.headline) is compiled


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("A machine of 16 GB was swapping in the end.", True),
        ("The process keeps all of this in memory, 8 GB by now.", True),
        ("The machine has 16 GB of memory.", False),
        ("There is no problem with memory.", False),
        ("It is slow.", False),
    ],
)
def test_code_says_what_grows_where_memory_is_the_trouble(words: str, named: bool) -> None:
    found = first(f"{words}\n{MODELS}")
    assert (found is not None and "makes a model in each turn" in found.headline) is named


def test_code_says_nothing_of_an_error_of_another_kind() -> None:
    error = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nValueError: bad shapes\n'
    found = first(f"A machine of 16 GB was swapping in the end.\n{MODELS}\n{error}")
    assert found is None or "makes a model in each turn" not in found.headline


@pytest.mark.parametrize(
    ("inner", "found"),
    [
        ("fn = lambda i: jax.lax.switch(i, [lambda _: 1], None)", True),
        ("pass", True),  # the function that is called makes its branches
        ("from here import fn", True),
    ],
)
def test_functions_that_are_made_two_calls_below_a_loop(inner: str, found: bool) -> None:
    page = first("It leaks host memory.\n" + SWITCHES.format(inner=inner))
    assert (page is not None and "gives `jax.lax.switch` another function" in page.headline) is found


@pytest.mark.parametrize(
    ("module", "inside", "named"),
    [
        ("jax.experimental.ode", "f = lambda y, t: -y", True),
        ("scipy.integrate", "f = lambda y, t: -y", False),  # compiles nothing
        ("jax.experimental.ode", "pass", False),  # one function for all turns
    ],
)
def test_solvers_that_are_jitted_over_the_function_they_get(module: str, inside: str, named: bool) -> None:
    page = first("Memory keeps growing in this loop.\n" + SOLVES.format(module=module, inside=inside))
    assert (page is not None and "gives `odeint` another function" in page.headline) is named


@pytest.mark.parametrize(
    ("line", "once"),
    [
        ("s = operate(img)", True),
        ("s = operate(i)", False),
        ("s = operate(tf.zeros((i, 6, 7)))", False),
        ("img = load(i); s = operate(img)", False),
    ],
)
def test_a_function_that_gets_what_was_made_above_the_loop_is_traced_once(line: str, once: bool) -> None:
    page = first(TELLS + TRACED.format(line=line))
    assert page is not None
    assert ("is traced once" in page.headline) is once


def test_what_it_is_fine_without_may_go_on_in_the_next_line() -> None:
    words = (
        "It is out of memory all the time, but when I take out the line that appends to a list it\n"
        "gets through all epochs.\n\n    kept.append(tape.gradient(loss, x))\n"
    )
    page = first(words)
    assert page is not None
    assert "a list keeps by `kept.append" in page.headline


SESSION = """
import tensorflow as tf
a = tf.constant(5.0)
with tf.Session() as sess:
    for i in range(1000):
        {line}
"""


@pytest.mark.parametrize(
    ("line", "op"),
    [
        ("b = sess.run(-a)", "-a"),
        ("b = sess.run([train, a * 2])", "a * 2"),
        ("sess.run(iterator.make_initializer(dataset))", "iterator.make_initializer"),
        ("sess.run(w.assign(new))", "w.assign"),
        ("b = sess.run(a)", None),
        ("b = sess.run([a] + more)", None),  # a list that is made longer
        ("c = a * 2; sess.run(a)", None),  # nobody knows whether that is a tensor
        ("frame = frame.assign(x=1); sess.run(a)", None),
    ],
)
def test_ops_that_a_loop_adds_to_the_graph(line: str, op: str | None) -> None:
    page = first("Memory grows with each iteration.\n" + SESSION.format(line=line))
    assert page is not None
    assert (f"adds `{op}` to the graph" in page.headline) is (op is not None)


def test_what_is_assigned_is_fed() -> None:
    page = first("Memory grows with each iteration.\n" + SESSION.format(line="sess.run(w.assign(new))"))
    assert page is not None
    assert "p = tf.placeholder(w.dtype, w.shape)" in (page.remedies[0].code or "")


FACTORY = """
import tensorflow as tf
def make():
    {decorator}
    def step(x):
        return x * 2
    return step
{above}
for x in ds:
    {line}
"""


@pytest.mark.parametrize(
    ("decorator", "above", "line", "made"),
    [
        ("@tf.function", "pass", "make()(x)", True),
        ("@tf.function", "step = make()", "step(x)", False),
        ("pass", "pass", "make()(x)", False),
        ("pass", "pass", "f = tf.function(net); f(x)", True),
    ],
)
def test_a_tf_function_that_each_turn_makes(decorator: str, above: str, line: str, made: bool) -> None:
    code = FACTORY.format(decorator=decorator, above=above, line=line)
    page = first(f"RAM grows until it is killed.\n{code}")
    assert page is not None
    assert ("makes a tf.function" in page.headline) is made


INSTANCES = """
import jax
class Net{base}:
    def __init__(self):
        {init}
    {decorator}
    def update(self, p):
        return p
{above}
for k in range(1000):
    {line}
"""
_STATIC = "@functools.partial(jax.jit, static_argnums=0)"


@pytest.mark.parametrize(
    ("base", "init", "decorator", "above", "line", "named"),
    [
        ("", "pass", _STATIC, "pass", "net = Net(); net.update(1)", "`update` is compiled for each instance"),
        ("", "pass", _STATIC, "pass", "nets = [Net() for _ in range(8)]", "`update` is compiled"),
        ("", "pass", _STATIC, "net = Net()", "net.update(1)", ""),
        ("", "pass", "@staticmethod", "pass", "net = Net()", ""),
        ("(eqx.Module)", "pass", _STATIC, "pass", "net = Net()", ""),
        ("", "self.step = jax.jit(self.update)", "", "pass", "net = Net()", "compiles another function"),
    ],
)
def test_instances_for_which_methods_are_compiled(
    base: str, init: str, decorator: str, above: str, line: str, named: str
) -> None:
    code = INSTANCES.format(base=base, init=init, decorator=decorator, above=above, line=line)
    page = first(f"Host RAM grows in each turn.\n{code}")
    assert page is not None
    made = "is compiled for each instance" in page.headline or "compiles another function" in page.headline
    assert named in page.headline and made is bool(named)


UNDER_A_TAPE = """
def forward(x):
    parts = []
    for i in range(4):
        parts.append(net(x[i]))
    return join(parts)
with tf.GradientTape() as tape:
    loss = {loss}
g = tape.gradient(loss, net.trainable_variables)
"""


@pytest.mark.parametrize(
    ("words", "loss", "named"),
    [
        ("It runs out of memory.", "compare(y, forward(x))", True),
        ("It runs out of memory.", "compare(y, net(x))", False),
        ("It is slow.", "compare(y, forward(x))", False),
    ],
)
def test_a_loop_under_a_tape_without_a_message(words: str, loss: str, named: bool) -> None:
    page = first(f"{words}\n{UNDER_A_TAPE.format(loss=loss)}")
    assert (page is not None and "it runs under the tape" in page.headline) is named


@pytest.mark.parametrize(
    ("code", "once"),
    [
        ("y = model.predict(dataset)", True),
        ("for part in parts:\n    y = model.predict(part)", False),
        ("def handle(x):\n    return model.predict(x)", False),
    ],
)
def test_predict_that_is_called_once_keeps_its_outputs(code: str, once: bool) -> None:
    page = first(f"Memory grows when I call predict instead of many predictions.\n\n{code}\n")
    assert page is not None
    assert ("keeps the outputs of all batches" in page.headline) is once


@pytest.mark.parametrize(
    ("call", "named"),
    [("gpflow.models.GPR(x, y)", True), ("gpflow.kernels.Matern52(200)", False)],
)
def test_models_of_a_library_that_a_loop_makes(call: str, named: bool) -> None:
    code = f"import tensorflow as tf\nfor i in range(4000):\n    m = {call}\n    optimizer().minimize(m)\n"
    page = first(f"Memory usage keeps rising.\n{code}")
    assert page is not None
    assert ("makes a model in each turn" in page.headline) is named


@pytest.mark.parametrize(
    ("turn", "named"),
    [
        ("lambda f: self.cnn(f), x, parallel_iterations=1", True),
        ("self.encoder, x", True),
        ("lambda f: tf.image.resize(f, (9, 9)), x", False),
        ("decode, x", False),
    ],
)
def test_a_network_in_turns_of_the_graph(turn: str, named: bool) -> None:
    code = f"class Each(Layer):\n    def call(self, x):\n        return tf.map_fn({turn})\nmodel.fit(ds)\n"
    page = first(f"The GPU runs out of memory in training, TF 2.4.\n\nimport tensorflow as tf\n{code}")
    assert (page is not None and "every turn of `tf.map_fn`" in page.headline) is named
    if named and page:
        assert ("parallel_iterations tells only" in page.headline) is ("parallel" in turn)


def test_without_training_no_turn_is_kept() -> None:
    code = "import tensorflow as tf\ny = tf.map_fn(lambda f: cnn(f), x)\n"
    page = first(f"The GPU runs out of memory.\n\n{code}")
    assert page is None or "every turn" not in page.headline


@pytest.mark.parametrize(
    ("function", "turn", "named"),
    [
        ("call", "y = self.cell(y)", True),
        ("generate", "y = self.cell(y)", False),  # no gradient goes through it
        ("call", "with tf.GradientTape() as tape: g = tape.gradient(self.net(y), w)", False),
        ("call", "y = y + 1", False),
    ],
)
def test_a_loop_over_a_range_of_the_graph(function: str, turn: str, named: bool) -> None:
    code = (
        f"class Each(Layer):\n    def {function}(self, y):\n        for t in tf.range(40):\n"
        f"            {turn}\n        return y\nmodel.fit(ds)\n"
    )
    page = first(f"The GPU runs out of memory in training.\n\nimport tensorflow as tf\n{code}")
    assert (page is not None and "all 40 turns of `for t in tf.range(40)`" in page.headline) is named


@pytest.mark.parametrize(
    ("kept", "named"),
    [
        ("(epoch, params, float(loss))", True),
        ("params", True),
        ("jax.device_get(params)", False),
        ("(epoch, float(loss))", False),
    ],
)
def test_weights_of_each_epoch(kept: str, named: bool) -> None:
    page = first(f"""import jax
for epoch in range(300):
    for batch in loader:
        params, opt_state, loss = step(params, opt_state, batch)
    history.append({kept})

jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate\
 268435456 bytes.

The model has 350M parameters, and it fails in epoch 54, whatever the batch.
""")
    assert page is not None
    assert ("a copy of all weights (1.30 GiB) of each epoch" in page.headline) is named
    if named:
        assert "70.41 GiB after 54 epochs" in page.headline
        assert any("device_get" in (each.code or "") for each in page.remedies)


@pytest.mark.parametrize(
    ("inside", "named"),
    [
        ("new = keras.models.clone_model(model)\n    new.set_weights(weights)", True),
        ("new = keras.models.clone_model(model)", False),
    ],
)
def test_clones_that_a_loop_makes(inside: str, named: bool) -> None:
    code = f"import keras\nfor i in range(100):\n    {inside}\n    score(i)\n"
    page = first(f"The 50th cloning takes 34 seconds. Memory goes the same way.\n\n{code}")
    assert (page is not None and "makes a model in each turn" in page.headline) is named
