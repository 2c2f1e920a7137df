"""Text in which TensorFlow, Keras, JAX or XLA says that memory ran out: logs, pasted messages, notebook
outputs.

Families of lines take what is theirs (readers/oom/*); the joiner then finds out which of them tell of one
failure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from tfmemlens.knowledge.kill_words import is_a_guess, names_memory
from tfmemlens.model.capture import (
    PYTORCH_ALONE,
    Capture,
    DeviceInfo,
    Hints,
    Holds,
    HostUse,
    Progress,
    Source,
    Surroundings,
)
from tfmemlens.model.incident import Incident, RequestKind
from tfmemlens.model.line import UNREAD, Line, ReadNote
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex
from tfmemlens.readers.bytes import own_pages, regions, texts
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.readers.oom import frameworks
from tfmemlens.readers.oom.attention import Attention
from tfmemlens.readers.oom.cleaning import Cleaned, Physical, clean, is_escaped_bytes
from tfmemlens.readers.oom.compiler import CompilerCollector
from tfmemlens.readers.oom.context import Context
from tfmemlens.readers.oom.device_stats import DeviceStatsCollector
from tfmemlens.readers.oom.disguises import (
    BARE,
    IndirectFailure,
    IndirectFailureCollector,
    bare_exception,
    nothing_asked,
)
from tfmemlens.readers.oom.dump import COLLAPSED, DumpCollector
from tfmemlens.readers.oom.eras import era_of, logged_in
from tfmemlens.readers.oom.going_on import LOGGING_ON, is_below, logs_on, refusals
from tfmemlens.readers.oom.host_figures import HostFigures
from tfmemlens.readers.oom.host_rise import HostRise
from tfmemlens.readers.oom.incidents import incident, version_text
from tfmemlens.readers.oom.last_errors import ENDS, LastErrors
from tfmemlens.readers.oom.line_profile import LineProfile
from tfmemlens.readers.oom.named_devices import named
from tfmemlens.readers.oom.other_failures import BY_A_SUPERVISOR, CUDNN_VERSION, OF_A_KERNEL
from tfmemlens.readers.oom.ranking import has_a_size, merge_ranks, order
from tfmemlens.readers.oom.repeats import Repeats
from tfmemlens.readers.oom.report import ReportCollector, is_of_a_list
from tfmemlens.readers.oom.rules import FIRST, LAST, Era, narrow
from tfmemlens.readers.oom.run import RunCollector
from tfmemlens.readers.oom.same_failure import IncidentDraft, Joiner, Part, begins, first_line, is_title
from tfmemlens.readers.oom.sentence import RAISED, OomMessage, SentenceCollector, Standing
from tfmemlens.readers.oom.size_rows import Found, SizeRows
from tfmemlens.readers.oom.surroundings import SurroundingsCollector
from tfmemlens.readers.oom.told_tensor import told_tensor
from tfmemlens.readers.oom.wraps import LOST
from tfmemlens.values import replace

HOLDS = Holds.FAILURES
SHARED = True
SUFFIXES = (".log", ".txt")
COMPANIONS = (".py", ".pyc", ".png", ".npy", ".npz")
_SUSPECT = ("OOM", "ut of memory", "allocat", "RESOURCE_EXHAUSTED", "esource exhausted", "bfc_allocator")
_PICKER = "algorithm_picker"
"""The file in which XLA tries algorithms: one that finds no room fails nothing."""
_MAX_NOTES = 20
_PROSE = regex(
    r"\b(?:I|I'm|I've|my|we|our|you|your|anyone|please|thanks|somebody|why|how (?:can|do|to)|is this"
    r"|ich|mein\w?|nicht|und|mi|pero|mais|mon)\b|\?(?:\s*\Z|\?)|!!|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
    r"|allocations_upon_oom ?=",
    re.IGNORECASE,
)
"""Words of people who ask, in no message of a program's."""


