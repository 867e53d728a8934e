"""Proofs of tables without accrued scores: the layers are made on the way, and proved like stored ones."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.score import GScore, Rank
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.generator import build
from tbgen.index.layout import layout_of
from tbgen.index.source import Source
from tbgen.index.table import AccruedForm, Table
from tbgen.packed.sources import Sources
from tbgen.retro.every_layer import EveryLayer, Layer
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile
from tbgen.verify.proof import verify_table
from tbgen.verify.report import VerifyResult
from tbgen.verify.sub_tables import Fresh, SubTables
from tests.support.builds import Silent, stored_as

Tamper = Callable[[GScore, Layer], None]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of three men without accrued scores."""
    directory = tmp_path_factory.mktemp("bare")
    wanted = [Material.parse(name) for name in ("KNvK", "KBvK", "KPvK")]
    with stored_as(AccruedForm.NOTHING):
        build(wanted, directory, Silent(), variant=Variant.R_MOBILITY)
    return directory


class Tampered(EveryLayer):
    """Layers with something changed before they are shown."""

    def __init__(self, tamper: Tamper | None, table: Table, sources: Mapping[Material, Source]) -> None:
        super().__init__(table, sources)
        self.tamper = tamper

    def layers(self, window: tuple[int, int]) -> Iterator[tuple[Layer, Layer]]:
        for rank, both in enumerate(super().layers(window), start=2):
            for white, layer in zip((True, False), both, strict=True):
                if self.tamper:
                    self.tamper(GScore(Rank(rank), white), layer)
            yield both


def verify_bare(directory: Path, name: str, tamper: Tamper | None = None) -> VerifyResult:
    material = Material.parse(name)
    with (
        TableFile(table_path(directory, name, Variant.R_MOBILITY)) as file,
        Sources(directory, Variant.R_MOBILITY) as sources,
    ):
        table = file.read()
        assert not table.stores_accrued
        around = {sub: sources.get(sub) for sub in material.successors()}
        with Tampered(tamper, table, around) as layers:
            return verify_table(table, fresh_around(directory, material), layers=layers)


def fresh_around(directory: Path, material: Material) -> SubTables:
    """Values and depths of all that a table rests on."""

    def read(sub: Material) -> Fresh:
        with TableFile(table_path(directory, sub.name, Variant.R_MOBILITY)) as other:
            return other.read_fresh()

    return SubTables(layout_of(material), read)


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


def first_open(layer: Layer, accrued: GScore) -> tuple[int, int]:
    """Where a layer says something else than the accrued score."""
    there = np.unpackbits(layer.there.view(np.uint8), axis=1, bitorder="little").view(bool)
    side, slot = np.argwhere(there & (layer.value != accrued.code))[0]
    return int(side), int(slot)


def test_a_wrong_value_of_a_layer_is_found(bare: Path) -> None:
    def tamper(accrued: GScore, layer: Layer) -> None:
        if accrued == GScore(4, white=False):
            layer.value[first_open(layer, accrued)] = accrued.code

    result = verify_bare(bare, "KNvK", tamper)
    assert result.wrong > 0
    assert any(finding.accrued == GScore(4, white=False) for finding in result.findings)


def test_a_wrong_depth_of_a_layer_is_found(bare: Path) -> None:
    def tamper(accrued: GScore, layer: Layer) -> None:
        if accrued == GScore(3, white=True):
            layer.depth[first_open(layer, accrued)] += 1

    assert verify_bare(bare, "KBvK", tamper).wrong > 0


def test_a_value_outside_its_range_is_found(bare: Path) -> None:
    def tamper(accrued: GScore, layer: Layer) -> None:
        if accrued == GScore(4, white=False):
            layer.value[first_open(layer, accrued)] = 255

    result = verify_bare(bare, "KNvK", tamper)
    assert any("outside the range" in finding.problem for finding in result.findings)


class Forgetful(EveryLayer):
    """Leaves the last phases out."""

    @property
    def windows(self) -> list[tuple[int, int]]:
        return super().windows[:-1]


def test_layers_of_some_phases_prove_nothing(bare: Path) -> None:
    with TableFile(table_path(bare, "KPvK", Variant.R_MOBILITY)) as file:
        table = file.read()
    with (
        Sources(bare, Variant.R_MOBILITY) as sources,
        Forgetful(table, {sub: sources.get(sub) for sub in table.material.successors()}) as layers,
        pytest.raises(ValueError, match="not those of all 24 phases"),
    ):
        verify_table(table, fresh_around(bare, table.material), layers=layers)


def test_without_layers_nothing_is_proved(bare: Path) -> None:
    """Kernels would read runs that are not there."""
    with TableFile(table_path(bare, "KNvK", Variant.R_MOBILITY)) as file:
        table = file.read()
    with pytest.raises(ValueError, match="KNvK has no runs of accrued scores, and its layers are not given"):
        verify_table(table, fresh_around(bare, table.material))
