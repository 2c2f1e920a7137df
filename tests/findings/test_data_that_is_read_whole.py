"""What a quoted program reads, converts or keeps whole in host RAM, and buffers of experiences."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.finding import Finding


def first(text: str) -> Finding | None:
    return next(iter(pipeline.explain(text).findings), None)


SCALED = """
import numpy as np
x = np.array(images){reshaped}
{line}
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("reshaped", "line", "named"),
    [
        (".reshape(-1, 224, 224, 3)", "x = x / 255.0", True),
        ("", "x = x / 255", True),
        ("", "x = x.astype('float32')", False),
        ("", "ratio = loss / 255.0", False),  # no array of the program's
        ("", "def scale(x):\n    return x / 255.0", False),  # one image, for all that is known
        ("", "x = x / 1.0", False),
    ],
)
def test_a_whole_array_that_is_divided(reshaped: str, line: str, named: bool) -> None:
    found = first(f"Colab uses all available RAM and crashes.\n{SCALED.format(reshaped=reshaped, line=line)}")
    assert found is not None
    assert ("makes float64 of the whole array" in found.headline) is named


GENERATOR = """
class Data({base}):
    def __init__(self, paths):
        self.x = {read}
    def __getitem__(self, i):
        return self.x[i]
"""


@pytest.mark.parametrize(
    ("base", "read", "named"),
    [
        ("Sequence", "[cv2.imread(p) for p in paths]", True),
        ("keras.utils.PyDataset", "np.array([cv2.imread(p).astype(np.float32) for p in paths])", True),
        ("Sequence", "[str(p) for p in paths]", False),
        ("object", "[cv2.imread(p) for p in paths]", False),
    ],
)
def test_a_generator_whose_constructor_reads_all_files(base: str, read: str, named: bool) -> None:
    found = first(f"It is killed, the machine's RAM is full.\n{GENERATOR.format(base=base, read=read)}")
    assert found is not None
    assert ("whose constructor reads every file" in found.headline) is named
    assert ("as float32" in found.headline) is (named and "float32" in read)


FRAME = """Traceback (most recent call last):
  File "main.py", line 5, in <module>
    agent.feed(x)
  File "{file}", line 32, in feed
    self.states = np.empty({shape}, dtype=self.dtype)
"""
ARRAY = (
    "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 26.3 GiB for an array with shape"
    " (1000000, 1, 4, 84, 84) and data type uint8\n"
)


@pytest.mark.parametrize(
    ("file", "shape", "error", "option"),
    [
        ("rl/component/replay.py", "(self.memory_size, 4)", "MemoryError\n", "`memory_size`"),
        ("stable_baselines3/common/buffers.py", "(self.buffer_size, 1)", "MemoryError\n", "`buffer_size`"),
        ("lib/stable_baselines3/replay_buffers.py", "(self.n, 1)", ARRAY, "`buffer_size`"),
        ("rl/data.py", "(self.size, 4)", "MemoryError\n", None),  # nothing says that it is one
    ],
)
def test_a_buffer_that_is_made_whole(file: str, shape: str, error: str, option: str | None) -> None:
    found = first(FRAME.format(file=file, shape=shape) + error)
    assert found is not None
    replay = next((each for each in found.remedies if each.slug == "smaller-replay"), None)
    assert (replay is not None) is (option is not None)
    if replay and option:
        assert option in replay.text
    if replay and error is ARRAY:
        assert "1,000,000 entries of 27.6 KiB; 100,000 take 2.63 GiB" in replay.text


SETS = """
import tensorflow as tf
{above}
for epoch in range(100):
    x = load(epoch)
    {line}
    model.fit(ds, epochs=1)
"""


@pytest.mark.parametrize(
    ("words", "above", "line", "named"),
    [
        ("Memory grows in each epoch.", "pass", "ds = tf.data.Dataset.from_tensor_slices(x)", True),
        ("In the end it is out of memory.", "pass", "ds = tf.data.Dataset.from_tensor_slices(x)", True),
        ("It is out of memory.", "pass", "ds = tf.data.Dataset.from_tensor_slices(x)", False),
        ("Memory grows.", "ds = tf.data.Dataset.from_tensor_slices(x)", "pass", False),
    ],
)
def test_data_sets_that_each_turn_makes(words: str, above: str, line: str, named: bool) -> None:
    found = first(f"{words}\n{SETS.format(above=above, line=line)}")
    assert (found is not None and "makes another data set of arrays" in found.headline) is named


CALLED = """
def run():
    data = tf.data.Dataset.from_tensor_slices(np.zeros((60000, 32, 32, 3))){use}

run()
"""