def sniff(sample: Sample) -> Confidence:
    """A text says that memory ran out; any other text may say it in other words."""
    if sample.mentions(*regions.LITERALS):
        return Confidence.LIKELY
    return Confidence.FALLBACK if sample.is_text else Confidence.NO


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The failures that a text tells of; of a big one, those in the places that speak of memory."""
    del hints
    lines, whole = texts.text_lines(opened)
    capture = read_lines(lines, opened.path, opened.label)
    if not capture.incidents and own_pages.is_html(opened.head(4096)):
        page = ReadNote(
            f"{opened.path} is a web page, not the file behind its link: download it with the site's button"
            " for raw files"
        )
        capture = replace(capture, notes=(page, *capture.notes))
    if whole:
        return capture
    if opened.parts:
        return replace(capture, source=replace(capture.source, by_bytes=True))
    note = ReadNote(
        f"of {opened.size >> 20} MiB only the places with memory messages were parsed; lines are given by"
        " their byte position"
    )
    source = replace(capture.source, by_bytes=True)
    return replace(capture, source=source, notes=(*capture.notes, note))


def read_lines(lines: Iterable[Physical], path: str = "-", source: str = "") -> Capture:
    """The failures that the lines tell of; `lines` are (number, text) as they stand in the file."""
    streams: dict[str, _Stream] = {}
    for cleaned in clean(lines, source):
        stream = streams.get(cleaned.rank)
        if stream is None:
            stream = streams[cleaned.rank] = _Stream(cleaned.rank)
        stream.take(cleaned)
        if not cleaned.rank and len(streams) > 1 and COLLAPSED.search(cleaned.line.text):
            for other in streams.values():  # who left lines out wrote no process before the mark
                other.dumps.offer(cleaned.line)
                other.report.offer(cleaned.line)
    for stream in streams.values():
        stream.take_held()
    return _capture(list(streams.values()), path)


class _Stream:
    """The lines of one process."""

    def __init__(self, rank: str) -> None:
        self.rank = rank
        self.dumps = DumpCollector()
        self.report = ReportCollector()
        self.sentences = SentenceCollector()
        self.compiler = CompilerCollector()
        self.disguises = IndirectFailureCollector()
        self.stats = DeviceStatsCollector()
        self.surroundings = SurroundingsCollector()
        self.run = RunCollector()
        self.host = HostFigures()
        self.rise = HostRise()
        self.profile = LineProfile()
        self.rows = SizeRows()
        self.named: list[DeviceInfo] = []
        self.logged: Era | None = None
        """What could log when it did, by the clock of TensorFlow's own logger."""
        self.notes: list[ReadNote] = []
        self.unread = 0
        self.log_below = False
        """Whether pytest tells what was logged, which it does below the exception."""
        self.attention = Attention()
        self.ends = LastErrors()
        self.repeats = Repeats()
        self.logged_on: Line | None = None
        """The last line that a later stage of the run logged."""
        self.gaps: list[Line] = []
        """Lines that lost letters on their way."""
        self.mentions: Counter[str] = Counter()
        """How often lines outside the dump name a framework other than TensorFlow."""
        self.origins: set[str] = set()
        self.bare: IndirectFailure | None = None
        self.nothing: IndirectFailure | None = None
        self.above_bare: Standing | None = None
        """The first line that names the exception, for pastes without its message."""
        self.worded: OomMessage | None = None
        """The first line of prose that names the tensor, for texts that quote no message."""
        self._families = (
            self.dumps,
            self.compiler,
            self.disguises,
            self.sentences,
            self.report,
            self.stats,
            self.surroundings,
        )

    def take(self, cleaned: Cleaned) -> None:
        """Read the line, unless it is one of very many that tell of progress."""
        if not cleaned.line.text.strip() or _SIGNED.match(cleaned.line.text):
            self.sentences.blank()
            self.run.quoted.blank()
        elif not self.repeats.holds(cleaned):
            self.take_held()
            self._take(cleaned)

    def take_held(self) -> None:
        """Read what was held back: another line follows, or none."""
        for cleaned in self.repeats.released():
            self._take(cleaned)

    def _take(self, cleaned: Cleaned) -> None:
        """Offer the line to each family; what concerns memory and nobody takes is noted."""
        line = cleaned.line
        self.profile.observe(line)
        table = self.rise.in_table
        if table:
            self.rise.observe(line)
        if self.attention.passes(line.text) or is_escaped_bytes(line.text):
            return
        if "- Captured " in line.text:
            self.log_below = True
        if LOST in line.text:
            self.gaps.append(line)
        self.sentences.origin = self.dumps.origin = cleaned.origin
        self.dumps.at = cleaned.at
        if cleaned.origin and cleaned.origin not in self.origins:
            self.origins.add(cleaned.origin)
            self.sentences.era = narrow(self.sentences.era, era_of(cleaned.origin))
            self.surroundings.logged_by(cleaned.origin, line)
        if cleaned.month:
            self.logged = logged_in(cleaned.month)
        if framework := frameworks.mention(line.text):
            self.mentions[framework] += 1
        if _PICKER in cleaned.origin and any(word in line.text for word in _SUSPECT):
            self.surroundings.tried(line)
            return
        raised = RAISED.match(line.text) is not None
        code = self.sentences.quotes_code and not raised
        if raised:
            self.surroundings.raised = line
        if not (code or "bfc_allocator" in cleaned.origin) and self.surroundings.not_ours(line):
            return
        if not cleaned.origin:
            self.run.observe(line)
            self.rows.observe(line)
            self.host.observe(line)
            if not is_of_a_list(line.text):
                self.surroundings.read_prose(line)
            if device := named(line):
                self.named.append(device)
        self.run.observe_any(line)
        if logs_on(line.text, cleaned.origin):
            self.logged_on = line
        if not table:
            self.rise.observe(line)
        bare = bare_exception(line) if self.bare is None or "Traceback" in self.bare.line.text else None
        self.nothing = self.nothing or nothing_asked(line)
        if bare:
            self.bare, self.above_bare = bare, self.sentences.standing()
        if not (cleaned.origin or code):
            self.worded = self.worded or told_tensor(line)
        for family in self._families:
            if not (code and family is self.disguises) and family.offer(line):
                self._place(family, line)
                if family is not self.dumps and family is not self.report:
                    self.surroundings.notice(line)
                return
        self.surroundings.notice(line)
        if not code:
            self.ends.observe(line)
        suspect = any(word in line.text for word in _SUSPECT) and not _PROSE.search(line.text)
        if "bfc_allocator" in cleaned.origin or suspect:
            self._note(line)

    def _place(self, family: object, line: Line) -> None:
        """Let a message that another family recognised have what stands around it."""
        told: Context | None = None
        if family is self.disguises and not self.disguises.finished[-1].alone:
            told = self.disguises.finished[-1]
        elif family is self.compiler and (program := self.compiler.finished[-1:]):
            told = program[0].context if program[0].begins_at(line) else None
        elif family is self.sentences and self.report.block and "OOM when allocating" in line.text:
            self.report.finish()
        if told:
            self.sentences.begin(told)
            self.sentences.tags(line.text)

    def _note(self, line: Line) -> None:
        self.unread += 1
        if len(self.notes) < _MAX_NOTES:
            self.notes.append(ReadNote(UNREAD, line))

    def unread_rows(self) -> list[ReadNote]:
        """How many rows of which kind could not be read, with the first of them."""
        damaged = [line for dump in self.dumps.finished for line in dump.damaged]
        overrun = [*self.report.overrun, *(line for dump in self.dumps.finished for line in dump.overrun)]
        lost = (
            (self.report.unread, "of the list of tensors could not be read"),
            (damaged, "of the dump's summary contradict themselves (digits are missing) and were not read"),
            (overrun, "with a size that cannot be true (a 64-bit counter that ran over) not used"),
            (self.gaps, "lost characters where they were broken: what stands there was not read"),
        )
        return [
            ReadNote(f"{len(lines)} {'row' if len(lines) == 1 else 'rows'} {what}", lines[0])
            for lines, what in lost
            if lines
        ]

    def drafts(self) -> list[IncidentDraft]:
        """The failures of this process."""
        self.dumps.settle()
        self.report.finish()
        failed = [dump.start for dump in self.dumps.finished if dump.start]
        short = "running short" in self.surroundings.purposes and not (
            self.sentences.finished or self.disguises.finished or failed
        )
        self.compiler.finish(failed[-1] if failed else None, short)
        if CUDNN_VERSION in self.surroundings.elsewhere:
            self.disguises.drop_unexplained_libraries()
        self.disguises.drop_calls_that_ended()
        self.disguises.drop_cut_titles()
        self._drop_ended_title()
        self._drop_title_of_another()
        joiner = Joiner(self.rank, self.log_below)
        if not (
            self.sentences.finished
            or self.disguises.finished
            or self.dumps.finished
            or self.compiler.finished
            or self.report.finished
        ):
            self._told_without_message()
        parts: list[Part] = [
            *self.dumps.finished,
            *self.sentences.finished,
            *self.report.finished,
            *self.compiler.finished,
            *self.disguises.finished,
        ]
        for part in sorted(
            parts, key=lambda part: (first_line(part).number, _RANK_OF_PART[type(part).__name__])
        ):
            joiner.take(part)
        drafts = [draft for draft in joiner.finish() if not self._went_on_without(draft)]
        reasons = BY_A_SUPERVISOR & set(self.surroundings.elsewhere)
        if not reasons:
            return drafts
        others = [draft for draft in drafts if not _only_ended(draft)]
        told = filter(None, map(self.surroundings.purposes.get, _OF_MEMORY))
        if others or any(_of_memory(line.text) for line in told):
            for reason in reasons:
                del self.surroundings.elsewhere[reason]  # as likely for lack of memory: it swaps, and is slow
            return drafts
        self.disguises.finished.clear()
        return []

    def _drop_ended_title(self) -> None:
        """Forget the heading's failure where words say that it was ended, and what is left stands below."""
        left = self.surroundings.contrasts.left
        parts: list[Part] = [*self.sentences.finished, *self.disguises.finished]
        if left and any(first_line(part).number > left.number for part in parts):
            known = self.disguises.finished
            self.disguises.finished = [part for part in known if not is_title(part.line)]

    def _drop_title_of_another(self) -> None:
        """Forget the heading's failure where the message below it is another library's."""
        known = self.disguises.finished
        if self.surroundings.foreign and known and all(is_title(part.line) for part in known):
            known.clear()

    def _told_without_message(self) -> None:
        """Take what stands for a message where there is none: a tensor in words, the exception's name."""
        elsewhere = self.surroundings.foreign or self.surroundings.elsewhere
        if self.worded and not (elsewhere or self.mentions[frameworks.JAX]):
            self.sentences.begin(self.worded)
            self.sentences.finished.append(self.worded)
        elif self.nothing and not (elsewhere or self._went_on(self.nothing.line)):
            self.disguises.finished.append(self.nothing)
        elif self.bare and not self._told_elsewhere(self.bare):
            again = self.sentences.standing().owner == "before"
            if again and self.above_bare and self.above_bare.frames:
                self.sentences.stand(self.above_bare)
            self.sentences.begin(self.bare)
            self.disguises.finished.append(self.bare)

    def _went_on(self, line: Line) -> bool:
        """Whether steps were done after the line."""
        return any(each.line.number > line.number for each in self.run.progress)

    def _told_elsewhere(self, bare: IndirectFailure) -> bool:
        """Whether something else failed, where the exception's name says nothing: a traceback is of that, and
        a line of the same status names what ran out.
        """
        told = self.surroundings
        if "Traceback" in bare.line.text and (told.foreign or told.elsewhere):
            return True
        return any(BARE.search(line.text) for line in told.elsewhere.values())

    def _went_on_without(self, draft: IncidentDraft) -> bool:
        """Whether all that the draft tells are refusals below which the run goes on, or a kernel's failure
        ended it: then nothing failed there.
        """
        refused = refusals(draft)
        if not refused:
            return False
        told = self.surroundings
        if told.tried_algorithms and any(part.what == "driver" for part in refused):
            return True  # for an algorithm that XLA tried, and it goes on with others
        printed = told.purposes.get("jax: a printed result")
        went_on = [*(line for _, line in told.steps), *(each.line for each in _progress(self))]
        logged = None if any(map(told.purposes.get, _OF_MEMORY)) else self.logged_on
        went_on += [line for line in (printed, logged) if line]
        if not (is_below(refused, went_on) or OF_A_KERNEL & set(told.elsewhere)):
            return False
        told.refusals += [(part.size, part.line) for part in refused if part.size]
        if logged:
            told.purposes[LOGGING_ON] = logged
        return True


