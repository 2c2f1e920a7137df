"""What quoted JAX programs make, read from their syntax trees."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

ASKED = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
HEAD = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\n"
LARGE = f"\n{ASKED} 5760000000 bytes.\n"
LAMBDA = "data = jax.device_put(np.load('d.npy'))\nstep = jax.jit(lambda key: sample(data, key))\nstep(key)\n"
PASSED = LAMBDA.replace("lambda key: sample(data, key)", "lambda d, key: sample(d, key)")
TABLE = "table = jnp.array([1, 2, 3, 4])\nstep = jax.jit(lambda key: sample(table, key))\nstep(key)\n"
DECORATED = (
    "data = jnp.asarray(np.load('d.npy'))\n\n@jax.jit\ndef step(w, i):\n    return w @ data[i]\n\n"
    "step(w, 3)\n"
)
IN_A_LOOP = (
    "def main():\n    x = jax.device_put(np.load('d.npy'))\n    for i in range(16):\n"
    "        def f(v):\n            return jnp.dot(x, v)\n        f = jax.jit(f)\n        f(v)\n"
)
HESSIAN = "g = jax.jacrev(energy)\nh = jax.jacfwd(g)\nh(np.random.rand(2483, 3))\n"
JACOBIAN = "j = jax.jacfwd(energy)\nj(x)\n"
OF_EACH = "one = lambda x: jax.jacrev(net)(w, x)\nj = jax.vmap(one)(xs)\n"
OF_EACH_IN_A_FUNCTION = "def one(x):\n    return jax.hessian(net)(x)\n\nh = jax.vmap(one)(xs)\n"
OF_OTHERS = "j = jax.jacrev(net)(x)\ny = jax.vmap(other)(xs)\n"
STACKED = (
    "@jax.jit\ndef f(x):\n    x, big = jax.lax.scan(lambda c, y: (c + y, c + y), x, ys)\n"
    "    return big.sum()\n"
)
DROPPED = STACKED.replace("x, big =", "x, _ =").replace("big.sum()", "x.sum()")
GRADED = "def loss(p):\n    c, _ = jax.lax.scan(body, p, xs)\n    return c.sum()\n\ng = jax.grad(loss)(p)\n"
RECOMPUTED = "@jax.checkpoint\ndef body(c, x):\n    return c * x, None\n\n" + GRADED
SHARDED = "x = jax.device_put(jnp.zeros((9, n)), NamedSharding(mesh, P('x')))\n"
FROM_HOST = SHARDED.replace("jnp.zeros", "np.zeros")


def explained(text: str) -> Report:
    return pipeline.explain(text)


@pytest.mark.parametrize(
    ("code", "said", "slug"),
    [
        (LAMBDA, "uses the array `data` (line 5) without being given it", "pass-as-argument"),
        (DECORATED, "uses the array `data` (line 5) without being given it", "pass-as-argument"),
        (IN_A_LOOP, "each iteration of the loop compiles it anew", "pass-as-argument"),
        (HESSIAN, "all rows of the Hessian of line 6", "in-blocks"),
        (JACOBIAN, "all rows of the Jacobian of line 5", "in-blocks"),
        (OF_EACH, "the vmap of line 6 makes the whole Jacobian of line 5 for every example", "in-blocks"),
        (OF_EACH_IN_A_FUNCTION, "the vmap of line 8 makes the whole Hessian of line 6", "in-blocks"),
        (OF_OTHERS, "all rows of the Jacobian of line 5", "in-blocks"),
        (STACKED, "stacks `big`, one row for each of its steps", "stack-less"),
        (GRADED, "the gradient keeps what each step of the scan of line 6 needs", "in-blocks"),
        (RECOMPUTED, "it still keeps every step's carry", "in-blocks"),
        (SHARDED, "made before, whole, on one device", "shard-arguments"),
        ("y = jax.vmap(f)(xs)\n", "the vmap of line 5 runs `f` for all rows at once", "in-blocks"),
        ("y = jax.vmap(jax.vmap(f, (0, None)), (None, 0))(x, y)\n", "for every pair of rows", "in-blocks"),
    ],
)
@pytest.mark.parametrize("end", [LARGE, "\nthis ends with an OOM on my GPU\n"])
def test_what_the_program_makes_is_told_as_a_guess(code: str, said: str, slug: str, end: str) -> None:
    report = explained(HEAD + code + end)
    assert said in report.verdict
    assert "most likely" in report.verdict
    assert report.actions[0].remedy.slug == slug


@pytest.mark.parametrize(
    ("body", "told"), [("body", "body"), ("inner", "inner"), ("lambda c, x: (c, x)", "body")]
)
def test_the_body_of_the_scan_is_named(body: str, told: str) -> None:
    code = GRADED.replace("scan(body,", f"scan({body},")
    assert f"jax.checkpoint({told})" in (explained(HEAD + code + LARGE).actions[1].remedy.code or "")


TWO_VMAPS = (
    "@jax.jit\ndef forecast(xs):\n    return jax.vmap(one)(xs)\n\n"
    "def summary(ys):\n    return jax.vmap(last)(ys)\n\nsummary(forecast(xs))\n"
)
GIVEN = (
    "E0000 00:00:01.0 gpu_hlo_schedule.cc:1068] The byte size of input/output arguments (15616641124) exceeds"
    " the base limit (4504682496). This indicates an error in the calculation!\n"
)


@pytest.mark.parametrize(("name", "line"), [("forecast", 7), ("summary", 10), ("other", 10)])
def test_only_a_vmap_that_the_failed_program_reaches_is_told(name: str, line: int) -> None:
    end = f"{LARGE.strip()} [executable_name='jit_{name}']\n"
    assert f"the vmap of line {line} runs" in explained(f"{HEAD}{TWO_VMAPS}\n{end}").verdict


@pytest.mark.parametrize("code", [TWO_VMAPS, GRADED])
def test_what_is_given_and_returned_is_no_scan_or_vmap(code: str) -> None:
    end = f"{LARGE.strip()} [executable_name='jit_forecast']\n"
    verdict = explained(f"{HEAD}{code}\n{GIVEN}{end}").verdict
    assert "most likely" not in verdict and "arguments and results alone are 14.54 GiB" in verdict


@pytest.mark.parametrize("code", [PASSED, TABLE, DROPPED, FROM_HOST, "h = energy(x)\n"])
@pytest.mark.parametrize("end", [LARGE, "\nthis ends with an OOM on my GPU\n"])
def test_what_is_passed_small_or_dropped_is_not_told(code: str, end: str) -> None:
    told = {finding.rule for finding in explained(HEAD + code + end).findings}
    assert not {"failing-line-of-jax", "code-without-message"} & told


def test_code_alone_is_no_failure() -> None:
    assert (
        explained(HEAD + LAMBDA + "\nthis is slow on my GPU\n").verdict
        == "No out-of-memory message was found."
    )
    told = explained(LAMBDA.replace("jax.", "lib.") + "\nthis ends with an OOM\n").findings
    assert [each.rule for each in told] == ["told-in-words"]


def test_a_small_request_is_not_what_the_program_makes() -> None:
    report = explained(f"{HEAD}{LAMBDA}\n{ASKED} 4096 bytes.\n")
    assert "`data`" not in report.verdict


def test_a_scan_stands_behind_what_a_line_says_more_of() -> None:
    code = "train(num_envs=65536)\n" + GRADED
    assert "65536 environments" in explained(HEAD + code + LARGE).verdict


TPU = "XlaRuntimeError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 196.00M."
TPU += " That was not possible. There are 60.94M free.; (0x0x0_HBM0)\n"


@pytest.mark.parametrize(
    ("model", "told"), [("gemma-2-27b-it", True), ("llama-7b", True), ("gemma-2-2b-it", False)]
)
def test_a_model_that_the_text_names_is_set_against_a_chip(model: str, told: bool) -> None:
    report = explained(f'model = GemmaCausalLM.from_preset("hf://google/{model}")\n{TPU}')
    assert ("most likely weights fill it (60.94 MiB was left)" in report.verdict) is told
    assert (report.actions[0].remedy.slug == "shard-arguments") is told


def test_a_scan_is_told_before_a_vmap() -> None:
    report = explained(HEAD + "y = jax.vmap(f)(xs)\n" + GRADED + LARGE)
    assert "the scan of line 7" in report.verdict


INIT = (
    'File "train.py", line 47, in <module>\n    self.state = self.{call}(jnp.array(key.take(8)), x)\n'
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for {size} on"
    " device ordinal 0\n"
)


@pytest.mark.parametrize("size", ["32.00MiB (33554432B)", "20.18GiB (21670470184B)"])
def test_a_call_that_makes_the_state_makes_weights(size: str) -> None:
    report = explained(INIT.format(call="init_xmap", size=size))
    assert "the line makes the model's `state`" in report.verdict
    assert report.actions[0].remedy.slug == "shard-arguments"
    assert "`state`" not in explained(INIT.format(call="gather", size=size)).verdict


CUT = """  16. Size: 64.00M
     Operator: op_name="pjit(step)/jit(main)/transpose(jvp(Net))/h/14/mlp/fc_out/{op}"
     Shape: f32[4096,4096]{{1,0:T(8,128)}}
     Unpadded size: 64.00M
     XLA label: fusion.1396 = fusion(param.661)
     Allocation type: HLO temp
     ==========================
  17. Size: 64.00M
     Operator: op_name="pjit(step)/jit(main)/transpose(jvp(Net))/h/10/mlp/fc_out/{op}"
     Shape: f32[4096,4096]{{1,0:T(8,128)}}
     Unpadded size: 64.00M
     Allocation type: HLO temp
     ==========================