@pytest.mark.parametrize(
    ("use", "named"), [("\n    x = next(iter(data))", True), ("\n    return data", False)]
)
def test_data_sets_that_each_call_makes(use: str, named: bool) -> None:
    found = first(f"I run it many times, and memory usage grows.\n{CALLED.format(use=use)}")
    assert found is not None
    assert ("in each call of the function" in found.headline) is named


KEEPS = """
features = []
for path in paths:
    img = {read}
    {line}
"""


@pytest.mark.parametrize(
    ("read", "line", "named"),
    [
        ("tf.io.read_file(path)", "features.append(base_model(img[None]))   # (1, 28, 28, 512)", True),
        ("cv2.imread(path)", "features.append(img)", False),  # data, which are read whole
        ("tf.io.read_file(path)", "features.append(float(base_model(img)))", False),
    ],
)
def test_features_that_a_list_keeps(read: str, line: str, named: bool) -> None:
    found = first(f"After some hours the notebook dies (25 GB of RAM).\n{KEEPS.format(read=read, line=line)}")
    assert (found is not None and "`features` keeps" in found.headline) is named
    if named and found:
        assert "1.53 MiB each time" in found.headline and found.remedies[0].slug == "smaller-output"


@pytest.mark.parametrize(("more", "fine"), [("", True), (", but the result is nan", False)])
def test_what_it_fits_without_and_is_of_no_use(more: str, fine: bool) -> None:
    text = f"It is out of memory. Without augmentation it works{more}.\n"
    found = first(text)
    assert found is not None
    assert ("`augmentation`" in found.headline) is fine


@pytest.mark.parametrize(("over", "unrolled"), [("tqdm(dataset)", True), ("dataset", False)])
def test_a_loop_of_python_within_a_tf_function(over: str, unrolled: bool) -> None:
    code = f"@tf.function\ndef go(dataset):\n    for x in {over}:\n        pass\ngo(dataset)\n"
    found = first(f"Memory grows all the time.\n{code}")
    assert found is not None
    assert ("within a tf.function" in found.headline) is unrolled


AGENTS = """
agents = []
for i in range(3):
    agent = {call}
    agents.append(agent)
"""
KILLED = "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)\n"


@pytest.mark.parametrize(
    ("call", "named", "option"),
    [
        ("NFSPAgent(sess, hidden_layers_sizes=[512, 1024, 2048, 1024, 512], q_replay_memory_init_size=1000)",
         "bounds nothing", "`q_replay_memory_size`"),
        ("DQNAgent(replay_memory_size=1000000)", "the replay memory of `DQNAgent`", "`replay_memory_size`"),
        ("TravelAgent(name='a')", "", ""),
    ],
)  # fmt: skip
def test_the_replay_memory_of_an_agent(call: str, named: str, option: str) -> None:
    found = first(f"tensorflow 1.15\n{KILLED}{AGENTS.format(call=call)}")
    assert found is not None
    assert "TiB" not in found.headline
    assert ("the replay memory of" in found.headline) is bool(named) and named in found.headline
    assert not option or option in found.remedies[0].text


def test_a_buffer_that_words_tell_of_has_the_option_of_its_library() -> None:
    code = "from stable_baselines import DQN\nmodel = DQN(MlpPolicy, env)\nmodel.learn(10000000)\n"
    found = first(f"The memory grows until the kernel dies.\n{code}")
    assert found is not None
    assert "`buffer_size`" in found.remedies[0].text


@pytest.mark.parametrize(
    ("added", "then", "slugs"),
    [
        ("img[y] / 255.0", "model.predict(tiles)", ["predict-in-pieces", "narrow-array", "fill-one-array"]),
        ("img[y]", "model.predict(tiles)", ["predict-in-pieces", "fill-one-array"]),
        ("img[y] / 255.0", "model.fit(tiles)", ["narrow-array", "fill-one-array"]),
        ("img[y]", "model.fit(tiles)", ["fill-one-array", "map-the-file"]),
    ],
)
def test_an_array_of_a_list_that_a_loop_fills(added: str, then: str, slugs: list[str]) -> None:
    found = first(JOINED.format(name="tiles", added=added, then=then))
    assert found is not None
    assert [each.slug for each in found.remedies][: len(slugs)] == slugs
    filled = next(each for each in found.remedies if each.slug == "fill-one-array")
    assert filled.text.startswith("or ") is (slugs[0] != "fill-one-array")


def test_an_array_of_another_list() -> None:
    found = first(JOINED.format(name="others", added="img[y]", then="model.predict(tiles)"))
    assert found is not None
    assert "predict-in-pieces" not in [each.slug for each in found.remedies]


JOINED = """
import numpy as np
img = tifffile.imread('big.tif')
for y in range(0, 30000, 128):
    {name}.append({added})
tiles = np.array(tiles)
out = {then}

Traceback (most recent call last):
  File "infer.py", line 14, in <module>
    tiles = np.array(tiles)
MemoryError
"""