def _progress(stream: _Stream) -> tuple[Progress, ...]:
    """How far its run had come; the bars of a command that builds an image count no steps."""
    return () if "building an image" in stream.surroundings.purposes else tuple(stream.run.progress)


_SIGNED = regex(r"\s*(?:>\s*)*Sent from (?:my|Mail|Yahoo|Outlook)\b[^.\n]{0,40}\Z")
"""What a phone puts below a mail tells of no program."""
_OF_MEMORY = ("running short", "growing in words", "much memory in words")
"""What the prose says of memory, by its facts' names."""
_MEMORY = regex(r"(?i)\b(?:memory|RAM|OOM\w*|swap\w*)\b|[GMgm][Ii]?[Bb]\b|\u5185\u5b58|\u663e\u5b58")


def _of_memory(text: str) -> bool:
    """Whether a line that tells of a lack or an end names memory, and is no server's guess."""
    return _MEMORY.search(text) is not None and not is_a_guess(text)


def _only_ended(draft: IncidentDraft) -> bool:
    """Whether it is a process that was ended from outside, by words that name no memory as the reason."""
    parts = draft.disguises
    if draft.tellings or draft.dumps or draft.executables or not parts:
        return False
    return all(part.what == "killed" and not names_memory(part.line.text) for part in parts)


