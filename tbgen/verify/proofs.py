"""Proofs that have been done before: a list of digests that a later run, or another machine, goes on from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.files import write_file

_TITLE: Final = "# material rules digest proved positions states seconds"


@dataclass(frozen=True, slots=True)
class ProofDone:
    """One table that was found right."""

    material: Material
    variant: Variant
    digest: str
    """Of the table's content, accrued values included (docs/format.md)."""
    proved: int
    """Positions that were proved: all, or a random sample of them."""
    positions: int
    """Positions of the table."""
    states: int
    """States that were proved."""
    seconds: float

    @property
    def in_full(self) -> bool:
        """Whether all positions were proved."""
        return self.proved == self.positions

    def __str__(self) -> str:
        numbers = f"{self.proved} {self.positions} {self.states} {self.seconds:.1f}"
        return f"{self.material} {self.variant} {self.digest} {numbers}"


class Proofs:
    """The list of a file; without one, a list that ends with the program.

    :raises TbgenError: if the file cannot be read, or is something else.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        listed = () if path is None else _read(path)
        self._done = {(done.material, done.variant): done for done in listed}

    def of(self, material: Material, variant: Variant, digest: str, sample: int | None) -> ProofDone | None:
        """Return the proof of the table that has this digest, if it covers as much as is asked for.

        :param sample: how many positions would do; None for all.
        """
        done = self._done.get((material, variant))
        if done is None or done.digest != digest:
            return None
        return done if done.in_full or (sample is not None and done.proved >= sample) else None

    def add(self, done: ProofDone) -> None:
        """Add a proof to the list, in place of one of the same table, and to the file.

        :raises TbgenError: if it cannot be written; then the file is as it was.
        """
        self._done[done.material, done.variant] = done
        if self._path is not None:
            order = sorted(self._done.values(), key=lambda each: (each.variant, each.material))
            text = "".join(f"{line}\n" for line in (_TITLE, *order))
            write_file(self._path, text.encode(), remedy="choose another file with --proofs")


def _read(path: Path) -> Iterable[ProofDone]:
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise TbgenError(
            f"{path} cannot be read as a list of proofs: {reason}; choose another file with --proofs"
        ) from error
    for number, line in enumerate(lines, start=1):
        if line and not line.startswith("#"):
            try:
                yield _parsed(line)
            except (TbgenError, ValueError) as error:
                raise TbgenError(
                    f"{path} is no list of proofs, or is damaged, in line {number}: choose another file with "
                    "--proofs"
                ) from error


def _parsed(line: str) -> ProofDone:
    """Read a line.

    :raises TbgenError: if it names no material.
    :raises ValueError: if it is something else.
    """
    name, variant, digest, *counts, seconds = line.split()
    bytes.fromhex(digest)
    proved, positions, states = map(int, counts)
    material, rules = Material.parse(name), Variant(variant)
    return ProofDone(material, rules, digest, proved, positions, states, float(seconds))
