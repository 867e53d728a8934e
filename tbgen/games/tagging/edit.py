"""Putting tags into the bytes of a game, and nothing else."""

import re
from collections.abc import Mapping
from typing import Final

from tbgen.games.pgn import tags
from tbgen.games.pgn.splitter import RawGame, Tag
from tbgen.variant import Variant

_BREAK: Final = re.compile(rb"\r\n|\n|\r")
_LAST_BREAK: Final = re.compile(rb"(?:\r\n|\n|\r)\Z")


def with_tags(raw: RawGame, told: Mapping[str, str], *, variant: Variant) -> bytes:
    """Return the bytes of a game with tags that tell its verdict, in place of those of an earlier one.

    They go behind the tag ``Result``, else where the earlier ones stood, else to the end of the tags, with
    the line breaks that are there. A komi that the game has stays, as does its result by the other rules.
    """
    ours = tags.SHARED | tags.result_tags(variant).all
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