_ON_DEVICES = (RequestKind.XLA, RequestKind.TPU, RequestKind.DUMP)
"""Requests of what JAX's statistics speak of."""
_RANK_OF_PART = {"IndirectFailure": 0, "Dump": 1, "Executable": 2, "OomMessage": 3, "Block": 4}


def _capture(streams: list[_Stream], path: str) -> Capture:
    drafted: list[tuple[Incident, IncidentDraft]] = []
    for stream in streams:
        drafted += [(incident(draft), draft) for draft in stream.drafts()]
    ranks = tuple(stream.rank for stream in streams if stream.rank)
    main = max(streams, key=_told_by, default=None)
    thread = (main or _Stream("")).surroundings
    another_wrote = thread.another_wrote
    if any(has_a_size(each) and not another_wrote(begins(draft)) for each, draft in drafted):
        thread.forget_settings_of_others()
    incidents = _with_statistics(tuple(order(merge_ranks(drafted), another_wrote)), streams)
    host_uses = tuple(use for stream in streams for use in stream.host.found)
    incidents = tuple(_on_its_device(_with_host(each, host_uses), streams) for each in incidents)
    incidents = tuple(_beside_a_host(each, incidents, streams) for each in incidents)
    soft = [warning for stream in streams for warning in stream.dumps.soft]
    notes = tuple(note for stream in streams for note in stream.notes)
    notes += tuple(note for stream in streams for note in stream.unread_rows())
    unread = sum(stream.unread for stream in streams)
    if unread > len(notes):
        notes = (
            *notes,
            ReadNote(f"{unread - len(notes)} more unrecognised memory messages"),
        )
    surroundings = (main or _Stream("")).surroundings
    for stream in streams:
        for what, told in stream.surroundings.harmless.items():
            surroundings.harmless.setdefault(what, told)
        if stream is not main and not stream.rank:
            surroundings.hear(stream.surroundings)
    tags = next((stream.sentences.era for stream in streams if stream.sentences.era != (FIRST, LAST)), None)
    reported = ((1, 5), LAST) if any(stream.report.finished for stream in streams) else None
    logged = next((stream.logged for stream in streams if stream.logged), None)
    version = _version(incidents, surroundings, [era for era in (tags, reported) if era], logged)
    framework = _framework(incidents, streams)
    device_readings, host_readings = _readings(main) if main else ((), ())
    return Capture(
        source=Source(
            path, _formats(streams), framework, None if framework in ("jax", "xla", "torch_xla") else version
        ),
        incidents=incidents,
        surroundings=_with_a_batch_that_ran(
            replace(
                _of_one_framework(surroundings.value(soft, ranks), incidents, streams),
                session=any(stream.sentences.session for stream in streams),
                on_one_device=_on_one_device(streams),
                host_uses=host_uses,
                named_devices=_one_model([device for stream in streams for device in stream.named]),
                commands=tuple(main.run.commands) if main else (),
                progress=_progress(main) if main else (),
                pipeline_buffers=tuple(
                    {what: line for stream in streams for what, line in stream.run.buffers.items()}.items()
                ),
                retraced=next((stream.run.retraced for stream in streams if stream.run.retraced), None),
                made_anew=next((stream.run.made_anew for stream in streams if stream.run.made_anew), None),
                clipping=main.run.clipping if main else None,
                readings=device_readings,
                host_readings=host_readings,
                host_rise=tuple(main.rise.readings) if main else (),
                host_events=tuple(main.rise.events) if main else (),
                profiled=tuple(main.profile.rows) if main else (),
                stages=tuple(main.run.stages) if main else (),
                summary=tuple(main.run.summary) if main else (),
                lengths=tuple(main.run.lengths) if main else (),
                stores=main.run.stores if main else None,
                code=tuple(line for stream in streams for line in stream.run.quoted.code),
                sizes=tuple(size for stream in streams for size in stream.run.quoted.sizes),
                program=_program_of(streams),
                models=main.run.models if main else None,
                alone=main.run.alone if main else None,
                one_tape=main.run.tapes.found if main else None,
                over_time=main.run.tapes.over_time if main else None,
                cells=tuple(main.run.cells) if main else (),
                trial=main.run.trial if main else None,
                ends=_ends(main, streams),
                evaluating=main.run.evaluating if main else None,
            ),
            incidents,
        ),
        notes=notes,
    )


