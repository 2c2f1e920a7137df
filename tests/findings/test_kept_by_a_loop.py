"""What loops of quoted code keep: which list, how much, and what must agree with it."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tfmemlens import pipeline
from tfmemlens.findings.support.kept_code import kept, largest
from tfmemlens.findings.support.kept_trees import Kept
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.finding import Basis, Finding
from tfmemlens.model.line import Line
from tfmemlens.readers.program import read_program

MIB = 1 << 20
FAILED = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {size}"
    " bytes.\n"
)
LOOP = """
outs, losses = [], []
for i, x in enumerate(batches):
    loss, y = step(params, x)      # y (64, 512, 512) f32
    losses.append(loss)
    outs.append(y)
print(jnp.stack(outs).mean(0))
"""
BAR = "  20%|##        | 200/1000 [00:41<03:52,  4.97it/s]\n"


def of(code: str) -> list[Kept]:
    lines = tuple(Line(number, text) for number, text in enumerate(code.splitlines(), 1) if text.strip())
    return kept(Surroundings(program=lambda: read_program(lines)))


def found(text: str, rule: str = "kept-by-a-loop") -> Finding | None:
    return next((each for each in pipeline.explain(text).findings if each.rule == rule), None)


def test_the_largest_of_several_is_the_one_with_the_most_bytes():
    keeps = of(LOOP)
    assert [(each.container, each.each, each.number) for each in keeps] == [
        ("losses", None, True),
        ("outs", 64 * MIB, False),
    ]
    most = largest(keeps, on_host=False)
    assert most and most.container == "outs" and most.shape == "[64,512,512] float32"
    assert [use for use, _ in most.uses] == ["print(jnp.stack(outs).mean(0))"]


REPLAY = """
obs = f(0)  # (84, 84, 4)
kept = deque()
while True:
    nobs = g(obs)
    kept.append((obs, nobs))
    obs = nobs
"""


@pytest.mark.parametrize(
    ("code", "size"),
    [
        ("kept = []\nfor x in ds:\n    kept.append(f(x))   # (256, 1024) float16", 256 * 1024 * 2),
        ("kept = []\nfor x in ds:\n    y = f(x)   # (16, 8) f32\n    kept.append((y, y))", 16 * 8 * 4),
        ("kept = []\nfor x in ds:\n    kept += [f(x)]   # [4, 8]", 128),
        (REPLAY, 84 * 84 * 16),
        ("kept = []\nfor x in ds:\n    kept.append(f(x))", None),
    ],
)  # fmt: skip
def test_a_size_comes_from_the_comment_that_states_the_shape(code: str, size: int | None):
    assert [(each.container, each.each) for each in of(code)] == [("kept", size)]


@pytest.mark.parametrize(
    "code",
    [
        "for x in ds:\n    outs = []\n    outs.append(f(x))",  # made anew in each turn
        "outs = []\nouts.append(f(x))",  # no loop
        "for x in ds:\n    def g():\n        outs.append(f(x))",  # runs elsewhere
        "for x in ds:\n    batch['image'] = f(x)",  # one entry, overwritten
    ],
)
def test_what_does_not_outlast_a_turn_is_not_kept(code: str):
    assert of(code) == []


def test_every_fourth_turn_and_a_bound():
    (each,) = of("k = deque(maxlen=50)\nfor i in it:\n    if i % 4 == 0:\n        k.append(y)")
    assert (each.every, each.most, each.after(100), each.after(1000)) == (4, 50, 25, 50)


@pytest.mark.parametrize(("value", "host"), [("np.asarray(y)", True), ("y.numpy()", True), ("y", False)])
def test_what_left_the_device_counts_in_host_ram_only(value: str, host: bool):
    keeps = of(f"k = []\nfor i in it:\n    y = f(i)   # (8, 8)\n    k.append({value})")
    assert [(each.on_host, each.each) for each in keeps] == [(host, 256)]
    assert (largest(keeps, on_host=False) is None) == host and largest(keeps, on_host=True)


def test_the_bytes_after_the_turns_are_told():
    finding = found(LOOP + BAR + FAILED.format(size=64 * MIB))
    assert finding and finding.basis is Basis.MEASURED and finding.explains == 200 * 64 * MIB
    assert "`outs` (line 6) keeps [64,512,512] float32 (64.00 MiB) of each iteration" in finding.headline
    assert "12.50 GiB after 200 iterations" in finding.headline


def test_a_few_turns_of_a_small_array_explain_no_large_request():
    few = BAR.replace("200/1000", "3/1000")
    assert found("an A100 of 40 GB\n" + LOOP + few + FAILED.format(size=30 << 30)) is None


def test_a_list_of_losses_is_no_cause():
    only = LOOP.replace("    outs.append(y)\n", "")
    assert found(only + BAR + FAILED.format(size=64 * MIB)) is None


GRID = """
results = {}
for lr in (1e-2, 1e-3):
    model = build(lr)
    model.fit(train)
    results[lr] = %s

tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[64,1024]
 and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc
"""


CALLBACK = """
class Keep(keras.callbacks.Callback):
    def %s(self, batch, logs=None):
        self.maps.append(net(x))   # (32, 56, 56, 256)
"""


@pytest.mark.parametrize(("method", "keeps"), [("on_train_batch_end", ["self.maps"]), ("build", [])])
def test_a_callback_of_each_batch_is_a_loop(method: str, keeps: list[str]):
    assert [each.container for each in of(CALLBACK % method)] == keeps


def test_a_model_is_known_by_what_is_called_on_it():
    code = "ms = []\nfor i in it:\n    m = make_cnn()\n    %s\n    ms.append(m)"
    assert [each.model for each in of(code % "m.fit(x, y)")] == [True]
    assert [each.model for each in of(code % "m.sort()")] == [False]


def test_models_in_a_dict_are_kept_and_their_figures_are_not():
    finding = found(GRID % "(model, h)", "models-kept")
    assert finding and "`results` (line 6) keeps every model" in finding.headline
    assert found(GRID % "model.evaluate(test)", "models-kept") is None


BOUNDED = REPLAY.replace("deque()", "deque(maxlen=%d)")


@pytest.mark.parametrize(("most", "fires"), [(200_000, True), (1000, False)])
def test_a_bounded_buffer_counts_where_it_may_be_larger_than_the_device(most: int, fires: bool):
    text = "RTX 3080 (10 GB), jax\n" + BOUNDED % most + FAILED.format(size=84 * 84 * 16)
    finding = found(text)
    assert bool(finding) == fires
    if finding:
        assert "up to 21.03 GiB in 200,000 entries" in finding.headline and finding.explains


LAYER = """
class Watched(Dense):
    def {method}(self, inputs):
        parts = []
        outputs = super().call(inputs)
        parts.append(outputs)
        {keeps}
        return outputs
"""


@pytest.mark.parametrize(
    ("method", "keeps", "lists"),
    [
        ("call", "self.seen.append(outputs)", ["self.seen"]),
        ("__call__", "self.seen += [outputs]", ["self.seen"]),
        ("call", "self.seen = self.seen + (outputs,)", ["self.seen"]),
        ("call", "self.seen = other.seen + (outputs,)", []),
        ("call", "self.last = outputs", []),
        ("learn", "self.seen.append(outputs)", ["self.seen"]),
        ("build", "self.seen.append(outputs)", []),  # once
        ("__init__", "self.seen.append(outputs)", []),
    ],
)
def test_what_a_layer_keeps_at_each_call(method: str, keeps: str, lists: list[str]):
    keeps_of = of(LAYER.format(method=method, keeps=keeps))
    assert [each.container for each in keeps_of] == lists
    assert all(each.by_calls for each in keeps_of)


def test_a_list_that_grows_by_adding_outlasts_its_loop():
    code = "kept = []\nfor x in data:\n    kept = kept + [model(x)]\n    fresh = [x] + [x]\n"
    assert [(each.container, each.by_calls) for each in of(code)] == [("kept", False)]


@pytest.mark.parametrize(
    ("count", "size", "named"),
    [(40, 8388608, True), (7, 8388608, False), (640, 524288, True), (127, 524288, False)],
)
def test_what_a_layer_keeps_needs_chunks_that_show_it(count: int, size: int, named: bool):
    """In a graph a method runs once, while it is traced: that it keeps something is no evidence alone."""
    code = LAYER.format(method="call", keeps="self.seen.append(outputs)")
    rows = "".join(f"InUse at 7f{at:010x} of size {size} next {at}\n" for at in range(count))
    text = (
        f"{code}\nAllocator (GPU_0_bfc) ran out of memory trying to allocate 8.00MiB (rounded to 8388608)"
        f"requested by op Relu\n{rows}Stats:\nLimit:                  345000000\nInUse:                 "
        f" {count * size}\n"
        "ResourceExhaustedError: OOM when allocating tensor with shape[8,64,64,64] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:Relu]\n"
    )
    told = found(text)
    assert (told is not None) is named
    if told:
        assert told.headline.startswith("`self.seen` (line 7) keeps every result of each call on the device")
        rules = [each.rule for each in pipeline.explain(text).findings]
        assert rules.index("kept-by-a-loop") < rules.index("equal-chunks"), "it names the line"


WRITER = """
STEPS = 24
class Writer(keras.Model):
    def call(self, source):
        steps = []
        for t in range({turns}):
            logits = self.cell(source)
            steps.append(logits)
        {ends}
