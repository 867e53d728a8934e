#!/usr/bin/env python3
"""Compare tables with published records: longest mates and numbers of legal positions.

    scripts/check_records.py data
    scripts/check_records.py data KBNvKN KNNvKP
    scripts/check_records.py --saved docs/tables

The values G0.0 and -G0.0 are mates, and their depth is the distance to mate in plies. So the longest mates of
a table must be the published records. tests/data/mate_records.csv has the records with their sources, and
tests/data/position_totals.csv the numbers of positions. Without MATERIAL, all tables in DIR are compared.
Tables are read block by block, in less than a minute each. Packed tables are unpacked before, which takes
longer. With --saved, DIR has data of ``tbgen report --save`` instead of tables, which needs no time.

Prints a line per table: the longest mate that White and that Black to move can force, the longest of all, the
legal positions with White and with Black to move, and a position with the longest mate. If a figure differs,
the published figure follows it, and the position has a mate of the differing length. Exit code 0 if all
tables agree, 1 if one differs, 3 if a table is missing.
"""

import argparse
import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import chess
import h5py
import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material, all_materials
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, TbgenError, UsageError
from tbgen.index.layout import IMAGE, TRANSPOSE, TRIANGLE, Layout, Side, Slot, layout_of
from tbgen.index.position import board_of
from tbgen.report.data import SavedData
from tbgen.report.model import SIDES
from tbgen.store.format import tables_in
from tbgen.tables.library import Library

PUBLISHED: Final = Path(__file__).resolve().parent.parent / "tests" / "data"

BLOCK_SLOTS: Final = 1 << 22
"""Number of slots that are read at once."""

MATE_CODES: Final = (GScore.parse("G0.0").code, GScore.parse("-G0.0").code)
"""Codes of the values that are mates by White and by Black."""

DIAGONAL: Final = tuple(square for square in range(64) if IMAGE[TRANSPOSE][square] == square)


@dataclass(frozen=True, slots=True)
class Record:
    """The published figures of one material."""

    material: Material
    mates: tuple[int, int]
    """Plies of the longest mate that White with White to move, and Black with Black to move, can force."""
    longest: int | None
    """Plies of the longest mate of either side, whoever is to move; None if it is not published."""
    positions: tuple[int, int]
    """Legal positions with White and with Black to move."""
    whole_board: bool
    """Whether mirror images count as separate positions."""


@dataclass(slots=True)
class Longest:
    """The longest mate found so far, and a position with it."""

    plies: int = 0
    fen: str = ""


class Mates:
    """The longest mates of a table."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.moving = Longest(), Longest()
        """The longest mates of White with White to move and of Black with Black to move."""
        self.of_all = Longest()

    def add(
        self,
        side: int,
        first_slot: int,
        value: NDArray[np.uint8],
        depth: NDArray[Any],
        ep_square: int | None = None,
    ) -> None:
        """Add the values and depths of consecutive slots from ``first`` on, with one side to move.

        :param ep_square: target of the en passant capture, if all positions have this right.
        """
        for holder, code in enumerate(MATE_CODES):
            indices = np.flatnonzero(value == code)
            if not indices.size:
                continue
            index = int(indices[np.argmax(depth[indices])])
            plies = int(depth[index])
            for longest in (self.of_all, self.moving[side]) if side == holder else (self.of_all,):
                if plies > longest.plies:
                    longest.plies = plies
                    longest.fen = board_of(
                        self._layout, Side(side), Slot(first_slot + index), ep_square
                    ).fen()


def rows_of(name: str) -> dict[str, dict[str, str]]:
    """Return the rows of a file of published figures, by material."""
    with (PUBLISHED / name).open(newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    by_material = {row["material"]: row for row in rows}
    if len(by_material) != len(rows):
        raise ValueError(f"{name} has a material twice")
    return by_material


def published() -> dict[str, Record]:
    """Return the published records by the canonical name of the material, in build order."""
    mates, totals = rows_of("mate_records.csv"), rows_of("position_totals.csv")
    if mates.keys() != totals.keys():
        raise ValueError("mate_records.csv and position_totals.csv have different materials")
    records = {}
    for name, row in mates.items():
        total = totals[name]
        records[name] = Record(
            material=Material.parse(name),
            mates=(int(row["white"]), int(row["black"])),
            longest=int(row["longest"]) if row["longest"] else None,
            positions=(int(total["white"]), int(total["black"])),
            whole_board={"symmetry": False, "board": True}[total["counted"]],
        )
        if total["both"] and int(total["both"]) != sum(records[name].positions):
            raise ValueError(f"the numbers of positions of {name} contradict each other")
    return records


def longest_mates(path: Path, layout: Layout) -> Mates:
    """Return the longest mates, from all fresh values and depths, also of en passant positions."""
    mates = Mates(layout)
    with h5py.File(path, "r", locking=False) as file:
        value, depth = file["value"], file["depth"]
        for side in (0, 1):
            for start in range(0, layout.size, BLOCK_SLOTS):
                block = slice(start, min(start + BLOCK_SLOTS, layout.size))
                mates.add(side, start, value[side, block], depth[side, block])
        value, depth = file["ep/value"], file["ep/depth"]
        for row, (phase, square) in enumerate(file["ep/config"][:].tolist()):
            side = int(chess.square_rank(square) == 2)
            mates.add(side, phase * layout.phase_size, value[row], depth[row], square)
    return mates


def count_symmetric(path: Path, layout: Layout) -> tuple[int, int]:
    """Count the positions with White and with Black to move that a symmetry of the board maps to themselves.

    In such positions both kings are on a long diagonal. In slots, White's king is on one of a1 to d4.
    """
    if layout.pawns:
        return 0, 0
    counts = [0, 0]
    pieces = layout.free_count - 2
    with h5py.File(path, "r", locking=False) as file:
        for side, first_slot in blocks_on_diagonal(pieces):
            slots = np.flatnonzero(file["value"][side, first_slot : first_slot + 64**pieces] != NONE)
            men = np.array([slots >> 6 * (pieces - 1 - man) & 63 for man in range(pieces)])
            mirrored = np.array(IMAGE[TRANSPOSE])[men]
            for start, stop in layout.like_men:
                men[start - 2 : stop - 2].sort(axis=0)
                mirrored[start - 2 : stop - 2].sort(axis=0)
            counts[side] += int(np.count_nonzero((men == mirrored).all(axis=0)))
    return counts[0], counts[1]


def blocks_on_diagonal(pieces: int) -> Iterator[tuple[int, int]]:
    """Yield the side to move and the first slot of each block of slots with both kings on the diagonal."""
    for side in (0, 1):
        for coordinate, square in enumerate(TRIANGLE):
            if square in DIAGONAL:
                for black_king in DIAGONAL:
                    yield side, (coordinate * 64 + black_king) * 64**pieces


def positions(path: Path, layout: Layout, canonical: tuple[int, int], whole_board: bool) -> tuple[int, int]:
    """Return the numbers of legal positions with White and with Black to move.

    :param canonical: the numbers up to symmetry.
    :param whole_board: whether to count mirror images separately.
    """
    if not whole_board:
        return canonical
    images = 2 if layout.pawns else 8
    white, black = count_symmetric(path, layout)
    return images * canonical[0] - images // 2 * white, images * canonical[1] - images // 2 * black


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a table."""

    mates: tuple[Longest, Longest, Longest]
    """The longest mates of White with White to move, of Black with Black to move, and of all."""
    positions: tuple[int, int]
    """Legal positions with White and with Black to move, counted like the published numbers."""


