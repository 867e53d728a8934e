"""The results of every endgame: typical values, their range, and exceptions.

Typical values are counted over quiet positions, in which the side to move has no capture. Examples are the
positions that the wiki of r-mobility gives for the results of basic endgames. Other remarks of the wiki are
left out, because their text was not available.
"""

from collections.abc import Mapping
from typing import Final

import chess
import numpy as np

from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.index.layout import Side, Slot
from tbgen.index.position import board_of
from tbgen.report.model import SIDES, Counts, Endgame, EndgameValues, Sides, UnusualValue, WikiExample
from tbgen.report.scan import CAPTURES, QUIET, SAME_COLOUR_BISHOPS, CountArray, TableCounts
from tbgen.report.wording import COLOURS, percent, score_text

WIKI_PAGE: Final = "https://wiki.chessdom.org/R-Mobility"


WIKI_EXAMPLES: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "KPvK": (("4k3/4P3/4K3/8/8/8/8/8 b - - 0 1", "G0.5", ""),),
    "KBvK": (
        ("8/8/8/4KBk1/8/8/8/8 b - - 0 1", "G1.5", "Kh5 Kf4 Kh6 Kg4"),
        ("6k1/8/5K2/5B2/8/8/8/8 b - - 0 1", "G0.5", "Kf8 Bd7 Kg8 Be6+ Kh7 Bf7 Kh8 Kg6"),
    ),
    "KNvK": (("8/8/8/2kNK3/8/8/8/8 b - - 0 1", "G3.5", ""),),
    "KvK": (
        ("8/6k1/8/4K3/8/8/8/8 b - - 0 1", "G5.5", "Kf7 Kf5"),
        ("8/8/8/2K3k1/8/8/8/8 w - - 0 1", "-G8.5", ""),
    ),
}
"""Maps a material to the wiki's examples: the FEN, the result of the line, and the line in SAN."""

UNUSUAL_SHARE: Final = 0.05
"""A value is unusual if less than this share of the quiet positions has it."""

_GAME_OVER_CODES: Final = (0, 1, 254, 255)
"""Codes of mate and stalemate. In a position with one of these values and depth 0, the game is over. A code
is the byte that stands for a score."""


def counts_by_score(counts: CountArray) -> Counts:
    """Convert counts by code to counts by score, best for White first."""
    return {GScore.from_code(code): int(counts[code]) for code in np.flatnonzero(counts).tolist()}


def without_finished_positions(counts: CountArray) -> CountArray:
    """Return a copy of counts by code and depth, without positions in which the game is over."""
    remaining = counts.copy()
    remaining[list(_GAME_OVER_CODES), 0] = 0
    return remaining


def endgame(scan: TableCounts) -> Endgame:
    """Return the results of an endgame from the counts of its table."""
    sides = Sides(typical_values_of(scan, 0), typical_values_of(scan, 1))
    unusual = tuple(_unusual_values(scan, sides))
    examples = tuple(_wiki_examples(scan, sides))
    return Endgame(_sentence(scan, sides), sides.white, sides.black, unusual, examples)


def typical_values_of(scan: TableCounts, side: int) -> EndgameValues:
    """Return the typical values of an endgame with one side to move: White for 0, Black for 1."""
    by_class = scan.counts_with_images()[side]
    total = by_class.sum(axis=0)
    quiet = without_finished_positions(by_class[[0, SAME_COLOUR_BISHOPS]].sum(axis=0)).sum(axis=1)
    codes = np.flatnonzero(total.any(axis=1) | scan.en_passant[side].any(axis=1))
    finished_count = int(total[list(_GAME_OVER_CODES), 0].sum())
    captures = int(by_class[[CAPTURES, CAPTURES | SAME_COLOUR_BISHOPS]].sum())
    mode = median = None
    if quiet.any():
        mode = GScore.from_code(int(np.argmax(quiet)))
        median = GScore.from_code(int(np.searchsorted(2 * np.cumsum(quiet), quiet.sum())))
    best, worst = (GScore.from_code(codes[i]) if codes.size else None for i in (0, -1))
    counts = counts_by_score(quiet)
    count = int(total.sum())
    return EndgameValues(count, finished_count, captures, counts, mode, median, best=best, worst=worst)


def _unusual_values(scan: TableCounts, sides: Sides[EndgameValues]) -> list[UnusualValue]:
    unusual_values = []
    for side, typical in enumerate(sides):
        for value, count in typical.quiet.items():
            if (share := typical.share(value)) < UNUSUAL_SHARE:
                depth, negated_place = scan.deepest[QUIET, side, value.code]
                fen = board_of(scan.layout, Side(side), Slot(-negated_place)).fen()
                unusual_values.append(UnusualValue(value, SIDES[side], count, share, fen, depth))
    return unusual_values


def _wiki_examples(scan: TableCounts, sides: Sides[EndgameValues]) -> list[WikiExample]:
    examples = []
    rows = WIKI_EXAMPLES.get(scan.material.name, ()) if scan.info.variant is Variant.R_MOBILITY else ()
    for fen, text, line in rows:
        side = int(not chess.Board(fen).turn)
        value = GScore.parse(text)
        share = sides[side].share(value)
        is_typical = value == sides[side].mode
        examples.append(WikiExample(fen, SIDES[side], value, line, WIKI_PAGE, share, typical=is_typical))
    return examples


def _sentence(scan: TableCounts, sides: Sides[EndgameValues]) -> str:
    """Return the typical values and their range in plain English."""
    parts = []
    for mover, typical in zip(COLOURS, sides, strict=True):
        if typical.mode is None or typical.median is None:
            parts.append(f"{mover} to move always has a capture, or the game is over.")
            continue
        text = f"{mover} to move, with nothing to capture: {score_text(typical.mode)} in "
        text += f"{percent(typical.share(typical.mode))} of the positions"
        if typical.median != typical.mode:
            text += f", half of them {score_text(typical.median)} or better for White"
        parts.append(f"{text}.")
    extremes = [value for side in sides for value in (side.best, side.worst) if value is not None]
    if len(set(extremes)) == 1:
        parts.append(f"There is no other value than {extremes[0]}.")
    elif extremes:
        span = f"{score_text(max(extremes))} to {score_text(min(extremes))}"
        parts.append(f"Over all positions values range from {span}.")
    return f"{scan.material}. " + " ".join(parts)
