"""The tables that are to be published or exported."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tbgen.board.material import Material, closure
from tbgen.board.variant import Variant
from tbgen.errors import NoTablesError, UsageError
from tbgen.store.format import tables_in


def chosen_tables(
    directory: Path, variants: Sequence[Variant], materials: Iterable[Material] | None
) -> list[tuple[Material, Variant]]:
    """Return tables in build order, variant by variant; those with described men stay where they are.

    :param materials: which tables, and with them those that they rest on, which may be missing; all of the
        directory if None.
    :raises NoTablesError: if there are none.
    :raises UsageError: if one is named that has described men.
    """
    named = None if materials is None else closure(materials)
    described = [material.name for material in named or () if material.is_described]
    if described:
        raise UsageError(f"{described[-1]} has described men: only tables of chess are published or exported")
    wanted = [
        (material, variant)
        for variant in variants
        for material in (tables_in(directory, variant) if named is None else named)
        if not material.is_described
    ]
    if not wanted:
        raise NoTablesError(directory, variants[0])
    return wanted
