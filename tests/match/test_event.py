"""Events: the games that are played, their PGN, and the resumption of an event from it."""

import asyncio
import fcntl
import json
import os
import re
from contextlib import closing
from pathlib import Path

import pytest

from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.errors import TbgenError, UsageError
from tbgen.games.game_options import GameOptions
from tbgen.match import games_file
from tbgen.match.event_settings import EventSettings
from tbgen.match.games_file import GamesFile
from tbgen.system.locks import is_locked, try_lock
from tests.match.engines import MATE, SHUFFLE, words
from tests.support.commands import failure
from tests.support.disks import refuse
from tests.support.matches import children, event, games_of, last_words, played, tagged
from tests.support.tournaments import game, pgn_of


def test_a_match_is_played_with_colours_reversed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = children()
    games = played(tmp_path / "games.pgn", "--rounds", "2")
    pairings = [" ".join(game.tags[name] for name in ("Round", "White", "Black")) for game in games]
    assert pairings == ["1.1.1 A B", "1.1.2 B A", "2.1.1 A B", "2.1.2 B A"]
    assert {" ".join(move.uci() for move in game.moves) for game in games} == {f"{SHUFFLE} {SHUFFLE}"}
    assert all("+0.12/3 " in game.comment for game in games)
    assert {last_words(game) for game in games} == {"End by 3-fold repetition"}
    output = capsys.readouterr()
    assert "Started game 3 of 4 (A vs B)\n" in output.out
    assert "Finished game 4 (B vs A): 1/2-1/2 {3-fold repetition, -G20.5}\n" in output.out
    assert "Score of A vs B: 2.0000 - 2.0000 [0.500] 4, " in output.out
    assert "Standings\n" in output.out
    assert children() == before


