#!/usr/bin/env python3
"""Write docs/tcec.md, the results of TCEC's games by r-mobility, from the data in docs/tcec.

    scripts/tcec.py

The same data give the same bytes. The data come from the public archive of the games:

    git clone https://github.com/TCEC-Chess/tcecgames
    scripts/tcec.py --archive tcecgames --dir data

This command first adjudicates the games by the tables in a directory, which takes minutes. It saves the data
of the page: the results of some events, and the final positions of draws that are in tables. Test runs are
left out, and also files of 4 MiB or more, which copies of the archive may lack.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import chess
import chess.svg
import msgspec

from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL, Scheme
from tbgen.board.variant import Variant
from tbgen.documents import Document, encoded
from tbgen.errors import TbgenError
from tbgen.games.game_options import GameOptions
from tbgen.games.outcome import RESULTS, Basis, Outcome
from tbgen.games.pgn.files import open_for_reading
from tbgen.games.pgn.reader import read_game
from tbgen.games.referee import replay
from tbgen.games.standings import GameRecord, standings
from tbgen.games.standings.orders import ORDERS, Order
from tbgen.games.standings.players import Player
from tbgen.games.standings.tiebreaks import TIEBREAKS, OrderBy, TieData
from tbgen.games.tagging import Adjudicator, TaggedGame, tag_games
from tbgen.html.diagrams import board_words
from tbgen.probe.tablebase import Tablebase
from tbgen.system.files import write_file
from tbgen.text import csv_text, plies, share_text

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT / "docs" / "tcec"
MIN_LARGE_BYTES: Final = 4 << 20
"""Minimum size in bytes of files that are left out."""
OPTIONS: Final = GameOptions(Variant.R_MOBILITY)
FRC_6: Final = (
    " TCEC used these rules for another event of that month. They put Minic, which advanced, second; "
    "r-mobility puts it third."
)
FRD_1: Final = " These rules, too, are from another event; rofChade advanced as the last of three qualifiers."
COLUMNS: Final = ("event", "round", "white", "black", "recorded", "value", "accrued", "basis")
TIE_COLUMNS: Final = ("crashes", "direct", "wins", "sb", "rmobility")
"""Tiebreaks that have a column in the tables of ties."""
COLUMN_TITLES: Final = {"sb": "SB", "rmobility": "r-mobility"}
MANY: Final = 6
"""Number of men from which on a position has too many men for tables."""
MAX_NEXT_DRAWS: Final = 12
DIAGRAM_SIZE: Final = 260
"""Width of a board in pixels."""


class Event(NamedTuple):
    """An event whose places the page compares."""

    file: str
    """Name of the file in the archive, without the suffix."""
    title: str
    rules: str
    """The rules by which ties were broken: a value of ``--order``."""
    note: str = ""
    """Further sentences on the rules."""


DECIDED: Final = (
    Event("TCEC_Season_18_-_Top_of_The_Top_Bonus", "Top 4 bonus of season 18 (July 2020)", "tcec-s19"),
    Event("TCEC_Season_21_-_Frc4_League_D", "FRC 4, League D (December 2021)", "tcec"),
)
"""Events whose places were decided by r-mobility."""
OTHERS: Final = (
    Event("TCEC_Season_18_-_League_1", "Season 18, League 1 (2020)", "tcec-s18"),
    Event("TCEC_Season_18_-_League_2", "Season 18, League 2 (2020)", "tcec-s18"),
    Event("TCEC_Season_18_-_League_3", "Season 18, League 3 (2020)", "tcec-s18"),
    Event("TCEC_Season_18_-_Qualification_League", "Season 18, Qualification League (2020)", "tcec-s18"),
    Event("TCEC_Season_19_-_League_1", "Season 19, League 1 (2020)", "tcec-s19"),
    Event("TCEC_Season_19_-_League_2", "Season 19, League 2 (2020)", "tcec-s19"),
    Event("TCEC_Season_20_-_League_3", "Season 20, League 3 (2020)", "tcec"),
    Event("TCEC_Season_22_-_Frc5_League_B", "FRC 5, League B (2022)", "tcec"),
    Event("TCEC_Season_24_-_Frc6_League_D", "FRC 6, League D (2023)", "tcec-4k", FRC_6),
    Event("TCEC_Season_25_-_Frd_1_League_B", "FRD 1, League B (2023)", "tcec-4k", FRD_1),
)
"""Other events, in some of which r-mobility would have changed places."""


class Draw(msgspec.Struct, frozen=True):
    """A drawn game whose final position is in a table."""

    event: str
    round: str
    white: str
    black: str
    fen: str
    """The final position."""
    accrued: GScore
    value: GScore
    line: list[str]
    """Best play until the accrued score is the value, as moves in UCI notation."""

    @property
    def game(self) -> str:
        """Players, event and round, in words."""
        event = self.event.removeprefix("TCEC_").replace("_-_", ", ").replace("_", " ")
        return f"{self.white.split()[0]} - {self.black.split()[0]} ({event}, {self.round})"

    @property
    def board(self) -> chess.Board:
        """The final position."""
        return chess.Board(self.fen)

    @property
    def turned(self) -> bool:
        """Whether best play gives the score to the side that did not hold the accrued score."""
        return self.accrued.white != self.value.white

    @property
    def change(self) -> float:
        """Absolute change of the points by best play."""
        return abs(_share(self.value) - _share(self.accrued))


class Draws(Document):
    """The drawn games of the archive and their values."""

    files: int = 0
    games: int = 0
    bases: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of draws by the basis of their result."""
    men: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of stopped draws by the number of men on the board."""
    known: list[Draw] = msgspec.field(default_factory=list)


def collect(archive: Path, directory: Path | None, out: Path) -> None:
    """Adjudicate the games of the archive, and save the data.

    :raises TbgenError: if a file cannot be read or written.
    """
    adjudicator = Adjudicator(OPTIONS, directory)
    tables = Tablebase(directory)
    events = {event.file for event in (*DECIDED, *OTHERS)}
    draws = Draws()
    rows = list[list[str]]()
    bases = Counter[str]()
    men = Counter[int]()
    for path in sorted((archive / "master-archive").glob("*.pgn")):
        if path.stat().st_size >= MIN_LARGE_BYTES or "test" in path.stem.lower():
            continue
        draws.files += 1
        for game, record in _games(path, adjudicator):
            draws.games += 1
            outcome = record.outcome
            if path.stem in events:
                rows.append([path.stem, record.round, record.white, record.black, *_result(record)])
            if record.classical != "1/2-1/2":
                continue
            bases[outcome.basis.value] += 1
            if outcome.basis.best_play or not outcome.proven:
                board = replay(read_game(game.raw), OPTIONS).board
                men[len(board.piece_map())] += 1
                if outcome.basis is Basis.TABLEBASE:
                    names = (path.stem, record.round, record.white, record.black)
                    line = [ply.move.uci() for ply in tables.line(board, outcome.accrued)]
                    draws.known.append(Draw(*names, board.fen(), outcome.accrued, outcome.value, line))
    draws.bases = dict(bases.most_common())
    draws.men = {str(count): men[count] for count in sorted(men)}
    out.mkdir(parents=True, exist_ok=True)
    write_file(out / "results.csv", csv_text(COLUMNS, rows).encode())
    saved = msgspec.json.format(encoded(draws), indent=0)
    write_file(out / "draws.json", saved + b"\n")


def _result(record: GameRecord) -> list[str]:
    outcome = record.outcome
    return [outcome.recorded, str(outcome.value), str(outcome.accrued), outcome.basis.value]


def _games(path: Path, adjudicator: Adjudicator) -> Iterator[tuple[TaggedGame, GameRecord]]:
    """Yield the finished games of a file."""
    with open_for_reading(str(path)) as source:
        for game in tag_games(source, adjudicator):
            record = GameRecord.of(path.stem, game)
            if record is not None and record.classical in RESULTS:
                yield game, record


def events_in(data: Path) -> dict[str, list[GameRecord]]:
    """Return the games of the saved events, by the name of the event's file."""
    settings = OPTIONS.settings({})
    games_by_event = defaultdict[str, list[GameRecord]](list)
    with (data / "results.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            value, accrued = GScore.parse(row["value"]), GScore.parse(row["accrued"])
            outcome = Outcome(value, Basis(row["basis"]), accrued, settings, recorded=row["recorded"])
            games = games_by_event[row["event"]]
            names = (row["white"], row["black"])
            games.append(GameRecord(row["event"], len(games) + 1, *names, outcome, row["round"]))
    return games_by_event


def places(games: Sequence[GameRecord], order: Order) -> dict[str, int]:
    """Return the places of the players of an event by an order."""
    return {player.name: player.place for player in standings(games, order=order).players}


def write_page(data: Path, path: Path) -> None:
    """Write the page, and its diagrams beside the data.

    :raises TbgenError: if a file cannot be written.
    """
    events = events_in(data)
    pictures = dict[str, str]()
    draws = Draws.read(msgspec.json.decode((data / "draws.json").read_bytes()))
    parts = [*_beginning(), *_decided(events), *_others(events), *_draws(draws, pictures), *_making()]
    for old in data.glob("*.svg"):
        old.unlink()
    for name, picture in pictures.items():
        write_file(data / name, f"{picture}\n".encode())
    write_file(path, "\n\n".join(parts).encode() + b"\n")


def _beginning() -> Iterator[str]:
    yield "# TCEC's games by r-mobility"
    yield (
        "This page is for followers of the [Top Chess Engine Championship](https://tcec-chess.com) (TCEC). "
        "It shows which events r-mobility has decided, and which draws best play would have changed most. "
        "The standings of any event by TCEC's rules come from one command:"
    )
    yield "```\ntbgen score EVENT.pgn --order tcec\n```"
    yield (
        "TCEC plays by the rules of chess. More than half of its games are drawn, so engines often finish "
        "with the same number of points. Since season 19 (August 2020) TCEC's rules have broken such "
        "ties by r-mobility. A draw then gives more than half a point to the side that left its "
        "opponent fewer moves. This side gets 0.75 points for a stalemate (G0.5), 0.625 for one move and "
        "check (G1.0), and 0.5039 for three moves and no check (G3.5). Black's scores have a minus. The "
        "lowest score since the last capture or pawn move counts ([rules](referee.md), [words](glossary.md))."
    )


def _decided(events: Mapping[str, Sequence[GameRecord]]) -> Iterator[str]:
    bonus, league = DECIDED
    first, second = standings(events[bonus.file], order=ORDERS[bonus.rules]).players[:2]
    yield "## Decided by r-mobility"
    yield (
        f"Four engines played {len(events[bonus.file])} games in the {bonus.title}. {first.name} and "
        f"{second.name} had the same number of points, and were level on all tiebreaks of chess: the games "
        "between them (direct), wins and Sonneborn-Berger (SB). R-mobility separated them: "
        f"{_sum(first)} points against {_sum(second)}. A number in brackets is the place that the "
        "player would have if this column were the next tiebreak after direct encounters."
    )
    yield from _ties(bonus, events[bonus.file])
    yield (
        "[TCEC's wiki](https://wiki.chessdom.org/R-Mobility) of November 2020 says that this was the only "
        "event in which the tiebreak was needed. Since then it has been needed again, as in two of the "
        f"events below (season 20, league 3, and FRC 5, league B). In {league.title}, three engines "
        "tied for the second of two qualifying places and were level even in the games between them. Berserk "
        "advanced. At that time the next tiebreak was r-mobility, and it puts Berserk first. By wins "
        "Stoofvlees would have advanced; by Sonneborn-Berger Berserk and Minic would still have been level."
    )
    yield from _ties(league, events[league.file])


def _others(events: Mapping[str, Sequence[GameRecord]]) -> Iterator[str]:
    changed = [event.title for event in OTHERS if _changes(event, events[event.file])]
    yield "## Ten other events"
    yield (
        "The tables list the players that finished level on points with others, and their places by the "
        f"rules of the event. R-mobility would have given other places in {len(changed)} of the "
        f"{len(OTHERS)} events: {'; '.join(changed)}."
    )
    yield (
        "Most draws are stopped with more men than the tables have. They count as their accrued score, "
        "which is not proved: best play can change a draw by up to a quarter of a point, as the next "
        "chapter shows. The sentence below each table names the places that could change if such games had "
        "any other values, even mate. Rules are named as in `tbgen score --order` ([sources](scoring.md))."
    )
    for event in OTHERS:
        order = ORDERS[event.rules]
        ties = ", ".join(TIEBREAKS[name].words for name in order.tiebreaks)
        yield f"### {event.title}"
        yield f"Rules `{order.name}`: {ties}.{event.note}"
        yield from _ties(event, events[event.file])


def _changes(event: Event, games: Sequence[GameRecord]) -> bool:
    return places(games, ORDERS[event.rules]) != places(games, _order("rmobility"))


def _order(tiebreak: str) -> Order:
    return replace(ORDERS["tcec"], tiebreaks=("direct", tiebreak))


def _ties(event: Event, games: Sequence[GameRecord]) -> Iterator[str]:
    """Yield a table of the players that are level on points, and a sentence on how certain places are."""
    result = standings(games, order=ORDERS[event.rules])
    field = TieData.of(result.players, OrderBy.CHESS, Scheme.EXPONENTIAL)
    players_by_points = Counter(player.results.classical for player in result.players)
    tied = [player for player in result.players if players_by_points[player.results.classical] > 1]
    names = [name for name in TIE_COLUMNS if name != "crashes" or any(_numbers(tied, name, field).values())]
    places_by = {name: places(games, _order(name)) for name in ("wins", "sb", "rmobility")}
    rows = [["player", "place", "points", *(COLUMN_TITLES.get(name, name) for name in names)]]
    for player in tied:
        row = [player.name.split()[0], str(player.place), f"{float(player.results.classical):g}"]
        for name in names:
            value = _numbers(tied, name, field)[player.name]
            shown = f"{value:.4f}" if name == "rmobility" else f"{value:g}"
            row.append(f"{shown} ({places_by[name][player.name]})" if name in places_by else shown)
        rows.append(row)
    yield _table(rows)
    yield f"R-mobility: {standings(games, order=_order('rmobility')).certainty.sentence}"


def _numbers(tied: Sequence[Player], name: str, field: TieData) -> dict[str, float]:
    """Return the numbers of players by a tiebreak, each among the players with the same points."""
    numbers = {}
    for player in tied:
        level = [other for other in tied if other.results.classical == player.results.classical]
        numbers[player.name] = float(TIEBREAKS[name].number_of(player, level, field) or 0)
    return numbers


def _sum(player: Player) -> str:
    points = player.points[Scheme.EXPONENTIAL]
    return "" if points is None else f"{float(points):.4f}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["--:"] * (len(rows[0]) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


def _draws(draws: Draws, pictures: dict[str, str]) -> Iterator[str]:
    total = sum(draws.bases.values())
    stopped = sum(draws.men.values())
    many_men = sum(count for men, count in draws.men.items() if int(men) >= MANY)
    yield "## The values of draws"
    yield (
        f"Of {draws.games:,} games in {draws.files} files of the archive, {total:,} were drawn. "
        f"{total - stopped:,} of these ended on the board, by repetition, the 50-move rule or stalemate; "
        f"their value is the accrued score. The other {stopped:,} were stopped because the engines' "
        "evaluations agreed, because tablebases held the position, or because neither side had the men to "
        f"mate. Their value is the result of best play. Of the stopped games, {many_men:,} had {MANY} men "
        "or more on the board, too many for tables. This page uses the tables of two to four men, which hold "
        f"{len(draws.known)} of the final positions; {draws.men.get('5', 0):,} others have five men."
    )
    turned = [draw for draw in draws.known if draw.turned]
    same = sum(draw.value == draw.accrued for draw in draws.known)
    better = sum(draw.value.rank < draw.accrued.rank for draw in draws.known if not draw.turned)
    yield (
        f"In most of these {len(draws.known)} draws the side that held the accrued score when the game was "
        "stopped also holds the value:"
    )
    yield _table(
        [
            ["with best play", "draws", "share"],
            *(
                [result, str(count), share_text(count / len(draws.known))]
                for result, count in (
                    ("the score stays as it is", same),
                    ("the same side gets a better one", better),
                    ("the same side keeps a worse one", len(draws.known) - same - better - len(turned)),
                    ("the other side holds it", len(turned)),
                )
            ),
        ]
    )
    bare = [draw for draw in draws.known if len(draw.board.piece_map()) == 2]
    yield (
        f"Often the last capture has just given the score to a side that cannot keep it: {len(bare)} "
        f"draws ended with bare kings, and in {sum(draw.turned for draw in bare)} of them best play gives it "
        "to the other side."
    )
    ordered = sorted(draws.known, key=lambda draw: (-draw.change, -len(draw.line)))
    greatest = ordered[0]
    final = next((draw for draw in ordered if "Superfinal" in draw.event), None)
    yield "### The most astonishing draw"
    yield from _draw_section(greatest, pictures)
    if final is not None:
        yield "### The most astonishing draw of a superfinal"
        yield from _draw_section(final, pictures)
    yield "### The next ones"
    yield "Apart from the two draws above, best play changes the points of these draws most."
    rows = [["game", "accrued", "value", "plies", "final position"]]
    for draw in [draw for draw in ordered if draw not in (greatest, final)][:MAX_NEXT_DRAWS]:
        position = f"`{draw.board.board_fen()} {'w' if draw.board.turn else 'b'}`"
        rows.append([draw.game, str(draw.accrued), str(draw.value), str(len(draw.line)), position])
    yield _table(rows)


def _draw_section(draw: Draw, pictures: dict[str, str]) -> Iterator[str]:
    """Yield a draw with its board and best play."""
    board = draw.board
    name = f"{draw.event.removeprefix('TCEC_').replace('_-_', '_')}_{draw.round}.svg"
    pictures[name] = chess.svg.board(board, size=DIAGRAM_SIZE)
    mover = "White" if board.turn else "Black"
    yield (
        f"{draw.game} was a draw in chess. When it was stopped, the accrued score was {draw.accrued}, worth "
        f"{_share(draw.accrued):.4f} points for White. After {plies(len(draw.line))} best play "
        f"reaches {draw.value}, worth {_share(draw.value):.4f} points."
    )
    yield f"![{board_words(board)}](tcec/{name})"
    line = board.variation_san(map(chess.Move.from_uci, draw.line))
    yield f"{mover} to move, `{draw.fen}`. Best play: {line}"


def _share(value: GScore) -> float:
    """Return White's points."""
    return float(EXPONENTIAL.points(value).white)


def _making() -> Iterator[str]:
    yield "## How this page is made"
    yield (
        "The games are those of [TCEC's archive](https://github.com/TCEC-Chess/tcecgames) (CC BY-SA 3.0) as "
        "of 7 June 2026, without test runs and without files of 4 MiB or more, which hold most superfinals "
        "and premier divisions. The page and its data have results and final positions, but no games. "
        "`scripts/tcec.py --archive tcecgames --dir DIR` adjudicates the games again, by the tables in DIR; "
        "larger tables prove more. `scripts/tcec.py` makes the page from the data in `docs/tcec`."
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--archive", type=Path, metavar="DIR", help="clone of the archive, to collect the data first"
    )
    parser.add_argument("--dir", type=Path, metavar="DIR", help="tables to adjudicate by")
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="the data, and the diagrams")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "docs" / "tcec.md", metavar="FILE", help="the page"
    )
    arguments = parser.parse_args()
    try:
        if arguments.archive is not None:
            collect(arguments.archive, arguments.dir, arguments.data)
        write_page(arguments.data, arguments.out)
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
