"""The exit sources that a user may add to tables and cells. To choose them loads no compiler."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tbgen.probe.syzygy import Syzygy

if TYPE_CHECKING:
    from tbgen.beyond.exit_sources import ExitSource


@dataclass(frozen=True)
class ExtraSources:
    """The exit sources besides tables and cells. Those that are not used are None or False.

    :ivar syzygy: Syzygy files. They are not proved.
    """

    syzygy: Syzygy | None = None

    @property
    def file_count(self) -> int:
        """Number of files of the sources; a source without files counts as one."""
        used = filter(None, vars(self).values())
        return sum(len(source) if isinstance(source, Sized) else 1 for source in used)

    def exit_sources(self) -> list[ExitSource]:
        """Return the sources with their bounds. This loads the compiler."""
        from tbgen.beyond.exit_sources import SyzygyExits

        return [] if self.syzygy is None else [SyzygyExits(self.syzygy)]
