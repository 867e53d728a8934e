"""Finished games, read from the two files of an event as they grow."""

import dataclasses
import json
from pathlib import Path

import chess
import pytest
from msgspec.structs import replace

from tbgen.board.score import GScore
from tbgen.cli.main import main
from tbgen.games.live_file import (
    EventEnd,
    EventStart,
    GameEnd,
    GameMove,
    GamesPaired,
    GameStart,
    GameThought,
    PairedGame,
    Participant,
    Ply,
    StartPosition,
    Termination,
    encode_line,
    live_path,
)
from tbgen.games.standings.record import EventFormat, Format
from tbgen.web import live_state
from tbgen.web.live_state import EventFiles, LiveState
from tbgen.web.site import Archive
from tests.match.engines import MATE, SHUFFLE, words
from tests.match.test_live import START
from tests.support.matches import played
from tests.support.tournaments import knockout, pgn_of


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Two games, which end by repetition and by mate, and the beginning of another one."""
    folder = tmp_path_factory.mktemp("games")
    for moves in (SHUFFLE, MATE):
        played(folder / f"{moves}.pgn", "--games", "1", players=[words(name, moves=moves) for name in "AB"])
    first, second = ((folder / f"{moves}.pgn").read_bytes() for moves in (SHUFFLE, MATE))
    return first + second.replace(b'[Round "1.1.1"]', b'[Round "2.1.1"]') + b'[Event "?"]\n[Rou'


@pytest.fixture
def pgn(games: bytes, tmp_path: Path) -> Path:
    """A file with these games."""
    found = tmp_path / "games.pgn"
    found.write_bytes(games)
    return found


def line(size: int, finished: int) -> GameEnd:
    return GameEnd(0, "", finished, "A", "B", GScore("G0.0"), "", finished, size)


def test_games_come_up_to_where_the_file_is_whole(pgn: Path) -> None:
    whole = pgn.stat().st_size - len(b'[Event "?"]\n[Rou')
    middle = pgn.read_bytes().index(b"[Event", 10)
    live_path(pgn).write_bytes(encode_line(START) + encode_line(line(middle, 1)))
    files = EventFiles(pgn)
    fresh, ((_, nothing), (_, (first,))) = files.read()
    assert (fresh, nothing, files.read()) == (True, [], (False, []))
    with live_path(pgn).open("ab") as file:
        text = encode_line(line(whole, 2))
        file.write(text[:20])
        file.flush()
        assert files.read() == (False, [])  # a line that is being written
        file.write(text[20:] + b"{nonsense\n")
    fresh, ((_, (second,)),) = files.read()
    assert not fresh
    told = [
        [getattr(each.row, name) for name in ("number", "key", "reason", "plies")] for each in (first, second)
    ]
    assert told == [[1, "1.1.1", "End by 3-fold repetition", 8], [2, "2.1.1", "Black mates", 4]]
    assert files.read_span(first.span) + files.read_span(second.span) == pgn.read_bytes()[:whole]
    live_path(pgn).unlink()
    assert files.read() == (False, [])
    live_path(pgn).write_bytes(encode_line(replace(START, size=whole)))
    fresh, ((_, games),) = files.read()
    assert (fresh, [each.row.number for each in games]) == (True, [1, 2])
    files.live.close()


def test_lines_that_mean_nothing_are_passed_over(pgn: Path) -> None:
    """Lines with invalid bytes, unknown words or excessive numbers are skipped; later lines count."""
    start, over = encode_line(START), encode_line(EventEnd(Termination.FINISHED))
    end = encode_line(line(pgn.read_bytes().index(b"[Event", 10), 1))
    bad = [b'{"type":"over","how":"\xff"}\n', b"[" * 100_000 + b"\n", end.replace(b'"size":', b'"size":-')]
    for right, wrong in (
        (b'"r"', b'"x"'), (b'"exponential"', b'"x"'), (b'"cutoff":null', b'"cutoff":"G9.3"'),
        (b'"komi":null', b'"komi":"x"'), (b'"test":null', b'"test":{"elo0":5,"elo1":1}'),
        (b'"games":2', b'"games":0'),
    ):  # fmt: skip
        assert right in start
        bad.append(start.replace(right, wrong))
    live_path(pgn).write_bytes(b"".join([*bad, start, *bad, end, *bad, over]))
    files = EventFiles(pgn)
    told = files.read()[1]
    assert [(type(said), len(games)) for said, games in told] == [
        (EventStart, 0),
        (GameEnd, 1),
        (EventEnd, 0),
    ]
    Archive(pgn).write(pgn.parent)
    assert (pgn.parent / "live" / "games" / "1.1.1.json").exists()
    files.live.close()
    files = EventFiles(pgn)
    live_path(pgn).write_bytes(encode_line(replace(START, size=1 << 62)))
    assert [len(games) for _, games in files.read()[1]] == [2]
    files.live.close()


def test_a_pgn_file_that_is_taken_away_has_no_more_games(pgn: Path) -> None:
    live_path(pgn).write_bytes(encode_line(replace(START, size=pgn.read_bytes().index(b"[Event", 10))))
    files = EventFiles(pgn)
    _, ((_, (first,)),) = files.read()
    pgn.unlink()
    with live_path(pgn).open("ab") as file:
        file.write(encode_line(line(10_000, 2)))
    assert [games for _, games in files.read()[1]] == [[]]
    assert files.read_span(first.span) == b""
    files.live.close()


def test_games_without_a_live_file_are_told(pgn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All finished games are reported once, with players and scoring; a live file replaces them."""
    monkeypatch.setattr(live_state, "_REREAD_PAUSE_FACTOR", 0)
    files, state = EventFiles(pgn), LiveState()
    fresh, lines = files.read()
    assert (fresh, files.read()) == (True, (False, ()))
    for line, games in lines:
        state.apply(line, games)
    state.update_standings(state.unranked_games)
    found = state.document().builtins()
    assert (found["over"], found["finished"]["total"]) == ("untold", 2)
    assert state.start is not None
    assert {player.name for player in state.start.players} == {"A", "B"}
    assert (state.start.rules, state.start.scoring, state.start.games) == ("r", "exponential", 1)
    assert (found["standings"]["games"], found["standings"]["result"]["leaders"]) == (2, ["B"])
    with pgn.open("ab") as file:
        file.write(b"gibberish")
    assert files.read()[0]
    live_path(pgn).write_bytes(encode_line(START))
    assert files.read() == (True, [(START, [])])
    files.live.close()


