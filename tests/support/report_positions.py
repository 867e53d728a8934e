"""All legal positions of a material by python-chess, and their values by probing: reports counted anew."""

import functools
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path

import chess

from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import open_tablebase

_TRIANGLE = ("a1", "b1", "c1", "d1", "b2", "c2", "d2", "c3", "d3", "d4")
_MIRRORS = (chess.flip_horizontal, chess.flip_vertical, chess.flip_diagonal)


@dataclass(frozen=True, slots=True)
class Position:
    """The facts about one position from python-chess and the probe."""

    board: chess.Board
    side: int
    """0 with White to move, else 1."""
    images: int
    """Number of positions of the whole board that this enumerated position stands for."""
    share: float
    """Weight in counts up to symmetry: 1, or 0.5 if its mirror image is enumerated too."""
    own: GScore
    """The position score."""
    value: GScore
    depth: int
    captures: bool
    """Whether there is a legal capture."""
    over: bool
    """Mate or stalemate."""


@functools.cache
def positions(directory: Path, name: str, variant: Variant = Variant.R_MOBILITY) -> list[Position]:
    """Return the positions of a material of two or three men with White's king in the triangle of a board
    without pawns, and with the pawn on the files a to d."""
    known = _enumerated(name)
    with open_tablebase(directory, rules=variant) as tables:
        results = list(tables.probe_many(board for board, *_ in known))
    return [
        Position(board, int(not board.turn), images, share, own, result.value, result.depth, captures, over)
        for (board, images, share, own, captures, over), result in zip(known, results, strict=True)
    ]


@functools.cache
def _enumerated(name: str) -> list[tuple[chess.Board, int, float, GScore, bool, bool]]:
    """Return the fields of positions that need no tables: board, images, share, position score, whether there
    are captures, and whether the game is over."""
    found = []
    for board, images, share in _placed(name):
        moves = list(board.legal_moves)
        own = GScore(2 * len(moves) + (not board.is_check()), not board.turn)
        found.append((board, images, share, own, any(map(board.is_capture, moves)), not moves))
    return found


def _placed(name: str) -> Iterator[tuple[chess.Board, int, float]]:
    white, black = name.split("v")
    men = white + black.lower()
    for squares in permutations(range(64), len(men)):
        where = dict(zip(men, squares, strict=True))
        if "P" in men:
            if not 8 <= where["P"] < 56 or where["P"] % 8 > 3:
                continue
            images, mirrors = 2, False
        elif chess.SQUARE_NAMES[where["K"]] not in _TRIANGLE:
            continue
        else:
            mirrors = where["K"] % 9 == 0
            images = 4 if mirrors else 8
        board = chess.Board(None)
        for man, square in where.items():
            board.set_piece_at(square, chess.Piece.from_symbol(man))
        itself = all(square % 8 == square // 8 for square in squares)
        for turn in (chess.WHITE, chess.BLACK):
            board.turn = turn
            if not board.was_into_check():
                yield board.copy(stack=False), images, 0.5 if mirrors and not itself else 1.0


def on_board(found: list[Position], key: Callable[[Position], Hashable]) -> Counter[Hashable]:
    """Count positions of the whole board by something."""
    counts: Counter[Hashable] = Counter()
    for position in found:
        counts[key(position)] += position.images
    return counts


def up_to_symmetry(found: list[Position], key: Callable[[Position], Hashable]) -> Counter[Hashable]:
    """Count positions up to symmetry by something."""
    shares: Counter[Hashable] = Counter()
    for position in found:
        shares[key(position)] += position.share  # type: ignore[assignment]
    assert all(share == int(share) for share in shares.values())
    return Counter({what: int(share) for what, share in shares.items()})


def images_of(board: chess.Board) -> list[chess.Board]:
    """Return a position and its images, each as often as symmetries map it there: 8, or 2 with pawns."""
    if board.pawns:
        return [board, board.transform(_MIRRORS[0])]
    found = []
    for chosen in product((False, True), repeat=3):
        image = board
        for mirror, wanted in zip(_MIRRORS, chosen, strict=True):
            image = image.transform(mirror) if wanted else image
        found.append(image)
    return found


def images_of_square(square: chess.Square, *, pawns: bool) -> list[chess.Square]:
    """Return where the images of a position have what stands on a square, as :func:`images_of` lists them."""
    file, rank = chess.square_file(square), chess.square_rank(square)
    if pawns:
        return [square, chess.square(7 - file, rank)]
    return [
        chess.square(*place)
        for x, y in product((file, 7 - file), (rank, 7 - rank))
        for place in ((x, y), (y, x))
    ]
