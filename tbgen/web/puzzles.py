"""Positions to solve and to play: random ones, or those of a given day. All calls block.

For a given day, ``page/static/draws.js`` picks the same positions, from the same chunks of the same tables.
Tests compare its positions with those of this module.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import chain, islice
from random import Random, SystemRandom
from typing import Final, TypeVar

import chess
import numpy as np

from tbgen.board.material import Material
from tbgen.board.rules import FRESH
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.index.layout import Side, Slot, layout_of
from tbgen.index.position import board_of, random_positions
from tbgen.probe.moves import RankedMove
from tbgen.probe.states import ProbeResult
from tbgen.store.schema import VALUE
from tbgen.web.admission import stop_if_client_left
from tbgen.web.lookups import first_answer, position
from tbgen.web.payloads import DayText, Level, LevelText, MaterialText, PositionMovesDocument, PuzzleDocument
from tbgen.web.replies import Refusal
from tbgen.web.stock import Stock

_MAX_CHUNKS: Final = 60
"""Maximum number of chunks from which positions are picked."""
_MAX_PER_CHUNK: Final = 8
"""Maximum number of positions drawn from one chunk of a table. More than one is drawn because a static site
has to load the whole chunk anyway."""
_WORD_MASK: Final = (1 << 32) - 1

Item = TypeVar("Item")

_MAX_RANK: Final = 12
"""Maximum rank of the value, G6.0; scores of greater rank are hardly worth playing for."""
_DEPTHS: Final = range(3, 16)
"""Allowed depths of a puzzle, in plies."""
_TEMPTING_COUNTS: Final = {Level.EASY: range(2), Level.MEDIUM: range(2, 5), Level.HARD: range(5, 1 << 8)}
"""Maps each level to the allowed numbers of tempting wrong moves in a puzzle."""
_CHALLENGE_DEPTHS: Final = {
    Level.EASY: range(3, 9),
    Level.MEDIUM: range(9, 21),
    Level.HARD: range(21, 1 << 10),
}
"""Maps each level to the allowed depths of a challenge, in plies."""
_MIN_MEN: Final = 3
_BATCH_POSITIONS: Final = 64
"""Number of random positions in a batch. A batch has one material, so that materials are equally likely."""
_MAX_BATCHES: Final = 128
"""Maximum number of batches of one search."""
_REMEMBERED_DAYS: Final = 32
"""Unsuccessful searches are remembered by the number of the day modulo this number, so that clients cannot
cause a search for every date."""

_random: Final = SystemRandom()


class RandomNumbers:
    """Pseudo-random numbers determined by a string: FNV-1a [1] hashes it to a seed for Mulberry32 [2].

    [1] RFC 9923. [2] Tommy Ettinger, 2017, in the public domain.
    """

    def __init__(self, text: str) -> None:
        self._state = 0x811C9DC5
        for letter in text.encode("ascii", "replace"):
            self._state = (self._state ^ letter) * 0x01000193 & _WORD_MASK

    def next_uint32(self) -> int:
        """Return a 32-bit number."""
        self._state = state = self._state + 0x6D2B79F5 & _WORD_MASK
        mixed = (state ^ state >> 15) * (1 | state) & _WORD_MASK
        mixed ^= mixed + (mixed ^ mixed >> 7) * (61 | mixed) & _WORD_MASK
        return mixed ^ mixed >> 14

    def next_below(self, stop: int) -> int:
        """Return a number from 0 to ``stop`` - 1."""
        return self.next_uint32() * stop >> 32

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return items in random order."""
        shuffled_items = list(items)
        for end in range(len(shuffled_items) - 1, 0, -1):
            index = self.next_below(end + 1)
            shuffled_items[end], shuffled_items[index] = shuffled_items[index], shuffled_items[end]
        return shuffled_items


