"""Every legal move of every position of KvK or KXvK on the full board, for the reference solver.

A plain mailbox generator: a man walks step by step in each of its directions. numpy does the same step for
all positions at once, that is all; no board symmetry, no bit boards. ``test_reference.py`` compares it with
python-chess. A position is its index in an array of shape (2, 64, 64, 64): side to move (0 = White), White
king, Black king, White's piece or pawn (KvK: (2, 64, 64)); squares as in python-chess, a1 = 0 .. h8 = 63.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Squares = NDArray[np.int16]
Mask = NDArray[np.bool_]

ORTHOGONAL = [(1, 0), (-1, 0), (0, 1), (0, -1)]
DIAGONAL = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
JUMPS = [(1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)]
STEPS = {"K": ORTHOGONAL + DIAGONAL, "Q": ORTHOGONAL + DIAGONAL, "R": ORTHOGONAL, "B": DIAGONAL, "N": JUMPS}
REACH = {"K": 1, "Q": 7, "R": 7, "B": 7, "N": 1}
PROMOTIONS = "QRBN"
WAZIR, FERZ, DABBABA, KNIGHT = ORTHOGONAL, DIAGONAL, [(2, 0), (-2, 0), (0, 2), (0, -2)], JUMPS
ZEBRA = [(a * x, b * y) for x, y in ((2, 3), (3, 2)) for a in (1, -1) for b in (1, -1)]
DESCRIBED = {
    "[WF]": [(WAZIR + FERZ, 1)],
    "[WD]": [(WAZIR + DABBABA, 1)],
    "[BD]": [(FERZ, 7), (DABBABA, 1)],
    "[BDD]": [(FERZ, 7), (DABBABA, 3)],
    "[RN]": [(WAZIR, 7), (KNIGHT, 1)],
    "[NN]": [(KNIGHT, 3)],
    "[F]": [(FERZ, 1)],
    "[RD]": [(WAZIR, 7), (DABBABA, 1)],
    "[HZ]": [([(3, 0), (-3, 0), (0, 3), (0, -3)], 1), (ZEBRA, 1)],
    "[R]": [(WAZIR, 7)],
}
"""Steps of described men, and how many of each may follow each other."""


def walks_of(piece: str) -> list[tuple[list[tuple[int, int]], int]]:
    """Steps of a man, and how many of each may follow each other."""
    return DESCRIBED[piece] if piece in DESCRIBED else [(STEPS[piece], REACH[piece])]


def step_table(files: int, ranks: int) -> Squares:
    """Where one step leads from each square, -1 off the board; entry -1 (the 65th) stays -1."""
    table = np.full(65, -1, dtype=np.int16)
    for square in range(64):
        file, rank = square % 8 + files, square // 8 + ranks
        if 0 <= file < 8 and 0 <= rank < 8:
            table[square] = rank * 8 + file
    return table


@dataclass(frozen=True)
class Moves:
    """Legal moves of one material; `source` ascends, moves of a position stand together.

    `legal` and `check` are bool arrays over the positions. Move m leads from position `source[m]` to the
    position `target[m]` of the material `names[table[m]]` (`names[0]` is the material itself);
    `zeroing[m]` tells captures and pawn moves.
    """

    names: list[str]
    legal: Mask
    check: Mask
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    table: NDArray[np.uint8]
    zeroing: Mask


class Diagrams:
    """All placements of the men of one material: flat arrays of squares, -1 for the piece KvK lacks."""

    def __init__(self, name: str) -> None:
        white, black = name.split("v")
        if black != "K" or white[0] != "K" or (len(white) > 2 and white[1:] not in DESCRIBED):
            raise ValueError(f"the reference knows KvK and KXvK, not {name}")
        self.piece = white[1:]
        men = 3 if self.piece else 2
        grid = np.indices((64,) * men, dtype=np.int16).reshape(men, -1)
        self.white_king, self.black_king = grid[0], grid[1]
        self.square = grid[2] if self.piece else np.full_like(grid[0], -1)
        self.size = grid.shape[1]

    def index(
        self, side: int, white_king: Squares, black_king: Squares, square: Squares
    ) -> NDArray[np.int32]:
        """Position index of given men."""
        index = (side * 64 + white_king.astype(np.int32)) * 64 + black_king
        return index * 64 + square if self.piece else index

    def walk(self, steps: list[tuple[int, int]], reach: int) -> Iterator[tuple[Squares, Mask]]:
        """Squares White's piece comes to, in each direction up to and including the first man it meets."""
        for step in steps:
            table = step_table(*step)
            square, free = self.square, self.square >= 0
            for _ in range(reach):
                square = table[square]
                free = free & (square >= 0)
                yield square, free
                free = free & (square != self.white_king) & (square != self.black_king)

    def attacked(self) -> Mask:
        """Does White's piece attack the Black king?"""
        hit = np.zeros(self.size, dtype=bool)
        walks = [([(-1, 1), (1, 1)], 1)] if self.piece == "P" else walks_of(self.piece) if self.piece else []
        for steps, reach in walks:
            for square, free in self.walk(steps, reach):
                hit |= free & (square == self.black_king)
        return hit

    def possible(self) -> Mask:
        """Men on different squares, kings apart, pawn on a rank from 2 to 7."""
        apart = np.ones(self.size, dtype=bool)
        for step in STEPS["K"]:
            apart &= step_table(*step)[self.white_king] != self.black_king
        apart &= self.white_king != self.black_king
        apart &= (self.square != self.white_king) & (self.square != self.black_king)
        if self.piece == "P":
            apart &= (self.square >= 8) & (self.square < 56)
        return apart


