"""Publishing and fetching the solved cells that the option ``--cells`` keeps.

A cell is a set of positions that differ only in the squares of its mobile men (docs/glossary.md).
"""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path

from tbgen.board.material import sides_of_name
from tbgen.cells.file import SUFFIX, CellFileError, check_cell, check_directory, is_file_name, stated_digest
from tbgen.errors import MissingTableError, TbgenError, UsageError, quote
from tbgen.exchange.fetch import FetchPlan, names_text
from tbgen.exchange.publish import publish_file, size_and_sha256, updating_list
from tbgen.exchange.published import (
    PublishedCell,
    PublishedFile,
    PublishedSet,
    UnusableFileError,
    check_cell_file,
    size_of,
)
from tbgen.system.files import make_directory


class MissingCellsError(TbgenError):
    """There are no cells of the requested men, or no cells at all."""

    exit_code = MissingTableError.exit_code
    code = "missing_cells"


class CellFilter:
    """A filter of cells by their men.

    :param names: names such as ``KRPvKRP``, of any number of men, with the sides in either order. Without
        names, all cells are chosen.
    :raises UsageError: if a name is malformed.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = [*names]
        self._sides_by_name = {name: _sides_of(name) for name in self.names}

    def __contains__(self, file_name: str) -> bool:
        """Return whether the filter accepts the cell whose file has the given name."""
        return not self.names or _sides_of(file_name.split(".")[0]) in self._sides_by_name.values()

    def unmatched_names(self, file_names: Collection[str]) -> list[str]:
        """Return the names that match no file."""
        sides_of_files = {_sides_of(file.split(".")[0]) for file in file_names}
        return [name for name, sides in self._sides_by_name.items() if sides not in sides_of_files]


def _sides_of(name: str) -> frozenset[tuple[str, ...]]:
    """Return the men of both sides, regardless of colour and order."""
    sides = sides_of_name(name.upper())
    if sides is None or any(side.count("K") != 1 or "[" in side for side in sides):
        raise UsageError(f"{quote(name)} is not a name of men of cells, such as KRPvKRP: name both sides")
    return frozenset(tuple(sorted(side)) for side in sides)


def publish_cells(
    directory: Path,
    target: Path,
    cell_filter: CellFilter,
    *,
    report: Callable[[PublishedFile, int, int], None] = lambda *_: None,
) -> PublishedSet:
    """Publish the cells of a directory in ``target``, which may be the same directory.

    :func:`tbgen.exchange.publish.publish` is the counterpart for tables. Other processes may add and remove
    cells at the same time.

    :param report: called with each cell, its number, and the number of cells.
    :raises MissingCellsError: if there are no cells, or no cells match one of the names.
    :raises TbgenError: after all other cells have been published, if some cells cannot be used;
        immediately, if the target cannot be written.
    """
    all_paths = [path for path in sorted(directory.glob(f"*{SUFFIX}")) if is_file_name(path.name)]
    paths = [path for path in all_paths if path.name in cell_filter]
    if missing_names := cell_filter.unmatched_names([path.name for path in paths]):
        raise MissingCellsError(f"there are no cells of {names_text(missing_names)} in {directory}")
    if not paths:
        raise MissingCellsError(
            f"there are no cells in {directory}: solve positions with --cells {directory}"
        )
    make_directory(target)
    refusals: list[tuple[Path, UnusableFileError]] = []
    with updating_list(target) as files:
        for cell_number, path in enumerate(paths, 1):
            try:
                published_cell = publish_file(path, target, files, partial(_make_entry, path.name))
                report(published_cell, cell_number, len(paths))
            except UnusableFileError as error:
                refusals.append((path, error))
            except TbgenError:
                if path.exists():
                    raise
    if refusals:
        path, reason = refusals[0]
        others_text = f", nor were {len(refusals) - 1} others" if len(refusals) > 1 else ""
        raise TbgenError(f"{path} {reason}; it was not published{others_text}")
    return PublishedSet.of_files(files.values())


def _make_entry(name: str, path: Path) -> PublishedCell:
    return PublishedCell(name, *size_and_sha256(path), check_cell_file(path))


def plan_cell_fetch(
    published_set: PublishedSet,
    directory: Path,
    cell_filter: CellFilter,
    *,
    origin: str,
    on_check: Callable[[str, int, int], None] | None = None,
) -> FetchPlan:
    """Compare the cells of a set with the cells in a directory.

    :param origin: address or directory of the set, for messages.
    :param on_check: called before each cell is read in full to find damage, with the cell's file name, its
        number, and the number of cells; None to read only the digests that the files state.
    :raises UsageError: if the directory is not a directory of cells.
    :raises MissingCellsError: if the set has no cells, or no cells match one of the names.
    """
    check_directory(directory)
    chosen_cells = [cell for cell in published_set.cells if cell.file in cell_filter]
    if missing_names := cell_filter.unmatched_names([cell.file for cell in chosen_cells]):
        names = names_text(missing_names)
        raise MissingCellsError(f"the set of {origin} has no cells of {names}: choose others")
    if not chosen_cells:
        raise MissingCellsError(f"the set of {origin} has no cells: choose another")
    absent: list[PublishedCell] = []
    present: list[PublishedCell] = []
    different: list[PublishedCell] = []
    for cell_number, cell in enumerate(chosen_cells, 1):
        if on_check is not None:
            on_check(cell.file, cell_number, len(chosen_cells))
        path = directory / cell.file
        digest = _digest(path, check_all=on_check is not None)
        if digest is None or (digest == cell.digest and size_of(path) != cell.bytes):
            absent.append(cell)
        else:
            (present if digest == cell.digest else different).append(cell)
    return FetchPlan(directory, tuple(absent), tuple(present), tuple(different))


def _digest(path: Path, *, check_all: bool) -> str | None:
    """Return the digest that the file of a cell states; None if the file is missing or found to be damaged.

    :param check_all: whether to read and check the whole file; otherwise, only the stated digest is read.
    """
    try:
        return (check_cell if check_all else stated_digest)(path)
    except (OSError, CellFileError):
        return None
