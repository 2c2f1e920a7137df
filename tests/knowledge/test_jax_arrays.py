"""JAX programs followed on shapes alone: what each line makes, to the byte."""

from __future__ import annotations

import ast

import pytest

from tfmemlens.knowledge.jax_arrays import Followed, arrays_of
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

HEAD = "import jax, functools\nimport jax.numpy as jnp\nimport numpy as np\nfrom jax import lax, random\n"
HEAD += "key = random.PRNGKey(0)\nx = jnp.ones((6, 4))\ny = jnp.ones((4, 10))\nq = jnp.ones((2, 8, 16, 4))\n"
HEAD += "images = jnp.ones((5, 32, 32, 3))\n"
FIRST = HEAD.count("\n") + 1


def followed(code: str) -> Followed:
    lines = tuple(Line(at, text) for at, text in enumerate(code.splitlines(), 1))
    return arrays_of(Program(tuple(Statement(node, lines) for node in ast.parse(code).body)))


def made(code: str) -> tuple[tuple[int, ...], str]:
    """The last array that a line behind the head makes."""
    found = [each for each in followed(HEAD + code).arrays if each.line.number >= FIRST]
    return found[-1].array.shape, found[-1].array.dtype


@pytest.mark.parametrize(
    ("code", "shape", "dtype"),
    [
        ("x @ y", (6, 10), "float32"),
        ("x[:, None, :] - x[None]", (6, 6, 4), "float32"),
        ("x[:, jnp.newaxis] * 2.0", (6, 1, 4), "float32"),
        ("x * rate() - x / 4**0.5", (6, 4), "float32"),
        ("x > 0", (6, 4), "bool"),
        ("x.sum(axis=-1, keepdims=True)", (6, 1), "float32"),
        ("jnp.argmax(x, axis=1)", (6,), "int32"),
        ("x.reshape(2, -1)", (2, 12), "float32"),
        ("x.reshape((3, 8)).T", (8, 3), "float32"),
        ("q.transpose(0, 2, 1, 3)", (2, 16, 8, 4), "float32"),
        ("jnp.einsum('bhqd,bhkd->bhqk', q, q)", (2, 8, 16, 16), "float32"),
        ("jnp.einsum('...d,df->...f', q, y)", (2, 8, 16, 10), "float32"),
        ("q @ q.swapaxes(-1, -2)", (2, 8, 16, 16), "float32"),
        ("jnp.dot(q, y)", (2, 8, 16, 10), "float32"),
        ("jax.nn.one_hot(jnp.arange(7), 50304)", (7, 50304), "float32"),
        ("x[jnp.zeros((9, 3), jnp.int32)]", (9, 3, 4), "float32"),
        ("jnp.take(x, jnp.zeros((9, 3), jnp.int32), axis=0)", (9, 3, 4), "float32"),
        ("images[2:4, ..., 0]", (2, 32, 32), "float32"),
        ("x[-1]", (4,), "float32"),
        ("jnp.concatenate([x, x, x], axis=1)", (6, 12), "float32"),
        ("jnp.stack([x] * 8)", (8, 6, 4), "float32"),
        ("jnp.pad(x, ((1, 1), (0, 3)))", (8, 7), "float32"),
        ("jnp.repeat(x, 5, axis=0)", (30, 4), "float32"),
        ("jnp.tile(x, (2, 3))", (12, 12), "float32"),
        ("jnp.broadcast_to(x, (7, 6, 4))", (7, 6, 4), "float32"),
        ("jnp.fft.rfft(x)", (6, 3), "complex64"),
        ("jnp.abs(jnp.fft.fft2(x))", (6, 4), "float32"),
        ("jnp.kron(x, y)", (24, 40), "float32"),
        ("jnp.meshgrid(jnp.arange(3.), jnp.arange(5.), indexing='ij')", (3, 5), "float32"),
        ("jnp.meshgrid(jnp.arange(3.), jnp.arange(5.))", (5, 3), "float32"),
        ("jnp.tensordot(x, y, axes=1)", (6, 10), "float32"),
        ("jnp.tensordot(x, q, axes=([1], [3]))", (6, 2, 8, 16), "float32"),
        ("jnp.vdot(x, x)", (), "float32"),
        ("jnp.linalg.norm(x, axis=1)", (6,), "float32"),
        ("jnp.linalg.norm(x[:, None] - x, 1, -1)", (6, 6), "float32"),
        ("lax.dynamic_slice_in_dim(x, 2, 3)", (3, 4), "float32"),
        ("lax.dynamic_index_in_dim(x, 2, keepdims=False)", (4,), "float32"),
        ("jax.ops.segment_sum(x, ids, num_segments=9)", (9, 4), "float32"),
        ("jnp.diff(x, axis=0)", (5, 4), "float32"),
        ("random.choice(key, x, (9,))", (9, 4), "float32"),
        ("random.choice(key, 100, (9,))", (9,), "int32"),
        ("jax.nn.initializers.he_normal()(key, (7, 9))", (7, 9), "float32"),
        ("jnp.linalg.cholesky(jnp.eye(9))", (9, 9), "float32"),
        ("random.normal(key, (3, 5), dtype=jnp.bfloat16)", (3, 5), "bfloat16"),
        ("random.randint(key, (3,), 0, 9)", (3,), "int32"),
        ("jnp.asarray(np.random.rand(3, 5))", (3, 5), "float32"),
        ("jnp.array(np.zeros((2, 2), np.uint8))", (2, 2), "uint8"),
        ("jnp.zeros((2, 3), jnp.float64)", (2, 3), "float32"),
        ("x.astype(jnp.bfloat16)", (6, 4), "bfloat16"),
        ("jnp.where(x > 0, x, 0.0)", (6, 4), "float32"),
        ("x.at[0].set(1.0)", (6, 4), "float32"),
        ("jnp.linspace(0, 1, 20)", (20,), "float32"),
        (
            "lax.conv_general_dilated(images, jnp.ones((3, 3, 3, 8)), (2, 2), 'SAME',"
            " dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
            (5, 16, 16, 8),
            "float32",
        ),
        (
            "lax.conv_general_dilated(images, jnp.ones((3, 3, 3, 8)), (1, 1), 'VALID',"
            " dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
            (5, 30, 30, 8),
            "float32",
        ),
        ("jnp.argsort(x)", (6, 4), "int32"),
        ("jnp.bincount(jnp.arange(9), length=5)", (5,), "int32"),
        ("jnp.float32(3.0)", (), "float32"),
        ("jnp.asarray(np.random.default_rng(0).zipf(1.3, size=(3, 5)))", (3, 5), "int32"),
        ("jax.vmap(lambda r: r @ y)(x)", (6, 10), "float32"),
        ("jax.jacrev(lambda r: r @ y)(x[0])", (10, 4), "float32"),
        ("jax.hessian(lambda r: (r * r).sum())(x[0])", (4, 4), "float32"),
        ("jax.grad(lambda w: (w @ y).sum())(x)", (6, 4), "float32"),
        ("lax.scan(lambda c, r: (c, r @ y), 0.0, x)", (6, 10), "float32"),
        ("lax.map(lambda r: r @ y, x)", (6, 10), "float32"),
        ("functools.partial(jnp.matmul, x)(y)", (6, 10), "float32"),
        ("jax.tree.map(lambda a: a * 2, {'w': x})['w'] + x", (6, 4), "float32"),
        ("def f(a, n=3):\n    return jnp.zeros((n, *a.shape))\nf(x, n=5)", (5, 6, 4), "float32"),
        (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--batch-size', default=32)\n"
            "args = p.parse_args()\njnp.ones((args.batch_size, 2))",
            (32, 2),
            "float32",
        ),
        ("for w in [y, y]:\n    z = x @ w", (6, 10), "float32"),
    ],
)
def test_the_shape_of_what_a_line_makes(code: str, shape: tuple[int, ...], dtype: str) -> None:
    assert made(code) == (shape, dtype)


