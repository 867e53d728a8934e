"""Previews of links to the page, as pictures and text, and the endpoints of a report's site.

``page/score.js`` words the result of a position in the same way.
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

from tbgen.board.san import move_number
from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.board.variant import Variant
from tbgen.games.referee import Arbiter
from tbgen.games.settings import FiftyMoveRule
from tbgen.html.cards import CARD_SIZE, Caption, ShownPosition, card, film
from tbgen.html.diagrams import with_links
from tbgen.probe.states import read_chess
from tbgen.probe.tablebase import View
from tbgen.text import counted
from tbgen.web.exchange import Endpoints, Refusal, answer_file
from tbgen.web.games import GameState, looked_up
from tbgen.web.limits import Bill, WorkerPool
from tbgen.web.lookups import question_of
from tbgen.web.settings import MOST_FRAMES
from tbgen.web.stock import Stock

_NUMBERS: Final = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_AMOUNTS: Final = ((0.25, "clearly"), (0.06, "by a little"), (0.0, "by very little"))
"""Words for a lead in points, each with the smallest lead that it describes."""


def sentence(turn: chess.Color, score: GScore, accrued: GScore, value: GScore, depth: int | None) -> str:
    """Return a sentence on the result of best play.

    :param turn: the side to move.
    :param score: the position score.
    :param depth: plies until the value is reached; None if unavailable.

    >>> sentence(chess.BLACK, GScore("G3.5"), GScore("G3.5"), GScore("G1.5"), 4)
    'White wins by a little: in 2 moves Black gets down to one legal move (0.56 : 0.44).'
    """
    mover = _side(turn)
    holder, opponent = _side(value.white), _side(not value.white)
    soon = "" if depth is None else f" in {counted((depth + 1) // 2, 'move')}"
    if score.rank < 2:
        return f"{mover} is {'stalemated' if score.rank else 'mated'}."
    if value.rank == 0:
        return f"{holder} mates{soon}."
    if value.rank == 1:
        return f"{holder} stalemates {opponent}{soon}."
    if depth == 0 or value == accrued:
        kept = f"{holder} keeps {value} and wins {_amount(value)}"
        return f"{kept}: that has accrued, and best play leaves it at that{_shares(value)}."
    return f"{holder} wins {_amount(value)}:{soon} {opponent} gets {_leaves(value)}{_shares(value)}."


def _side(white: bool) -> str:
    return "White" if white else "Black"


def _amount(value: GScore) -> str:
    """Return by how much the holder of a value wins in TCEC's points, in words."""
    white, black = EXPONENTIAL.points(value)
    return next(words for least, words in _AMOUNTS if abs(white - black) >= least)


def _shares(value: GScore) -> str:
    """Return TCEC's points for the end of a sentence.

    Points have two decimals, or three if three represent them exactly; equal points give an empty text.
    """
    white, black = (
        f"{points:.2f}" if 1000 * points % 1 else f"{float(points)}" for points in EXPONENTIAL.points(value)
    )
    return "" if white == black else f" ({white} : {black})"


def unknown(accrued: GScore) -> str:
    """Return the sentence for a position without a value, which still has an accrued score."""
    return f"No table says what this is worth. {accrued} has accrued so far."


def _leaves(value: GScore) -> str:
    """Return the number of moves that a score leaves to the holder's opponent, in words."""
    number = value.rank // 2
    name = _NUMBERS[number] if number < len(_NUMBERS) else str(number)
    moves = f"down to {name} legal {'move' if number == 1 else 'moves'}"
    return moves if value.rank % 2 else f"in check and {moves}"


_START: Final = "8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"
"""The position that the page shows by default, as in ``state.js``."""
_MOVE: Final = re.compile(r"(?:(\d{1,4})\.)?([^$]+)[$\d]*")
"""A move of a line, optionally with the number of the position before it, and annotation glyphs."""
_PREFIX: Final = re.compile(r"(/[\w.~-]+)*", re.ASCII)
_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(:\d+)?|\[[0-9A-Fa-f:]+\](:\d+)?")


class Scene(NamedTuple):
    """The line and position at an address of the page."""

    variant: Variant
    states: list[GameState]
    """The states of the line through the shown position."""
    at: int
    """The number of the shown position."""
    flipped: bool
    in_view: bool
    """Whether the position is shown in a view."""

    def shown(self, at: int) -> ShownPosition:
        """Return the drawing of one of the positions."""
        state = self.states[at]
        last = chess.Move.from_uci(state.uci) if state.uci else None
        return ShownPosition(state.board, last, self.flipped)


def scene_of(query: Mapping[str, str]) -> Scene:
    """Return the scene at an address with these parameters (``state.js``).

    :raises UsageError: if the position is invalid or has described men, or a move of the line is illegal.
    :raises Refusal: if the line is too long.
    """
    rules = query.get("rules", Variant.R_MOBILITY)
    variant = next((each for each in Variant if each == rules), Variant.R_MOBILITY)
    question = question_of(query.get("fen", _START), query.get("accrued"), variant)
    board, _ = read_chess(question.board, None, variant)
    arbiter = Arbiter(board, accrued=question.accrued, rules=variant, fifty_move_rule=FiftyMoveRule.NONE)
    sans, at = _line(query)
    states = [GameState.of(arbiter)]
    for san in sans:
        arbiter.push_san(san)
        states.append(GameState.of(arbiter, arbiter.moves[-1].uci(), san))
    return Scene(variant, states, at, query.get("side") == "black", rules in list(View))


