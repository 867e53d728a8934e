"""The tags that record the outcome of a game: written into the bytes of a game, and read back."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tbgen.board.score import GScore
from tbgen.board.scoring import ScoreInterval
from tbgen.board.variant import Variant
from tbgen.games.game_options import FiftyMoveRule, GameOptions
from tbgen.games.outcome import Basis, Doubt, Outcome
from tbgen.games.pgn import tags
from tbgen.games.pgn.spelling import UNFINISHED, read_result
from tbgen.games.pgn.splitter import RawGame, Tag

_LINE_BREAK: Final = re.compile(rb"\r\n|\n|\r")
_LAST_LINE_BREAK: Final = re.compile(rb"(?:\r\n|\n|\r)\Z")
_BEFORE_LINES: Final = (b"\n", b"\r", b"\xef\xbb\xbf")
"""The bytes after which a line begins; the last are a byte order mark."""


def tags_of(outcome: Outcome) -> dict[str, str]:
    """Return the tags that describe an outcome. Komi, doubts and bounds have tags only if they apply."""
    settings = outcome.settings
    names = tags.RESULT_TAGS[settings.variant]
    scoring = settings.scoring
    values = {
        names.result: str(outcome.value),
        tags.POINTS: scoring.tag(outcome.value),
        names.basis: outcome.basis.value,
        names.accrued: str(outcome.accrued),
        names.cutoff: str(scoring.cutoff),
        names.scoring: scoring.scheme.value.capitalize(),
        names.fifty_moves: settings.fifty_move_rule.value,
    }
    if outcome.doubts:
        values[names.doubts] = ", ".join(outcome.doubts)
    if outcome.bounds is not None:
        values[names.bounds] = str(outcome.bounds)
    if scoring.scheme.definition.has_komi:
        values[tags.KOMI] = str(scoring.komi)
    return values


def outcome_of_tags(game_tags: Mapping[str, str], options: GameOptions) -> Outcome | None:
    """Return the outcome that a game's tags (:func:`tags_of`) record; None if they are missing or invalid.

    Result, basis and 50-move rule come from the tags, the scoring from the options. If the result is not
    exact, its bounds may determine the points under this scoring even if they did not under an
    earlier scoring.
    """
    names = tags.RESULT_TAGS[options.variant]
    try:
        rule = FiftyMoveRule(game_tags[names.fifty_moves])
        basis = Basis(game_tags[names.basis])
        outcome = Outcome(
            GScore.parse(game_tags[names.result]),
            basis,
            GScore.parse(game_tags[names.accrued]),
            replace(options.settings(game_tags), fifty_move_rule=rule),
            recorded=read_result(game_tags.get("Result", "")) or UNFINISHED,
            doubts=tuple(map(Doubt, filter(None, game_tags.get(names.doubts, "").split(", ")))),
        )
        if basis in (Basis.BOUNDED, Basis.NEAREST_BOUND) or (not basis.proven and names.bounds in game_tags):
            outcome = replace(outcome, bounds=ScoreInterval.parse(game_tags[names.bounds]))
            return outcome.scored_by(outcome.settings.scoring)
    except (KeyError, ValueError):
        return None
    return outcome


def with_tags(raw: RawGame, values: Mapping[str, str], variant: Variant) -> bytes:
    """Return the bytes of a game, with the tags of an earlier outcome replaced by the new tags ``values``.

    The new tags follow the tag ``Result``. If there is none, or the game begins with earlier tags, they take
    the place of the earlier tags. If there are none either, they follow the last tag. Each is on a line of
    its own, with the game's own line breaks. An existing tag ``Komi`` and the tags of the other variant are
    kept.
    """
    replaced_names = tags.REPLACED_NAMES[variant]
    old_tags = [tag for tag in raw.tags if tag.name in replaced_names]
    kept_tags = [tag for tag in raw.tags if tag.name not in replaced_names]
    kept_names = {tag.name for tag in kept_tags}
    offset, needs_empty_line = _tag_offset(raw, kept_tags, old_tags)
    head = _drop(old_tags, raw.data, 0, offset)
    tail = _drop(old_tags, raw.data, offset, len(raw.data))
    line_break = _LAST_LINE_BREAK.search(head) or _LINE_BREAK.search(tail)
    newline = b"\n" if line_break is None else line_break[0]
    if newline == b"\r" and tail.startswith(b"\n"):
        newline = b"\n"  # CR would form one line break with the LF that follows
    if head and not head.endswith(_BEFORE_LINES):
        head += newline  # a tag before the new ones has no line break
    block = [f'[{tag} "{text}"]'.encode() + newline for tag, text in values.items() if tag not in kept_names]
    return b"".join([head, *block, newline * needs_empty_line, tail])


def _drop(omitted_tags: list[Tag], data: bytes, start: int, end: int) -> bytes:
    """Return the bytes of a game from ``start`` to ``end``, without the omitted tags. Each line that keeps
    other text keeps its line break."""
    kept_bytes = bytearray()
    for tag in omitted_tags:
        if start <= tag.start < end:
            kept_bytes += data[start : tag.start]
            line_break = _LAST_LINE_BREAK.search(data, tag.start, tag.end)
            keeps_text = kept_bytes and not kept_bytes.endswith(_BEFORE_LINES)
            start = line_break.start() if line_break and keeps_text else tag.end
    return bytes(kept_bytes + data[start:end])


def _tag_offset(raw: RawGame, kept_tags: list[Tag], old_tags: list[Tag]) -> tuple[int, bool]:
    """Return the offset for new tags, and whether an empty line must separate the tags from the moves."""
    result_tag = next((tag for tag in kept_tags if tag.name == "Result"), None)
    if result_tag is not None and raw.tags[0] not in old_tags:
        return result_tag.end, False
    if old_tags:
        return old_tags[0].start, False
    if kept_tags:
        return kept_tags[-1].end, False
    return raw.moves_start, True
