"""Proofs of tables without accrued scores: the layers are made on the way, and proved like stored ones."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tbgen.cli.main import main
from tbgen.generator import AccruedStorage, build
from tbgen.index.layout import layout_of
from tbgen.material import Material
from tbgen.retro.layer import Layer, LayerSolver
from tbgen.score import NONE, GScore, Rank
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile
from tbgen.store.sources import Sources
from tbgen.variant import Variant
from tbgen.verify.proof import SolveRank, verify_table
from tbgen.verify.report import VerifyResult
from tests.support.builds import Silent

Tamper = Callable[[GScore, np.ndarray, np.ndarray], None]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of three men without accrued scores."""
    directory = tmp_path_factory.mktemp("bare")
    wanted = [Material.parse(name) for name in ("KNvK", "KBvK", "KPvK")]
    build(wanted, directory, Silent(), variant=Variant.R_MOBILITY, storage=AccruedStorage.NONE)
    return directory


def verify_bare(directory: Path, name: str, tamper: Tamper | None = None) -> VerifyResult:
    material = Material.parse(name)
    with (
        TableFile(table_path(directory, name, Variant.R_MOBILITY)) as file,
        Sources(directory, Variant.R_MOBILITY) as sources,
    ):
        table = file.read()
        assert not table.stores_accrued
        around = {sub: sources.get(sub) for sub in material.successors()}
        fresh = {}
        for sub in material.successors():
            with TableFile(table_path(directory, sub.name, Variant.R_MOBILITY)) as other:
                fresh[sub] = other.read_fresh()

        def claims(phase: int) -> SolveRank:
            solver = LayerSolver(file, layout_of(material), phase, around)

            def layers(rank: Rank) -> tuple[Layer, Layer]:
                both = solver.solve_rank(rank)
                for white, layer in zip((True, False), both, strict=True):
                    if tamper:
                        tamper(GScore(rank, white), *layer)
                return both

            return layers

        return verify_table(table, fresh, layers=claims)


@pytest.mark.parametrize("name", ["KNvK", "KBvK", "KPvK"])
def test_tables_without_accrued_scores_are_proved_in_full(
    name: str, bare: Path, three_men: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As many states are proved as of a table that holds them all."""
    result = verify_bare(bare, name)
    assert result.findings == []
    for directory in (bare, three_men):
        assert main(["verify", name, "--dir", str(directory)]) == 0
        assert f"{result.states:,} states" in capsys.readouterr().out.splitlines()[-1]


def first_open(value: np.ndarray, accrued: GScore) -> tuple[int, int]:
    """Where a layer says something else than the accrued score."""
    side, slot = np.argwhere((value != NONE) & (value != accrued.code))[0]
    return int(side), int(slot)


def test_a_wrong_value_of_a_layer_is_found(bare: Path) -> None:
    def tamper(accrued: GScore, value: np.ndarray, depth: np.ndarray) -> None:
        if accrued == GScore(4, white=False):
            value[first_open(value, accrued)] = accrued.code

    result = verify_bare(bare, "KNvK", tamper)
    assert result.wrong > 0
    assert any(finding.accrued == GScore(4, white=False) for finding in result.findings)


def test_a_wrong_depth_of_a_layer_is_found(bare: Path) -> None:
    def tamper(accrued: GScore, value: np.ndarray, depth: np.ndarray) -> None:
        if accrued == GScore(3, white=True):
            depth[first_open(value, accrued)] += 1

    assert verify_bare(bare, "KBvK", tamper).wrong > 0


def test_a_value_outside_its_range_is_found(bare: Path) -> None:
    def tamper(accrued: GScore, value: np.ndarray, depth: np.ndarray) -> None:
        if accrued == GScore(4, white=False):
            value[first_open(value, accrued)] = 255

    result = verify_bare(bare, "KNvK", tamper)
    assert any("outside the range" in finding.problem for finding in result.findings)
