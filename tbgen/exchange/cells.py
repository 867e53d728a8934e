"""Publishing and fetching the solved cells that ``--cells`` keeps."""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path

from tbgen.cells.file import SUFFIX, CellFileError, check_cell, check_directory, is_file_name, stated_digest
from tbgen.errors import MissingTableError, TbgenError, UsageError, quote
from tbgen.exchange.fetch import FetchPlan, names_text
from tbgen.exchange.publish import lay_out, published_in, size_and_sha256
from tbgen.exchange.published import (
    PublishedCell,
    PublishedFile,
    PublishedSet,
    UnusableFileError,
    checked_cell,
    size_of,
)
from tbgen.system.files import make_directory


class MissingCellsError(TbgenError):
    """There are no cells of the requested men, or none at all."""

    exit_code = MissingTableError.exit_code
    code = "missing_cells"


class MenOfCells:
    """A filter of cells by their men.

    :param names: names such as ``KRPvKRP``, of any number of men, with the sides in either order; all cells
        are chosen if there are no names.
    :raises UsageError: if a name is malformed.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = [*names]
        self._chosen = {name: _sides_of(name) for name in self.names}

    def __contains__(self, file: str) -> bool:
        """Whether the men of the cell in a file are chosen."""
        return not self.names or _sides_of(file.split(".")[0]) in self._chosen.values()

    def without(self, files: Collection[str]) -> list[str]:
        """Return the names that match none of the files."""
        found = {_sides_of(file.split(".")[0]) for file in files}
        return [name for name, sides in self._chosen.items() if sides not in found]


def _sides_of(name: str) -> frozenset[tuple[str, ...]]:
    """Return the men of both sides, regardless of colour and order."""
    sides = name.upper().split("V")
    if len(sides) != 2 or any(side.count("K") != 1 or not set(side) <= set("KQRBNP") for side in sides):
        raise UsageError(f"{quote(name)} is not a name of men of cells, such as KRPvKRP: name both sides")
    return frozenset(tuple(sorted(side)) for side in sides)


def publish_cells(
    directory: Path,
    target: Path,
    men: MenOfCells,
    *,
    done: Callable[[PublishedFile, int, int], None] = lambda *_: None,
) -> PublishedSet:
    """Publish the cells of a directory in ``target``, which may be the same directory.

    This is like :func:`tbgen.exchange.publish.publish` for tables. Other processes may add and remove cells
    meanwhile.

    :param done: called with each cell, its number, and the number of cells.
    :raises MissingCellsError: if there are no cells, or none that match one of the names.
    :raises TbgenError: if some cells cannot be used, after all others are published; immediately if nothing
        can be written.
    """
    paths = [path for path in sorted(directory.glob(f"*{SUFFIX}")) if is_file_name(path.name)]
    wanted = [path for path in paths if path.name in men]
    if missing := men.without([path.name for path in wanted]):
        raise MissingCellsError(f"there are no cells of {names_text(missing)} in {directory}")
    if not wanted:
        raise MissingCellsError(
            f"there are no cells in {directory}: solve positions with --cells {directory}"
        )
    make_directory(target)
    refused: list[tuple[Path, UnusableFileError]] = []
    with published_in(target) as files:
        for number, path in enumerate(wanted, 1):
            try:
                done(lay_out(path, target, files, partial(_cell, path.name)), number, len(wanted))
            except UnusableFileError as error:
                refused.append((path, error))
            except TbgenError:
                if path.exists():
                    raise
    if refused:
        path, reason = refused[0]
        others = f", nor were {len(refused) - 1} others" if len(refused) > 1 else ""
        raise TbgenError(f"{path} {reason}; it was not published{others}")
    return PublishedSet.of(files.values())


def _cell(name: str, path: Path) -> PublishedCell:
    digest = checked_cell(path)
    return PublishedCell(name, *size_and_sha256(path), digest)


def plan_cells(
    published: PublishedSet,
    directory: Path,
    men: MenOfCells,
    *,
    place: str,
    check: Callable[[str, int, int], None] | None = None,
) -> FetchPlan:
    """Compare the cells of a set with those of a directory, as :func:`tbgen.exchange.fetch.plan` does tables.

    :param place: address or directory of the set, for messages.
    :param check: called before each existing cell is read in full, with its file name, its number, and the
        number of cells; None to read only the digests that the files state.
    :raises UsageError: if the directory is not a directory of cells.
    :raises MissingCellsError: if the set has no cells, or none that match one of the names.
    """
    check_directory(directory)
    chosen = [cell for cell in published.cells if cell.file in men]
    if missing := men.without([cell.file for cell in chosen]):
        raise MissingCellsError(f"the set of {place} has no cells of {names_text(missing)}: choose others")
    if not chosen:
        raise MissingCellsError(f"the set of {place} has no cells: choose another")
    wanted: list[PublishedCell] = []
    present: list[PublishedCell] = []
    different: list[PublishedCell] = []
    for number, cell in enumerate(chosen, 1):
        if check is not None:
            check(cell.file, number, len(chosen))
        path = directory / cell.file
        digest = _digest(path, whole=check is not None)
        if digest is None or (digest == cell.digest and size_of(path) != cell.bytes):
            wanted.append(cell)
        else:
            (present if digest == cell.digest else different).append(cell)
    return FetchPlan(directory, tuple(wanted), tuple(present), tuple(different))


def _digest(path: Path, *, whole: bool) -> str | None:
    """Return the digest that a cell states, None if the cell is missing or found damaged.

    :param whole: read and check the whole file, not only what it states.
    """
    try:
        return (check_cell if whole else stated_digest)(path)
    except (OSError, CellFileError):
        return None
