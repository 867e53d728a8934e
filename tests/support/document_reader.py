"""A slow and simple reader of tables that follows docs/format.md and uses only h5py and numpy."""

import hashlib
import itertools
from typing import Any

import h5py
import numpy as np

NONE, FRESH = 127, 128
TRIANGLE = [0, 1, 2, 3, 9, 10, 11, 18, 19, 27]

Men = list[tuple[str, int]]  # letter as in FEN, square


def manifest_line(name: str, data: Any) -> str:
    """The line of a manifest that describes a dataset."""
    little = np.ascontiguousarray(data, data.dtype.newbyteorder("<"))
    shape, digest = "x".join(map(str, data.shape)), hashlib.sha256(little.tobytes()).hexdigest()
    return f"{name} {data.dtype.name} {shape} {digest}"


def manifest_facts(attributes: Any) -> list[str]:
    """The first lines of the manifest of a table."""
    facts = ["rules", "material", "free_men", "pawns", "size", "phase_size", "positions", "ep_positions"]
    lines = ["tbgen table 2"]
    for name in [*facts, "accrued", "runs", "max_depth"]:
        fact = attributes[name]
        if isinstance(fact, bytes):
            fact = fact.decode()
        lines.append(f"{name} {' '.join(map(str, fact)) if name == 'positions' else fact}")
    return lines


def check_manifest(attributes: Any, lines: list[str]) -> None:
    """The manifest of a file and its digest follow from the lines."""
    manifest = "\n".join(lines) + "\n"
    assert bytes(attributes["manifest"]).decode() == manifest
    assert bytes(attributes["digest"]).decode() == hashlib.sha256(manifest.encode()).hexdigest()


def rank(code: int) -> int:
    return code if code < 127 else 255 - code


def swap_colours(men: Men) -> Men:
    return [(letter.swapcase(), square ^ 56) for letter, square in men]


def name_of(men: Men) -> str:
    """The material, White's men first."""
    letters = sorted((letter for letter, _ in men), key=lambda letter: "KQRBNP".index(letter.upper()))
    return "v".join(("".join(filter(str.isupper, letters)), "".join(filter(str.islower, letters)).upper()))


def symmetries(men: Men, pawns: bool) -> list[Men]:
    """The position and its images: two with pawns, else eight."""
    found = []
    for files, ranks, diagonal in itertools.product((0, 7), (0, 56), (False, True)):
        if not (pawns and (ranks or diagonal)):
            moved = [(letter, square ^ files ^ ranks) for letter, square in men]
            if diagonal:
                moved = [(letter, square % 8 * 8 + square // 8) for letter, square in moved]
            found.append(moved)
    return found


def slot_of(file: h5py.File, men: Men) -> tuple[int, bool]:
    """Slot, and whether the position was mirrored to get there."""
    placements = file["placements"][...]
    best: tuple[int, bool] | None = None
    images = symmetries(men, placements.shape[1] > 0)
    for number, image in enumerate(images):
        if placements.shape[1]:
            row = [sorted(s for letter, s in image if letter == pawn) for pawn in "Pp"]
            phases = np.flatnonzero((placements == row[0] + row[1]).all(axis=1))
            if not len(phases):
                continue
            phase = int(phases[0])
        else:
            phase = 0
            if dict(image)["K"] not in TRIANGLE:
                continue
        letters = bytes(file.attrs["free_men"]).decode().split()
        free: list[int] = []
        for letter in dict.fromkeys(letters):
            free += sorted(square for other, square in image if other == letter)
        slot = free[0] if placements.shape[1] else TRIANGLE.index(free[0])
        for square in free[1:]:
            slot = slot * 64 + square
        slot += phase * int(file.attrs["phase_size"])
        if best is None or slot < best[0]:
            best = slot, number > 0
    assert best is not None
    return best


def look_up(
    file: h5py.File, men: Men, white: bool, own: int, accrued: int | None, ep_square: int | None
) -> tuple[int, int]:
    """Value code and depth of a position with the position score ``own``, as docs/format.md specifies."""
    if rank(own) < 2:
        return own, 0
    name = bytes(file.attrs["material"]).decode()
    if name_of(men) != name:
        assert name_of(swap_colours(men)) == name
        swapped = None if accrued is None else 255 - accrued
        en_passant = None if ep_square is None else ep_square ^ 56
        value, depth = look_up(file, swap_colours(men), not white, 255 - own, swapped, en_passant)
        return 255 - value, depth
    side = 0 if white else 1
    slot, mirrored = slot_of(file, men)
    whole_game = bytes(file.attrs["rules"]) == b"wg"
    fresh = int(file["value"][side, slot]), int(file["depth"][side, slot])
    if ep_square is not None:
        phase_size = int(file.attrs["phase_size"])
        target = ep_square ^ 7 if mirrored else ep_square
        (row,) = np.flatnonzero((file["ep/config"][...] == [slot // phase_size, target]).all(axis=1))
        fresh = int(file["ep/value"][row, slot % phase_size]), int(file["ep/depth"][row, slot % phase_size])
        if not whole_game:
            return fresh
    if accrued is None or rank(own) < rank(accrued):
        accrued = own
    if whole_game:
        return fresh if rank(fresh[0]) < rank(accrued) else (accrued, 0)
    if accrued == own or rank(accrued) > rank(fresh[0]):
        return fresh
    if file.attrs["accrued"] == 0:
        return look_up_in_layer(file, side, slot, accrued)
    holder = 0 if accrued < 127 else 1
    block = slot // 4096
    mask = file["accrued/mask"][holder, side, block * 512 : (slot // 8) + 1]
    bits = np.unpackbits(mask, bitorder="little")[: slot % 4096 + 1]
    if not bits[-1]:
        return accrued, 0
    first = int(file["accrued/start"][holder, side, block])
    ranks = file["accrued/rank"][first : first + 4096 * 64]
    ends = np.flatnonzero(ranks >= 128)
    skipped = int(bits[:-1].sum())
    begin = int(ends[skipped - 1]) + 1 if skipped else 0
    runs = [first + i for i in range(begin, int(ends[skipped]) + 1) if ranks[i] % 128 <= rank(accrued)]
    if not runs or file["accrued/value"][runs[-1]] == NONE:
        return accrued, 0
    if file["accrued/value"][runs[-1]] == FRESH:
        return fresh
    return int(file["accrued/value"][runs[-1]]), int(file["accrued/depth"][runs[-1]])


def look_up_in_layer(file: h5py.File, side: int, slot: int, accrued: int) -> tuple[int, int]:
    """Return the entry of the layer file beside a table without accrued scores; check its attributes."""
    phase, within = divmod(slot, int(file.attrs["phase_size"]))
    score = f"{'' if accrued < 127 else '-'}G{rank(accrued) / 2}"
    part = f".{phase}" if len(file["placements"]) > 1 else ""
    digest = bytes(file.attrs["digest"]).decode()
    with h5py.File(f"{file.filename.removesuffix('.h5')}.{score}{part}.layer.h5", locking=False) as layer:
        head = ["tbgen layer 1", f"table {digest}", f"accrued {score}", f"phase {phase}"]
        assert bytes(layer.attrs["manifest"]).decode().splitlines()[:4] == head
        return int(layer["value"][side, within]), int(layer["depth"][side, within])
