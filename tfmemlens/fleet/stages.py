"""Rows as Arrow has them, on their way into the tables: one file a task, both tables in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from tfmemlens.fleet import schema
from tfmemlens.fleet.extras import load

INCIDENTS, INPUTS = "incidents", "inputs"
_ROWS_A_BATCH, _BYTES_A_BATCH = 500, 8 << 20
_ROWS_A_GROUP, _BYTES_A_GROUP = 50_000, 32 << 20
_OFFSET_BYTES = 8
_INT64 = 1 << 63
_LINES = b"lines"

Row = dict[str, Any]


class Stage:
    """The rows of a task on their way into one file: incidents, inputs, and where the inputs begin."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inputs: list[Row] = []
        self._incidents: list[Row] = []
        self._bytes = 0
        self.lines = 0
        """Of a range of a log, the ends of lines in it."""
        self._writer = stream_writer(file, INCIDENTS)

    def add_input(self, row: Row) -> None:
        """A row of the table of inputs."""
        self._inputs.append(row)

    def add_incidents(self, rows: Iterable[Row]) -> None:
        """Rows of the table of incidents."""
        for row in rows:
            self._incidents.append(row)
            self._bytes += len(row["report"])
            if len(self._incidents) >= _ROWS_A_BATCH or self._bytes >= _BYTES_A_BATCH:
                self._flush()

    def _flush(self) -> None:
        for batch in batches(INCIDENTS, self._incidents):
            self._writer.write_batch(batch)
        self._incidents, self._bytes = [], 0

    def finish(self) -> None:
        """Write what is left."""
        self._flush()
        self._writer.close()
        offset = self._file.tell()
        with stream_writer(self._file, INPUTS, {_LINES: str(self.lines)}) as writer:
            for batch in batches(INPUTS, self._inputs):
                writer.write_batch(batch)
        self._file.write(offset.to_bytes(_OFFSET_BYTES, "little"))


def stream_writer(file: BinaryIO, table: str, said: dict[bytes, str] | None = None) -> Any:
    """Writes batches of a table into a part of a file; what is `said` goes with their schema."""
    ipc = load("pyarrow.ipc")
    columns = schema.arrow_schema(schema.TABLES[table]).with_metadata(said)
    return ipc.new_stream(file, columns, options=ipc.IpcWriteOptions(compression="zstd"))


def batches(table: str, rows: list[Row]) -> list[Any]:
    """Rows as Arrow holds them; a figure or a letter that it cannot hold is left out of its row."""
    if not rows:
        return []
    pa = load("pyarrow")
    columns = schema.arrow_schema(schema.TABLES[table])
    listed = [{name: _pairs(row.get(name)) for name in columns.names} for row in rows]
    try:
        return [pa.RecordBatch.from_pylist(listed, schema=columns)]
    except (UnicodeEncodeError, OverflowError, pa.ArrowInvalid):
        bounded = [{name: _bounded(value) for name, value in row.items()} for row in listed]
        return [pa.RecordBatch.from_pylist(bounded, schema=columns)]


def table(rows: list[Row]) -> Any:
    """Rows of `incidents` as a `pyarrow.Table` that has the columns and types of the contract, whatever the
    rows hold: for Ray, DuckDB, or a Parquet file. Raises MissingExtra.
    """
    columns = schema.arrow_schema(schema.INCIDENTS)
    return load("pyarrow").Table.from_batches(batches(INCIDENTS, rows), columns)


def _pairs(value: Any) -> Any:
    """A map as Arrow takes it."""
    return list(value.items()) if isinstance(value, dict) else value


def _bounded(value: Any) -> Any:
    """Without halves of letters, and without figures of more than 64 bits."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [(_bounded(key), _bounded(each)) for key, each in value]
    return None if isinstance(value, int) and not -_INT64 <= value < _INT64 else value


def row_groups(batches: Iterable[Any]) -> Iterator[list[Any]]:
    """The batches that are not empty, in groups of bounded size."""
    group: list[Any] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        group.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROWS_A_GROUP or size >= _BYTES_A_GROUP:
            yield group
            group, rows, size = [], 0, 0
    if group:
        yield group


def filtered(batch: Any, mask: list[bool]) -> Any:
    """The rows of a batch that the mask lets through."""
    return batch if all(mask) else batch.filter(load("pyarrow").array(mask, "bool"))


def staged_inputs(file: Any) -> Any:
    """The rows of inputs in the file of a task, as a `pyarrow.Table`."""
    file.seek(-_OFFSET_BYTES, os.SEEK_END)
    file.seek(int.from_bytes(file.read(_OFFSET_BYTES), "little"))
    return load("pyarrow.ipc").open_stream(file).read_all()


def staged_lines(inputs: Any) -> int:
    """Of a range of a log, the ends of lines in it."""
    return int(inputs.schema.metadata[_LINES])


def staged_incidents(file: Any) -> Iterator[Any]:
    """The rows of incidents in the file of a task, batch by batch."""
    yield from load("pyarrow.ipc").open_stream(file)


def moved_down(rows: list[Row], lines: int) -> list[Row]:
    """Incidents of a range, with the numbers of their lines in the whole log."""
    return [row | {"line": row["line"] and row["line"] + lines} for row in rows]


def one_input(rows: list[Row]) -> Row:
    """The row of an input of the rows of its ranges."""
    status, reason = schema.together([(row["status"], row["reason"]) for row in rows])
    times = [(row["first_time"], row["last_time"]) for row in rows]
    return rows[0] | {
        "status": status,
        "reason": reason,
        "incidents": sum(row["incidents"] for row in rows),
        "first_time": min((first for first, _ in times if first), default=None),
        "last_time": max((last for _, last in times if last), default=None),
        "bytes_read": sum(row["bytes_read"] or 0 for row in rows),
        "seconds": sum(row["seconds"] or 0.0 for row in rows),
    }
