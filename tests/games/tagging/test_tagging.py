"""Result tags: those of cuteRMob are reproduced, no other byte changes, and all numbers of jobs agree."""

import io
import pickle
import re
from collections.abc import Container
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbgen.board.score import GScore
from tbgen.board.scoring import Komi, Scheme
from tbgen.board.variant import Variant
from tbgen.errors import GameError, MissingTableError, UsageError
from tbgen.games.game_options import FiftyMoveRule, GameOptions
from tbgen.games.outcome import Basis
from tbgen.games.pgn import tags
from tbgen.games.pgn.splitter import RawGame, split_games
from tbgen.games.result_tags import outcome_of_tags, tags_of, with_tags
from tbgen.games.tagging import Adjudicator, TaggedGame, tag_games
from tests.support.exhaustive import sample
from tests.support.made_up_pgn import pgn_like
from tests.support.paths import DATA

BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


R, WG = Variant.R_MOBILITY, Variant.WHOLE_GAME


def ours(variant: Variant) -> set[str]:
    return tags.REPLACED_NAMES[variant] - {tags.RESULT_TAGS[variant].bounds}


def tagged(data: bytes, adjudicator: Adjudicator | None = None, jobs: int = 1) -> list[TaggedGame]:
    return list(tag_games(io.BytesIO(data), adjudicator, jobs=jobs))


def joined(games: list[TaggedGame]) -> bytes:
    return b"".join(game.data for game in games)


def retagged(data: bytes, adjudicator: Adjudicator | None = None) -> bytes:
    return joined(tagged(data, adjudicator))


def one(text: str, adjudicator: Adjudicator | None = None) -> dict[str, str]:
    """Return the tags of the only game after tagging."""
    (game,) = tagged(text.encode(), adjudicator)
    return tag_values(next(split_games(io.BytesIO(game.data))))


def tag_values(raw: RawGame) -> dict[str, str]:
    return {tag.name: tag.value for tag in reversed(raw.tags)}


def stripped(raw: RawGame, names: Container[str]) -> bytes:
    """Return the bytes of a game without the lines of some tags."""
    done, parts = 0, []
    for tag in raw.tags:
        if tag.name in names:
            parts.append(raw.data[done : tag.start])
            done = tag.end
    return b"".join([*parts, raw.data[done:]])


def stripped_all(data: bytes, names: Container[str]) -> bytes:
    return b"".join(stripped(raw, names) for raw in split_games(io.BytesIO(data)))


@cache
def without_tables() -> Adjudicator:
    return Adjudicator(directory="there/are/none")


CUTERMOB = {
    "g01_exp_default": GameOptions(R, fifty_move_rule=FiftyMoveRule.IMPROVING),
    "g02_exp_legacy": GameOptions(R),
    "g04_komi_pgn": GameOptions(R, fifty_move_rule=FiftyMoveRule.IMPROVING, scheme=Scheme.KOMI),
}


def test_the_results_of_cutermob() -> None:
    """The results are reproduced with cuteRMob's tags and without them."""
    for name, options in CUTERMOB.items():
        data = (DATA / f"{name}.pgn").read_bytes()
        bare = stripped_all(data, {*ours(R), "Points"})
        assert bare.count(b"RMobility") == bare.count(b"Points") == 0
        expected = [tag_values(raw) for raw in split_games(io.BytesIO(data))]
        assert len(expected) == 12
        rule = "legacy" if "legacy" in name else "improving"
        for found in (retagged(bare, Adjudicator(options)), retagged(data)):
            games = [tag_values(raw) for raw in split_games(io.BytesIO(found))]
            for game, known in zip(games, expected, strict=True):
                assert {key: game[key] for key in known} == known
                assert game["RMobilityFiftyMoveRule"] == rule
                assert game["RMobilityAccrued"] == game["RMobilityResult"]
                added = {"RMobilityBasis", "RMobilityAccrued", "RMobilityFiftyMoveRule"}
                assert set(game) - set(known) == added
            assert stripped_all(found, ours(R)) == stripped_all(data, ours(R))
            assert retagged(found) == found