def _ends(main: _Stream | None, streams: Sequence[_Stream]) -> tuple[tuple[str, Line], ...]:
    """Lines that look like an end: of each writer that of the stream which tells most, else of another: what
    a launcher prints has no process before it, and the program's own error has one.
    """
    others = [stream for stream in streams if stream is not main]
    found: dict[str, Line] = {}
    for stream in (main, *others) if main else ():
        for who, line in stream.ends.value():
            found.setdefault(who, line)
    return tuple((who, found[who]) for who in ENDS if who in found)


def _with_a_batch_that_ran(told: Surroundings, incidents: Sequence[Incident]) -> Surroundings:
    """With the batch of an earlier command whose steps went well, where a later one failed with a larger."""
    steps = [each.line.number for each in told.progress if each.step]
    begins = next((each for each in reversed(told.commands) if steps and each.number > steps[-1]), None)
    lines = [line for each in incidents for line in (*each.tellings, each.request.line, each.first) if line]
    failed = [line.number for line in lines]
    if not begins or not failed or min(failed) < begins.number or told.setting("working_batch"):
        return told
    batches = [(value, line) for name, value, line in told.settings if name == "batch_size"]
    stated = [(int(value), line) for value, line in batches if value.isdigit()]
    ran = [(batch, line) for batch, line in stated if line.number < steps[-1]]
    fails = [batch for batch, line in stated if begins.number <= line.number < min(failed)]
    if not ran or not fails or ran[-1][0] >= fails[-1]:
        return told
    batch, line = ran[-1]
    return replace(told, settings=(*told.settings, ("working_batch", str(batch), line)))


