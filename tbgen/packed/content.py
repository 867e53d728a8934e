"""What a packed table's file holds: the encoded table, and what its manifest says of the content."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tbgen.index.table import Table
from tbgen.packed.encode import Encoded, Encoder
from tbgen.packed.exceptions import steps_of
from tbgen.packed.pack import Needed
from tbgen.store import schema
from tbgen.store.dataset import AnyArray, Dataset, datasets, shared_arrays
from tbgen.store.manifest import Manifest, manifest_of
from tbgen.store.schema import DatasetSchema
from tbgen.store.writer import FileContent


def packed_content(table: Table, needed: Needed, threads: int = 2) -> FileContent:
    """Return what the file of a table in packed form holds, for :func:`tbgen.store.writer.write_table`.

    The table has functions of accrued scores, or none; runs are not stored.

    :raises ValueError: if the table does not decode to what it was.
    """
    encoded = Encoder(table, needed, threads).encode()
    stored = datasets(schema.PACKED.datasets, _arrays(table, needed, encoded))
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
    return datasets(schema.CONTENT, {**_shared(table), schema.FUNCTION_NUMBER: number})


def _shared(table: Table) -> dict[DatasetSchema, AnyArray]:
    """The data that the file stores as the manifest describes them, and those in place of which it stores
    blocks."""
    functions, none = table.functions, np.zeros(0, np.uint8)
    return {
        **shared_arrays(table),
        schema.FUNCTION_START: none if functions is None else functions.start,
        schema.FUNCTION_ACCRUED: none if functions is None else functions.accrued,
        schema.FUNCTION_VALUE: none if functions is None else functions.value,
    }


def _arrays(table: Table, needed: Needed, encoded: Encoded) -> dict[DatasetSchema, AnyArray]:
    """The data of what the file stores."""
    derived = 1 - needed.side
    values, depths, functions = encoded.shares
    return {
        **_shared(table),
        schema.COUNT: table.counts,
        schema.CODE: encoded.code,
        schema.VALUE_SHARES: values,
        schema.DEPTH_SHARES: depths,
        schema.VALUE_LENGTH: encoded.values.length,
        schema.VALUE_CHECK: encoded.values.check,
        schema.VALUE_DATA: encoded.values.data,
        schema.EXCEPTION_STEP: steps_of(needed.exceptions),
        schema.EXCEPTION_VALUE: table.value[derived][needed.exceptions],
        schema.EXCEPTION_DEPTH: table.depth[derived][needed.exceptions],
        schema.FUNCTION_SHARES: functions,
        schema.FUNCTION_LENGTH: encoded.functions.length,
        schema.FUNCTION_CHECK: encoded.functions.check,
        schema.FUNCTION_DATA: encoded.functions.data,
    }
