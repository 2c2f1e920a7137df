"""Posts that tell of growth in their own words: one call or many, R, a server, lines left out, an install."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def slugs(text: str) -> list[str | None]:
    return [action.remedy.slug for action in explained(text).actions]


ONE_CALL = (
    "I use Keras. With predict_generator over my photos the used RAM keeps growing: after two thousand photos"
    " it took 46 GB."
)


def test_one_call_of_predict_generator_keeps_its_outputs() -> None:
    verdict = explained(ONE_CALL).verdict
    assert "what one call of `predict_generator` keeps (line 1)" in verdict
    assert "about 23.55 MiB for each of 2,000 photos" in verdict
    assert slugs(ONE_CALL)[:2] == ["predict-in-pieces", "smaller-output"]


def test_predict_generator_in_a_loop_is_called_again() -> None:
    text = "I use Keras. I call predict_generator in a loop and the RAM keeps growing after each call."
    assert "predict is called again and again" in explained(text).verdict


def test_several_methods_leave_open_which_it_is() -> None:
    text = "Keras: RAM grows when I call model.fit, model.train_on_batch or model.predict in a loop."
    assert "names fit, train_on_batch, predict, and not which" in explained(text).verdict
    assert slugs(text)[0] == "find-what-grows"
    alone = "Keras: RAM grows when I call model.predict in a loop."
    assert "predict is called again and again" in explained(alone).verdict


@pytest.mark.parametrize(
    ("agent", "buffer"), [("an actor-critic agent", False), ("a DQN with a replay buffer", True)]
)
def test_a_replay_buffer_is_named_where_one_is_told(agent: str, buffer: bool) -> None:
    text = f"I train {agent} with Keras. The RAM increases after each episode until it runs out."
    assert ("replay buffer" in explained(text).verdict or "experiences" in explained(text).verdict) is buffer


def test_all_at_once_is_no_advice_for_inputs_that_come_one_by_one() -> None:
    text = "Keras: memory grows with every model.predict() in my loop."
    assert "one-call" in slugs(text)
    assert "one-call" not in slugs(f"{text} It reads frames from a webcam.")


R_LOOP = """library(keras)
R's memory grows with this loop:
for(i in 1:500){
net <- keras_model_sequential()
net %>%
  layer_dense(units = 8, input_shape = c(4))
rm(net)
}
"""


def test_a_block_of_r_needs_no_indentation() -> None:
    assert "the model that line 4 makes anew in each turn of the loop on line 3" in explained(R_LOOP).verdict
    above = R_LOOP.replace("for(i in 1:500){\n", "").replace("}\n", "")
    assert "in each turn of the loop" not in explained(above).verdict


SERVED = """The memory of my app grows.
graph = tf.Graph()
sess = tf.Session(graph=graph)
@app.route('/', methods=['POST'])
def answer():
    x = np.load("x.npy")
    y = sess.run(out, feed_dict={inp: x})
