"""Made-up PGN for tests: bytes that look like it, and proper games."""

import random

import chess
import chess.pgn
from hypothesis import strategies as st

TAGS = [
    *('[Event "one"]', '[Event "two"]', '[White "J\xf6rg"]', '[Result "1-0"]', '[Result "*"]', "[Legacy]"),
    *('[Event "{x"]', '[Event "bad]', "[]", ' [ Site "y" ] ', '[Result "1/2-1/2"]', '[Round "1"] 1. e4'),
    *('[FEN "8/8/8/4KBk1/8/8/8/8 b - - 0 1"]', '[FEN "8/8/8/4KBk1/8/8/8/8 b - - 3 1 G2.5"]', '[FEN "junk"]'),
    *('[Variant "Chess960"]', '[Variant "Atomic"]', '[Komi "G1.5"]', '[Komi "x"]', '[Points "1-0"]'),
    *('[RMobilityResult "-G0.0"]', '[RMobilityResult "G3.5"]', '[RMobilityBasis "played"]', "[Points]"),
    *('[RMobilityCutoff "G6.0"]', '[RMobilityCutoff "junk"]', '[RMobilityScoring "Komi"]'),
    *('[RMobilityAccrued "G3.5"]', '[RMobilityFiftyMoveRule "otb"]', '[WGMobilityResult "G9.5"]'),
    *('[Result "*"] [White"A"]', '[Points "0-1"][Result "1-0"]', '[A-b "x"] ; {', '[Site\n"y"]', '[Date "x"'),
    *('[WGMobilityBasis "forfeit"]', '[RMobilityBasis "forfeit"]', '[FENAccrued "-G2.5"]'),
]
LINES = [
    *("1. e4 e5", "1. e4 e5 2. f4", "1... Kh5 2. Kf4", "1. d4 {book} d5 1/2-1/2", "(1. c4 (1. d4) c5)", "*"),
    *("{open", "close}", "} e5 {", "; said {", "% [Event", "%", "; 1-0", "{one} {two}", "{\xb2 1-0}", "{"),
    *('{[Event "no"]}', "Ke6", "Black loses on time", "{x, Black loses on time} 1/2-1/2", "0-1", "--", "$1"),
    *("1.f3 e5 2.g4 Qh4#", "e4!? e5?!", "(", ")", "\u2028", "\x0c", "[", "1-0", "1-0 {end}", "1. e4 *"),
]
BREAKS = ["\n", "\r\n", "\r"]


@st.composite
def pgn_like(draw: st.DrawFn, mixed: bool = True) -> bytes:
    """Bytes made of the pieces of PGN files, often in disorder, with all kinds of line breaks.

    :param mixed: whether lone carriage returns may stand among other line breaks.
    """
    line = st.sampled_from(TAGS) | st.sampled_from(LINES) | st.sampled_from(["", "", " "])
    lines = draw(st.lists(line, max_size=14))
    if draw(st.booleans()):
        breaks = [draw(st.sampled_from(BREAKS))] * len(lines)
    else:
        kinds = BREAKS if mixed else BREAKS[:2]
        breaks = draw(st.lists(st.sampled_from(kinds), min_size=len(lines), max_size=len(lines)))
    marks = draw(st.sampled_from([(), (0,), (0, 3)]))
    encoding = draw(st.sampled_from(["utf-8", "latin-1"]))
    pieces = [
        text.encode(encoding, "replace") + end.encode() for text, end in zip(lines, breaks, strict=True)
    ]
    data = b"".join(b"\xef\xbb\xbf" * (number in marks) + piece for number, piece in enumerate(pieces))
    return data.rstrip(b"\r\n") if draw(st.booleans()) else data


@st.composite
def random_game(draw: st.DrawFn) -> chess.pgn.Game:
    """A game of random moves with comments, marks and variations, from the start or from a few men."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    game = chess.pgn.Game()
    if draw(st.booleans()):
        game.setup(
            chess.Board(rng.choice(["8/8/8/4KBk1/8/8/8/8 b - - 0 1", "4k3/P7/8/8/8/8/7p/4K3 w - - 3 9"]))
        )
    node: chess.pgn.GameNode = game
    for _ in range(rng.randrange(40)):
        moves = list(node.board().legal_moves)
        if not moves:
            break
        for move in rng.sample(moves, min(len(moves), rng.choice([1, 1, 1, 1, 2, 3]))):
            side = node.add_variation(move)
            if rng.random() < 0.3:
                side.comment = rng.choice(["+0.31/8 0.010s", "a (b) c", "[%clk 0:01:00]", "; 1-0 %", "1. e4"])
            if rng.random() < 0.2:
                side.nags.add(rng.randrange(1, 20))
        node = node.variations[0]
    game.headers["Result"] = rng.choice(["1-0", "0-1", "1/2-1/2", "*"])
    return game