ADJUDICATORS = [
    Adjudicator(options, "there/are/none")
    for options in [
        GameOptions(R),
        GameOptions(WG),
        GameOptions(R, FiftyMoveRule.IMPROVING, GScore(7, True), True, Scheme.WINNER),
        GameOptions(R, FiftyMoveRule.LEGACY, None, False, Scheme.KOMI, Komi(6, False)),
        GameOptions(WG, FiftyMoveRule.OTB, None, None, Scheme.FULL, Komi(7, True)),
        GameOptions(R, FiftyMoveRule.NONE, GScore(3, True), None, Scheme.HARMONIC),
        GameOptions(R, FiftyMoveRule.CUTERMOB_LEGACY, None, None, Scheme.OTB, Komi(5, True)),
        GameOptions(WG, None, None, None, Scheme.CLASSICAL),
    ]
]


@settings(max_examples=sample(60, 400))
@given(pgn_like(mixed=False), st.sampled_from(ADJUDICATORS))
def test_nothing_changes_but_our_tags(data: bytes, adjudicator: Adjudicator) -> None:
    games = tagged(data, adjudicator)
    assert b"".join(game.raw.data for game in games) == data
    variant = adjudicator.options.variant
    for game in games:
        assert (game.outcome is None) or (game.error is None)
        if game.outcome is None:
            assert game.data == game.raw.data
            assert (game.error is None) == game.raw.empty
            continue
        told = tags_of(game.outcome)
        added = ours(variant) | ({tags.KOMI} if tags.KOMI not in tag_values(game.raw) else set())
        (again,) = split_games(io.BytesIO(game.data))
        found = tag_values(again)
        assert {name: found[name] for name in told if name in added} == {
            name: value for name, value in told.items() if name in added
        }
        before, after = stripped(game.raw, added), stripped(again, added)
        assert after in (with_break(before) if game.raw.tags else with_blank(game.raw))
    assert retagged(joined(games), adjudicator) == joined(games)


def with_break(data: bytes) -> list[bytes]:
    """Add the line break that a tag gets if none follows it."""
    ends = {tag.end for raw in split_games(io.BytesIO(data)) for tag in raw.tags}
    breaks = (b"\n", b"\r", b"\r\n")
    return [data, *(data[:end] + each + data[end:] for end in ends for each in breaks)]


def with_blank(raw: RawGame) -> list[bytes]:
    """Add the empty line that a game without tags gets before its moves."""
    head, moves = raw.data[: raw.moves_start], raw.data[raw.moves_start :]
    return [head + newline + moves for newline in (b"\n", b"\r", b"\r\n")]


@settings(max_examples=sample(25, 150))
@given(pgn_like(mixed=False), st.sampled_from(ADJUDICATORS), st.sampled_from(ADJUDICATORS))
def test_tags_of_other_options_replace_the_first_ones(
    data: bytes, first: Adjudicator, second: Adjudicator
) -> None:
    """Tags can be replaced any number of times; those of both variants coexist."""
    once = retagged(retagged(data, first), second)
    assert retagged(once, second) == once
    for game in tagged(once, second):
        names = [tag.name for tag in game.raw.tags]
        variant = second.options.variant
        mine = ours(variant) - {tags.RESULT_TAGS[variant].doubts}
        if any(name in mine for name in names) and game.error is None:
            assert all(names.count(name) == 1 for name in mine)


