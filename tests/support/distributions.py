"""Numbers of positions by value on the whole board, from the reference solver."""

DISTRIBUTIONS = {
    ("KvK", 0): "G1.5 44, G2.5 124, G3.5 404, G4.5 32, G5.5 988, "
    "-G8.5 396, -G5.5 1216, -G4.5 32, -G3.5 332, -G2.5 28, -G1.5 16",
    ("KNvK", 0): "G0.5 2844, G1.0 16, G1.5 14992, G2.0 360, G2.5 10972, G3.0 292, G3.5 175972, G5.5 48",
    ("KNvK", 1): "G0.5 512, G1.0 16, G1.5 4352, G2.0 96, G2.5 4624, G3.0 640, G3.5 193476, G4.5 160, "
    "G5.5 6220, -G8.5 3168, -G5.5 8224, -G4.5 224, -G3.5 2012, -G2.5 148, -G1.5 72",
    ("KBvK", 0): "G0.5 7360, G1.5 185924",
}
"""By material and side to move."""
OF_A_PAWN = {"G0.0": 97604, "G0.5": 18984, "G5.5": 27400, "-G8.5": 6986, "-G0.5": 14}
"""Those of KPvK with Black to move; other values are left out."""
