"""Narrow phases, solved on one thread: a call or two of a kernel for every rank."""

from collections.abc import Sequence
from typing import NamedTuple

from tbgen.compiler.jit import int64, python_of
from tbgen.retro.kernels.en_passant import Right, prepare, resolve, room_for_right, side_with_right
from tbgen.retro.kernels.phase import SweepRecord, Workspace, first_events, leave_rank, solve_rank
from tbgen.retro.kernels.sweep import SweepResults
from tbgen.retro.kernels.targets import Pool


class EnPassant(NamedTuple):
    """An en passant configuration of a phase."""

    row: int
    """Its row among all of the table."""
    square: int
    """The en passant square."""


class NarrowPhase:
    """One phase rank by rank, after ``count_moves``.

    :param fresh: where the fresh values and depths go.
    :param records: empty ones of the inner sweeps of White and of Black.
    :param keep: what to keep of accrued scores.
    """

    def __init__(
        self,
        workspace: Workspace,
        pool: Pool,
        fresh: SweepResults,
        records: tuple[SweepRecord, SweepRecord],
        keep: int,
    ) -> None:
        self._workspace, self._pool, self._fresh, self._keep = workspace, pool, fresh, int64(keep)
        self._events = first_events(workspace, int64(0)), first_events(workspace, int64(1))
        self.records = records
        """What the sweeps have changed so far."""
        self.rank = int64(0)
        """The rank that is to be solved, or that has been."""

    def solve(self) -> bool:
        """Take the sweeps of the rank; return whether any position is in its layers."""
        left, self.records = solve_rank(
            self._workspace, self._pool, self._fresh, self.rank, self._events, self.records, self._keep
        )
        return bool(left)

    def leave(self) -> None:
        """Settle the positions of the rank, and go on to the next."""
        self._events = leave_rank(self._workspace, self._fresh, self.rank, self._events)
        self.rank += 1

    def solve_all(self, en_passant: Sequence[EnPassant] = ()) -> int:
        """Solve all ranks, and the positions with a right of en passant; return the first without a layer."""
        rights = [(config, self._prepared(config)) for config in en_passant]
        left = True
        while left:
            left = self.solve()
            ranks = max(self.rank, int64(1)), self.rank + 1 if left else int64(256)
            for config, right in rights:
                self._resolve(config, right, ranks)
            if left:
                self.leave()
        return int(self.rank)

    def _prepared(self, config: EnPassant) -> Right:
        """Return the positions of the phase with a right."""
        workspace = self._workspace
        right = room_for_right(workspace.frame.words * 64)
        prepare(workspace.frame, self._pool, workspace.exits, workspace.phase, int64(config.square), right)
        return right

    def _resolve(self, config: EnPassant, right: Right, ranks: tuple[int, int]) -> None:
        workspace, nodes = self._workspace, self._workspace.frame.words * 64
        attacker = workspace.white if python_of(side_with_right)(config.square) == 0 else workspace.black
        at = int64(self._pool.targets.ep_offset + config.row * nodes)
        resolve(workspace.frame, workspace.phase, attacker, self._fresh, right, ranks, at)
