"""The live file of an event, on the side of its writer."""

import fcntl
import json
import os
import re
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.board.variant import Variant
from tbgen.games.live_file import (
    EventEnd,
    EventStart,
    GameEnd,
    GameMove,
    GameStart,
    LiveFile,
    Participant,
    Ply,
    StartPosition,
    Termination,
    live_path,
)
from tbgen.match import messages
from tbgen.match.messages import LiveWriter
from tests.match.engines import MATE, words
from tests.support.matches import played

START = EventStart(
    "", "", "round-robin", Variant.R_MOBILITY, [Participant("A", "inf"), Participant("B", "inf")],
    1, 2, 2, 0, 1, Scheme.EXPONENTIAL, None, None, None, 0,
)  # fmt: skip
GAME = GameStart(0, "1.1.1", 1, "A", "B", StartPosition("", GScore("-G20.5")))
MOVE = GameMove(0, "1.1.1", Ply("f2f3", "f3", GScore("-G20.5"), ""), "", {})
END = GameEnd(0, "1.1.1", 1, "A", "B", GScore("-G0.0"), "", 1, 100)


def test_any_program_can_read_the_live_file(tmp_path: Path) -> None:
    """The file is read line by line, without code of this package. The event is started through a link."""
    pgn, link = tmp_path / "games.pgn", tmp_path / "elsewhere" / "link.pgn"
    link.parent.mkdir()
    link.symlink_to(pgn)
    players = [words(name, moves=MATE) for name in "AB"]
    played(link, players=players)
    assert list(link.parent.iterdir()) == [link]
    lines = [json.loads(line) for line in (tmp_path / "games.pgn.live").read_text().splitlines()]
    first, last = lines[0], lines[-1]
    assert (first["type"], first["total"], first["finished"], first["size"]) == ("event", 2, 0, 0)
    assert [player["name"] for player in first["players"]] == ["A", "B"]
    assert last == {"type": "over", "how": "finished"}
    game = [line for line in lines if line.get("key") == "1.1.1"]
    assert [line["type"] for line in game] == ["started", *["moved"] * 4, "finished"]
    assert game[0]["start"]["accrued"] == "-G20.5"
    assert [line["ply"]["uci"] for line in game[1:5]] == MATE.split()
    assert game[1]["ply"]["comment"].startswith("+0.12/3 ")
    assert game[1]["ply"]["line"] == "f2f3"
    assert game[1]["left"] == {"white": None, "black": None}
    assert [game[5][key] for key in ("value", "reason", "classical")] == ["-G0.0", "Black mates", "0-1"]
    assert 0 < game[5]["size"] < pgn.stat().st_size == lines[-2]["size"]
    played(pgn, "--rounds", "2", players=players)
    again = json.loads((tmp_path / "games.pgn.live").read_text().splitlines()[0])
    assert (again["finished"], again["size"]) == (2, lines[-2]["size"])


def test_thoughts_are_written_while_an_engine_thinks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each thought is written once, before the move; the engine waits for this. It has ten nodes."""
    monkeypatch.setattr("tbgen.uci.protocol._REPORT_SECONDS", 0.05)
    players = [[*words("A", "pensive", MATE), f"dir={tmp_path}"], words("B", moves=MATE)]
    played(tmp_path / "games.pgn", "--games", "1", players=players)
    _, paired, *lines = map(json.loads, (tmp_path / "games.pgn.live").read_text().splitlines())
    assert paired == {"type": "paired", "games": [{"key": "1.1.1", "number": 1, "white": "A", "black": "B"}]}
    types = [line["type"] for line in lines if line.get("key")]
    assert types[:4] == ["started", "thought", "thought", "moved"]
    for line, score, moves in ((lines[1], "+0.12/3", "f2f3"), (lines[2], "+M5/7", "f2f3 e7e5")):
        assert re.fullmatch(rf"{re.escape(score)} \d+\.\d{{3}}s", line["comment"])
        assert line["line"] == moves
    assert [line["search"]["nodes"] for line in lines[1:3]] == [101, None]
    assert lines[1]["search"] == {"nodes": 101, "speed": 202, "hits": 3}
    assert (
        capsys.readouterr().err.count("A seems to ignore nodes=10: it has searched 101 nodes for a move") == 1
    )


def read(path: Path) -> list[Any]:
    with closing(LiveFile(path)) as file:
        return list(file.read()[1])


def test_a_long_file_is_replaced_by_one_with_the_games_in_play(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "_MAX_BYTES", 0)
    path, other = live_path(tmp_path / "a.pgn"), GameStart(0, "2.1.1", 3, "A", "B", GAME.start)
    with LiveWriter(tmp_path / "a.pgn", pytest.fail) as writer:
        for message in (START, GAME, other, MOVE):
            writer(message)
        file = LiveFile(path)
        assert file.read() == (True, [START, GAME, other, MOVE])
        assert not file.is_abandoned
        writer(END)
        fresh, (start, *games) = file.read()
        assert (fresh, games) == (True, [other])
        assert (start.finished, start.size) == (1, 100)  # type: ignore[union-attr]
        assert not file.is_abandoned
    assert file.read() == (False, [EventEnd(Termination.FINISHED)])
    assert file.is_abandoned
    file.close()
    assert [path.name for path in tmp_path.iterdir()] == ["a.pgn.live"]
    path.unlink()
    path.symlink_to(os.devnull)  # it is not read, because reading a pipe would wait for its writer
    assert LiveFile(path).read() == (False, ())


def test_a_reader_blocks_nothing(tmp_path: Path) -> None:
    """Not even a reader that locks the file blocks the writer."""
    with LiveWriter(tmp_path / "a.pgn", pytest.fail) as writer:
        writer(START)
        with live_path(tmp_path / "a.pgn").open() as file:
            with pytest.raises(OSError, match="unavailable"):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            writer(GAME)
    assert read(live_path(tmp_path / "a.pgn"))[:2] == [START, GAME]


def test_a_stopped_event_writes_its_end(tmp_path: Path) -> None:
    with suppress(KeyboardInterrupt), LiveWriter(tmp_path / "a.pgn", pytest.fail) as writer:
        writer(START)
        raise KeyboardInterrupt
    assert read(live_path(tmp_path / "a.pgn")) == [START, EventEnd(Termination.STOPPED)]


def test_a_file_that_cannot_be_written_is_reported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pgn = tmp_path / "games.pgn"
    live_path(pgn).mkdir()
    assert len(played(pgn)) == 2
    assert capsys.readouterr().err.count("cannot be written") == 1


def test_a_full_disk_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    writer = LiveWriter(tmp_path / "a.pgn", notes.append)
    monkeypatch.setattr(Path, "open", lambda *_, **__: open("/dev/full", "wb", buffering=0))  # noqa: SIM115
    for message in (START, GAME, MOVE, END):
        writer(message)
    assert len(notes) == 1
    assert "No space left on device" in notes[0]
