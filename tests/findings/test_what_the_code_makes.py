"""What lines of TensorFlow programs make: each row of the table on lines that show it and lines that look
alike, and each way in which a failure must agree with a line before the line explains it.
"""

from __future__ import annotations

import ast
import re
import string

import pytest

from tests.findings.logs import CPU, GPU, oom
from tests.findings.test_what_is_no_batch import explained
from tfmemlens.findings.support.applicability import TABLE as APPLICABLE
from tfmemlens.findings.support.tf_code import TABLE, Agreement, TensorFlowIdiom
from tfmemlens.model.finding import Finding

RULE = "what-the-code-makes"
WORDS = {"at", "shape", "bytes", "first", "second", "third", "last", "samples", "longest", "per_hundred",
         "number", "times", "half", "factors"}  # fmt: skip
KILLED = "Out of memory: Killed process 21992 (python3) total-vm:98211200kB, anon-rss:62914560kB\n"


def frame(code: str, place: str = '"/home/u/run.py", line 7, in main') -> str:
    return f"Traceback (most recent call last):\n  File {place}\n    {code}\n"


def found(text: str) -> list[Finding]:
    return [finding for finding in explained(text).findings if finding.rule == RULE]


@pytest.mark.parametrize("idiom", TABLE, ids=lambda idiom: idiom.slug)
def test_a_row_knows_its_lines_and_no_others(idiom: TensorFlowIdiom) -> None:
    assert idiom.examples and idiom.near and idiom.told and idiom.advice
    for line in idiom.examples:
        assert idiom.match(line), line
        assert idiom.match(f"  # {line}") is None
    for line in idiom.near:
        assert idiom.match(line) is None, line


@pytest.mark.parametrize("idiom", TABLE, ids=lambda idiom: idiom.slug)
def test_a_row_names_only_what_is_known(idiom: TensorFlowIdiom) -> None:
    known = WORDS | set(re.compile(idiom.code.pattern).groupindex)
    for text in (idiom.makes, *(advice.text for advice in idiom.advice)):
        assert {name for _, name, _, _ in string.Formatter().parse(text) if name} <= known
    assert "{at}" in idiom.makes, "the user's line is named"
    assert (Agreement.OP in idiom.told) <= (idiom.op is not None)


def test_slugs_are_unique_and_every_advice_says_where_it_applies() -> None:
    assert len({idiom.slug for idiom in TABLE}) == len(TABLE) >= 50
    advice = [each for idiom in TABLE for each in idiom.advice]
    assert {each.slug for each in advice} | {
        slug for idiom in TABLE for slug in idiom.also
    } <= APPLICABLE.keys()
    for each in advice:
        for code in filter(None, (each.code, each.tf1)):
            assert _is_python(code), code


def _is_python(code: str) -> bool:
    text = code.partition("   #")[0].replace("...", "None")
    for candidate in (text, f"f({text})", f"{text} pass"):
        try:
            ast.parse(candidate)
        except SyntaxError:
            continue
        return True
    return False


@pytest.mark.parametrize(
    ("code", "failure", "said"),
    [
        (
            "preds = unet(test_images, training=False)",
            oom("1450,64,256,256", "conv2d/Conv2D"),
            "all 1,450 samples",
        ),
        (
            "y = tf.one_hot(labels, 250000)",
            oom("4096,250000", "one_hot"),
            "250,000 numbers for each of 4,096 ids",
        ),
        (
            "d = tf.expand_dims(a, 0) - tf.expand_dims(b, 1)",
            oom("2000,50000,128", "sub"),
            "every row of another",
        ),
        (
            "i = tf.minimum(gt[:, :, None, 2:], anchors[None, None, :, 2:])",
            oom("32,300,49104,2", "Minimum"),
            "every anchor with every box",
        ),
        (
            "    gp = penalty(critic, real, fake)",
            oom("48,128,128,128", "critic/conv/Conv2D"),
            "gradient penalty",
        ),
    ],
)
def test_the_failing_line_explains(code: str, failure: str, said: str) -> None:
    text = frame(code) + failure
    assert said in found(text)[0].because
    assert "run.py:7" in found(text)[0].because
    assert found(text.replace('"/home/u/run.py"', '"/usr/lib/python3/dist-packages/keras/x.py"')) == []
    assert found(text.replace(code, "model.fit(x, y)")) == []


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("y = tf.one_hot(labels, 250000)", oom("16,25", "one_hot")),
        ("preds = unet(test_images)", oom("32,512,512,64", "conv2d/Conv2D")),
        ("sim = tf.matmul(z, z, transpose_b=True)", oom("64,8,2048,2048", "MatMul")),
        ("step(tf.random.uniform([16384, 64]))", oom("4096,65536", "layer_3/MatMul")),
        ("x = layers.Dense(120000)(h)", oom("512,120000", "dense/kernel/Adam/Initializer/zeros")),
    ],
)
def test_what_is_small_or_of_another_kind_is_not_the_lines(code: str, failure: str) -> None:
    assert found(frame(code) + failure) == []


