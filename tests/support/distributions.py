"""How often each value occurs among all legal positions of a material."""

from tests.support.reference import ReferenceTable
from tests.support.reference_game import (
    rank_of,
)

# All legal positions of the 64-square board by fresh value: White to move, Black to move.
DISTRIBUTIONS = {
    ("KvK", 0): "G1.5 44, G2.5 124, G3.5 404, G4.5 32, G5.5 988, "
    "-G8.5 396, -G5.5 1216, -G4.5 32, -G3.5 332, -G2.5 28, -G1.5 16",
    ("KNvK", 0): "G0.5 2844, G1.0 16, G1.5 14992, G2.0 360, G2.5 10972, G3.0 292, G3.5 175972, G5.5 48",
    ("KNvK", 1): "G0.5 512, G1.0 16, G1.5 4352, G2.0 96, G2.5 4624, G3.0 640, G3.5 193476, G4.5 160, "
    "G5.5 6220, -G8.5 3168, -G5.5 8224, -G4.5 224, -G3.5 2012, -G2.5 148, -G1.5 72",
    ("KBvK", 0): "G0.5 7360, G1.5 185924",
    ("KRvK", 0): "G0.0 175168",
    ("KQvK", 0): "G0.0 144508",
}


def text(code: int) -> str:
    return f"{'' if code < 128 else '-'}G{rank_of(code) / 2}"


def distribution(table: ReferenceTable, side: int) -> str:
    return ", ".join(f"{text(value)} {count}" for value, count in table.distribution(side).items())
