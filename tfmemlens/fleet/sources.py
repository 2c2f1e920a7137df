"""What there is to read: files behind any URL that fsspec opens, as their storage lists them."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from tfmemlens.errors import MissingExtra, MissingInput, TfmemlensError, UnreadableInput, UsageError
from tfmemlens.fleet.extras import load
from tfmemlens.patterns import regex
from tfmemlens.readers import catalogue
from tfmemlens.readers.formats.run_record import KEY
from tfmemlens.values import dataclass, field

MEMBER = "!/"
"""Stands between an archive and its member in the name of a source; in the path of a file its `!` is written
`%21`, so that a name has one meaning.
"""
OWN_COLUMNS = ("team", "job", "rank", "host")
"""Groups of a job pattern that have a column of their own."""
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "modified", "Last-Modified", "modify")
_MARKS = ("ETag", "etag", "md5Hash", "content_md5", "generation")
_PASSWORD = regex(r"(\A\w+://[^/@:]*):[^/@]*@")
_RECORD, LOG = "run.json", "log.txt"
"""What lies in every bundle of `tfmemlens run`."""

_PACKAGES = (
    dict.fromkeys(("s3", "s3a"), "tfmemlens[s3]")
    | dict.fromkeys(("gs", "gcs"), "tfmemlens[gcs]")
    | dict.fromkeys(("http", "https"), "tfmemlens[http]")
    | dict.fromkeys(("sftp", "ssh"), "paramiko")
)

StorageOptions = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that a scan wrote, with fsspec's options for the storage that it lies in."""

    url: str
    options: StorageOptions = field(default_factory=dict)

    def __fspath__(self) -> str:
        return self.url


@dataclass(frozen=True, slots=True)
class Listed:
    """One input as its storage lists it: a file, an archive, or a bundle of `tfmemlens run`."""

    source: str
    """Its name in the tables: an absolute path, or a URL."""
    url: str
    """What fsspec opens; the folder of a bundle."""
    size: int | None
    """Bytes in storage; None where that is not known."""
    mtime: datetime | None
    """When it was last changed, in UTC without a zone; None where the storage does not say."""
    etag: str
    """The storage's own mark of this content, empty where there is none."""
    is_bundle: bool = False

    @property
    def mark(self) -> str:
        """What the rows of its members say of it, where it is an archive."""
        return self.etag or f"archive of {self.size} bytes"

    def is_as(self, size: int | None, mtime: datetime | None, etag: str) -> bool:
        """Whether it still is what its row says (of an archive, those of its members: they have no size of
        it), as far as its storage can tell; not when that tells nothing.
        """
        if size is None:
            return (self.mark, self.mtime) == (etag, mtime) and bool(self.etag or self.mtime)
        if self.etag or etag:
            return (self.etag, self.size) == (etag, size)
        return self.mtime is not None and (self.mtime, self.size) == (mtime, size)


@dataclass
class Listing:
    """All that was found, each once, in the order of the sources, and what could not be listed."""

    inputs: list[Listed] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def find(sources: Iterable[str], options: StorageOptions, without: str = "") -> Listing:
    """The inputs of files, folders and globs; nothing below the folder `without`, which is ours. Raises
    UnreadableInput, MissingInput, MissingExtra.
    """
    listing = Listing()
    seen: set[str] = set()
    for source in sources:
        for listed in _of(source, options, listing.problems):
            inside = without and f"{listed.source}/".startswith(f"{without.rstrip('/')}/")
            if listed.source not in seen and not inside:
                seen.add(listed.source)
                listing.inputs.append(listed)
    if not listing.inputs:
        raise UnreadableInput(
            "the sources hold no files", "name files, folders or globs, such as 's3://bucket/jobs/**/*.log'"
        )
    return listing


def file_system(url: str, options: StorageOptions) -> tuple[Any, str]:
    """The file system that a URL names, and the path in it. Raises UsageError, MissingExtra."""
    try:
        fs, path = load("fsspec.core").url_to_fs(url, **options)
    except ImportError as missing:
        scheme = url.partition(":")[0]
        package = _PACKAGES.get(scheme, f"the packages that fsspec needs for {scheme}://")
        raise MissingExtra(f"this needs more ({missing})", f"pip install {package}") from missing
    except ValueError as problem:
        raise UsageError(f"{url} cannot be opened: {problem}", "paths and URLs that fsspec knows") from None
    return fs, path


