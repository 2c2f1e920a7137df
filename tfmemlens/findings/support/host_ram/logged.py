"""A callback that keeps a list of what each step gave, and makes one array of it at the end."""

from __future__ import annotations

from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_MAKES_ONE_ARRAY = regex(
    r"\bnp\.(?:mean|min|max|std|sum|array|asarray|stack"
    r"|concatenate)\((?P<list>self\.\w{1,40}(?:\[\w{1,20}\])?)[,)]"
)
_OF_KERAS_RL = regex(r"(?:\A|[/\\])rl[/\\]callbacks\.py")
_LEAST_LOGGED = Remedy(
    "let fit log less: with verbose=2 keras-rl keeps every observation of an episode in a list for the log's"
    " mean, with verbose=1 none; images need a Processor, too, that makes them small and uint8",
    "dqn.fit(env, nb_steps=500_000, verbose=1)",
    slug="leave-it-out",
)
_WITHOUT_IT = Remedy(
    "leave that callback out, or let it keep sums and counts instead of all that it is given",
    slug="leave-it-out",
)


@dataclass(frozen=True, slots=True)
class Logged:
    """What a callback kept."""

    words: str
    remedy: Remedy


def logged(failed: FailedRequest) -> Logged | None:
    """The list of a callback that was to become an array; None where the traceback shows none."""
    if failed.kind is not RequestKind.HOST:
        return None
    for frame in reversed(failed.frames):
        match = _MAKES_ONE_ARRAY.search(frame.text) if "callback" in frame.place else None
        if match:
            words = f"a callback made one array of all that it keeps in `{match['list']}` ({frame.place})"
            return Logged(words, _LEAST_LOGGED if _OF_KERAS_RL.search(frame.place) else _WITHOUT_IT)
    return None
