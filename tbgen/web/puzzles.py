"""Positions to solve and to play, drawn from tables at random; everything here blocks, and is called from
threads."""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import islice
from random import Random, SystemRandom
from typing import Final

import chess
from msgspec.structs import asdict

from tbgen.board.history import FRESH
from tbgen.board.material import Material
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.index.position import random_positions
from tbgen.probe.moves import RankedMove
from tbgen.probe.states import ProbeResult
from tbgen.store.inventory import EXPECTED_MEN
from tbgen.web.daily import Draws, drawn_by
from tbgen.web.documents import (
    DayText,
    Level,
    LevelText,
    MaterialText,
    PositionMovesDocument,
    PuzzleDocument,
)
from tbgen.web.errors import Refusal
from tbgen.web.lookups import position
from tbgen.web.stock import Stock

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
    there = (each for each in stock.materials if not each.is_described)
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
