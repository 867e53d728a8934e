"""docs/format.md is enough: positions looked up with h5py and numpy alone, by following it."""

import random
from pathlib import Path

import chess
import h5py
import pytest

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.store.format import table_path
from tests.support.builds import without_accrued
from tests.support.document_reader import check_manifest, look_up, manifest_facts, manifest_line
from tests.support.exhaustive import exhaustive, sample
from tests.support.random_boards import en_passant_board, random_board

R, WG = Variant


def agree(tables: Tablebase, file: h5py.File, board: chess.Board, accrued: GScore | None) -> None:
    """Check that a look-up with tbgen and one by docs/format.md agree."""
    men = [(piece.symbol(), square) for square, piece in board.piece_map().items()]
    own = GScore.of_board(board).code
    en_passant = board.ep_square if board.has_legal_en_passant() else None
    found = look_up(file, men, board.turn, own, None if accrued is None else accrued.code, en_passant)
    result = tables.probe(board, accrued)
    assert (result.value.code, result.depth) == found, (board.fen(), str(accrued))


SEEN = [("KBvK", R), ("KNNvK", R), ("KPvKP", R), ("KPvKP", WG)]
MORE = [(name, variant) for name in ("KvK", "KNvK", "KPvK", "KRPvK", "KQvKR") for variant in Variant]


@pytest.mark.parametrize(("name", "variant"), [*SEEN, *exhaustive(MORE)])
def test_positions_of_tables(name: str, variant: Variant, whole_game_tables: Path) -> None:
    rng, en_passant = random.Random(name), 0
    with (
        h5py.File(table_path(whole_game_tables, name, variant), locking=False) as file,
        open_tablebase(whole_game_tables, rules=variant) as tables,
    ):
        for number in range(sample(16, 120)):
            board = random_board(rng, Material.parse(name))
            if name == "KPvKP" and number < 8:
                board = en_passant_board(rng)
            en_passant += board.has_legal_en_passant()
            for accrued in (None, *(GScore(rng.randrange(2, 18), rng.random() < 0.5) for _ in range(4))):
                agree(tables, file, board, accrued)
    assert en_passant == (8 if name == "KPvKP" else 0)


@pytest.mark.parametrize("name", ["KPvK", *exhaustive(["KNvK"])])
def test_layers(name: str, three_men: Path, tmp_path: Path) -> None:
    """Values in layer files equal those of a table with accrued scores."""
    rng = random.Random(name)
    bare = without_accrued(three_men, name, tmp_path / "bare")
    with (
        h5py.File(table_path(bare, name, R), locking=False) as file,
        open_tablebase(bare, depths=True) as makes,
        open_tablebase(three_men) as tables,
    ):
        for _ in range(sample(8, 60)):
            board = random_board(rng, Material.parse(name))
            for accrued in (None, *(GScore(rng.choice([2, 3, 7]), rng.random() < 0.5) for _ in range(3))):
                makes.probe(board, accrued)
                agree(tables, file, board, accrued)
        made = sorted(bare.glob("*.layer.h5"))
        assert len(made) > sample(2, 5)
        for path in made:
            with h5py.File(path, locking=False) as layer:
                assert bytes(layer.attrs["format"]) == b"tbgen layer"
                assert (layer.attrs["format_version"], layer.attrs["complete"]) == (1, 1)
                lines = ["tbgen layer 1"]
                lines += [f"{key} {bytes(layer.attrs[key]).decode()}" for key in ("table", "accrued")]
                lines.append(f"phase {layer.attrs['phase']}")
                for key in ("value", "depth"):
                    assert layer[key].shape == (2, file.attrs["phase_size"])
                    lines.append(manifest_line(key, layer[key][...]))
                check_manifest(layer.attrs, lines)


def test_the_manifest_and_the_digest(three_men: Path) -> None:
    names = ["placements", "value", "depth", "accrued/mask", "accrued/start", "accrued/rank"]
    names += ["accrued/value", "accrued/depth", "ep/config", "ep/value", "ep/depth"]
    with h5py.File(table_path(three_men, "KNvK", R), locking=False) as file:
        assert file.attrs["complete"] == 1
        lines = manifest_facts(file.attrs) + [manifest_line(name, file[name][...]) for name in names]
        check_manifest(file.attrs, lines)
