"""A layer file: the values of one accrued score in one phase of a table that was built without them."""

import operator
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.errors import DamagedTableError
from tbgen.index.layout import Side, layout_of
from tbgen.store.cache import ChunkCache
from tbgen.store.chunks import DamagedChunkError
from tbgen.store.dataset import datasets
from tbgen.store.format import SUFFIX
from tbgen.store.manifest import Manifest, manifest_of
from tbgen.store.reader import Entry, open_arrays
from tbgen.store.schema import LAYER, LAYER_DEPTH, LAYER_VALUE
from tbgen.store.stored_file import StoredFile, open_file
from tbgen.store.writer import write_datasets


def layer_path(table: StoredFile, accrued: GScore, phase: int) -> Path:
    """Return where a layer of a table is kept: beside it.

    Without pawns ``KBNvKR.r.-G3.5.layer.h5``, else with the phase too: ``KRPvKR.r.G2.0.17.layer.h5``.
    """
    phases = len(layout_of(Material.parse(table.info.material)).placements)
    part = f".{phase}" if phases > 1 else ""
    return table.path.with_name(f"{table.path.name.removesuffix(SUFFIX)}.{accrued}{part}.layer{SUFFIX}")


def write_layer(
    table: StoredFile,
    accrued: GScore,
    phase: int,
    value: NDArray[np.uint8],
    depth: NDArray[np.uint16],
    threads: int = 2,
) -> None:
    """Write a layer beside its table; ``value`` (codes) and ``depth`` (plies) have shape (2, phase size).

    :raises TbgenError: if it cannot be written; nothing is left behind then.
    """
    stored = datasets(
        LAYER.datasets, {"phase_size": value.shape[1]}, {LAYER_VALUE: list(value), LAYER_DEPTH: list(depth)}
    )

    def check(path: Path) -> None:
        with LayerFile(path, table, accrued, phase) as written:
            written.check()

    write_datasets(
        layer_path(table, accrued, phase), LAYER, stored, _facts(table, accrued, phase), check, threads
    )


def _facts(table: StoredFile, accrued: GScore, phase: int) -> dict[str, str | int]:
    """What the attributes and the manifest say about the layer."""
    return {"table": table.info.digest, "accrued": str(accrued), "phase": phase}


class LayerFile:
    """An open layer file, which must be that of the given accrued score and phase of ``table``.

    :raises FileNotFoundError: if there is none.
    :raises DamagedTableError: if it cannot be used, or is another layer.
    """

    def __init__(
        self, path: Path, table: StoredFile, accrued: GScore, phase: int, cache: ChunkCache | None = None
    ) -> None:
        self.path = path
        try:
            self._file = open_file(path)
        except FileNotFoundError:
            raise
        except (OSError, RuntimeError) as error:
            raise self._damaged() from error
        try:
            attributes = self._file.attrs
            if operator.index(attributes["complete"]) != 1:
                raise ValueError("its writing was interrupted")
            self._manifest = Manifest(bytes(attributes["manifest"]).decode())
            head = manifest_of(LAYER, _facts(table, accrued, phase), ()).lines
            if self._manifest.lines[: len(head)] != head:
                raise ValueError("it is another layer")
            arrays = open_arrays(self._file, LAYER, cache or ChunkCache(1 << 20))
            for wanted, array in arrays.items():
                if array.shape != wanted.sized({"phase_size": table.info.phase_size}):
                    raise ValueError("it has another shape")
        except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
            self._file.close()
            raise self._damaged() from error
        self._value, self._depth = arrays[LAYER_VALUE], arrays[LAYER_DEPTH]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def get(self, side: Side, within: int) -> Entry:
        """Return code of V(P, A) and D(P, A) of a slot within the phase.

        :raises DamagedTableError: if its chunk does not decode.
        """
        try:
            return self._value.item(side, within), self._depth.item(side, within)
        except DamagedChunkError as error:
            raise self._damaged() from error

    def check(self) -> None:
        """Decode everything and compare it with the digests.

        :raises DamagedTableError: if anything differs.
        """
        try:
            lines = [self._value.manifest_line(), self._depth.manifest_line()]
        except DamagedChunkError as error:
            raise self._damaged() from error
        if self._manifest.lines[-len(lines) :] != lines:
            raise self._damaged()

    def _damaged(self) -> DamagedTableError:
        return DamagedTableError(f"{self.path} is damaged, or another layer than its name says: remove it")
