"""Play with a partner, which judges by chess; in drawn games r-mobility decides."""

import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import chess
import chess.engine
import pytest

from tbgen.engine.game import Candidate
from tbgen.engine.options import Options
from tbgen.engine.partner import Judgement, Partner, _later_limit
from tbgen.engine.thinker import Thinker
from tests.support.engines import Talk, fake_partner, game, talk, timer

STALEMATE = "7k/5K2/8/6P1/8/8/8/8 w - - 0 60"
"""With g5g6 White leaves Black no move, which is a draw in chess and G0.5 in r-mobility."""
DRAWS = ("f7f8,0,5-990-5", "f7e7,0,4-991-5", "g5g6,0,5-990-5", "f7f6,-90,1-800-199")
WINS = ("f7f8,400,990-10-0", "g5g6,0,5-990-5")
FEW = "nodes 4000 depth 2"


@contextmanager
def partnered(mode: str, *moves: str, wait: bool = True) -> Iterator[Talk]:
    """Yield an engine without tables that plays with a partner.

    :param wait: whether to wait until the partner has started.
    """
    command = fake_partner(mode, *moves)
    with talk(ready=False) as engine:
        engine.say(f"setoption name Wait value {str(wait).lower()}", "setoption name Directory value nowhere")
        engine.say(f"setoption name Partner value {command}", "isready")
        yield engine


def moved(engine: Talk, words: str = FEW, position: str = f"fen {STALEMATE}") -> str:
    return engine.move(f"position {position}", f"go {words}")


def kept(engine: Talk) -> list[str]:
    """Return the moves that keep the draw according to the engine."""
    told = [line for line in engine.said if "the partner sees a draw" in line]
    return told[-1].split(": ")[1].split() if told else []


def has_failed(engine: Talk) -> bool:
    return any("has failed" in line for line in engine.said)


def test_with_little_time_the_partner_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", lambda: 7.0)
    with partnered("plain", *DRAWS) as engine:
        for _ in range(2):
            assert moved(engine, "wtime 1500 btime 9000 depth 2") == "f7f8"
            assert kept(engine) == []
        assert moved(engine, "wtime 9000 btime 1500 depth 2") == "g5g6"


@pytest.mark.parametrize("mode", ["wordless", "brief"])
def test_a_partner_without_time_to_report_is_kept(mode: str) -> None:
    """The partner's move is made, because it has judged no others."""
    with partnered(mode, *DRAWS) as engine:
        for _ in range(3):
            assert moved(engine) == "f7f8"
        assert not has_failed(engine)
        assert bool(kept(engine)) == (mode == "brief")


def test_a_win_is_the_partners_move() -> None:
    with partnered("plain", *WINS) as engine:
        for _ in range(2):
            assert moved(engine) == "f7f8"
            assert kept(engine) == []
            assert any("score cp 400 " in line for line in engine.said)


def test_in_a_draw_r_mobility_chooses_among_the_moves_that_keep_it() -> None:
    """From the second move on, after the partner has seen the draw; losing moves are left out."""
    with partnered("plain", *DRAWS) as engine:
        assert [moved(engine) for _ in range(2)] == ["f7f8", "g5g6"]
        assert kept(engine) == ["f7f8", "f7e7", "g5g6"]
        assert moved(engine, f"{FEW} searchmoves f7e7 f7f6") == "f7e7"


@pytest.mark.parametrize(("told", "played"), [("-30,2-956-42", "g5g6"), ("-60,1-850-149", "f7f8")])
def test_the_gain_of_a_move_must_outweigh_its_cost_in_chess(told: str, played: str) -> None:
    """A stalemate gains a quarter of a point; the cost counts threefold, and is 0.02 or 0.074 points."""
    with partnered("plain", "f7f8,0,5-990-5", f"g5g6,{told}") as engine:
        assert [moved(engine) for _ in range(2)][1] == played
        assert kept(engine) == ["f7f8", "g5g6"]


def test_with_many_men_r_mobility_chooses_in_repeated_positions() -> None:
    """There a move may cost 0.02 points, but d2d4 costs 0.024. In other positions the partner moves."""
    told = ("g1f3,0,5-990-5", "e2e4,-9,5-980-15", "d2d4,-60,1-950-49")
    there_and_back = "g1f3 g8f6 f3g1 f6g8"
    with partnered("plain", *told) as engine:
        for _ in range(2):
            assert moved(engine, position="startpos") == "g1f3"
            assert kept(engine) == []
        assert moved(engine, position=f"startpos moves {there_and_back}") == "e2e4"
        assert kept(engine) == ["g1f3", "e2e4"]


@pytest.mark.parametrize(
    ("line", "among"),
    [("h2h3 g7g6", []), ("h2h3 g7g6 c3c8", ["h2h3", "g2g3"]), ("h2h3 g7g6 c3c8 f8g7 b2b3", [])],
)
def test_with_many_men_r_mobility_chooses_if_a_line_ends_with_a_low_score(
    line: str, among: list[str]
) -> None:
    """After c3c8 Black has one move, and this score counts until a pawn moves."""
    check = "fen 5k2/5ppp/8/8/8/2Q5/PPP2PPP/6K1 w - - 0 1"
    with partnered("plain", f"{line},0,5-990-5", "g2g3,0,5-990-5", "c3c8,-60,1-950-49") as engine:
        for known in ([], among):
            moved(engine, position=check)
            assert kept(engine) == known
        engine.say("ucinewgame")
        assert moved(engine, position=check) == "h2h3"
        assert kept(engine) == []


