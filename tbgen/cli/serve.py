"""``tbgen serve``: a page about positions, and their values, moves and lines by HTTP."""

import argparse
import webbrowser
from pathlib import Path
from threading import Thread
from typing import Final

from tbgen.board.variant import Variant
from tbgen.cli.options import add_directories, whole_number
from tbgen.cli.streams import say
from tbgen.errors import NoTablesError, UsageError
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.solve.budget import Budget
from tbgen.text import counted, parse_duration, parse_size

_LOCAL: Final = "127.0.0.1"
_PORT: Final = 8042
_LIMIT: Final = 50
_MOST_WORKERS: Final = 64
_SOLVE_MEMORY: Final = "4G"

_DESCRIPTION = """\
Show positions on a page, and answer by HTTP what they are worth: values, moves, best play, statistics of
tables, and what a game has accrued, as JSON in the shape of the Lichess tablebase API (docs/web.md).
The tables for both rules are read where they lie. The server is reached from this machine only, unless --host
says otherwise, and runs until Ctrl-C or SIGTERM; docs/deploy.md says how to run it for others.
"""
_EPILOG = """\
examples:
  tbgen serve --open
  tbgen serve --report site
  tbgen serve --dir data /mnt/more --port 8000
  curl "http://127.0.0.1:8042/r?fen=8/8/8/4KBk1/8/8/8/8_b"
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    add_directories(parser)
    parser.add_argument(
        "--host", default=_LOCAL, help=f"address to listen at (default: {_LOCAL}, this machine only)"
    )
    parser.add_argument(
        "--port",
        type=whole_number(0, 65535),
        default=_PORT,
        metavar="N",
        help=f"port to listen at, 0 for any that is free (default: {_PORT})",
    )
    parser.add_argument(
        "--workers",
        type=whole_number(1, _MOST_WORKERS),
        default=1,
        metavar="N",
        help="processes that answer (default: 1)",
    )
    parser.add_argument(
        "--limit",
        type=whole_number(0, 10_000),
        default=_LIMIT,
        metavar="PERCENT",
        help="share of a processor that one client may use in the long run, in each process; after a pause a "
        f"minute of it at once; 0 for no limit (default: {_LIMIT})",
    )

    parser.add_argument(
        "--report",
        type=Path,
        metavar="DIR",
        help="site that tbgen report has written, to be shown at /report/ with links from its diagrams",
    )
    parser.add_argument(
        "--solve-time",
        metavar="TIME",
        help="let the page and /r/solve solve positions that no table holds, one at a time, each for at most "
        "TIME, such as 60s (default: none are solved)",
    )
    parser.add_argument(
        "--solve-memory",
        default=_SOLVE_MEMORY,
        metavar="SIZE",
        help=f"memory for that (default: {_SOLVE_MEMORY})",
    )
    parser.add_argument(
        "--live",
        type=Path,
        metavar="EVENT.pgn",
        help="show the event that tbgen match keeps in this PGN file, at /live",
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")


def run(arguments: argparse.Namespace) -> int:
    """Serve."""
    from tbgen.web.server import serve
    from tbgen.web.settings import Settings

    directories = tuple(directory.absolute() for directory in arguments.dir)
    numbers = {variant: len(_opened(arguments.dir, variant).materials) for variant in Variant}
    if not any(numbers.values()) and arguments.live is None:
        first = _opened(arguments.dir, Variant.R_MOBILITY).directory
        raise NoTablesError(first, arguments.dir[0] if arguments.dir else None)
    tables = " and ".join(
        f"{counted(number, 'table')} of {variant.label}" for variant, number in numbers.items() if number
    )

    def ready(address: str) -> None:
        say(f"tbgen: {tables or 'no tables'} at {address}, until Ctrl-C")
        if arguments.open:
            Thread(target=_open, args=(f"{address}/",), daemon=True).start()

    time, memory = arguments.solve_time, parse_size(arguments.solve_memory)
    settings = Settings(
        directories,
        report=_report_in(arguments.report),
        live=arguments.live and arguments.live.absolute(),
        solve=None if time is None else Budget(parse_duration(time), memory),
        limit=arguments.limit / 100,
    )
    serve(settings, arguments.host, arguments.port, arguments.workers, ready)
    return 0


def _report_in(directory: Path | None) -> Path | None:
    """Return where a report is.

    :raises UsageError: if there is none.
    """
    if directory is not None and not (directory / "index.html").is_file():
        raise UsageError(f"there is no report in {directory}: write one with tbgen report --out {directory}")
    return directory and directory.absolute()


def _open(address: str) -> None:
    """Open a page in a browser; the server waits with its answer until it has started."""
    if not webbrowser.open(address):
        say(f"tbgen: no browser can be opened here; the page is at {address}")


def _opened(directories: list[Path], variant: Variant) -> Tablebase:
    return open_tablebase(*directories, rules=variant)