@contextmanager
def storage_errors() -> Iterator[None]:
    """Raises OSError for what the driver of a storage raises, too: each has classes of its own, such as
    botocore's for credentials that are missing. Python's own and pyarrow's stay what they are.
    """
    try:
        yield
    except (OSError, TfmemlensError):
        raise
    except Exception as problem:
        package = type(problem).__module__.partition(".")[0]
        if package in ("tfmemlens", "pyarrow") or package in sys.stdlib_module_names:
            raise
        raise OSError(f"{type(problem).__name__}: {problem}") from problem


def name_of(url: str, fs: Any, path: str) -> str:
    """What opens a file again: local ones their absolute path, others their URL, with the machine where the
    path alone does not tell it (ftp, sftp, hdfs).
    """
    if "::" in url:
        first, _, rest = url.partition("::")
        scheme, is_url, _ = first.partition("://")
        return f"{scheme}://{path}::{rest}" if is_url else f"{first}::{name_of(rest, fs, path)}"
    if is_local(fs):
        return path
    if "host" in type(fs)._get_kwargs_from_urls(url):
        scheme, _, rest = url.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}/{path.lstrip('/')}"
    return str(fs.unstrip_protocol(path))


def as_source(url: str) -> str:
    """A path or URL as the tables name it: without a password, and bytes that are no letters are written
    out.
    """
    return as_text(_PASSWORD.sub(r"\1@", url.replace(MEMBER, "%21/")))


def as_text(name: str) -> str:
    r"""A name without halves of letters, which Python makes of bytes that are no UTF-8: `\udce9`."""
    return name.encode("utf-8", "backslashreplace").decode()


def is_local(fs: Any) -> bool:
    """Whether a file system is that of this machine."""
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol
    return "file" in protocols


def _of(source: str, options: StorageOptions, problems: list[str]) -> Iterator[Listed]:
    fs, path = file_system(source, options)
    try:
        with storage_errors():
            entries, is_named = _entries(fs, path, problems)
            files = list(_listed(fs, source, entries, is_named))
    except FileNotFoundError:
        raise MissingInput(source, "check the path; put a glob into quotes") from None
    except PermissionError as problem:
        raise UnreadableInput(f"{source} may not be listed: {problem}", "check your credentials") from None
    except OSError as problem:
        raise UnreadableInput(
            f"{source} cannot be listed: {problem}", "check the address and your credentials"
        ) from None
    yield from files


def _entries(fs: Any, path: str, problems: list[str]) -> tuple[dict[str, Mapping[str, Any]], bool]:
    """What fsspec says of each file, by path, and whether the user named one file."""
    if _is_glob(path) and not fs.exists(path):
        matches = dict(sorted(fs.glob(path, detail=True).items()))
        if not matches:
            raise FileNotFoundError(path)
    else:
        matches = {path: fs.info(path)}
        if path.endswith("/") and fs.isdir(path):  # a page of the web that lists files
            matches[path]["type"] = "directory"
        if matches[path]["type"] != "directory":
            return matches, True
    entries: dict[str, Mapping[str, Any]] = {}
    for name, info in matches.items():
        if info["type"] == "directory":
            entries.update(_below(fs, name, problems))
        elif info["type"] == "file":
            entries[name] = info
    return {name: _whole(fs, name, info) for name, info in entries.items()}, False