def test_overhead_is_not_deducted_twice() -> None:
    with partnered("late", *WINS) as engine:
        assert moved(engine) == "f7f8"
        assert any("score cp 400 " in line for line in engine.said), engine.said


def test_a_check_ends_with_the_time_of_the_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check may take 50 of 54 seconds; after 50 seconds, only the remaining four."""
    told, clock = list[float | None](), [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    chosen = chess.Move.from_uci("g5g6")
    score = chess.engine.PovScore(chess.engine.Cp(0), chess.WHITE)
    judged = Judgement({"pv": [chosen], "depth": 9, "score": score}, {chosen: Candidate()}, 100, 1, None)
    limits = timer("movetime 54000")
    with closing(Partner(fake_partner("plain", *DRAWS), 1)) as partner:
        right = partner._engine.analysis

        def analysis(board: chess.Board, limit: chess.engine.Limit, **more: Any) -> Any:
            told.append(limit.time)
            return right(board, limit, **more)

        monkeypatch.setattr(partner._engine, "analysis", analysis)
        for clock[0] in (0, 50, 54):
            partner.keeps_draw(game(STALEMATE), chosen, judged, limits)
    assert told == [50, 4]


def test_a_check_must_be_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    moves = [chess.Move.from_uci(move) for move in ("f7f8", "g5g6")]
    score = chess.engine.PovScore(chess.engine.Cp(0), chess.WHITE)
    with closing(Partner(fake_partner("plain", *DRAWS), 1)) as partner:
        for first, closer, enough in ((14, 11, True), (14, 10, False), (33, 12, True), (33, 11, False)):
            best, other = (
                chess.engine.InfoDict(pv=[move], depth=depth, score=score)
                for move, depth in zip(moves, (first, closer), strict=True)
            )
            monkeypatch.setattr(partner, "_analyse", lambda *_, other=other: (other,))
            judged = Judgement(best, {move: Candidate() for move in moves}, 1, 1, None)
            assert partner.keeps_draw(game(STALEMATE), moves[1], judged, timer("nodes 9")) == enough


def test_a_search_uses_a_fixed_time_up_to_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock, it uses as much time as the partner, which here answers at once."""
    monkeypatch.setattr(time, "perf_counter", lambda: 7.0)
    arbiter = game(STALEMATE)
    with closing(Partner(fake_partner("plain", *DRAWS), 1)) as partner:
        for words, least, most in (("movetime 54000", 50, 54), ("wtime 54000 btime 54000", 0, 1)):
            judged = partner.judge(arbiter, list(arbiter.live.legal_moves), timer(words))
            assert least < judged.search_seconds < most


@pytest.mark.parametrize("mode", ["dies", "leaves", "wrong"])
def test_a_failed_partner_is_reported_once_and_the_engine_plays_on(mode: str) -> None:
    with partnered(mode, *DRAWS) as engine:
        assert moved(engine) == "g5g6"
        assert has_failed(engine), engine.said
        assert moved(engine) == "g5g6"
        assert not has_failed(engine)
        command = engine.engine._options.partner_command
        for words in ("ucinewgame", f"setoption name Partner value {command}"):
            engine.say(words, "isready")
            assert moved(engine) == "g5g6"
            assert any(line.startswith("info string loading the partner") for line in engine.said)
            assert has_failed(engine), engine.said


def test_a_missing_partner_is_reported(tmp_path: Path) -> None:
    with talk(ready=False) as engine:
        engine.say(f"setoption name Partner value {tmp_path / 'nobody'}")
        assert chess.Board().is_legal(chess.Move.from_uci(engine.move("isready", "go depth 1")))
        (sentence,) = [line for line in engine.said if "partner" in line]
        assert sentence.startswith("info string the partner ")
        assert sentence.endswith(
            "nobody' does not start (No such file or directory): the engine plays on alone"
        )
        engine.move("isready", "go depth 1")
        assert not any("partner" in line for line in engine.said)
        engine.move("ucinewgame", "isready", "go depth 1")
        assert any("does not start" in line for line in engine.said)


def test_options_of_a_partner() -> None:
    """Options are set at the start. A rejected option is reported, and the engine plays on alone."""
    with partnered("plain", *DRAWS) as engine:
        assert moved(engine) == "f7f8"
        engine.say(
            "setoption name PartnerOptions value Best  move = f7e7|UCI_ShowWDL=True|ponder=true", "isready"
        )
        assert moved(engine) == "f7e7"
        assert any("option.ponder=true has no effect: " in line for line in engine.said)
        (sentence,) = engine.say("setoption name PartnerOptions value Threads")
        assert "NAME=VALUE" in sentence
        engine.say("setoption name PartnerOptions value Threads=2", "isready")
        assert moved(engine) == "g5g6"
        (sentence,) = [line for line in engine.said if "Threads" in line]
        assert "rejects its options (" in sentence
        assert sentence.endswith("): the engine plays on alone")


