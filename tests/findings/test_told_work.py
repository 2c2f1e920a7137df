"""What fills memory by the work that words or a line of code tell of, and where another is meant."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered
from tfmemlens import pipeline

_TOLD = {
    "one array or list": "# Memory error\nI load all my images into a list, converting it to numpy fails.",
    "all samples in one array": "I get a memory error on this line:\n\nX = np.zeros((n_images, 256, 256, 3))",
    "one-hot rows": "I get a memory error with a large vocabulary here:\n\ny = to_categorical(y, vocab_size)",
    "one-hot columns": "pd.get_dummies(df) runs out of memory before Keras sees it",
    "parallel calls": "tf.data with num_parallel_calls=AUTOTUNE uses too much memory",
    "histograms": "With histogram_freq=1 the Keras training runs out of memory",
    "a persistent tape": "My GPU runs out of memory.\n\nwith tf.GradientTape(persistent=True) as tape:",
    "the conversion": "Converting my SavedModel to TFLite runs out of memory",
    "calibrates": "Converting to TFLite runs out of RAM.\n\nconverter.representative_dataset = samples",
    "quantisation-aware": "Out of memory with quantization aware training of a Keras model",
    "as a tensor on the GPU": "The GPU is out of memory:\n\nx = tf.constant(x_train, dtype=tf.float32)",
    "one call of the model": "OOM after the training.\n\npreds = model(x_test)",
    "ConvLSTM": "three layers of ConvLSTM2D run out of GPU memory in Keras",
    "whole volumes": "my 3D U-Net runs out of GPU memory",
    "images of that size": "My GPU is out of memory with images of 2000x1500",
    "each token": "Fine-tuning bert-base with max_length=512 ends with an OOM",
    "allows itself": "OOM, 20 GB are free.\n\ntf.GPUOptions(per_process_gpu_memory_fraction=0.1)",
    "a process of earlier": "OOM at the start: a process from yesterday holds the GPU",
    "an app is allowed": "My Android app runs out of memory when it loads the tflite model",
    "Mask R-CNN": "Matterport's Mask R-CNN runs out of GPU memory",
}
_NEAR = {
    "an array or list": "My GPU is out of memory; the GPU takes a batch from the list of layers",
    "all samples in one array": "My GPU is out of memory.\n\nX = np.zeros((n_images, 256, 256, 3))",
    "one-hot rows": "I get a memory error, the labels are small.\n\ny = to_categorical(y, 10)",
    "one-hot columns": "pd.get_dummies(df) is slow, and my GPU is out of memory afterwards",
    "parallel calls": "My GPU is out of memory.\n\nds = ds.map(f, num_parallel_calls=4)",
    "histograms": "With histogram_freq=0 the Keras training runs out of memory",
    "a persistent tape": "My GPU runs out of memory.\n\nwith tf.GradientTape() as tape:",
    "the conversion": "Converting images to grey, then training runs out of memory",
    "calibrates": "Converting to TFLite runs out of RAM",
    "quantisation-aware": "Out of memory with a model that I will quantize later",
    "as a tensor on the GPU": "The GPU is out of memory:\n\nx = tf.constant(0.5)",
    "one call of the model": "OOM after the training.\n\npreds = model(x_batch)",
    "ConvLSTM": "three layers of LSTM run out of GPU memory in Keras",
    "whole volumes": "my 2D U-Net runs out of GPU memory",
    "images of that size": "My GPU is out of memory with a matrix of 2000x1500",
    "each token": "Fine-tuning bert-base with max_length=64 ends with an OOM",
    "allows itself": "OOM, 20 GB are free.\n\ntf.GPUOptions(per_process_gpu_memory_fraction=0.95)",
    "a process of earlier": "OOM at the start: the process ends",
    "an app is allowed": "My desktop app runs out of memory when it loads the tflite model",
    "Mask R-CNN": "My own R-CNN runs out of GPU memory",
}


@pytest.mark.parametrize("what", _TOLD)
def test_the_work_that_is_told_is_named(what: str) -> None:
    verdict = explained(f"{_TOLD[what]}\n").verdict
    assert "most likely" in verdict and what in verdict


@pytest.mark.parametrize("what", _NEAR)
def test_other_work_is_not(what: str) -> None:
    assert what not in explained(f"{_NEAR[what]}\n").verdict


@pytest.mark.parametrize(
    "more",
    [
        "Memory grows at each step.",
        "With batch_size=2 it works fine.",
        "mpirun -np 4 python train.py",
        "It fails after 5 epochs.",
        "It runs on a Jetson Nano.",
    ],
)
def test_what_says_more_goes_before_it(more: str) -> None:
    text = "My GPU is out of memory with images of 2000x1500.\n"
    assert "images of that size" in explained(text).verdict
    assert "images of that size" not in explained(f"{text}{more}\n").verdict


def test_a_batch_that_is_stated_is_halved_and_one_of_one_is_not() -> None:
    text = "OOM with Keras on images of 2000x1500, batch size"
    assert "(16 -> 8)" in explained(f"{text} 16\n").actions[1].remedy.text
    assert offered(f"{text} 16\n")[:2] == ["smaller-input", "smaller-batch"]
    assert "smaller-batch" not in offered(f"{text} 1\n")


def test_a_program_of_others_is_told_of_its_own_setting() -> None:
    text = "The Object Detection API runs out of memory on images of 4000x3000\n"
    assert "`image_resizer`" in first(text)
    assert "`IMAGES_PER_GPU`" in first("Matterport's Mask R-CNN runs out of GPU memory\n")


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("memory of the parameter server grows with ParameterServerStrategy", "even-batches"),
        ("RAM grows with each epoch while evaluating the model", "smaller-evaluation-batch"),
    ],
)
def test_what_is_too_large_at_once_does_not_grow(text: str, slug: str) -> None:
    assert slug not in offered(f"{text}\n")


def test_a_phone_runs_no_script() -> None:
    assert "read-the-log" not in offered("My Android app runs out of memory when it loads the tflite model\n")


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ('WSL2: the training prints just "Killed" after one epoch', True),
        ("my label is 'Killed' in the data", False),
        ("the class names are 'Alive' and 'Killed'", False),
    ],
)
def test_a_word_in_quotes_is_what_was_printed(text: str, is_told: bool) -> None:
    assert bool(explained(f"{text}\n").findings) is is_told


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("Why does TensorFlow allocate all 24 GB for a tiny model?", True),
        ("Why does TensorFlow allocate all 24 GB of RAM for a tiny model?", False),
        ("Why does TensorFlow read all 24 files for a tiny model?", False),
    ],
)
def test_the_whole_gpu_by_its_figure(text: str, is_told: bool) -> None:
    assert any(each.rule == "whole-pool-at-start" for each in explained(f"{text}\n").findings) is is_told


_GROWS = "Memory grows with every step.\n\n"


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("def set_rate(sess, value):\n    sess.run(tf.assign(rate, value))\n", "adds `tf.assign`"),
        ("for x in data:\n    sess.run(tf.reduce_mean(y), {ph: x})\n", "adds `tf.reduce_mean`"),
        ("def train():\n    y = tf.add(a, b)\n    sess.run(y)\n", None),  # called once
        ("def run():\n    y = tf.add(a, b)\n    with tf.Session() as sess:\n        sess.run(y)\n", None),
        ("for x in data:\n    sess.run(mean, {ph: x})\n", None),
        (
            "def classify(x):\n    with tf.Session() as s:\n"
            "        tf.train.import_meta_graph('m')\n        s.run(y)\n",
            "adds `tf.train.import_meta_graph`",
        ),
        (
            "def classify(x):\n    with tf.Graph().as_default(), tf.Session() as s:\n"
            "        tf.train.import_meta_graph('m')\n        s.run(y)\n",
            None,
        ),
        ("losses = []\nfor x in ds:\n    loss = step(x)\n    losses.append(loss)\n", "`losses` keeps `loss`"),
        ("losses = []\nfor x in ds:\n    loss = step(x)\n    losses.append(loss.numpy())\n", None),
    ],
)
def test_what_code_adds_in_each_turn(code: str, what: str | None) -> None:
    verdict = explained(_GROWS + code).verdict
    assert (what in verdict) if what else ("adds `" not in verdict and "keeps `" not in verdict)


def test_a_model_that_a_piece_of_code_goes_on_with_is_counted() -> None:
    piece = (
        "My GPU runs out of memory when I call model.fit.\n\n"
        "model.add(Conv2D(64, 3, input_shape=(512, 512, 3)))\nmodel.add(Flatten())\nmodel.add(Dense(1024))\n"
    )
    assert "the Dense of line 5" in explained(piece).verdict
    assert "weights of" not in explained(piece.replace("model.add", "names.add_to")).verdict


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("The memory of my TensorFlowSharp service increases with each Run", "close-tensors"),
        ("Our TF Serving pod is OOMKilled when we push a new version", "room-for-two-versions"),
        ("Our TF Serving pod is OOMKilled with many clients", "smaller-requests"),
        ('In WSL2 the training prints just "Killed"', "more-ram-for-wsl"),
        ("I got an OOM. I solved it: the cuDNN version was wrong", "what-ended-it"),
        ("I got an OOM. Has anyone solved it: the cuDNN version?", "smaller-batch"),
        ("The model works with TF 2.5, OOM with TF 2.9", "release-that-works"),
        ("rasa train is killed, RAM is full", "smaller-pipeline"),
        ("Der Arbeitsspeicher reicht nicht, der Kernel stirbt", "map-the-file"),
        ("Me quedo sin memoria RAM con Keras", "map-the-file"),
    ],
)
def test_what_comes_first(text: str, slug: str) -> None:
    assert offered(f"{text}\n")[0] == slug


def test_german_folds_leave_something() -> None:
    text = "Nach jedem Fold wird mehr Arbeitsspeicher belegt, clear_session() hilft nicht.\n"
    assert "what Keras keeps of the models before" in explained(text).verdict
    assert "clear-session" not in offered(text)


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Reading arrays my machine of 32 GB starts swapping and is dead", "map-the-file"),
        ("I call train_ds.cache(), but 120k images (256x256) don't fit into RAM", "cache-to-file"),
        ("If I have another notebook open, model.fit in the second gives OOM", "see-device-users"),
        ("OutOfMemoryError in Android with the TFLite Interpreter", "smaller-model"),
        ("Out of memory while calling model.save after 3 days of training", "save-in-parts"),
        ("My DQN training ran out of RAM, the replay buffer has 1e6 entries", "smaller-replay"),
        ("用10折交叉验证训练模型，内存不断增加，最后OOM。", "clear-session"),
        (
            "How to train on 60 GB without blowing my RAM? I append each file to a list, RAM is full",
            "map-the-file",
        ),
    ],
)
def test_what_strangers_say_first(text: str, slug: str) -> None:
    assert offered(f"{text}\n")[0] == slug


def test_a_whole_array_may_have_been_for_the_gpu() -> None:
    text = "When I feed x_train of shape (15000, 512, 512, 3) I get an {}.\n"
    assert "the GPU's memory if it is given" in explained(text.format("OOM")).verdict
    assert "the GPU's memory" not in explained(text.format("out of RAM")).verdict


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("OOM on a 1080 Ti with a VNet, patch size 160x160x160", "whole volumes"),
        ("OOM on a 1080 Ti, crops of 160x160x3", None),
        ("The WGAN-GP trained on my GPU is out of memory", "the gradient of a gradient"),
        ("A penalty of 0.1 on weights, and my GPU is out of memory", None),
        ("tflite_convert: the shell says just 'Killed'", "the conversion"),
        ("Keras with use_multiprocessing: the CPU RAM runs out", "each worker process"),
        ("use_multiprocessing=False, and the CPU RAM runs out", None),
        ("The CPU RAM runs out\n\ndef fit(self, x, workers, use_multiprocessing)", None),
        ("RAM usage climbs to 100% each epoch with shuffle(len(dataset))", "the buffer of shuffle"),
        ("My GPU's memory climbs each epoch with shuffle(len(names))", "from one epoch to the next"),
        ("for문으로 모델을 여러 번 학습하면 GPU 메모리가 계속 증가합니다", "Keras keeps of the models"),
        (
            "OOM in TF 1.8:\n\nacc = sess.run(accuracy, feed_dict={x: X_test, y: Y_test})",
            "a whole set that is fed",
        ),
        ("OOM in TF 1.8:\n\nacc = sess.run(accuracy, feed_dict={x: X_test[:50]})", None),
        ("GPU memory fully used by tensorflow for 5 layers", "no failure"),
        ("My LSTM runs out of GPU memory over 5000 time steps", "of every time step"),
        ("MAML with second order gradients runs out of GPU memory", "all inner steps"),
        ("The second order of images runs out of GPU memory", None),
        ("My LSTM runs out of GPU memory over 50 time steps", None),
        ("OOM with VGG: set_virtual_device_configuration memory_limit=2048", "allows itself (2048 MiB"),
        ("OOM with VGG: set_virtual_device_configuration memory_limit=20480", None),
        (
            "After the training the GPU memory stays full, and the next cell gives an OOM",
            "the pool of TensorFlow's",
        ),
        ("La memoria RAM se llena con ds.shuffle(60000)", "the buffer of shuffle"),
        ("The GPU runs out of memory after some steps: GradientTape(persistent=True)", "a persistent tape"),
    ],
)
def test_more_work_that_strangers_tell(text: str, what: str | None) -> None:
    verdict = explained(f"{text}\n").verdict.replace("No failure", "no failure")
    assert (what in verdict) if what else ("most likely" not in verdict)


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("x_val has 5000 images of 512x512: OOM when validation starts", "smaller-evaluation-batch"),
        ("I had an OOM. Solved: it works after setting memory growth", "what-ended-it"),
        ("The RAM of TF Serving grows slowly under load", "another-malloc"),
        (
            "Horovod: all 4 processes allocate all memory of GPU 0, which runs out of memory",
            "one-device-each",
        ),
        ("이미지 5만장을 np.array로 변환하면 MemoryError가 발생합니다. Keras", "map-the-file"),
        ("I got an OOM. Updating CUDA 11.0 -> 11.1 fixed it.", "what-ended-it"),
        ("I got an OOM. Will updating CUDA have fixed it?", "smaller-batch"),
        ("The iOS app with TFLite was terminated due to memory issue", "smaller-model"),
        ("My machine freezes when I load the training images into memory", "map-the-file"),
        ("TF Serving killed when the model version is updated", "room-for-two-versions"),
        ("Exporting a Keras model of 10 GB gets killed, I see `tf.saved_model.save`", "save-in-parts"),
        ("It trains for about 50 batches, then stops with OOM", "find-what-grows"),
    ],
)
def test_what_comes_first_of_more(text: str, slug: str) -> None:
    assert offered(f"{text}\n")[0] == slug


@pytest.mark.parametrize(
    ("first_layer", "is_followed"),
    [
        ("Embedding(800000, 300, input_length=50)", True),
        ("Dense(4000, input_dim=300000)", True),
        ("LSTM(512, return_sequences=True)", False),
    ],
)
def test_the_first_layer_states_what_a_sample_has(first_layer: str, is_followed: bool) -> None:
    text = (
        "OOM at the start of training\n\nmodel = Sequential()\n"
        f"model.add({first_layer})\nmodel.add(Dense(800000, activation='softmax'))\n"
    )
    assert ("weights of" in explained(text).verdict) is is_followed


@pytest.mark.parametrize(
    ("line", "of_a_phone"),
    [
        (
            "- Mobile device (e.g. iPhone 8, Pixel 2, Samsung Galaxy) if the issue happens on mobile device:",
            False,
        ),
        ("### Mobile device", False),
        ("On our Android phones the app dies.", True),
    ],
)
def test_a_form_that_asks_for_the_phone_tells_of_none(line: str, of_a_phone: bool) -> None:
    verdict = pipeline.explain(f"The training is killed, RAM is full.\n{line}\n").verdict
    assert ("that an app is allowed" in verdict) is of_a_phone


VARIES = "It fails after 90 batches with OOM.\n{}\nI use tf.contrib.seq2seq.\n"


@pytest.mark.parametrize(
    ("said", "longer"),
    [
        ("The sequence length varies from batch to batch.", True),
        ("All batches differ in length.", True),
        ("The batch size is 64, and the result differs.", False),
        ("The error varies with the batch size.", False),
    ],
)
def test_batches_of_longer_samples_fail_late(said: str, longer: bool) -> None:
    report = pipeline.explain(VARIES.format(said))
    assert ("a batch of longer samples" in report.verdict) is longer
    first = pipeline.explain(VARIES.format(said).replace("after 90 batches", "at once"))
    assert "a batch of longer samples" not in first.verdict


_MANY = "4,000 images of 640x640 with a batch size of {} fail in Keras: out of memory."


def test_a_count_beside_the_batch_that_fails_is_no_array_in_ram() -> None:
    assert "host RAM" not in pipeline.explain(f"Hello,\n{_MANY.format(48)}\n").verdict


def test_a_count_beside_code_that_collects_all_is_an_array_in_ram() -> None:
    code = "data.append(img)\nx = np.array(data)\n"
    report = pipeline.explain(f"Hello,\n{_MANY.format(48)}\n```python\n{code}```\n")
    assert "4,000 images" in report.verdict


def test_a_count_of_images_that_are_all_loaded_is_an_array_in_ram() -> None:
    report = pipeline.explain(
        "With Keras I load all of 50,000 images of 200x200x3, and with batch size 8 it runs out of memory.\n"
    )
    assert "50,000 images" in report.verdict


@pytest.mark.parametrize(("batch", "less"), [(48, 12), (4, 1), (2, None)])
def test_below_the_batch_that_fails(batch: int, less: int | None) -> None:
    report = pipeline.explain(
        f"Hello,\nIn Keras even a batch size of {batch} ends in an out of memory error.\n"
    )
    lower = [each.text for each in report.findings[0].remedies if each.slug == "smaller-batch"]
    assert any(
        each.startswith(f"lower the batch: {batch} fails (line 2), so try {less}") for each in lower
    ) is (less is not None)
    assert len(lower) < 2