def test_the_place_of_tags() -> None:
    told = {"RMobilityResult": "G1.0", "Points": "1-0", "Komi": "G5.75"}
    block = b'[RMobilityResult "G1.0"]\n[Points "1-0"]\n[Komi "G5.75"]\n'

    def put(data: bytes) -> bytes:
        (raw,) = split_games(io.BytesIO(data))
        return with_tags(raw, told, R)

    assert put(b'[A "1"]\n[Result "*"]\n[B "2"]\n\n*') == b'[A "1"]\n[Result "*"]\n' + block + b'[B "2"]\n\n*'
    assert put(b'[A "1"]\n\n*\n') == b'[A "1"]\n' + block + b"\n*\n"
    assert put(b"1. e4 *\n") == block + b"\n1. e4 *\n"
    assert put(b"% x\r\n1. e4 *") == b"% x\r\n" + block.replace(b"\n", b"\r\n") + b"\r\n1. e4 *"
    assert put(b'\xef\xbb\xbf[A "1"]') == b'\xef\xbb\xbf[A "1"]\n' + block
    assert put(b'[Komi "G1.5"]\n[Points "0-1"]\n[Points "x"]\n*') == b'[Komi "G1.5"]\n' + block[:-15] + b"*"
    assert put(b'[A "1"]\n[Points "0-1"]\n[B "2"]\n\n*') == b'[A "1"]\n' + block + b'[B "2"]\n\n*'
    assert put(b'[Points "0-1"]\n\n*') == block + b"\n*"
    assert put(b'[Result "*"][B "2"] [Points "x"] *\n') == b'[Result "*"]\n' + block + b'[B "2"] *\n'
    assert put(b'[B "2"] [Points\n"x"]\n[Result"*"]\n\n*') == b'[B "2"] \n[Result"*"]\n' + block + b"\n*"


def test_the_result_of_the_other_variant_stays() -> None:
    text = f'[FEN "{BISHOP}"]\n\n1... Kh5 2. Kf4 *\n'
    by_r = retagged(text.encode(), without_tables())
    whole = Adjudicator(GameOptions(WG), "there/are/none")
    both = one(by_r.decode(), whole)
    alone, other = one(text, whole), one(text, without_tables())
    for name in ("Result", "Basis", "Accrued", "Cutoff", "Scoring", "FiftyMoveRule"):
        assert both[f"RMobility{name}"] == other[f"RMobility{name}"]
        assert both[f"WGMobility{name}"] == alone[f"WGMobility{name}"]
        assert f"RMobility{name}" not in alone
        assert f"WGMobility{name}" not in other
    again = one(retagged(by_r, whole).decode(), without_tables())
    assert again == both | {"Points": other["Points"]}


def test_adjudication_by_tables(reference_dir: Path) -> None:
    adjudicator = Adjudicator(directory=reference_dir)
    draw = f'[FEN "{BISHOP}"]\n[Result "1/2-1/2"]\n\n1... Kh5 2. Kf4 {{Draw by adjudication}} 1/2-1/2\n'
    assert one(draw, adjudicator) == {
        "FEN": BISHOP,
        "Result": "1/2-1/2",
        "RMobilityResult": "G1.5",
        "Points": "0.5625-0.4375",
        "RMobilityBasis": "tablebase",
        "RMobilityAccrued": "G2.5",
        "RMobilityCutoff": "G6.0",
        "RMobilityScoring": "Exponential",
        "RMobilityFiftyMoveRule": "legacy",
    }
    (game,) = tagged(draw.encode(), adjudicator)
    assert game.outcome is not None
    assert (game.outcome.depth, game.outcome.proven) == (2, True)
    played = one(draw, without_tables())
    assert (played["RMobilityResult"], played["RMobilityBasis"]) == ("G2.5", "table missing")
    won = one(draw.replace("Draw by", "White wins by").replace("1/2-1/2", "1-0"), adjudicator)
    assert (won["RMobilityResult"], won["RMobilityBasis"]) == ("G0.0", "adjudication")
    whole = one(draw, Adjudicator(GameOptions(WG), reference_dir))
    assert (whole["WGMobilityResult"], whole["WGMobilityBasis"]) == ("G2.5", "table missing")


