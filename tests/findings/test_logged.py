"""A callback that makes one array of all that it kept."""

from __future__ import annotations

from tfmemlens import pipeline

TRACEBACK = """I train an agent with a SequentialMemory in TensorFlow.
Traceback (most recent call last):
  File "/home/user/agent.py", line 40, in <module>
    dqn.fit(env, nb_steps=500000, verbose=2)
  File "/env/lib/rl/callbacks.py", line 191, in on_episode_end
    'obs_mean': np.mean(self.observations[episode]),
  File "/env/lib/numpy/core/numeric.py", line 553, in asanyarray
    return array(a, dtype, copy=False, order=order, subok=True)
MemoryError
"""


def test_the_list_of_a_callback_is_named_before_a_replay_buffer() -> None:
    report = pipeline.explain(TRACEBACK)
    assert "all that it keeps in `self.observations[episode]`" in report.verdict
    assert "replay buffer" not in report.verdict
    assert "verbose=1" in report.actions[0].remedy.text


def test_another_callback_is_left_out() -> None:
    report = pipeline.explain(TRACEBACK.replace("/rl/callbacks.py", "/mine/callbacks.py"))
    assert "leave that callback out" in report.actions[0].remedy.text


def test_a_line_that_is_no_callback_s_says_nothing_of_one() -> None:
    verdict = pipeline.explain(TRACEBACK.replace("/rl/callbacks.py", "/mine/values.py")).verdict
    assert "a callback made" not in verdict