def _whole(fs: Any, name: str, info: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a storage says of a file, asked for the file alone where its list has no sizes, as on the web."""
    if info.get("size") is not None:
        return info
    with suppress(OSError):
        return {**info, **fs.info(name), "type": "file"}
    return info


def _is_glob(path: str) -> bool:
    """A `?` in an address of the web begins a query."""
    return "*" in path or "[" in path or ("?" in path and not path.startswith(("http:", "https:")))


def _below(fs: Any, folder: str, problems: list[str]) -> dict[str, Mapping[str, Any]]:
    """The files of a folder and its folders by name, without hidden ones and what formats have beside them:
    a folder that is closed to us is a problem to tell, and no end.
    """
    if is_local(fs):
        walked = os.walk(folder, onerror=lambda error: problems.append(f"not listed: {error}"))
        paths = [os.path.join(place, name) for place, _, names in walked for name in names]
        entries = {path: fs.info(path) for path in sorted(filter(os.path.isfile, paths))}
    else:
        entries = dict(sorted(fs.find(folder, detail=True).items()))
    passed_over = catalogue.passed_over()
    return {
        path: info
        for path, info in entries.items()
        if not path.endswith(passed_over) and "/." not in path[len(folder) :] and info["type"] == "file"
    }


def _listed(
    fs: Any, source: str, entries: Mapping[str, Mapping[str, Any]], is_named: bool
) -> Iterator[Listed]:
    folders = {} if is_named else _bundles(fs, entries)
    bundles: dict[str, list[Mapping[str, Any]]] = {}
    for path, info in entries.items():
        folder = next((each for each in _above(path) if each in folders), None)
        if folder is None:
            url = name_of(source, fs, path)
            yield Listed(as_source(url), url, info.get("size"), _time(info), _mark(info))
        else:
            bundles.setdefault(folder, []).append({**info, "name": path})
    for folder, files in bundles.items():
        url = name_of(source, fs, folder)
        sizes, times = [each.get("size") or 0 for each in files], [_time(each) for each in files]
        marks = [
            f"{each['name'][len(folder) :]} {each.get('size')} {_time(each)} {_mark(each)}" for each in files
        ]
        etag = hashlib.sha1("\n".join(sorted(marks)).encode("utf-8", "replace")).hexdigest()
        mtime = max((time for time in times if time), default=None)
        yield Listed(as_source(url), url, sum(sizes), mtime, etag, is_bundle=True)


def _above(path: str) -> Iterator[str]:
    """The folders that a file lies in, the outermost first."""
    at = path.find("/", 1)
    while at > 0:
        yield path[:at]
        at = path.find("/", at + 1)


def _bundles(fs: Any, entries: Mapping[str, Any]) -> set[str]:
    """Folders that `tfmemlens run` wrote: they hold a log, and a record with our key."""
    suspects = [path.rpartition("/")[0] for path in entries if path.endswith(f"/{_RECORD}")]
    return {
        folder
        for folder in suspects
        if f"{folder}/{LOG}" in entries and KEY.encode() in fs.cat_file(f"{folder}/{_RECORD}", end=200)
    }


def _time(info: Mapping[str, Any]) -> datetime | None:
    """When an entry was last changed, in UTC without a zone."""
    value = next((info[key] for key in _TIMES if info.get(key) is not None), None)
    try:
        if isinstance(value, int | float):
            value = datetime.fromtimestamp(value, timezone.utc)
        if isinstance(value, str):
            value = _parsed(value)
    except (ValueError, OverflowError, OSError):
        return None
    if not isinstance(value, datetime):
        return None
    return value.astimezone(timezone.utc).replace(tzinfo=None) if value.tzinfo else value


def _mark(info: Mapping[str, Any]) -> str:
    return str(next((info[key] for key in _MARKS if info.get(key)), "")).strip('"')


def _parsed(text: str) -> datetime:
    """A date as ISO 8601 writes it (Python 3.10 does not know `Z`), as HTTP does, or FTP. Raises
    ValueError.
    """
    if "," in text:
        return parsedate_to_datetime(text)
    if re.fullmatch(r"\d{14}(?:\.\d+)?", text):
        return datetime.strptime(text[:14], "%Y%m%d%H%M%S")  # in UTC, which is meant
    return datetime.fromisoformat(re.sub(r"[Zz]\Z", "+00:00", text.strip()))


def job_columns(pattern: str | None) -> Callable[[str], dict[str, Any]]:
    """What the columns `team`, `job`, `rank`, `host` and `labels` hold for a source: the named groups of the
    pattern, searched in its name; without a group `job`, the folder of the source. Raises UsageError.
    """
    try:
        compiled = regex(pattern or "")
        compiled.search("")
    except re.error as problem:
        raise UsageError(
            f"--job-pattern {pattern!r} is no regular expression: {problem}",
            "'jobs/(?P<team>[^/]+)/(?P<job>[^/]+)/' names the columns of jobs/vision/unet-17/log.txt",
        ) from None

    def columns(source: str) -> dict[str, Any]:
        match = compiled.search(source)
        groups = {name: text for name, text in (match.groupdict() if match else {}).items() if text}
        own: dict[str, Any] = {name: groups.pop(name, None) for name in OWN_COLUMNS}
        own["job"] = own["job"] or source.rpartition("/")[0].rstrip("!") or None
        return own | {"labels": groups or None}

    return columns


def read_list(lines: Iterable[str]) -> list[str]:
    """The sources that a file names, one a line; empty lines and those that begin with `#` name none."""
    stripped = (line.strip() for line in lines)
    return [line for line in stripped if line and not line.startswith("#")]
