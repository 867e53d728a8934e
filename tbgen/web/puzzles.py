"""Positions to solve and to play, at random or those of a day. All of it blocks.

``page/static/draws.js`` draws those of a day in the same way, from the same pieces of the same tables;
tests compare them.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import islice
from random import Random, SystemRandom
from typing import Final, TypeVar

import chess
import numpy as np
from msgspec.structs import asdict

from tbgen.board.material import Material
from tbgen.board.rules import FRESH
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.index.layout import Side, Slot, layout_of
from tbgen.index.position import board_of, random_positions
from tbgen.probe.moves import RankedMove
from tbgen.probe.states import ProbeResult
from tbgen.store.inventory import EXPECTED_MEN
from tbgen.store.schema import VALUE
from tbgen.store.table_file import TableFile
from tbgen.web.documents import DayText, Level, LevelText, MaterialText, PositionMovesDocument, PuzzleDocument
from tbgen.web.exchange import Refusal
from tbgen.web.lookups import position
from tbgen.web.stock import Stock

_DRAWS: Final = 60
_TRIED: Final = 8
"""Positions of one piece of a table, which a site loads as a whole."""
_WORD: Final = (1 << 32) - 1

Item = TypeVar("Item")


class Draws:
    """Numbers that a text decides: FNV-1a [1] makes a seed of it, and Mulberry32 [2] numbers of this.

    [1] RFC 9923. [2] Tommy Ettinger, 2017, in the public domain.
    """

    def __init__(self, text: str) -> None:
        self._state = 0x811C9DC5
        for letter in text.encode("ascii", "replace"):
            self._state = (self._state ^ letter) * 0x01000193 & _WORD

    def word(self) -> int:
        """Return a number of 32 bits."""
        self._state = state = self._state + 0x6D2B79F5 & _WORD
        mixed = (state ^ state >> 15) * (1 | state) & _WORD
        mixed ^= mixed + (mixed ^ mixed >> 7) * (61 | mixed) & _WORD
        return mixed ^ mixed >> 14

    def below(self, most: int) -> int:
        """Return a number from 0 up to one below ``most``."""
        return self.word() * most >> 32

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return items in another order."""
        found = list(items)
        for last in range(len(found) - 1, 0, -1):
            at = self.below(last + 1)
            found[last], found[at] = found[at], found[last]
        return found


def drawn_by(
    draws: Draws, stock: Stock, materials: Sequence[Material], most_rank: int, plies: range
) -> Iterator[list[chess.Board]]:
    """Yield, one by one, positions of plain tables whose side to move gets a score of its own.

    :param most_rank: the greatest rank of that score.
    :param plies: in how many it may be reached.
    """
    names = sorted(materials, key=str)
    for _ in range(_DRAWS if names else 0):
        material = names[draws.below(len(names))]
        layout, side = layout_of(material), Side(draws.below(2))
        for slot in _tried(draws, stock, material, side, most_rank, plies):
            board = board_of(layout, side, slot)
            yield [board.mirror() if draws.below(2) == 0 else board]


def _tried(
    draws: Draws, stock: Stock, material: Material, side: Side, most_rank: int, plies: range
) -> list[Slot]:
    """Return slots of such positions in one piece of a table."""
    file = stock.tables.table_file(material)
    assert isinstance(file, TableFile)
    array, size = file.array(VALUE), layout_of(material).size
    start = draws.below(array.chunks_of_row) * array.step
    count = min(array.step, size - start)
    value, depth = np.empty(count, np.uint8), np.empty(count, np.uint16)
    file.read_slots(side, start, value, depth)
    ranks = value if side == 0 else 255 - value
    fit = np.flatnonzero((ranks <= most_rank) & (depth >= plies.start) & (depth < plies.stop))
    return [Slot(start + int(at)) for at in draws.shuffled(fit.tolist())[:_TRIED]]


_MOST_RANK: Final = 12
"""Values up to G6.0 are worth playing for."""
_SOLVED: Final = range(3, 16)
"""Plies that a puzzle may take to its value."""
_TEMPTING: Final = {Level.EASY: range(2), Level.MEDIUM: range(2, 5), Level.HARD: range(5, 1 << 8)}
"""How many wrong moves of a puzzle tempt."""
_PLAYED: Final = {Level.EASY: range(3, 9), Level.MEDIUM: range(9, 21), Level.HARD: range(21, 1 << 10)}
"""Plies that a position to play takes to its value."""
_FEWEST_MEN: Final = 3
_TOGETHER: Final = 128
"""Random positions of one material that are looked up at once: each material has the same chance."""
_BATCHES: Final = 128

_random: Final = SystemRandom()