def test_all_parts_of_a_decomposition_are_noted() -> None:
    full = {each.array.shape for each in followed(HEAD + "jnp.linalg.svd(x)").arrays}
    low = {each.array.shape for each in followed(HEAD + "jnp.linalg.svd(x, full_matrices=False)").arrays}
    assert (6, 6) in full
    assert (6, 6) not in low


def test_parameters_in_a_dict_are_followed_into_the_loss() -> None:
    code = (
        "VOCAB, DIM = 500, 16\n"
        "def init(k):\n    return {'table': random.normal(k, (VOCAB, DIM))}\n"
        "def loss(p, ids):\n    return (p['table'][ids] @ p['table'].T).mean()\n"
        "@jax.jit\ndef step(p, ids):\n    l, g = jax.value_and_grad(loss)(p, ids)\n"
        "    return jax.tree.map(lambda a, b: a - b, p, g), l\n"
        "def main():\n    p = init(key)\n    p, l = step(p, jnp.zeros((3, 7), jnp.int32))\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    result = followed(HEAD + code)
    logits = next(each for each in result.arrays if each.array.shape == (3, 7, 500))
    assert (logits.line.text.strip()[:6], logits.compiled, logits.gradient) == ("return", True, True)
    assert [line.number for line in logits.way] == [FIRST + 13, FIRST + 11, FIRST + 7, FIRST + 4]
    assert result.names == {500: "VOCAB", 16: "DIM"}


def test_objects_keep_what_their_methods_set() -> None:
    code = (
        "class Data:\n    scale = 2\n    def __init__(self, n):\n"
        "        self.x = jnp.zeros((n * self.scale, 4))\n"
        "    def __call__(self, w):\n        return self.x @ w\nData(5)(y)\n"
    )
    assert made(code) == ((10, 10), "float32")


SETTINGS = {
    "a property": "class C:\n    n: int = 7\n    @property\n    def shape(self):\n        return self.n, 9\n",
    "a class method": "class C:\n    def __init__(self, n):\n        self.shape = n, 9\n    @classmethod\n"
    "    def of(cls):\n        return cls(7)\nC = C.of\n",
    "a static method": "class D:\n    @staticmethod\n    def f(n):\n        return n, 9\n"
    "class C:\n    shape = D.f(7)\n",
    "a base": "class B:\n    def __init__(self, n):\n        self.n = n\n    def size(self):\n"
    "        return self.n, 9\nclass C(B):\n    def __init__(self):\n        super().__init__(7)\n"
    "        self.shape = self.size()\n",
    "a compiled method": "class C:\n    def __init__(self):\n        self.shape = self.size(7)\n"
    "    @functools.partial(jax.jit, static_argnums=0)\n    def size(self, n):\n        return n, 9\n",
    "a factory": "from dataclasses import dataclass, field\n@dataclass\nclass D:\n    n: int = 7\n"
    "@dataclass\nclass S:\n    d: D = field(default_factory=D)\nclass C:\n    shape = S().d.n, 9\n",
    "a replaced field": "import dataclasses\n@dataclasses.dataclass\nclass D:\n    n: int = 3\n"
    "    m: int = 9\nclass C:\n    d = dataclasses.replace(D(), n=7)\n    shape = d.n, d.m\n",
    "a namespace": "from types import SimpleNamespace\nclass C:\n    shape = SimpleNamespace(s=(7, 9)).s\n",
    "a tuple with names": "import collections\nT = collections.namedtuple('T', 'n m')\nn, m = T(7, m=9)\n"
    "class C:\n    shape = n, T(7, 9)[1]\n",
    "a joined dict": "class C:\n    shape = tuple((dict({'a': 7}, b=3) | {'b': 9}).values())\n",
    "what a star takes": "*shape, last = 7, 9, 3\nclass C:\n    shape = tuple(shape)\n",
    "an alternative": "def f(n=None):\n    return n or 7, 9\nclass C:\n    shape = f()\n",
    "a filter": "class C:\n    shape = tuple([a for a in (1, 7, 9) for b in (0,) if a > 1])\n",
    "a generator": "def f():\n    for n in range(3):\n        yield n + 7, 9\nclass C:\n"
    "    shape = next(f())\n",
}


@pytest.mark.parametrize("code", SETTINGS.values(), ids=SETTINGS)
def test_sizes_come_through(code: str) -> None:
    assert made(f"{code}jnp.zeros(C().shape)\n") == ((7, 9), "float32")


def test_a_filter_that_nothing_tells_leaves_no_shape() -> None:
    code = "n = [a for a in (4, 5) if flag(a)]\njnp.zeros(tuple(n))\n"
    assert not [each for each in followed(HEAD + code).arrays if each.line.number > FIRST]


def test_an_array_that_nothing_tells_is_no_number_where_it_has_axes() -> None:
    code = "z = load()\nz[:, None] - x[None]\nz * x\n"
    found = {
        each.line.number: each.array.shape for each in followed(HEAD + code).arrays if each.name == "operator"
    }
    assert found == {FIRST + 2: (6, 4)}


def test_a_method_that_is_compiled_is_known_as_compiled() -> None:
    code = "class A:\n    @jax.jit\n    def f(self, a):\n        return a @ y\nA().f(x)\n"
    noted = [each for each in followed(HEAD + code).arrays if each.name == "matmul"]
    assert [(each.array.shape, each.compiled) for each in noted] == [((6, 10), True)]


def test_what_is_pulled_back_has_the_shapes_of_what_was_given() -> None:
    code = "value, pull = jax.vjp(lambda a: a @ y, x)\n(g,) = pull(value)\ng @ y\n"
    assert made(code)[0] == (6, 10)


def test_a_row_of_a_mapped_function_is_counted_for_all_rows() -> None:
    code = "def one(r):\n    return jnp.outer(r, r)\njax.vmap(one)(x).sum()\n"
    outer = [each for each in followed(HEAD + code).arrays if each.name == "outer"]
    assert [each.array.shape for each in outer] == [(6, 4, 4)]


def test_a_scan_under_a_gradient_has_its_turns() -> None:
    code = (
        "def cell(c, r):\n    c = jnp.tanh(c + r)\n    return c, c\n"
        "def loss(p):\n    return lax.scan(cell, p, x)[1].sum()\njax.jit(jax.grad(loss))(x[0])\n"
    )
    inside = next(each for each in followed(HEAD + code).arrays if each.name == "tanh")
    assert (inside.times, inside.gradient, inside.compiled) == (6, True, True)


@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        ("jax.config.update('jax_enable_x64', True)\njnp.zeros(3)", "float64"),
        ("jax.config.update('jax_enable_x64', False)\njnp.zeros(3)", "float32"),
        ("import os\nos.environ['JAX_ENABLE_X64'] = '1'\njnp.zeros(3)", "float64"),
    ],
)
def test_sixty_four_bits_are_kept_where_they_are_asked_for(code: str, dtype: str) -> None:
    assert made(code) == ((3,), dtype)