def test_a_notebooks_arrow_marks_the_line() -> None:
    text = "----> 2 preds = unet(test_images, training=False)\n" + oom("1450,64,256,256", "conv2d/Conv2D")
    assert "the cell:2" in found(text)[0].because
    assert found(text.replace("----> 2 ", "      2 ")) == []


@pytest.mark.parametrize(
    ("number", "explains"),
    [("PER_GPU = 512", True), ("PER_GPU = 2048", False), ("PER_GPU = 500", False), ("", False)],
)
def test_a_batch_that_was_not_shared_out(number: str, explains: bool) -> None:
    code = f"{number}\nds = ds.batch(PER_GPU * strategy.num_replicas_in_sync)\n"
    told = found(code + oom("2048,112,112,64", "replica_3/net/conv/Conv2D"))
    assert bool(told) is explains
    assert not told or "2,048 = 512 x 4" in told[0].because


@pytest.mark.parametrize(
    ("line", "shape", "node", "explains"),
    [
        ("ds = ds.padded_batch(24)", "24,8,2610,2610", "mhsa/Softmax", True),
        ("ds = ds.padded_batch(16)", "24,8,2610,2610", "mhsa/Softmax", False),
        ("ds = ds.padded_batch(24)", "24,4096", "dense/MatMul", False),
        ("  first_stage_max_proposals: 300", "1200,28,28,512", "CropAndResize", True),
        ("  first_stage_max_proposals: 300", "1250,28,28,512", "CropAndResize", False),
        ("  first_stage_max_proposals: 300", "1200,28,28,512", "net/conv/Conv2D", False),
        ("c = tf.feature_column.indicator_column(user)", "2048,1800000", "input_layer/user_indicator", True),
        ("c = tf.feature_column.indicator_column(user)", "2048,1800000", "dense/MatMul", False),
        (
            "items = layers.Embedding(3_000_000, 64)",
            "3000000,64",
            "emb/embeddings/Initializer/random_uniform",
            True,
        ),
        ("N = 3000000\nitems = layers.Embedding(N, 64)", "3000000,64", "emb/embeddings/Adam/m", True),
        ("items = layers.Embedding(3_000_000, 64)", "300000,64", "emb/embeddings/Adam/m", False),
        ("x = TimeDistributed(cnn)(clip)", "320,112,112,64", "time_distributed/cnn/conv/Conv2D", True),
        ("x = TimeDistributed(cnn)(clip)", "320,112,112,64", "cnn/conv/Conv2D", False),
    ],
)
def test_quoted_code_explains_what_agrees_with_it(line: str, shape: str, node: str, explains: bool) -> None:
    told = found(f"{line}\n{oom(shape, node)}")
    assert bool(told) is explains
    if told:
        assert told[0].explains and f"line {line.count(chr(10)) + 1}" in told[0].because


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        ("ds = ds.map(load).cache().batch(32)", "cache() (line 1)"),
        ("ds = ds.map(load).shuffle(100_000).batch(32)", "shuffle(100_000) (line 1)"),
        ("ds = ds.cache('/ssd/c').shuffle(500).batch(32)", ""),
        ("# ds = ds.cache()", ""),
        ("It also dies without ds.cache() in it", ""),
    ],
)
def test_a_pipeline_keeps_its_elements_in_ram_only(code: str, kept: str) -> None:
    told = found(f"{code}\n{KILLED}")
    assert bool(told) is bool(kept)
    assert all(kept in each.because and each.because.startswith("most likely") for each in told)
    assert found(f"{code}\n{oom('32,224,224,64', on=GPU)}") == []
    assert found(f"{code}\n{oom('32,224,224,64', on=CPU, by='cpu')}") == []


def test_the_line_that_failed_comes_before_what_other_lines_tell() -> None:
    text = (
        "x = TimeDistributed(cnn)(clip)\n"
        + frame("y = model(x_test)")
        + oom("900,112,112,64", "time_distributed/a")
    )
    assert [each.because.split("`")[1] for each in found(text) if "`" in each.because] == ["model(x_test)"]
    assert len(found(text)) == 2


def test_one_line_is_told_of_once() -> None:
    code = "i = tf.minimum(gt[:, :, None, 2:], anchors[None, None, :, 2:])"
    assert len(found(frame(code) + oom("32,300,49104,2", "Minimum"))) == 1


