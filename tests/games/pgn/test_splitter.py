"""Splitting of PGN: no byte of any input is lost, and games begin where the rules say."""

import io
import re

import chess
import chess.pgn
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tbgen.games.pgn.reader import read_game, read_games
from tbgen.games.pgn.splitter import RawGame, split_games
from tests.support.exhaustive import sample
from tests.support.made_up_pgn import pgn_like, random_game
from tests.support.paths import DATA

BREAK = re.compile(rb"\r\n|\n|\r")
BOM = b"\xef\xbb\xbf"


class Trickle:
    """A stream that returns fewer bytes than requested."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._stream, self._sizes = io.BytesIO(data), sizes

    def read(self, size: int, /) -> bytes:
        return self._stream.read(min(size, self._sizes.pop())) if self._sizes else self._stream.read(size)


def split(data: bytes) -> list[RawGame]:
    return list(split_games(io.BytesIO(data)))


def texts(data: bytes) -> list[bytes]:
    """Return the games, each without the empty lines at its end."""
    return [raw.data.rstrip() for raw in split(data) if not raw.empty]


def names(raw: RawGame) -> list[str]:
    return [tag.name for tag in raw.tags]


def check(data: bytes, sizes: list[int]) -> None:
    games = split(data)
    assert b"".join(raw.data for raw in games) == data
    assert list(split_games(Trickle(data, sizes))) == games
    assert [raw.number for raw in games] == list(range(1, len(games) + 1))
    assert all(raw.data for raw in games)
    assert not any(raw.empty and b"{" not in raw.data for raw in games[1:])
    done = 0
    for raw in games:
        assert raw.line == len(BREAK.findall(data[:done])) + 1
        assert done == 0 or data[done - 1 : done] in (b"\n", b"\r") or raw.tags[0].start == 0
        check_tags(raw)
        done += len(raw.data)


def check_tags(raw: RawGame) -> None:
    """Check that tags are lines of the game before its moves."""
    ends = [found.end() for found in BREAK.finditer(raw.data)]
    begins = [0, *ends]
    done = 0
    for tag in raw.tags:
        bom = raw.data[: tag.start].endswith(BOM)
        assert tag.start == done or tag.start - len(BOM) * bom in begins
        assert tag.end in [*ends, len(raw.data)] or raw.data[tag.end : tag.end + 1] in b"[{;*0123456789"
        assert done <= tag.start < tag.end <= raw.moves_start
        line = raw.data[tag.start : tag.end]
        assert len(BREAK.findall(line)) <= 4
        assert line.lstrip().startswith(b"[")
        assert tag.name.encode() in line
        assert tag.value.encode() in line or tag.value.encode("latin-1") in line
        done = tag.end
    moves = raw.data[raw.moves_start :]
    assert not moves or moves.strip() or raw.moves_start == len(raw.data)


@settings(max_examples=sample(50, 300))
@given(st.binary(max_size=200), st.lists(st.integers(1, 9)))
def test_any_bytes(data: bytes, sizes: list[int]) -> None:
    check(data, sizes)


@settings(max_examples=sample(60, 400))
@given(pgn_like(), st.lists(st.integers(1, 40)))
@example(b'[Result "*"] [White"A"]\n\n[Points "0-1"][Result "1-0"]\n', [])
def test_bytes_like_pgn(data: bytes, sizes: list[int]) -> None:
    check(data, sizes)


@settings(max_examples=sample(40, 200))
@given(pgn_like() | st.binary(max_size=100))
@example(b'[Event "one"]\n1. e4 e5\r\xef\xbb\xbf\n1. e4 e5\n')
def test_all_games_can_be_read_or_are_broken(data: bytes) -> None:
    """Broken games have an error whose line and ply are those of the quoted move."""
    for raw in split(data):
        game = read_game(raw)
        if game.error is not None:
            assert str(game.error).startswith(f"game {raw.number}, line ")
            if found := re.match(r"game \d+, line (\d+), ply (\d+): '(\w+)' is not", str(game.error)):
                line, ply, word = int(found[1]), int(found[2]), found[3]
                assert word.encode() in BREAK.split(data)[line - 1]
                assert ply == len(game.moves) + 1


def test_only_the_comment_after_the_last_move_counts() -> None:
    texts = {
        "{one} 1. e4 {two} e5 {three} 1-0": "three",
        "{before} 1. e4 {Black resigns} e5 (1... c5 {not this}) 1/2-1/2": "",
        "1. e4 e5 1-0 {after}": "after",
        "1. e4 {two} (1. d4 {no}) 1-0": "two",
        "1. e4 {two} {three} *": "three",
        "1. e4 {[%clk 0:00:05]} {two} ; [%eval 1.0]\n {} 1-0 {[%csl Ga1,Rb2] [%clk 0:00:05]}": "two",
        "{one} *": "one",
        "1. e4 {one} ; two\n*": "two",
        "1. e4": "",
    }
    for text, comment in texts.items():
        (game,) = read_games(io.BytesIO(text.encode()))
        assert game.comment == comment, text


def test_a_break_between_two_reads() -> None:
    data = b'[A "1"]\r\n\r\n*\r\n\r\n[A "2"]\r\n\r\n*\r\n'
    for size in range(1, len(data)):
        games = list(split_games(Trickle(data, [size])))
        assert [raw.line for raw in games] == [1, 5]
        assert games == split(data)


def test_a_tag_after_moves_begins_a_game() -> None:
    one, two = split(b'[A "1"]\n\n1. e4 *\n[B "2"]\n1. d4 *\n')
    assert one.data == b'[A "1"]\n\n1. e4 *\n'
    assert (names(one), names(two), two.line) == (["A"], ["B"], 4)
    assert one.data[one.moves_start :] == b"1. e4 *\n"
    assert two.data[two.moves_start :] == b"1. d4 *\n"
    assert texts(b'[A "1"] [B "2"] 1. e4 * [A "2"] 1. d4 {* [A}') == [
        b'[A "1"] [B "2"] 1. e4 *',
        b'[A "2"] 1. d4 {* [A}',
    ]


def test_a_repeated_tag_after_an_empty_line_begins_a_game() -> None:
    assert texts(b'[A "1"]\n[B "1"]\n\n[A "2"]\n\n*') == [b'[A "1"]\n[B "1"]', b'[A "2"]\n\n*']
    (game,) = split(b'[A "1"]\n[B "1"]\n[A "2"]\n[B "2"]\n\n1. e4 *')
    assert names(game) == ["A", "B", "A", "B"]
    assert read_game(game).tags == {"A": "1", "B": "1"}


def test_tags_of_tagging_begin_no_game() -> None:
    """Such tags may be repeated among tags; but after moves any tag begins a game."""
    assert len(split(b'[Points "1-0"]\n\n[Points "0-1"]\n[A "1"]\n\n*')) == 1
    assert len(split(b'[A "1"]\n\n[Points "0-1"]\n[A "1"]\n\n*')) == 2
    assert len(split(b'[A "1"]\n\n*\n[Points "0-1"]\n\n*')) == 2


def test_moves_after_a_result_and_an_empty_line_begin_a_game() -> None:
    assert texts(b"1. e4 *\n\n1. d4 1-0\n\n\n1. c4") == [b"1. e4 *", b"1. d4 1-0", b"1. c4"]
    assert texts(b"1. e4 *\n\n{the end}\n") == texts(b"1. e4 *") == [b"1. e4 *"]  # a comment is no game
    ended = (b"1-0", b"0-1", b"1/2-1/2", b"*", b"1-0 ; done", b"1-0 {done}", b"1-0 { ; }", b"{so\n} 0-1")
    for result in ended:
        assert len(texts(b"1. e4 " + result + b"\n\n1. d4 *")) == 2, result
        assert len(texts(b"1. e4 " + result + b"\n1. d4 *")) == 1, result
    for going_on in (b"", b"{1-0}", b"; 1-0", b"{so\n1-0}", b"1-0 1.", b"{*\n\n*}"):
        assert len(texts(b"1. e4 " + going_on + b"\n\n1... d4 *")) == 1, going_on


def test_an_empty_line_splits_no_game() -> None:
    assert len(split(b'[A "1"]\n\n[B "2"]\n \n[C "3"]\n\n\n1. e4\n\ne5\n\n2. d4 *')) == 1


def test_bytes_before_the_first_game_belong_to_it() -> None:
    for start in (b"\n\n", b"% escaped\n", b"; said\n\n", BOM, BOM + b"\n", BOM + b"% x\n"):
        for game in (b'[A "1"]\n\n*\n', b"1. e4 *\n"):
            (raw,) = split(start + game)
            assert raw.data == start + game
            assert (raw.number, raw.line, raw.empty) == (1, 1, False)
            assert raw.data[raw.moves_start :] in (b"*\n", b"1. e4 *\n")
        (raw,) = split(start)
        assert (raw.data, raw.tags, raw.empty) == (start, [], True)
    assert split(b"") == []


def test_a_byte_order_mark_where_files_were_joined() -> None:
    one = BOM + b'[A "1"]\r\n\r\n1. e4 *\r\n\r\n'
    assert texts(one + one) == [one.rstrip()] * 2
    first, second = split(one + one)
    assert (first.tags, first.moves_start) == (second.tags, second.moves_start)
    assert texts(BOM + b"1. e4 *\n\n" + BOM + b"1. d4 *") == [BOM + b"1. e4 *", BOM + b"1. d4 *"]


def test_tags() -> None:
    for line, name, value in (
        (b'[Event "one"]', "Event", "one"),
        (b'  [ Event  "one" ] ', "Event", "one"),
        (b'[Event ""]', "Event", ""),
        (b"[Legacy]", "Legacy", ""),
        (b'[White "J\xc3\xb6rg"]', "White", "Jörg"),
        (b'[White "J\xf6rg"]', "White", "Jörg"),
        (b'[White "a ] \\" {b} ;c"]', "White", 'a ] " {b} ;c'),
    ):
        for end in (b"\n", b"\r\n", b"\r", b""):
            (raw,) = split(line + end)
            (tag,) = raw.tags
            assert (tag.name, tag.value, tag.start, tag.end) == (name, value, 0, len(line + end)), line
            assert raw.moves_start == len(raw.data)


def test_a_malformed_tag_is_no_move() -> None:
    (raw,) = split(b'[White "A]\n[Black "B"]\n[]\n\n1. e4 *')
    assert names(raw) == ["Black"]
    assert raw.data[raw.moves_start :] == b"1. e4 *"


def test_tags_within_comments_are_text() -> None:
    data = b'[A "1"]\n\n1. e4 {see\n\n[A "2"]\n\n[A "3"]\n 1-0\n\n} e5 ; {\n% {\n; {\n2. d4 *\n\n[A "4"]\n'
    one, two = split(data)
    assert (two.line, two.tags[0].value) == (15, "4")
    assert [move.uci() for move in read_game(one).moves] == ["e2e4", "e7e5", "d2d4"]


def test_unclosed_comments_and_tags_take_linear_time() -> None:
    """A search for the end of a comment from every brace, or of a tag on any line, would take hours."""
    (game,) = split(b"1. e4 " + b"{ ;" * (1 << 20) + b"\n[A]\n")
    assert game.moves_start == 0
    assert len(split(b"[\n" + b"\x80\n" * (1 << 17))) == 1


def test_escaped_lines_are_no_moves() -> None:
    for end in ("\n", "\r\n", "\r"):
        text = end.join(["% [A]", "1. e4 e5", "% 2. d4 {", '%[A "2"]', "2. f4 *", ""])
        (game,) = read_games(io.BytesIO(text.encode()))
        assert [move.uci() for move in game.moves] == ["e2e4", "e7e5", "f2f4"]


def test_lines_are_those_of_the_file() -> None:
    """Other line breaks of Unicode do not count."""
    (game,) = read_games(io.BytesIO('[A "\u2028\x0b\x85"]\r\n\r1. e4 {\u2028\x0c\x1e} e5\r2. e5 *'.encode()))
    assert str(game.error) == "game 1, line 4, ply 3: 'e5' is not a legal move"


def assert_as_python_chess(text: str) -> None:
    stream = io.StringIO(text)
    games = list(read_games(io.BytesIO(text.encode())))
    for game in games:
        other = chess.pgn.read_game(stream)
        assert other is not None
        assert not other.errors
        assert game.error is None
        assert game.moves == list(other.mainline_moves())
        assert game.result == other.headers["Result"]
        assert game.board.fen() == other.end().board().fen()
        for name, value in game.tags.items():
            assert other.headers[name] == value
        assert game.comment == other.end().comment.strip()
    assert chess.pgn.read_game(stream) is None


@settings(max_examples=sample(10, 60))
@given(st.lists(random_game(), min_size=1, max_size=4), st.booleans())
def test_ordinary_games_are_those_of_python_chess(games: list[chess.pgn.Game], wrapped: bool) -> None:
    columns = 80 if wrapped else None
    text = "\n\n".join(game.accept(chess.pgn.StringExporter(columns=columns)) for game in games)
    assert_as_python_chess(text)


def test_files_of_cutermob_are_those_of_python_chess() -> None:
    """Only FENs of seven fields differ, which python-chess does not understand."""
    for name in ("g01_exp_default", "g02_exp_legacy", "g04_komi_pgn"):
        text = (DATA / f"{name}.pgn").read_text()
        assert_as_python_chess(re.sub(r' -?G\d+\.\d"\]', '"]', text).replace("[Legacy]\n", ""))


def test_a_valid_number_of_plies_is_read() -> None:
    for said, plies in {"93": 93, " 7 ": 7, "": None, "-1": None, "²": None, "9" * 5000: None}.items():
        (game,) = split_games(io.BytesIO(f'[PlyCount "{said}"]\n\n1. e4 *\n'.encode()))
        assert game.ply_count == plies, said