def test_a_live_file_that_tells_no_event_is_as_good_as_none(pgn: Path) -> None:
    """A live file without an event is ignored; lines before the start of an event are skipped."""
    live_path(pgn).write_bytes(b"{nonsense\n" + encode_line(line(10, 1)))
    files = EventFiles(pgn)
    fresh, ((start, games), over) = files.read()
    assert (fresh, len(games), over) == (True, 2, (EventEnd(Termination.UNTOLD), ()))
    assert isinstance(start, EventStart)
    assert not files.is_abandoned
    with live_path(pgn).open("ab") as file:
        file.write(encode_line(line(10, 1)) + encode_line(START))
    assert files.read() == (True, [(START, [])])
    assert files.is_abandoned
    files.live.close()


def test_of_several_events_in_a_file_the_last_one_is_told(games: bytes, pgn: Path) -> None:
    """The last of several events with equally many games begins with a repeated key or another event name."""
    first = games[: games.index(b"[Event", 10)]
    renamed = first.replace(b'[Event "?"]', b'[Event "Third"]').replace(b"1.1.1", b"7.1.1")
    assert renamed.count(b"Third") == 1
    whole = games[: games.rindex(b"[Event")]
    for text, keys, name in ((whole + first, ["1.1.1"], ""), (whole + first + renamed, ["7.1.1"], "Third")):
        pgn.write_bytes(text)
        files, state = EventFiles(pgn), LiveState()
        for line, listed in files.read()[1]:
            state.apply(line, listed)
        state.update_standings(state.unranked_games)
        found = state.document().builtins()
        assert [game["key"] for game in found["finished"]["games"]] == list(state.spans) == keys
        assert found["finished"]["total"] == found["standings"]["games"] == found["event"]["finished"] == 1
        assert found["event"]["name"] == name
        assert [game["number"] for game in found["finished"]["games"]] == [1]
        assert files.read_span(state.spans[keys[0]]) == text[-len(files.read_span(state.spans[keys[0]])) :]