"""


def test_a_session_that_is_made_once_adds_no_op() -> None:
    verdict = explained(SERVED).verdict
    assert "no op of the graph: `sess` and its graph are made once (line 3)" in verdict
    assert slugs(SERVED)[0] == "ops-once"
    adds = SERVED.replace('    x = np.load("x.npy")', "    x = tf.constant(data)")
    assert "no op of the graph" not in explained(adds).verdict


LEFT_OUT = """A leak on a Raspberry Pi with tflite_runtime: memory creeps up.
It stays flat when I comment out the following lines:
fill(interpreter, frame)
interpreter.invoke()
"""


def test_lines_left_out_for_a_test_are_the_suspects() -> None:
    assert "one of the calls that line 2 leaves out for a test" in explained(LEFT_OUT).verdict
    assert slugs(LEFT_OUT)[0] == "leave-out-in-turn" and "add-swap" not in slugs(LEFT_OUT)


def test_a_small_board_is_no_reason_for_growth() -> None:
    text = "TensorFlow on a Raspberry Pi: the memory grows with every hour."
    assert "RAM of this board is small" not in explained(text).verdict
    assert not {"free-shared-ram", "add-swap"} & set(slugs(text))


def test_an_installation_that_fails_needs_no_smaller_model() -> None:
    text = "Raspberry Pi Zero: installing tensorflow with pip3 ends in a memory error."
    assert slugs(text)[:2] == ["install-without-cache", "add-swap"]


def test_a_data_set_of_hdf5_that_is_read_whole() -> None:
    text = "tensorflow: reading the data runs out of memory.\nx = h5f['pictures'][:]\n"
    assert "`h5f['pictures']` (line 2), which is read as a whole" in explained(text).verdict
    part = text.replace("[:]", "[i:i + 32]")
    assert "read as a whole" not in explained(part).verdict


def test_what_is_loaded_whole_in_words() -> None:
    text = "keras runs out of RAM since the loader reads the whole dataset into memory."
    assert "which is loaded into RAM at once" in explained(text).verdict
    assert (
        "loaded into RAM at once"
        not in explained(text.replace("since the loader reads", "without reading")).verdict
    )


def test_the_line_above_is_what_is_removed() -> None:
    text = (
        "keras: the leak is in this line:\ny = model.predict(x)\n\n"
        "if I remove it, the memory is not increasing any more"
    )
    assert "`y = model.predict(x)`, since it is fine without it (line 4)" in explained(text).verdict


def test_a_symptom_is_no_cause() -> None:
    text = "tensorflow runs out of memory. My issue is that it works fine for the first three epochs."
    assert "names the cause" not in explained(text).verdict


def test_the_same_model_in_a_loop_is_one_model() -> None:
    text = "keras: the memory explodes when training {} model in a loop on several generators."
    assert "models before" not in explained(text.format("the same")).verdict
    assert "models before" in explained(text.format("a new")).verdict


@pytest.mark.parametrize(
    "text",
    [
        "pip could not install tensorflow: no space left on the device",
        "my tuner runs out of 16 GB of space at trial 24",
        "OSError: [Errno 28] No queda espacio en el dispositivo",
    ],
)
def test_a_full_disk_by_other_words(text: str) -> None:
    assert explained(text).verdict == "No lack of memory: the disk was full."


def test_a_file_that_cannot_be_opened_is_no_lack_of_memory() -> None:
    text = (
        "Non-OK-status: env->NewWritableFile(path, &f) status: Resource exhausted: /tmp/dump_1/relu_0\n"
        "Aborted (core dumped)"
    )
    assert "a file could not be opened for writing" in explained(text).verdict


def test_an_exhausted_resource_may_be_a_disk() -> None:
    text = (
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError:\n"
        "Traceback (most recent call last):\n"
        '  File "train.py", line 9, in <module>\n    log(step)\n'
        '  File "/usr/lib/python3/dist-packages/torch/utils/tensorboard/writer.py", line 20, in flush\n'
        "    self.writer.flush()"
    )
    assert explained(text).verdict.startswith("A resource error without a word")
    assert slugs(text)[0] == "room-for-files"


def test_a_warning_beside_more_ram_that_helped() -> None:
    text = (
        "W tensorflow/core/framework/cpu_allocator_impl.cc:81] Allocation of 44089200 exceeds 10% of"
        " free system memory.\n{}"
    )
    helped = text.format("We gave the server 2 GB more memory, then training started.")
    assert "line 2 says that it ran once more RAM was free" in explained(helped).verdict
    assert "once more RAM" not in explained(text.format("What does it mean?")).verdict


def test_a_try_is_no_trial_of_a_tuner() -> None:
    text = "With every trial the memory increases, after each prediction of tensorflow."
    assert "tuner" not in explained(text).verdict and "predict is called again" in explained(text).verdict


def test_what_is_asked_of_ram_is_answered_for_ram() -> None:
    text = (
        "tensorflow: how to remove a loaded model from RAM?\nIs there a way to clear memory then? I tried:\n"
        "1) clear_session()\n2) del model"
    )
    assert "Host RAM of a model comes back for certain only" in explained(text).verdict


DIRECT = """tensorflow: memory grows linearly when predicting in a loop.
net = hub.load("https://tfhub.dev/x")
for path in paths:
    y = net(read(path))
"""


def test_a_model_that_is_called_itself_has_no_predict() -> None:
    assert "`net`, which is called directly (line 4)" in explained(DIRECT).verdict
    assert "direct-call" not in slugs(DIRECT)
    assert "which is called directly" not in explained(DIRECT.replace("net(", "net.predict(")).verdict


def test_a_replay_buffer_that_must_stay_keeps_its_length() -> None:
    text = "tensorflow: the replay buffer of my DQN does not fit into memory."
    stays = f"{text}\nI can't reduce the replay buffer size."
    assert any("store each frame once" in each.remedy.text for each in explained(stays).actions)
    assert not any("store each frame once" in each.remedy.text for each in explained(text).actions)


def test_what_a_program_runs_in_is_not_left_out() -> None:
    text = "keras runs out of RAM with it; the same jobs run fine without gunicorn."
    assert "leave-it-out" not in slugs(text)
