"""Records: longest positions, their lines replayed, their PGN."""

import io
import shutil
from pathlib import Path

import chess
import chess.pgn
import pytest
from msgspec.structs import replace

from tbgen.board.material import all_materials
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError
from tbgen.games.referee import Arbiter
from tbgen.probe.tablebase import open_tablebase
from tbgen.report.model import Record
from tbgen.report.records import overall_records, records_of, with_line
from tbgen.store.format import table_path
from tbgen.tables.files import open_table, write_table
from tests.support.exhaustive import exhaustive
from tests.support.reports import count_table

THREE_MEN = [material.name for material in all_materials(3)]

LONGEST = {
    "KvK": {"G5.5": 14},
    "KBvK": {"G0.5": 17, "G1.5": 46},
    "KNvK": {"G0.5": 27, "G1.5": 23, "G2.5": 11, "G3.5": 30, "G5.5": 40},
    "KPvK": {"G0.0": 56, "G0.5": 42, "G3.5": 22},
    "KRvK": {"G0.0": 32},
    "KQvK": {"G0.0": 20},
}


def records(directory: Path, name: str) -> list[Record]:
    return records_of(count_table(directory, name))


def test_lines_replay(three_men: Path) -> None:
    """The arbiter reaches the value with the last ply and not earlier; the PGN is the same game."""
    with open_tablebase(three_men) as tables:
        for record in [record for name in THREE_MEN for record in records(three_men, name)]:
            assert (record.line, record.pgn, record.verified) == ((), "", False)
            full = with_line(record, tables)
            assert full.verified
            assert replace(full, line=(), pgn="", verified=False) == record
            arbiter = Arbiter(full.fen, fifty_move_rule="none")
            assert len(full.line) == full.depth
            for number, point in enumerate(full.line):
                assert arbiter.accrued != full.value
                arbiter.push_uci(point.uci)
                assert (arbiter.accrued, point.depth) == (point.accrued, full.depth - number - 1)
            assert arbiter.accrued == full.value
            assert_pgn(full)


def assert_pgn(record: Record) -> None:
    game = chess.pgn.read_game(io.StringIO(record.pgn))
    assert game is not None
    assert not game.errors
    assert game.headers["SetUp"] == "1"
    assert game.headers["FEN"] == record.fen
    assert len(record.fen.split()) == 6
    assert game.headers["RMobilityResult"] == str(record.value)
    assert [move.uci() for move in game.mainline_moves()] == [point.uci for point in record.line]
    expected = {True: "1-0", False: "0-1"}[record.value.white] if record.value.rank == 0 else "1/2-1/2"
    assert game.headers["Result"] == expected
    comments = [game.comment.strip(), *(node.comment.strip() for node in game.mainline())]
    assert [comment for comment in comments if comment][-1] == str(record.value)


def test_longest(three_men: Path) -> None:
    for name, expected in LONGEST.items():
        depths = {str(record.value): record.depth for record in records(three_men, name)}
        assert {value: depths[value] for value in expected} == expected, name
    found = {str(record.value): record for record in records(three_men, "KRvK")}
    assert (found["G0.0"].ties, found["G0.0"].to_move) == (390, "black")
    queens = {str(record.value): record for record in records(three_men, "KQvK")}
    assert (queens["G0.0"].depth, queens["G0.0"].ties) == (20, 8)


@pytest.mark.slow
def test_en_passant_positions_take_part(tables: Path) -> None:
    """For some values of KPvKP, only positions with an en passant right have the greatest depth."""
    scanned = count_table(tables, "KPvKP")
    en_passant = [record for record in records_of(scanned) if chess.Board(record.fen).ep_square is not None]
    with open_tablebase(tables) as base:
        for record in records_of(scanned):
            result = base.probe(chess.Board(record.fen))
            assert (result.value, result.depth) == (record.value, record.depth)
        for record in en_passant:
            full = with_line(record, base)
            assert full.verified
            assert chess.Board(record.fen).has_legal_en_passant()
            assert_pgn(full)
    counts = scanned.counts[0].sum(axis=(0, 1))
    for record in en_passant:
        assert counts[record.value.code, record.depth] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "mate", "depth"),
    [
        ("KBNvK", "G0.0", 66),
        *exhaustive([("KQvKR", "G0.0", 70), ("KRvKP", "-G0.0", 85), ("KPvKP", "G0.5", None)]),
    ],
)
def test_four_men(name: str, mate: str, depth: int | None, tables: Path) -> None:
    with open_tablebase(tables) as base:
        found = [with_line(record, base) for record in records(tables, name)]
    assert all(record.verified for record in found)
    (longest,) = (record.depth for record in found if str(record.value) == mate)
    assert depth in (None, longest)


def test_overall(three_men: Path) -> None:
    every = [record for name in THREE_MEN for record in records(three_men, name)]
    found = {str(record.g): record for record in overall_records(every)}
    assert list(found) == sorted(found, key=lambda text: GScore.parse(text).rank)
    assert [(held.material.name, held.value) for held in found["G0.0"].holders] == [("KPvK", GScore(0, True))]
    assert (found["G0.0"].depth, found["G1.5"].depth) == (56, 46)
    for record in found.values():
        alike = [r for r in every if r.value.rank == record.g.rank]
        assert record.depth == max(r.depth for r in alike)
        assert record.ties == sum(held.ties for held in record.holders)
        assert all(held.value.white for held in record.holders if held.material.symmetric)
    assert overall_records([]) == []
    # Bare kings have every record twice, once for each side; it counts once.
    for record in overall_records(records(three_men, "KvK")):
        (held,) = record.holders
        assert record.ties == held.ties


def test_missing_tables(three_men: Path, tmp_path: Path) -> None:
    """With the table KBvK alone, lines with captures are unavailable, which is no error."""
    shutil.copy(table_path(three_men, "KBvK", Variant.R_MOBILITY), tmp_path)
    with open_tablebase(tmp_path) as tables:
        for record in records(tmp_path, "KBvK"):
            full = with_line(record, tables)
            assert full == record or full.verified


def test_damaged_tables(three_men: Path, tmp_path: Path) -> None:
    """A line that contradicts its table is an error."""
    with open_table(table_path(three_men, "KBvK", Variant.R_MOBILITY)) as file:
        table = file.read()
    record = next(r for r in records(three_men, "KBvK") if str(r.value) == "G1.5")
    shutil.copy(table_path(three_men, "KvK", Variant.R_MOBILITY), tmp_path)
    table.depth[table.depth == 40] = 38
    write_table(table, table_path(tmp_path, "KBvK", Variant.R_MOBILITY), version="0.1.0", build_seconds=1.0)
    with open_tablebase(tmp_path) as tables, pytest.raises(DamagedTableError):
        with_line(record, tables)
