"""Host RAM that a replay buffer takes: by its own capacity, whatever the batch."""

from __future__ import annotations

import pytest

from tests.findings.test_what_is_no_batch import explained

TRACEBACK = """Traceback (most recent call last):
  File "main.py", line 62, in main
    agent = Agent(config, env, sess)
  File "/a/dqn/agent.py", line 23, in __init__
    self.memory = ReplayMemory(self.config)
  File "/a/dqn/replay_memory.py", line 18, in __init__
    self.screens = np.empty((self.memory_size, config.height, config.width), dtype = np.float16)
MemoryError
"""
SETTINGS = "'memory_size': 1000000,\n'screen_height': 84,\n'screen_width': 84,\n'batch_size': 32,\n"
REFUSED = "MemoryError: Unable to allocate 315. GiB for an array with shape (10000, 100, 84480) and data type"
FILLED = "OSError: [Errno 12] Cannot allocate memory\n"


def test_the_line_that_makes_it_is_computed_with_the_settings_of_the_text() -> None:
    report = explained(SETTINGS + TRACEBACK)
    assert "it was for the replay buffer (`self.memory = ReplayMemory(self.config)`)" in report.verdict
    assert "1,000,000 x 84 x 84 as float16 are 13 GiB" in report.verdict
    first = report.actions[0].remedy
    assert first.slug == "smaller-replay" and "`memory_size` (1,000,000, line 1)" in first.text
    assert "1.3 GiB instead of 13 GiB" in first.text
    assert "map-the-file" not in {each.remedy.slug for each in report.actions}


def test_without_the_settings_it_has_no_figure() -> None:
    report = explained(TRACEBACK)
    assert "replay buffer" in report.verdict and "GiB" not in report.verdict


def test_an_array_of_many_entries_beside_words_of_one_is_most_likely_it() -> None:
    report = explained(f"garage, I base mine on tf_ddpg_pendulum\n\n{REFUSED} float32\n")
    assert "most likely for the replay buffer (line 1)" in report.verdict
    first = report.actions[0].remedy
    assert first.text.startswith("give the buffer fewer entries: each takes 32 MiB, and 10,000 of them")
    assert first.code and "size_in_transitions" in first.code


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("In call to configurable 'WrappedReplayBuffer'", "replay_capacity"),
        ("from stable_baselines import DQN", "buffer_size"),
        ("agent = NFSPAgent(sess, scope='nfsp')  # replay memory", "reservoir_buffer_capacity"),
    ],
)
def test_the_capacity_has_its_librarys_name(text: str, setting: str) -> None:
    first = explained(f"{text}\n{FILLED}").actions[0].remedy
    assert first.slug == "smaller-replay" and first.code and setting in first.code


def test_words_alone_make_it_one_possibility() -> None:
    report = explained(f"My DQN with a replay memory runs 750 episodes\n{FILLED}")
    assert "it may be the replay buffer (line 1)" in report.verdict
    assert {"smaller-replay", "container-limit"} <= {each.remedy.slug for each in report.actions}


@pytest.mark.parametrize(
    "text",
    [
        f"{REFUSED} float32\n",  # no word of a buffer
        f"The replay buffer size is 100 only, and still\n{FILLED}",
        "My replay buffer is fine.\nMemoryError: Unable to allocate 2.0 GiB for an array with shape"
        " (536870912,) and data type float32\n",  # one row
        "a DQN\nOOM when allocating tensor with shape[32,84,84,4] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n",
    ],
)
def test_other_failures_are_not(text: str) -> None:
    assert "for the replay buffer" not in explained(text).verdict
    assert "may be the replay buffer" not in explained(text).verdict
