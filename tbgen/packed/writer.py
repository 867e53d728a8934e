"""Writing a packed table: encoded, decoded and compared, written, checked, and only then put in place."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from tbgen.index.table import Table
from tbgen.packed.encode import Encoder
from tbgen.packed.exceptions import steps_of
from tbgen.packed.file import PackedFile
from tbgen.packed.kernels.blocks import Coding
from tbgen.packed.pack import Needed
from tbgen.store import schema
from tbgen.store.dataset import AnyArray, Dataset, datasets
from tbgen.store.info import TableInfo
from tbgen.store.manifest import Manifest, manifest_of
from tbgen.store.schema import DatasetSchema
from tbgen.store.writer import remove_layers, write_datasets


def write_packed(
    table: Table,
    needed: Needed,
    path: Path,
    *,
    version: str,
    build_seconds: float,
    parameters: Mapping[str, Any] | None = None,
    threads: int = 2,
) -> TableInfo:
    """Write a table in packed form under its final name, which exists only once the file is complete and
    checked.

    The table has functions of accrued scores, or none; runs are not stored. Layers kept beside an older table
    of this name are removed.

    :raises TbgenError: if the directory is not writable or the disk is full; nothing is left behind then.
    :raises ValueError: if the table does not decode to what it was.
    """
    encoded = Encoder(table, needed, threads).encode()
    stored = _datasets(table, needed, encoded)
    attributes = {
        **table.facts(),
        "stored_side": int(needed.side),
        "stored": "".join(f"{dataset.manifest_line()}\n" for dataset in stored),
        "tbgen_version": version,
        "build_seconds": float(build_seconds),
        "parameters": json.dumps(dict(parameters or {}), sort_keys=True),
    }

    def check(temporary: Path) -> None:
        with PackedFile(temporary, material=table.material) as written:
            written.check()

    write_datasets(path, schema.PACKED, stored, attributes, check, threads, described=_content(table))
    remove_layers(path)
    with PackedFile(path) as file:
        return file.info


def _shared(table: Table) -> dict[DatasetSchema, Sequence[AnyArray]]:
    """The datasets of the content that the file stores as they are."""
    layout, functions = table.layout, table.functions
    none = np.zeros(0, np.uint8)
    return {
        schema.PLACEMENTS: [np.array(layout.placements, np.uint8).reshape(-1)],
        schema.FUNCTION_START: [none if functions is None else functions.start],
        schema.FUNCTION_ACCRUED: [none if functions is None else functions.accrued],
        schema.FUNCTION_VALUE: [none if functions is None else functions.value],
        schema.EP_CONFIG: [table.ep_config.ravel()],
        schema.EP_VALUE: list(table.ep_value),
        schema.EP_DEPTH: list(table.ep_depth),
    }


def _sizes(table: Table) -> dict[str, int]:
    layout, functions = table.layout, table.functions
    return {
        "size": layout.size,
        "phase_size": layout.phase_size,
        "placements": len(layout.placements),
        "pawns": layout.pawns,
        "configurations": len(table.ep_config),
        "stored slots": 0 if functions is None else layout.size,
        "functions + 1": 0 if functions is None else len(functions.start),
        "runs": 0 if functions is None else functions.accrued.size,
    }


def manifest_of_content(table: Table, threads: int = 2) -> Manifest:
    """Return the manifest of a packed table with this content."""
    with ThreadPoolExecutor(threads) as pool:
        return manifest_of(schema.PACKED, table.facts(), pool.map(Dataset.manifest_line, _content(table)))


def _content(table: Table) -> list[Dataset]:
    """What the manifest describes."""
    functions = table.functions
    rows = {
        **_shared(table),
        schema.VALUE: list(table.value),
        schema.DEPTH: list(table.depth),
        schema.FUNCTION_NUMBER: [np.zeros(0, np.uint32) if functions is None else functions.number],
    }
    return datasets(schema.CONTENT, _sizes(table), rows)


def _datasets(table: Table, needed: Needed, encoded: Coding) -> list[Dataset]:
    """What the file stores."""
    values, functions = encoded.value_stream, encoded.function_stream
    shares = encoded.values.size, encoded.depths.size, encoded.functions.size
    derived, steps = 1 - needed.side, steps_of(needed.exceptions)
    rows: dict[DatasetSchema, Sequence[AnyArray]] = {
        **_shared(table),
        schema.COUNT: list(table.counts),
        schema.CODE: [encoded.code],
        schema.VALUE_SHARES: [shares[0].reshape(-1)],
        schema.DEPTH_SHARES: [shares[1].reshape(-1)],
        schema.VALUE_LENGTH: [values.length],
        schema.VALUE_CHECK: [values.check],
        schema.VALUE_DATA: [values.data],
        schema.EXCEPTION_STEP: [steps],
        schema.EXCEPTION_VALUE: [table.value[derived][needed.exceptions]],
        schema.EXCEPTION_DEPTH: [table.depth[derived][needed.exceptions]],
        schema.FUNCTION_SHARES: [shares[2].reshape(-1)],
        schema.FUNCTION_LENGTH: [functions.length],
        schema.FUNCTION_CHECK: [functions.check],
        schema.FUNCTION_DATA: [functions.data],
    }
    sizes = {
        **_sizes(table),
        "symbols": len(encoded.code),
        "value contexts": shares[0].shape[0],
        "depth contexts": shares[1].shape[0],
        "halves": shares[1].shape[1],
        "function contexts": shares[2].shape[0],
        "function symbols": shares[2].shape[1],
        "coded blocks": len(values.length),
        "value bytes": len(values.data),
        "function blocks": len(functions.length),
        "function bytes": len(functions.data),
        "steps": len(steps),
        "exceptions": len(needed.exceptions),
    }
    return datasets(schema.PACKED.datasets, sizes, rows)
