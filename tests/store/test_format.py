"""docs/format.md is enough: positions looked up with h5py and numpy alone, by following it."""

import hashlib
import itertools
import random
from pathlib import Path

import chess
import h5py
import numpy as np
import pytest

from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.score import GScore
from tbgen.store.format import table_path
from tbgen.variant import Variant
from tests.support.builds import without_accrued
from tests.support.random_boards import en_passant_board
from tests.support.random_tables import random_table, write

NONE, FRESH = 127, 128
TRIANGLE = [0, 1, 2, 3, 9, 10, 11, 18, 19, 27]

Men = list[tuple[str, int]]  # letter as in FEN, square


def rank(code: int) -> int:
    return code if code < 127 else 255 - code


def swap_colours(men: Men) -> Men:
    return [(letter.swapcase(), square ^ 56) for letter, square in men]


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
    """Value code and depth of a position with its own score, as the document says."""
    if rank(own) < 2:
        return own, 0
    name = bytes(file.attrs["material"]).decode()
    order = "KQRBNP"
    letters = sorted((letter for letter, _ in men), key=lambda letter: order.index(letter.upper()))
    sides = ["".join(filter(str.isupper, letters)), "".join(filter(str.islower, letters)).upper()]
    if "v".join(sides) != name:
        assert "v".join(sides[::-1]) == name
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
    """What the file beside a table without accrued scores says, after a look at its head."""
    phase, within = divmod(slot, int(file.attrs["phase_size"]))
    score = f"{'' if accrued < 127 else '-'}G{rank(accrued) / 2}"
    part = f".{phase}" if len(file["placements"]) > 1 else ""
    digest = bytes(file.attrs["digest"]).decode()
    with h5py.File(f"{file.filename.removesuffix('.h5')}.{score}{part}.layer.h5", locking=False) as layer:
        head = ["tbgen layer 1", f"table {digest}", f"accrued {score}", f"phase {phase}"]
        assert bytes(layer.attrs["manifest"]).decode().splitlines()[:4] == head
        return int(layer["value"][side, within]), int(layer["depth"][side, within])


def agree(tables: Tablebase, file: h5py.File, board: chess.Board, accrued: GScore | None) -> None:
    """Look a board up both ways."""
    men = [(piece.symbol(), square) for square, piece in board.piece_map().items()]
    own = GScore.of_board(board).code
    en_passant = board.ep_square if board.has_legal_en_passant() else None
    found = look_up(file, men, board.turn, own, None if accrued is None else accrued.code, en_passant)
    result = tables.probe(board, accrued)
    assert (result.value.code, result.depth) == found, (board.fen(), str(accrued))


def random_board(rng: random.Random, white: str, black: str) -> chess.Board:
    """A legal position of the men."""
    while True:
        board = chess.Board(None)
        board.turn = rng.random() < 0.5
        for letter, square in zip(
            white + black.lower(), rng.sample(range(64), len(white + black)), strict=True
        ):
            board.set_piece_at(square, chess.Piece.from_symbol(letter))
        if board.status() & ~chess.STATUS_IMPOSSIBLE_CHECK == chess.STATUS_VALID:
            return board


@pytest.mark.parametrize("name", ["KvK", "KBvK", "KNvK"])
def test_positions_of_real_tables(name: str, reference_dir: Path) -> None:
    rng = random.Random(name)
    white, black = name.split("v")
    with (
        h5py.File(table_path(reference_dir, name, Variant.R_MOBILITY), locking=False) as file,
        open_tablebase(reference_dir) as tables,
    ):
        for number in range(150):
            board = random_board(rng, *((white, black) if number % 2 else (black, white)))
            scores = [None, *(GScore(rng.randrange(2, 18), rng.random() < 0.5) for _ in range(6))]
            for accrued in scores:
                agree(tables, file, board, accrued)


@pytest.mark.parametrize("name", ["KNvK", "KQvKR", "KPvKP"])
def test_whole_games(name: str, whole_game_tables: Path) -> None:
    rng, en_passant = random.Random(name), 0
    white, black = name.split("v")
    with (
        h5py.File(table_path(whole_game_tables, name, Variant.WHOLE_GAME), locking=False) as file,
        open_tablebase(whole_game_tables, rules="wg") as tables,
    ):
        for number in range(100):
            board = random_board(rng, *((white, black) if number % 2 else (black, white)))
            if name == "KPvKP" and number < 20:
                board = en_passant_board(rng)
            en_passant += board.has_legal_en_passant()
            for accrued in (None, *(GScore(rng.randrange(2, 18), rng.random() < 0.5) for _ in range(4))):
                agree(tables, file, board, accrued)
    assert en_passant == (20 if name == "KPvKP" else 0)