def test_missing_tables(reference_dir: Path) -> None:
    rook = b'[FEN "8/8/8/4KRk1/8/8/8/8 b - - 0 1"]\n\n*\n'
    (game,) = tagged(rook, Adjudicator(directory=reference_dir))
    assert game.outcome is not None
    assert game.outcome.basis is Basis.TABLE_MISSING
    assert game.outcome.missing is not None
    assert game.outcome.missing.__traceback__ is None  # it would keep boards in memory
    for jobs in (1, 2):
        with pytest.raises(GameError, match="game 1, line 1: table KRvK is missing") as caught:
            tagged(rook, Adjudicator(directory=reference_dir, require_tables=True), jobs)
        assert isinstance(caught.value.error, MissingTableError)
        assert caught.value.exit_code == 3


def test_wins_off_the_board_as_cutermob_writes_them() -> None:
    """The tag ``Result`` is wrong, and stays."""
    for words, result, basis in (
        ("Black loses on time", "G0.0", "time forfeit"),
        ("White loses on time", "-G0.0", "time forfeit"),
        ("White makes an illegal move: e2e5", "-G0.0", "illegal move"),
        ("Black disconnects", "G0.0", "abandoned"),
        ("Black resigns", "G0.0", "resignation"),
        ("Black wins by adjudication", "-G0.0", "adjudication"),
    ):
        text = f'[Result "1/2-1/2"]\n[RMobilityCutoff "G6.0"]\n\n1. e4 e5 {{+0.1/5 1s, {words}}} 1/2-1/2\n'
        points = "1.0000-0.0000" if result == "G0.0" else "0.0000-1.0000"
        for extra in ("", f'[RMobilityResult "{result}"]\n'):
            found = one(extra + text)
            assert (found["RMobilityResult"], found["RMobilityBasis"]) == (result, basis)
            assert (found["Result"], found["Points"]) == ("1/2-1/2", points)
            assert found["RMobilityFiftyMoveRule"] == "improving"


SOUND = b'[Event "%d"]\r\n\r\n1. f3 e5 2. g4 Qh4# 0-1\r\n\r\n'
BROKEN = b'[Event "x"]\n[Points "1-0"]\n\n1. e4 e5 {\n\n}\n2. Ke3 *\n\n'


def test_broken_games_pass_through() -> None:
    for jobs in (1, 2):
        games = tagged(SOUND % 1 + BROKEN + SOUND % 2 + b'[Komi "much"]\n\n*\n', jobs=jobs)
        assert [game.data == game.raw.data for game in games] == [False, True, False, True]
        assert [str(game.error) for game in games if game.error] == [
            "game 2, line 11, ply 3: 'Ke3' is not a legal move",
            "game 4, line 17: 'much' is not a komi: expected moves in quarters, such as G5.75 or G6, "
            "or -G5.75 or mG5.75 if Black has to beat it",
        ]
        assert all(isinstance(game.error, UsageError) for game in games if game.error)


def test_processes_change_nothing(reference_dir: Path) -> None:
    """Games keep their order over several batches."""
    endgame = f'[FEN "{BISHOP}"]\n\n1... Kh5 2. Kf4 *\n\n'.encode()
    data = b"".join(SOUND % number + (BROKEN if number % 7 == 0 else endgame) for number in range(60))
    for rules in (GameOptions(R), GameOptions(WG, scheme=Scheme.KOMI))[: sample(1, 2)]:
        adjudicator = Adjudicator(rules, reference_dir)
        games = tagged(data, adjudicator)
        assert [game.raw.number for game in games] == list(range(1, 121))
        others = tagged(data, adjudicator, 3)
        assert joined(others) == joined(games)
        assert [str(game.error) for game in others] == [str(game.error) for game in games]
        assert [game.outcome for game in others] == [game.outcome for game in games]


class Arriving(io.BytesIO):
    """A stream in which each game arrives alone, and nothing after the second."""

    def read(self, _size: int | None = -1, /) -> bytes:
        assert self.tell() < len(self.getvalue())
        return super().read(len(SOUND))


