"""Causes that stand in the user's own lines, and what such lines do not say."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

RAN_OUT = "Host RAM (32 GB) runs out in training, the GPU is fine.\n"
OOM = (
    "ResourceExhaustedError: OOM when allocating tensor with shape[512,512] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
)
CACHED = """RAM grows steadily from the first step on.{}
ds = ds.map(to_spectrogram, num_parallel_calls=8)
ds = ds.{}.batch(32)
net.fit(ds, epochs=10)
Killed
"""
SEQUENCE = """class Clips(Sequence):
    def {}(self, i):
        return np.array([load_clip(f) for f in self.files[i * 8:(i + 1) * 8]])

model.fit(Clips(tr), {})
MemoryError
"""
LARGE = "W cpu_allocator_impl.cc:82] Allocation of {} exceeds 10% of free system memory.\n"


def slugs(text: str) -> list[str]:
    return [each.remedy.slug for each in pipeline.explain(text).actions]


def test_a_cache_without_a_file_is_named_where_ram_grows() -> None:
    report = pipeline.explain(CACHED.format("", "cache()"))
    assert "`cache()` (line 3)" in report.verdict
    assert report.actions[0].remedy.slug == "cache-to-file"


@pytest.mark.parametrize(
    "said, call", [("", "cache('/ssd/c')"), (" It is 300 MB more after each epoch.", "cache()")]
)
def test_a_cache_that_does_not_fill_is_not(said: str, call: str) -> None:
    report = pipeline.explain(CACHED.format(said, call))
    assert "cache()` (line" not in report.verdict
    assert "cache-to-file" not in [each.remedy.slug for each in report.actions]


def test_what_reads_one_batch_is_no_array_of_all_samples() -> None:
    report = pipeline.explain(RAN_OUT + SEQUENCE.format("__getitem__", "workers=6, max_queue_size=30"))
    assert "all samples" not in report.verdict
    assert report.actions[0].remedy.slug == "shorter-queue"
    assert "map-the-file" not in [each.remedy.slug for each in report.actions]


def test_what_reads_all_is_one() -> None:
    report = pipeline.explain(RAN_OUT + SEQUENCE.format("load_all", "epochs=3"))
    assert "puts all samples into one array" in report.verdict


def test_workers_that_are_processes_are_told_as_such() -> None:
    with_processes = SEQUENCE.format("__getitem__", "workers=6, use_multiprocessing=True")
    assert "shorter-queue" not in slugs(RAN_OUT + with_processes)


def test_one_large_tensor_before_a_kill_is_named_with_the_number_that_makes_it() -> None:
    code = "ids = load_ids()\ny = tf.one_hot(ids, 90000001)\nmodel.fit(y)\n"
    report = pipeline.explain(f"{code}{LARGE.format(200 * 4 * 90000001)}Killed\n")
    assert "67.06 GiB was asked for (line 4, 90,000,001 of line 2 times another number)" in report.verdict
    assert report.actions[0].remedy.slug == "find-the-size"
    assert "smaller-pipeline" not in [each.remedy.slug for each in report.actions]


@pytest.mark.parametrize("between", ["Epoch 1/10\n 20/100 [==>...] - ETA: 10s - loss: 1.0\n"])
def test_a_large_tensor_before_steps_is_not(between: str) -> None:
    assert "find-the-size" not in slugs(f"{LARGE.format(9 << 30)}{between}Killed\n")


def test_a_small_one_is_not() -> None:
    assert "find-the-size" not in slugs(f"{LARGE.format(1 << 30)}Killed\n")


def test_an_assignment_that_is_made_and_run_at_each_call_grows_the_graph() -> None:
    code = "TF 1.4, GTX 1080. After about 900 calls it dies:\n    self.session.run(v.assign(x))\n"
    report = pipeline.explain(code + OOM)
    assert "line 2 makes a new `assign` each time it runs" in report.verdict
    assert [each.remedy.slug for each in report.actions] == ["build-once"]
    assert "placeholder" in report.actions[0].remedy.text


def test_an_assignment_that_fails_at_once_does_not() -> None:
    code = "TF 1.4, GTX 1080. It dies at the first call:\n    self.session.run(v.assign(x))\n"
    assert "makes a new `assign`" not in pipeline.explain(code + OOM).verdict


def test_a_limit_of_ones_own_is_not_blamed_for_a_graph_that_grows() -> None:
    code = (
        "TF 1.4, per_process_gpu_memory_fraction=0.05. After about 60 calls it dies:\n"
        "    self.session.run(v.assign(x))\n"
    )
    assert "raise-own-limit" not in slugs(code + OOM)


def test_only_what_the_program_has_is_suspected() -> None:
    text = "Memory grows by 300 MB after each epoch, the RAM.\nmodel.fit(x, y, callbacks=[ckpt])\nKilled\n"
    (turn,) = [
        each.remedy.text for each in pipeline.explain(text).actions if each.remedy.slug == "leave-out-in-turn"
    ]
    assert "callbacks" in turn and "cache()" not in turn and "workers" not in turn


def test_a_pods_limit_is_raised_in_its_description() -> None:
    text = (
        "main:\n  State: Terminated\n    Reason: OOMKilled\n    Exit Code: 137\n  Limits:\n    memory: 26Gi\n"
    )
    code = [each.remedy.code or "" for each in pipeline.explain(text).actions]
    assert any("limits: {memory:" in each for each in code)
    assert not any("docker run" in each for each in code)


@pytest.mark.parametrize("value", ["0.05", ".5", "0.333"])
def test_a_fraction_at_the_end_of_a_sentence_is_a_number(value: str) -> None:
    report = pipeline.explain(f"I set per_process_gpu_memory_fraction={value}. It fails:\n{OOM}")
    setting = report.case.capture.surroundings.setting("per_process_gpu_memory_fraction")
    assert setting is not None and setting[0] == value
