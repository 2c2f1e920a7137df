"""What the sizes of a failed tensor are, by the numbers that the text names: of [32,94,94,1088] the 32 is
`batch_size` of line 3, and 94 x 94 are `max_dimension` 1500 of line 9, sixteen times smaller.

A first dimension may be a batch times a length, or a batch over several devices. A number that stands nowhere
names nothing, and one that several names fit is not named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum

from tfmemlens.findings.support.program_lines import code_lines, settings_by_name
from tfmemlens.model.capture import StatedSize, Surroundings
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_LEAST = 16
"""Smaller sizes are met by chance, but for a first dimension that is as many as the stated batch."""
_LEAST_SIDE = 192
"""The shortest side of an image whose halves are looked for."""
_LEAST_SIDE_OF_A_VOLUME = 32
"""The same of volumes, which are small, and have three sides that are halved alike."""
_HALVINGS = 5
_OF_A_MESSAGE = regex(
    r"shape\s?\[|when allocating|trying to allocate|\bTensor\(shape="
    r"|<tf\.(?:Tensor|Variable)\b|<KerasTensor\b"
)
"""What an error prints: its numbers are those of the failure, and set nothing."""


class Meaning(Enum):
    """What a named number is of, as far as its name tells."""

    BATCH = "batch"
    LENGTH = "length"
    IMAGE = "image"
    WORDS = "words"
    OTHER = "other"


_MEANINGS = (
    (Meaning.BATCH, regex(r"(?i)\A(?:\w*_)?(?:batch(?:_?size)?|bs)\Z|\Abatch\w{0,12}\Z")),
    (
        Meaning.WORDS,
        regex(r"(?i)vocab|words|(?:num|n|number_of)_(?:classes|labels|items|users|tokens)|\bclasses\b"),
    ),
    (
        Meaning.LENGTH,
        regex(
            r"(?i)len\Z|length|(?:\A|_)(?:max|num|n|number_of)_?(?:seq|tokens|steps|frames|words)|time_?steps"
            r"|\Aseq|frames\Z"
        ),
    ),
    (
        Meaning.IMAGE,
        regex(
            r"(?i)im(?:g|age)|height|(?<!beam_)(?<!student_)(?<!teacher_)(?<!model_)(?<!hidden_)(?<!net_)"
            r"(?<!base_)(?<!stem_)width|\A(?:min|max)_dim|resol|crop|patch|tile|(?:input"
            r"|target)_(?:size|shape)"
            r"|\A[hw]\Z|\Asize\Z|\Asides?\Z"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class NamedSize:
    """A size of the tensor that the text names."""

    axis: int
    size: int
    stated: int
    """The number in the text: the size, or a power of two times it."""
    name: str
    """Its name there, empty for a part of a shape that has none."""
    meaning: Meaning
    line: Line
    times: NamedSize | None = None
    """What it is multiplied with, or divided by where `over` says so."""
    over: bool = False

    @property
    def of_data(self) -> bool:
        """Whether it is a length by its place in the shape of an array, whose name counts nothing."""
        return self.meaning is Meaning.LENGTH and meaning_of(self.name) is not Meaning.LENGTH

    @property
    def words(self) -> str:
        """`batch_size` (line 3); 1500 (`max_dimension`, line 9) / 16."""
        at = f"`{self.name}`, {self.line.place}" if self.name else self.line.place
        if self.times:
            first, second = (f"{each.stated} ({_at(each)})" for each in (self, self.times))
            return f"{first} over {second}" if self.over else f"{first} x {second}"
        if self.stated != self.size:
            return f"{self.stated} ({at}) / {round(self.stated / self.size)}"
        if self.of_data:
            whose = f"`{self.name}`" if self.name else "the data"
            return f"the length in {whose} ({self.line.place})"
        return f"`{self.name}` ({self.line.place})" if self.name else f"of {at}"


def _at(named: NamedSize) -> str:
    return f"`{named.name}`, {named.line.place}" if named.name else named.line.place


def in_words(named: Sequence[NamedSize]) -> str:
    """All of them in a clause, sides of one image together: 8 is `batch` (line 1) and 512 x 512 of line 2."""
    if not named:
        return ""
    told: dict[tuple[Meaning, int], list[NamedSize]] = {}
    for each in named:
        told.setdefault((each.meaning, each.line.number), []).append(each)
    clauses: list[str] = []
    for group in told.values():
        if len({each.words for each in group}) == 1:
            are = "are" if len(group) > 1 else "is"
            clauses.append(f"{' x '.join(str(each.size) for each in group)} {are} {group[0].words}")
        else:
            clauses += [f"{each.size} is {each.words}" for each in group]
    return " and ".join(filter(None, (", ".join(clauses[:-1]), clauses[-1])))


def meaning_of(name: str) -> Meaning:
    """What a number of this name counts: of `batch_size`, `--batch-size` and `a batch size of` the same."""
    name = name.replace(" ", "_").replace("-", "_")
    return next((meaning for meaning, names in _MEANINGS if names.search(name)), Meaning.OTHER)


def named_sizes(shape: Sequence[int | None] | None, told: Surroundings) -> tuple[NamedSize, ...]:
    """The sizes of a tensor that the text names, in their order; empty where it names none."""
    if not shape:
        return ()
    stated = [each for each in told.sizes if not _OF_A_MESSAGE.search(each.line.text)]
    stated += [
        StatedSize("batch_size", (int(value),), line)
        for name, value, line in told.settings
        if name == "batch_size" and value.isdigit()
    ]
    stated += _of_the_program(told, {each.name.lower().replace("-", "_") for each in stated})
    power = _common_power(shape, stated)
    candidates = (
        _named(axis, size, shape, stated, power) or (_composed(size, stated) if not axis else None)
        for axis, size in enumerate(shape)
        if size and (size >= _LEAST or (axis == 0 and size > 1))
    )
    known = _without_channels([each for each in candidates if each], len(shape))
    return tuple(_of_one_image(list(known)))


def _of_the_program(told: Surroundings, known: set[str]) -> Iterator[StatedSize]:
    """The settings of a program whose files were read, but those that the text states by the same name."""
    if told.program():
        for name, (number, line) in settings_by_name(code_lines(told)).items():
            if name.lower() not in known:
                yield StatedSize(name, (number,), line)


def _of_one_image(named: Sequence[NamedSize]) -> Iterator[NamedSize]:
    """Without sides that do not stand side by side: rows and features of attention."""
    sides = {each.axis for each in named if each.meaning is Meaning.IMAGE}
    apart = len(sides) > 1 and not any(axis + 1 in sides for axis in sides)
    yield from (each for each in named if not (apart and each.meaning is Meaning.IMAGE))


def _without_channels(named: Sequence[NamedSize], rank: int) -> Iterator[NamedSize]:
    """No more sides than an image has beside its batch and its channels, which may be as many by chance."""
    sides = 0
    of_lines = Counter(each.line.number for each in named if _is_side(each))
    for each in named:
        if _is_side(each) and of_lines[each.line.number] == 1:
            continue  # one side of an image alone is there by chance: channels, rows
        sides += each.meaning is Meaning.IMAGE
        if each.meaning is not Meaning.IMAGE or sides <= rank - 2:
            yield each


def _is_side(named: NamedSize) -> bool:
    """Whether it is of a shape without a name, as `128x128 images` has: both sides are in the tensor then."""
    return named.meaning is Meaning.IMAGE and not named.name


def stated_length(told: Surroundings) -> NamedSize | None:
    """The length to which the text says that samples are padded or cut: the largest that it names."""
    lengths = [
        NamedSize(0, each.sizes[0], each.sizes[0], each.name, Meaning.LENGTH, each.line)
        for each in told.sizes
        if len(each.sizes) == 1 and meaning_of(each.name) is Meaning.LENGTH and each.sizes[0] >= _LEAST_LENGTH
    ]
    return max(lengths, key=lambda each: each.size, default=None)


_LEAST_LENGTH = 64
_TIMES_BATCH = regex(r"(?i)beam|proposals|rois|n(?:um)?_(?:crops|views|clips|frames|negatives|boxes)")
_DEVICES = regex(r"(?i)\A(?:num_?|n_?)?(?:devices|gpus|replicas)\Z|replicas_in_sync")


def _composed(size: int, stated: Sequence[StatedSize]) -> NamedSize | None:
    """A first dimension that is a batch times a length, or a batch over several devices; only one way."""
    if size < _LEAST:
        return None
    numbers = {
        (each.name, each.sizes[0]): each for each in stated if len(each.sizes) == 1 and each.sizes[0] > 1
    }
    batches = {each.sizes[0]: each for each in numbers.values() if meaning_of(each.name) is Meaning.BATCH}
    lengths = {each.sizes[0]: each for each in numbers.values() if meaning_of(each.name) is Meaning.LENGTH}
    times = {each.sizes[0]: each for each in numbers.values() if _TIMES_BATCH.search(each.name)}
    devices = {each.sizes[0]: each for each in numbers.values() if _DEVICES.search(each.name)}
    ways = [(batch, length, False) for batch in batches for length in lengths if batch * length == size]
    ways += [(batch, many, False) for batch in batches for many in times if batch * many == size]
    lengths = {**times, **lengths}
    ways += [(batch, many, True) for batch in batches for many in devices if batch == size * many]
    if len(ways) != 1:
        return None
    batch, other, over = ways[0]
    second = devices[other] if over else lengths[other]
    meaning = Meaning.OTHER if over else meaning_of(second.name)
    beside = NamedSize(0, other, other, second.name, meaning, second.line)
    return NamedSize(0, size, batch, batches[batch].name, Meaning.BATCH, batches[batch].line, beside, over)


def _named(
    axis: int, size: int, shape: Sequence[int | None], stated: Sequence[StatedSize], power: int
) -> NamedSize | None:
    """The one name that fits; the batch stands first, and an image's sides never do."""
    exact = [each for each in _exact(axis, size, stated, len(shape)) if _may_stand(each, len(shape))]
    if size < _LEAST:
        return next((each for each in exact if each.meaning is Meaning.BATCH), None)
    named = [each for each in exact if each.name]
    halved = [each for at, each in _halved(axis, size, stated, _is_volume(shape)) if at == power]
    fitting = named or exact or [each for each in halved if _may_stand(each, len(shape))]
    meanings = {each.meaning for each in fitting}
    if axis == 0 and Meaning.BATCH in meanings:
        return next(each for each in fitting if each.meaning is Meaning.BATCH)
    names = {each.name.lower() for each in fitting if each.name}
    return fitting[0] if fitting and len(meanings) == 1 and (len(names) <= 1 or _alike(meanings)) else None