"""


@pytest.mark.parametrize(
    ("turns", "ends", "most"),
    [
        ("STEPS", "return tf.stack(steps)", 24),
        ("12", "return tf.stack(steps)", 12),
        ("len(source)", "return tf.stack(steps)", None),
        ("STEPS", "return steps", None),
        ("STEPS", "self.steps = steps", None),
        ("STEPS", "self.all.append(steps)", None),
    ],
)
def test_a_list_that_goes_with_its_call_has_as_many_entries_as_turns(turns: str, ends: str, most: int | None):
    found_in = {each.container: each.turns for each in of(WRITER.format(turns=turns, ends=ends))}
    assert found_in["steps"] == most


DUMP = """
{code}
2024-05-05 10:00:00.000001: I bfc_allocator.cc:1100] 700 Chunks of size 491520 totalling 328.12MiB
2024-05-05 10:00:00.000002: I bfc_allocator.cc:1100] Sum Total of in-use chunks: 328.12MiB
2024-05-05 10:00:00.000003: W op_kernel.cc:1818] OP_REQUIRES failed at bias_op.cc:128 : \
RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[16,60,128] and type float on \
/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc
"""


@pytest.mark.parametrize(("ends", "accused"), [("return tf.stack(steps)", False), ("return steps", True)])
def test_blocks_are_no_entries_of_a_list_that_never_has_as_many(ends: str, accused: bool):
    code = WRITER.format(turns="STEPS", ends=ends)
    finding = found(DUMP.format(code=code))
    assert bool(finding and "`steps`" in finding.headline) == accused


TOWER = """
class Tower(keras.Model):
    def stages(self, x):
        maps = []
        for {over}:
            x = part(x)
            maps.append(x)
        {ends}
    def call(self, x):
        return self.stages(x)
class Watch:
    def __init__(self):
        self.seen = []
    def note(self, maps):
        self.seen.append([tf.nn.relu(each) for each in maps])
"""


@pytest.mark.parametrize(
    ("over", "ends", "method", "lists"),
    [
        ("part in self.parts", "return maps", "call", ["self.seen"]),
        ("at, part in enumerate(self.parts)", "return x, maps", "call", ["self.seen"]),
        ("at in range(len(self.parts))", "return maps", "call", ["self.seen"]),
        ("at in range(self.turns)", "return maps", "call", ["maps", "self.seen"]),
        ("part in self.parts", "self.maps = maps", "call", ["maps", "self.seen"]),
        ("part in self.parts", "return maps", "compare", ["maps", "self.seen"]),  # no pass of a layer
    ],
)
def test_a_list_of_a_networks_parts_goes_with_its_pass(over: str, ends: str, method: str, lists: list[str]):
    code = TOWER.format(over=over, ends=ends).replace("def call", f"def {method}")
    assert [each.container for each in of(code)] == lists


SIZES = """
{code}
100 Chunks of size 256 totalling 25.0KiB
{many} Chunks of size {size} totalling {all:.2f}MiB
12 Chunks of size 6291456 totalling 72.00MiB
Sum Total of in-use chunks: 120.00MiB
OOM when allocating tensor with shape[16,60,128] and type float on \
/job:localhost/replica:0/task:0/device:CPU:0 by allocator bfc_cpu_allocator_for_gpu
"""


@pytest.mark.parametrize(
    ("many", "size", "kept", "told"),
    [
        (14, 3 * MIB, "[tf.nn.relu(each) for each in maps]", True),
        (8, 3 * MIB, "(maps[0], maps[1])", True),
        (7, 3 * MIB, "(maps[0], maps[1])", False),  # too few
        (25, 2 * MIB, "(maps[0], maps[1])", False),  # twice as many are of something else
        (14, 3 * MIB, "tf.nn.relu(maps)", False),  # one tensor a turn
        (14, MIB - 256, "(maps[0], maps[1])", False),
    ],
)
def test_several_results_of_a_turn_have_blocks_of_several_sizes(many: int, size: int, kept: str, told: bool):
    code = TOWER.replace("[tf.nn.relu(each) for each in maps]", kept).format(
        over="part in self.parts", ends="return x"
    )
    finding = found(SIZES.format(code=code, many=many, size=size, all=many * size / MIB))
    assert finding and "`self.seen`" in finding.headline and "12 blocks of 6.00 MiB" in finding.headline
    assert (f"6.00 MiB, {many} of" in finding.headline) is told
    assert finding.explains == 72 * MIB + (many * size if told else 0)


MEMORY = """
class Player:
    def __init__(self):
        self.memory = []
    def observe(self, s, a):
        self.memory.append((tf.identity(s), a))
{count} Chunks of size 2048 totalling {all:.2f}MiB
{rest}Sum Total of in-use chunks: 60.00MiB
OOM when allocating tensor with shape[400,512] and type float on \
/job:localhost/replica:0/task:0/device:CPU:0 by allocator bfc_cpu_allocator_for_gpu
"""


@pytest.mark.parametrize(
    ("count", "beside", "told"),
    [
        (20000, 15 * MIB, True),
        (9000, 40 * MIB, False),  # a third of what is in use
        (990, 512, False),  # no crowd
    ],
)
def test_small_blocks_count_by_their_part_of_what_is_in_use(count: int, beside: int, told: bool):
    rest = f"1 Chunks of size {beside} totalling {beside / MIB:.2f}MiB\n"
    finding = found(MEMORY.format(count=count, all=count * 2048 / MIB, rest=rest))
    assert (finding is not None and "blocks of 2.0 KiB" in finding.headline) is told


EPOCHS = """\
class Mean(keras.callbacks.Callback):
    def __init__(self):
        self.copies = []
    def on_epoch_end(self, epoch, logs=None):
        self.copies.append({value})
    def mean(self):
        return [{use} for parts in zip(*self.copies)]
