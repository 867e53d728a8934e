"""From boards to slots and back."""

import random

import chess
import pytest

from tbgen.index.layout import SIDES, Slot, layout_of
from tbgen.index.position import board_of, en_passant_board, locate
from tbgen.material import Material, all_materials
from tests.support.random_boards import random_board

MATERIALS = all_materials(4)


def test_there_and_back() -> None:
    """The board of a slot has that slot, and it is the first board up to symmetry and swapped colours."""
    swapped = 0
    rng = random.Random("slots")
    for _ in range(2000):
        board = random_board(rng, rng.choice(MATERIALS))
        position = locate(board)
        assert position.ep_square == -1
        back = board_of(position.shape.layout, position.side, position.slot)
        again = locate(back)
        assert (again.shape.layout, again.side, again.slot) == (
            position.shape.layout,
            position.side,
            position.slot,
        )
        assert not again.shape.swapped
        swapped += position.shape.swapped
        assert again.score == (~position.score if position.shape.swapped else position.score)
        assert again.terminal == position.terminal
        assert len(list(back.legal_moves)) == len(list(board.legal_moves))
    assert swapped > 100


@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/8/pP6/8/8/K6k b - b3 0 1",
        "8/8/8/8/6Pp/8/8/K6k b - g3 0 1",
        "k6K/8/8/6Pp/8/8/8/8 w - h6 0 1",
        "k6K/8/8/pP6/8/8/8/8 w - a6 0 1",
    ],
)
def test_en_passant_there_and_back(fen: str) -> None:
    position = locate(chess.Board(fen))
    assert position.ep_square >= 0
    phase, within = divmod(position.slot, position.shape.layout.phase_size)
    back = en_passant_board(position.shape.layout, phase, position.ep_square, within)
    assert back.has_legal_en_passant()
    again = locate(back)
    assert (again.side, again.slot, again.ep_square) == (position.side, position.slot, position.ep_square)


def test_slots_without_a_position() -> None:
    layout = layout_of(Material.parse("KBvK"))
    with pytest.raises(ValueError, match="two men of slot 0 of KBvK stand on one square"):
        board_of(layout, SIDES[0], Slot(0))
