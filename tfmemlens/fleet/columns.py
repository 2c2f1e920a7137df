"""A data set as columns of numbers: texts are coded, and only what an answer needs is read.

A million incidents take some ten bytes a row and column; their documents are read for the few rows that are
shown. Times are whole seconds since 1970, as the logs have them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tfmemlens.errors import UnreadableInput
from tfmemlens.fleet import schema, store
from tfmemlens.fleet.extras import load
from tfmemlens.fleet.sources import Folder, StorageOptions, file_system, storage_errors
from tfmemlens.model.fleet import Read
from tfmemlens.values import dataclass

Ints = npt.NDArray[np.int64]
NEVER = np.iinfo(np.int64).min
"""Where a time is unknown."""
_EPOCH = datetime(1970, 1, 1)
_SLICE = 4096
"""Rows of documents that are decoded at once."""
_HINT = "tfmemlens fleet scan LOGS -o DIR writes such a folder"


def as_datetime(seconds: int) -> datetime | None:
    """A time of a column as Python has it; None for NEVER."""
    return None if seconds == NEVER else _EPOCH + timedelta(seconds=int(seconds))


def as_seconds(when: datetime) -> int:
    """The reverse, rounded up, so that nothing earlier is within."""
    return -((_EPOCH - when) // timedelta(seconds=1))


def _options_of(source: Any) -> StorageOptions:
    return source.options if isinstance(source, Folder) else {}


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of texts: a number for each row, 0 for null, and a `pyarrow.Array` of the texts of 1, 2, …"""

    codes: Ints
    texts: Any

    @property
    def size(self) -> int:
        """Codes that there may be."""
        return len(self.texts) + 1

    def text(self, code: int) -> str | None:
        """What a code stands for."""
        return self.texts[int(code) - 1].as_py() if code else None

    def chosen(self, rows: npt.NDArray[Any]) -> Coded:
        """The same texts for some rows."""
        return Coded(self.codes[rows], self.texts)


class Table:
    """Incidents or inputs, in a folder of Parquet files or in memory."""

    def __init__(self, path: str, dataset: Any, columns: tuple[schema.Column, ...], files: Sequence[str]):
        self.path, self._dataset, self._files = path, dataset, files
        self._types = {column.name: column.type for column in columns}

    def coded(self, *names: str) -> dict[str, Coded]:
        """Columns of texts. Raises UnreadableInput."""
        with _reading(self.path):
            table = self._dataset.scanner(columns=list(names)).to_table().unify_dictionaries()
            return {name: _codes(table.column(name)) for name in names}

    def failed(self, *names: str) -> Any:
        """Of inputs with incidents these columns, as a `pyarrow.Table`. Raises UnreadableInput."""
        only = load("pyarrow.dataset").field("incidents") > 0
        with _reading(self.path):
            return self._dataset.scanner(columns=list(names), filter=only).to_table()

    def numbers(self, *names: str) -> dict[str, Ints]:
        """Columns of numbers (null is -1) and times (null is NEVER). Raises UnreadableInput."""
        with _reading(self.path):
            table = self._dataset.scanner(columns=list(names)).to_table()
            return {name: _numbers(table.column(name)) for name in names}

    def batches(self, *names: str) -> Iterable[Any]:
        """Stretches of these columns, as `pyarrow.RecordBatch`. Raises UnreadableInput."""
        with _reading(self.path):
            yield from self._dataset.scanner(columns=list(names)).to_batches()

    def rows(self, wanted: Sequence[int], *names: str) -> list[dict[str, Any]]:
        """Some rows as they stand, in the order of `wanted`; of each file only the row groups that hold one
        are decoded, a stretch at a time. Raises UnreadableInput.
        """
        by_number: dict[int, dict[str, Any]] = {}
        with _reading(self.path):
            waiting, begin = sorted({int(row) for row in wanted}), 0
            for fragment in self._dataset.get_fragments():
                if not waiting:
                    break
                for part, count in _parts(fragment):
                    inside = [row for row in waiting if row < begin + count]
                    waiting = waiting[len(inside) :]
                    if inside:
                        by_number |= self._decoded(part, names, inside, begin)
                    begin += count
        return [by_number[int(row)] for row in wanted]

    def _decoded(
        self, part: Any, names: Sequence[str], inside: Sequence[int], begin: int
    ) -> dict[int, dict[str, Any]]:
        by_number: dict[int, dict[str, Any]] = {}
        for batch in part.scanner(
            schema=self._dataset.schema, columns=list(names), batch_size=_SLICE, use_threads=False
        ).to_batches():
            here = [row for row in inside if begin <= row < begin + batch.num_rows]
            if here:
                taken = batch.take(load("pyarrow").array([row - begin for row in here]))
                by_number |= dict(zip(here, taken.to_pylist(), strict=True))
            begin += batch.num_rows
        return by_number

    def __len__(self) -> int:
        with _reading(self.path):
            return int(self._dataset.count_rows())


