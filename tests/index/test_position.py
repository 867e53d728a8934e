"""Conversion of boards to slots and back."""

import random
from itertools import combinations

import chess
import pytest

from tbgen.board.material import Material, all_materials
from tbgen.index.layout import SIDES, Slot, layout_of
from tbgen.index.position import board_of, en_passant_board, locate
from tests.support.exhaustive import sample
from tests.support.random_boards import random_board
from tests.support.slots import board_at, men_of

MATERIALS = all_materials(4)


def images(board: chess.Board) -> set[str]:
    """Return the images of a board's men under all symmetries of its table."""
    found = {board.board_fen(), board.transform(chess.flip_horizontal).board_fen()}
    if not board.pawns:
        for one in (chess.flip_vertical, chess.flip_diagonal, chess.flip_anti_diagonal):
            image = board.transform(one)
            found |= {image.board_fen(), image.transform(chess.flip_horizontal).board_fen()}
    return found


def test_there_and_back() -> None:
    """The board of a slot has that slot, and it is the first board up to symmetry and swapped colours."""
    swapped = 0
    rng = random.Random("slots")
    for _ in range(sample(600, 3000)):
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
        seen = board.mirror() if position.shape.swapped else board
        assert back.turn == seen.turn
        assert back.board_fen() in images(seen)
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


@pytest.mark.parametrize(
    "name",
    [
        *("KvK", "KNvK", "KBNvK", "KRvKB", "KQQvKQ", "KNNNvK", "KBBvKN"),
        *("KPvK", "KPPvK", "KPvKP", "KRPvKR", "KBNPvK", "KNvKP", "KPPvKR", "KBPvKP", "KPPvKP"),
    ],
)
def test_boards_are_those_that_the_format_describes(name: str) -> None:
    """The tests' own decoder, written from docs/format.md, sees the same men on the same squares."""
    layout, rng = layout_of(Material.parse(name)), random.Random(name)
    free, pawns = men_of(name)
    assert (len(free), len(pawns)) == (layout.free_count, layout.pawns)
    boards = 0
    for _ in range(400):
        side, slot = rng.choice(SIDES), Slot(rng.randrange(layout.size))
        expected = board_at(layout, side, slot)
        if expected is None:
            with pytest.raises(ValueError, match=f"two men of slot {slot} of {name} share a square"):
                board_of(layout, side, slot)
        else:
            boards += 1
            assert board_of(layout, side, slot).fen() == expected.fen()
    assert 200 < boards < 400


@pytest.mark.parametrize(("white", "black"), [(1, 0), (2, 0), (1, 1), (2, 1)])
def test_placements_are_one_of_every_mirror_pair(white: int, black: int) -> None:
    """Each way to place the pawns is a row of the index, or its mirror image is, and never both; those with
    fewer steps to go come first."""
    layout = layout_of(Material.parse(f"K{'P' * white}vK{'P' * black}"))
    rows = layout.placements
    assert layout.phase_by_placement == {placement: row for row, placement in enumerate(rows)}
    steps = [layout.steps_left(placement) for placement in rows]
    assert steps == sorted(steps)
    ways = [
        (*first, *second)
        for first in combinations(range(8, 56), white)
        for second in combinations(range(8, 56), black)
        if not set(first) & set(second)
    ]
    represented = set()
    for row in rows:
        image = [square ^ 7 for square in row]
        represented |= {tuple(row), (*sorted(image[:white]), *sorted(image[white:]))}
    assert represented == set(ways)
    fixed = sum(
        (*sorted(s ^ 7 for s in way[:white]), *sorted(s ^ 7 for s in way[white:])) == way for way in ways
    )
    assert 2 * len(rows) == len(ways) + fixed