def _alike(meanings: set[Meaning]) -> bool:
    """Whether several names mean one thing: the height and width of an image."""
    return meanings <= {Meaning.IMAGE, Meaning.BATCH, Meaning.LENGTH}


def _may_stand(named: NamedSize, rank: int) -> bool:
    if named.meaning is Meaning.BATCH:
        return named.axis == 0
    if named.meaning is Meaning.IMAGE:
        return rank >= 4 and named.axis > 0
    return named.meaning is not Meaning.OTHER


def _exact(axis: int, size: int, stated: Sequence[StatedSize], rank: int) -> Iterator[NamedSize]:
    """Names of the very number. Of rows and columns the columns are steps only where the tensor has features
    behind them: in a matrix they are the features.
    """
    for each in stated:
        is_steps = len(each.sizes) == 3 or (axis == 1 and rank > 2)
        if _is_sequences(each) and size == each.sizes[1] and is_steps:
            name = each.name.removesuffix(".shape")
            yield NamedSize(axis, size, size, name, Meaning.LENGTH, each.line)
        elif size in each.sizes and (len(each.sizes) == 1 or _is_image(each)):
            meaning = Meaning.IMAGE if _is_image(each) else meaning_of(each.name)
            yield NamedSize(axis, size, size, each.name, meaning, each.line)


