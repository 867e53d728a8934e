"""Pictures of positions as bitmaps: the places of squares, men and frames."""

import io

import chess
import pytest
from PIL import Image, ImageChops

from tbgen.html.cards import CARD_SIZE, Caption, ShownPosition, animated_gif, card_png

EMPTY = chess.Board(None)
EDGE, SQUARE = 35, 70
"""Place and size of the board on a card."""


def opened(content: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(content))
    picture.load()
    return picture


def square_of(
    picture: Image.Image, square: chess.Square, size: int, edge: int, *, flipped: bool
) -> Image.Image:
    """Return the picture of a square: files from the left, ranks from below, or both reversed."""
    file, rank = chess.square_file(square), chess.square_rank(square)
    left, top = (7 - file, rank) if flipped else (file, 7 - rank)
    corner = edge + left * size, edge + top * size
    return picture.convert("RGB").crop((*corner, corner[0] + size, corner[1] + size))


@pytest.mark.parametrize("flipped", [False, True])
def test_men_are_on_their_squares(flipped: bool) -> None:
    """Equal men on squares of one colour look alike, other men differ; empty squares are plain."""
    seen: dict[tuple[str, bool], bytes] = {}
    for placed in (chess.STARTING_BOARD_FEN, "1q2kbnr/p1ppppp1/r7/8/4R3/P3N3/1PPP1KPQ/B1B5"):
        board = chess.Board(f"{placed} w - - 0 1")
        picture = opened(card_png(ShownPosition(board, flipped=flipped), Caption("G1.5", "White wins.")))
        assert (picture.size, picture.format) == (CARD_SIZE, "PNG")
        for square in chess.SQUARES:
            man = board.piece_at(square)
            dark = (chess.square_file(square) + chess.square_rank(square)) % 2 == 0
            found = square_of(picture, square, SQUARE, EDGE, flipped=flipped)
            assert seen.setdefault((man.symbol() if man else "", dark), found.tobytes()) == found.tobytes()
            assert (man is None) == (len(found.getcolors(SQUARE**2) or ()) == 1)
    assert len(seen) > 20
    assert len(set(seen.values())) == len(seen)


def test_the_last_move_is_marked() -> None:
    move = chess.Move.from_uci("g1f3")
    before, after = (opened(card_png(ShownPosition(EMPTY, last), Caption("", ""))) for last in (None, move))
    left, top, right, bottom = ImageChops.difference(before, after).getbbox() or (0, 0, 0, 0)
    assert (left, right) == (EDGE + 5 * SQUARE, EDGE + 7 * SQUARE)
    assert (top, bottom) == (EDGE + 5 * SQUARE, EDGE + 8 * SQUARE)


def test_a_film_has_a_frame_for_each_position() -> None:
    board, frames = chess.Board(), []
    for san in ("e4", "e5", "Nf3"):
        last = board.push_san(san)
        frames.append((ShownPosition(board.copy(), last), san))
    picture = opened(animated_gif(frames))
    assert (picture.format, getattr(picture, "n_frames", 1), picture.info["loop"]) == ("GIF", 3, 0)
    times = []
    for number, (shown, _) in enumerate(frames):
        picture.seek(number)
        times.append(picture.info["duration"])
        for square in chess.SQUARES:
            found = square_of(picture, square, 50, 0, flipped=False)
            assert (len(found.getcolors(2500) or ()) == 1) == (shown.board.piece_at(square) is None)
    assert times == [900, 900, 3000]
    marked, plain = (
        square_of(picture, square, 50, 0, flipped=False).getpixel((1, 1)) for square in (chess.G1, chess.H4)
    )
    assert marked != plain  # the palette has the colours of marks
    (alone,) = [animated_gif(frames[:1])]
    assert getattr(opened(alone), "n_frames", 1) == 1
