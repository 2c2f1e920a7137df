"""Which lines tell of one failure: from tellings, dumps, reports and disguises to incidents.

A failure is told in a fixed order: the allocator's dump, then C++ log lines, then Python's exception, perhaps
several times. So a dump waits for the sentence that fits it, a sentence equal to an earlier one is a
retelling, and a new dump after a Python exception begins a new failure.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.compiler import Executable
from tfmemlens.readers.oom.disguises import IndirectFailure
from tfmemlens.readers.oom.dump_figures import Dump
from tfmemlens.readers.oom.report import Block
from tfmemlens.readers.oom.sentence import OomMessage
from tfmemlens.readers.oom.tuning import is_tried
from tfmemlens.units import Size, round_up
from tfmemlens.values import dataclass, field

Part = OomMessage | Dump | Block | Executable | IndirectFailure


@dataclass
class IncidentDraft:
    """One failure while its parts are gathered."""

    tellings: list[OomMessage] = field(default_factory=list)
    dumps: list[Dump] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    executables: list[Executable] = field(default_factory=list)
    disguises: list[IndirectFailure] = field(default_factory=list)
    driver: list[IndirectFailure] = field(default_factory=list)
    rank: str = ""
    order: int = 0

    @property
    def in_python(self) -> bool:
        """Whether the failure has reached Python."""
        return any(telling.in_python for telling in self.tellings) or any(
            part.in_python for part in self.disguises
        )

    @property
    def root(self) -> int | None:
        """Its number among several root errors."""
        return next((telling.root for telling in self.tellings if telling.root is not None), None)

    def fits_but_for_node(self, other: IncidentDraft) -> bool:
        """Whether both failed for a tensor of one type, of one allocator."""
        one, two = self.tellings[0], other.tellings[0] if other.tellings else None
        if two is None or one.shape is None or one.shape != two.shape:
            return False
        return _agree(one.dtype, two.dtype) and _agree(one.allocator, two.allocator)

    def fits(self, telling: OomMessage) -> bool:
        """Whether this telling can speak of the same failure."""
        if not self.tellings:
            return False
        for known in self.tellings:
            if (
                (known.shape != telling.shape and not (telling.cut and telling.shape is None))
                or not _agree(known.dtype, telling.dtype)
                or not _agree(known.allocator, telling.allocator)
            ):
                return False
            if not _agree(known.device, telling.device):
                return False
        nodes = {known.node for known in self.tellings if known.node}
        return telling.node is None or not nodes or telling.node in nodes


def _agree(one: object, other: object) -> bool:
    return one is None or other is None or one == other


class Joiner:
    """Takes the parts of one process's log in order and makes incidents of them."""

    def __init__(self, rank: str = "", log_below: bool = False) -> None:
        self.rank = rank
        self.log_below = log_below
        """Whether what was logged stands below the exception, as pytest shows it."""
        self.drafts: list[IncidentDraft] = []
        self.waiting: list[Dump] = []
        self.driver: list[IndirectFailure] = []

    def take(self, part: Part) -> None:
        """Add the next part."""
        if isinstance(part, OomMessage):
            self._telling(part)
        elif isinstance(part, Dump):
            self._dump(part)
        elif isinstance(part, Block):
            self._block(part)
        elif isinstance(part, Executable):
            self._executable(part)
        else:
            self._disguise(part)

    def _new(self, **parts: list[object]) -> IncidentDraft:
        draft = IncidentDraft(rank=self.rank, order=len(self.drafts), **parts)  # type: ignore[arg-type]
        draft.driver, self.driver = self.driver, []
        self.drafts.append(draft)
        return draft

    def _telling(self, telling: OomMessage) -> None:
        fitting = [dump for dump in self.waiting if _dump_fits(dump, telling)]
        written = [dump for dump in fitting if _is_written_before(dump, telling)]
        fitting = written or fitting
        for draft in reversed(self.drafts):
            if draft.fits(telling) and not (
                draft.in_python and not telling.in_python and (fitting or not self._mid_story(draft))
            ):
                draft.tellings.append(telling)
                self._attach(draft, fitting)
                return
        draft = self._new(tellings=[telling])
        self._attach(draft, fitting)

    def _mid_story(self, draft: IncidentDraft) -> bool:
        """Python tells last; a C++ line after it belongs to the same story only while nothing else came
        between.
        """
        return self.drafts[-1] is draft or self.drafts[-1].tellings[-1:] == []

    def _attach(self, draft: IncidentDraft, dumps: list[Dump]) -> None:
        for dump in dumps:
            self.waiting.remove(dump)
            draft.dumps.append(dump)

    def _dump(self, dump: Dump) -> None:
        last = self.drafts[-1] if self.drafts else None
        if (
            last
            and last.tellings
            and not last.dumps
            and not last.in_python
            and _dump_fits(dump, last.tellings[-1])
            and dump.start is None
        ):
            last.dumps.append(dump)
            return
        self.waiting.append(dump)

    def _block(self, block: Block) -> None:
        candidates = sorted(
            (draft for draft in self.drafts if draft.tellings),
            key=lambda draft: -draft.tellings[-1].line.number,
        )
        for draft in self.drafts:
            if any(known.fingerprint == block.fingerprint for known in draft.blocks):
                return
        for draft in candidates:
            telling = draft.tellings[-1]
            if _agree(telling.allocator, block.allocator) or _agree(telling.device, block.device):
                draft.blocks.append(block)
                return
        if self.drafts and not self.drafts[-1].tellings and self.drafts[-1].blocks:
            self.drafts[-1].blocks.append(block)
        else:
            self._new(blocks=[block])

    def _executable(self, program: Executable) -> None:
        for draft in reversed(self.drafts):
            known = draft.executables
            if known and (_same_program(known[-1], program) or _tried_for(known, program)):
                draft.executables.append(program)
                return
        draft = self._new(executables=[program])
        self._attach(
            draft,
            [
                dump
                for dump in self.waiting
                if dump.size and program.size and _asked_before(dump.size, program)
            ],
        )

    def _disguise(self, part: IndirectFailure) -> None:
        last = self.drafts[-1] if self.drafts else None
        if part.kind is RequestKind.DRIVER and part.what == "driver":
            if last and last.disguises and last.disguises[-1].kind is part.kind and part.size is None:
                last.disguises.append(part)
            else:
                self.driver.append(part)
            return
        for draft in reversed(self.drafts):
            known = draft.disguises[-1] if draft.disguises else None
            if (
                known
                and known.kind is part.kind
                and known.what == part.what
                and all(_agree(getattr(known, name), getattr(part, name)) for name in ("op", "node", "shape"))
            ):
                draft.disguises.append(part)
                return
        draft = self._new(disguises=[part])
        if part.what == "batch" or part.kind in (
            RequestKind.COPY,
            RequestKind.WORKSPACE,
            RequestKind.DRIVER,
            RequestKind.TENSOR,
        ):
            self._attach(draft, [dump for dump in self.waiting if "host" not in (dump.allocator or "")])

    def finish(self) -> list[IncidentDraft]:
        """All failures of this process; dumps and driver errors that nothing followed become their own."""
        for dump in list(self.waiting):
            same = [
                draft
                for draft in self.drafts
                if draft.dumps
                and not draft.tellings
                and not draft.executables
                and not draft.disguises
                and _same_dump(draft.dumps[-1], dump)
            ]
            if not same and any(
                dump.size is not None and known.size == dump.size and known.op == dump.op
                for draft in self.drafts
                for known in draft.dumps
            ):
                same = [draft for draft in self.drafts for known in draft.dumps if known.size == dump.size][
                    -1:
                ]
            same = (
                same
                or [
                    draft
                    for draft in self.drafts
                    if draft.executables
                    and not draft.dumps
                    and all(one.size is None for one in draft.executables)
                ][-1:]
            )
            if not same and dump.size is None and len(self.drafts) == 1 and not self.drafts[0].dumps:
                same = self.drafts  # the head of the dump is missing, and there is but one failure
            if same:
                same[0].dumps.append(dump)
            else:
                self._new(dumps=[dump])
        self.waiting.clear()
        self._dumps_to_their_nodes()
        self._drop_bare_title()
        if self.log_below or len(self.drafts) == 2:
            self._join_log_below()
        if self.driver and not self.drafts:
            self._new(disguises=list(self.driver))
        return self.drafts

    def _dumps_to_their_nodes(self) -> None:
        """Several processes that fail in one log at once: sentences of C++ name no node, so dumps of requests
        of one size gather at the first of their failures. Each goes where its op is told of.
        """
        for bare in self.drafts:
            nodes = {telling.node for telling in bare.tellings if telling.node}
            if bare.dumps or not nodes or not bare.in_python:
                continue
            for other in self.drafts:
                own = {telling.node for telling in other.tellings if telling.node}
                theirs = [dump for dump in other.dumps if dump.op in nodes - own]
                if theirs and len(theirs) < len(other.dumps) and bare.fits_but_for_node(other):
                    other.dumps = [dump for dump in other.dumps if dump not in theirs]
                    bare.dumps = theirs
                    break

    def _drop_bare_title(self) -> None:
        """A heading that names no tensor, above a post that tells what was asked for, tells of that."""
        title, below = next(iter(self.drafts), None), self.drafts[1:]
        if title is None or not _is_bare_title(title):
            return
        if title.disguises:  # no dump above it is its own
            below = [each for each in below if begins(each) > title.disguises[0].line.number]
        if any(map(_says_more, below)):
            del self.drafts[0]

    def _join_log_below(self) -> None:
        """An exception without a log, then the log of the same failure without an exception: so pytest shows
        them, and so does who pastes the traceback first. In a process's own order the log comes first.
        """
        for above, below in zip(self.drafts, self.drafts[1:], strict=False):
            told_alone = not above.dumps and above.tellings and all(each.in_python for each in above.tellings)
            if told_alone and below.dumps and _is_log_of(above, below):
                above.tellings += below.tellings
                above.dumps, above.blocks = below.dumps, above.blocks + below.blocks
                self.drafts.remove(below)
                return
            if _is_copy_of(above, below):
                above.dumps, above.driver = below.dumps, above.driver + below.driver
                self.drafts.remove(below)
                return


