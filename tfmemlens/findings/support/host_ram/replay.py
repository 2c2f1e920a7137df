"""A buffer of experiences that is made whole in host RAM: by which option it is smaller, and what fits."""

from __future__ import annotations

import ast

from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import FailedRequest
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human

_BUFFER = regex(r"(?i)replay|rollout_?buffer|experience_?(?:pool|buffer)|\bbuffers?\.py\b")
_OWN_NAME = regex(r"\bself\.(?P<name>_?\w*(?:memory_size|buffer_size|capacity|max_size|maxlen|size))\b")
_LEAST_ENTRIES = 1000
_OPTIONS = (
    (
        r"(?i)rollout_?buffer",
        "n_steps",
        "PPO(policy, env, n_steps=1024)   # entries: n_steps x environments, new for each update",
    ),
    (r"cleanrl", "--buffer-size", "python dqn_atari.py --buffer-size {n}   # the script that you start"),
    (
        r"WrappedReplayBuffer|dopamine",
        "WrappedReplayBuffer.replay_capacity",
        "gin.bind_parameter('WrappedReplayBuffer.replay_capacity', {n})   # or in the .gin file",
    ),
    (
        r"stable_baselines3?\W(?:\S*\W)?common\Wbuffers|stable_baselines",
        "buffer_size",
        "DQN('CnnPolicy', env, buffer_size={n})   # SAC, TD3, DDPG take it, too",
    ),
    (
        r"rlcard|NFSPAgent",
        "q_replay_memory_size",
        "NFSPAgent(..., reservoir_buffer_capacity={n}, q_replay_memory_size={n})",
    ),
    (r"simple_dqn", "--replay_size", "./train.sh ROM --replay_size {n}"),
    (r"TFUniformReplayBuffer|tf[_-]agents", "max_length", "TFUniformReplayBuffer(spec, 1, max_length={n})"),
    (
        r"(?i)\bgarage\b",
        "size_in_transitions",
        "SimpleReplayBuffer(..., size_in_transitions={n}, time_horizon=100)",
    ),
    (r"(?i)\brllib\b", "capacity", 'config["replay_buffer_config"] = {{"capacity": {n}}}'),
    (r"(?i)\bSequentialMemory\b|\bkeras-?rl\b", "limit", "SequentialMemory(limit={n}, window_length=4)"),
)
"""By what names the library: the option of its buffer, and how it is set."""
_FEWER, _FEW_IN_WORDS = 100_000, 10_000
"""Where a million is the rule, and where nobody knows how many there are by default."""


def smaller_buffer(case: Case, failed: FailedRequest) -> Remedy | None:
    """What makes the buffer smaller, where the failing array is one; None of another array."""
    here = [failed.source_text or "", *(f"{each.place} {each.name} {each.text}" for each in failed.frames)]
    said = failed.line.text if failed.line else ""
    innermost = [text for text in here if text][-2:]
    if not any(_BUFFER.search(text) for text in (*innermost, said)):
        return None
    shape = failed.shape
    entries = shape[0] if shape and shape[0] and shape[0] >= _LEAST_ENTRIES else None
    if shape is not None and entries is None:
        return None
    names = " ".join((*here, said, *(line.text for line in code_lines(case.capture.surroundings))))
    few = min(_FEWER, entries // 10) if entries else _FEWER
    option, code = option_of_library(names, few) or _by_its_own_name(innermost, few)
    size = ""
    if entries and failed.tensor_bytes:
        each = failed.tensor_bytes // entries
        size = f": {entries:,} entries of {human(each)}; {few:,} take {human(few * each)}"
        if failed.tensor_bytes >= GIB:
            size += ", and a second array may hold the next observations"
    named = f" (`{option}`)" if option else ""
    return Remedy(
        f"give the replay buffer a smaller capacity{named}: it is made whole before the first step, and holds"
        f" an observation or two for each entry{size}. Keep images as uint8, and single frames rather than"
        " stacks",
        code,
        slug="smaller-replay",
    )


def option_of_library(text: str, few: int = _FEW_IN_WORDS) -> tuple[str, str] | None:
    """The option of the buffer's capacity in the library that a text names, and how it is set."""
    return next(
        ((option, code.format(n=few)) for pattern, option, code in _OPTIONS if regex(pattern).search(text)),
        None,
    )


def of_an_agent(case: Case) -> Grower | None:
    """An agent of the quoted code that is given numbers of its replay memory."""
    for statement in case.capture.surroundings.program():
        for node in statement.nodes:
            if not isinstance(node, ast.Call) or not _AGENT.search(last_name(node.func)):
                continue
            names = [word.arg for word in node.keywords if word.arg and _OF_MEMORY.search(word.arg)]
            names.sort(key=lambda each: "replay" not in each)
            if not names:
                continue
            line = statement.line_of(node)
            capacity = [each for each in names if not _OF_THE_START.search(each)]
            option = capacity[0] if capacity else _OF_THE_START.sub("", names[0])
            what = (
                f"the replay memory of `{last_name(node.func)}` ({line.place}), which fills with transitions"
                " up to its capacity, for each agent that is made"
            )
            if not capacity:
                what += f"; `{names[0]}` says when the training begins, and bounds nothing"
            return Grower(
                what,
                line,
                (
                    Remedy(
                        f"give it a smaller capacity (`{option}`, or whatever the class calls it: many have"
                        " 100,000 or a million by themselves), and count it: two observations for each entry",
                        f"{last_name(node.func)}(..., {option}=10000)",
                        slug="smaller-replay",
                    ),
                ),
                True,
            )
    return None


_AGENT = regex(r"(?i)agent|dqn|ddpg|\bsac\b|\btd3\b|nfsp|rainbow|d4pg")
_OF_MEMORY = regex(r"(?i)replay|(?:memory|buffer)_\w*size|capacity|reservoir")
_OF_THE_START = regex(r"(?i)_?(?:init(?:ial)?|warm_?up|min|start)(?=_|\Z)")


def _by_its_own_name(lines: list[str], few: int) -> tuple[str, str | None]:
    """The name that the failing line itself has for the capacity."""
    match = next(filter(None, map(_OWN_NAME.search, reversed(lines))), None)
    if match is None:
        return "", None
    name = match["name"].lstrip("_")
    return name, f"{name} = {few}   # where the buffer is made, or in the settings"
