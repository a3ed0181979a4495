"""Flags in, exit code out. Results to stdout, progress and errors to stderr.

Exit code: 0 done; 1 something the user can fix; 2 our own fault; 3 done, but too much was rejected;
130 stopped with Ctrl-C; 141 whoever read our output has left.
"""

import argparse
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

import orjson

from tracemortem import __version__
from tracemortem.errors import SettingError, TracemortemError
from tracemortem.settings import Settings

DONE, USERS_TO_FIX, OUR_FAULT, TOO_MANY_REJECTS = 0, 1, 2, 3
STOPPED, READER_LEFT = 130, 141  # as the shell says it of a program that SIGINT or SIGPIPE ended


class _Parser(argparse.ArgumentParser):
    """argparse that fails in four lines and with the exit code of something the user can fix."""

    def error(self, message: str) -> NoReturn:
        raise SettingError(
            message,
            where=f"{self.prog}, on the command line",
            why="the command cannot be understood",
            fix=f"see {self.prog} --help",
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    with _interrupts() as stopped:
        try:
            given = _parser().parse_args(arguments)
            command: Callable[[argparse.Namespace], int] = given.command
            code = command(given)
            sys.stdout.flush()  # here, where it is known what to do if the reader has left
        except BrokenPipeError:  # nobody is there to be told; what is buffered must still go somewhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return READER_LEFT
        except KeyboardInterrupt:
            return _say_stopped()
        except Exception as error:  # the last resort: what is not the user's is ours, and is said to be
            # a query that is interrupted fails in words of its own
            return _say_stopped() if stopped.is_set() else _say_failed(error)
    return code


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Notes that Ctrl-C was pressed, besides what Python does of it, unless somebody else looks after it."""
    stopped = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        stopped.set()
        signal.default_int_handler(number, frame)

    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if is_ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield stopped
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _say_stopped() -> int:
    sys.stderr.write("tracemortem: stopped; nothing half-written is left behind\n")
    return STOPPED


def _say_failed(error: Exception) -> int:
    if isinstance(error, TracemortemError):
        sys.stderr.write(f"tracemortem: {error}\n")
        return USERS_TO_FIX
    sys.stderr.write(f"tracemortem {__version__}: this is our own fault, please report it:\n")
    traceback.print_exception(error)
    return OUR_FAULT


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="tracemortem", description="Postmortems of LLM-serving incidents, from files.")
    parser.add_argument("--version", action="version", version=f"tracemortem {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    postmortem = commands.add_parser("postmortem", help="ingest, detect, explain, report: the main job")
    _reading(postmortem)
    postmortem.add_argument("--out", required=True, metavar="DIR", help="folder for the report")
    postmortem.add_argument("--from", dest="time_from", metavar="TIME", help="leave out requests before")
    postmortem.add_argument("--to", dest="time_to", metavar="TIME", help="leave out requests from then on")
    postmortem.add_argument("--window", metavar="FROM/TO", help="diagnose this window in any case")
    postmortem.add_argument("--baseline", metavar="FROM/TO", help="compare incidents with this time")
    _known(postmortem)
    postmortem.set_defaults(command=_postmortem)

    ingest = commands.add_parser(
        "ingest", help="only load; running it again on the same files changes nothing"
    )
    _reading(ingest)
    ingest.set_defaults(command=_ingest)

    daily = commands.add_parser(
        "daily", help="load new files, then report every day that is not reported yet"
    )
    _reading(daily, inputs="*")
    daily.add_argument("--out", required=True, metavar="DIR", help="folder for the reports, one a day")
    daily.add_argument(
        "--day", metavar="YYYY-MM-DD", help="this day alone (UTC), reported or not, over or not"
    )
    _known(daily)
    daily.add_argument("--export", metavar="FILE", help="a second DuckDB file, with all facts in it")
    daily.set_defaults(command=_daily)

    inspect = commands.add_parser("inspect", help="what each file is, rows, rejects, time span, first rows")
    _finding(inspect)
    inspect.add_argument("--json", action="store_true", help="one JSON object a file")
    inspect.set_defaults(command=_inspect)

    formats = commands.add_parser("formats", help="the formats known, and what each one reads")
    formats.add_argument("--formats", metavar="DIR", help="access-log formats of your own, besides")
    formats.add_argument("--json", action="store_true", help="one JSON object a format")
    formats.set_defaults(command=_formats)

    what_if = commands.add_parser("what-if", help="what a policy would have done, by replay")
    what_if.add_argument("--db", required=True, metavar="FILE", help="a DuckDB file that a postmortem wrote")
    what_if.add_argument("--incident", required=True, metavar="ID", help="its id in report.json")
    what_if.add_argument(
        "--policy", action="append", default=[], metavar="FILE", help="a policy of your own, in YAML"
    )
    what_if.add_argument("--objective", metavar="p99=TIME", help="what the P99 was to stay under, as p99=2s")
    what_if.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="set a threshold")
    what_if.add_argument("--prefect", action="store_true", help="run as a Prefect flow")
    what_if.add_argument("--json", action="store_true", help="one JSON object")
    what_if.set_defaults(command=_what_if)

    site = commands.add_parser("site", help="a static site of all days and incidents, with their reports")
    site.add_argument("--db", required=True, metavar="FILE", help="a DuckDB file that a postmortem wrote")
    site.add_argument("--out", required=True, metavar="DIR", help="folder for the site")
    site.add_argument("--quiet", action="store_true", help="do not say where it is")
    site.set_defaults(command=_site)

    sql = commands.add_parser("sql", help="a read-only, locked-down query")
    sql.add_argument("file", metavar="FILE", help="a DuckDB file that tracemortem wrote")
    sql.add_argument("query", metavar="QUERY", help="one SELECT")
    sql.add_argument("--json", action="store_true", help="one JSON object a row")
    sql.set_defaults(command=_sql)
    return parser


def _reading(parser: argparse.ArgumentParser, inputs: str = "+") -> None:
    """The options of every command that loads; inputs: how many, as argparse says it.

    With "*", none at all may be given, and there must be a file that has some already.
    """
    _finding(parser, inputs)
    parser.add_argument(
        "--db", required=inputs == "*", metavar="FILE", help="the DuckDB file that readers open"
    )
    parser.add_argument(
        "--trusted-proxies", default="", metavar="CIDR,...", help="whose X-Forwarded-For counts"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="set a threshold")
    parser.add_argument("--max-rejects", type=float, default=0.01, metavar="SHARE", help="default 0.01")
    parser.add_argument("--prefect", action="store_true", help="run as a Prefect flow")
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")
    parser.add_argument("--json", action="store_true", help="progress and result as JSON lines on stdout")


def _known(parser: argparse.ArgumentParser) -> None:
    """What people know that no file says: the options of every command that looks for incidents."""
    parser.add_argument("--annotations", metavar="FILE", help="what you know of incidents: a YAML file")
    parser.add_argument("--objective", metavar="p99=TIME", help="what the P99 is to stay under, as p99=2s")


def _finding(parser: argparse.ArgumentParser, inputs: str = "+") -> None:
    """What is read, and what is told of it: the options of every command that reads files."""
    parser.add_argument("inputs", nargs=inputs, metavar="INPUT", help="file, folder or glob")
    parser.add_argument("--tz", default="UTC", metavar="ZONE", help="time zone for what people read")
    parser.add_argument("--start", metavar="TIME", help="first sample, for files whose samples have no time")
    parser.add_argument("--every", type=float, metavar="SECONDS", help="from one such sample to the next")
    parser.add_argument("--formats", metavar="DIR", help="access-log formats of your own, a YAML file each")


def _settings(given: argparse.Namespace) -> Settings:
    return Settings(
        inputs=tuple(given.inputs),
        out=getattr(given, "out", None),
        db=given.db,
        time_from=getattr(given, "time_from", None),
        time_to=getattr(given, "time_to", None),
        window=getattr(given, "window", None),
        baseline=getattr(given, "baseline", None),
        timezone=given.tz,
        start=given.start,
        every_s=given.every,
        formats=given.formats,
        annotations=getattr(given, "annotations", None),
        objective=getattr(given, "objective", None),
        day=getattr(given, "day", None),
        export=getattr(given, "export", None),
        trusted_proxies=given.trusted_proxies,
        overrides=tuple(given.set),
        max_rejects=given.max_rejects,
    ).checked()


def _postmortem(given: argparse.Namespace) -> int:
    return _run("postmortem", given)


def _daily(given: argparse.Namespace) -> int:
    return _run("daily", given)


def _ingest(given: argparse.Namespace) -> int:
    return _run("ingest", given)


def _run(name: str, given: argparse.Namespace) -> int:
    """One of the jobs that load, plainly or as a Prefect flow, and its summary."""
    from tracemortem import pipeline, progress

    settings = _settings(given)
    listener: progress.Listener = progress.Silence()
    if given.quiet:
        os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    elif given.json:
        listener = progress.Lines()
    elif sys.stderr.isatty():
        listener = progress.Bars()
    with progress.told_to(listener):
        if given.prefect or os.environ.get("PREFECT_API_URL"):
            from tracemortem.flows import jobs

            outcome = getattr(jobs, name)(settings)
        else:
            outcome = getattr(pipeline, name)(settings)
    if given.json:
        _say({"event": "result", **outcome.summary()})
    elif not given.quiet:
        sys.stdout.write(outcome.text() + "\n")
        for warning in outcome.warnings:
            sys.stderr.write(f"tracemortem: {warning}\n")
    if outcome.rejected_share <= settings.max_rejects:
        return DONE
    sys.stderr.write(
        f"tracemortem: {outcome.rejected_share:.2%} of the records were rejected, "
        f"more than --max-rejects {settings.max_rejects:.2%}; meta.reject lists each with its reason\n"
    )
    return TOO_MANY_REJECTS


def _inspect(given: argparse.Namespace) -> int:
    from tracemortem import pipeline

    settings = Settings(
        tuple(given.inputs), timezone=given.tz, start=given.start, every_s=given.every, formats=given.formats
    )
    for found in pipeline.inspect(settings):
        if given.json:
            _say(found.summary())
        else:
            sys.stdout.write(found.text() + "\n")
    return DONE


def _formats(given: argparse.Namespace) -> int:
    from tracemortem import pipeline

    for known in pipeline.formats(given.formats):
        if given.json:
            _say(known)
        else:
            sys.stdout.write(f"{known['format']:<24} {known['reads']:<10} {known['title']}\n")
    return DONE


def _what_if(given: argparse.Namespace) -> int:
    from tracemortem import pipeline

    settings = Settings((), db=given.db, objective=given.objective, overrides=tuple(given.set))
    asked = settings, given.incident, tuple(given.policy)
    if given.prefect or os.environ.get("PREFECT_API_URL"):
        from tracemortem.flows import jobs

        sys.stdout.write(jobs.what_if(*asked, as_json=given.json))
    else:
        sys.stdout.write(pipeline.policies(*asked, as_json=given.json))
    return DONE


def _site(given: argparse.Namespace) -> int:
    from tracemortem import pipeline

    first = pipeline.site(Settings((), db=given.db, out=given.out))
    if not given.quiet:
        sys.stdout.write(f"Site: {first}\n")
    return DONE


def _sql(given: argparse.Namespace) -> int:
    from tracemortem import pipeline

    sys.stdout.write(pipeline.query(given.file, given.query, as_json=given.json))
    return DONE


def _say(what: Mapping[str, Any]) -> None:
    sys.stdout.write(orjson.dumps(what).decode() + "\n")