def _readings(stream: _Stream) -> Found:
    """What the program printed of memory in use: in known words, else in rows of its own."""
    device = tuple(stream.run.readings) or stream.stats.readings()
    host = tuple(stream.run.host_readings)
    rows = stream.rows.found()
    if len(rows.device or rows.host) > max(len(device), len(host)):
        return rows
    return Found(device, host)


def _told_by(stream: _Stream) -> tuple[int, int]:
    """How much of a failure a process tells: of memory, else of any other kind. Words round a log, which lack
    the stamp of its lines, tell nothing of one.
    """
    told = stream.surroundings
    others = (told.elsewhere, told.foreign, told.without_figures, told.startup, told.crash, told.kernel_died)
    programs = sum(1 for program in stream.compiler.finished if program.size or program.buffers)
    return len(stream.sentences.finished) + programs, sum(1 for other in others if other)


def _program_of(streams: list[_Stream]) -> Callable[[], Program]:
    """What reads the quoted program when a rule asks; nothing does where no line looks like code."""
    if not any(stream.run.quoted.code for stream in streams):
        return Program
    return partial(_program, tuple(line for stream in streams for line in stream.run.quoted.text))


def _program(lines: tuple[Line, ...]) -> Program:
    from tfmemlens.readers.program import read_program

    return read_program(lines)


def _on_one_device(streams: list[_Stream]) -> tuple[tuple[str, DeviceInfo], ...]:
    """The processes that made the same card their first GPU, the most of them."""
    of_bus: dict[str, list[tuple[str, DeviceInfo]]] = {}
    for stream in streams:
        for device in stream.surroundings.devices.values():
            if stream.rank and device.bus and device.name.upper().endswith("GPU:0"):
                of_bus.setdefault(device.bus, []).append((stream.rank, device))
    most = max(of_bus.values(), key=len, default=[])
    return tuple(most) if len(most) > 1 else ()


def _with_statistics(incidents: tuple[Incident, ...], streams: list[_Stream]) -> tuple[Incident, ...]:
    """The failures with the limit that the program printed of its device; without any, the last statistics as
    an account of their own.
    """
    printed = [stats for stream in streams for stats in stream.stats.finished]
    if not printed:
        return incidents
    if not incidents:
        return (printed[-1].incident(),)
    state = printed[-1].state()
    limit = tuple(figure for figure in state.lines if figure[0] == "limit")
    return tuple(
        replace(each, state=replace(each.state, limit=state.limit, lines=(*each.state.lines, *limit)))
        if each.state.limit is None and each.request.kind in _ON_DEVICES
        else each
        for each in incidents
    )


def _with_host(incident: Incident, uses: tuple[HostUse, ...]) -> Incident:
    """A failure of the host's RAM with what a tool printed last of it, where its own message states none."""
    last = next((use for use in reversed(uses) if use.total), None)
    state = incident.state
    if incident.request.kind is not RequestKind.HOST or last is None or state.limit:
        return incident
    lines = (*state.lines, ("limit", last.line))
    in_use = state.in_use
    if in_use is None:
        in_use, lines = last.used, (*lines, ("in_use", last.line))
    return replace(incident, state=replace(state, limit=last.total, in_use=in_use, lines=lines))


