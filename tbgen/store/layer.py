"""Layer files: values and depths for one accrued score in one phase of a table that does not store them."""

from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import GScore
from tbgen.errors import DamagedTableError
from tbgen.index.layout import Side
from tbgen.store.cache import ChunkCache
from tbgen.store.dataset import datasets
from tbgen.store.dataset_file import DatasetFile
from tbgen.store.format import SUFFIX
from tbgen.store.schema import LAYER, LAYER_DEPTH, LAYER_VALUE, Manifest, manifest_of
from tbgen.store.table_file import Entry, StoredFile
from tbgen.store.writer import FileContent, write_datasets


def layer_path(table: StoredFile, accrued: GScore, phase: int) -> Path:
    """Return the path of the file of a layer, beside its table.

    An example is ``KBNvKR.r.-G3.5.layer.h5``. If the table has several phases, the name includes the phase,
    as in ``KRPvKR.r.G2.0.17.layer.h5``.
    """
    phase_part = f".{phase}" if len(table.layout.placements) > 1 else ""
    return table.path.with_name(f"{table.path.name.removesuffix(SUFFIX)}.{accrued}{phase_part}.layer{SUFFIX}")


def write_layer(
    path: Path,
    table: StoredFile,
    accrued: GScore,
    phase: int,
    value: NDArray[np.uint8],
    depth: NDArray[np.uint16],
    threads: int = 2,
) -> None:
    """Write a layer of a table.

    :param value: shape (2, phase size): codes of the values.
    :param depth: shape (2, phase size): depths in plies.
    :raises TbgenError: if the file cannot be written; no temporary file remains.
    """
    stored = datasets(LAYER.datasets, {LAYER_VALUE: value, LAYER_DEPTH: depth})
    content = FileContent(LAYER, _identity(table, accrued, phase), stored, stored)
    write_datasets(path, content, lambda written: LayerFile(written, table, accrued, phase), threads)


def _identity(table: StoredFile, accrued: GScore, phase: int) -> dict[str, str | int]:
    """Return the fields that identify a layer; both its attributes and its manifest contain them."""
    return {"table": table.info.digest, "accrued": str(accrued), "phase": phase}


class LayerFile(DatasetFile):
    """An open layer file. It must contain the layer of ``accrued`` in phase ``phase`` of ``table``.

    :raises FileNotFoundError: if the file does not exist.
    :raises DamagedTableError: if the file cannot be used, or contains another layer.
    """

    def __init__(
        self, path: Path, table: StoredFile, accrued: GScore, phase: int, cache: ChunkCache | None = None
    ) -> None:
        self._expected_identity = _identity(table, accrued, phase)
        self._phase_size = table.info.phase_size
        super().__init__(path, cache)

    def get(self, side: Side, slot: int) -> Entry:
        """Return the code of V(P, A), and D(P, A) in plies.

        :param slot: slot within the phase.
        :raises DamagedTableError: if the chunk of the slot does not decode.
        """
        return self._arrays[LAYER_VALUE].item(side, slot), self._arrays[LAYER_DEPTH].item(side, slot)

    def damaged(self, problem: str) -> DamagedTableError:
        """Return the error for an unusable layer file."""
        return DamagedTableError(f"{self.path} is damaged, or contains another layer: remove it")

    def _open(self) -> h5py.File:
        try:
            return super()._open()
        except FileNotFoundError:
            raise
        except (OSError, RuntimeError) as error:
            raise self.damaged("") from error

    def _load(self) -> None:
        self.schema = LAYER
        attributes = LAYER.decode(self._file.attrs)
        self.manifest = Manifest(attributes["manifest"])
        head = manifest_of(LAYER, self._expected_identity, ()).lines
        if attributes["complete"] != 1 or self.manifest.lines[: len(head)] != head:
            raise self.damaged("its writing was interrupted, or it contains another layer")
        self._load_arrays({"phase_size": self._phase_size})

    def _facts(self) -> dict[str, str | int]:
        return self._expected_identity