def test_games_of_others_are_shown(tmp_path: Path) -> None:
    """Games from other programs are shown whatever their tags; broken and unfinished ones are left out."""
    pgn, files, state = tmp_path / "games.pgn", EventFiles(tmp_path / "games.pgn"), LiveState()
    tags = '[Event "Club"]\n[White "A"]\n[Black "{}"]\n[Round "{}"]\n\n'
    games = ("1. f3 e5 2. g4 Qh4# 0-1\n\n", "1. e4 *\n\n", "1. e5 1-0\n\n", "1. d4 1/2-1/2\n\n")
    pgn.write_text("".join(tags.format("BC"[at % 2], at) + text for at, text in enumerate(games)))
    (start, listed), _ = files.read()[1]
    state.apply(start, listed)
    state.update_standings(state.unranked_games)
    found = state.document().builtins()
    assert (found["event"]["name"], found["event"]["rounds"], found["standings"]["games"]) == ("Club", 2, 2)
    assert [(row["key"], row["value"], row["basis"]) for row in reversed(found["finished"]["games"])] == [
        ("1.1.1", "-G0.0", "mate"),
        ("2.1.1", "G20.5", "played"),
    ]
    assert files.read_span(state.spans["2.1.1"]).endswith(b"1. d4 1/2-1/2\n\n")