def all_moves(name: str) -> Moves:
    """Generate all legal moves of all legal positions of KvK or KXvK (X of QRBNP or ``DESCRIBED``)."""
    men = Diagrams(name)
    possible, attacked = men.possible(), men.attacked()
    # White's king can never stand in check: Black has only a king.
    legal = np.concatenate([possible & ~attacked, possible])
    check = np.concatenate([np.zeros(men.size, dtype=bool), possible & attacked])
    names = [name]
    found: list[tuple[NDArray[np.int64], NDArray[np.int32], int, bool]] = []

    def add(side: int, allowed: Mask, target: NDArray[np.int32], to: str, zeroing: bool) -> None:
        if to not in names:
            names.append(to)
        allowed = allowed & legal[side * men.size :][: men.size]
        if to == name:
            allowed = allowed & legal[np.where(allowed, target, 0)]
        chosen = np.flatnonzero(allowed)
        found.append((chosen + side * men.size, target[chosen], names.index(to), zeroing))

    for step in STEPS["K"]:
        table = step_table(*step)
        square = table[men.white_king]
        free = (square >= 0) & (square != men.square)
        add(0, free, men.index(1, square, men.black_king, men.square), name, False)
        square = table[men.black_king]
        free = (square >= 0) & (square != men.square)
        add(1, free, men.index(0, men.white_king, square, men.square), name, False)
        if men.piece:
            bare = Diagrams("KvK")
            free = (square >= 0) & (square == men.square) & _far(square, men.white_king)
            add(1, free, bare.index(0, men.white_king, square, men.square), "KvK", True)
    if men.piece == "P":
        second = (men.square >= 8) & (men.square < 16)
        for distance, (square, free) in enumerate(men.walk([(0, 1)], 2), start=1):
            free = free & (square != men.white_king) & (square != men.black_king)
            if distance == 2:
                free = free & second
            add(0, free & (square < 56), men.index(1, men.white_king, men.black_king, square), name, True)
            for piece in PROMOTIONS if distance == 1 else "":
                target = men.index(1, men.white_king, men.black_king, square)
                add(0, free & (square >= 56), target, f"K{piece}vK", True)
    elif men.piece:
        for steps, reach in walks_of(men.piece):
            for square, free in men.walk(steps, reach):
                free = free & (square != men.white_king)
                add(0, free, men.index(1, men.white_king, men.black_king, square), name, False)

    source = np.concatenate([move[0] for move in found]).astype(np.int32)
    order = np.argsort(source, kind="stable")
    target = np.concatenate([move[1] for move in found])
    if men.piece in DESCRIBED:  # what two ways lead to is one move
        _, first = np.unique(source.astype(np.int64) << 32 | target, return_index=True)
        order = order[np.isin(order, first)]
    return Moves(
        names,
        legal,
        check,
        source[order],
        target[order],
        np.concatenate([np.full(len(move[0]), move[2], dtype=np.uint8) for move in found])[order],
        np.concatenate([np.full(len(move[0]), move[3], dtype=bool) for move in found])[order],
    )


def _far(first: Squares, second: Squares) -> Mask:
    """Are the squares more than one king's step apart?"""
    files, ranks = np.abs(first % 8 - second % 8), np.abs(first // 8 - second // 8)
    far: Mask = np.maximum(files, ranks) > 1
    return far
