"""A running event by HTTP: its messages, its independence of spectators, and its end."""

import asyncio
import http.client
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import chess
import pytest

from tbgen.beyond.budget import SOLVE_COMMAND
from tbgen.games.live_file import EventEnd, Termination, encode_line, live_path
from tbgen.games.referee import Arbiter
from tbgen.match.messages import LiveWriter, Note
from tbgen.web.admission import Bill, Limiter
from tbgen.web.live import Audience, LivePage, SpectatorSeat, _in_thread
from tbgen.web.live_state import EventFiles
from tbgen.web.replies import Refusal, event_text
from tbgen.web.server import LiveServer
from tests.match.engines import MATE
from tests.match.test_live import GAME, START
from tests.support.commands import failure
from tests.support.matches import event, games_of, gone
from tests.support.processes import end
from tests.support.serving import served, serving
from tests.support.watching import awaited, document, lingers, process_of, shown, stands_still
from tests.web.test_solve_requests import events


@pytest.fixture(scope="module")
def pgn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("event") / "games.pgn"


@pytest.fixture(scope="module")
def address(pgn: Path, three_men: Path) -> Iterator[str]:
    """The address of an event that stands still in its third game."""
    lines = stands_still(pgn)
    with LiveWriter(pgn, pytest.fail) as writer, served(three_men, live_file=pgn, limit=0.1, burst=10) as url:
        for line in lines:
            writer(line)
        awaited(url, lingers)
        yield url


def test_games_in_play_with_what_has_accrued_and_standings(address: str) -> None:
    found = document(address)
    (game,) = found["playing"]
    arbiter = Arbiter()
    accrued = []
    for move in MATE.split()[:3]:
        arbiter.push_uci(move)
        accrued.append(str(arbiter.accrued))
    assert (game["key"], game["white"], game["black"], game["number"]) == ("2.1.1", "A", "B", 3)
    assert game["fen"] == arbiter.board.fen()
    scores = {"accrued": "-G20.5", "position_score": "-G20.5"}
    assert game["start"] == {"fen": chess.STARTING_FEN} | scores
    assert [ply["uci"] for ply in game["plies"]] == MATE.split()[:3]
    assert [ply["san"] for ply in game["plies"]] == ["f3", "e5", "g4"]
    assert [ply["accrued"] for ply in game["plies"]] == accrued
    assert [ply["position_score"] for ply in game["plies"]] == accrued  # pawn moves, each a reset
    assert game["plies"][0]["comment"].startswith("+0.12/3 ")
    assert found["over"] is None
    told = found["event"]
    assert (told["name"], told["format"], told["total"], told["rules"]) == ("Test", "round-robin", 4, "r")
    assert [player["name"] for player in told["players"]] == ["A", "B"]
    standings = found["standings"]
    assert (standings["games"], standings["score"]["points"]) == (2, 1.0)
    (table,) = standings["tables"]
    points = [column["title"] for column in table["columns"]].index("points")
    assert {(row[1], row[points]) for row in table["rows"]} == {("A", "1"), ("B", "1")}


def test_finished_games_are_those_of_the_file(address: str, pgn: Path) -> None:
    finished = document(address, "live/games")
    assert finished == document(address)["finished"]
    assert [game["key"] for game in finished["games"]] == ["1.1.2", "1.1.1"]
    first = finished["games"][1]
    said = [first[name] for name in ("value", "basis", "reason", "plies")]
    assert said == ["-G0.0", "mate", "Black mates", 4]
    assert [game["key"] for game in document(address, "live/games?before=2")["games"]] == ["1.1.1"]
    assert document(address, "live/games?before=1")["games"] == []
    for bad in ("x", "-1", "1" * 20, "%C2%B2"):
        with pytest.raises(HTTPError, match="400"):
            document(address, f"live/games?before={bad}")
    with urlopen(f"{address}/live/games/1.1.2.pgn") as answer:
        assert answer.headers["content-type"] == "application/x-chess-pgn"
        assert answer.read().strip() == b"[" + pgn.read_bytes().split(b"\n\n[")[1].strip()
    told = document(address, "live/games/1.1.1.json")
    assert (told["key"], told["white"], told["black"]) == ("1.1.1", "A", "B")
    arbiter = Arbiter()
    for ply, move in zip(told["plies"], MATE.split(), strict=True):
        arbiter.push_uci(move)
        assert (ply["uci"], ply["accrued"]) == (move, str(arbiter.accrued))
        assert ply["fen"] == arbiter.board.fen()
        assert ply["comment"].startswith("+0.12/3 ")
    for name in ("9.1.1", "2.1.1", "9.1.1.json", "nonsense", "..%2f..%2fetc%2fpasswd"):
        with pytest.raises(HTTPError, match="404"):
            document(address, f"live/games/{name}")