def test_a_file_without_finished_games_has_no_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is read once, and again if it has grown, but only after a pause."""
    pgn = tmp_path / "games.pgn"
    pgn.write_text('[Event "?"]\n[Result "*"]\n\n1. e4 *\n')
    readings, text = list[slice](), EventFiles.read_span

    def counted(files: EventFiles, place: slice) -> bytes:
        readings.append(place)
        return text(files, place)

    monkeypatch.setattr(EventFiles, "read_span", counted)
    for rest, expected in ((1e9, 1), (0, 3)):
        monkeypatch.setattr(live_state, "_REREAD_PAUSE_FACTOR", rest)
        readings.clear()
        files = EventFiles(pgn)
        for _ in range(3):
            assert files.read() == (False, ())
            assert files.read() == (False, ())
            with pgn.open("a") as file:
                file.write("\n")
        assert len(readings) == 2 * expected  # by the tags of events, and then as games of other programs


def test_who_is_first_in_the_standings(games: bytes, tmp_path: Path) -> None:
    """The winner of the only game leads, and wins if the event ends; both lead when each has won one.

    A player who has not finished an encounter is in the tables, too, but without an Elo difference.
    """
    pgn, players = tmp_path / "games.pgn", [Participant(name, "inf") for name in "ABC"]
    first = games[games.index(b"[Event", 10) : games.rindex(b"[Event")]
    second = first.replace(b"2.1.1", b"3.1.1").replace(b'[White "A"]', b'[White "B"]')
    pgn.write_bytes(first + second.replace(b'[Black "B"]', b'[Black "A"]'))
    live_path(pgn).write_bytes(encode_line(replace(START, games=1, size=pgn.stat().st_size, players=players)))
    files, state = EventFiles(pgn), LiveState()
    _, ((start, listed),) = files.read()
    state.apply(start, listed)
    for count, leaders in enumerate([[], ["B"], ["A", "B"]]):
        change = state.update_standings(state.unranked_games[count - 1 : count])
        assert change is not None
        assert sorted(change[1].result.leaders if change[1].result else []) == leaders
        assert [len(table.rows) for table in change[1].tables] == [3] * (count + 2 if count else 0)
        if count == 1:
            assert change[1].result is not None
            assert change[1].result.sentence == "B is first: 1 to 0 points."
            state.apply(EventEnd(Termination.FINISHED), ())
            assert state.needs_ranking
            change = state.update_standings(())
            assert change is not None
            assert change[1].result is not None
            assert change[1].result.sentence == "B wins: 1 to 0 points."
    last = state.document().builtins()["standings"]["tables"][0]["rows"][-1]
    assert (last[1:4], last[-3:]) == (["C", "0", "0"], ["", "", ""])
    files.live.close()


@pytest.mark.parametrize("source", ["tags", "live file", "neither"])
def test_page_and_score_name_the_same_winner(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """B has most points, but A wins the final; games of earlier versions do not state the format."""
    pgn, names = tmp_path / "games.pgn", ("A", "B", "C", "D")
    event = EventFormat(Format.KNOCKOUT if source == "tags" else None, names, 1, 2)
    pgn.write_text("".join(pgn_of(dataclasses.replace(game, event=event)) for game in knockout(names)))
    if source == "live file":
        players = [Participant(name, "inf") for name in names]
        start = replace(START, format="knockout", players=players, size=pgn.stat().st_size)
        live_path(pgn).write_bytes(encode_line(start) + encode_line(EventEnd(Termination.FINISHED)))
    archive = json.loads(dict(Archive(pgn)._answers())["event.json"])
    result = archive["standings"]["result"]
    assert (result["winner"], result["decision"]) == ((None, None) if source == "neither" else ("A", "final"))
    if source != "neither":
        assert [table["key"] for table in archive["standings"]["tables"]] == ["bracket", "joint"]
    assert archive["event"]["format"] == ("" if source == "neither" else "knockout")
    assert main(["score", str(pgn), "--json", "--scoring", "classical", "--judge-again"]) == 0
    assert json.loads(capsys.readouterr().out)["result"] == result
    assert main(["score", str(pgn), "--tables", "standings"]) == 0
    assert " ".join(capsys.readouterr().out.split()).startswith(f"Standings {result['sentence']} All values")


def begun() -> LiveState:
    """The state after a game has begun."""
    state = LiveState()
    state.apply(START, ())
    state.apply(GameStart(0, "1.1.1", 1, "A", "B", StartPosition(chess.STARTING_FEN, GScore("-G20.5"))), ())
    return state


def test_games_that_have_still_to_begin() -> None:
    state = begun()
    later = [PairedGame(f"2.{encounter}.1", encounter, "A", "B") for encounter in (1, 2)]
    assert state.apply(GamesPaired([PairedGame("1.1.1", 1, "A", "B"), *later]), ())[0] == "paired"
    state.apply(GameStart(0, "1.1.1", 1, "A", "B", StartPosition(chess.STARTING_FEN, GScore("-G20.5"))), ())
    assert [game["key"] for game in state.document().builtins()["next"]] == ["2.1.1", "2.2.1"]
    state.apply(GamesPaired([PairedGame("3.1.1", 5, "A", "B")]), ())
    assert [game["key"] for game in state.document().builtins()["next"]] == ["2.1.1", "2.2.1", "3.1.1"]


def test_what_an_engine_expects_is_told_as_far_as_it_is_legal() -> None:
    for line, wanted in (("g8f6 e2e4 f6e4", "Nf6 e4 Nxe4"), ("g8f6 e2e5 f6e4", "Nf6"), ("", "")):
        state, board = begun(), chess.Board()
        for uci, told in (("g1f3", ""), ("g8f6", line)):
            board.push_uci(uci)
            ply = Ply(uci, "", GScore("G0.0"), "", told)
            _, change = state.apply(GameMove(0, "1.1.1", ply, board.fen(), {}), ())
        assert isinstance(change, GameMove)
        assert change.ply.line == wanted
        (game,) = state.document().builtins()["playing"]
        assert [ply["fen"].split()[1] for ply in game["plies"]] == ["b", "w"]
        assert game["plies"][1]["line"] == wanted


def test_a_clock_that_is_set_changes_no_duration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_state, "time", lambda: 7.0)
    state = begun()
    monkeypatch.setattr(live_state, "time", lambda: 7200.0)
    assert 7 <= state.document().builtins()["playing"][0]["since"] < 3600


def test_what_an_engine_thinks_is_known_until_it_moves() -> None:
    state = begun()

    def thought() -> object:
        return state.document().builtins()["playing"][0]["thought"]

    assert thought() is None
    name, change = state.apply(GameThought(0, "1.1.1", "+0.12/3 1.000s", "g1f3 g8f6 a1a5"), ())
    assert isinstance(change, GameThought)
    assert (name, change.key, change.line) == ("thought", "1.1.1", "Nf3 Nf6")
    assert thought() == {
        "comment": "+0.12/3 1.000s", "line": "Nf3 Nf6", "search": None, "moves": "g1f3 g8f6 a1a5"
    }  # fmt: skip
    board = chess.Board()
    board.push_uci("g1f3")
    state.apply(GameMove(0, "1.1.1", Ply("g1f3", "Nf3", GScore("G0.0"), ""), board.fen(), {}), ())
    assert thought() is None