_MANY_SAMPLES = 1000
"""So many rows are samples, and what stands behind them is their length."""
_DATA = regex(r"(?i)\A(?:x|data|inputs?|features?|seq\w*)(?:_\w{1,20})?(?:\.shape)?\Z")


def _is_sequences(stated: StatedSize) -> bool:
    """Whether a stated shape is that of sequences: samples, steps and features, under a name of data."""
    sizes = stated.sizes
    if len(sizes) == 2 and sizes[0] >= _MANY_SAMPLES and sizes[1] >= _LEAST_LENGTH:
        return not stated.name or bool(_DATA.search(stated.name))
    return len(sizes) == 3 and sizes[2] > 4 and sizes[1] >= _LEAST_LENGTH and bool(_DATA.search(stated.name))


def _is_image(stated: StatedSize) -> bool:
    """Whether a stated shape is an image's or a volume's: two or three long sides, channels beside them."""
    sides = [size for size in stated.sizes if size > 4]
    alike = len(stated.sizes) > 1 and 2 <= len(sides) <= 3 and max(sides) <= 16 * min(sides)
    return alike and not _is_sequences(stated)


def _common_power(shape: Sequence[int | None], stated: Sequence[StatedSize]) -> int:
    """How often the sides of an image were halved: as often as explains most of them."""
    sizes = [size for size in shape[1:] if size and size >= _LEAST]
    if any(each.meaning is Meaning.IMAGE for size in sizes for each in _exact(1, size, stated, len(shape))):
        return 0
    volume = _is_volume(shape)
    fitting = Counter(at for size in sizes for at in {power for power, _ in _halved(1, size, stated, volume)})
    power = max(fitting, key=lambda power: (fitting[power], -power), default=0)
    return power if fitting[power] > 1 else 0


def _is_volume(shape: Sequence[int | None]) -> bool:
    """Whether it is a map of a volume, of three equal sides."""
    return len(shape) == _RANK_OF_A_VOLUME and len(set(shape[1:4])) == 1


_RANK_OF_A_VOLUME = 5


def _halved(
    axis: int, size: int, stated: Sequence[StatedSize], volume: bool
) -> Iterator[tuple[int, NamedSize]]:
    """Sides of an image that strides made smaller, each with how often: to the half, rounded up or down."""
    least = _LEAST_SIDE_OF_A_VOLUME if volume else _LEAST_SIDE
    for each in stated:
        if not (_is_image(each) or (len(each.sizes) == 1 and meaning_of(each.name) is Meaning.IMAGE)):
            continue
        for side in each.sizes:
            if side < least:
                continue
            for power in range(1, _HALVINGS + 1):
                if size in (side >> power, -(-side >> power)):
                    yield power, NamedSize(axis, size, side, each.name, Meaning.IMAGE, each.line)
