"""The address by which the explorer shows a finished game."""

from urllib.parse import parse_qs, urlsplit

from tbgen.games.standings.record import explorer_query

TAGS = '[White "A & B+"]\n[Black "C"]\n[Result "0-1"]\n[Termination "time forfeit"]\n'
START = '[FEN "8/8/8/8/4k3/8/3QK3/6r1 w - - 5 60"]\n[SetUp "1"]\n[FENAccrued "G9.5"]\n'


def test_it_contains_all_that_determines_the_result() -> None:
    moves = "60. Qe3+ {+1.00/1 0.1s} Kd5 {0.1s,\nWhite loses on time} {[%clk 0]} 0-1"
    link = urlsplit(explorer_query(f"{' '.join(TAGS.splitlines())}\n{START}\n{moves}\n".encode(), "wg"))
    assert parse_qs(link.query) == {
        "fen": ["8/8/8/8/4k3/8/3QK3/6r1_w_-_-_5_60"],
        "rules": ["wg"],
        "accrued": ["G9.5"],
        "line": ["Qe3_Kd5"],
    }
    assert parse_qs(link.fragment) == {"game": [f"{TAGS}{{0.1s, White loses on time}}"]}


def test_a_long_game_is_in_the_fragment() -> None:
    moves = "Nf3 Nf6 Ng1 Ng8 " * 300
    link = urlsplit(explorer_query(f"{TAGS}\n{moves}1-0\n".encode(), "r"))
    assert "line" not in parse_qs(link.query)
    assert parse_qs(link.fragment)["line"][0].split("_") == moves.split()


def test_a_game_without_moves_links_to_its_start() -> None:
    assert explorer_query(f"{TAGS}{START}\n1-0\n".encode(), "r") == (
        "?fen=8/8/8/8/4k3/8/3QK3/6r1_w_-_-_5_60&rules=r&accrued=G9.5"
    )
