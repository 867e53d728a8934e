"""The data of docs/tables, made of tables that the tests do not all build."""

import json

from tbgen.report.data.saved import SavedData
from tbgen.score import GScore
from tbgen.variant import Variant
from tests.support.paths import ROOT

PUBLISHED = ROOT / "docs" / "tables"
ENDS = {GScore(rank, white) for rank in (0, 1) for white in (True, False)}
"""Mate and stalemate."""


def test_mate_and_stalemate_are_worth_the_same_by_both_rules() -> None:
    """Nothing that has accrued beats them, so it does not matter what becomes of it."""
    data = SavedData(PUBLISHED)
    materials = data.differences()
    assert len(materials) == 146
    for material in materials:
        for pairs in data.difference(material).sides:
            assert not [pair for pair in pairs if ENDS & set(pair)], material


def test_data_are_of_the_tables_whose_digests_stand_beside_them() -> None:
    data = SavedData(PUBLISHED)
    for variant in Variant:
        lines = (PUBLISHED / f"manifest.{variant}.txt").read_text().splitlines()
        digests = {line.split()[0]: line.split()[-1] for line in lines if line.startswith("K")}
        materials = data.tables(variant)
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
        materials = data.tables(variant)
        count = sum(positions[material.name, variant] for material in materials)
        assert f"{len(materials)} tables by {variant.label}, {count:,} positions up to symmetry" in page
