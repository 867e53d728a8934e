"""What a packed table's file holds: the encoded table, and what its manifest says of the content."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tbgen.index.table import Table
from tbgen.packed.encode import Encoder, direct_arrays
from tbgen.packed.exceptions import steps_of
from tbgen.packed.pack import Needed
from tbgen.store import schema
from tbgen.store.dataset import Dataset, datasets
from tbgen.store.manifest import Manifest, manifest_of
from tbgen.store.writer import FileContent


def packed_content(table: Table, needed: Needed, threads: int = 2) -> FileContent:
    """Return what the file of a table in packed form holds, for :func:`tbgen.store.writer.write_table`.

    The table has functions of accrued scores, or none; runs are not stored.

    :raises ValueError: if the table does not decode to what it was.
    """
    derived = 1 - needed.side
    arrays = {
        **Encoder(table, needed, threads).encode(),
        schema.COUNT: table.counts,
        schema.EXCEPTION_STEP: steps_of(needed.exceptions),
        schema.EXCEPTION_VALUE: table.value[derived][needed.exceptions],
        schema.EXCEPTION_DEPTH: table.depth[derived][needed.exceptions],
    }
    stored = datasets(schema.PACKED.datasets, arrays)
    attributes = {
        **table.facts(),
        "stored_side": int(needed.side),
        "stored": "".join(f"{dataset.manifest_line()}\n" for dataset in stored),
    }
    return FileContent(schema.PACKED, attributes, stored, _content(table))


def manifest_of_content(table: Table, threads: int = 2) -> Manifest:
    """Return the manifest of a packed table with this content."""
    with ThreadPoolExecutor(threads) as pool:
        return manifest_of(schema.PACKED, table.facts(), pool.map(Dataset.manifest_line, _content(table)))


def _content(table: Table) -> list[Dataset]:
    """What the manifest describes."""
    none = np.zeros(0, np.uint32)
    number = none if table.functions is None else table.functions.number
    return datasets(schema.CONTENT, {**direct_arrays(table), schema.FUNCTION_NUMBER: number})
