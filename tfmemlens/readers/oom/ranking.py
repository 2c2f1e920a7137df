"""Which failure matters most, and which are one failure on several ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tfmemlens.model.incident import Incident, RequestKind
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.same_failure import IncidentDraft, begins, heads_the_text
from tfmemlens.values import replace


def _by_one_writer(_number: int) -> bool:
    return False


def order(
    incidents: list[tuple[Incident, IncidentDraft]],
    another_wrote: Callable[[int], bool] = _by_one_writer,
) -> list[Incident]:
    """The fatal failure first: the last story that reached Python, in it the first root error; the others in
    the order of the log; accounts of programs that did not fail last. What others than a thread's first
    writer quote of runs of their own comes behind a failure of the first writer's that has a size.
    """
    accounts = [incident for incident, _ in incidents if incident.request.kind is RequestKind.PROGRAM]
    incidents = [each for each in incidents if each[0].request.kind is not RequestKind.PROGRAM]
    of_others = [each for each in incidents if another_wrote(begins(each[1]))]
    own = [each for each in incidents if each not in of_others]
    if not of_others or not any(has_a_size(incident) for incident, _ in own):
        return [*_ordered(incidents), *accounts]
    theirs = [replace(incident, fatal=True) for incident, _ in of_others]
    return [*_ordered(own), *theirs, *accounts]


def has_a_size(incident: Incident) -> bool:
    """Whether a failure says what was asked for."""
    return incident.request.shape is not None or incident.request.size is not None


def _ordered(incidents: list[tuple[Incident, IncidentDraft]]) -> list[Incident]:
    if not incidents:
        return []
    reached = [
        index
        for index, (_, draft) in enumerate(incidents)
        if draft.in_python and not (_is_title(draft) and any(other.dumps for _, other in incidents))
    ]
    roots = [index for index in reached if incidents[index][1].root == 0]
    last = _first_of_workers(incidents, roots or reached)
    fatal = last[0] if last else _last_story(incidents)
    first = replace(incidents[fatal][0], fatal=True)
    rest = [
        replace(incident, fatal=bool(draft.root) or index > fatal)
        for index, (incident, draft) in enumerate(incidents)
        if index != fatal
    ]
    return [first, *rest]


_TASK = regex(r"/job:(?!localhost)\w{1,30}/replica:\d{1,4}/task:\d{1,6}")


def _first_of_workers(incidents: list[tuple[Incident, IncidentDraft]], alike: list[int]) -> list[int]:
    """Of failures that say as much: the last of one process, and of several workers the first, which takes
    the others with it.
    """
    tasks = {match[0] for index in alike if (match := _TASK.search(incidents[index][0].request.device or ""))}
    return alike[:1] if len(tasks) > 1 else alike[-1:]


def _is_title(draft: IncidentDraft) -> bool:
    """Whether only the heading of a post tells of a failure: the log below it says more, of this one or the
    next.
    """
    alone = bool(draft.tellings) and not draft.dumps
    return alone and all(heads_the_text(each.line) for each in draft.tellings)


def _last_story(incidents: list[tuple[Incident, IncidentDraft]]) -> int:
    """Without an exception the best explained failure is the one to show: with a sentence, else with a dump;
    the last of these. A heading of XLA's goes behind a log that is of pinned host RAM alone.
    """
    of_host = _is_of_pinned_ram([draft for _, draft in incidents])
    told = [
        (
            not (of_host and _is_heading_of_xla(draft)),
            bool(draft.tellings),
            bool(draft.executables),
            bool(draft.disguises),
        )
        for _, draft in incidents
    ]
    return _first_of_workers(incidents, [index for index, each in enumerate(told) if each == max(told)])[0]


def _is_heading_of_xla(draft: IncidentDraft) -> bool:
    """Whether only the heading of a post says that XLA got no memory, and not which."""
    if draft.dumps or draft.tellings or draft.disguises or len(draft.executables) != 1:
        return False
    program = draft.executables[0]
    return heads_the_text(program.line) and not (program.buffers or program.sections or program.allocator)


def _is_of_pinned_ram(drafts: list[IncidentDraft]) -> bool:
    """Whether the driver refused to pin host RAM, and no line is of the device's memory."""
    disguises = [part for draft in drafts for part in draft.disguises]
    refused = any(part.what == "host" and "on host" in part.line.text for part in disguises)
    pools = [dump.allocator or "" for draft in drafts for dump in draft.dumps]
    of_device = any("host" not in pool for pool in pools) or any(draft.driver for draft in drafts)
    return refused and not of_device and all(part.kind is RequestKind.HOST for part in disguises)


def merge_ranks(incidents: list[tuple[Incident, IncidentDraft]]) -> list[tuple[Incident, IncidentDraft]]:
    """The same request on several ranks is one failure with a count, whichever op of each asked for a tensor
    of the shape; each rank calls its device GPU:0.
    """
    merged: dict[tuple[object, ...], int] = {}
    times: Counter[tuple[object, ...]] = Counter()
    result: list[tuple[Incident, IncidentDraft]] = []
    for incident, draft in incidents:
        of_any_op = draft.rank and incident.request.shape
        request = (
            None if of_any_op else incident.request.node,
            incident.request.shape,
            incident.request.dtype,
            incident.request.kind,
            incident.request.allocator,
        )
        of_rank = (draft.rank, *request)
        times[of_rank] += 1
        key = (times[of_rank], *request)
        index = merged.get(key)
        if index is None or not draft.rank:
            merged.setdefault(key, len(result))
            result.append((incident, draft))
            continue
        known, first = result[index]
        if _is_heading_of_ranks(known, first):
            result[index] = (incident, draft)
            continue
        result[index] = (
            replace(
                known, occurrences=known.occurrences + incident.occurrences, ranks=(*known.ranks, draft.rank)
            ),
            first,
        )
    return result


def _is_heading_of_ranks(incident: Incident, draft: IncidentDraft) -> bool:
    """Whether only the heading above a log tells of it, which has no stamp of a rank and no size."""
    first, said_once = incident.first, incident.occurrences == 1
    alone = not draft.rank and incident.request.size is None and said_once
    return alone and first is not None and heads_the_text(first)