def _line(query: Mapping[str, str]) -> tuple[list[str], int]:
    """Return the moves of the line through the position at an address, and the position's number in it."""
    tokens = [token for token in query.get("line", "").split("_") if token]
    before, sans = [0], [""]
    for number, token in enumerate(tokens):
        move = _MOVE.fullmatch(token)
        before.append(min(int(move[1]), number) if move and move[1] else number)
        sans.append(move[2] if move else token)
    number_at = query.get("at", "")
    here = min(int(number_at), len(tokens)) if re.fullmatch(r"\d{1,4}", number_at) else len(tokens)
    path = [here]
    while path[0]:
        path.insert(0, before[path[0]])
    at = len(path) - 1
    for number in range(path[-1] + 1, len(before)):  # the first move after a position continues the line
        if before[number] == path[-1]:
            path.append(number)
    if len(path) > MOST_FRAMES:
        raise Refusal(413, "too_large", f"the line has {len(path) - 1} moves: the limit is {MOST_FRAMES - 1}")
    return [sans[number] for number in path[1:]], at


def caption(*stocks: Stock, query: Mapping[str, str]) -> Caption:
    """Return the caption of the position at an address.

    :raises Refusal: see :func:`scene_of`.
    :raises TbgenError: see :func:`scene_of`; also if a table cannot be used.
    """
    return _caption_of(stocks, scene_of(query))


def _caption_of(stocks: Iterable[Stock], scene: Scene) -> Caption:
    state = scene.states[scene.at]
    turn = state.board.turn
    notes = f"{'White' if turn else 'Black'} to move. Accrued: {state.accrued}."
    if scene.in_view:
        return Caption("", "", notes)
    if state.position_score.rank < 2:
        state = state._replace(value=state.position_score)
    else:
        stock = next(each for each in stocks if each.variant is scene.variant)
        (state,) = looked_up(stock.tables, [state])
    if state.value is None:
        return Caption(str(state.accrued), unknown(state.accrued), notes)
    result = sentence(turn, state.position_score, state.accrued, state.value, state.depth)
    return Caption(str(state.value), result, notes)


def tags_of(request: Request, text: Caption) -> str:
    """Return the tags for the head of the page, by which other sites preview a link to it."""
    place, width, height = place_of(request), *CARD_SIZE
    query = f"?{request.url.query}" if request.url.query else ""
    value = f"{text.headline} in r-mobility chess. " if text.headline else ""
    properties = {
        "og:type": "website",
        "og:site_name": "tbgen",
        "og:title": text.sentence or "r-mobility chess",
        "og:description": f"{value}{text.notes}",
        "og:url": f"{place}{query}",
        "og:image": f"{place}picture.png{query}",
        "og:image:width": str(width),
        "og:image:height": str(height),
        "og:image:alt": f"The position. {text.sentence}".strip(),
        "twitter:card": "summary_large_image",
    }
    tags = (f'<meta property="{name}" content="{html.escape(each)}">\n' for name, each in properties.items())
    return "".join(tags)


def place_of(request: Request) -> str:
    """Return the address of the page as clients see it, with the path under which a proxy serves it.

    The address is empty if the headers do not contain it.
    """
    host, prefix = request.headers.get("host", ""), request.headers.get("x-forwarded-prefix", "").rstrip("/")
    if not (_HOST.fullmatch(host) and _PREFIX.fullmatch(prefix)):
        return ""
    return f"{request.url.scheme}://{host}{prefix}/"


def picture(*stocks: Stock, query: Mapping[str, str]) -> bytes:
    """Return the position at an address with its caption, as PNG.

    :raises Refusal: see :func:`caption`.
    :raises TbgenError: see :func:`caption`.
    """
    scene = scene_of(query)
    return card(scene.shown(scene.at), _caption_of(stocks, scene))


def moving_picture(*_: Stock, query: Mapping[str, str]) -> bytes:
    """Return the line at an address as GIF; exceptions are those of :func:`scene_of`."""
    scene = scene_of(query)
    frames = []
    for number, state in enumerate(scene.states):
        before = scene.states[number - 1].board
        move = f"{move_number(before.fullmove_number, before.turn)} {state.san}" if state.san else "Start"
        frames.append((scene.shown(number), f"{move}   accrued {state.accrued}"))
    return film(frames)


_REPORT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content security policy of the report's pages, whose only script is a separate file."""

_NAME: Final = re.compile(
    r"(?:tables/)?[A-Za-z0-9_][A-Za-z0-9._-]*\.(?:html|css|js|svg|png|json|csv|pgn)", re.ASCII
)
_PICTURE: Final = re.compile(r'(<meta property="og:image" content=")(?!https?:)(?:\.\./)*')
"""The tag of a preview's picture, up to its path, which the report writes relative to the page."""


def report_endpoints(directory: Path, pool: WorkerPool) -> Endpoints:
    """Return the endpoints, by their paths, of the directory of a report.

    :param pool: thread pool in which files are read.
    """

    async def redirect(_: Request) -> Response:
        """Redirect to the first page, by a relative address that needs no header of the client."""
        return RedirectResponse("report/index.html", 308)

    async def answer_with_file(request: Request) -> Response:
        name = request.path_params["name"] or "index.html"
        if not _NAME.fullmatch(name):
            raise HTTPException(404)
        content = await pool.run(partial(_file_of_report, directory, name, place_of(request)), Bill())
        return answer_file(request, name, content, _REPORT_POLICY)

    return {"/report": redirect, "/report/{name:path}": answer_with_file}


def _file_of_report(directory: Path, name: str, place: str) -> bytes:
    """Return the content of a file; diagrams on a page get links to the explorer.

    :param place: the address of the explorer, from :func:`place_of`.
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
    if place:
        page = _PICTURE.sub(lambda found: f"{found[1]}{place}report/", page)
    return page.encode()