def picked_positions(
    rng: RandomNumbers, stock: Stock, materials: Sequence[Material], max_rank: int, depths: range
) -> Iterator[list[chess.Board]]:
    """Yield lists of one position each, from plain tables; the side to move holds the value.

    :param max_rank: the maximum rank of the value.
    :param depths: the allowed depths.
    """
    sorted_materials = sorted(materials, key=str)
    for _ in range(_MAX_CHUNKS if sorted_materials else 0):
        stop_if_client_left()
        material = sorted_materials[rng.next_below(len(sorted_materials))]
        layout = layout_of(material)
        side = Side(rng.next_below(2))
        for slot in _pick_slots(rng, stock, material, side, max_rank, depths):
            board = board_of(layout, side, slot)
            yield [board.mirror() if rng.next_below(2) == 0 else board]


def _pick_slots(
    rng: RandomNumbers, stock: Stock, material: Material, side: Side, max_rank: int, depths: range
) -> list[Slot]:
    """Return, from one chunk of a table, slots whose positions meet the conditions of
    :func:`picked_positions`."""
    file = stock.tables.table_file(material)
    array = file.array(VALUE)
    size = layout_of(material).size
    start = rng.next_below(array.chunks_per_row) * array.chunk_size
    count = min(array.chunk_size, size - start)
    value, depth = np.empty(count, np.uint8), np.empty(count, np.uint16)
    file.read_slots(side, start, value, depth)
    ranks = value if side == 0 else 255 - value
    matches = np.flatnonzero((ranks <= max_rank) & (depth >= depths.start) & (depth < depths.stop))
    return [Slot(start + int(index)) for index in rng.shuffled(matches.tolist())[:_MAX_PER_CHUNK]]


def puzzle(
    stock: Stock, level: LevelText | None, material: MaterialText | None, day: DayText | None
) -> PuzzleDocument:
    """Return a position with exactly one move that keeps the value, and its tempting wrong moves.

    :raises Refusal: if no puzzle is found, or a parameter is invalid.
    :raises TbgenError: if the table is missing, or cannot be used.
    """
    required_level = _parse_level(level)
    required_material = Material.parse(material) if material else None
    date_of_day = _parse_day(day) if day else None

    def find() -> PuzzleDocument | None:
        batches = (
            _positions_of_day(stock, required_level, required_material, date_of_day)
            if date_of_day
            else _random_batches(stock, required_material, _DEPTHS)
        )
        for boards in batches:
            for board, moves in zip(boards, stock.tables.moves_many(boards, FRESH), strict=True):
                if isinstance(moves, TbgenError) or not _is_puzzle(board, moves):
                    continue
                tempting_moves = [move.uci for move in moves[1:] if _tempts(board, move, moves[0])]
                found_level = next(
                    possible for possible, counts in _TEMPTING_COUNTS.items() if len(tempting_moves) in counts
                )
                if required_level in (None, found_level):
                    document = position(stock, board.fen(), None)
                    return PuzzleDocument.of(document, level=found_level, tempting=tempting_moves)
        return None

    day_key = date_of_day and date_of_day.toordinal() % _REMEMBERED_DAYS
    return stock.search("puzzle", (required_level, required_material, day_key), find)


def challenge(stock: Stock, level: LevelText | None, material: MaterialText | None) -> PositionMovesDocument:
    """Return a random position in which the side to move can win a score.

    :raises Refusal: if no such position is found, or a parameter is invalid.
    :raises TbgenError: if the table is missing, or cannot be used.
    """
    required_level = _parse_level(level) or _random.choice(list(Level))
    required_material = Material.parse(material) if material else None

    def find() -> PositionMovesDocument | None:
        batches = _random_batches(stock, required_material, _CHALLENGE_DEPTHS[required_level])
        return first_answer(stock, chain.from_iterable(batches))

    return stock.search("position to play", (required_level, required_material), find)


