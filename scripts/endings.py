#!/usr/bin/env python3
"""Write docs/endings.md, the endings of TCEC's stopped draws with the most surprising values.

    scripts/endings.py

The page and its pictures are made from the data in docs/endings; the same data give the same bytes. The data
come from the results of the benchmark of stopped games (benchmarks/README.md):

    scripts/endings.py --results proved.jsonl

This command also chooses among endings with more men than tables have, and saves the data of the page. The
surprise of an ending is the change of its exponential points that best play is proved to cause. It is the
difference between the points of the accrued score and the points of the nearest possible value.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import chess
import msgspec

from tbgen.beyond.lines import MAX_PLAN_PLIES, PlanMove
from tbgen.board.material import MAX_MEN
from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL, ScoreInterval
from tbgen.cli.solution import bound_picture
from tbgen.documents import Document, encoded
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.html.diagrams import board_words
from tbgen.system.files import write_file
from tbgen.text import counted, duration

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT / "docs" / "endings"
PAGE: Final = ROOT / "docs" / "endings.md"
MAX_ENDINGS: Final = 20
_BOUND_NAMES: Final = ("lower", "upper")


class Ply(msgspec.Struct, frozen=True):
    """A move of a line, and the accrued score after it."""

    uci: str
    accrued: GScore


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """A stopped draw and its proved bounds."""

    event: str
    fen: str
    accrued: GScore
    lower: GScore
    upper: GScore
    seconds: float
    """Seconds until the bounds were proved."""
    cells: int
    mobile: list[str]
    """Squares of the mobile men of the cell that proves the displayed bound."""
    line: list[Ply]
    """First moves of the line that shows the displayed bound, or of best play if the value is exact."""

    @property
    def bounds(self) -> ScoreInterval:
        """The interval that contains the value."""
        return ScoreInterval(self.lower, self.upper)

    @property
    def nearest(self) -> GScore:
        """The possible value nearest to the accrued score."""
        return self.bounds.nearest(self.accrued)

    @property
    def surprise(self) -> float:
        """Number of points by which best play is proved to change the result."""
        return abs(_share(self.nearest) - _share(self.accrued))

    @property
    def turned(self) -> bool:
        """Whether the holder of the accrued score is proved not to hold the value."""
        return self.nearest.white != self.accrued.white

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key: greatest surprise first, then endings that turn, then endings with an exact value."""
        return -self.surprise, not self.turned, not self.bounds.exact, self.fen


class Endings(Document):
    """The data of the page."""

    solved: int
    """Number of positions that were tried, all with more men than tables have."""
    narrowed: int
    """Number of endings whose value is proved to differ from the accrued score."""
    shown: list[Ending]


def collected(results: Path) -> Endings:
    """Return the data of the page, chosen from the results of the benchmark.

    :raises UsageError: if the file has no such results.
    """
    try:
        rows = {(row["fen"], row["accrued"]): row for row in map(msgspec.json.decode, _lines(results))}
    except (msgspec.DecodeError, KeyError, TypeError):
        raise UsageError(
            f"{quote(str(results))} is no file of results of benchmarks/real_endings.py"
        ) from None
    tried = [row for row in rows.values() if row["men"] > MAX_MEN and "answer" in row]
    if not tried:
        raise UsageError(f"{quote(str(results))} has no solved position of more than {MAX_MEN} men")
    endings = sorted(map(_ending, tried), key=lambda ending: ending.order)
    surprising = [ending for ending in endings if ending.surprise]
    return Endings(len(tried), len(surprising), surprising[:MAX_ENDINGS])


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError as error:
        raise UsageError(f"{quote(str(path))} cannot be read: {error.strerror}") from None


def _ending(row: dict[str, Any]) -> Ending:
    """Return the ending that a line of the results describes."""
    answer, accrued = row["answer"], GScore.parse(row["accrued"])
    bounds = ScoreInterval.parse(f"{row['lower']} {row['upper']}")
    bound_name = _BOUND_NAMES[bounds.nearest(accrued) == bounds.upper]
    line = answer["line"] if bounds.exact else answer["lines"][bound_name]
    elapsed = next(seconds for seconds, *ends, _ in row["history"] if ends == [row["lower"], row["upper"]])
    return Ending(
        event=row["event"],
        fen=row["fen"],
        accrued=accrued,
        lower=bounds.lower,
        upper=bounds.upper,
        seconds=elapsed,
        cells=answer["cells"],
        mobile=answer["mobile"][bound_name],
        line=[Ply(ply["uci"], GScore.parse(ply["accrued"])) for ply in line[:MAX_PLAN_PLIES]],
    )


def save(endings: Endings, data: Path) -> None:
    """Save the data of the page."""
    data.mkdir(parents=True, exist_ok=True)
    write_file(data / "endings.json", msgspec.json.format(encoded(endings), indent=0) + b"\n")


def read(data: Path) -> Endings:
    """Return the saved data of the page."""
    return Endings.read(msgspec.json.decode((data / "endings.json").read_bytes()))


