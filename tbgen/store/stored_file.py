"""A table file as far as both forms are alike: opening it, what it says of itself, what is wrong with it."""

import operator
import os
import shlex
import stat
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingTableError, TbgenError, quote
from tbgen.index.layout import layout_of
from tbgen.index.table import count_values, free_men, pawns
from tbgen.store.cache import ChunkCache
from tbgen.store.chunks import ChunkedArray, DamagedChunkError
from tbgen.store.format import rules_of_name
from tbgen.store.info import TableInfo
from tbgen.store.schema import COUNT, PACKED, TABLE, VALUE, Schema

_T = TypeVar("_T")

_FORMS: Final = {schema.format.encode(): schema for schema in (TABLE, PACKED)}


class StoredFile:
    """An open table file of either form: its facts, but none of its values.

    :param material: the material that the file has to hold; None accepts any.
    :raises MissingTableError: if there is no such file.
    :raises DamagedTableError: if it is no complete table that this version of tbgen can read.
    :raises TbgenError: if the system does not let it be read.
    """

    def __init__(self, path: Path, *, material: Material | None = None) -> None:
        self.path = path
        self._name = path.name.split(".")[0] if material is None else material.name
        self._file = self._open()
        try:
            self._guard(self._load_facts)
            self._guard(self._load)
        except BaseException:
            self._file.close()
            raise
        if material is not None and self.info.material != material.name:
            self.close()
            raise self.damaged(f"it holds {self.info.material}")

    info: TableInfo
    """What the file says about itself."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; it cannot be read any more."""
        self._file.close()

    schema: Schema
    """What kind of file it is."""

    def counts(self) -> list[dict[GScore, int]]:
        """Return the number of positions up to symmetry of every value, for White and for Black to move.

        En passant positions are not among them. In a packed table the numbers are stored, of a plain one the
        values are counted.

        :raises DamagedTableError: if they do not decode.
        """
        return [
            {GScore.from_code(code): number for code, number in enumerate(side) if number}
            for side in self._guard(self._counts).tolist()
        ]

    def _counts(self) -> NDArray[np.uint64]:
        wanted = COUNT if self.info.packed else VALUE
        stored: NDArray[Any] = ChunkedArray(self._file[wanted.name], ChunkCache(0)).read()
        if not self.info.packed:
            return count_values(stored)
        if stored.shape != (2, 256) or stored.sum(axis=1).tolist() != list(self.info.positions):
            raise self.damaged(f"its {wanted.name} does not fit its positions")
        return stored

    def damaged(self, problem: str) -> DamagedTableError:
        """Return the error that says what is wrong with the file and what to do."""
        return DamagedTableError(
            f"{self.path} cannot be used: {problem}; build it again with: {self._command('--force')}"
        )

    def _command(self, *options: str) -> str:
        rules = [] if self._variant is Variant.R_MOBILITY else ["--rules", self._variant]
        return shlex.join(["tbgen", "build", *options, self._name, "--dir", str(self.path.parent), *rules])

    @property
    def _variant(self) -> Variant:
        """The variant that the file's name promises."""
        named = rules_of_name(self.path)
        return next((variant for variant in Variant if variant == named), Variant.R_MOBILITY)

    def _open(self) -> h5py.File:
        try:
            mode = os.stat(self.path).st_mode
            if not stat.S_ISREG(mode):  # opening a pipe would wait for somebody to write
                kind = "a directory" if stat.S_ISDIR(mode) else "no ordinary file"
                raise DamagedTableError(
                    f"{self.path} is {kind} and takes the place of a table: remove it, then build the table "
                    f"with: {self._command()}"
                )
            return open_file(self.path)
        except DamagedTableError:
            raise
        except FileNotFoundError:
            raise MissingTableError(self._name, self.path.parent, self._variant) from None
        except NotADirectoryError:
            raise TbgenError(f"{self.path.parent} is not a directory; choose another with --dir") from None
        except PermissionError:
            raise TbgenError(f"no permission to read {self.path}") from None
        except (OSError, RuntimeError, ValueError) as error:
            text = str(error)
            if "truncated file" in text:
                problem = "it is truncated"
            elif "already open for write" in text:
                problem = "its build was interrupted"
            elif "signature not found" in text:
                problem = "it is no HDF5 file"
            else:
                problem = "it is damaged"
            raise self.damaged(problem) from error

    def _load_facts(self) -> None:
        attributes = self._file.attrs
        schema = _FORMS.get(bytes(attributes.get("format", b"")))
        if schema is None:
            raise self.damaged("it is no tbgen table")
        self.schema = schema
        version = operator.index(attributes["format_version"])
        if version > schema.version:
            raise DamagedTableError(
                f"{self.path} has format version {version} and this tbgen reads version {schema.version}: "
                f"install a newer tbgen, or build it again with: {self._command('--force')}"
            )
        if version < schema.version:
            raise self.damaged(f"its format version {version} is that of an older tbgen")
        if attributes.get("complete") != 1:
            raise self.damaged("its build was interrupted")
        rules = bytes(attributes["rules"]).decode()
        if all(rules != variant for variant in Variant):
            raise self.damaged(f"its rules {quote(rules)} are unknown")
        if rules_of_name(self.path) not in (None, rules):
            raise self.damaged(f"it holds values for the rules {quote(rules)}")
        self.info = TableInfo.of_attributes(self.path, attributes, os.path.getsize(self.path))
        self._material = Material.parse(self.info.material)
        layout = layout_of(self._material)
        index = (free_men(layout), pawns(layout), layout.size, layout.phase_size)
        if index != (self.info.free_men, self.info.pawns, self.info.size, self.info.phase_size):
            raise self.damaged("it has another index layout")

    def _load(self) -> None:
        """Find what else a reader of values needs."""

    def _guard(self, read: Callable[[], _T]) -> _T:
        """Turn whatever a damaged file provokes into one error."""
        try:
            return read()
        except DamagedTableError:
            raise
        except DamagedChunkError as error:
            raise self.damaged(str(error)) from error
        except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError) as error:
            raise self.damaged("it is damaged") from error


def open_file(path: Path) -> h5py.File:
    """Open an HDF5 file for reading, whoever else reads it."""
    try:
        return h5py.File(path, "r", locking=False)
    except OSError as error:
        # HDF5 wants one flag per file and process, and somebody else has it open with the default one.
        if "locking flag" not in str(error):
            raise
        return h5py.File(path, "r")
