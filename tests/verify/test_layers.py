"""Proofs of tables without accrued scores: layers are made during the proof and proved like stored ones."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.score import GScore, Rank
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.generator import build
from tbgen.index.layout import Side
from tbgen.index.table import AccruedForm, Source, Table
from tbgen.retro.kernels.phase import LayerPart
from tbgen.retro.layer_solvers import EveryLayer
from tbgen.tables.library import Library
from tbgen.verify.proof import verify_table
from tbgen.verify.report import VerifyResult
from tests.support.builds import Silent, stored_as
from tests.support.exhaustive import exhaustive
from tests.support.packed_tables import plain
from tests.verify.conftest import around

Tamper = Callable[[GScore, LayerPart], None]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of three men without accrued scores."""
    directory = tmp_path_factory.mktemp("bare")
    wanted = [Material.parse(name) for name in ("KNvK", "KBvK", "KPvK")]
    with stored_as(AccruedForm.NOTHING):
        build(wanted, directory, Silent(), variant=Variant.R_MOBILITY)
    return directory


class Tampered(EveryLayer):
    """Layers that are changed before the proof sees them."""

    def __init__(self, tamper: Tamper | None, table: Table, sources: Mapping[Material, Source]) -> None:
        super().__init__(table, sources)
        self.tamper = tamper

    def read(self, holder: Side, number: int) -> LayerPart:
        part = super().read(holder, number)
        if self.tamper:
            self.tamper(GScore(Rank(self._rank), holder == 0), part)
        return part


def verify_bare(directory: Path, name: str, tamper: Tamper | None = None) -> VerifyResult:
    material = Material.parse(name)
    table = plain(directory, name)
    assert not table.stores_accrued
    with (
        Library(directory, Variant.R_MOBILITY) as library,
        Tampered(tamper, table, library.sub_tables_of(material)) as layers,
    ):
        return verify_table(table, around(directory, table.layout), layer_maker=layers)


@pytest.mark.parametrize("name", ["KNvK", *exhaustive(["KBvK", "KPvK"])])
def test_tables_without_accrued_scores_are_proved_in_full(
    name: str, bare: Path, three_men: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number of proved states equals that of a table that stores accrued scores."""
    result = verify_bare(bare, name)
    assert result.findings == []
    for directory in (bare, three_men):
        assert main(["verify", name, "--dir", str(directory)]) == 0
        assert f"{result.states:,} states" in capsys.readouterr().out.splitlines()[-1]


def first_open(layer: LayerPart, accrued: GScore) -> tuple[int, int]:
    """Return a place at which a layer has another value than the accrued score."""
    there = np.unpackbits(layer.present.view(np.uint8), axis=1, bitorder="little").view(bool)
    side, slot = np.argwhere(there & (layer.value != accrued.code))[0]
    return int(side), int(slot)


def keep_the_score(layer: LayerPart, accrued: GScore) -> None:
    layer.value[first_open(layer, accrued)] = accrued.code


def come_later(layer: LayerPart, accrued: GScore) -> None:
    layer.depth[first_open(layer, accrued)] += 1


def leave_the_range(layer: LayerPart, accrued: GScore) -> None:
    layer.value[first_open(layer, accrued)] = 255


@pytest.mark.parametrize(
    ("name", "spoilt", "change", "problem"),
    [
        ("KNvK", GScore(4, white=False), keep_the_score, ""),
        ("KBvK", GScore(3, white=True), come_later, ""),
        ("KNvK", GScore(4, white=False), leave_the_range, "outside the range"),
    ],
)
def test_a_wrong_entry_of_a_layer_is_found(
    name: str, spoilt: GScore, change: Callable[[LayerPart, GScore], None], problem: str, bare: Path
) -> None:
    def tamper(accrued: GScore, layer: LayerPart) -> None:
        if accrued == spoilt:
            change(layer, accrued)

    result = verify_bare(bare, name, tamper)
    assert result.wrong > 0
    assert any(finding.accrued == spoilt and problem in finding.problem for finding in result.findings)


class Forgetful(EveryLayer):
    """Omits the last batch of phases."""

    @property
    def batches(self) -> list[tuple[int, int]]:
        return super().batches[:-1]


def test_layers_of_some_phases_prove_nothing(bare: Path) -> None:
    table = plain(bare, "KPvK")
    with (
        Library(bare, Variant.R_MOBILITY) as library,
        Forgetful(table, library.sub_tables_of(table.material)) as layers,
        pytest.raises(ValueError, match="do not cover each of the 24 phases once"),
    ):
        verify_table(table, around(bare, table.layout), layer_maker=layers)


def test_without_layers_nothing_is_proved(bare: Path) -> None:
    """Without this check, kernels would read runs that do not exist."""
    table = plain(bare, "KNvK")
    with pytest.raises(ValueError, match="KNvK has no runs of accrued scores, and no layers were passed"):
        verify_table(table, around(bare, table.layout))
