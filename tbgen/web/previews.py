"""Previews of links to the page, as pictures and text, and the endpoints of a report's site.

The sentence on the result of a position is the same as in ``page/score.js``.
"""

import html
import os
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import chess
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tbgen.board.san import move_prefix
from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.board.variant import Variant
from tbgen.games.game_options import FiftyMoveRule
from tbgen.games.referee import Arbiter
from tbgen.html.cards import CARD_SIZE, Caption, ShownPosition, animated_gif, card_png
from tbgen.html.diagrams import with_links
from tbgen.probe.states import read_chess_position
from tbgen.probe.views import View
from tbgen.text import counted
from tbgen.web.admission import Bill, WorkerPool
from tbgen.web.configuration import MAX_FRAMES
from tbgen.web.games import GameState, with_values
from tbgen.web.lookups import question_of
from tbgen.web.replies import Endpoints, Refusal, answer_file
from tbgen.web.stock import Stock

_NUMBER_WORDS: Final = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_LEAD_WORDS: Final = ((0.25, "clearly"), (0.06, "by a little"), (0.0, "by very little"))
"""Pairs of a minimum lead in points and the words for such a lead, the greatest minimum first."""

_DEFAULT_FEN: Final = "8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"
"""The position that the page shows by default, as in ``state.js``."""
_MOVE_PATTERN: Final = re.compile(r"(?:(\d{1,4})\.)?([^$]+)[$\d]*")
"""Matches a move of a line: the number of the position before the move (optional), the move in SAN, and
glyphs (NAGs, optional)."""
_PREFIX_PATTERN: Final = re.compile(r"(/[\w.~-]+)*", re.ASCII)
_HOST_PATTERN: Final = re.compile(r"[A-Za-z0-9.-]+(:\d+)?|\[[0-9A-Fa-f:]+\](:\d+)?")

_REPORT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content security policy of the report's pages, which load scripts only from separate files. Tools that
audit a page read ``robots.txt`` from it."""

_REPORT_FILE_PATTERN: Final = re.compile(
    r"(?:tables/)?[A-Za-z0-9_][A-Za-z0-9._-]*\.(?:html|css|js|svg|png|json|csv|pgn)", re.ASCII
)
_PICTURE_TAG_PATTERN: Final = re.compile(r'(<meta property="og:image" content=")(?!https?:)(?:\.\./)*')
"""Matches the tag of a preview's picture, up to the path of the picture. In a report, this path is relative
to the page."""


def sentence(turn: chess.Color, score: GScore, accrued: GScore, value: GScore, depth: int | None) -> str:
    """Return a sentence on the result of best play.

    :param turn: the side to move.
    :param score: the position score.
    :param depth: plies until the value is reached; None if unavailable.

    >>> sentence(chess.BLACK, GScore("G3.5"), GScore("G3.5"), GScore("G1.5"), 4)
    'White wins by a little: in 2 moves Black gets down to one legal move (0.56 : 0.44).'
    """
    mover = _side_name(turn)
    holder = _side_name(value.white)
    opponent = _side_name(not value.white)
    soon = "" if depth is None else f" in {counted((depth + 1) // 2, 'move')}"
    if score.rank < 2:
        return f"{mover} is {'stalemated' if score.rank else 'mated'}."
    if value.rank == 0:
        return f"{holder} mates{soon}."
    if value.rank == 1:
        return f"{holder} stalemates {opponent}{soon}."
    if depth == 0 or value == accrued:
        result = f"{holder} keeps {value} and wins {_lead_words(value)}"
        return f"{result}: that has accrued, and best play leaves it at that{_points(value)}."
    return f"{holder} wins {_lead_words(value)}:{soon} {opponent} gets {_moves_left(value)}{_points(value)}."


def _side_name(white: bool) -> str:
    return "White" if white else "Black"


def _lead_words(value: GScore) -> str:
    """Return, in words, how clearly the holder of a value leads in TCEC's points."""
    white, black = EXPONENTIAL.points(value)
    return next(words for min_lead, words in _LEAD_WORDS if abs(white - black) >= min_lead)


def _points(value: GScore) -> str:
    """Return TCEC's points as the end of a sentence; empty if both sides have the same points.

    Points have two decimals, or three if three decimals represent them exactly.
    """
    white, black = (
        f"{points:.2f}" if 1000 * points % 1 else f"{float(points)}" for points in EXPONENTIAL.points(value)
    )
    return "" if white == black else f" ({white} : {black})"


