"""Putting tags into the bytes of a game, and nothing else."""

import re
from collections.abc import Mapping
from typing import Final

from tbgen.pgn import tags
from tbgen.pgn.splitter import RawGame, Tag

_SHARED: Final = frozenset({tags.POINTS, tags.CUTOFF, tags.SCORING, tags.FIFTY_MOVES})
_BREAK: Final = re.compile(rb"\r\n|\n|\r")


def with_tags(raw: RawGame, told: Mapping[str, str], *, whole_game: bool) -> bytes:
    """Return the bytes of a game with tags that tell its verdict, in place of those of an earlier one.

    They go behind the tag ``Result``, else to the end of the tags, with the line breaks of the game. A komi
    that the game has stays, as does its result by the other rules.
    """
    names = tags.result_tags(whole_game)
    ours = _SHARED | {names.result, names.basis, names.accrued}
    data = raw.data
    old = [tag for tag in raw.tags if tag.name in ours]
    kept = [tag for tag in raw.tags if tag.name not in ours]
    there = {tag.name for tag in kept}
    found = _BREAK.search(data)
    newline = b"\n" if found is None else found[0]
    block = b"".join(
        f'[{name} "{value}"]'.encode() + newline for name, value in told.items() if name not in there
    )
    place, blank = _place(raw, kept, old)
    edits = sorted([(tag.start, tag.end, b"") for tag in old] + [(place, place, block + newline * blank)])
    parts: list[bytes] = []
    done = 0
    for start, end, text in edits:
        parts += data[done:start], text
        done = end
    return b"".join(parts) + data[done:]


def _place(raw: RawGame, kept: list[Tag], old: list[Tag]) -> tuple[int, bool]:
    """Return where tags go, and whether an empty line has to follow because moves do."""
    if kept:
        behind = next((tag for tag in kept if tag.name == "Result"), kept[-1])
        # A file may end with a tag, and without a line break.
        return (behind.end if raw.data[: behind.end].endswith((b"\n", b"\r")) else behind.start), False
    if old:
        return old[0].start, False
    return raw.movetext, True