def test_one_process_yields_each_game_as_it_arrives() -> None:
    first = next(tag_games(Arriving(SOUND * 2)))
    assert (first.raw.data, first.arbiter is not None) == (SOUND, True)


def test_an_adjudicator_can_be_sent_to_other_processes(reference_dir: Path) -> None:
    """It keeps its settings, also with open tables, but loses the callback for games to solve."""
    adjudicator = Adjudicator(GameOptions(WG), "x", require_tables=True, trust_tags=True)
    assert pickle.loads(pickle.dumps(adjudicator)) == adjudicator
    assert pickle.loads(pickle.dumps(Adjudicator(on_solve=lambda _: None).without_solver())) == Adjudicator()
    opened = Adjudicator(directory=reference_dir)
    game = f'[FEN "{BISHOP}"]\n\n*\n'.encode()
    found = tagged(game, opened)
    assert tagged(game, pickle.loads(pickle.dumps(opened))) == found


def test_trusted_tags(reference_dir: Path) -> None:
    """Trusted tags save the replay, but points are computed afresh; without tags the game is refereed."""
    draw = f'[FEN "{BISHOP}"]\n[Result "1/2-1/2"]\n\n1... Kh5 2. Kf4 *\n'
    known = retagged(draw.encode(), Adjudicator(directory=reference_dir)).decode()
    harmonic = GameOptions(R, scheme=Scheme.HARMONIC)
    trusting = Adjudicator(harmonic, "there/are/none", trust_tags=True)
    found = one(known, trusting)
    assert (found["RMobilityResult"], found["RMobilityBasis"]) == ("G1.5", "tablebase")
    assert found["Points"] == "0.6250-0.3750"
    assert one(known, Adjudicator(harmonic, "there/are/none"))["RMobilityBasis"] == "table missing"
    assert one(draw, trusting)["RMobilityBasis"] == "table missing"
    whole = one(known, Adjudicator(GameOptions(WG), "there/are/none", trust_tags=True))
    assert (whole["WGMobilityBasis"], whole["RMobilityBasis"]) == ("table missing", "tablebase")
    for name in ("RMobilityResult", "RMobilityBasis", "RMobilityAccrued", "RMobilityFiftyMoveRule"):
        lacking = re.sub(rf'\[{name} ".*"\]', f'[{name} "x"]', known)
        if name != "RMobilityFiftyMoveRule":
            assert one(lacking, trusting)["RMobilityBasis"] == "table missing"
        assert outcome_of_tags(tag_values(next(split_games(io.BytesIO(lacking.encode())))), harmonic) is None


@settings(max_examples=sample(25, 100))
@given(
    pgn_like(mixed=False),
    st.sampled_from(
        [adjudicator for adjudicator in ADJUDICATORS if adjudicator.options.scheme is not Scheme.FULL]
    ),
)
def test_tags_tell_the_outcome(data: bytes, adjudicator: Adjudicator) -> None:
    for game in tagged(data, adjudicator):
        if game.outcome is not None:
            told = outcome_of_tags(tag_values(next(split_games(io.BytesIO(game.data)))), adjudicator.options)
            assert told is not None
            assert tags_of(told) == tags_of(game.outcome)


def test_memory_holds_few_games() -> None:
    """Each game is freed before many more have been read, in one process and in two."""
    for jobs, most in ((1, 2), (2, 10 * 32)):
        stream = Endless()
        games = tag_games(stream, jobs=jobs)
        for _ in range(800):
            next(games)
        assert stream.read_games - 800 <= most + (1 << 18) // len(SOUND)
        games.close()  # type: ignore[attr-defined]


class Endless:
    """Game after game."""

    read_games = 0

    def read(self, size: int, /) -> bytes:
        count = size // len(SOUND)
        self.read_games += count
        return SOUND.replace(b"%d", b"1") * count
