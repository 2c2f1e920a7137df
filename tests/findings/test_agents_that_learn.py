"""Agents: the rows of a tensor are steps of episodes, or entries of a replay memory, and no set."""

from __future__ import annotations

from tests.findings.pages import explained, first, offered

NODE = "main_level/agent/main/online/network_0/observation/Conv2d_1/Conv2D"
FAILED = (
    "W tensorflow/core/framework/op_kernel.cc:1273] OP_REQUIRES failed at conv_ops.cc:693 : Resource"
    " exhausted: OOM when allocating tensor with shape[{rows},64,28,38] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
    " shape[{rows},64,28,38] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator"
    ' GPU_0_bfc\n\t [[{{node {node}}} = Conv2D[T=DT_FLOAT, data_format="NCHW", padding="VALID"](a, b)]]\n'
)


def test_the_steps_of_an_agents_episodes_are_gathered_by_its_settings() -> None:
    text = FAILED.format(rows=4211, node=NODE)
    assert NODE.rpartition("/")[0] in explained(text).verdict  # one brace, as str.format leaves it
    assert offered(text)[0] == "fewer-gathered-steps" and "sess.run" not in first(text)
    assert "num_episodes_between_training" in first(text)
    words = "Each episode of my DQN has some 4000 steps.\n" + FAILED.format(rows=4211, node="conv/Conv2D")
    assert offered(words)[0] == "fewer-gathered-steps"
    assert "num_episodes_between_training" not in first(words)


def test_a_set_that_no_agent_gathered_goes_in_batches() -> None:
    for node in ("net/conv/Conv2D", "reagent/Conv2D", "online/net/Conv2D"):
        assert offered(FAILED.format(rows=4211, node=node))[0] == "in-batches"
    webcam = "It reads frames from a webcam.\n" + FAILED.format(rows=4211, node="conv/Conv2D")
    assert "fewer-gathered-steps" not in offered(webcam)


RAM = (
    "# RAM usage grows until it crashes\n\nFirst it threw:\n```\nterminate called after throwing an instance"
    " of 'std::bad_alloc'\n  what():  std::bad_alloc\n```\nWith larger samples it fails with\n```\n"
    "ResourceExhaustedError: OOM when allocating tensor with shape[6000,100,100,64]{more}\n```\n{end}"
)


def test_a_message_without_a_device_beside_a_bad_alloc_is_of_host_ram() -> None:
    assert "Out of host RAM (not GPU memory)" in explained(RAM.format(more="", end="")).verdict
    card = " and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
    for text in (RAM.format(more=card, end=""), RAM.format(more="", end="My GPU is a GTX 1080 Ti.\n")):
        assert "Out of host RAM (not GPU memory) while" not in explained(text).verdict


def kept(node: str, shape: str = "20000,84,84,4") -> str:
    """A variable's first value that found no room on the GPU."""
    return (
        f"OOM when allocating tensor with shape[{shape}] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
        f"\t [[Node: {node} = RandomUniform[T=DT_INT32, dtype=DT_FLOAT, seed=0](a)]]\n"
    )


def test_a_replay_memory_that_is_a_variable_gets_a_smaller_capacity() -> None:
    text = kept("agent/replay/initialize/states/Initializer/random_uniform/RandomUniform")
    assert offered(text)[0] == "smaller-replay" and "20,000 -> 2,000" in first(text)
    assert "count-parameters" not in offered(text)
    other = kept("agent/replays_of/states/Initializer/random_uniform/RandomUniform")
    assert "smaller-replay" not in offered(other)
    few = kept("net/replay/kernel/Initializer/random_uniform/RandomUniform", "999,84,84,4")
    assert "smaller-replay" not in offered(few)


def test_a_matrix_of_millions_of_rows_is_cut_by_its_rows() -> None:
    text = (
        "W tensorflow/core/framework/op_kernel.cc:1273] OP_REQUIRES failed at cwise_ops_common.cc:70 :"
        " Resource exhausted: OOM when allocating tensor with shape[{shape}] and type float on"
        " /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu\n"
    )
    table = text.format(shape="9500000,512")
    assert "its 9,500,000 rows" in first(table) and "map_fn" not in first(table)
    for shape in ("40000,30000", "600000,20000"):
        assert "rows are most likely" not in first(text.format(shape=shape))


ACTORS = (
    "It fails on the GPU when its {words} start.\n```\n2017-08-09 10:11:12.100000: E"
    " tensorflow/core/common_runtime/direct_session.cc:138] Internal: failed initializing StreamExecutor for"
    " CUDA device ordinal 0: Internal: failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY;"
    " total memory reported: 8508145664\nTraceback (most recent call last):\n"
    '  File "run_mujoco.py", line 40, in main\n    train(env, seed=0, num_cpu={many})\n'
    '  File "run_mujoco.py", line 20, in train\n    sess = tf.Session(config=config)\n```\n'
)


def test_processes_of_one_agent_share_the_gpu_in_parts() -> None:
    text = ACTORS.format(words="MPI processes", many=4)
    assert offered(text)[0] == "smaller-fraction" and "see-device-users" not in offered(text)
    assert "several tasks of this job" in explained(text).verdict
    wrapped = text.replace("cuDevicePrimaryCtxRetain", "cuDevicePrimary\nCtxRetain")
    assert offered(wrapped)[0] == "one-device-each"
    assert "per_process_gpu_memory_fraction = 0.20" in first(wrapped)
    assert "several ranks" in explained(wrapped).verdict
    for words in ("environments", "ranks"):
        other = ACTORS.format(words=words, many=4)
        assert offered(other)[0] == "see-device-users"