def test_devices_that_the_environment_sets_are_counted() -> None:
    flag = "import os\nos.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=8'\n"
    code = "n = jax.local_device_count()\njnp.stack([x] * n)\n"
    assert made(flag + code)[0] == (8, 6, 4)


@pytest.mark.parametrize(
    "code",
    [
        "x @ unknown",
        "jnp.zeros((n, 4))",
        "x.reshape(5, -1)",
        "x + jnp.zeros((5, 4))",
        "np.random.rand(9, 9)",
        "x[y > 0]",
        "jnp.load('data.npy') @ y",
        "lax.conv_general_dilated(images, jnp.ones((3, 3, 3, 8)), (1, 1), [(1, 1), (1, 1)],"
        " dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
    ],
)
def test_what_nothing_states_is_not_guessed(code: str) -> None:
    known = {(6, 4), (4, 10), (3, 3, 3, 8), (5, 4)}
    found = [each.array.shape for each in followed(HEAD + code).arrays if each.line.number >= FIRST]
    assert set(found) <= known


def test_a_branch_that_nobody_knows_leaves_no_shape() -> None:
    code = "if flag():\n    z = x\nelse:\n    z = y\nz + 1.0\n"
    assert not [each for each in followed(HEAD + code).arrays if each.line.number == FIRST + 4]


