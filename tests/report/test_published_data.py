"""The data of docs/tables, which come from more tables than the tests build."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import chess
import pytest

from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.report.data import SavedData
from tests.support.digests import published_digests
from tests.support.paths import ROOT

PUBLISHED = ROOT / "docs" / "tables"
ENDS = {GScore(rank, white) for rank in (0, 1) for white in (True, False)}
"""The scores of mate and stalemate."""


def records(variant: Variant) -> Iterator[dict[str, Any]]:
    """Yield all records of tables for a variant, with their lines as moves."""
    for path in sorted(PUBLISHED.glob(f"*.{variant}.json.gz")):
        for record in json.loads(gzip.decompress(path.read_bytes()))["records"]:
            yield record | {"line": record["line"].split()}


@pytest.mark.parametrize("variant", Variant)
def test_every_record_has_its_line(variant: Variant) -> None:
    found = list(records(variant))
    assert len(found) > 4000
    assert [record["fen"] for record in found if len(record["line"]) != record["depth"]] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", Variant)
def test_every_line_comes_to_its_value(variant: Variant) -> None:
    """The value is reached with the last ply, replayed without the referee."""
    replayed = 0
    for record in records(variant):
        board = chess.Board(record["fen"])
        accrued = [GScore.of_board(board)]
        for move in map(chess.Move.from_uci, record["line"]):
            assert move in board.legal_moves, record["fen"]
            resets = variant.is_reset_by(board.is_zeroing(move))
            board.push(move)
            own = GScore.of_board(board)
            accrued.append(own if resets or own.rank < accrued[-1].rank else accrued[-1])
        assert str(accrued[-1]) == record["value"], record["fen"]
        assert len(accrued) < 2 or accrued[-1] != accrued[-2], record["fen"]
        replayed += 1
    assert replayed > 4000


@pytest.mark.exhaustive
def test_mate_and_stalemate_are_worth_the_same_by_both_rules() -> None:
    """No accrued score beats such values, so resets do not matter."""
    data = SavedData(PUBLISHED)
    materials = data.compared_materials()
    assert len(materials) == 146
    for material in materials:
        for side in data.difference(material).sides:
            assert not [pair for pair in side.pairs if ENDS & {pair.r, pair.wg}], material


def test_data_are_of_the_tables_whose_digests_stand_beside_them() -> None:
    data = SavedData(PUBLISHED)
    for variant in Variant:
        digests = published_digests(variant)
        materials = data.materials(variant)
        assert len(materials) == 146
        for material in materials:
            assert data.digest(material, variant) == digests[material.name], material


def test_the_overview_counts_as_many_positions_as_the_tables_have() -> None:
    data, page = SavedData(PUBLISHED), (ROOT / "docs" / "findings.md").read_text()
    positions = {
        (table["material"], table["rules"]): table["positions"]
        for table in json.loads((PUBLISHED / "set.json").read_text())["tables"]
    }
    for variant in Variant:
        materials = data.materials(variant)
        count = sum(positions[material.name, variant] for material in materials)
        assert f"{len(materials)} tables for {variant.label} with {count:,} positions up to symmetry" in page