def unknown_sentence(accrued: GScore) -> str:
    """Return the sentence for a position that has an accrued score but no known value."""
    return f"No table says what this is worth. {accrued} has accrued so far."


def _moves_left(value: GScore) -> str:
    """Return, in words, the number of moves that a score leaves to the opponent of its holder."""
    move_count = value.rank // 2
    word = _NUMBER_WORDS[move_count] if move_count < len(_NUMBER_WORDS) else str(move_count)
    text = f"down to {word} legal {'move' if move_count == 1 else 'moves'}"
    return text if value.rank % 2 else f"in check and {text}"


class Scene(NamedTuple):
    """The line and the position that an address of the page shows."""

    variant: Variant
    states: list[GameState]
    """The states of the line that contains the shown position."""
    at_index: int
    """The index of the shown position in ``states``."""
    flipped: bool
    """Whether Black's side of the board is at the bottom."""
    in_view: bool
    """Whether the values are those of a view, a simpler game such as classical chess."""

    def position_at(self, index: int) -> ShownPosition:
        """Return the position of a state, for drawing."""
        state = self.states[index]
        return ShownPosition(state.board, chess.Move.from_uci(state.uci) if state.uci else None, self.flipped)


def scene_of(query: Mapping[str, str]) -> Scene:
    """Return the scene at an address. ``state.js`` explains the parameters of its query.

    :raises UsageError: if the position is invalid or has described men, or a move of the line is illegal.
    :raises Refusal: if the line is too long.
    """
    rules = query.get("rules", Variant.R_MOBILITY)
    variant = next((known for known in Variant if known == rules), Variant.R_MOBILITY)
    question = question_of(query.get("fen", _DEFAULT_FEN), query.get("accrued"), variant)
    board, _ = read_chess_position(question.board, None, variant)
    arbiter = Arbiter(board, accrued=question.accrued, rules=variant, fifty_move_rule=FiftyMoveRule.NONE)
    sans, index = _line_and_index(query)
    states = [GameState.of(arbiter)]
    for san in sans:
        arbiter.push_san(san)
        states.append(GameState.of(arbiter, arbiter.moves[-1].uci(), san))
    return Scene(variant, states, index, query.get("side") == "black", rules in list(View))


def _line_and_index(query: Mapping[str, str]) -> tuple[list[str], int]:
    """Return the moves of the line through the position at an address, and the index of that position."""
    tokens = [token for token in query.get("line", "").split("_") if token]
    predecessors = [0]
    sans = [""]
    for index, token in enumerate(tokens):
        move = _MOVE_PATTERN.fullmatch(token)
        predecessors.append(min(int(move[1]), index) if move and move[1] else index)
        sans.append(move[2] if move else token)
    number_at = query.get("at", "")
    shown_number = min(int(number_at), len(tokens)) if re.fullmatch(r"\d{1,4}", number_at) else len(tokens)
    path = [shown_number]
    while path[0]:
        path.insert(0, predecessors[path[0]])
    shown_index = len(path) - 1
    for index in range(path[-1] + 1, len(predecessors)):  # then always the first move
        if predecessors[index] == path[-1]:
            path.append(index)
    if len(path) > MAX_FRAMES:
        raise Refusal(413, "too_large", f"the line has {len(path) - 1} moves: the limit is {MAX_FRAMES - 1}")
    return [sans[index] for index in path[1:]], shown_index


def caption(*stocks: Stock, query: Mapping[str, str]) -> Caption:
    """Return the caption of the position at an address.

    :raises Refusal: see :func:`scene_of`.
    :raises TbgenError: see :func:`scene_of`; also if a table cannot be used.
    """
    return _caption_of(stocks, scene_of(query))


def _caption_of(stocks: Iterable[Stock], scene: Scene) -> Caption:
    state = scene.states[scene.at_index]
    turn = state.board.turn
    notes = f"{'White' if turn else 'Black'} to move. Accrued: {state.accrued}."
    if scene.in_view:
        return Caption("", "", notes)
    if state.position_score.rank < 2:
        state = state._replace(value=state.position_score)
    else:
        stock = next(stock for stock in stocks if stock.variant is scene.variant)
        (state,) = with_values(stock.tables, [state])
    if state.value is None:
        return Caption(str(state.accrued), unknown_sentence(state.accrued), notes)
    result = sentence(turn, state.position_score, state.accrued, state.value, state.depth)
    return Caption(str(state.value), result, notes)


