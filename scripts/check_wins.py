#!/usr/bin/env python3
"""Compare the forced mates after promotions that ``tbgen solve`` finds with tables.

    scripts/check_wins.py --dir data KQvKR KQvKP KRvKP
    scripts/check_wins.py --dir data --positions 100000 KQRvKR

All kings and pieces are mobile, so every position of the material is in a cell. Tables of fewer men supply
the values of the exits. Prints the number of forced mates of the side named first, according to the table,
and how many of these mates were found. Exit code 0 if all mates that were found are in the table, 1 if one is
not, 3 if a table is missing.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np

from tbgen import TbgenError, open_tablebase
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.promoted_cells import WonCells
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.table_source import Tables
from tbgen.board.kinds import KIND_LETTERS
from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.cells.cell import Cell, Man, man_of
from tbgen.cells.wins import Wins
from tbgen.errors import UsageError
from tbgen.index.layout import SIDES, Side
from tbgen.probe.tablebase import Tablebase
from tbgen.store.format import table_path, tables_in

_WHITE_MATES_CODE = 0


def cells_of(material: Material) -> Iterator[Cell]:
    """Yield the cells of a material: first without Black's pawn, then with the pawn, most advanced first."""
    men = [
        man_of(side, KIND_LETTERS.index(letter)) for side, letters in _sides(material) for letter in letters
    ]
    pawns = [chess.BB_EMPTY]
    if "P" in material.black:
        pawns += [chess.BB_SQUARES[square] for square in range(8, 56) if square % 8 < 4]
    for pawn in pawns:
        yield Cell(tuple(sorted(men)), (), 0, pawn)


def _sides(material: Material) -> Iterator[tuple[Side, str]]:
    yield SIDES[0], material.white
    yield SIDES[1], material.black.replace("P", "")


def compare(tables: Tablebase, wins: Wins, count: int) -> np.ndarray:
    """Return four numbers: positions compared, mates in the table, mates found, and wrong mates."""
    rng = np.random.default_rng(0)
    cell = wins.cell
    digits = len(wins.cell.mobile)
    slots = np.arange(cell.size) if cell.size <= count else rng.integers(cell.size, size=count)
    total = np.zeros(4, np.int64)
    squares = np.stack([slots >> 6 * (digits - 1 - digit) & 63 for digit in range(digits)], axis=1)
    letters = "".join(_letter(man) for man in cell.mobile)
    for pawn in chess.scan_forward(cell.black_pawns):
        letters += "p"
        squares = np.concatenate([squares, np.full((len(slots), 1), pawn)], axis=1)
    for side in SIDES:
        value, _ = tables.probe_arrays(letters, squares.astype(np.uint8), np.full(len(slots), side, np.uint8))
        bits = wins.won[side][slots >> 6] >> (slots & 63).astype(np.uint64) & np.uint64(1)
        found = bits.astype(bool)
        mates = value == _WHITE_MATES_CODE
        total += [(value != NONE).sum(), mates.sum(), (found & mates).sum(), (found & ~mates).sum()]
    return total


def _letter(man: Man) -> str:
    letter = KIND_LETTERS[man.kind]
    return letter.lower() if man.colour else letter


def check(directory: Path, tables: Tablebase, material: Material, count: int) -> bool:
    """Find the mates of a material, print a line, and return whether all of them are in the table."""
    start = time.process_time()
    total = np.zeros(4, np.int64)
    with tempfile.TemporaryDirectory() as folder:
        for other in tables_in(directory, Variant.R_MOBILITY):
            if other.men < material.men:
                path = table_path(directory, other.name, Variant.R_MOBILITY)
                Path(folder, path.name).symlink_to(path.resolve())
        with open_tablebase(folder) as smaller_tables:
            won = WonCells(material.men - 1 - material.pawns)
            known = ExitBounds(Tables(smaller_tables), SolvedCells(), wins=won)
            solved = [
                won.solve(smaller, known) for cell in cells_of(material) for smaller in won.cells_up_to(cell)
            ]
    seconds = time.process_time() - start
    for wins in solved:
        if wins.cell.men == material.men:
            total += compare(tables, wins, count)
    positions, mates, found, wrong = total.tolist()
    verdict = f"CONTRADICTS {wrong:,}" if wrong else "agrees"
    share = found / mates if mates else 1
    print(
        f"{material!s:6} {verdict}: {positions:,} positions compared, {mates:,} mates, "
        f"{share:.2%} found, {seconds:.1f} s of processor time",
        flush=True,
    )
    return not wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("materials", nargs="+", metavar="MATERIAL", help="first side without pawns")
    parser.add_argument("--dir", type=Path, required=True, help="folder of the tables")
    parser.add_argument(
        "--positions", type=int, default=1 << 24, metavar="N", help="maximum per cell and side"
    )
    arguments = parser.parse_args()
    try:
        materials = [Material.parse(name) for name in arguments.materials]
        for material in materials:
            if "P" in material.white or material.black.count("P") > 1 or material.white == "K":
                raise UsageError(
                    f"{material}: expected a piece of the first side and at most one pawn, of the other side"
                )
        with open_tablebase(arguments.dir) as tables:
            agree = [check(arguments.dir, tables, material, arguments.positions) for material in materials]
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0 if all(agree) else 1


if __name__ == "__main__":
    sys.exit(main())