def test_tags_are_those_of_tbgen_tag(tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    (mate, _) = played(pgn, players=[words("A", moves=MATE), words("B", moves=MATE)])
    assert mate.tags["Result"] == "0-1"
    assert (mate.tags["RMobilityResult"], mate.tags["RMobilityBasis"]) == ("-G0.0", "mate")
    assert (mate.tags["Points"], mate.tags["PlyCount"]) == ("0.0000-1.0000", "4")
    assert last_words(mate) == "Black mates"
    assert tagged(pgn) == pgn.read_bytes()


def test_an_event_is_resumed_from_its_games(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The event was killed while writing the third game; it is also resumed with more rounds."""
    pgn = tmp_path / "games.pgn"
    played(pgn, "--rounds", "2")
    text = pgn.read_text()
    third = text.index("[Event", text.index('[Round "1.1.2"]'))
    for torn in (text.index("1. Nf3", third) + 20, text.rindex("1/2-1/2") + 4):
        pgn.write_text(text[:torn])
        capsys.readouterr()
        games = played(pgn, "--rounds", "2")
        assert [game.tags["Round"] for game in games] == ["1.1.1", "1.1.2", "2.1.1", "2.1.2"]
        kept = 3 if torn > text.index("[Event", third + 10) else 2
        assert f"{kept} games found, the event continues" in capsys.readouterr().err
        assert pgn.read_text()[: third - 1] == text[: third - 1]
    finished = pgn.read_bytes()
    pgn.write_bytes(finished.rstrip())  # as an editor may leave it
    played(pgn, "--rounds", "2")
    assert pgn.read_bytes() == finished
    assert "Started" not in capsys.readouterr().out
    assert [game.tags["Round"] for game in played(pgn, "--rounds", "3")][4:] == ["3.1.1", "3.1.2"]


def test_half_a_pair_does_not_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Games may be missing from the file, and their order does not matter. An earlier run had one round."""
    pgn = tmp_path / "games.pgn"
    played(pgn, "--rounds", "2")
    first, second, _, fourth = re.findall(r"\[Event.*?\n\n.*?\n\n", pgn.read_text(), re.DOTALL)
    pgn.write_text((fourth + second + first).replace("rounds 2", "rounds 1"))
    capsys.readouterr()
    assert main(event(pgn, "--rounds", "1", "--json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["games"], document["games_of_broken_encounters"]) == (3, 1)
    assert document["standings"]["games_per_player"] == {"least": 2, "most": 2}
    assert [game.tags["Round"] for game in games_of(pgn)] == ["2.1.2", "1.1.2", "1.1.1"]


def test_games_of_other_events_are_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pgn = tmp_path / "games.pgn"
    played(pgn)
    text = pgn.read_text()
    for changed, expected in (
        (text.replace('[Schedule "', '[Schedule "x'), "belongs to an event with other"),
        (text + text, "a second time"),
        (text.replace('[RMobilityResult "-G20.5"]', ""), "tags of this game have been changed"),
        (text.replace('[White "A"]', '[White "C"]', 1), "should be A - B"),
        ('[Event "x"]\n\n1. e4 *\n\n' + text, "belongs to an event with other"),
        (text + '[Event "x"]\n[White "A"]\n\n1. e4 *\n', "text that is not from this event"),
        (text[: text.index("[Schedule")] + "\n1. e4 e5\n", "text that is not from this event"),
        ("My shopping list\n- milk\n", "text that is not from this event"),
    ):
        pgn.write_text(changed)
        assert expected in refused(capsys, pgn, "--rounds", "2")
        assert pgn.read_text().startswith(changed)
    pgn.write_text(text)
    for more in (["--seed", "5"], ["--games", "1"], ["--each", "nodes=11"], ["--tournament", "gauntlet"]):
        assert "belongs to an event with other" in refused(capsys, pgn, *more), more
    knockout = tmp_path / "knockout.pgn", "--tournament", "knockout"
    played(*knockout)
    assert "scored as exponential, not harmonic" in refused(capsys, *knockout, "--scoring", "harmonic")


def refused(capsys: pytest.CaptureFixture[str], pgn: Path, *more: str) -> str:
    """Return the error about games in a file that are not those of the event."""
    capsys.readouterr()
    assert main(event(pgn, *more)) == 2
    return capsys.readouterr().err


def test_one_event_at_a_time_writes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pgn = tmp_path / "games.pgn"
    with pgn.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "another event is writing" in failure(capsys, 2, *event(pgn))
    assert pgn.read_bytes() == b""


def test_a_file_that_is_removed_while_another_event_opens_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first event removes its empty file while it is locked; the second event then makes its own."""
    pgn, unlink = tmp_path / "games.pgn", Path.unlink
    arguments = EventSettings((), pgn), {"digest": 1}, GameOptions(Variant.R_MOBILITY)
    first = GamesFile(*arguments)

    def unlinking(path: Path, missing_ok: bool = False) -> None:
        with path.open() as file:
            assert is_locked(file.fileno())
        unlink(path, missing_ok)

    def lock_late(descriptor: int) -> bool:
        first.close()
        monkeypatch.undo()
        return try_lock(descriptor)

    monkeypatch.setattr(Path, "unlink", unlinking)
    monkeypatch.setattr(games_file, "try_lock", lock_late)
    with closing(GamesFile(*arguments)) as second:
        assert pgn.stat().st_ino == os.fstat(second._file.fileno()).st_ino
        pgn.unlink()
        with pytest.raises(TbgenError, match="replaced, renamed or removed"):
            second._write(b"*")


def test_games_are_counted_once_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pgn = f'[Schedule "digest"]\n{pgn_of(game("A", "B", "G1.0", round_="1.1.1"))}'.encode()
    arguments = EventSettings((), tmp_path / "games.pgn"), {"digest": 1}
    with closing(GamesFile(*arguments, GameOptions(Variant.R_MOBILITY))) as file:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", refuse)
            with pytest.raises(TbgenError, match="no permission"):
                file._append_now(pgn)
        assert not file.rounds_when_paired
        assert file._append_now(pgn)[0].number == 1


@pytest.mark.parametrize("module", ["games_file", "openings"])
def test_signals_interrupt_reading(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the event loop, a signal would have to wait until the whole file has been read."""
    loops = []

    def read(_name: str) -> None:
        loops.append(asyncio._get_running_loop())
        raise UsageError("enough")

    monkeypatch.setattr(f"tbgen.match.{module}.open_for_reading", read)
    openings = ["--openings", f"file={__file__}"] if module == "openings" else []
    assert main(event(tmp_path / "games.pgn", *openings)) == 2
    assert loops == [None]


def test_an_engine_with_restart_gets_a_process_for_each_game(tmp_path: Path) -> None:
    """Without ``restart=on`` an engine keeps its process."""
    pgn, log = tmp_path / "games.pgn", tmp_path / "log"
    players = [[*words("A"), "restart=on"], words("B")]
    played(pgn, "--rounds", "2", "--log", str(log), players=players)
    counts = {name: (log / f"{name}.log").read_text().count(" > uci\n") for name in "AB"}
    assert counts == {"A": 5, "B": 2}  # once to try it, then by game, or once
    assert " < bestmove g1f3\n" in (log / "A.log").read_text()