def _parts(fragment: Any) -> Iterable[tuple[Any, int]]:
    """A fragment's row groups with their rows; what lies in memory is one part."""
    if not hasattr(fragment, "split_by_row_group"):
        yield fragment, fragment.count_rows()
        return
    for part in fragment.split_by_row_group():
        yield part, part.row_groups[0].num_rows


def incidents(source: Any) -> Table:
    """The incidents of a folder that `fleet scan` wrote, or of a pandas or dask frame. Raises
    UnreadableInput.
    """
    return _table(source, "incidents")


def inputs(source: Any) -> Table | None:
    """The inputs of such a folder; a frame of incidents has none, nor has what another engine wrote."""
    if not isinstance(source, str | PathLike):
        return None
    return _table(source, "inputs") if _files(source, "inputs") else None


def _table(source: Any, name: str) -> Table:
    columns = schema.TABLES[name]
    if isinstance(source, str | PathLike):
        return _of_folder(source, name, columns)
    arrow, dataset = load("pyarrow"), load("pyarrow.dataset")
    known = {column.name for column in columns}
    missing = {column.name for column in columns if column.always} - {*getattr(source, "columns", ())}
    if missing - {"report", "schema"}:
        raise UnreadableInput(
            f"the frame has no column {sorted(missing)[0]}", f"tfmemlens.fleet.read(DIR) has; {_HINT}"
        )
    frame = source[[column for column in source.columns if column in known]]
    frame = frame.compute() if hasattr(frame, "compute") else frame
    fields = [field for field in schema.arrow_schema(columns) if field.name in set(frame.columns)]
    fields = [field.with_nullable(True) for field in fields]
    with _reading("the frame"):
        table = arrow.Table.from_pandas(frame, arrow.schema(fields), preserve_index=False)
        return Table("the frame", dataset.dataset(_encoded(table, columns)), columns, ())


def _encoded(table: Any, columns: tuple[schema.Column, ...]) -> Any:
    """A table in memory with its texts as dictionaries, and nulls in the columns that it lacks."""
    arrow = load("pyarrow")
    made = {}
    for field in _coded_schema(columns):
        column = table.column(field.name) if field.name in table.column_names else arrow.nulls(len(table))
        made[field.name] = column.cast(field.type)
    return arrow.table(made, schema=_coded_schema(columns))


def _of_folder(source: Any, name: str, columns: tuple[schema.Column, ...]) -> Table:
    dataset, path = load("pyarrow.dataset"), fspath(source)
    listed = _files(source, name)
    if listed is None:
        there = "://" in path or Path(path).exists()
        raise UnreadableInput(
            f"{path} {'is no folder that a scan wrote' if there else 'does not exist'}", _HINT
        )
    fs, files = listed
    coded = {field.name for field in _coded_schema(columns) if _is_coded(field.type)}
    form = dataset.ParquetFileFormat(dictionary_columns=coded)
    with _reading(path):
        content = dataset.dataset(files, schema=_coded_schema(columns), format=form, filesystem=fs)
        if files:
            _check_version(fs, files[-1], path)
    return Table(path, content, columns, files)


def _files(source: Any, name: str) -> tuple[Any, list[str]] | None:
    """The storage of a table (None for this machine's) and its files there; None where there is no table. Of
    a commit on its way there is all or nothing. Raises UnreadableInput.
    """
    path = fspath(source)
    if "://" not in path:
        local = Path(path) / name
        if any(local.parent.glob(f"{store.COMMITS}/*{store.PENDING}")):
            return None, store.Store(path).files(name)
        files = sorted(str(file) for file in local.glob("*.parquet") if _is_committed(str(file)))
        return (None, files) if local.is_dir() else None
    with _reading(path):
        fs, inner = file_system(path, _options_of(source))
        folder = f"{inner.rstrip('/')}/{name}"
        if fs.glob(f"{inner.rstrip('/')}/{store.COMMITS}/*{store.PENDING}"):
            return fs, store.Store(path, _options_of(source)).files(name)
        if not fs.isdir(folder):
            return None
        return fs, sorted(file for file in fs.glob(f"{folder}/*.parquet") if _is_committed(file))


def _is_committed(file: str) -> bool:
    return not re.split(r"[/\\]", file)[-1].startswith(("_", "."))


def _check_version(fs: Any, file: str, path: str) -> None:
    told = load("pyarrow.parquet").read_schema(file, filesystem=fs).metadata or {}
    version = told.get(b"tfmemlens.fleet", b"1").decode("ascii", "replace")
    if version.isdecimal() and int(version) > schema.VERSION:
        raise UnreadableInput(
            f"{path} has tables of version {version}, and this tfmemlens knows {schema.VERSION}",
            "pip install --upgrade tfmemlens",
        )


_PLAIN = ("source", "verdict", "action", "report")
"""Texts that differ from row to row, of which files have no dictionaries worth joining."""