def test_a_partner_gets_new_games_and_the_clock_of_the_game(tmp_path: Path) -> None:
    """Without a 50-move rule, the halfmove clock of a position means nothing."""
    log = tmp_path / "log"
    position, there_and_back = STALEMATE.replace(" 0 60", " {} 160"), "moves f7f8 h8h7 f8f7 h7h8"
    with partnered(f"log={log}", *WINS) as engine:
        for words in ("ucinewgame", "stop", "stop", "ucinewgame", "ucinewgame", "stop"):
            engine.say(words)
            assert moved(engine, position=f"fen {position.format(90)} {there_and_back}") == "f7f8"
    told = log.read_text().splitlines()
    assert told.count("ucinewgame") == 3
    assert told.count(f"position fen {position.format(0)} {there_and_back}") == 6


def test_nodes_and_time_both_limit_a_check() -> None:
    limits = [
        _later_limit(timer(words), 0.5, 0.04)
        for words in ("nodes 1000", "nodes 1000 movetime 9000000", "movetime 9000000")
    ]
    assert [limit.nodes for limit in limits] == [175, 175, None]
    assert [limit.time for limit in limits] == [None, 0.02, 0.02]


def test_a_partner_without_options_names_one_move() -> None:
    with partnered("simple", *DRAWS) as engine:
        for _ in range(3):
            assert moved(engine) == "f7f8"
            assert not has_failed(engine), engine.said


def is_alive(log: Path) -> bool:
    """Return whether the process of a started partner runs."""
    try:
        os.kill(int(log.read_text().splitlines()[0]), 0)
    except ProcessLookupError:
        return False
    return True


def ends(log: Path) -> bool:
    """Return whether the process of a partner terminates within minutes."""
    for _ in range(30_000):
        if not is_alive(log):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize(
    ("mode", "words"),
    [("deaf", "infinite"), ("deaf", "movetime 100"), ("deaf", "wtime 500"), ("asleep", "movetime 100")],
)
def test_a_partner_that_does_not_answer_is_given_up(
    mode: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    monkeypatch.setattr("tbgen.engine.partner._STOP_SECONDS", 0.1)
    with partnered(f"{mode}={log}", *DRAWS) as engine:
        engine.say(f"position fen {STALEMATE}")
        more = ["stop"] if words == "infinite" else []
        assert engine.move(f"go {words}", *more)
        assert any("has failed (it does not answer)" in line for line in engine.said), engine.said
        assert ends(log)
        assert moved(engine) == "g5g6"


def test_results_of_a_partner_are_shown_while_it_thinks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbgen.engine.partner._SHOW_SECONDS", -1)
    monkeypatch.setattr("tbgen.uci.protocol._REPORT_SECONDS", 0)
    with partnered("watched", "f7f8 h8h7,5,5-990-5") as engine:
        engine.say(f"position fen {STALEMATE}", "go infinite")
        engine.hear("score cp 5 .* pv f7f8 h8h7")
        assert engine.move("stop") == "f7f8"


def test_a_partner_that_is_stopped_before_it_has_a_move_is_not_given_up() -> None:
    with partnered("mute", *DRAWS) as engine:
        engine.say(f"position fen {STALEMATE}", "go infinite")
        assert engine.move("stop")
        assert moved(engine) == "f7f8"


def test_partners_end_with_other_options_and_with_the_engine(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with partnered(f"log={one}", *DRAWS) as engine:
        command = engine.engine._options.partner_command
        assert is_alive(one)
        engine.say(f"setoption name Partner value {command.replace(str(one), str(two))}", "isready")
        assert ends(one)
        assert moved(engine) == "f7f8"
        assert is_alive(two)
    assert ends(two)


@pytest.mark.parametrize("wanted", [True, False])
def test_nobody_waits_for_a_partner_that_is_starting(
    wanted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partner is terminated as soon as it has started, because the engine has ended before."""
    monkeypatch.setattr("tbgen.engine.loading._MAX_START_WAIT_SECONDS", 0)
    log = tmp_path / "log"
    with partnered(f"slow={log}", *DRAWS, wait=False) as engine:
        while not log.exists() or "uci" not in log.read_text():
            time.sleep(0.01)
        if not wanted:
            engine.say("setoption name Partner value", "isready")
        assert moved(engine) == "g5g6"
    assert is_alive(log)
    log.with_name("start").touch()
    assert ends(log)


def test_until_its_own_search_is_loaded_the_partner_moves() -> None:
    """The search that is used until then ignores the cost of moves in chess."""
    with partnered("plain", *DRAWS) as engine:
        partner = engine.engine._partner()
        choosing = Thinker(engine.said.append, None, Options(), get_partner=lambda: partner)
        for _ in range(2):
            chosen = choosing.choose(game(STALEMATE), timer("nodes 4000"))
            assert chosen is not None
            assert chosen.move.uci() == "f7f8"
        assert kept(engine) == ["f7f8", "f7e7", "g5g6"]
