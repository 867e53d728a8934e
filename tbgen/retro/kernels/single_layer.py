"""Layers outside the solver: one that is solved alone, by sweeps with the events that belong to it, and
copies of those that the solver goes through."""

from typing import NamedTuple

from tbgen.compiler.jit import int64, jit, kernel
from tbgen.index.symmetry import TRANSPOSE
from tbgen.retro.kernels.bits import ZERO, Codes, Plies, Words, image
from tbgen.retro.kernels.events import Agenda
from tbgen.retro.kernels.frame import Phase, decode, is_image
from tbgen.retro.kernels.lanes import move, put, within
from tbgen.retro.kernels.layers import Workspace, assigned, begin_inner, inner_sweep, settled_events
from tbgen.retro.kernels.mobility import of_rank_at_least
from tbgen.retro.kernels.movement import reach
from tbgen.retro.kernels.moves import MOST_MOVES, MovesFound, image_word, onward, room_for_moves
from tbgen.retro.kernels.phase import first_events
from tbgen.retro.kernels.sweep import Attacker, SweepResults, run_sweep


@kernel
def _revive(workspace: Workspace, rank: int, fresh: SweepResults, decided: bool) -> None:
    """Set which positions are alive in the layers of a rank: those whose own score has this rank or a larger
    one and, if ``decided``, whose fresh value has too."""
    phase = workspace.phase
    for side in range(2):
        for word in range(workspace.frame.words):
            alive = ZERO if is_image(workspace.frame, word) else phase.legal[side, word]
            if alive:
                alive &= of_rank_at_least(phase.slices[side, word], rank)
                if decided:
                    alive &= within(fresh.value, fresh.starts[side] + word * 64, rank, 255 - rank)
            phase.alive[side, word] = alive


@kernel
def _find_settled(workspace: Workspace, room: MovesFound) -> None:
    """Set which positions are settled: those that are not alive and that positions alive can move to; no
    others matter in the layer."""
    frame, phase = workspace.frame, workspace.phase
    phase.settled[:] = ZERO
    for side in range(2):
        reached = phase.settled[1 - side]
        for word in range(frame.words):
            alive = phase.alive[side, word]
            if alive == ZERO:
                continue
            for number in range(onward(frame, word, alive, side, room)):
                target, bits = room.word[number], image(room.bits[number], room.symmetry[number])
                if is_image(frame, target):
                    decode(frame, target, room.squares)
                    target, bits = image_word(frame, target, room.squares), image(bits, TRANSPOSE)
                reached[target] |= bits
            if frame.movers[frame.scalars] == side:
                empty = ~decode(frame, word, room.squares)
                reached[word] |= reach(frame.moves, frame.kinds[frame.scalars], alive, empty)
    for side in range(2):
        for word in range(frame.words):
            phase.settled[side, word] &= phase.legal[side, word] & ~phase.alive[side, word]


@jit
def _agenda(workspace: Workspace, attacking: int, high: int, fresh: SweepResults) -> Agenda:
    """Set up an attacker and return its events with keys below ``high``: exits of the positions alive, and
    the fresh values of those settled."""
    exits = first_events(workspace, attacking, high).exits
    return Agenda(exits, settled_events(attacking, workspace.phase.settled, fresh, high), int64(0))


@jit
def _sweep(attacker: Attacker, high: int, agenda: Agenda) -> None:
    """Assign what an attacker can force among the positions alive, keys below ``high``."""
    begin_inner(attacker)
    run_sweep(inner_sweep(attacker, high, agenda), int64(0))


@kernel
def _take(attacker: Attacker, at: int, value: Codes, depth: Plies) -> None:
    """Copy what the attacker's inner sweep has assigned to ``value`` and ``depth`` (2, slots), in which the
    phase begins at ``at``; canonical slots only."""
    phase, results, words = attacker.phase, attacker.results, attacker.frame.words
    for side in range(2):
        for word in range(words):
            bits = phase.alive[side, word] & phase.canonical[word] & assigned(attacker, side, word)
            node = (side * words + word) * 64
            move(value[side], at + word * 64, results.value, node, bits)
            move(depth[side], at + word * 64, results.depth, node, bits)


@kernel
def _fill(phase: Phase, code: int, at: int, value: Codes, depth: Plies) -> None:
    """Give the positions alive the accrued score for their value; for the arguments see ``_take``."""
    for side in range(2):
        for word in range(len(phase.canonical)):
            bits = phase.alive[side, word] & phase.canonical[word]
            put(value[side], at + word * 64, bits, code)
            put(depth[side], at + word * 64, bits, 0)


@jit
def solve_layer(
    workspace: Workspace,
    holder: int,
    rank: int,
    decided: bool,
    fresh: SweepResults,
    value: Codes,
    depth: Plies,
) -> None:
    """Solve the layer of the accrued score of this rank that ``holder`` (0 White, 1 Black) has.

    ``fresh`` holds the fresh values, all of them if ``decided``, else only those of positions whose own score
    has a smaller rank; ``value`` and ``depth`` (2, phase size) receive codes and plies at the canonical slots
    of the positions alive in the layer. Of the exits nothing is left where results take their room.
    """
    _revive(workspace, rank, fresh, decided)
    _find_settled(workspace, room_for_moves(MOST_MOVES))
    _fill(workspace.phase, rank if holder == 0 else 255 - rank, int64(0), value, depth)
    opponent, own = workspace.attackers[1 - holder], workspace.attackers[holder]
    agenda = _agenda(workspace, 1 - holder, 255 - rank, fresh)
    # What the holder can better is not known beforehand if not all values are.
    better = agenda if decided else _agenda(workspace, int64(holder), int64(rank), fresh)
    _sweep(opponent, 255 - rank, agenda)
    _take(opponent, int64(0), value, depth)
    if not decided:
        _sweep(own, int64(rank), better)
        _take(own, int64(0), value, depth)


class WindowLayer(NamedTuple):
    """A layer of a window of phases; see ``tbgen.retro.every_layer.Layer``."""

    value: Codes
    """uint8 (2, slots)."""
    depth: Plies
    """uint16 (2, slots)."""
    there: Words
    """uint64 (2, slots / 64)."""


@kernel
def show_layer(attacker: Attacker, rank: int, at: int, shown: WindowLayer) -> None:
    """Copy the layer that the inner sweep of an attacker has solved: that of the opponent's accrued score of
    this rank. The phase begins at slot ``at`` of the window."""
    phase, first = attacker.phase, at >> 6
    for side in range(2):
        for word in range(attacker.frame.words):
            shown.there[side, first + word] = phase.alive[side, word] & phase.canonical[word]
    _fill(phase, 255 - rank if attacker.side == 0 else rank, at, shown.value, shown.depth)
    _take(attacker, at, shown.value, shown.depth)