_HEAD = 4
"""Lines of which a heading may be the last."""


def is_title(line: Line) -> bool:
    """Whether a line is the heading of a post, which tells in short what the text below it quotes; where it
    was written, and its labels, may stand above it.
    """
    return line.number <= _HEAD and line.text.startswith("# ")


_OF_A_LOG = regex(
    r"\s|\d{4}[-/.]|[\[({<>|$%]|[IWEF] ?(?:\d{4} |\S+/)"
    r"|(?:[\w.]{1,80}\.)?\w{1,60}(?:Error|Exception|Killed)\b"
    r"|Killed\b"
    r"|[A-Z]+_[A-Z_]+\b|(?i:resource exhausted|error|fatal|failed|out of memory)\b"
)
"""How the first line of a log, of a traceback or of a message begins."""
_LABEL = regex(r"\s*(?:\[(?i:bug|issue|question|help|usage|performance|support|feature request)\][:\s-]*)+")
"""What trackers put before a heading: `[Bug]: `."""


def heads_the_text(line: Line) -> bool:
    """Whether a line is the heading of a post, with its mark or without: the first line of all, and prose."""
    said = _LABEL.sub("", line.text, count=1)
    first = line.number == 1 and " " in said and not _OF_A_LOG.match(said)
    return is_title(line) or first