def puzzle(
    stock: Stock, level: LevelText | None, material: MaterialText | None, day: DayText | None
) -> PuzzleDocument:
    """Return a random position with exactly one move that keeps the value, and which wrong moves tempt.

    :raises Refusal: if none is found, or a parameter means nothing.
    :raises TbgenError: if the table is missing, or cannot be used.
    """
    wanted = _level(level)
    for boards in _of_day(stock, wanted, material, _day(day)) if day else _drawn(stock, material, _SOLVED):
        for board, moves in zip(boards, stock.tables.moves_many(boards, FRESH), strict=True):
            if isinstance(moves, TbgenError) or not _is_puzzle(board, moves):
                continue
            tempting = [move.uci for move in moves[1:] if _tempts(board, move, moves[0])]
            found = next(each for each, numbers in _TEMPTING.items() if len(tempting) in numbers)
            if wanted in (None, found):
                fields = asdict(position(stock, board.fen(), None))
                return PuzzleDocument(**fields, level=found, tempting=tempting)
    raise _none("puzzle")


def challenge(stock: Stock, level: LevelText | None, material: MaterialText | None) -> PositionMovesDocument:
    """Return a random position whose side to move has a score to win.

    :raises Refusal: if none is found, or a parameter means nothing.
    :raises TbgenError: if the table is missing, or cannot be used.
    """
    for boards in _drawn(stock, material, _PLAYED[_level(level) or _random.choice(list(Level))]):
        if boards:
            return position(stock, boards[0].fen(), None)
    raise _none("position to play")


def _none(what: str) -> Refusal:
    return Refusal(404, "no_position", f"no {what} was found: try another level, or another material")


def _level(text: str | None) -> Level | None:
    """Return the level of a name.

    :raises Refusal: if it is none.
    """
    if not text:
        return None
    if text not in set(Level):
        raise Refusal(400, "bad_input", f"{quote(text)} is no level: expected {', '.join(Level)}")
    return Level(text)


def _day(text: str) -> date:
    """Return the day of a date.

    :raises UsageError: if it is none.
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{quote(text)} is no day: expected one such as 2026-11-25") from None


def _of_day(
    stock: Stock, level: Level | None, name: str | None, day: date
) -> Iterator[Sequence[chess.Board]]:
    """Yield what :func:`_drawn` does, always the same for a day; plain tables alone are read in pieces.

    :raises TbgenError: as there.
    """
    text = f"{day} {stock.variant} {level or ''} {name or ''}"
    materials = _materials(stock, name)
    there = (each.material for each in stock.entries() if each.info and not each.info.packed)
    plain = [each for each in there if each in materials]
    if plain:
        yield from drawn_by(Draws(text), stock, plain, _MOST_RANK, _SOLVED)
    else:
        yield from _drawn(stock, name, _SOLVED, Random(text))


def _materials(stock: Stock, name: str | None) -> Sequence[Material]:
    """Return the materials that positions are drawn from: the one that is named, or all that may be.

    :raises TbgenError: if its table is missing, or has described men.
    """
    if name:
        stock.require(material := Material.parse(name))
        if material.is_described:
            raise UsageError(f"{material} has described men: puzzles are of chess")
        return [material]
    there = (each for each in stock.tables.materials if not each.is_described)
    return [each for each in there if _FEWEST_MEN <= each.men <= EXPECTED_MEN]


def _drawn(
    stock: Stock, name: str | None, plies: range, rng: Random = _random
) -> Iterator[Sequence[chess.Board]]:
    """Yield, some together, random positions whose side to move gets a score of its own in a number of plies.

    Colours are exchanged in half of them.

    :raises TbgenError: if the table of a material that is named is missing, or has described men.
    """
    materials = _materials(stock, name)
    for _ in range(_BATCHES if materials else 0):
        drawn = islice(random_positions(rng.choice(materials), rng), _TOGETHER)
        of_chess = (board for board in drawn if isinstance(board, chess.Board))  # all are
        boards = [board.mirror() if rng.random() < 0.5 else board for board in of_chess]
        results = stock.tables.probe_many(boards, FRESH)
        yield [board for board, result in zip(boards, results, strict=True) if _wins(board, result, plies)]


def _wins(board: chess.Board, result: ProbeResult | TbgenError, plies: range) -> bool:
    """Tell whether the side to move gets a score of its own that is worth it, in a number of plies."""
    if isinstance(result, TbgenError):  # a table that it takes is missing
        return False
    value = result.value
    return value.white == board.turn and value.rank <= _MOST_RANK and result.depth in plies


def _is_puzzle(board: chess.Board, moves: Sequence[RankedMove]) -> bool:
    """Tell whether exactly one of the moves, best first, keeps the value, and is no capture, which would tell
    itself."""
    return len(moves) > 1 and moves[0].value != moves[1].value and not board.is_capture(moves[0].move)


def _tempts(board: chess.Board, wrong: RankedMove, right: RankedMove) -> bool:
    """Tell whether a wrong move looks as good as the right one: it leaves the opponent no more moves, or
    captures."""
    return wrong.position_score.rank <= right.position_score.rank or board.is_capture(wrong.move)
