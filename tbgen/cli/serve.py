"""``tbgen serve``: the page of the explorer, and values, moves and lines of positions over HTTP."""

import webbrowser
from pathlib import Path
from threading import Thread
from typing import Annotated, Final

from tbgen.beyond.budget import Budget
from tbgen.board.variant import Variant
from tbgen.cli.options import Directory, Setting, Size, TableDirectories, Time, WholeNumber, command
from tbgen.cli.streams import say
from tbgen.errors import NoTablesError, UsageError
from tbgen.probe.tablebase import open_tablebase
from tbgen.system.files import check_target
from tbgen.text import counted

_NO_ENGINE: Final = "off"
"""Value of --engine that turns the engine off."""


@command
def run(
    *,
    directories: TableDirectories,
    host: Annotated[str, Setting(metavar="HOST")] = "127.0.0.1",
    port: Annotated[int, WholeNumber(0, 65535), Setting(metavar="N")] = 8042,
    workers: Annotated[int, WholeNumber(1, 64), Setting(metavar="N")] = 1,
    limit: Annotated[int, WholeNumber(0, 10_000), Setting(metavar="PERCENT")] = 50,
    report: Directory | None,
    solve_time: Time | None,
    solve_memory: Size = 4 << 30,
    engine: Annotated[str | None, Setting(metavar="COMMAND")],
    engine_time: Time = 1.0,
    live: Annotated[Path | None, Setting(metavar="EVENT.pgn")],
    check: bool,
    in_browser: Annotated[bool, Setting("--open")],
) -> None:
    """Serve a page for exploring positions, and an HTTP API for their values.

    The API returns values, moves, best play, statistics of tables and the accrued score of games, as JSON
    modelled on the Lichess tablebase API (docs/web.md). The server reads the tables for both variants.
    Without --host it accepts connections from this machine only; docs/deploy.md explains how to serve other
    machines. It runs until Ctrl-C or SIGTERM, and then ends with exit code 0. It needs no standard streams.

    \b
    For example:
      tbgen serve --open
      tbgen serve --report site
      tbgen serve --dir data /mnt/more --port 8000
      curl "http://127.0.0.1:8042/r?fen=8/8/8/4KBk1/8/8/8/8_b"

    :param directories: directories of the tables, searched in this order (default: $TBGEN_DIR, else data)
    :param host: address to listen on (default: 127.0.0.1, this machine only)
    :param port: port to listen on, 0 for any free port (default: 8042)
    :param workers: number of processes that answer requests (default: 1)
    :param limit: percentage of a processor that one client may use on average, in each process; a client that
        has paused may use up to a minute of processor time at once; 0 for no limit (default: 50)
    :param report: serve a site written by tbgen report at /report/, with links from its diagrams to the page
    :param solve_time: solve positions that no table holds, for the page and for /r/solve, one at a time, for
        at most TIME each, such as 60s (default: no solving)
    :param solve_memory: memory for solving (default: 4G)
    :param engine: UCI engine that plays on the page where no table holds the position, one move at a time, in
        its own process; off for no engine (default: tbgen engine)
    :param engine_time: time for each move of the engine (default: 1s)
    :param live: show, at /live, the event that tbgen match writes to this PGN file
    :param check: compare each table with its digest when its file is opened, which reads the whole file
    :param in_browser: open the page in a browser
    """
    from tbgen.uci.process import find_command
    from tbgen.web.configuration import Settings
    from tbgen.web.server import serve

    table_directories = directories or []
    tables_of = {variant: open_tablebase(*table_directories, rules=variant) for variant in Variant}
    if live is None and not any(tables.materials for tables in tables_of.values()):
        raise NoTablesError(tables_of[Variant.R_MOBILITY].directory)
    table_counts = " and ".join(
        f"{counted(len(tables.materials), 'table')} of {variant.label}"
        for variant, tables in tables_of.items()
        if tables.materials
    )
    if live is not None:
        check_target(live, remedy="name the PGN file of an event with --live")
    if report is not None and not (report / "index.html").is_file():
        raise UsageError(f"there is no report in {report}: write one with tbgen report --out {report}")

    engine_command = find_command(engine, (), None) if engine not in (None, _NO_ENGINE) else ()

    def announce(address: str) -> None:
        say(f"tbgen: {table_counts or 'no tables'} at {address}, until Ctrl-C")
        if in_browser:
            Thread(target=_open_page, args=(f"{address}/",), daemon=True).start()

    settings = Settings(
        tuple(directory.absolute() for directory in table_directories),
        report_directory=report and report.absolute(),
        live_file=live and live.absolute(),
        engine_command=engine_command,
        move_seconds=None if engine == _NO_ENGINE else engine_time,
        solve_budget=None if solve_time is None else Budget(solve_time, solve_memory),
        limit=limit / 100,
        check=check,
    )
    serve(settings, host, port, workers, announce)


def _open_page(address: str) -> None:
    """Open a page in a browser. This runs in a thread, because the server is not answering yet."""
    if not webbrowser.open(address):
        say(f"tbgen: no browser can be opened here; the page is at {address}")
