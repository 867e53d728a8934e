"""docs/format.md is enough: positions looked up with h5py and numpy alone, by following it."""

import hashlib
import random
from pathlib import Path

import chess
import h5py
import numpy as np
import pytest

from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.store.format import table_path
from tests.support.builds import without_accrued
from tests.support.document_reader import NONE, look_up
from tests.support.exhaustive import exhaustive
from tests.support.random_boards import en_passant_board
from tests.support.random_tables import random_table, write


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


@pytest.mark.parametrize("name", ["KNvK", "KPvKP", *exhaustive(["KQvKR"])])
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


@pytest.mark.parametrize("name", ["KNNvK", "KPvK", *exhaustive(["KRPvK", "KPvKP"])])
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