def test_a_finished_game_opens_in_the_explorer(address: str, pgn: Path) -> None:
    """The link has the game of the file, and the explorer answers there."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    connection.request("GET", "/live/games/1.1.1")
    answer = connection.getresponse()
    assert answer.status == 303
    place = answer.headers["location"]
    assert place.startswith("../../?")
    query = parse_qs(urlsplit(place).query)
    board = chess.Board(query["fen"][0].replace("_", " "))
    for san in query["line"][0].split("_"):
        board.push_san(san)
    assert board.move_stack == games_of(pgn)[0].moves
    connection.close()
    head = parse_qs(urlsplit(place).fragment)["game"][0].split("\n")
    assert {'[White "A"]', '[RMobilityResult "-G0.0"]'} <= set(head)
    assert head[-1].endswith(", Black mates}")
    assert document(address, "r?fen=8/8/8/4KBk1/8/8/8/8_b")["value"] == "G1.5"
    # The page may run its own files only.
    with urlopen(f"{address}/live") as answer:
        policy, text = answer.headers["content-security-policy"], answer.read().decode()
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "Games in play" in text


def test_who_comes_is_shown_all(address: str) -> None:
    """Spectators behind one proxy get the complete state, more of them than one client may have requests."""
    text = ""
    with ExitStack() as streams:
        for _ in range(40):
            stream = streams.enter_context(urlopen(f"{address}/live/stream"))
            assert stream.readline() == b"event: state\n"
        while not text.endswith("\n\n"):
            text += stream.readline().decode()
        now = document(address)
    ((name, state),) = events("event: state\n" + text)
    for found in (state, now):
        for game in found["playing"]:
            game["since"] = None
    assert (name, state) == ("state", now)


def test_who_looks_on_is_told_of_every_move_and_of_the_end(tmp_path: Path) -> None:
    """A spectator gets all changes from before the first game until Ctrl-C; then the server ends, and the
    event can be continued."""
    pgn = tmp_path / "games.pgn"
    with shown(pgn) as (running, address):
        with urlopen(f"{address}/live/stream") as stream:
            awaited(address, lingers)
            running.send_signal(signal.SIGINT)
            told = events(stream.read().decode())
        assert end(running)[0] == 130
    assert told[0][0] == "state"
    last = max(at for at, (name, _) in enumerate(told) if name == "state")
    state, rest = told[last][1], told[last + 1 :]  # the complete state is sent when the event begins
    moves = [data["ply"]["uci"] for name, data in rest if name == "moved"]
    plies = sum(len(game["plies"]) for game in state["playing"]) + 4 * state["finished"]["total"]
    assert moves == (MATE.split() * 3)[plies:11]
    finished = [game["key"] for game in state["finished"]["games"][::-1]]
    finished += [data["key"] for name, data in rest if name == "finished"]
    assert finished == ["1.1.1", "1.1.2"]
    assert rest[-1] == ("over", {"how": "stopped"})
    assert [name for name, _ in rest].count("over") == 1
    with pytest.raises(OSError, match="refused"):
        document(address)
    assert len(games_of(pgn)) == 2


def test_an_event_goes_on_without_its_page(tmp_path: Path) -> None:
    """A server that is killed does not harm the event."""
    notes: list[str] = []
    with LiveServer("0", tmp_path / "games.pgn", None, notes.append) as server:
        server(START)
        assert server.process is not None
        server.process.kill()
        server.process.wait()
        for _ in range(3):
            server(Note(""))
    assert notes == ["the server of the live page has ended: games continue without it"]


def test_who_comes_late_is_told_of_a_game_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state before the last standings has all games already, so only the end is sent after it."""
    page = LivePage(tmp_path / "games.pgn", Limiter(0, 0), ends_with_event=False)
    messages = page.audience.messages(SpectatorSeat(""), lambda: event_text("state", page._state.document()))
    told: list[str] = []

    async def come() -> None:
        told.append(await anext(messages))

    async def look_on() -> None:
        for lines in (encode_line(START), encode_line(GAME) + encode_line(EventEnd(Termination.FINISHED))):
            with live_path(tmp_path / "games.pgn").open("ab") as file:
                file.write(lines)
            await page._read_files()
        page.audience.close()
        told.extend([message async for message in messages])

    monkeypatch.setattr(page, "_update_standings", come)
    asyncio.run(look_on())
    page._files.live.close()
    (name, state), *rest = events("".join(told))
    assert (name, len(state["playing"]), rest) == ("state", 1, [("over", {"how": "finished"})])


def test_who_waits_for_a_thread_pays_only_for_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    bill, times = Bill(), iter([10, 12])
    monkeypatch.setattr("tbgen.web.live.thread_time", lambda: next(times))
    assert (asyncio.run(_in_thread(bill, str, 7)), bill.seconds) == ("7", 2)