def test_a_program_without_end_is_left_in_time() -> None:
    assert followed("def f(n):\n    return f(n + 1) + f(n + 2)\nf(0)\n").arrays == ()


@pytest.mark.parametrize("donated", ["", ", donate_argnums=(0,)"])
def test_a_result_beside_its_argument_is_noted_unless_it_is_donated(donated: str) -> None:
    code = f"f = jax.jit(lambda a: a * 2{donated})\nfor i in range(9):\n    x = f(x)\n"
    returned = [each for each in followed(HEAD + code).arrays if each.name == "returned"]
    assert bool(returned) is not bool(donated)


def test_an_object_that_holds_itself_is_followed_once() -> None:
    told = followed("import jax.numpy as jnp\nd = {'n': 1234}\nd['d'] = d\nx = jnp.zeros((4096, 8))\n")
    assert [each.array.shape for each in told.arrays] == [(4096, 8)]


def test_a_slice_of_more_than_there_can_be_is_left_out() -> None:
    told = followed("import jax.numpy as jnp\nx = jnp.zeros((1 << 70, 8))\ny = x[3:]\nz = jnp.ones((5, 6))\n")
    assert (5, 6) in [each.array.shape for each in told.arrays]


FLAT = "from jax.flatten_util import ravel_pytree\nflat, unravel = ravel_pytree({{'w': x, 'b': {b}}})\n"


def test_a_flattened_tree_has_all_its_numbers_and_goes_back() -> None:
    code = FLAT.format(b="jnp.zeros(5)") + "g = jax.grad(lambda t: unravel(t)['w'].sum())(flat)\n"
    assert made(code) == ((29,), "float32")
    assert made(FLAT.format(b="jnp.zeros(5)") + "unravel(flat)['w'] @ y\n") == ((6, 10), "float32")
    assert not [
        each for each in followed(HEAD + FLAT.format(b="load()")).arrays if each.name == "ravel_pytree"
    ]


def test_what_a_generator_hands_on_is_followed() -> None:
    code = "def parts():\n    yield from jnp.zeros((9, 8, 7))\nfor part in parts():\n    part + 1.0\n"
    assert made(code) == ((8, 7), "float32")
