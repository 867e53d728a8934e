"""Zeroing moves and exits: python-chess makes all legal moves, and the tables say what they lead to."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, UsageError
from tbgen.index.codes import DAMAGED
from tbgen.index.layout import SIDES, Layout, Side, Slot, layout_of
from tbgen.index.position import board_of, locate, validate
from tbgen.index.zeroing import en_passant_configs, targets_of
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.tables.library import Library
from tbgen.tables.look_up import ExitFinder
from tests.support.depths import known
from tests.support.exhaustive import exhaustive

FEW = ("KvK", "KRvKN", "KPvKP", "KRvKP", "KBPvKP")
SWAPPING = ("KRvKN", "KQvKQ", "KPvKP", "KRvKP", "KRPvKR", "KBPvKP")
"""After a capture or a promotion Black has the better men, and the table the colours the other way round."""
MORE = ("KQvKQ", "KNPvK", "KPPvK", "KQRvKR", "KBNvKN", "KRPvKR", "KPPvKP", "KPPPvK", "KQQPvK")


@pytest.fixture(scope="module", params=["r", *exhaustive(["wg"])])
def tablebase(request: pytest.FixtureRequest, whole_game_tables: Path) -> Iterator[Tablebase]:
    """All tables of up to four men of one variant."""
    with open_tablebase(whole_game_tables, rules=request.param) as tablebase:
        yield tablebase


def positions(layout: Layout, seed: str, count: int) -> Iterator[tuple[chess.Board, Side, Slot, int]]:
    """Legal positions of any slots, canonical or not, some with an en passant right: board, side, slot and
    en passant square."""
    rng, rights = random.Random(seed), en_passant_configs(layout).tolist()
    while count:
        side, slot, ep_square = rng.choice(SIDES), Slot(rng.randrange(layout.size)), -1
        if rights and rng.random() < 0.2:
            phase, ep_square = rng.choice(rights)
            side = SIDES[ep_square < 32]
            slot = Slot(phase * layout.phase_size + slot % layout.phase_size)
        try:
            board = board_of(layout, side, slot, ep_square if ep_square >= 0 else None)
            validate(board)
        except (UsageError, ValueError):
            continue
        if ep_square < 0 or board.has_legal_en_passant():
            yield board, side, slot, ep_square
            count -= 1


def zeroing(board: chess.Board, captures_only: bool) -> Iterator[chess.Board]:
    """The positions that python-chess's zeroing moves lead to."""
    for move in board.legal_moves:
        if board.is_capture(move) or (board.is_zeroing(move) and not captures_only):
            after = board.copy(stack=False)
            after.push(move)
            yield after


@pytest.mark.parametrize("name", [*FEW, *exhaustive(MORE)])
def test_where_zeroing_moves_lead(name: str) -> None:
    """The list contains exactly the zeroing moves: captures of pinned men, promotions, en passant rights.

    Packed tables ask about positions without such a right.
    """
    layout = layout_of(Material.parse(name))
    finder, seen = ExitFinder(layout, Library([], Variant.R_MOBILITY)), Counter[str]()
    swaps = [target.swapped for target in targets_of(layout).values()]
    for board, side, slot, ep_square in positions(layout, name, 800):
        if ep_square >= 0:
            continue
        for captures_only in (False, True):
            found, expected = Counter[object](), Counter[object]()
            for _, target, to_slot, square in finder.moves(side, np.array([slot]), captures_only).tolist():
                found[*finder.targets[target], to_slot, square, swaps[target]] += 1
            for after in zeroing(board, captures_only):
                to = locate(after)
                expected[to.shape.layout, to.side, to.slot, to.ep_square, to.shape.swapped] += 1
                seen["captures"] += after.occupied.bit_count() < board.occupied.bit_count()
                seen["promotions"] += after.pawns.bit_count() < board.pawns.bit_count()
                seen["swapped"] += to.shape.swapped
                seen["rights"] += to.ep_square >= 0
            assert found == expected, (board.fen(), captures_only)
            seen["none"] += not found
    assert seen["none"]
    assert bool(seen["captures"]) == (name != "KvK")
    assert seen["swapped"] or name not in SWAPPING
    assert bool(seen["promotions"]) == bool(layout.pawns)
    assert bool(seen["rights"]) == bool(layout.white_pawns and layout.black_pawns)


@pytest.mark.parametrize("name", ["KRvKN", "KRvKP", *exhaustive(["KvK", "KQvKQ", "KNPvK", "KPPvK", "KPvKP"])])
def test_exits_are_the_best_of_all_zeroing_moves(name: str, tablebase: Tablebase) -> None:
    material, several = Material.parse(name), 0
    layout = layout_of(material)
    exits = ExitFinder(layout, tablebase._library)
    for board, side, slot, ep_square in positions(layout, f"exits of {name}", 300):
        for captures_only in (False, True):
            found = [tablebase.probe(after, "G26.5") for after in zeroing(board, captures_only)]
            best: list[int] = [NONE]
            if found:
                value = (max if board.turn else min)(result.value for result in found)
                depths = [known(result.depth) for result in found if result.value == value]
                best = [value.code, min(depths), max(depths)]
                several += min(depths) < max(depths)
            if ep_square < 0:
                (found_exit,), failed = exits(side, np.array([slot]), captures_only)
                assert failed is None
                assert found_exit[: len(best)].tolist() == best, board.fen()
    assert bool(several) == (name != "KvK")


def test_a_table_that_an_exit_needs(tmp_path: Path) -> None:
    layout = layout_of(Material.parse("KBvK"))
    near = locate(chess.Board("8/8/8/3K4/8/8/6k1/6B1 b - - 0 1"))
    away = locate(chess.Board("8/8/8/3K4/8/6k1/8/B7 b - - 0 1"))
    with open_tablebase(tmp_path) as tables:
        exits = ExitFinder(layout, tables._library)
        (none, lost), error = exits(near.side, np.array([away.slot, near.slot]), False)
    assert (none[0], lost[0]) == (NONE, DAMAGED)
    assert isinstance(error, MissingTableError)
    assert "tbgen build KvK " in str(error)
