"""Unpacking: the whole content of a packed table, as the solver had it in memory."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.index.layout import SIDES, Side, layout_of
from tbgen.index.source import Source
from tbgen.index.table import Table
from tbgen.index.zeroing import phase_groups, reached_by_pawn_steps, reached_by_promotion
from tbgen.packed.file import PackedFile
from tbgen.packed.kernels.blocks import CAPTURE_FLAG, Content
from tbgen.packed.kernels.derive import PhasePlies
from tbgen.packed.kernels.encode import decode_blocks
from tbgen.packed.kernels.one_ply import derive_all, explain, ready_children
from tbgen.packed.parts import parts_of
from tbgen.packed.phases import Phases
from tbgen.packed.rooms import THREAD
from tbgen.progress import Progress, silent

Exceptions = tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint16]]
"""Slots of the derived side, ascending, with values and depths."""


def unpack(
    file: PackedFile,
    sources: Mapping[Material, Source],
    *,
    functions: bool = True,
    threads: int = 2,
    progress: Progress = silent,
) -> Table:
    """Return the content of a packed table: fresh values and depths of both sides, and its functions.

    :param sources: every successor's table.
    :param functions: whether to decode the functions too, which take four bytes per slot.
    :raises DamagedTableError: if a block does not decode.
    """
    material = Material.parse(file.info.material)
    layout, side = layout_of(material), file.side
    derived = SIDES[1 - side]
    exceptions = file.exceptions()
    config, ep_value, ep_depth = file.en_passant_arrays()
    with Phases(layout, sources, side, threads) as phases:
        phases.set_en_passant(ep_value, ep_depth)
        done = 0
        for group in phase_groups(layout):
            # What promotions reach lies where phases of later groups will be.
            phases.prepare(list(group))
            _decode_values(file, phases, group, threads)
            for phase in group:
                ply = _explain(file, phases, phase)
                _derive(file, phases, ply, exceptions)
                _unflag(phases, ply)
                phases.expand(ply, derived)
                done += 1
                progress("unpacking", done, len(layout.placements))
        for phase in range(len(layout.placements)):
            phases.blank(phase)
        value, depth = phases.take()
    none = np.zeros(0, np.uint8)
    table = Table(
        material,
        file.info.variant,
        value,
        depth,
        np.zeros((2, 2, 0), np.uint64),
        none,
        none,
        np.zeros(0, np.uint16),
        config,
        ep_value,
        ep_depth,
    )
    if functions and file.info.stores_accrued:
        number = np.zeros(file.info.size, np.uint32)
        _decode(file, range(len(layout.placements)), Content(none, np.zeros(0, np.uint16), number), threads)
        table.functions = file.functions(number)
    return table


def unpack_side(
    file: PackedFile,
    sources: Mapping[Material, Source],
    phase: int,
    side: Side,
    value: NDArray[np.uint8],
    depth: NDArray[np.uint16],
    *,
    threads: int = 2,
) -> None:
    """Copy the fresh values and depths of one phase of a packed table with one side to move, those of the
    canonical slots of positions, to arrays of shape (phase size,).

    :param sources: the tables that captures lead to, and those of as many men that :func:`promotions` names.
    :raises DamagedTableError: if a block does not decode.
    """
    layout = layout_of(Material.parse(file.info.material))
    with Phases(layout, sources, file.side, threads) as phases:
        if side == file.side:
            _complete(file, phases, phase, threads)
        else:
            _, ep_value, ep_depth = file.en_passant_arrays()
            phases.set_en_passant(ep_value, ep_depth)
            for reached in reached_by_pawn_steps(layout, phase):
                phases.expand(_complete(file, phases, reached, threads), file.side)
            if promotions(file, phase, side):
                phases.prepare([phase])
            _decode_values(file, phases, [phase], threads)
            _derive(file, phases, _explain(file, phases, phase), file.exceptions())
        part = slice(phase * layout.phase_size, (phase + 1) * layout.phase_size)
        value[:], depth[:] = phases.value[side, part], phases.depth[side, part]


def promotions(file: PackedFile, phase: int, side: Side) -> set[Material]:
    """Return the materials with as many men whose tables :func:`unpack_side` takes: those that moves of the
    derived side lead to."""
    layout = layout_of(Material.parse(file.info.material))
    pawns = (
        layout.placements[phase][layout.white_pawns :]
        if side
        else layout.placements[phase][: layout.white_pawns]
    )
    if side == file.side or not any(square < 16 if side else square >= 48 for square in pawns):
        return set()
    return {material for material, _ in reached_by_promotion(layout, [phase])}


def _complete(file: PackedFile, phases: Phases, phase: int, threads: int) -> PhasePlies:
    """Decode and complete the stored side of a phase, canonical slots only, which takes no promotions."""
    _decode_values(file, phases, [phase], threads)
    ply = _explain(file, phases, phase)
    _unflag(phases, ply)
    return ply


def _explain(file: PackedFile, phases: Phases, phase: int) -> PhasePlies:
    """Enter a phase whose stored side is decoded, and complete that; flags stay."""
    ply = phases.enter(phase)
    if not all(phases.run(explain, ply, int(file.side))):
        raise file.damaged("it has flipped bits in a block")
    return ply


def _derive(file: PackedFile, phases: Phases, ply: PhasePlies, exceptions: Exceptions) -> None:
    """Derive the other side of a phase, canonical slots only."""
    side, derived = file.side, SIDES[1 - file.side]
    phases.expand(ply, side)
    phases.run(ready_children, ply, int(side))
    phases.run(lambda *part: derive_all(ply, int(derived), THREAD.derived, *part))
    slots, values, depths = exceptions
    first = int(ply.start[0])
    begin, end = np.searchsorted(slots, (first, first + phases.layout.phase_size))
    phases.value[derived, slots[begin:end]] = values[begin:end]
    phases.depth[derived, slots[begin:end]] = depths[begin:end]


def _unflag(phases: Phases, ply: PhasePlies) -> None:
    """Take the flags off the depths of the stored side."""
    first = int(ply.start[0])
    phases.depth[phases.side, first : first + phases.layout.phase_size] &= CAPTURE_FLAG - 1


def _decode_values(file: PackedFile, phases: Phases, group: Sequence[int], threads: int) -> None:
    """Decode values and depths of the stored side in neighbouring phases."""
    content = Content(phases.value[file.side], phases.depth[file.side], np.zeros(0, np.uint32))
    slots = slice(group[0] * file.info.phase_size, (group[-1] + 1) * file.info.phase_size)
    content.value[slots], content.depth[slots] = NONE, 0
    _decode(file, group, content, threads)


def _decode(file: PackedFile, group: Sequence[int], content: Content, threads: int) -> None:
    """Decode the stored side of neighbouring phases, depths flagged as the blocks say."""
    blocks = file.blocks * file.info.phase_size // file.info.size
    parts = parts_of(group[0] * blocks, (group[-1] + 1) * blocks)
    with ThreadPoolExecutor(threads) as pool:
        good = pool.map(lambda part: decode_blocks(file.coding, content, False, THREAD.room, *part), parts)
        if not all(good):
            raise file.damaged("it has flipped bits in a block")