def _is_bare_title(draft: IncidentDraft) -> bool:
    """Whether the first line alone tells of a failure, and neither tensor nor node nor allocator. (The marks
    before a message are no part of its line.)
    """
    if draft.dumps or draft.blocks or draft.executables:
        return False
    if draft.disguises:
        alone = not draft.tellings and not any(part.op or part.node or part.shape for part in draft.disguises)
        return alone and all(is_title(part.line) or part.line.number <= 1 for part in draft.disguises)
    return bool(draft.tellings) and all(
        (is_title(telling.line) or telling.line.number <= 1)
        and not (telling.shape or telling.node or telling.allocator)
        for telling in draft.tellings
    )


def begins(draft: IncidentDraft) -> int:
    """The number of the first line that tells of a failure."""
    parts: list[Part] = [*draft.tellings, *draft.dumps, *draft.executables, *draft.disguises]
    return min((first_line(part).number for part in parts), default=0)


def _says_more(draft: IncidentDraft) -> bool:
    """Whether a failure has a tensor, a size or figures."""
    return bool(draft.dumps or draft.executables) or any(
        telling.shape is not None or telling.node for telling in draft.tellings
    )


def _is_log_of(above: IncidentDraft, below: IncidentDraft) -> bool:
    """Whether what was logged, and told by no exception, can be of the failure that an exception tells."""
    if below.executables or below.disguises or any(telling.in_python for telling in below.tellings):
        return False
    if below.tellings:
        return all(map(above.fits, below.tellings))
    dump, telling = below.dumps[0], above.tellings[0]
    return dump.size is not None and telling.shape is not None and _dump_fits(dump, telling)