@pytest.mark.parametrize("session", [True, False])
def test_sessions_get_code_for_sessions(session: bool) -> None:
    ran = frame("acc = sess.run(accuracy, feed_dict={x: x_test})" if session else "acc = model(x_test)")
    told = found(
        ("import tensorflow.compat.v1 as tf; sess = tf.Session()\n" if session else "")
        + ran
        + oom("9000,64,32,32")
    )
    code = told[0].remedies[0].code or ""
    assert ("sess.run" in code) is session
    assert told[0].remedies[0].saves_bytes


def test_models_in_a_list_are_a_guess_that_a_cleared_session_refutes() -> None:
    text = "    models.append(m)\n" + oom("512,512,64,4")
    assert found(text)[0].because.startswith("most likely `models` (line 1) keeps every model")
    assert found("    tf.keras.backend.clear_session()\n" + text) == []
    assert found(text.replace("models.append(m)", "losses.append(m)")) == []


@pytest.mark.parametrize(
    ("code", "shape", "node", "said"),
    [
        ("with tf.GradientTape() as meta_tape:", "75,64,84,84", "Conv2D", "the outer tape (line 1) records"),
        ("with tf.GradientTape() as tape:", "75,64,84,84", "Conv2D", ""),
        (
            "with tf.GradientTape(persistent=True) as t:",
            "75,64,84,84",
            "Conv2D",
            "a persistent tape (line 1)",
        ),
        ("    gp = gradient_penalty(c, x, y)", "75,64,84,84", "critic/Conv2D", "a gradient penalty (line 1)"),
    ],
)
def test_tapes_in_quoted_code_are_a_guess(code: str, shape: str, node: str, said: str) -> None:
    told = found(f"{code}\n{oom(shape, node)}")
    assert bool(told) is bool(said)
    assert not told or told[0].because.startswith(f"most likely {said}")


@pytest.mark.parametrize(("stated", "product"), [("32", " = 16 (batch_size) x 32"), ("30", "")])
def test_frames_are_told_by_what_makes_their_number(stated: str, product: str) -> None:
    code = f"clip = Input(({stated}, 224, 224, 3))\nx = TimeDistributed(cnn)(clip)\n"
    told = found(
        code + "model.fit(gen, batch_size=16)\n" + oom("512,112,112,128", "time_distributed_4/conv/Conv2D")
    )[0].because
    assert told.endswith(f"512 at once{product}")


def test_a_graph_net_has_a_rule_of_its_own() -> None:
    text = frame("msg = tf.gather(h, src)") + oom("2400000,16,128", "GatherV2")
    assert "gather writes a row of `h`" in found(text)[0].because
    assert found("    y = GCNConv(64)(x)\n" + text) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "X = np.array([imread(p) for p in paths])\n" + KILLED,
            "most likely the line puts all samples into one array",
        ),
        (
            frame("x_train = x_train.astype('float32') / 255.")
            + "numpy.core._exceptions.MemoryError: Unable to allocate 43.9 GiB for an array with"
            " shape (60000, 256,"
            " 256, 3) and data type float32\n",
            "the line converts a whole array (/home/u/run.py:7): the new one takes 43.95 GiB beside the old",
        ),
        ("X = np.array([imread(p) for p in paths])\n" + oom("512,64,64,64"), ""),
    ],
)
def test_arrays_of_python_are_told_where_ram_ran_out(text: str, said: str) -> None:
    told = found(text)
    assert bool(told) is bool(said)
    assert said in (told[0].because if told else "")


@pytest.mark.parametrize(
    ("op", "told"), [("TensorSliceDataset", True), ("Cast", True), ("generator/up/BiasAdd", False)]
)
def test_slices_on_the_line_of_fit_are_not_what_a_layer_asks_for(op: str, told: bool) -> None:
    code = "net.fit(tf.data.Dataset.from_tensor_slices(rng.rand(n, 64, 64, 3)).batch(n))"
    text = frame(code) + oom("400,64,64,48", op)
    assert any("from_tensor_slices" in (finding.because or "") for finding in found(text)) is told


COLUMNS = """device = fc.indicator_column(fc.categorical_column_with_vocabulary_list("device", DEVICES))
hour = fc.indicator_column(fc.categorical_column_with_identity("hour", 24))
creative = fc.indicator_column(
    fc.categorical_column_with_hash_bucket("creative_id", {buckets}))
user = fc.indicator_column(fc.categorical_column_with_hash_bucket("user", 3_000))
"""


@pytest.mark.parametrize(
    ("buckets", "line"),
    [
        ("180000", 3),  # of [512,180037]; its number stands on the line below
        ("180_000", 3),
        ("90000", 1),  # less than half of the size: no line is surer than the first
        ("360000", 1),  # more than there is
    ],
)
def test_of_several_columns_the_widest_made_the_tensor(buckets: str, line: int) -> None:
    told = found(COLUMNS.format(buckets=buckets) + oom("512,180037", "dnn/input_layer/concat"))
    assert f"(line {line})" in told[0].because
