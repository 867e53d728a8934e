"""The document of ``tbgen match``, imported only for --json, because it loads those of standings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tbgen.documents import UNSET, Document, UnsetType
from tbgen.games.standings.json_files import StandingsDocument
from tbgen.match.messages import Summary
from tbgen.progress import SolveCounts


class EventDocument(Document):
    """The results of an event, as in :class:`Summary`."""

    pgn: Path
    games: int
    games_of_broken_encounters: int
    winner: str | None
    faults: Mapping[str, Mapping[str, int]]
    verified_adjudications: int
    standings: StandingsDocument | None
    solving: SolveCounts | UnsetType = UNSET

    @classmethod
    def of_summary(cls, summary: Summary, pgn: Path, counts: SolveCounts | None) -> Self:
        """Return the document of a summary.

        :param counts: counts of the games whose positions are solved; None if none are to be solved.
        """
        return cls.of(
            summary,
            pgn=pgn,
            games_of_broken_encounters=summary.uncounted,
            verified_adjudications=summary.verified_count,
            standings=summary.standings and StandingsDocument.of_standings(summary.standings),
            solving=UNSET if counts is None else counts,
        )