def _is_copy_of(above: IncidentDraft, below: IncidentDraft) -> bool:
    """Whether an exception says that a copy failed, and the log below it for which op no room was found, and
    nothing else: `in order to run _EagerConst`, `requested by op _EagerConst`.
    """
    told = below.tellings or below.disguises or below.executables or below.blocks
    if told or above.tellings or above.dumps or not above.disguises:
        return False
    ops = {part.op or part.node for part in above.disguises}
    copied = all(part.kind is RequestKind.COPY and part.in_python for part in above.disguises)
    return copied and None not in ops and {dump.op for dump in below.dumps} == ops


def _dump_fits(dump: Dump, telling: OomMessage) -> bool:
    """Whether a dump can be about the request of a sentence: same allocator, same size."""
    if not _agree(dump.allocator, telling.allocator):
        return False
    need = tensor_bytes(telling.shape, telling.dtype)
    if dump.size is None or need is None:
        return dump.op is None or telling.node is None or dump.op == telling.node or dump.size is None
    return dump.size.may_be(round_up(need)) or dump.size.may_be(need)


def _is_written_before(dump: Dump, telling: OomMessage) -> bool:
    """Whether a dump had ended where a sentence stands: one into which another thread's sentence was written
    is of a failure that is told further down.
    """
    ends = [line for _, line in dump.stats.values()] or ([dump.total[1]] if dump.total else [])
    return all(each.source != telling.line.source or each.number < telling.line.number for each in ends)


def _same_dump(one: Dump, other: Dump) -> bool:
    return one.size == other.size and one.allocator == other.allocator and one.op == other.op


def _same_program(one: Executable, other: Executable) -> bool:
    if one.kind is not other.kind or not _agree(one.name, other.name):
        return False
    return one.size is None or other.size is None or _overlap(one.size, other.size)


def _tried_for(known: Sequence[Executable], program: Executable) -> bool:
    """Whether all that was refused so far were kernels that XLA tried, for arrays and scratch of any size,
    and this is one more, or the exception that tells of them.
    """
    alike = known[-1].kind is program.kind and _agree(known[-1].name, program.name)
    tried = all(is_tried(line) for each in known for line in each.tellings)
    return alike and tried and (program.tuned is not None or is_tried(program.line))


def _is_request_of(asked: Size, needed: Size) -> bool:
    """Whether an allocator was asked for a program's arena: the same, or rounded up to its alignment."""
    return _overlap(asked, needed) or asked.may_be(round_up(needed.bytes))


def _asked_before(asked: Size, program: Executable) -> bool:
    """Whether an allocator was asked for the same: the program's arena, or the array of a kernel that XLA
    tried for it, without guards around it.
    """
    assert program.size
    array = program.tuned and asked.may_be(round_up(program.tuned.bytes))
    return _is_request_of(asked, program.size) or bool(array)


def _overlap(one: Size, other: Size) -> bool:
    return one.low <= other.high and other.low <= one.high


def first_line(part: Part) -> Line:
    """Where a part begins."""
    if isinstance(part, Dump | Block):
        return part.first
    return part.line
