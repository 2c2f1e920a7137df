"""Read the failures in many logs into a folder of Parquet files: only what is new or has changed."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tfmemlens import progress
from tfmemlens.cli import _options
from tfmemlens.errors import TfmemlensError, UsageError

EXAMPLES = """examples:
  tfmemlens fleet scan logs/ -o failures
  tfmemlens fleet scan 's3://logs/jobs/**/*.gz' -o s3://logs/failures --job-pattern 'jobs/(?P<job>[^/]+)/'
  tfmemlens fleet scan 'gs://logs/2026-11-*' -o failures --since 7d --scheduler tcp://scheduler:8786
  find /logs -name '*.out' | tfmemlens fleet scan - -o failures
exit status: 0 read (some files may be unreadable), 2 cut short or usage, 130 interrupted"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        nargs="*",
        help="files, folders, globs, archives; any URL that fsspec opens (s3://, gs://, hdfs://, https://);"
        " - reads a list of them",
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="DIR",
        help="folder or URL of the tables; used again, it grows",
    )
    parser.add_argument(
        "--list", metavar="FILE", help="a file that names sources, one a line; - is standard input"
    )
    parser.add_argument(
        "--job-pattern",
        metavar="REGEX",
        help="searched in each source; its named groups team, job, rank and host fill these columns,"
        " others labels"
        " (default: that of the scan before)",
    )
    chosen = parser.add_argument_group("what is read")
    chosen.add_argument(
        "--since", metavar="WHEN", help="leave out what was last changed before: 7d, 12h, 2w or 2026-11-01"
    )
    chosen.add_argument(
        "--rescan",
        nargs="?",
        const="all",
        choices=("all", "unreadable"),
        help="read again what did not change: all of it, or what was unreadable",
    )
    limits = parser.add_argument_group("limits for a file")
    limits.add_argument(
        "--time-limit",
        type=_options.seconds,
        default=300.0,
        metavar="SECONDS",
        help="then it is given up (default 300)",
    )
    limits.add_argument(
        "--memory-limit",
        type=_options.size,
        default=1 << 30,
        metavar="SIZE",
        help="memory of the process that reads it (default 1GiB)",
    )
    limits.add_argument(
        "--limit-content",
        type=_options.size,
        default=4 << 30,
        metavar="SIZE",
        help="read this much of what is compressed or in an archive (default 4GiB)",
    )
    limits.add_argument(
        "--retries", type=_options.whole, default=4, metavar="N", help="when the storage fails (default 4)"
    )
    group = parser.add_argument_group("where it runs")
    where = group.add_mutually_exclusive_group()
    where.add_argument(
        "--workers", type=_options.count, metavar="N", help="processes on this machine (default: one a core)"
    )
    where.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="a Dask scheduler, tcp://host:8786 (default: the configured one, or this machine)",
    )
    _options.add_storage(group)
    _options.add_form(parser, "fleet_scan")


def run(args: argparse.Namespace) -> int:
    from tfmemlens.fleet.reader import Limits
    from tfmemlens.fleet.scanning import scan
    from tfmemlens.model.scan_summary import ScanSummary
    from tfmemlens.renderers.terminal.fleet_scan import progress_line

    last = ScanSummary(args.output)

    def told(summary: ScanSummary) -> None:
        nonlocal last
        last = summary
        progress.line(progress_line(summary))

    options = _options.storage(args)
    try:
        scan(
            list(_sources(args)),
            args.output,
            scheduler=args.scheduler,
            workers=args.workers,
            job_pattern=args.job_pattern,
            since=args.since,
            rescan=args.rescan or False,
            limits=Limits(args.time_limit, args.memory_limit, args.retries),
            limit_read=args.limit_content,
            storage_options=options,
            out_options=options if "://" in args.output else None,
            told=told,
            connected=_say_where,
        )
    except KeyboardInterrupt:
        last.stopped = "interrupted"
        _options.show(last, args, "fleet_scan")
        return 130
    except TfmemlensError as problem:
        if last.files:
            last.stopped = problem.sentence
            _options.show(last, args, "fleet_scan")
        raise
    _options.show(last, args, "fleet_scan")
    return 0


def _say_where(client: Any) -> None:
    """Where the scan can be watched."""
    from tfmemlens.fleet import engine

    progress.done()
    workers = len(client.nthreads())
    print(
        f"{workers} {'worker' if workers == 1 else 'workers'}; Dask's dashboard: {engine.dashboard(client)}",
        file=sys.stderr,
    )


def _sources(args: argparse.Namespace) -> Any:
    """What the words and the list name. Raises UsageError."""
    from tfmemlens.fleet import sources

    if not args.source and not args.list:
        raise UsageError("no source to scan", "tfmemlens fleet scan logs/ -o failures")
    for source in (*args.source, *([f"list:{args.list}"] if args.list else [])):
        if source in ("-", "list:-"):
            yield from sources.read_list(sys.stdin)
        elif source.startswith("list:"):
            try:
                with open(args.list, encoding="utf-8", errors="surrogateescape") as file:
                    yield from sources.read_list(file)
            except OSError as problem:
                raise UsageError(
                    f"{args.list} cannot be read: {problem.strerror}", "check the path"
                ) from None
        else:
            yield source