def _on_its_device(incident: Incident, streams: list[_Stream]) -> Incident:
    """A failure whose message has a device's number alone, where the text says that the device is a TPU, or
    that there is no GPU.
    """
    request = incident.request
    told = {what: line for stream in streams for what, line in stream.surroundings.purposes.items()}
    if request.kind in _OF_A_POOL and _is_pool_of_the_host(incident, told):
        named = _OF_THE_HOST.search(told[_NAMED].text) if _NAMED in told else None
        return replace(incident, request=replace(request, allocator=named[0] if named else _HOST_POOL))
    if (pool := _POOL_OF_A_GPU.match(request.allocator or "")) and "CPU" in (request.device or ""):
        # newer clients of GPUs say it in words that once were the CPU's alone
        device = f"/device:GPU:{pool['number']}"
        return replace(incident, request=replace(request, device=device, kind=RequestKind.XLA))
    if not any(stream.named for stream in streams) and _is_of_a_host(incident, told):
        return replace(incident, request=replace(request, device="/device:CPU:0", kind=RequestKind.HOST))
    numbered = request.kind is RequestKind.XLA and request.allocator is None
    if not numbered or not (request.device or "").startswith("/device:GPU:"):
        return incident
    if "without a GPU" in told:
        return replace(incident, request=replace(request, device="/device:CPU:0", kind=RequestKind.HOST))
    if "on a TPU" not in told:
        return incident
    if any(_STREAM_EXECUTOR in origin for stream in streams for origin in stream.origins):
        return replace(incident, request=replace(request, device=None))  # of a GPU's or the CPU's client
    device = (request.device or "").replace("GPU", "TPU")
    return replace(incident, request=replace(request, device=device))


def _beside_a_host(incident: Incident, incidents: tuple[Incident, ...], streams: list[_Stream]) -> Incident:
    """A tensor's message without a device, where the text has a failure of the host's RAM beside it,
    names RAM, and knows of no GPU.
    """
    request = incident.request
    bare = request.kind is RequestKind.TENSOR and request.allocator is None and request.device is None
    told = {what for stream in streams for what in stream.surroundings.purposes}
    of_a_gpu = any(stream.named or stream.surroundings.devices for stream in streams)
    if not bare or of_a_gpu or "host RAM named" not in told or told & {*_ACCELERATED, _OF_A_DEVICE}:
        return incident
    if not any(each.request.kind is RequestKind.HOST for each in incidents):
        return incident
    return replace(incident, request=replace(request, device="/device:CPU:0"))


def _is_of_a_host(incident: Incident, told: Mapping[str, Line]) -> bool:
    """Whether a message of XLA's that names no device is of a machine that has no GPU, as the text says."""
    request = incident.request
    bare = request.kind is RequestKind.XLA and request.allocator is None and request.device is None
    line = told.get("without a GPU") if bare else None
    return line is not None and not _CARD.search(line.text) and not any(map(told.get, _ACCELERATED))


_CARD = regex(r"\b(?:[ABHLPTV]\d{1,4}|K[248]0|[GR]TX ?\w{1,6}|MI\d{2,3}X?)\b")


_ACCELERATED = (
    "on a TPU",
    "a GPU named",
    "GPU memory named",
    "fails on the GPU alone",
    "device memory in words",
)
"""What leaves open which device it is, whatever else is said of the CPU."""
_POOL_OF_A_GPU = regex(r"GPU_(?P<number>\d{1,3})_bfc\Z")
_STREAM_EXECUTOR = "pjrt_stream_executor_client"
_OF_THE_HOST = regex(r"\b(?:cuda|gpu)_host_bfc\b")
_NAMED, _OF_A_DEVICE = "naming the host's pool", "naming a device's pool"
_OF_A_POOL = (RequestKind.DUMP, RequestKind.TENSOR)
_HOST_POOL, _ITS_LIMIT = "gpu_host_bfc", 1 << 36
"""What TensorFlow gives its pool of pinned host memory at most, and no device has just so much."""


def _is_pool_of_the_host(incident: Incident, told: Mapping[str, Line]) -> bool:
    """Whether a failure without an allocator is of pinned host memory, by the text's words or its limit."""
    request = incident.request
    if request.allocator is not None or "GPU" in (request.device or "") or _OF_A_DEVICE in told:
        return False
    limit = incident.state.limit
    return _NAMED in told or (limit is not None and limit.bytes == _ITS_LIMIT)


def _one_model(named_devices: list[DeviceInfo]) -> tuple[DeviceInfo, ...]:
    """The device that the text names, unless it names several."""
    amounts = {device.total for device in named_devices}
    return (named_devices[0],) if len(amounts) == 1 else ()


def _formats(streams: list[_Stream]) -> tuple[str, ...]:
    kinds = {program.kind for stream in streams for program in stream.compiler.finished}
    present_of = {
        "oom-sentence": any(not told.in_words for stream in streams for told in stream.sentences.finished),
        "oom-in-words": any(told.in_words for stream in streams for told in stream.sentences.finished),
        "oom-report": any(stream.report.finished for stream in streams),
        "bfc-dump": any(dump.told for stream in streams for dump in stream.dumps.finished),
        "xla-oom": bool(kinds - {RequestKind.TPU, RequestKind.PROGRAM}),
        "xla-account": RequestKind.PROGRAM in kinds,
        "tpu-oom": RequestKind.TPU in kinds,
        "device-stats": any(stream.stats.finished for stream in streams),
        "oom-disguise": any(stream.disguises.finished for stream in streams),
    }
    return tuple(name for name, present in present_of.items() if present)