"""


@pytest.mark.parametrize(
    ("value", "weights"),
    [
        ("self.model.get_weights()", True),
        ("[tf.identity(w) for w in self.model.trainable_variables]", True),
        ("[w.numpy() for w in self.model.weights]", True),
        ("[w for w in self.model.weights]", False),  # no copies
        ("self.model.predict(self.x)", False),
        ("logs['loss']", False),
    ],
)
def test_copies_of_weights_that_a_callback_keeps(value: str, weights: bool) -> None:
    (keeping,) = of(EPOCHS.format(value=value, use="np.mean(parts, 0)"))
    assert keeping.by_epochs and not keeping.by_calls and keeping.weights is weights


def snapshots(value: str = "self.model.get_weights()", params: str = "80,000,000", epochs: int = 9) -> str:
    told = "".join(f"Epoch {epoch}/20\n8/8 - 1s - loss: 0.2\n" for epoch in range(1, epochs + 1))
    return (
        f"{EPOCHS.format(value=value, use='np.mean(np.stack(parts), 0)')}Total params: {params}\n{told}"
        'Traceback (most recent call last):\n  File "swa.py", line 7, in mean\n    np.mean(np.stack(parts),'
        ' 0)\n  File "<__array_function__ internals>", line 6, in stack\nMemoryError: Unable to allocate'
        " 2.01 GiB for an array with shape (9, 30000, 2000) and data type float32\n"
    )


def test_a_set_of_weights_of_each_epoch_fills_the_ram() -> None:
    kept_sets = found(snapshots())
    assert kept_sets and "a copy of all weights (305.18 MiB) of each epoch" in kept_sets.headline
    assert "up to 2.68 GiB after 9 epochs" in kept_sets.headline and kept_sets.basis is Basis.MEASURED
    report = pipeline.explain(snapshots())
    assert report.actions[0].remedy.text.startswith("keep a running mean")
    assert "map-the-file" not in [each.remedy.slug for each in report.actions]
    assert "__array_function__" not in report.verdict


def test_of_a_small_model_or_few_epochs_it_is_no_measured_cause() -> None:
    for text in (snapshots(params="80,000"), snapshots(epochs=0)):
        kept_sets = found(text)
        assert kept_sets is None or kept_sets.basis is not Basis.MEASURED


def test_without_a_mean_the_newest_set_is_kept() -> None:
    text = snapshots().replace("Mean", "Keeper").replace("np.mean", "pick").replace("in zip(*", "in list(")
    assert "newest" in pipeline.explain(text).actions[0].remedy.text


ROUNDS = """
def client(model, ward):
    return {returned}

class Shop:
    def __init__(self):
        self.rng, self.waiting = np.random.default_rng(1), {{}}

    def show(self, number, tape, chance):
        bought = self.rng.random(64) < chance
        self.waiting[number] = {put}

for number in range(90):
    weights, count = client(model, wards[number])
    updates.append((weights, count))
    shop.show(number, tape, chance)
