"""The schema agrees with the content of files, with the results of readers, and with docs/format.md."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.depths import layer_path, write_layer
from tbgen.store.format import BLOCK_SLOTS, TableInfo, table_path
from tbgen.store.schema import LAYER, PACKED, TABLE, Schema
from tbgen.tables.files import open_table
from tests.support.paths import ROOT

_DOCUMENT = (ROOT / "docs" / "format.md").read_text()


def test_other_datasets_need_another_version() -> None:
    """Readers require every dataset, so files with others would else count as damaged."""
    names = [" ".join(one.name for one in schema.datasets) for schema in (TABLE, PACKED)]
    assert (TABLE.version, PACKED.version, *names) == (
        3,
        5,
        "placements value depth accrued/mask accrued/start accrued/rank accrued/value accrued/depth "
        "ep/config ep/value ep/depth",
        "placements fresh/count fresh/code value/step value/symbols value/symbol value/share "
        "depth/step depth/symbols depth/symbol depth/share function/step function/symbols function/symbol "
        "function/share block/value_length block/depth_length block/function_length block/check block/data "
        "exception/step exception/value exception/depth accrued/start accrued/from accrued/value "
        "ep/config ep/value ep/depth",
    )


def test_the_document_names_the_slots_of_a_block() -> None:
    assert f"the number of blocks of {BLOCK_SLOTS} slots" in _DOCUMENT


def holds(path: Path, schema: Schema) -> None:
    """Check that a file has exactly the attributes and datasets of the schema, with its types."""
    with h5py.File(path, locking=False) as file:
        assert sorted(file.attrs) == sorted(schema.attributes)
        assert bytes(file.attrs["format"]).decode() == schema.format
        assert file.attrs["format_version"] == schema.version
        schema.decode(file.attrs)
        names: list[str] = []
        file.visititems(lambda name, found: names.append(name) if isinstance(found, h5py.Dataset) else None)
        assert sorted(names) == sorted(one.name for one in schema.datasets)
        for one in schema.datasets:
            assert file[one.name].dtype in one.types
            assert len(file[one.name].shape) == len(one.shape)
            assert file[one.name].name == f"/{one.name}"
        lines = bytes(file.attrs["manifest"]).decode().splitlines()
    begins = [schema.headline.split()[0], *schema.manifest_attributes]
    begins += [one.name for one in schema.datasets]
    assert [line.split(" ")[0] for line in lines] == begins


@pytest.mark.parametrize("variant", Variant)
def test_tables_hold_what_the_schema_says(variant: Variant, whole_game_tables: Path) -> None:
    holds(table_path(whole_game_tables, "KPvK", variant), TABLE)


def test_layers_hold_what_the_schema_says(path: Path) -> None:
    accrued = GScore.parse("G3.5")
    with open_table(path) as table:
        shape = 2, table.info.phase_size
        layer = layer_path(table, accrued, 0)
        write_layer(layer, table, accrued, 0, np.zeros(shape, np.uint8), np.full(shape, 300, np.uint16))
        holds(layer, LAYER)


def test_what_is_known_of_a_table_are_its_attributes() -> None:
    named = {"variant": "rules", "stores_accrued": "accrued", "form": "format"}
    known = {named.get(name, name) for name in TableInfo.__struct_fields__} - {"path", "bytes"}
    assert known == TABLE.attributes.keys() - {"complete"}
