#!/usr/bin/env python3
"""Compare en passant positions of tables with the positions after their moves, as python-chess makes them.

    scripts/check_en_passant.py --dir data
    scripts/check_en_passant.py --dir data --positions 20000 KPvKP KPPvKP

Random positions of every table with pawns on both sides, in which a pawn may be captured en passant, are
probed, and so are the positions after each of their moves: the value must be the best of theirs, and the
depth must follow from theirs, if packed tables store it. Prints a line per table. Exit code 0 if all agree, 1
if one differs, 3 if a table is missing.
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

ROWS: Final = {chess.WHITE: 4, chess.BLACK: 3}
"""Rank, from 0, of the pawns that may capture, by the side to move."""


def random_position(material: Material, rng: random.Random) -> chess.Board:
    """Return a legal position in which an en passant capture is legal."""
    men = [chess.Piece.from_symbol(man) for man in material.white]
    men += [chess.Piece.from_symbol(man.lower()) for man in material.black]
    while True:
        turn = rng.random() < 0.5
        row, step = ROWS[turn], 1 if turn else -1
        file, beside = rng.randrange(8), rng.choice((-1, 1))
        if not 0 <= file + beside < 8:
            continue
        others = men.copy()
        board = chess.Board(None)
        for colour, at in ((not turn, file), (turn, file + beside)):
            pawn = chess.Piece(chess.PAWN, colour)
            others.remove(pawn)
            board.set_piece_at(chess.square(at, row), pawn)
        passed = [chess.square(file, row + step), chess.square(file, row + 2 * step)]
        free = [square for square in chess.SQUARES if board.piece_at(square) is None and square not in passed]
        for square, man in zip(rng.sample(free, len(others)), others, strict=True):
            board.set_piece_at(square, man)
        board.turn, board.ep_square = turn, passed[0]
        if board.is_valid() and board.has_legal_en_passant():
            return board


def is_right(tables: Tablebase, board: chess.Board, accrued: GScore | Fresh = FRESH) -> bool:
    """Return whether value and depth of a position follow from those after its moves, with an accrued score
    or fresh (docs/theory.md, section 5)."""
    told = tables.probe(board, accrued)
    held = told.accrued
    reached: list[tuple[GScore, int | None]] = []
    for move in board.legal_moves:
        after = board.copy(stack=False)
        after.push(move)
        found = tables.probe(after, FRESH if tables.rules.is_reset_by(board.is_zeroing(move)) else held)
        reached.append((found.value, found.depth))
    best = max if board.turn else min
    value = best(value for value, _ in reached)
    if value != told.value:
        return False
    if value == held:
        return told.depth in (None, 0)
    depths = [depth for found, depth in reached if found == value]
    known = [depth for depth in depths if depth is not None]
    if told.depth is None or len(known) < len(depths):
        return True
    hurries = (value > held) == board.turn
    return told.depth == 1 + (min(known) if hurries else max(known))


def check(tables: Tablebase, material: Material, count: int) -> bool:
    """Compare random positions of one table, print a line, and return whether all agree."""
    rng = random.Random(f"{material} {count}")
    boards = [random_position(material, rng) for _ in range(count)]
    wrong = [board.fen() for board in boards if not is_right(tables, board)]
    agrees = "agrees" if not wrong else f"DIFFERS in {len(wrong):,}, first {wrong[0]}"
    print(f"{material!s:6} {agrees}: {count:,} positions with an en passant right", flush=True)
    return not wrong


def suiting_tables(
    directory: Path, names: list[str], variant: Variant, suits: Callable[[Material], bool], smallest: str
) -> list[Material]:
    """Return the tables to check among the named ones, or among all of the directory.

    :param smallest: the smallest table that suits.
    :raises MissingTableError: if the directory has none, or a named one is missing.
    """
    there = tables_in(directory, variant)
    wanted = [material for material in [Material.parse(name) for name in names] or there if suits(material)]
    for material in wanted:
        if material not in there:
            raise MissingTableError(material.name, directory, variant)
    if not wanted:
        raise MissingTableError(smallest, directory, variant)
    return wanted


def has_pawns_on_both_sides(material: Material) -> bool:
    """Return whether a pawn may be captured en passant."""
    return "P" in material.white and "P" in material.black


def run(directory: Path, names: list[str], count: int, variant: Variant) -> int:
    """Compare the named tables, or all of the directory, and return the exit code.

    :raises MissingTableError: if the directory has none, or a named one is missing.
    """
    both = suiting_tables(directory, names, variant, has_pawns_on_both_sides, "KPvKP")
    with open_tablebase(directory, rules=variant) as tables:
        agree = [check(tables, material, count) for material in both]
    return 0 if all(agree) else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("materials", nargs="*", metavar="MATERIAL", help="default: all that are in DIR")
    parser.add_argument("--dir", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--positions", type=int, default=2000, metavar="N", help="of each table (2000)")
    parser.add_argument("--rules", type=Variant, default=Variant.R_MOBILITY, help="r or wg (r)")
    arguments = parser.parse_args()
    try:
        return run(arguments.dir, arguments.materials, arguments.positions, arguments.rules)
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
