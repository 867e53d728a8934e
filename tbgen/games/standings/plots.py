"""Plots of standings as SVG that takes the colours of the page around it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from typing import Final

from tbgen.games.standings.places import Player, Standings
from tbgen.score import GScore

_WIDTH: Final = 720
_LEFT: Final = 215
_ROW: Final = 24
_BARS: Final = 120
_LAST: Final = 17
"""Rank of the last bar of a histogram, G8.5 and more: what a lone king gives at the least."""
_NAME: Final = 26
"""Letters of a name that have room beside a plot."""


def points_plot(result: Standings) -> str:
    """Return bars of the share of points that each player has made."""
    parts = []
    for place, player in enumerate(result.players):
        share = math.fsum(player.shares) / player.games
        middle = place * _ROW + _ROW / 2
        parts += [
            _label(player.name, middle),
            f'<rect class="bar" x="{_LEFT}" y="{middle - 7:.1f}" height="14" width="{share * 420:.1f}"/>',
            _text(_LEFT + share * 420 + 6, middle + 4, f"{share:.1%}"),
        ]
    return _figure("Share of points", len(result.players) * _ROW, parts)


def elo_plot(result: Standings) -> str:
    """Return the Elo difference of each player with its margin; players without a finite one are left out."""
    known = [player for player in result.players if math.isfinite(player.elo.difference)]
    if not known:
        return ""
    reach = max(20.0, *(abs(player.elo.difference) + _finite(player.elo.margin) for player in known))
    scale, zero = 165 / reach, _LEFT + 175
    height = len(known) * _ROW
    parts = [f'<line class="axis" x1="{zero}" x2="{zero}" y1="0" y2="{height}"/>']
    for place, player in enumerate(known):
        middle = place * _ROW + _ROW / 2
        at = zero + player.elo.difference * scale
        # An unbounded margin goes from edge to edge.
        margin = player.elo.margin * scale if math.isfinite(player.elo.margin) else 2 * _WIDTH
        ends = f'x1="{max(at - margin, zero - 175):.1f}" x2="{min(at + margin, zero + 170):.1f}"'
        parts += [
            _label(player.name, middle),
            f'<line class="margin" {ends} y1="{middle}" y2="{middle}"/>',
            f'<circle class="bar" cx="{at:.1f}" cy="{middle}" r="5"/>',
            _text(_LEFT + 352, middle + 4, str(player.elo)),
        ]
    return _figure("Elo against the field, with 95 % margins", height, parts)


def histogram_plot(player: Player) -> str:
    """Return how often which score was the result, the player's own upwards and the opponents' downwards."""
    given, suffered = _together(player.given), _together(player.suffered)
    ranks = range(_LAST + 1)
    most = max([*given.values(), *suffered.values(), 1])
    step = min(48.0, (_WIDTH - 20) / max(len(ranks), 1))
    parts = [f'<line class="axis" x1="0" x2="{_WIDTH}" y1="{_BARS + 9}" y2="{_BARS + 9}"/>']
    for place, rank in enumerate(ranks):
        left = 10 + place * step
        up, down = (_BARS - 16) * given[rank] / most, (_BARS - 16) * suffered[rank] / most
        width = f'width="{step * 0.7:.1f}"'
        parts.append(f'<rect class="bar" x="{left:.1f}" y="{_BARS - up:.1f}" height="{up:.1f}" {width}/>')
        parts.append(f'<rect class="other" x="{left:.1f}" y="{_BARS + 18}" height="{down:.1f}" {width}/>')
        middle = left + step * 0.35
        name = f"{GScore(rank, True).g}{'+' if rank == _LAST else ''}"
        parts.append(_text(middle, _BARS + 13, name, anchor="middle"))
        if given[rank]:
            parts.append(_text(middle, _BARS - up - 4, str(given[rank]), anchor="middle"))
        if suffered[rank]:
            parts.append(_text(middle, _BARS + 30 + down, str(suffered[rank]), anchor="middle"))
    return _figure(f"Results of {player.name}: held above, suffered below", 2 * _BARS + 20, parts)


def _together(held: Mapping[bool, Mapping[int, int]]) -> Counter[int]:
    """Return how many results of which rank, those beyond the last bar together in it."""
    counts: Counter[int] = Counter()
    for ranks in held.values():
        for rank, count in ranks.items():
            counts[min(rank, _LAST)] += count
    return counts


def _figure(title: str, height: float, parts: Iterable[str]) -> str:
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg></figure>"
    )


def _label(name: str, middle: float) -> str:
    short = name if len(name) <= _NAME else name[: _NAME - 1] + "…"
    return _text(_LEFT - 8, middle + 4, short, anchor="end")


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _finite(margin: float) -> float:
    return margin if math.isfinite(margin) else 0.0
