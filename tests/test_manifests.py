"""Tables built here, or kept from an earlier run, are those whose digests docs/tables has."""

from pathlib import Path

import pytest

from tbgen.board.material import all_materials
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.store.format import table_path
from tbgen.tables.files import open_table
from tests.support.builds import whole_game_materials
from tests.support.digests import digest_of, lines_of, published_lines, right_digests
from tests.support.paths import DATA


@pytest.mark.slow
@pytest.mark.parametrize("variant", Variant)
def test_tables_up_to_four_men_have_the_published_digests(
    variant: Variant, whole_game_tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", "--manifest", "--rules", variant, "--dir", str(whole_game_tables)]) == 0
    own = lines_of(capsys.readouterr().out)
    assert own.items() <= published_lines(variant).items()
    built = whole_game_materials() if variant is Variant.WHOLE_GAME else all_materials(4)
    assert {material.name for material in built} <= own.keys()
    for name in own:  # so far these are the digests that the files state
        with open_table(table_path(whole_game_tables, name, variant)) as file:
            file.check()


def test_tables_of_described_men_in_the_data_of_tests_are_those_of_the_slow_solver() -> None:
    for path in (DATA / "described").glob("*.r.h5"):
        with open_table(path) as file:
            assert digest_of(file.read()) == right_digests(Variant.R_MOBILITY)[file.info.material]
