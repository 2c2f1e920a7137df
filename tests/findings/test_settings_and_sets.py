"""The program's own limit, workers beside one another, chunks that stand in sets, results that code keeps."""

from __future__ import annotations

import pytest

from tests.findings.logs import MIB, dump, oom
from tests.findings.test_what_is_no_batch import explained, slugs
from tfmemlens.model.line import Line
from tfmemlens.readers.oom.quoted_code import QuotedCode

CREATED = (
    "Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with 10089 MB memory) ->"
    " physical GPU (device: 0, name: GeForce GTX 1080 Ti, pci bus id: 0000:01:00.0, compute"
    " capability: 6.1)\n"
)
NET = oom("64,112,112,256", "net/conv/Conv2D")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("LogicalDeviceConfiguration(memory_limit=2048)", "only 2.00 GiB (`memory_limit=2048`, line 1)"),
        ("on my 1080 Ti: GPUOptions(per_process_gpu_memory_fraction=0.3)", "30 % of the GPU, about 3.30 GiB"),
        ("GPUOptions(per_process_gpu_memory_fraction=0.3)", "30 % of the GPU (`per_process_gpu_memory"),
    ],
)
def test_a_limit_of_the_programs_own_is_named_where_no_allocator_tells_one(code: str, told: str) -> None:
    report = explained(f"{code}\n{NET}")
    assert told in report.verdict
    assert report.actions[0].remedy.slug == "raise-own-limit"


@pytest.mark.parametrize(
    "text",
    [
        f"GPUOptions(per_process_gpu_memory_fraction=0.9)\n{NET}",
        f"LogicalDeviceConfiguration(memory_limit=9216)\n{CREATED}{NET}".replace("10089", "20000"),
        f"# maybe try memory_limit=2048\n{NET}",
    ],
)
def test_nearly_all_of_a_gpu_or_another_figure_is_no_such_limit(text: str) -> None:
    assert "raise-own-limit" not in slugs(text)


WORKERS = "$ pytest -n 8 tests/\n"
ALONE = "Each test passes when run alone.\n"


def test_test_workers_share_a_gpu_and_models_of_one_process_do_not() -> None:
    told = explained(WORKERS + oom("3,3,512,512", "net/add") + ALONE)
    assert "goes well alone (line 4), and line 1 tells of several processes on one GPU" in told.verdict
    assert "TensorFlow takes nearly all of it" in told.verdict
    assert told.actions[0].remedy.slug in ("smaller-fraction", "fewer-processes")
    assert "memory_limit=" in " ".join(action.remedy.code or "" for action in told.actions)
    near = explained("$ pytest -n 1 tests/\n" + oom("3,3,512,512", "net/add") + ALONE)
    assert "most likely what ran before it in this process" in near.verdict


EAGER = (
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
    " shape[{shape}] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator"
    " GPU_0_bfc [Op:{op}]\n"
)


@pytest.mark.parametrize(
    ("line", "pairs"),
    [
        ("d = tf.expand_dims(a, 1) - tf.expand_dims(b, 0)", True),
        ("d = tf.expand_dims(a, axis=1) - tf.expand_dims(b, axis=0)", True),
        ("d = tf.expand_dims(a, 0) - tf.expand_dims(b, 0)", False),
        ("d = tf.expand_dims(a, 1) - b", False),
    ],
)
def test_two_axes_that_differ_make_all_pairs(line: str, pairs: bool) -> None:
    told = explained(f"{line}\n{EAGER.format(shape='5000,8000,16', op='Sub')}")
    assert ("every pair of 5,000 and 8,000 rows" in told.verdict) is pairs


def statistics(peak: int) -> str:
    return (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00GiB (rounded to 1073741824)\n"
        f"Stats: \nLimit:     {10000 * MIB}\nInUse:     {6000 * MIB}\nMaxInUse:  {peak * MIB}\n"
        "NumAllocs:        43\nMaxAllocSize:   1073741824\n"
    )


def test_a_pool_that_held_more_has_the_rest_in_pieces() -> None:
    assert "so about 3.42 GiB of it was free now, in pieces" in explained(statistics(9500)).verdict
    assert "in pieces or the device had no more" in explained(statistics(6900)).verdict


def classes(*rows: tuple[int, int], limit: int = 1000, request: int = 64) -> str:
    total = sum(count * size for count, size in rows)
    lines = "".join(
        f"{count} Chunks of size {size * MIB} totalling {count * size}.00MiB\n" for count, size in rows
    )
    in_use = f"InUse:     {total * MIB}\nMaxInUse:  {total * MIB}\n"
    return (
        f"Allocator (GPU_0_bfc) ran out of memory trying to allocate {request}.00MiB (rounded to"
        f" {request * MIB})\n     Summary of in-use Chunks by size: \n{lines}"
        f"Sum Total of in-use chunks: {total}.00MiB\nStats: \nLimit:     {limit * MIB}\n{in_use}"
        "NumAllocs:        43\nMaxAllocSize:   67108864\n"
    )


ADAM = ((3, 200), (3, 64), (6, 16), (3, 5))