def _coded_schema(columns: tuple[schema.Column, ...]) -> Any:
    """The table's schema with texts as dictionaries. Nulls are allowed everywhere: another writer may have
    them.
    """
    arrow = load("pyarrow")
    fields = []
    for field in schema.arrow_schema(columns):
        text = field.type == arrow.string() and field.name not in _PLAIN
        kind = arrow.dictionary(arrow.int32(), arrow.string()) if text else field.type
        fields.append(arrow.field(field.name, kind))
    return arrow.schema(fields)


def _is_coded(kind: Any) -> bool:
    return bool(load("pyarrow").types.is_dictionary(kind))


def _codes(column: Any) -> Coded:
    """The codes of a column of one dictionary."""
    arrow = load("pyarrow")
    if not _is_coded(column.type):
        whole = column.cast(arrow.large_string()).combine_chunks()  # all names may be more than 2 GiB
        column = arrow.chunked_array([whole.dictionary_encode()])
    chunks = column.chunks
    if not chunks:
        return Coded(np.zeros(0, np.int64), arrow.array([], column.type.value_type))
    parts = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
    return Coded(np.concatenate(parts).astype(np.int64) + 1, chunks[0].dictionary)


def _numbers(column: Any) -> Ints:
    arrow, compute = load("pyarrow"), load("pyarrow.compute")
    if arrow.types.is_timestamp(column.type):
        plain = compute.divide(column.cast(arrow.int64()), 1_000_000).fill_null(NEVER)
    else:
        plain = column.cast(arrow.int64()).fill_null(-1)
    return np.asarray(plain.to_numpy(), np.int64)


@contextmanager
def _reading(path: str) -> Any:
    """Around anything that decodes the files: what is damaged in them is the input's. Raises
    UnreadableInput.
    """
    arrow = load("pyarrow")
    try:
        with storage_errors():
            yield
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, arrow.ArrowNotImplementedError, OSError) as problem:
        told = str(problem).split("\n")[0][:300]
        raise UnreadableInput(f"{path} cannot be read: {told}", _HINT) from None


def interval_of(source: Coded, table: Table | None) -> Mapping[str, Ints]:
    """By code of a source: `first` and `last` time stamp of that input and its `mtime`; NEVER where
    unknown.
    """
    times = {name: np.full(source.size, NEVER) for name in ("first_time", "last_time", "mtime")}
    if table is None:
        return times
    failed = table.failed("source", *times)
    at = load("pyarrow.compute").index_in(
        failed.column("source").cast(source.texts.type), value_set=source.texts
    )
    code = np.asarray(at.fill_null(-1).to_numpy()) + 1
    for name, column in times.items():
        column[code] = _numbers(failed.column(name))
        column[0] = NEVER
    return times


def what_was_read(table: Table | None, latest: int) -> Read:
    """Inputs by status, and the time that those with time stamps cover; none later than `latest`, since one
    log with a wrong clock would move the end for all.
    """
    statuses: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    start, end = NEVER, NEVER
    if table is not None:
        for batch in table.batches("status", "reason", "first_time", "last_time"):
            statuses.update({status or "": count for status, count in _counted(batch.column("status"))})
            reasons = _counted(batch.column("reason"))
            ended.update({ending: count for each, count in reasons if (ending := schema.ending(each))})
            first, last = (_numbers(batch.column(name)) for name in ("first_time", "last_time"))
            first, last = first[first != NEVER], last[(last != NEVER) & (last <= latest)]
            if len(first):
                start = int(first.min()) if start == NEVER else min(start, int(first.min()))
            end = max(end, int(last.max())) if len(last) else end
    others = dict(sorted(ended.items(), key=lambda item: (-item[1], item[0])))
    return Read(dict(sorted(statuses.items())), as_datetime(start), as_datetime(end), others)


def _counted(column: Any) -> list[tuple[str | None, int]]:
    """The texts of a coded column, with how often each stands there."""
    counts = load("pyarrow.compute").value_counts(column.dictionary_decode())
    return [(pair["values"], pair["counts"]) for pair in counts.to_pylist()]


def covering(table: Table | None, start: int | None, end: int | None) -> int:
    """Inputs that may hold something of [start, end): by their time stamps, without any by when they were
    changed.
    """
    count = 0
    for batch in () if table is None else table.batches("status", "first_time", "last_time", "mtime"):
        first, last, mtime = (_numbers(batch.column(name)) for name in ("first_time", "last_time", "mtime"))
        first, last = np.where(first == NEVER, mtime, first), np.where(last == NEVER, mtime, last)
        readable = ~np.equal(
            batch.column("status").dictionary_decode().to_numpy(zero_copy_only=False), schema.UNREADABLE
        )
        inside = readable & (first != NEVER) & (last != NEVER)
        inside &= (last >= start) if start is not None else True
        inside &= (first < end) if end is not None else True
        count += int(inside.sum())
    return count
