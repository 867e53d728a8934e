"""By what the first player of a tournament is ahead of the second, for people who look on."""

from decimal import Decimal
from fractions import Fraction

from tbgen.games.standings.table import aligned
from tbgen.games.standings.tiebreaks import Field, Lead, Tiebreak, tiebreak
from tbgen.games.standings.tournament import Standings


def lead_of(result: Standings) -> str:
    """Return by what the first player is ahead, such as ``2.5 to 1.5 points``; empty if nobody is behind.

    Where the digits of points do not show a lead, the lead itself is named; where points are equal, it is
    what breaks the tie.
    """
    first, *others = result.players
    if not others or others[0].place == 1:
        return ""
    second, field = others[0], Field.of(result.players, result.order.lead, result.scheme)
    ours, theirs = field.total(first), field.total(second)
    unit = "points in chess" if field.lead is Lead.CHESS else "points"
    if field.lead is Lead.PERCENT and first.results.games != second.results.games:
        ours, theirs, unit = first.results.share, second.results.share, "points per game"
    show = aligned([ours, theirs])
    if show(ours) != show(theirs):
        return f"{show(ours)} to {show(theirs)} {unit}"
    if ours != theirs:
        return f"ahead by {_small(ours - theirs)} {unit}, with {show(ours)} each when rounded"

    def parts(each: Tiebreak) -> bool:
        one, other = (
            each.weight(player.tiebreaks.get(each.key), player, field) for player in (first, second)
        )
        return one != other

    tie = next(each for each in result.tiebreaks if parts(each))
    # In the sentence on the order, words may only go on from those before.
    return f"level on {unit} ({show(ours)} each), ahead by {tiebreak(tie.key).words}"


def _small(lead: Fraction) -> str:
    """Return a number with its first two digits that are not zero.

    >>> _small(Fraction(1, 2**30)), _small(Fraction(1, 20_000))
    ('0.00000000093', '0.00005')
    """
    return f"{Decimal(f'{float(lead):.1e}').normalize():f}"
