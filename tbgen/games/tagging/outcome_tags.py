"""The outcome of a game as tags, in the bytes of the game, and back from there."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tbgen.board.interval import ScoreInterval
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.pgn import tags
from tbgen.games.pgn.doubts import Doubt
from tbgen.games.pgn.results import UNFINISHED, read_result
from tbgen.games.pgn.splitter import RawGame, Tag
from tbgen.games.settings import FiftyMoveRule, GameOptions

_BREAK: Final = re.compile(rb"\r\n|\n|\r")
_LAST_BREAK: Final = re.compile(rb"(?:\r\n|\n|\r)\Z")


def tags_of(outcome: Outcome) -> dict[str, str]:
    """Return the tags that tell an outcome; the komi only where it counts, doubts and bounds if any."""
    settings = outcome.settings
    names, scoring = tags.RESULT[settings.variant], settings.scoring
    told = {
        names.result: str(outcome.value),
        tags.POINTS: scoring.tag(outcome.value),
        names.basis: outcome.basis.value,
        names.accrued: str(outcome.accrued),
        names.cutoff: str(scoring.cutoff),
        names.scoring: scoring.scheme.value.capitalize(),
        names.fifty_moves: settings.fifty_move_rule.value,
    }
    if outcome.doubts:
        told[names.doubts] = ", ".join(outcome.doubts)
    if outcome.bounds is not None:
        told[names.bounds] = str(outcome.bounds)
    if scoring.scheme.has_komi:
        told[tags.KOMI] = str(scoring.komi)
    return told


def outcome_of_tags(game: Mapping[str, str], options: GameOptions) -> Outcome | None:
    """Return the outcome that :func:`tags_of` has left in the tags of a game, None if there is none.

    Result, basis and 50-move rule are what the tags say; the scoring is what the options ask for, and where
    the result is not exact, the bounds decide anew whether they say the points by it.
    """
    names = tags.RESULT[options.variant]
    try:
        rule, basis = FiftyMoveRule(game[names.fifty_moves]), Basis(game[names.basis])
        outcome = Outcome(
            GScore.parse(game[names.result]),
            basis,
            GScore.parse(game[names.accrued]),
            replace(options.settings(game), fifty_move_rule=rule),
            recorded=read_result(game.get("Result", "")) or UNFINISHED,
            doubts=tuple(map(Doubt, filter(None, game.get(names.doubts, "").split(", ")))),
        )
        if basis in (Basis.BOUNDED, Basis.NEAREST_BOUND) or (not basis.proven and names.bounds in game):
            outcome = replace(outcome, bounds=ScoreInterval.parse(game[names.bounds]))
            return outcome.scored_by(outcome.settings.scoring)
    except (KeyError, ValueError):
        return None
    return outcome


def with_tags(raw: RawGame, told: Mapping[str, str], variant: Variant) -> bytes:
    """Return the bytes of a game with tags that tell its outcome, in place of those of an earlier one.

    They go behind the tag ``Result``, else where the earlier ones stood, else to the end of the tags, with
    the line breaks that are there. A komi that the game has stays, as does its result by the other variant.
    """
    ours = tags.REPLACED[variant]
    old = [tag for tag in raw.tags if tag.name in ours]
    kept = [tag for tag in raw.tags if tag.name not in ours]
    there = {tag.name for tag in kept}
    place, blank = _place(raw, kept, old)
    before, behind = _without(old, raw.data, 0, place), _without(old, raw.data, place, len(raw.data))
    found = _LAST_BREAK.search(before) or _BREAK.search(behind)
    newline = b"\n" if found is None else found[0]
    if newline == b"\r" and behind.startswith(b"\n"):
        newline = b"\n"  # else the two would make one
    if kept and place == kept[-1].end and not before.endswith((b"\n", b"\r")):
        before += newline  # the file ends with a tag, and without a line break
    block = [f'[{name} "{value}"]'.encode() + newline for name, value in told.items() if name not in there]
    return b"".join([before, *block, newline * blank, behind])


def _without(old: list[Tag], data: bytes, start: int, end: int) -> bytes:
    """Return a part of the bytes of a game without the lines of some tags."""
    parts: list[bytes] = []
    for tag in old:
        if start <= tag.start < end:
            parts.append(data[start : tag.start])
            start = tag.end
    return b"".join([*parts, data[start:end]])


def _place(raw: RawGame, kept: list[Tag], old: list[Tag]) -> tuple[int, bool]:
    """Return where tags go, and whether an empty line has to follow because moves do."""
    result = next((tag for tag in kept if tag.name == "Result"), None)
    if result is not None:
        return result.end, False
    if old:
        return old[0].start, False
    if kept:
        return kept[-1].end, False
    return raw.movetext, True