@pytest.mark.exhaustive
def test_nothing_is_imported_from_where_the_command_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("chess", "queue"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    pgn = tmp_path / "games.pgn"
    with LiveServer("0", pgn, None, pytest.fail) as server:
        with LiveWriter(pgn, pytest.fail) as writer:
            writer(START)
            server(START)
        assert server.process is not None
        assert server.process.wait() == 0
    with subprocess.Popen(
        [*SOLVE_COMMAND, "--help"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as child:
        assert child.wait() == 0


def test_an_event_is_followed_through_all_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page follows an event before it begins, from its PGN file alone, and to its end with the server.

    Every other reading of the files fails.
    """
    ended, pgn, looks, read = Event(), tmp_path / "games.pgn", count(), EventFiles.read

    def look(files: EventFiles) -> Any:
        if next(looks) % 2:
            raise OSError(5, "Input/output error")
        return read(files)

    monkeypatch.setattr(EventFiles, "read", look)
    monkeypatch.setattr("tbgen.web.live.signal.raise_signal", lambda _: ended.set())
    stands_still(tmp_path / "other.pgn")
    with served(tmp_path, live_file=pgn, ends_with_event=True) as address:
        assert document(address)["event"] is None
        (tmp_path / "other.pgn").rename(pgn)
        assert awaited(address, lambda found: found["over"] == "untold")["finished"]["total"] == 2
        with LiveWriter(pgn, pytest.fail) as writer:
            writer(START)
            awaited(address, lambda found: found["over"] is None)
            assert not ended.is_set()
        ended.wait()


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_server_of_its_own_shows_an_event_before_and_after_its_end(tmp_path: Path) -> None:
    """``tbgen serve --live`` waits for the event, survives the runner, and continues with the next run; the
    server of a killed runner ends with it."""
    pgn = tmp_path / "games.pgn"
    with serving(tmp_path, "--live", str(pgn)) as (serving_process, host, port):
        address = f"http://{host}:{port}"
        assert document(address)["event"] is None
        with shown(pgn) as (running, own), urlopen(f"{own}/live/stream") as stream:
            awaited(address, lingers)
            process = process_of(running)
            running.kill()
            name, last = events(stream.read().decode())[-1]
            # A spectator who has just got the start of the event gets the complete state, including the end.
            assert last["how" if name == "over" else "over"] == "gone"
            awaited(address, lambda found: found["over"] == "gone")
            assert gone(process)
        assert document(address)["finished"]["total"] == 2
        with shown(pgn, "--rounds", "3") as (running, _):
            found = awaited(address, lambda found: found["finished"]["total"] == 4 and found["playing"])
            assert (found["over"], found["event"]["total"]) == (None, 6)
            with urlopen(f"{address}/live/stream") as stream:
                serving_process.send_signal(signal.SIGINT)
                assert "event: state" in stream.read().decode()
            assert end(serving_process) == (0, "")


def test_a_spectator_who_does_not_read_costs_a_bounded_number_of_texts() -> None:
    """Such a spectator gets the complete state on reading again, and the others get all changes."""

    async def look_on() -> None:
        state = iter(range(100))
        audience = Audience()
        with audience.seat("a") as first, audience.seat("a") as second:
            slow, quick = (audience.messages(seat, lambda: f"all {next(state)}") for seat in (first, second))
        assert (await anext(slow), await anext(quick)) == ("all 0", "all 1")
        for number in range(1000):
            audience.send(f"{number} ")
            assert await anext(quick) == f"{number} "
        assert await anext(slow) == "all 2"
        audience.send("a")
        audience.send("b")
        assert await anext(slow) == "ab"
        audience.close()
        with pytest.raises(StopAsyncIteration):
            await anext(slow)

    asyncio.run(look_on())


def test_a_full_house_has_room_for_another_household(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbgen.web.live._MAX_SPECTATORS", 3)

    async def look_on() -> None:
        audience = Audience()
        with ExitStack() as seats:
            first, second, third = (seats.enter_context(audience.seat("crowd")) for _ in range(3))
            losing = audience.messages(first, lambda: "all")
            assert await anext(losing) == "all"
            with pytest.raises(Refusal), audience.seat("crowd"):
                pass
            guest = seats.enter_context(audience.seat("guest"))
            with pytest.raises(StopAsyncIteration):
                await anext(losing)
            with pytest.raises(Refusal), audience.seat("guest"):
                pass
            assert [seat.is_lost for seat in (first, second, third, guest)] == [True, False, False, False]
        with ExitStack() as seats:
            assert [seats.enter_context(audience.seat("crowd")).is_lost for _ in range(3)] == [False] * 3

    asyncio.run(look_on())


def test_addresses_that_cannot_be_had(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for where, code, expected in (
            ("nonsense", 2, "expected HOST:PORT"),
            ("127.0.0.1:99999", 2, "expected HOST:PORT"),
            ("no.such.host.invalid:0", 2, "is not an address of this machine"),
            (f"127.0.0.1:{taken.getsockname()[1]}", 1, "choose others with --live HOST:PORT"),
        ):
            assert expected in failure(capsys, code, *event(tmp_path / "games.pgn", "--live", where))
    assert not (tmp_path / "games.pgn").exists()