def tags_of(request: Request, text: Caption) -> str:
    """Return the tags for the head of the page, which other sites use to preview a link to the page."""
    address = page_address(request)
    width, height = CARD_SIZE
    query = f"?{request.url.query}" if request.url.query else ""
    headline = f"{text.headline} in r-mobility chess. " if text.headline else ""
    properties = {
        "og:type": "website",
        "og:site_name": "tbgen",
        "og:title": text.sentence or "r-mobility chess",
        "og:description": f"{headline}{text.notes}",
        "og:url": f"{address}{query}",
        "og:image": f"{address}picture.png{query}",
        "og:image:width": str(width),
        "og:image:height": str(height),
        "og:image:alt": f"The position. {text.sentence}".strip(),
        "twitter:card": "summary_large_image",
    }
    tags = (
        f'<meta property="{name}" content="{html.escape(value)}">\n' for name, value in properties.items()
    )
    return "".join(tags)


def page_address(request: Request) -> str:
    """Return the address of the page that clients use, including the path under which a proxy serves it.

    The address is empty if the headers of the request do not contain it.
    """
    host = request.headers.get("host", "")
    prefix = request.headers.get("x-forwarded-prefix", "").rstrip("/")
    if not (_HOST_PATTERN.fullmatch(host) and _PREFIX_PATTERN.fullmatch(prefix)):
        return ""
    return f"{request.url.scheme}://{host}{prefix}/"


def picture(*stocks: Stock, query: Mapping[str, str]) -> bytes:
    """Return the position at an address with its caption, as PNG.

    :raises Refusal: see :func:`caption`.
    :raises TbgenError: see :func:`caption`.
    """
    scene = scene_of(query)
    return card_png(scene.position_at(scene.at_index), _caption_of(stocks, scene))


def moving_picture(*_: Stock, query: Mapping[str, str]) -> bytes:
    """Return the line at an address as an animated GIF. The exceptions are those of :func:`scene_of`."""
    scene = scene_of(query)
    frames = []
    for index, state in enumerate(scene.states):
        board = scene.states[index - 1].board
        move = f"{move_prefix(board.fullmove_number, board.turn)} {state.san}" if state.san else "Start"
        frames.append((scene.position_at(index), f"{move}   accrued {state.accrued}"))
    return animated_gif(frames)


def report_endpoints(directory: Path, pool: WorkerPool) -> Endpoints:
    """Return the endpoints that serve the directory of a report, by their paths.

    :param pool: thread pool in which files are read.
    """

    async def redirect(_: Request) -> Response:
        """Redirect to the first page. The address is relative, so that it does not depend on the client's
        headers."""
        return RedirectResponse("report/index.html", 308)

    async def answer_with_file(request: Request) -> Response:
        name = request.path_params["name"] or "index.html"
        if not _REPORT_FILE_PATTERN.fullmatch(name):
            raise HTTPException(404)
        read = partial(_file_of_report, directory, name, page_address(request))
        return answer_file(request, name, await pool.run(read, Bill(), request), _REPORT_POLICY)

    return {"/report": redirect, "/report/{name:path}": answer_with_file}


def _file_of_report(directory: Path, name: str, address: str) -> bytes:
    """Return the content of a report's file; diagrams on a page get links to the explorer.

    :param address: the address of the explorer, from :func:`page_address`.
    :raises HTTPException: if the file does not exist.
    """
    try:
        path = Path(os.path.realpath(directory / name, strict=True))
        if not (path.is_relative_to(os.path.realpath(directory)) and path.is_file()):
            raise HTTPException(404)
        content = path.read_bytes()
    except OSError:
        raise HTTPException(404) from None
    if not name.endswith(".html"):
        return content
    page = with_links(content.decode("utf-8", "replace"), "../" * (name.count("/") + 1))
    if address:
        page = _PICTURE_TAG_PATTERN.sub(lambda tag: f"{tag[1]}{address}report/", page)
    return page.encode()