def write_page(data: Path, page: Path) -> None:
    """Write the page, and its pictures beside the data."""
    endings = read(data)
    pictures = {f"{number:02}.svg": _picture(ending) for number, ending in enumerate(endings.shown, 1)}
    for picture_file in data.glob("*.svg"):
        if picture_file.name not in pictures:
            picture_file.unlink()
    for name, svg in pictures.items():
        write_file(data / name, svg.encode())
    write_file(page, ("\n\n".join(_page(endings, data.name)) + "\n").encode())


def _page(endings: Endings, folder: str) -> Iterator[str]:
    turned = sum(ending.turned for ending in endings.shown)
    men = sorted({len(chess.Board(ending.fen).piece_map()) for ending in endings.shown})
    these = "these " if len(endings.shown) == endings.narrowed else ""
    yield "# Surprising endings"
    yield (
        f"This page is for chess players. It shows {counted(len(endings.shown), 'ending')} of "
        f"{' or '.join(map(str, men))} men in which best play would have changed the result of a drawn game. "
        "One command solves any of them again (Ctrl-C stops it and prints what is proved so far):"
    )
    yield f'```\ntbgen solve "{endings.shown[0].fen} {endings.shown[0].accrued}"\n```'
    yield (
        "Engine games are often stopped as draws while much can still be won in r-mobility. These are final "
        "positions of such TCEC games. They are ordered by the proved change in [points](referee.md#points) "
        "(exponential), the greatest first. The change is from the accrued score to the value (the score "
        "that best play reaches); if only an interval is proved, it is to the bound that changes the points "
        f"less. Of {counted(endings.solved, 'position')} tried, {these}{endings.narrowed} have a value that "
        f"is proved to differ from the accrued score; in {turned} of those shown, the value belongs to the "
        "other side. Each line shows at most twelve plies, so it need not reach the value; the brackets at "
        "its end contain the accrued score, and all others the points of White and Black."
    )
    for number, ending in enumerate(endings.shown, 1):
        yield from _ending_section(number, ending, folder)
    yield "## How this page is made"
    yield (
        "The games are from [TCEC's archive](https://github.com/TCEC-Chess/tcecgames) (CC BY-SA 3.0). "
        "`benchmarks/real_endings.py` solves their final positions, and `scripts/endings.py --results FILE` "
        "makes the page from its results. Times are measured from the start of the process. Arrows show the "
        "first moves, and green squares the mobile men of the cell that proves the score "
        "([solve.md](solve.md))."
    )


def _ending_section(number: int, ending: Ending, folder: str) -> Iterator[str]:
    """Yield an ending with its board and the first moves."""
    board = chess.Board(ending.fen)
    event = ending.event.removeprefix("TCEC_").replace("_-_", ", ")
    yield f"## {number}. {_title(ending)}"
    yield f"![{board_words(board)}]({folder}/{number:02}.svg)"
    yield (
        f"{event.replace('_', ' ')}, `{ending.fen}`, {'White' if board.turn else 'Black'} to move. The "
        f"accrued score was {ending.accrued} ({EXPONENTIAL.text(ending.accrued)}). "
        f"{_value_text(ending)} Proved after {duration(ending.seconds)} and {counted(ending.cells, 'cell')}."
    )
    if ending.line:
        name = "Best play" if ending.bounds.exact else f"Play towards {ending.nearest}"
        yield f"{name}: {_san(board, ending.line)} ({ending.line[-1].accrued})."


def _title(ending: Ending) -> str:
    return f"From {ending.accrued} to {ending.bounds.description}"


def _value_text(ending: Ending) -> str:
    """Return a sentence on the result of best play."""
    if ending.bounds.exact:
        return f"The value is {ending.lower} ({EXPONENTIAL.text(ending.lower)})."
    points = " to ".join(EXPONENTIAL.text(end) for end in ending.bounds)
    return f"The value is {ending.bounds.description} ({points})."


def _san(board: chess.Board, line: Sequence[Ply]) -> str:
    return board.variation_san([chess.Move.from_uci(ply.uci) for ply in line])


def _picture(ending: Ending) -> str:
    """Draw an ending with the first moves of its line."""
    board = chess.Board(ending.fen)
    plan = tuple(PlanMove(chess.Move.from_uci(ply.uci), "", ply.accrued) for ply in ending.line)
    men = tuple(map(chess.parse_square, ending.mobile))
    return bound_picture(
        board, f"{board_words(board)} {ending.accrued} is {ending.bounds.description}", plan, men
    )


def _share(value: GScore) -> float:
    """Return White's points."""
    return float(EXPONENTIAL.points(value).white)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--results", type=Path, metavar="FILE", help="results to choose from, in order to save the data"
    )
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="the data, and the pictures")
    parser.add_argument("--out", type=Path, default=PAGE, metavar="FILE", help="the page")
    arguments = parser.parse_args()
    try:
        if arguments.results is not None:
            save(collected(arguments.results), arguments.data)
        write_page(arguments.data, arguments.out)
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
