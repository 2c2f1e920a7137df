"""Posts in words: growth with a size, questions, what is left of a message, a traceback without its end."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

HINT = (
    "Hint: If you want to see a list of allocated tensors when OOM happens, add"
    " report_tensor_allocations_upon_oom"
)


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def slugs(text: str) -> list[str | None]:
    return [action.remedy.slug for action in explained(text).actions]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (
            "As we increase the number of layers, the memory allocation increases significantly.",
            "No failure is told: memory grows with a size (line 2), which is no leak.",
        ),
        (
            "Memory scales linearly with `num_samples`.",
            "No failure is told: memory grows with a size (line 2), which is no leak.",
        ),
        (
            "Memory grows with the number of epochs.",
            "The text says in words that memory grows (line 2), and quotes no message of it; whether RAM or a"
            " GPU's memory is not said: `top` and `nvidia-smi` show it while it grows.",
        ),
    ],
)
def test_growth_with_a_size_is_no_leak(text: str, verdict: str) -> None:
    assert explained(f"import jax\n{text}").verdict == verdict


def test_a_question_whether_it_leaks_is_no_growth_where_memory_ran_out() -> None:
    text = "I use tensorflow. I get an OOM with one image.\nSome sort of memory leakage ?"
    assert "memory ran out" in explained(text).verdict and "find-what-grows" not in slugs(text)
    told = text.replace(" ?", " after each epoch.")
    assert "grows" in explained(told).verdict


def test_a_noun_in_code_is_nothing_that_is_done_again() -> None:
    text = "I use tensorflow. The memory keeps growing.\n{}folder = args.data  # a path to some image dataset"
    assert "data set that is made anew" not in explained(text.format("")).verdict
    prose = text.format("").replace("folder = args.data  # a path to", "I make many datasets from")
    assert "data set that is made anew" in explained(prose).verdict


def test_a_conversion_that_calibrates_grows_with_its_samples() -> None:
    text = "TensorFlow Lite: the memory keeps growing with the given representative data set."
    assert slugs(text)[0] == "smaller-pipeline" and "the conversion" in explained(text).verdict


_OF_AN_OP = f"{HINT}\n\nCaused by op 'rpn/shared/convolution', defined at:\n"


@pytest.mark.parametrize(
    ("call", "first"),
    [
        ("  File 'try.py'\n    net = build(mode='inference', config=c)\n", "it runs a trained model"),
        ("  net.fit(x, y)\n", "train with a smaller batch"),
        ("  net = build(c)\n", "if it trains"),
    ],
)
def test_below_a_cut_message_the_op_and_what_runs_are_told(call: str, first: str) -> None:
    report = explained(f"import tensorflow as tf\n{_OF_AN_OP}{call}")
    assert "the op that failed is `rpn/shared/convolution`" in report.verdict
    assert report.actions[0].remedy.text.startswith(first)


def test_a_hint_alone_is_the_end_of_a_message_and_no_words_of_a_failure() -> None:
    text = f"python xla_spawn.py run_glue.py --per_device_train_batch_size=256\n[[XRTExecute_G12]]\n{HINT}\n"
    report = explained(f"import torch_xla\n{text}")
    assert "The end of an out-of-memory message stands here (line 4" in report.verdict
    assert "ran on the TPU (XRTExecute, line 3)" in report.verdict
    assert report.actions[0].remedy.text.startswith("lower the batch of each device (256 -> 32, line 2)")
    assert "mark-step" not in slugs(f"import torch_xla\n{text}")
    compiled = explained(f"import torch_xla\n{text.replace('XRTExecute', 'XRTCompile')}")
    assert "was compiled for the TPU (XRTCompile, line 3)" in compiled.verdict


def test_micro_batches_of_torch_xla_end_a_step_each() -> None:
    text = "import torch_xla\nWith gradient accumulation it is an OOM on my TPU."
    assert "after each micro-batch" in explained(text).actions[0].remedy.text


@pytest.mark.parametrize(
    ("trace", "where"),
    [
        ('  File "/home/me/run.py", line 104, in main\n    step(x)\n', "run.py:104 in `main` (line 3)"),
        ('  File "/v/site-packages/a/b.py", line 5, in call\n    f(x)\n', "b.py:5 in `call` (line 3)"),
        (
            "<ipython-input-2-ab> in <module>\n      1 key = 1\n----> 2 x = normal(key, (6, 1))\n",
            "`x = normal(key, (6, 1))` (line 5)",
        ),
    ],
)
def test_a_traceback_without_its_end_gives_the_place(trace: str, where: str) -> None:
    report = explained(f"I use jax.\nIt is an OOM on my GPU.\n{trace}")
    assert f"a traceback leads to {where}" in report.verdict
    assert "the last lines of the traceback" in report.actions[-1].remedy.text


def test_lines_of_a_library_that_a_notebook_shows_are_no_place() -> None:
    trace = "/v/site-packages/jax/core.py in bind(self)\n--> 273   return f(x)\n"
    assert "a traceback leads" not in explained(f"I use jax.\nIt is an OOM.\n{trace}").verdict
    cut = "<ipython-input-2-ab> in <module>\n----> 5   seed=42)\n"
    assert "a traceback leads" not in explained(f"I use jax.\nIt is an OOM.\n{cut}").verdict


def test_a_constant_that_a_program_closes_over_may_grow() -> None:
    text = "import jax\n# Memory leak in compiled loops closing over large constants\nMemory keeps growing."
    assert slugs(text)[:2] == ["pass-as-argument", "start-anew"]


def test_any_program_of_jax_that_runs_out_is_advised_to_change_something() -> None:
    assert slugs("import jax\nIt is an OOM on the GPU.")[0] == "smaller-batch"
    assert slugs("import jax\nIt is an OOM on the GPU, with vmap.")[0] == "in-blocks"


def test_samples_that_are_larger_are_no_larger_set() -> None:
    text = "With a set of relatively small images all runs fine.\nHowever, large images end in an OOM."
    assert "the size of one sample" in explained(f"I use tensorflow.\n{text}").verdict
    more = text.replace("relatively small", "only a few").replace("large images", "all images")
    assert "the whole set of data" in explained(f"I use tensorflow.\n{more}").verdict


def test_what_a_list_keeps_is_named_by_its_line() -> None:
    text = (
        "I use tensorflow. I get an OOM when I append a list. If I remove the append it runs fine.\n"
        "    kept.append(tape.gradient(loss, x))\n"
    )
    report = explained(text)
    assert report.actions[0].remedy.code == "kept.append(np.asarray(tape.gradient(loss, x)))"
    other = text.replace("kept.append(", "kept.extend(")
    assert explained(other).actions[0].remedy.slug == "leave-it-out"


def test_a_crash_beside_what_it_runs_without_is_looked_for_there() -> None:
    text = (
        "I use tensorflow.\nSegmentation fault (core dumped)\n"
        "The code can run without error but if I use `c.data = samples`, it fail."
    )
    report = explained(text)
    assert "it is fine without `c.data = samples` (line 3)" in report.verdict
    assert slugs(text)[0] == "leave-it-out"
    assert slugs("Segmentation fault (core dumped)")[0] == "find-the-crash"


DUMP = """I bfc_allocator.cc:693]      Summary of in-use Chunks by size:
I bfc_allocator.cc:696] 11 Chunks of size 4000000000 totalling 40.98GiB
I bfc_allocator.cc:700] Sum Total of in-use chunks: 64.00GiB
I bfc_allocator.cc:702] Stats:
Limit:                 {limit}
InUse:                 {limit}
MaxInUse:              {limit}
NumAllocs:                      32
MaxAllocSize:           6359738368
"""


@pytest.mark.parametrize(
    ("limit", "words", "pinned"),
    [
        (1 << 36, "", True),
        ((1 << 36) - 256, "", False),
        ((1 << 36) - 256, "# OOM due to cuda_host_bfc\n", True),
        (1 << 36, "by allocator GPU_0_bfc\n", False),
    ],
)
def test_a_dump_of_pinned_host_memory_is_of_no_device(limit: int, words: str, pinned: bool) -> None:
    report = explained(words + DUMP.format(limit=limit))
    assert ("pool of pinned host RAM" in report.verdict) is pinned
    assert ("larger-host-pool" in [each.remedy.slug for each in report.actions]) is pinned


def test_a_server_that_dies_while_it_starts_is_sent_no_smaller_requests() -> None:
    text = "When tensorflow_model_server start serving it takes all the memory, killed finally."
    assert slugs(text)[0] == "load-less"
    assert "load-less" not in slugs("tensorflow_model_server is killed finally: it takes all the memory.")


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("Without any error, it was killed.", "that the program was killed"),
        ("Without any error, it was killed by me.", "No out-of-memory message was found"),
    ],
)
def test_whoever_was_killed_was_killed(said: str, verdict: str) -> None:
    assert verdict in explained(f"I train with tensorflow.\n{said}").verdict


def test_an_epoch_of_a_model_is_no_model_after_another() -> None:
    text = "I use tensorflow 2.1.\nRAM increases.\nIt should not at each epoch of training any model."
    assert "kept from one epoch to the next" in explained(text).verdict
    assert slugs(text)[-1] == "newer-release"
    assert "newer-release" not in slugs(text.replace("2.1", "2.9"))
    models = text.replace("each epoch of training any model", "each training of a new model")
    assert "what Keras keeps of the models before" in explained(models).verdict


def test_a_layer_that_a_loop_adds_is_kept_by_no_list() -> None:
    code = "for n in nodes:\n    model.add(Dense(n))\n    seen.add(n * x)\n"
    text = f"I use tensorflow. RAM keeps growing.\n\n{code}"
    assert "Dense" not in explained(text).verdict and "`seen` keeps" in explained(text).verdict


def test_a_cause_that_the_text_names_goes_before_a_guess() -> None:
    text = (
        "I use keras. The problem seems to be with the callback with histogram_freq=1, I will tell.\n"
        "It runs out of memory when it allocates the entire validation set at once.\n"
    )
    assert "the histograms" in explained(text).verdict and slugs(text)[0] == "histograms-off"
    assert "evaluated at once" in explained(text.replace("The problem seems to be with", "I use")).verdict
    doubt = text.replace("seems to be with", "may be with")
    assert "names the cause" not in explained(doubt).verdict


def test_what_a_split_gathers_is_no_batch_of_an_evaluation() -> None:
    error = (
        "ResourceExhaustedError: OOM when allocating tensor with shape[160000,64,64,1] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:GatherV2]\n"
    )
    call = "It seems to run the validation at once: model.fit(x, y, batch_size=8, validation_split=0.2)"
    assert "smaller-evaluation-batch" not in slugs(f"{call}\n{error}")


def test_code_of_an_evaluation_is_of_its_release() -> None:
    text = "Keras feeds the entire validation set at once, and the GPU runs out of memory. {}"
    old = explained(text.format("Tensorflow 1.0.1")).actions[0].remedy
    assert old.slug == "smaller-evaluation-batch" and "validation_batch_size" not in (old.code or "")
    new = explained(text.format("Tensorflow 2.9.1")).actions[0].remedy
    assert "validation_batch_size" in (new.code or "")


def test_samples_that_were_read_when_it_was_killed_are_all_in_ram() -> None:
    log = "Load the 0 image of 25000.\nLoad the 24000 image of 25000.\nKilled\n"
    assert slugs(log)[0] == "map-the-file"
    assert "map-the-file" not in slugs(log.replace("Load the", "Trained on"))
    told = "I keep hitting a point pre-training where I run out of RAM.\n\nKilled\n"
    assert explained(told).verdict.startswith(
        "Host RAM (not GPU memory) ran out: line 1 says that RAM ran out"
    )


def test_the_batch_of_a_shell_script_is_one() -> None:
    text = "import jax\nIt is an OOM on my GPU, at a sequence length of 2048.\nBS=256\n"
    assert any("256 -> 128" in action.remedy.text for action in explained(text).actions)
    assert not any("-> 128" in each.remedy.text for each in explained(text.replace("BS", "NBS")).actions)


def _readings(*sizes: float) -> str:
    return "".join(
        f"Memory usage after {run} run(s) (in MiB): {size:.3f}\n" for run, size in enumerate(sizes)
    )


def test_figures_that_a_program_prints_are_read_though_no_failure_is_told() -> None:
    rising = explained(_readings(*(5612.281 + 35 * run for run in range(8))))
    assert rising.verdict.startswith("Host RAM in use rose from 5.48 GiB to 5.72 GiB over 8 readings")
    flat = explained(_readings(5612, 5612.2, 5610, 5611.6, 5609.3, 5611.2))
    assert flat.verdict.startswith("No failure is told; what it prints stays flat (at most 5.48 GiB")
    wavering = explained(_readings(5612.1, 5612.2, 5612.3, 5612.4))
    assert "rose" not in wavering.verdict
    assert "rose" not in explained(_readings(5612, 5712, 5812)).verdict


def test_rows_of_equal_length_are_no_lines_that_a_screen_broke() -> None:
    rows = "".join(
        f"after epoch {at} the process holds {1200 + 100 * at} MB of memory here\n" for at in range(6)
    )
    report = explained(f"I use tensorflow.\n\n{rows}then it runs out of memory")
    assert "rose from 1.17 GiB to 1.66 GiB over 6 readings" in report.verdict


def test_a_batch_and_images_that_were_reduced_in_vain_are_not_advised() -> None:
    text = (
        "I use keras: an OOM. I tried to reduce the batch (until 1){}i reduced the images size too, but {}."
    )
    tried = slugs(text.format(", ", "i always got this error"))
    assert "smaller-batch" not in tried and "smaller-input" not in tried
    assert slugs(text.format(" and it works, ", "it is not needed"))[0] == "smaller-batch"


def test_what_would_work_did_not() -> None:
    text = "# OOM\nYes, decreasing batch_size reduces memory requirement, and it {} to some extent."
    assert "says that a smaller batch runs" not in " ".join(
        action.remedy.text for action in explained(text.format("would work")).actions
    )
    assert "says that a smaller batch runs" in " ".join(
        action.remedy.text for action in explained(text.format("works")).actions
    )


def test_a_strategy_that_somebody_proposes_is_no_cause() -> None:
    text = "# OOM in Keras\nWith multi_gpu_model {} place it above compile."
    assert "strategy" not in explained(text.format("you can")).verdict
    assert "strategy" in explained(text.format("I")).verdict


def test_an_array_that_a_function_joins_once_does_not_grow() -> None:
    text = "import jax\nMemory keeps growing.\n\n{} t in ts:\n    xs = jnp.append(xs, 1)\n"
    assert "joined to itself" in explained(text.format("for")).verdict
    once = text.format("for").replace("for t in ts:", "def loss(xs):")
    assert "joined to itself" not in explained(once).verdict


def test_what_is_compiled_again_need_not_have_new_shapes() -> None:
    text = "import jax\nMemory keeps growing. We are recompiling parts of the code each time."
    assert slugs(text)[0] == "compile-once"


def test_what_ended_a_crash_is_tried_first() -> None:
    text = "I use tensorflow.\nSegmentation fault (core dumped)\nDowngrading to 1.10 solved the issue."
    assert slugs(text)[0] == "what-ended-it"


def test_a_layer_that_makes_its_weights_holds_no_data_set() -> None:
    trace = (
        'Traceback (most recent call last):\n  File "a.py", line 65, in <module>\n    model.add(Dense(9))\n'
        '  File "build/x/egg/keras/initializations.py", line 43, in {}\n'
        '  File "/usr/lib/python2.7/dist-packages/numpy/core/numeric.py", line 460, in asarray\n'
        "    return array(a)\nMemoryError\n"
    )
    assert slugs(trace.format("glorot_uniform"))[0] == "smaller-model"
    assert explained(trace.format("glorot_uniform")).case.moments[0].request.failed.source == "a.py:65"
    assert slugs(trace.format("load"))[0] == "map-the-file"


def test_what_fails_when_it_is_run_again_left_something_behind() -> None:
    error = "RuntimeError: Resource exhausted: Out of memory while trying to allocate 4984907648 bytes.\n"
    said = "If I rerun the cell {}without resetting the runtime I get this error."
    assert slugs(f"import jax\n{error}{said.format('more than once ')}")[:2] == [
        "clear-the-exception",
        "restart-kernel",
    ]
    assert "restart-kernel" not in slugs(f"import jax\n{error}If I run the cell I get this error.")
    keras = (
        "OOM when allocating tensor with shape[64,64,64,64] and type float on /device:GPU:0 by GPU_0_bfc\n"
    )
    assert slugs(f"{keras}{said.format('')}")[0] == "restart-kernel"


def test_a_node_of_the_backward_pass_is_named_as_one() -> None:
    error = (
        "ResourceExhaustedError: Graph execution error:\n\n"
        "Detected at node '{}' defined at (most recent call last):\n"
    )
    node = "gradient_tape/model/layer_1/MatMul/MatMul"
    assert "`model/layer_1` (backward pass)" in explained(error.format(node)).verdict
    assert "backward" not in explained(error.format(node.removeprefix("gradient_tape/"))).verdict


def _first(text: str) -> str:
    return pipeline.explain(text).actions[0].remedy.slug


def test_where_it_does_not_happen_is_gone_to_first() -> None:
    grows = "I use keras. RAM grows with each epoch when the optimiser is Nadam.\n"
    assert _first(f"{grows}This does not happen when I use Adam.\n") == "what-differs"
    assert _first(f"{grows}This happens when I use Adam, too.\n") != "what-differs"


@pytest.mark.parametrize(
    "text, where",
    [
        ("With jax it runs into OOM after 4 steps on a 16G V100.", "a device's memory"),
        ("With jax it runs into OOM after 4 steps on an RTX 3090.", "a device's memory"),
        ("With jax it runs into OOM after 4 steps; the RAM beside the V100 is full.", "host RAM"),
        ("With jax it runs into OOM after 1080 images.", "memory"),
        ("With jax it runs into OOM after 4 steps on my M4 mini.", "memory"),
    ],
)
def test_a_card_that_the_sentence_names_is_where_it_ran_out(text: str, where: str) -> None:
    cpu = "print(psutil.Process(os.getpid()).memory_info().rss)\n"
    assert f"in words that {where} ran out" in pipeline.explain(f"{cpu}{text}\n").verdict


@pytest.mark.parametrize(
    "text, memory",
    [
        ("It deadlocks while jax compiles, and has to be killed by SIGKILL.", False),
        ("I killed it with kill -9 after an hour of keras.", False),
        ("The keras process was terminated by SIGKILL after an hour.", True),
        ("I get the memory out of run error in keras with 6 GB.", True),
        ("# GPU memory crash\nMy tfjs model with images of 50x50.", True),
        ("# Out of memory error\nBy saving every keras model my pc quickly runs out of storage.", False),
    ],
)
def test_what_is_a_lack_of_memory_and_what_is_none(text: str, memory: bool) -> None:
    verdict = pipeline.explain(f"{text}\n").verdict
    none = ("No out-of-memory message was found", "No lack of memory")
    assert verdict.startswith(none) is not memory, verdict