def _framework(incidents: tuple[Incident, ...], streams: list[_Stream]) -> str | None:
    programs = [program for stream in streams for program in stream.compiler.finished]
    mentions: Counter[str] = sum((stream.mentions for stream in streams), Counter())
    for buffer in (buffer for program in programs for buffer in program.buffers):
        if framework := frameworks.mention(buffer.name or ""):
            mentions[framework] += 1
    mentions.update(
        framework for program in programs if (framework := frameworks.mention(program.name or ""))
    )
    messages = [line.text for incident in incidents for line in incident.tellings]
    messages += [line.text for program in programs for line in program.tellings]
    origins = [origin for stream in streams for origin in stream.origins]
    apart = frameworks.is_built_for_jax(origins)
    on_a_tpu = any(incident.request.kind is RequestKind.TPU for incident in incidents) or any(
        "on a TPU" in stream.surroundings.purposes for stream in streams
    )
    if framework := frameworks.likeliest(mentions, messages, on_a_tpu=on_a_tpu):
        nobodys = framework == frameworks.OTHER and not mentions[frameworks.OTHER]
        return frameworks.JAX if apart and nobodys else framework
    if any(stream.stats.finished for stream in streams):
        return frameworks.JAX
    if apart or any(_POOL_OF_XLA in (one.request.allocator or "") for one in incidents):
        return frameworks.JAX
    if not incidents:
        return None
    first = incidents[0]
    allocated = any(
        one.request.kind is RequestKind.TENSOR or one.state.limit for one in incidents if not one.compiler
    )
    if not mentions and _of_a_driver_alone(incidents) and frameworks.is_built_inside(origins):
        return frameworks.OTHER
    return frameworks.OTHER if first.compiler and not allocated else frameworks.TENSORFLOW


_POOL_OF_XLA = "xla_gpu_host"
"""The pool of pinned host RAM of XLA's own client; TensorFlow's has another name."""


def _of_one_framework(
    told: Surroundings, incidents: tuple[Incident, ...], streams: list[_Stream]
) -> Surroundings:
    """The same, which shows a program of PyTorch's only where nothing in the text is of another framework."""
    named = {framework for stream in streams for framework in stream.mentions}
    nobodys = not incidents or _of_a_driver_alone(incidents)
    if nobodys and named <= {frameworks.PYTORCH}:
        own = (stream.surroundings.purposes.get(PYTORCH_ALONE) for stream in streams)
        line = None if told.shows(PYTORCH_ALONE) else next(filter(None, own), None)
        return replace(told, purposes=(*told.purposes, (PYTORCH_ALONE, line))) if line else told
    return replace(told, purposes=tuple(each for each in told.purposes if each[0] != PYTORCH_ALONE))


def _of_a_driver_alone(incidents: tuple[Incident, ...]) -> bool:
    """Whether all that failed is what the driver or the machine refused, which any program may ask for."""
    return all(one.request.kind in (RequestKind.HOST, RequestKind.DRIVER) for one in incidents)


def _with_stated(era: Era, stated: Era) -> Era:
    """The range with the one release that the text states, where it lies just outside: lines may be printed
    longer than is known.
    """
    (low, high), (said, last) = era, stated
    if said != last or low <= said <= high or low[0] != said[0] or high[0] != said[0]:
        return era
    return (min(low, said), max(high, said))


def _version(
    incidents: tuple[Incident, ...], told: SurroundingsCollector, hints: list[Era], logged: Era | None
) -> tuple[str, str] | None:
    """What is stated, else what lines, names and paths say together, and last prose, which may speak of other
    versions, and a clock, which may be wrong.
    """
    if stated := told.era:
        return (version_text(stated[0]), version_text(stated[1]))
    era: Era | None = None
    for hint in hints:
        era = narrow(era, hint) if era else hint
    for failure in incidents:
        if failure.era:
            low, high = (tuple(int(part) for part in version.split(".")) for version in failure.era)
            seen = ((low[0], low[1]), (high[0], high[1]))
            era = narrow(era, seen) if era else seen
    if said := told.releases.era_after_a_move() or told.said_era:
        era = _with_stated(narrow(era or (FIRST, LAST), said), said)
    if logged and logged != (FIRST, LAST):
        era = narrow(era, logged) if era else logged
    return (version_text(era[0]), version_text(era[1])) if era else None
