#!/usr/bin/env python3
"""Compare positions with castling rights with the positions after their moves, which python-chess makes.

    scripts/check_castling.py --dir data
    scripts/check_castling.py --dir data --places 5 --positions 200 KRNvK KRPvKP

For every material with a rook, a king and rooks are put on random squares from which they may castle, also by
the rules of Chess960. The other men are put on random squares. Some positions have an en passant right. Each
position is probed either fresh or with a random accrued score, and so are the positions after its moves. The
value must be the best value after a move. The depth, if it is known, must follow from the depths after the
moves. Prints a line per material. Exit code 0 if all agree, 1 if a position differs, 3 if a table is missing.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import chess
from check_en_passant import EP_ROW, is_right, selected_tables

from tbgen import FRESH, TbgenError, open_tablebase
from tbgen.board.material import Material
from tbgen.board.rules import Fresh
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import Tablebase
from tbgen.text import duration

_EN_PASSANT_SHARE = 0.3
"""Share of positions with an en passant right, among the positions that can have one."""


def random_place(material: Material, rng: random.Random) -> chess.Board:
    """Return a board with a king and rooks of its side on squares from which they may castle."""
    board = chess.Board(None, chess960=True)
    white = rng.choice(
        [side for side, men in zip(chess.COLORS, (material.white, material.black), strict=True) if "R" in men]
    )
    row = 0 if white else 7
    rooks = rng.randint(1, min(2, (material.white if white else material.black).count("R")))
    king = rng.choice([1, 2, 2, 3, 4, 5, 6, 6])  # castling may leave a king on c and g in place
    files = rng.sample([rng.randrange(king), rng.randrange(king + 1, 8)], rooks)
    if rng.random() < 0.5:  # the start squares of the usual game
        king = chess.square_file(chess.E1)
        files = rng.sample([0, 7], rooks)
    board.set_piece_at(chess.square(king, row), chess.Piece(chess.KING, white))
    for file in files:
        board.set_piece_at(chess.square(file, row), chess.Piece(chess.ROOK, white))
        board.castling_rights |= chess.BB_SQUARES[chess.square(file, row)]
    return board


def positions_with_rights(
    material: Material, placement: chess.Board, rng: random.Random
) -> Iterator[chess.Board]:
    """Yield random legal positions that are not over: a placement of king and rooks, and the other men."""
    other_men = [chess.Piece.from_symbol(man) for man in material.white + material.black.lower()]
    for man in placement.piece_map().values():
        other_men.remove(man)
    while True:
        board = placement.copy()
        board.turn = rng.random() < 0.5
        free = list(chess.SquareSet(~board.occupied))
        for square, man in zip(rng.sample(free, len(other_men)), other_men, strict=True):
            board.set_piece_at(square, man)
        doubled_pawns = [
            square for square in board.pieces(chess.PAWN, not board.turn) if square >> 3 == EP_ROW[board.turn]
        ]
        if doubled_pawns and rng.random() < _EN_PASSANT_SHARE:
            board.ep_square = doubled_pawns[0] + (8 if board.turn else -8)
        if (
            board.is_valid()
            and any(board.legal_moves)
            and (board.ep_square is None or board.has_legal_en_passant())
        ):
            yield board


def check(tables: Tablebase, material: Material, places: int, count: int) -> bool:
    """Compare random positions of one material, print a line, and return whether all agree."""
    rng = random.Random(f"{material} {places} {count}")
    wrong = []
    began = time.perf_counter()
    en_passant = 0
    for place in (random_place(material, rng) for _ in range(places)):
        for board in islice(positions_with_rights(material, place, rng), count):
            position_score = GScore.of_board(board)
            accrued: GScore | Fresh = FRESH
            if position_score.rank > 2 and rng.random() < 0.7:
                accrued = GScore(rng.randint(2, position_score.rank), rng.random() < 0.5)
            en_passant += board.ep_square is not None
            if not is_right(tables, board, accrued):
                wrong.append(f"{board.fen()} with {accrued}")
    agrees = "agrees" if not wrong else f"DIFFERS in {len(wrong):,}, first {wrong[0]}"
    print(
        f"{material!s:6} {agrees}: {places * count:,} positions with castling rights, {en_passant:,} of them "
        f"with an en passant right, {duration(time.perf_counter() - began)}",
        flush=True,
    )
    return not wrong


def has_rooks(material: Material) -> bool:
    """Return whether either side may castle."""
    return "R" in material.white + material.black


def run(directory: Path, names: list[str], places: int, count: int, variant: Variant) -> int:
    """Compare the named materials, or all with tables and rooks, and return the exit code.

    :raises MissingTableError: if the directory has no suitable table, or a named table is missing.
    """
    materials = selected_tables(directory, names, variant, has_rooks, "KRvK")
    agreements = []
    for material in materials:
        with open_tablebase(directory, rules=variant) as tables:  # anew: solved cells need memory
            agreements.append(check(tables, material, places, count))
    return 0 if all(agreements) else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("materials", nargs="*", metavar="MATERIAL", help="default: all that are in DIR")
    parser.add_argument("--dir", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--places", type=int, default=2, metavar="N", help="placements of king and rooks (2)")
    parser.add_argument("--positions", type=int, default=50, metavar="N", help="positions per placement (50)")
    parser.add_argument("--rules", type=Variant, default=Variant.R_MOBILITY, help="rules: r or wg (r)")
    arguments = parser.parse_args()
    try:
        return run(arguments.dir, arguments.materials, arguments.places, arguments.positions, arguments.rules)
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
