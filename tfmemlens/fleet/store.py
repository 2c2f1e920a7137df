"""The folder that scans write: Parquet files that hold what is committed, and nothing else.

    DIR/incidents/PART.parquet   rows of incidents; those of an input lie in the part of the same name
    DIR/inputs/PART.parquet      rows of inputs
    DIR/_staging/SCAN/           what tasks have finished, one file a task with the rows of both tables
    DIR/_staging/ranges/         ranges of big logs that wait for the others
    DIR/_settings.json           the job pattern of the last scan
    DIR/_commits/NAME.json       what a commit did; `NAME.pending.json` until all of it is done

A commit writes its parts aside, then its record, which is the moment that counts, and then puts the parts in
their places. Who finds a pending record does the rest: each step can be repeated. What a killed client has
staged and not committed is committed by the next scan. Readers of the folder leave out names that begin with
an underscore.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from tfmemlens.errors import TfmemlensError, UnreadableInput, UsageError
from tfmemlens.fleet import schema, stages
from tfmemlens.fleet.extras import load
from tfmemlens.fleet.sources import MEMBER, StorageOptions, file_system, is_local, storage_errors
from tfmemlens.fleet.stages import INCIDENTS, INPUTS, Row
from tfmemlens.values import dataclass, field

COMMITS, PENDING = "_commits", ".pending.json"
"""Where the records of commits lie, and how the name of one ends that is on its way."""
_STAGING, _RANGES, _LOCK, _SETTINGS = "_staging", "ranges", "_lock", "_settings.json"
_WORK, _TEMPORARY = "commit-", ".tmp-"
_DONE = ".json"
_PART, _STAGED = ".parquet", ".arrow"
_KNOWN = ("source", "size", "mtime", "etag", "scan", "status", "reason")
"""The columns of inputs that say what is known of a file."""
_ROWS_AT_ONCE = 2000
_EXAMPLES = 5


class OutputFailed(TfmemlensError):
    """The folder of the scan takes no more: it is full, or closed to us."""

    slug = "output-failed"


@dataclass(frozen=True, slots=True)
class KnownFile:
    """What the tables say of a file: as what it was read, by which scan, and the part with its rows."""

    size: int | None
    mtime: datetime | None
    etag: str
    scan: str
    part: str
    status: str
    reason: str


@dataclass
class Committed:
    """What became part of the tables."""

    counts: Counter[str] = field(default_factory=Counter)
    """Inputs by their status, and `incidents`."""
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    """Some inputs that could not be read, each with the reason."""
    ended: Counter[str] = field(default_factory=Counter)
    """Inputs without a failure that is read, by how they ended otherwise."""

    def add(self, other: Committed) -> None:
        """Count another commit, too."""
        self.counts.update(other.counts)
        self.ended.update(other.ended)
        self.unreadable = (self.unreadable + other.unreadable)[:_EXAMPLES]


def container(source: str) -> str:
    """The file that a source lies in: the archive of a member, any other source itself."""
    return source.partition(MEMBER)[0]


class Store:
    """A folder of scans, on a disk or behind any URL that fsspec writes to."""

    def __init__(self, url: str, options: StorageOptions | None = None) -> None:
        self.url = url
        self.fs, path = file_system(url, options or {})
        self.root = path.rstrip("/")
        self.is_local = is_local(self.fs)

    def make(self) -> None:
        """Make the folders. Raises OutputFailed."""
        with self._writing():
            for name in (INCIDENTS, INPUTS, _STAGING, COMMITS):
                self.fs.makedirs(self._path(name), exist_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one who commits here, where the folder is on a disk of this machine. Raises UsageError
        when somebody else is.
        """
        with self._locked() as is_ours:
            if not is_ours:
                raise UsageError(
                    f"another scan is writing to {self.url}", "wait for its end, or name another folder"
                )
            yield

    @contextmanager
    def _locked(self) -> Iterator[bool]:
        """Hold the lock; whether that went well. It goes when the process does, however that ends."""
        try:
            import fcntl
        except ImportError:  # Windows
            yield True
            return
        if not self.is_local:
            yield True
            return
        with open(self._path(_LOCK), "ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    # ---- what holds for all its scans

    def settings(self) -> dict[str, Any]:
        """What the last scan was told that holds for the next one, too."""
        try:
            with self._open(_SETTINGS) as file:
                document = json.load(file)
        except (FileNotFoundError, ValueError):
            return {}
        return document if isinstance(document, dict) else {}

    def keep(self, settings: dict[str, Any]) -> None:
        """Write these settings. Raises OutputFailed."""
        if settings != self.settings():
            with self._put(_SETTINGS) as file:
                file.write(json.dumps(settings, indent=1).encode())

    # ---- what tasks stage

    @contextmanager
    def staging(self, scan: str, name: str) -> Iterator[stages.Stage]:
        """Where a task writes its rows. What it has written is there whole when the block ends well, or not
        at all. Raises OutputFailed.
        """
        with self._put(_STAGING, scan, f"{name}{_STAGED}") as file:
            stage = stages.Stage(file)
            yield stage
            stage.finish()

    def staging_range(self, name: str) -> Any:
        """The same for a range of a big log, which waits there for the others."""
        return self.staging(_RANGES, name)

    def staged_ranges(self) -> set[str]:
        """The names of the ranges that wait."""
        return {name.removesuffix(_STAGED) for name in self._names(_STAGING, _RANGES)}

    def has_staged(self, scan: str, name: str) -> bool:
        """Whether a task's rows can be seen from here."""
        with self._writing():
            self.fs.invalidate_cache()
            return bool(self.fs.exists(self._path(_STAGING, scan, f"{name}{_STAGED}")))

    def join_ranges(self, ranges: Sequence[str], scan: str, name: str) -> None:
        """Make one staged input of the ranges of a big log. Raises OutputFailed."""
        paths = [f"{_STAGING}/{_RANGES}/{each}{_STAGED}" for each in ranges]
        with self._writing():
            rows = [row for path in paths for row in self._staged_inputs(path).to_pylist()]
        with self.staging(scan, name) as stage:
            lines = 0
            for path in paths:
                for batch in self._staged_incidents(path):
                    stage.add_incidents(stages.moved_down(batch.to_pylist(), lines))
                lines += self._staged_lines(path)
            stage.add_input(stages.one_input(rows) | {"scan": scan})
        for path in paths:
            self._remove(path)

    # ---- what is known

    def known(self) -> dict[str, KnownFile]:
        """What the tables hold of each file."""
        known: dict[str, KnownFile] = {}
        for part in self._names(INPUTS):
            with self._open(INPUTS, part) as file:
                table = load("pyarrow.parquet").read_table(file, columns=list(_KNOWN))
            for row in _rows(table, _KNOWN):
                _know(known, row, part)
        return known

    # ---- committing

    def commit(self, scan: str, names: Sequence[str], known: dict[str, KnownFile], name: str) -> Committed:
        """Make what tasks of a scan have staged part of the tables, all of it or nothing. The rows of a file
        that was read before give way, unless this scan or a later one has read it meanwhile. `known` follows.

        Raises OutputFailed.
        """
        staged = [f"{_STAGING}/{scan}/{each}{_STAGED}" for each in names]
        part = f"{name}{_PART}"
        origin: dict[str, str] = {}
        fresh: dict[str, KnownFile] = {}
        done = Committed()
        for path in staged:
            for row in _rows(self._staged_inputs(path), (*_KNOWN, INCIDENTS)):
                file = container(row["source"])
                before = known.get(file)
                if origin.setdefault(file, path) == path and (before is None or before.scan < row["scan"]):
                    _know(fresh, row, part)
                    done.counts.update({row["status"]: 1, INCIDENTS: row["incidents"]})
                    if row["status"] == schema.UNREADABLE:
                        done.unreadable.append((row["source"], row["reason"] or ""))
                    if ending := schema.ending(row["reason"]):
                        done.ended[ending] += 1
        if fresh:
            record = self._prepared(name, staged, fresh, {file: origin[file] for file in fresh}, known)
            with self._put(COMMITS, f"{name}{PENDING}") as file_:
                file_.write(json.dumps(record, indent=1).encode())
            with self._writing():
                self._apply(name, record)
        else:
            for path in staged:
                self._remove(path)
        known.update(fresh)
        return done

    def _prepared(
        self,
        name: str,
        staged: list[str],
        fresh: dict[str, KnownFile],
        origin: dict[str, str],
        known: dict[str, KnownFile],
    ) -> dict[str, Any]:
        """The record of a commit whose parts are written aside: parts that lose rows, and the new one."""
        outdated: dict[str, set[str]] = {}
        for file in fresh:
            if file in known:
                outdated.setdefault(known[file].part, set()).add(file)
        moves: list[tuple[str, str]] = []
        removals: list[str] = []
        work = f"{_STAGING}/{_WORK}{name}"
        for table in (INPUTS, INCIDENTS):
            for part, gone in sorted(outdated.items()):
                final = f"{table}/{part}"
                if self._write_part(table, self._kept(final, gone), f"{work}/{final}"):
                    moves.append((f"{work}/{final}", final))
                else:
                    removals.append(final)
        for table in (INPUTS, INCIDENTS):
            final = f"{table}/{name}{_PART}"
            if self._write_part(table, self._added(table, staged, origin), f"{work}/{final}"):
                moves.append((f"{work}/{final}", final))
        return {"moves": moves, "removals": removals, "staged": staged}

    def _apply(self, name: str, record: dict[str, Any]) -> None:
        """Do what a record says, or what is left of it."""
        for path in record["removals"]:
            self._remove(path)
        for source, target in record["moves"]:
            self._move(source, target)
        for path in record["staged"]:
            self._remove(path)
        self._remove_folder(f"{_STAGING}/{_WORK}{name}")
        self._move(f"{COMMITS}/{name}{PENDING}", f"{COMMITS}/{name}{_DONE}")

    def finish(self) -> None:
        """Do the rest of commits that were cut short after their record was written."""
        with self._writing():
            for name, record in self._pending().items():
                self._apply(name, record)

    def recover(self, name: str) -> tuple[dict[str, KnownFile], Committed]:
        """Bring everything in order that killed scans have left: finish commits, commit what was staged and
        sweep up. Returns what is known then, and what was saved.
        """
        self.finish()
        known = self.known()
        saved = Committed()
        for number, folder in enumerate(self._names(_STAGING)):
            if folder == _RANGES:
                continue
            if not folder.startswith(_WORK):
                names = [each.removesuffix(_STAGED) for each in self._names(_STAGING, folder)]
                whole = [each for each in names if not each.startswith(_TEMPORARY)]
                if whole:
                    saved.add(self.commit(folder, whole, known, f"{name}-saved-{number:04d}"))
            self._remove_folder(f"{_STAGING}/{folder}")
        for name in self._names(COMMITS):
            if name.startswith(_TEMPORARY):
                self._remove(f"{COMMITS}/{name}")
        return known, saved

    def sweep(self, scan: str) -> None:
        """A scan has ended, and everything of it is committed: nothing of it stays behind."""
        for folder in (scan, _RANGES):
            self._remove_folder(f"{_STAGING}/{folder}")

    # ---- reading

    def files(self, table: str) -> list[str]:
        """The paths (for `fs`) of the Parquet files of a table: also while a commit is on its way, and after
        one was cut short. Raises UnreadableInput where there is no scan.
        """
        folders = self._names()
        if INPUTS not in folders:
            raise UnreadableInput(
                f"{self.url} holds no scan", "`tfmemlens fleet scan SOURCE... -o DIR` writes one"
            )
        if self.is_local and COMMITS in folders and self._pending():
            with suppress(OSError, OutputFailed), self._locked() as is_ours:  # it may not be ours to write to
                if is_ours:
                    self.finish()
        sources = {
            f"{table}/{name}": f"{table}/{name}" for name in self._names(table) if name.endswith(_PART)
        }
        for record in self._pending().values():
            for path in record["removals"]:
                sources.pop(path, None)
            for source, target in record["moves"]:
                if target.startswith(f"{table}/") and self.fs.exists(self._path(source)):
                    sources[target] = source
        return [self._path(sources[name]) for name in sorted(sources)]

    def table(self, table: str, columns: Sequence[str] | None = None) -> Any:
        """The rows of a table as a pyarrow.Table, of these columns."""
        pa, parquet = load("pyarrow"), load("pyarrow.parquet")
        whole = schema.arrow_schema(schema.TABLES[table])
        chosen = pa.schema([whole.field(name) for name in columns or whole.names])
        tables = [chosen.empty_table()]
        for path in self.files(table):
            with self.fs.open(path, "rb") as file:
                tables.append(parquet.read_table(file, columns=chosen.names).cast(chosen))
        return pa.concat_tables(tables)

    # ---- files

    def _path(self, *names: str) -> str:
        return "/".join((self.root, *names))

    def _names(self, *folder: str) -> list[str]:
        """The names in a folder, sorted; none where there is none."""
        self.fs.invalidate_cache()
        try:
            paths = self.fs.ls(self._path(*folder), detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for path in paths if (name := path.rstrip("/").rpartition("/")[2]))

    def _open(self, *names: str) -> Any:
        return self.fs.open(self._path(*names), "rb")

    @contextmanager
    def _put(self, *names: str) -> Iterator[BinaryIO]:
        """Write a file that is there whole or not at all. Raises OutputFailed."""
        final = self._path(*names)
        with self._writing():
            folder = final.rpartition("/")[0]
            self.fs.makedirs(folder, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=_TEMPORARY, dir=folder if self.is_local else None)
            temporary = Path(name)
            try:
                with os.fdopen(handle, "wb") as file:
                    yield file
                if self.is_local:
                    temporary.replace(final)
                else:
                    self.fs.put_file(name, final)
            finally:
                temporary.unlink(missing_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with storage_errors():
                yield
        except OSError as error:
            raise OutputFailed(
                f"{self.url} cannot be written: {error.strerror or error}",
                "make room or check the permissions, then run the same again: what is committed stays",
            ) from None

    def _move(self, source: str, target: str) -> None:
        """Put a file in the place of another; done already where it is gone."""
        with suppress(FileNotFoundError):
            if self.is_local:
                Path(self._path(source)).replace(self._path(target))
            else:
                self.fs.mv(self._path(source), self._path(target))

    def _remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self.fs.rm_file(self._path(path))

    def _remove_folder(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self.fs.rm(self._path(path), recursive=True)

    def _pending(self) -> dict[str, dict[str, Any]]:
        """The records of commits that are not done, by name, the oldest first."""
        pending = {}
        for name in self._names(COMMITS):
            if name.endswith(PENDING):
                try:
                    with self._open(COMMITS, name) as file:
                        pending[name.removesuffix(PENDING)] = json.load(file)
                except FileNotFoundError:  # done just now
                    continue
        return pending

    # ---- rows

    def _staged_inputs(self, path: str) -> Any:
        with self._open(path) as file:
            return stages.staged_inputs(file)

    def _staged_lines(self, path: str) -> int:
        return stages.staged_lines(self._staged_inputs(path))

    def _staged_incidents(self, path: str) -> Iterator[Any]:
        with self._open(path) as file:
            yield from stages.staged_incidents(file)

    def _added(self, table: str, staged: Iterable[str], origin: dict[str, str]) -> Iterator[Any]:
        """The rows that tasks staged, of the files that are theirs."""
        for path in staged:
            if table == INCIDENTS:
                batches: Iterable[Any] = self._staged_incidents(path)
            else:
                batches = self._staged_inputs(path).to_batches()
            for batch in batches:
                yield stages.filtered(batch, [origin.get(file) == path for file in _containers(batch)])

    def _kept(self, part: str, gone: set[str]) -> Iterator[Any]:
        """The rows of a part, without those of the files that are gone."""
        if not self.fs.exists(self._path(part)):
            return
        with self._open(part) as file:
            for batch in load("pyarrow.parquet").ParquetFile(file).iter_batches(_ROWS_AT_ONCE):
                yield stages.filtered(batch, [name not in gone for name in _containers(batch)])

    def _write_part(self, table: str, batches: Iterable[Any], path: str) -> bool:
        """Write the rows of some batches as Parquet, in bounded memory; nothing where there are none."""
        pa, parquet = load("pyarrow"), load("pyarrow.parquet")
        columns = schema.arrow_schema(schema.TABLES[table])
        groups = (pa.Table.from_batches(group).cast(columns) for group in stages.row_groups(batches))
        first = next(groups, None)
        if first is None:
            return False
        texts = {"report", "verdict", "action", "reason", "shape"}
        names = [column.name for column in columns if column.name not in texts]
        with (
            self._put(path) as file,
            parquet.ParquetWriter(file, columns, compression="zstd", use_dictionary=names) as writer,
        ):
            writer.write_table(first)
            for group in groups:
                writer.write_table(group)
        return True


def _rows(table: Any, columns: Sequence[str]) -> Iterator[Row]:
    """The rows of a `pyarrow.Table`, of some columns."""
    for row in zip(*(table.column(name).to_pylist() for name in columns), strict=True):
        yield dict(zip(columns, row, strict=True))


def _containers(batch: Any) -> list[str]:
    return [container(source) for source in batch.column("source").to_pylist()]


def _know(known: dict[str, KnownFile], row: Row, part: str) -> None:
    """Note what a row of the table of inputs says of its file; of an archive's members each says it."""
    size = None if MEMBER in row["source"] else row["size"]
    known[container(row["source"])] = KnownFile(
        size, row["mtime"], row["etag"] or "", row["scan"] or "", part, row["status"], row["reason"] or ""
    )


def read(
    url: str,
    table: str = INCIDENTS,
    options: StorageOptions | None = None,
    columns: Sequence[str] | None = None,
) -> Any:
    """A table of a folder of scans as a `dask.dataframe`. Raises UnreadableInput, MissingExtra.

    >>> failures = tfmemlens.fleet.read("failures")  # doctest: +SKIP
    >>> failures.groupby("signature").job.nunique().nlargest(10).compute()  # doctest: +SKIP
    """
    frames = load("dask.dataframe")
    store = Store(url, options)
    files = store.files(table)
    if not files:
        return frames.from_pandas(store.table(table, columns).to_pandas(), npartitions=1)
    urls = files if store.is_local else [store.fs.unstrip_protocol(file) for file in files]
    return frames.read_parquet(urls, columns=columns, storage_options=dict(options or {}))