"""


def test_gradients_of_weights_in_a_listing_are_no_batch() -> None:
    report = explained(CUT.format(op="transpose[permutation=(1, 0)]"))
    assert "gradients of weights, one for each layer, which no batch changes" in report.verdict
    assert report.actions[0].remedy.slug == "shard-arguments"
    assert "smaller-batch" not in [action.remedy.slug for action in report.actions]
    assert "gradients of weights" not in explained(CUT.format(op="add_any")).verdict


def test_a_listing_without_its_head_is_asked_for_it() -> None:
    cut = explained(CUT.format(op="add_any"))
    assert "begins behind the largest" in cut.verdict
    assert "read-the-log" in [action.remedy.slug for action in cut.actions]
    whole = CUT.format(op="add_any").replace("16. Size", "1. Size").replace("17. Size", "2. Size")
    assert "begins behind the largest" not in explained(whole).verdict


@pytest.mark.parametrize(("rows", "told"), [(2_000, False), (2_000_000, True)])
def test_a_captured_array_explains_a_failure_that_has_its_size(rows: int, told: bool) -> None:
    code = (
        "import jax\nimport jax.numpy as jnp\n"
        f"table = jax.random.normal(jax.random.PRNGKey(0), ({rows}, 100))\n\n"
        "@jax.jit\ndef look(i):\n    return table[i]\n"
    )
    text = f"My program with jax runs out of memory on the GPU.\n\n```python\n{code}```\n"
    assert ("uses the array `table`" in explained(text).verdict) is told


@pytest.mark.parametrize(("used", "told"), [("46.60G", False), ("30.10G", True)])
def test_weights_are_not_blamed_where_temporaries_alone_are_too_large(used: str, told: bool) -> None:
    text = (
        "python -m train --model llama-8b --train_steps 20\n"
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory"
        " in memory space hbm. Used 46.60G of 31.25G hbm. Exceeded hbm capacity by 15.35G.\n\n"
        "Total hbm usage >= 46.85G:\n    reserved        260.00M\n    program          46.60G\n"
        "    arguments            0B\n\nOutput size 0B; shares 0B with arguments.\n\n"
        f"Program hbm requirement 46.60G:\n    global           336.5K\n    HLO temp         {used}\n"
    )
    assert ("billion weights" in explained(text).verdict) is told
