#!/usr/bin/env python3
"""Compare tables with FairyGen, H. G. Muller's generator of endgame tables with fairy pieces.

    git clone https://github.com/ceebo/fairygen
    for men in 3 4; do cc -O2 -w -DMEN=$men -o fairygen/${men}men fairygen/EGTgen.c; done
    scripts/check_fairygen.py fairygen data KQvKR "K[WD]vK"

For each material and each side that has more than its king, FairyGen counts the positions in which the other
side is to move and can be mated by force, by the number of moves to the mate. The counts of the table must be
the same. Materials must have three or four men and no pawns.

Prints a line per side: the material, the mating side, the longest way in moves, the number of positions on
the full board, and whether all counts agree. Exit code 0 if all counts agree, else 1.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from math import factorial, prod
from pathlib import Path
from time import sleep
from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import Kind
from tbgen.board.material import Material, Men
from tbgen.errors import TbgenError, UsageError
from tbgen.probe.positions import Positions
from tbgen.probe.tablebase import Tablebase, open_tablebase

Counts = Counter[int]
"""Number of positions by the number of moves in which the side to move is mated. As in FairyGen, it is a
quarter of the number of positions on the full board, and like men are distinguished."""

LETTERS: Final = "ACDE"
"""Letters for men in FairyGen. Its letter of kings is K."""
_REPORT_FILE: Final = "rep2.txt"
_ROW: Final = re.compile(r" *(\d+)\.((?: +\d+)+)$", re.MULTILINE)
_MAN: Final = re.compile(r"\[[^]]*\]|.")
_POLL_SECONDS: Final = 0.05
"""Interval between checks whether the report is complete."""


def definition(kind: Kind) -> str:
    """Return the moves of a man in the notation of FairyGen's ``piecedef.ini``."""
    moves = dict[str, None]()
    for steps, slides in ((kind.leaps, ""), (kind.rides, "s")):
        for step in steps:
            short, long = sorted(map(abs, step))
            moves[f"{long},{short},{slides}*"] = None
    return " ".join(moves)


def fairygen_counts(programs: Path, material: Material, white: bool) -> Counts:
    """Return the counts that FairyGen reports.

    :param programs: directory of ``3men`` and ``4men``.
    :param white: whether the side named first mates.
    :raises UsageError: if the program is missing, or ends without a report.
    """
    program = programs.absolute() / f"{material.men}men"
    if not program.is_file():
        raise UsageError(f"{program} is missing: compile EGTgen.c of FairyGen with -DMEN={material.men}")
    kinds = {kind.name: kind for kind in material.kinds}
    letters = dict(
        zip(dict.fromkeys(_others(material, True) + _others(material, False)), LETTERS, strict=False)
    )
    men = ["K: 1,0,* 1,1,*", *(f"{letter}: {definition(kinds[man])}" for man, letter in letters.items())]
    sides = ("K" + "".join(letters[man] for man in _others(material, side)) for side in (white, not white))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "piecedef.ini").write_text("".join(f"{line}\n" for line in men))
        command = [str(program), "-m", ".".join(sides)]
        with subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as running:  # after its report, the program waits for moves
            while "TOTAL" not in (text := _read(Path(folder) / _REPORT_FILE)):
                if running.poll() is not None:
                    raise UsageError(f"{program} has ended without a report on {material}")
                sleep(_POLL_SECONDS)
            running.kill()
    return report_counts(text)


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def report_counts(text: str) -> Counts:
    """Return the counts of a report. It has columns by the square colours of men, and mates are in row 1."""
    rows = {int(row[1]) - 1: sum(map(int, row[2].split())) for row in _ROW.finditer(text)}
    return +Counts({moves: count for moves, count in rows.items() if moves >= 0})


def table_counts(tables: Tablebase, material: Material, white: bool) -> Counts:
    """Return the counts of a table."""
    orders = prod(factorial(count) for side in material.sides for count in Counter(side).values())
    counts = Counts()
    for block in tables.table(material).blocks(value="G0.0" if white else "-G0.0", side=not white):
        squares = _in_order(block, block.squares())
        mirrored = _in_order(block, squares % 8 * 8 + squares // 8)
        images = np.where((squares == mirrored).all(axis=1), 1, 2)
        for plies, count in enumerate(np.bincount(block.depth, images).tolist()):
            counts[plies // 2] += int(count) * orders
    return +counts


def _in_order(positions: Positions, squares: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the squares of men, with the squares of like men in ascending order."""
    men = np.array(_MAN.findall(positions.men))
    ordered = squares.copy()
    for man in set(men):
        ordered[:, men == man] = np.sort(squares[:, men == man], axis=1)
    return ordered


def _others(material: Material, white: bool) -> Men:
    return material.sides[not white][1:]


def main(arguments: Sequence[str]) -> int:
    """Compare the named materials, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("programs", type=Path, metavar="FAIRYGEN", help="directory of 3men and 4men")
    parser.add_argument("directory", type=Path, metavar="DIR", help="the tables, of r-mobility")
    parser.add_argument("materials", nargs="+", metavar="MATERIAL")
    options = parser.parse_args(arguments)
    try:
        with open_tablebase(options.directory) as tables:
            materials = [_parse_supported(name) for name in options.materials]
            agreements = [compare(options.programs, tables, material) for material in materials]
            return 0 if all(agreements) else 1
    except TbgenError as error:
        print(f"check_fairygen: {error}", file=sys.stderr)
        return error.exit_code


def _parse_supported(name: str) -> Material:
    """Return a material that FairyGen supports.

    :raises UsageError: if FairyGen does not support the material.
    """
    material = Material.parse(name)
    if material.pawns or material.men not in (3, 4):
        raise UsageError(
            f"{material} is none of FairyGen's: give materials of three or four men without pawns"
        )
    return material


def compare(programs: Path, tables: Tablebase, material: Material) -> bool:
    """Compare the counts of both sides, print a line for each, and return whether all agree."""
    all_agree = True
    for white in chess.COLORS[: 1 if material.symmetric else 2]:
        if _others(material, white):
            counts = table_counts(tables, material, white)
            agree = counts == fairygen_counts(programs, material, white)
            longest = f"{max(counts)} moves" if counts else "no mate"
            text = "agree" if agree else "DIFFER"
            side = chess.COLOR_NAMES[white].capitalize()
            print(f"{material.name:14} {side}  {longest:>9}  {4 * counts.total():>12,}  {text}", flush=True)
            all_agree &= agree
    return all_agree


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