@pytest.mark.parametrize("name", ["KNvK", "KPvK"])
def test_layers(name: str, three_men: Path, tmp_path: Path) -> None:
    """What is looked up in them is what the table would hold."""
    rng = random.Random(name)
    bare = without_accrued(three_men, name, tmp_path / "bare")
    white, black = name.split("v")
    with (
        h5py.File(table_path(bare, name, Variant.R_MOBILITY), locking=False) as file,
        open_tablebase(bare, depths=True) as makes,
        open_tablebase(three_men) as tables,
    ):
        for number in range(60):
            board = random_board(rng, *((white, black) if number % 2 else (black, white)))
            for accrued in (None, *(GScore(rng.choice([2, 3, 7]), rng.random() < 0.5) for _ in range(3))):
                makes.probe(board, accrued)
                agree(tables, file, board, accrued)
        made = sorted(bare.glob("*.layer.h5"))
        assert len(made) > 5
        for path in made:
            with h5py.File(path, locking=False) as layer:
                assert bytes(layer.attrs["format"]) == b"tbgen layer"
                assert (layer.attrs["format_version"], layer.attrs["complete"]) == (1, 1)
                lines = [
                    "tbgen layer 1",
                    *(f"{key} {bytes(layer.attrs[key]).decode()}" for key in ("table", "accrued")),
                    f"phase {layer.attrs['phase']}",
                ]
                for key in ("value", "depth"):
                    data = layer[key][...]
                    assert data.shape == (2, file.attrs["phase_size"])
                    shape = "x".join(map(str, data.shape))
                    lines.append(f"{key} {data.dtype.name} {shape} {hashlib.sha256(data).hexdigest()}")
                manifest = "\n".join(lines) + "\n"
                assert bytes(layer.attrs["manifest"]).decode() == manifest
                assert bytes(layer.attrs["digest"]).decode() == hashlib.sha256(manifest.encode()).hexdigest()


@pytest.mark.parametrize("name", ["KNNvK", "KRPvK", "KPvKP"])
def test_the_index_with_like_men_and_pawns(name: str, tmp_path: Path) -> None:
    """On noise, which every slot that is looked up wrongly betrays; NONE would stop a probe."""
    rng = random.Random(name)
    table = random_table(name, density=0.05)
    table.value[table.value == NONE] = 30
    write(table, table_path(tmp_path, name, Variant.R_MOBILITY))
    white, black = name.split("v")
    with (
        h5py.File(table_path(tmp_path, name, Variant.R_MOBILITY), locking=False) as file,
        open_tablebase(tmp_path) as tables,
    ):
        for number in range(60):
            board = random_board(rng, *((white, black) if number % 2 else (black, white)))
            for accrued in (None, GScore(rng.randrange(2, 12), rng.random() < 0.5)):
                agree(tables, file, board, accrued)


@pytest.mark.parametrize("fen", ["8/8/8/8/k3Pp2/8/8/K7 b - e3 0 1", "8/8/8/8/2pP4/8/8/K6k b - d3 0 1"])
def test_en_passant(fen: str, tmp_path: Path) -> None:
    board = chess.Board(fen)
    passed = chess.parse_square(fen.split()[3])
    table = random_table("KPvKP")
    configs = [
        (phase, square)
        for phase, (white, black) in enumerate(table.layout.placements)
        for square, pawn, other in ((white - 8, white, black), (black + 8, black, white))
        if pawn // 8 == (3 if square < 32 else 4) and pawn // 8 == other // 8 and abs(pawn - other) == 1
    ]
    table.ep_config = np.array(configs, np.int32)
    shape = (len(configs), table.layout.phase_size)
    table.ep_value = np.random.default_rng(0).integers(2, 60, shape, np.uint8)
    table.ep_depth = np.random.default_rng(1).integers(0, 60, shape).astype(np.uint16)
    write(table, table_path(tmp_path, "KPvKP", Variant.R_MOBILITY))
    with (
        h5py.File(table_path(tmp_path, "KPvKP", Variant.R_MOBILITY), locking=False) as file,
        open_tablebase(tmp_path) as tables,
    ):
        mirrored = board.transform(chess.flip_horizontal)
        mirrored.ep_square = passed ^ 7
        for position in (board, mirrored, board.mirror()):
            assert position.has_legal_en_passant()
            agree(tables, file, position, None)
            agree(tables, file, position, GScore.parse("G1.5"))


def test_the_manifest_and_the_digest(reference_dir: Path) -> None:
    facts = ["rules", "material", "free_men", "pawns", "size", "phase_size", "positions", "ep_positions"]
    names = ["placements", "value", "depth", "accrued/mask", "accrued/start", "accrued/rank"]
    names += ["accrued/value", "accrued/depth", "ep/config", "ep/value", "ep/depth"]
    with h5py.File(table_path(reference_dir, "KNvK", Variant.R_MOBILITY), locking=False) as file:
        assert file.attrs["complete"] == 1
        lines = ["tbgen table 2"]
        for name in [*facts, "accrued", "runs", "max_depth"]:
            fact = file.attrs[name]
            if isinstance(fact, bytes):
                fact = fact.decode()
            lines.append(f"{name} {' '.join(map(str, fact)) if name == 'positions' else fact}")
        for name in names:
            data = file[name][...]
            little = np.ascontiguousarray(data, data.dtype.newbyteorder("<"))
            shape = "x".join(map(str, data.shape))
            lines.append(f"{name} {data.dtype.name} {shape} {hashlib.sha256(little).hexdigest()}")
        manifest = "\n".join(lines) + "\n"
        assert bytes(file.attrs["manifest"]).decode() == manifest
        assert bytes(file.attrs["digest"]).decode() == hashlib.sha256(manifest.encode()).hexdigest()
