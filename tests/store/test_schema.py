"""What the schema says is what files hold, what readers give back, and what docs/format.md tells."""

import itertools
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.store.format import table_path
from tbgen.store.info import TableInfo
from tbgen.store.layer import layer_path, write_layer
from tbgen.store.reader import TableFile
from tbgen.store.schema import CONTENT, LAYER, PACKED, TABLE, DatasetSchema, Schema
from tests.support.paths import ROOT

DOCUMENT = ROOT / "docs" / "format.md"


def table_of_attributes(schema: Schema) -> str:
    rows = ((f"`{one.name}`", one.kind.value, one.meaning) for one in schema.attributes)
    return markdown(("attribute", "type", "meaning"), rows).format(
        format=schema.format, version=schema.version
    )


def table_of_datasets(datasets: Iterable[DatasetSchema]) -> str:
    rows = ((f"`{one.name}`", type_of(one), shape_of(one), one.meaning) for one in datasets)
    return markdown(("dataset", "type", "shape", "meaning"), rows)


def type_of(dataset: DatasetSchema) -> str:
    return f"*{dataset.alike}*" if dataset.alike else dataset.types[0].name


def shape_of(dataset: DatasetSchema) -> str:
    return f"({', '.join(map(str, dataset.shape))}{',' if len(dataset.shape) == 1 else ''})"


def markdown(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = list(titles)
    lines = [titles, ["---"] * len(titles), *rows]
    return (
        "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
        .replace("| --- ", "|---")
        .replace("--- |", "---|")
    )


def packed_attributes() -> Schema:
    """What the attributes of a packed table have that those of a plain one have not, and what it is."""
    more = [one for one in PACKED.attributes if one not in TABLE.attributes]
    return replace(PACKED, attributes=(PACKED.attributes[0], *more))


@pytest.mark.parametrize(
    "table",
    [
        *(table_of_attributes(schema) for schema in (TABLE, packed_attributes(), LAYER)),
        *(table_of_datasets(datasets) for datasets in (TABLE.datasets, PACKED.datasets, CONTENT)),
        table_of_datasets(LAYER.datasets),
    ],
    ids=itertools.count(),
)
def test_the_document_has_the_tables_of_the_schema(table: str) -> None:
    """Where it has not, what it should have is what this prints."""
    assert table in DOCUMENT.read_text(), table


def holds(path: Path, schema: Schema) -> None:
    """A file has the attributes and datasets of the schema, of its types, and no others."""
    with h5py.File(path, locking=False) as file:
        assert sorted(file.attrs) == sorted(one.name for one in schema.attributes)
        assert (bytes(file.attrs["format"]).decode(), file.attrs["format_version"]) == (
            schema.format,
            schema.version,
        )
        schema.decode(file.attrs)
        names: list[str] = []
        file.visititems(lambda name, found: names.append(name) if isinstance(found, h5py.Dataset) else None)
        assert sorted(names) == sorted(one.name for one in schema.datasets)
        for one in schema.datasets:
            assert file[one.name].dtype in one.types
            assert len(file[one.name].shape) == len(one.shape)
            assert file[one.name].name == f"/{one.name}"
        lines = bytes(file.attrs["manifest"]).decode().splitlines()
    begins = [schema.headline.split()[0], *schema.facts]
    begins += [one.name for one in schema.datasets]
    assert [line.split(" ")[0] for line in lines] == begins


@pytest.mark.parametrize("name", ["KNvK", "KPvK"])
@pytest.mark.parametrize("variant", Variant)
def test_tables_hold_what_the_schema_says(name: str, variant: Variant, whole_game_tables: Path) -> None:
    holds(table_path(whole_game_tables, name, variant), TABLE)


def test_layers_hold_what_the_schema_says(path: Path) -> None:
    accrued = GScore.parse("G3.5")
    with TableFile(path) as table:
        shape = 2, table.info.phase_size
        layer = layer_path(table, accrued, 0)
        write_layer(layer, table, accrued, 0, np.zeros(shape, np.uint8), np.full(shape, 300, np.uint16))
        holds(layer, LAYER)


def test_what_is_known_of_a_table_are_its_attributes() -> None:
    named = {"variant": "rules", "stores_accrued": "accrued"}
    known = {named.get(field.name, field.name) for field in fields(TableInfo)} - {"path", "bytes", "packed"}
    assert known == {one.name for one in TABLE.attributes} - {"format", "complete"}
