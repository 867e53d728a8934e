#!/usr/bin/env python3
"""Compare en passant positions of tables with the positions after their moves, which python-chess makes.

    scripts/check_en_passant.py --dir data
    scripts/check_en_passant.py --dir data --positions 20000 KPvKP KPPvKP

The tables are all with pawns on both sides. Random positions in which a pawn may be captured en passant are
probed, and also the positions after each of their moves. The value of a position must be the best value after
a move. The depth, if the table stores it, must follow from the depths after the moves. Prints a line per
table. Exit code 0 if all agree, 1 if a position differs, 3 if a table is missing.
"""

import argparse
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import chess

from tbgen import FRESH, TbgenError, open_tablebase
from tbgen.board.material import Material
from tbgen.board.rules import Fresh
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError
from tbgen.probe.tablebase import Tablebase
from tbgen.store.format import tables_in

EP_ROW: Final = {chess.WHITE: 4, chess.BLACK: 3}
"""Rank, from 0, of the pawns that may capture, by the side to move."""


def random_position(material: Material, rng: random.Random) -> chess.Board:
    """Return a legal position in which an en passant capture is legal."""
    men = [chess.Piece.from_symbol(man) for man in material.white]
    men += [chess.Piece.from_symbol(man.lower()) for man in material.black]
    while True:
        turn = rng.random() < 0.5
        row = EP_ROW[turn]
        step = 1 if turn else -1
        file, file_step = rng.randrange(8), rng.choice((-1, 1))
        if not 0 <= file + file_step < 8:
            continue
        other_men = men.copy()
        board = chess.Board(None)
        for colour, pawn_file in ((not turn, file), (turn, file + file_step)):
            pawn = chess.Piece(chess.PAWN, colour)
            other_men.remove(pawn)
            board.set_piece_at(chess.square(pawn_file, row), pawn)
        passed = [chess.square(file, row + step), chess.square(file, row + 2 * step)]
        free = [square for square in chess.SQUARES if board.piece_at(square) is None and square not in passed]
        for square, man in zip(rng.sample(free, len(other_men)), other_men, strict=True):
            board.set_piece_at(square, man)
        board.turn = turn
        board.ep_square = passed[0]
        if board.is_valid() and board.has_legal_en_passant():
            return board


def is_right(tables: Tablebase, board: chess.Board, accrued: GScore | Fresh = FRESH) -> bool:
    """Return whether value and depth of a state follow from the states after its moves.

    With ``FRESH``, the position score is the accrued score (docs/theory.md, section 5).
    """
    result = tables.probe(board, accrued)
    current = result.accrued
    successors: list[tuple[GScore, int | None]] = []
    for move in board.legal_moves:
        after = board.copy(stack=False)
        after.push(move)
        found = tables.probe(after, FRESH if tables.rules.is_reset_by(board.is_zeroing(move)) else current)
        successors.append((found.value, found.depth))
    best = max if board.turn else min
    value = best(value for value, _ in successors)
    if value != result.value:
        return False
    if value == current:
        return result.depth in (None, 0)
    depths = [depth for other, depth in successors if other == value]
    known_depths = [depth for depth in depths if depth is not None]
    if result.depth is None or len(known_depths) < len(depths):
        return True
    mover_gains = (value > current) == board.turn
    return result.depth == 1 + (min(known_depths) if mover_gains else max(known_depths))


def check(tables: Tablebase, material: Material, count: int) -> bool:
    """Compare random positions of one table, print a line, and return whether all agree."""
    rng = random.Random(f"{material} {count}")
    boards = [random_position(material, rng) for _ in range(count)]
    wrong = [board.fen() for board in boards if not is_right(tables, board)]
    agrees = "agrees" if not wrong else f"DIFFERS in {len(wrong):,}, first {wrong[0]}"
    print(f"{material!s:6} {agrees}: {count:,} positions with an en passant right", flush=True)
    return not wrong


def selected_tables(
    directory: Path, names: list[str], variant: Variant, fits: Callable[[Material], bool], smallest: str
) -> list[Material]:
    """Return the suitable tables among the named tables, or without names among all of the directory.

    :param smallest: name of the smallest suitable table, for the error.
    :raises MissingTableError: if the directory has no suitable table, or a named table is missing.
    """
    existing = tables_in(directory, variant)
    wanted = [material for material in [Material.parse(name) for name in names] or existing if fits(material)]
    for material in wanted:
        if material not in existing:
            raise MissingTableError(material.name, directory, variant)
    if not wanted:
        raise MissingTableError(smallest, directory, variant)
    return wanted


def has_pawns_on_both_sides(material: Material) -> bool:
    """Return whether positions of a material can have an en passant capture."""
    return "P" in material.white and "P" in material.black


def run(directory: Path, names: list[str], count: int, variant: Variant) -> int:
    """Compare the named tables, or all tables of the directory, and return the exit code.

    :raises MissingTableError: if the directory has no suitable table, or a named table is missing.
    """
    materials = selected_tables(directory, names, variant, has_pawns_on_both_sides, "KPvKP")
    with open_tablebase(directory, rules=variant) as tables:
        agreements = [check(tables, material, count) for material in materials]
    return 0 if all(agreements) else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("materials", nargs="*", metavar="MATERIAL", help="default: all that are in DIR")
    parser.add_argument("--dir", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--positions", type=int, default=2000, metavar="N", help="positions per table (2000)")
    parser.add_argument("--rules", type=Variant, default=Variant.R_MOBILITY, help="rules: r or wg (r)")
    arguments = parser.parse_args()
    try:
        return run(arguments.dir, arguments.materials, arguments.positions, arguments.rules)
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
