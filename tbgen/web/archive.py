"""An event that is over, as files of a static site.

They are the answers of the server of its page, each in a file that is named after its address.
"""

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from tbgen.errors import UsageError
from tbgen.files import make_directory, write_file
from tbgen.games.explorer_link import explorer_link
from tbgen.games.live_file import EventEnd, Termination, live_path
from tbgen.web.live_state import EventFiles, LiveState
from tbgen.web.replay import replay

FOLDER: Final = "live"
"""The folder of the event on a site."""
FIRST: Final = "event.json"
"""What the page of the event asks for first."""


class Archive:
    """An event, read from its two files.

    :param pgn: the PGN file.
    :raises UsageError: if it has neither a live file nor a finished game, or the event is still being played.
    """

    def __init__(self, pgn: Path) -> None:
        self._files, self._state = EventFiles(pgn), LiveState()
        for line, games in self._files.read()[1]:
            self._state.take(line, games)
        abandoned = self._files.abandoned
        self._files.live.close()
        if self._state.start is None:
            raise UsageError(
                f"{live_path(pgn)}, the live file of an event, is missing or damaged: tbgen match writes it"
            )
        if self._state.over is None:
            if not abandoned:
                raise UsageError(f"the event of {pgn} is still being played: publish it when it is over")
            self._state.take(EventEnd(Termination.GONE), ())
        self._state.rank(self._state.unranked)
        self._start = self._state.start

    def write(self, target: Path) -> None:
        """Write the answers; the one that the page asks for first is the last file.

        :param target: the directory of the site.
        :raises TbgenError: if something cannot be written.
        """
        make_directory(target / FOLDER / "games")
        for name, data in self._answers():
            write_file(target / FOLDER / name, data)

    def _answers(self) -> Iterator[tuple[str, bytes]]:
        for key, place in self._state.places.items():
            text = self._files.text(place)
            yield f"games/{key}.pgn", text.strip() + b"\n"
            yield f"games/{key}.json", _json(replay(text, self._files.options))
            yield f"games/{key}.html", _leading(f"../../{explorer_link(text, self._start.rules)}")
        document = self._state.document()
        listed = document["finished"]["games"]
        while listed and (before := listed[-1]["number"]) > 1:
            found = self._state.finished(before)
            yield f"games-{before}.json", _json(found)
            listed = found["games"]
        yield FIRST, _json(document)


def _json(document: dict[str, Any]) -> bytes:
    return msgspec.json.encode(document)


def _leading(address: str) -> bytes:
    """Return a page that leads to another one."""
    link = html.escape(address)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>tbgen</title>\n'
        f'<meta http-equiv="refresh" content="0; url={link}">\n<a href="{link}">The game</a>\n</html>\n'
    ).encode()
