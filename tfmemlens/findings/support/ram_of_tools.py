"""What fills host RAM in well-known programs where a model is applied, and which of their options help."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.which_memory import only_killed
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human
from tfmemlens.values import replace

_OF_A_DEVICE = "device memory in words"
_DURATION = regex(r"(?:--duration|-d)[ =](?P<seconds>\d{2,6})\b")
_MINUTE = 81 * MIB
"""Of a stereo spectrogram in Spleeter: 44,100 / 1,024 frames a second, 2,049 bins, 8 bytes."""
_SHORTER_PARTS = Remedy(
    "separate shorter parts, and join what comes of them: `-d` with `-s` (where it begins), or files that"
    " ffmpeg cut. Without `-d` it takes the first ten minutes at once; fewer stems hold less as well",
    "spleeter separate -d 120 -s 0 ...   # then -s 120, -s 240; or: ffmpeg -i song.mp3 -f segment"
    " -segment_time 120 -c copy part%03d.mp3",
    slug="shorter-parts",
)
_WITHOUT_THE_FILTER = Remedy(
    "leave --mwf (in the API `MWF=True`) out: its filter works on the spectrograms of all stems together,"
    " which takes several times as much as the stems alone",
    slug="without-the-filter",
)
_FEWER_CANDIDATES = Remedy(
    "leave fewer candidates: a higher prob_thresh, or a model with a coarser grid; more tiles make only the"
    " network's part smaller",
    "labels, details = model.predict_instances(volume, prob_thresh=0.7, n_tiles=(4, 5, 10))",
    slug="fewer-candidates",
)
_BLOCKS_OF_A_VOLUME = Remedy(
    "or let it go through the volume in blocks, each with its own candidates",
    "model.predict_instances_big(volume, axes='ZYX', block_size=128, min_overlap=32)",
    slug="in-blocks",
)
_ONE_PROCESS = Remedy(
    "where it still grows at one shape, let a process of its own do a part of the work and end, which frees"
    " everything, and compare a newer TensorFlow",
    "with multiprocessing.get_context('spawn').Pool(1, maxtasksperchild=1) as pool: pool.map(work, parts, 1)",
    slug="own-process",
)


def ram_of_a_tool(case: Case) -> Grower | None:
    """What fills RAM in such a program; None where the text names none, or tells of a device's memory."""
    told = case.capture.surroundings
    if told.shows(_OF_A_DEVICE) and not told.shows("host RAM in words"):
        return None
    return of_spleeter(told) or of_stardist(told)


def of_spleeter(told: Surroundings) -> Grower | None:
    """The whole track at once, with what the options add."""
    line = told.shows("applying: Spleeter")
    if line is None or told.shows("training"):
        return None
    length, wiener = told.shows("Spleeter: a duration"), told.shows("Spleeter: its filter")
    what = (
        "the spectrograms of the whole track and of each stem, which Spleeter holds at once, about"
        f" {_MINUTE >> 20} MiB a minute each"
    )
    if length and (match := _DURATION.search(length.text)):
        seconds = int(match["seconds"])
        what += f" ({length.place} lets it take {seconds:,} s: {human(_MINUTE * seconds // 60)} each)"
    if wiener:
        what += f"; --mwf ({wiener.place}) needs several times that"
    remedies = (_WITHOUT_THE_FILTER, _SHORTER_PARTS) if wiener else (_SHORTER_PARTS,)
    return Grower(what, wiener or length or line, remedies, sure=bool(wiener))


def of_stardist(told: Surroundings) -> Grower | None:
    """What comes behind the network, on the CPU, where a method's blocks are not in use already."""
    line = told.shows("applying: StarDist")
    if line is None or told.shows("training"):
        return None
    then = told.shows("StarDist: behind the network")
    when = f"; {then.place} tells of that part" if then and then != line else ""
    what = (
        f"`predict_instances` ({line.place}) finds its objects on the CPU once the network is done: what"
        f" that holds in RAM grows with the volume and with the candidates, and not with the tiles{when}"
    )
    return Grower(what, line, tuple(_of_stardist(told)), sure=True)


def _of_stardist(told: Surroundings) -> Iterator[Remedy]:
    yield _FEWER_CANDIDATES
    yield _BLOCKS_OF_A_VOLUME
    if told.shows("growing in words") or told.shows("kept in words"):
        yield _ONE_PROCESS


def with_a_log(found: Grower, log: Remedy) -> Grower:
    """The same, with how to make sure that the process was ended for memory."""
    return replace(found, remedies=(*found.remedies, log))


def said_of_ram(told: Surroundings) -> Line | None:
    """The line that tells of host RAM, of a process that was killed, or of memory that grows."""
    if (short := told.shows("running short")) and only_killed(short):
        return short
    names = ("host RAM in words", "host RAM named", "killed in words", "growing in words")
    return next(filter(None, map(told.shows, names)), None)