def in_table(directory: Path, record: Record, variant: Variant) -> Figures:
    """Return the figures of a table, which is read in full."""
    layout = layout_of(record.material)
    with Library(directory, variant) as library:
        file = library.plain(record.material)
        mates = longest_mates(file.path, layout)
        legal = positions(file.path, layout, file.info.positions, record.whole_board)
    return Figures((*mates.moving, mates.of_all), legal)


def in_data(directory: Path, record: Record, variant: Variant) -> Figures:
    """Return the figures of a table from saved data."""
    report = SavedData(directory).report(record.material, variant)
    distribution = report.distribution
    moving = (Longest(), Longest())
    of_all = Longest()
    for side, code in enumerate(MATE_CODES):
        value = GScore.from_code(code)
        moving[side].plies = max(distribution.depths[side].get(value, {0: 0}))
        for saved_record in report.records:  # published numbers include positions with an en passant right
            if saved_record.value == value:
                longest = Longest(saved_record.depth, saved_record.fen)
                of_all = max(of_all, longest, key=lambda mate: mate.plies)
                if saved_record.to_move == SIDES[side] and saved_record.depth >= moving[side].plies:
                    moving[side].plies, moving[side].fen = longest.plies, longest.fen
    white, black = (side.board if record.whole_board else side.canonical for side in distribution.positions)
    return Figures((*moving, of_all), (white, black))


def compare(figures: Figures, record: Record) -> bool:
    """Compare one table, print a line, and return whether it agrees."""
    published_plies = (*record.mates, record.longest)
    pairs = list(zip(figures.mates, published_plies, strict=True))
    wrong = [mate for mate, plies in pairs if plies not in (None, mate.plies)]
    agrees = not wrong and figures.positions == record.positions
    white, black, of_all = (_figure(mate.plies, plies) for mate, plies in pairs)
    numbers = " and ".join(map(_figure, figures.positions, record.positions))
    print(
        f"{record.material!s:6} {'agrees' if agrees else 'DIFFERS'}: mates in plies {white} White to move, "
        f"{black} Black to move, {of_all} of all; {numbers} positions; "
        f"{(wrong[0] if wrong else figures.mates[2]).fen or 'no mate'}",
        flush=True,
    )
    return agrees


def _figure(actual: int, published: int | None) -> str:
    return f"{actual:,}" if published in (None, actual) else f"{actual:,} (published {published:,})"


def run(
    directory: Path, names: list[str], variant: Variant = Variant.R_MOBILITY, *, saved: bool = False
) -> int:
    """Compare the named tables, or all tables of the directory, and return the exit code.

    :param variant: the rules of the tables. Mates are the same in both variants.
    :param saved: whether the directory has saved data instead of tables.
    """
    records = published()
    existing = set(SavedData(directory).materials(variant) if saved else tables_in(directory, variant))
    materials = [Material.parse(name) for name in names] or [
        material for material in all_materials(5) if material.name in records and material in existing
    ]
    for material in materials:
        if material.name not in records:
            raise UsageError(f"{material} has no published record: its men are fewer than three")
    if not materials:
        raise MissingTableError(next(iter(records)), directory, variant)
    read_figures = in_data if saved else in_table
    wanted = [records[material.name] for material in materials]
    agreements = [compare(read_figures(directory, record, variant), record) for record in wanted]
    return 0 if all(agreements) else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="folder of the tables, or of their data")
    parser.add_argument("materials", nargs="*", metavar="MATERIAL", help="default: all that are in DIR")
    parser.add_argument("--rules", type=Variant, choices=list(Variant), default=Variant.R_MOBILITY)
    parser.add_argument("--saved", action="store_true", help="DIR has saved data, not tables")
    args = parser.parse_args()
    try:
        return run(args.directory, args.materials, args.rules, saved=args.saved)
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