def _parse_level(text: str | None) -> Level | None:
    """Return the level with the given name; None if the name is empty.

    :raises Refusal: if the name is invalid.
    """
    if not text:
        return None
    if text not in set(Level):
        raise Refusal(400, "bad_input", f"{quote(text)} is not a level: expected {', '.join(Level)}")
    return Level(text)


def _parse_day(text: str) -> date:
    """Return the date in a text.

    :raises UsageError: if the text is not a date.
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{quote(text)} is not a date: expected one such as 2026-11-25") from None


def _positions_of_day(
    stock: Stock, level: Level | None, required_material: Material | None, day: date
) -> Iterator[Sequence[chess.Board]]:
    """Yield batches of random positions, which are always the same for the same day.

    Plain tables are preferred, because only plain tables can be read in pieces. If there are no plain tables,
    the positions are those of :func:`_random_batches`, with the day as part of the random seed.

    :raises TbgenError: see :func:`_random_batches`.
    """
    seed_text = f"{day} {stock.variant} {level or ''} {required_material or ''}"
    materials = _materials(stock, required_material)
    unpacked = (entry.material for entry in stock.entries() if entry.info and not entry.info.derives)
    plain_materials = [material for material in unpacked if material in materials]
    if plain_materials:
        yield from picked_positions(RandomNumbers(seed_text), stock, plain_materials, _MAX_RANK, _DEPTHS)
    else:
        yield from _random_batches(stock, required_material, _DEPTHS, Random(seed_text))


def _materials(stock: Stock, required_material: Material | None) -> Sequence[Material]:
    """Return the materials from which positions are picked: the named one, or all suitable ones.

    :raises TbgenError: if the named table is missing, or has described men.
    """
    if required_material:
        stock.usable_entry(required_material)
        if required_material.is_described:
            raise UsageError(
                f"{required_material} has described men: puzzles and challenges have only men of chess"
            )
        return [required_material]
    return [m for m in stock.small_materials() if m.men >= _MIN_MEN and not m.is_described]


def _random_batches(
    stock: Stock, required_material: Material | None, depths: range, rng: Random = _random
) -> Iterator[Sequence[chess.Board]]:
    """Yield batches of random positions in which the side to move holds the value.

    Colours are exchanged in half of the positions.

    :param depths: the allowed depths.
    :raises TbgenError: if the named table is missing, or has described men.
    """
    materials = _materials(stock, required_material)
    for _ in range(_MAX_BATCHES if materials else 0):
        stop_if_client_left()
        picked = islice(random_positions(rng.choice(materials), rng), _BATCH_POSITIONS)
        # For the type checker: always true, because these materials have no described men.
        chess_boards = (board for board in picked if isinstance(board, chess.Board))
        boards = [board.mirror() if rng.random() < 0.5 else board for board in chess_boards]
        results = stock.tables.probe_many(boards, FRESH)
        yield [
            board for board, result in zip(boards, results, strict=True) if _qualifies(board, result, depths)
        ]


def _qualifies(board: chess.Board, result: ProbeResult | TbgenError, depths: range) -> bool:
    """Return whether the side to move holds the value and both its rank and the depth are allowed."""
    if isinstance(result, TbgenError):  # a table that the probe needs is missing
        return False
    value = result.value
    return value.white == board.turn and value.rank <= _MAX_RANK and result.depth in depths


def _is_puzzle(board: chess.Board, moves: Sequence[RankedMove]) -> bool:
    """Return whether only the best move keeps the value, and this move is not a capture, which would be
    obvious.

    :param moves: the moves, best first.
    """
    return len(moves) > 1 and moves[0].value != moves[1].value and not board.is_capture(moves[0].move)


def _tempts(board: chess.Board, move: RankedMove, best_move: RankedMove) -> bool:
    """Return whether a wrong move looks as good as the best move.

    It does if it is a capture, or if the position rank after it is at most the position rank after the
    best move.
    """
    return move.position_score.rank <= best_move.position_score.rank or board.is_capture(move.move)