def test_three_chunks_of_each_size_are_weights_and_moments() -> None:
    told = explained(classes(*ADAM, limit=1040))
    assert "4 sizes of blocks are there three times each" in told.verdict and "Adam" in told.verdict
    assert "and one more of these sizes was asked for" in told.verdict
    assert "one more" not in explained(classes(*ADAM, limit=1040, request=150)).verdict


@pytest.mark.parametrize(
    "rows",
    [
        ((3, 200), (3, 64), (6, 16)),  # three sizes are chance
        ((3, 200), (2, 64), (6, 16), (3, 5), (1, 40)),  # as are some of many
        ((12, 40), (24, 10), (36, 4), (12, 3)),  # twelve layers alike
        ((3, 10), (3, 6), (6, 4), (3, 5), (1, 600)),  # and they hold little
    ],
)
def test_other_counts_are_no_sets_of_three(rows: tuple[tuple[int, int], ...]) -> None:
    assert "three times each" not in explained(classes(*rows)).verdict


def test_a_full_device_names_the_chunks_that_fill_it() -> None:
    told = explained(classes((61, 28), (3, 80), limit=2000))
    assert "61 blocks of 28.00 MiB hold 1.67 GiB, 88 % of what is in use" in told.verdict
    assert "chunks of" not in explained(classes((3, 500), (3, 120), limit=1900)).verdict


LATE = "step 41200 loss 0.2\nstep 41300 loss 0.2\n" + EAGER.format(shape="64,128", op="MatMul")


def test_a_list_that_quoted_code_fills_is_named_where_little_fails_late() -> None:
    told = explained(f"    preds.append(out)\n{LATE}")
    assert "`preds` (line 1) most likely keeps a tensor of each step" in told.verdict
    assert told.actions[0].remedy.slug == "keep-numbers"


@pytest.mark.parametrize(
    "text",
    [
        f"    preds.append(float(loss))\n{LATE}",
        "    preds.append(out)\nstep 2 loss 0.2\n" + EAGER.format(shape="64,128", op="MatMul"),
        "    preds.append(out)\n" + LATE.replace("64,128", "64,128,4096"),
    ],
)
def test_numbers_and_first_steps_and_large_requests_are_no_such_list(text: str) -> None:
    assert "`preds`" not in explained(text).verdict


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ("1,375,750,1088", "one image of 375 x 750 (line 2 asks for 3000)"),
        ("1,1088,750,750", "one image of 750 x 750 (line 1 asks for 1500) makes 2.28 GiB with 1088 channels"),
    ],
)
def test_the_sides_of_an_image_are_those_that_its_resizer_gives(shape: str, told: str) -> None:
    text = f"min_dimension: 1500\nmax_dimension: 3000\n{oom(shape, 'features/block17_9/concat')}"
    assert told in explained(text).verdict


def test_java_and_a_server_run_a_trained_model() -> None:
    java = oom("1,64,2160,3840", "gen/conv/Conv2D") + "\tat org.tensorflow.Session.run(Session.java:850)\n"
    assert "training keeps" not in explained(java).verdict
    assert "training keeps" in explained("trainer.train(data)\n" + java).verdict


def test_a_line_that_makes_a_sequential_model_makes_its_weights() -> None:
    frame = "/lib/python3/site-packages/keras/backend.py in random_uniform(self, shape)\n"
    failed = frame + EAGER.format(shape="802816,4096", op="Sub")
    assert "a weight matrix" in explained(f"---> 5 model = Sequential([...\n{failed}").verdict
    assert "a weight matrix" not in explained(f"---> 5 z = mean - K.random_uniform(s)\n{failed}").verdict


def test_numbers_of_a_sentence_keep_their_own_names() -> None:
    quoted = QuotedCode()
    quoted.observe(Line(1, "NMT with vocab_size = 50000, batch 64, max target length 50"))
    named = {each.name: each.sizes for each in quoted.sizes}
    assert named["vocab_size"] == (50000,) and named["batch"] == (64,) and named["length"] == (50,)


def of_a_pool(mib: int, allocator: str = "GPU_0_bfc") -> str:
    text = dump(mib, mib, mib - 1, (1,)) + oom(f"{mib},512,512", "net/conv/Conv2D", by=allocator)
    return text.replace("GPU_0_bfc", allocator).replace("GPU:0", "GPU:0" if "GPU" in allocator else "CPU:0")


@pytest.mark.parametrize(
    ("mib", "allocator", "slug"),
    [
        (64, "GPU_0_bfc", "raise-own-limit"),
        (65, "GPU_0_bfc", None),
        (8, "bfc_cpu_allocator_for_gpu", "raise-host-limit"),
        (9, "bfc_cpu_allocator_for_gpu", None),
    ],
)
def test_a_limit_that_holds_no_network_is_the_cause(mib: int, allocator: str, slug: str | None) -> None:
    report = explained(of_a_pool(mib, allocator))
    assert ("the limit of its memory pool" in report.verdict) is (slug is not None)
    advised = {"raise-own-limit", "raise-host-limit"} & set(slugs(of_a_pool(mib, allocator)))
    assert advised == ({slug} if slug else set())