"""


@pytest.mark.parametrize(
    ("returned", "put", "on_host"),
    [
        ("model.get_weights(), ward.count", "(number, bought)", [True, True]),
        ("model.get_weights(), float(loss)", "(number, np.log(chance))", [True, True]),
        ("model(ward.x), ward.count", "(number, tape)", [False, False]),
        ("model.trainable_variables, len(ward.x)", "(number, bought * tape)", [False, False]),
    ],
)
def test_what_functions_and_generators_of_numpy_make_lies_in_host_ram(
    returned: str, put: str, on_host: list[bool]
) -> None:
    keeps = {each.container: each.on_host for each in of(ROUNDS.format(returned=returned, put=put))}
    assert [keeps[name] for name in ("updates", "self.waiting")] == on_host


@pytest.mark.parametrize(("allocator", "blamed"), [("cpu", True), ("bfc_cpu_allocator_for_gpu", False)])
def test_arrays_of_numpy_are_in_no_pool_of_tensorflow(allocator: str, blamed: bool) -> None:
    code = "kept = []\nfor x in data:\n    kept.append(model.predict(x))\n"
    held = dump_by_size(15_360_000, 500, (26, 15_360_000), (3, 8 * MIB), allocator=allocator)
    text = f"{code}{held}{oom('60000,64', 'net/sub', on=CPU, by=allocator)}"
    assert (found(text) is not None) is blamed


@pytest.mark.parametrize(("kept", "tape"), [("(tape, chance)", True), ("chance", False)])
def test_a_tape_that_is_kept_is_the_first_thing_to_let_go(kept: str, tape: bool) -> None:
    code = (
        "class Learner:\n    def __init__(self):\n        self.pending = {}\n"
        "    def show(self, number, page):\n        with tf.GradientTape() as tape:\n"
        f"            chance = policy(page)\n        self.pending[number] = {kept}\n"
        "for number in range(900):\n    learner.show(number, pages[number])\n"
    )
    held = dump_by_size(15_360_000, 500, (26, 15_360_000), (3, 8 * MIB), allocator="cpu")
    finding = found(f"{code}{held}{oom('60000,64', 'net/sub', on=CPU, by='cpu')}")
    assert finding is not None
    assert (finding.remedies[0].slug == "no-kept-tape") is tape
    assert ("keep no tape in `self.pending`" in finding.remedies[0].text) is tape


ROLLOUTS = """
ENVS, HORIZON = 16, 20
trail, old = [], []
for update in range(90):
    seen = []
    for turn in range(HORIZON):
        late = net(view)
        seen.append(late)
        trail.append((update, late))
    old{0}
"""


@pytest.mark.parametrize(
    ("code", "turns"),
    [
        (ROLLOUTS.format(".clear()"), {"seen": 20, "trail": None}),
        (ROLLOUTS.format(".append(seen)"), {"seen": None, "trail": None, "old": None}),
        (ROLLOUTS.format(".clear()").replace("range(HORIZON)", "views"), {"seen": None, "trail": None}),
    ],
)
def test_a_list_that_an_outer_loop_makes_anew_has_one_turn_s(code: str, turns: dict[str, int | None]) -> None:
    assert {each.container: each.turns for each in of(code)} == turns


@pytest.mark.parametrize(
    ("made", "number"),
    [
        ("losses.Huber()", True),
        ("keras.losses.BinaryCrossentropy(from_logits=True)", True),
        ("keras.losses.BinaryCrossentropy(reduction='none')", False),
        ("keras.losses.BinaryCrossentropy(reduction=tf.losses.Reduction.NONE)", False),
        ("keras.Sequential([head])", False),
    ],
)
def test_a_loss_of_keras_gives_one_number(made: str, number: bool) -> None:
    code = f"judge = {made}\nkept = []\nfor x, y in rows:\n    kept.append(judge(y, net(x)))\n"
    assert [each.number for each in of(code)] == [number]


def test_the_length_of_a_list_reads_nothing_of_it() -> None:
    (kept_there,) = of("kept = []\nfor x in rows:\n    kept.append(f(x))\nprint(len(kept))\nprint(kept[0])\n")
    assert [use for use, _ in kept_there.uses] == ["print(kept[0])"]


STATE = """
def step(params, caches, x):
    kept = []
    for p, cache in zip({over}, caches):
        x, cache = attend(p, cache, x)
        kept.append(jnp.concatenate(cache))
    return x, kept
for pos in range(12):
    x, caches = step(params, caches, x)
"""


@pytest.mark.parametrize(("over", "lists"), [("params['layers']", []), ("batches", ["kept"])])
def test_caches_of_a_networks_layers_are_one_step_s(over: str, lists: list[str]):
    assert [each.container for each in of(STATE.format(over=over))] == lists
