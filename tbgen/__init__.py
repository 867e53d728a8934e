"""Endgame tablebases of reset-mobility (r-mobility) chess: build, probe and prove them.

In r-mobility a game without mate still has a winner: the side that has left its opponent the fewest legal
moves since the last capture or pawn move. G0.0 is mate, G0.5 stalemate, G1.0 one legal move in check, G1.5
one legal move without check, and so on. Black's scores have a minus sign. Scores are compared from White's
point of view:

>>> import chess, tbgen
>>> tbgen.GScore("G1.5") > tbgen.GScore("G3.5") > tbgen.GScore("-G3.5") > tbgen.GScore("-G0.0")
True
>>> tbgen.points("G1.5")
Points(white=0.5625, black=0.4375)

Tables are built on the command line, for example by ``tbgen build KBvK KPvK``. They may be spread over
several directories. A position is a FEN or a board. Its value is the score that best play of both sides
reaches, and its depth is the number of plies until then:

>>> tables = tbgen.open_tablebase("data")
>>> board = chess.Board("8/8/8/4KBk1/8/8/8/8 b - - 0 1")
>>> result = tables.probe(board)
>>> print(result.value, result.depth, result.points.white)
G1.5 4 0.5625
>>> [(move.san, str(move.value), move.depth) for move in tables.moves(board)]
[('Kh5', 'G1.5', 3), ('Kh4', 'G1.5', 1), ('Kh6', 'G1.5', 1)]
>>> [ply.san for ply in tables.line(board)]
['Kh5', 'Kf4', 'Kh6', 'Kg4']
>>> board.push(tables.best_move(board))

The value depends on the accrued score: the lowest-ranked score since the last capture or pawn move. So one
position can have several values. The accrued score comes from the move stack of a board, from the seventh
field of a FEN, or from an argument. ``tbgen.FRESH`` ignores earlier moves, as a FEN without a seventh field
does:

>>> kings = "8/8/8/2K3k1/8/8/8/8 w - - 3 60 -G5.5"
>>> for accrued in (None, "G3.5", tbgen.FRESH):
...     result = tables.probe(kings, accrued)
...     print(result.value, "from", result.accrued)
-G5.5 from -G5.5
G3.5 from G3.5
-G8.5 from -G8.5
>>> tables.probe(board).accrued, tables.probe(board.fen()).accrued
(GScore('G3.5'), GScore('-G18.5'))

For many positions, ``probe_many`` and ``moves_many`` are faster. Where a probe fails, they yield the error in
place of the result. ``probe_arrays`` looks up arrays of positions with the same men, millions per second. Its
results contain codes of scores; ``SCORE_NAMES`` lists the score of each code, ``points_by_code`` the points.

``tbgen.solve(board)`` finds values or bounds of positions beyond the tables (``Solution``); help(tbgen.solve)
describes its parameters. An ``Arbiter`` referees a game with any number of men, and ``adjudicate`` returns
the result of a stopped game:

>>> game = tbgen.Arbiter(board)
>>> game.push_san("Kf4")
>>> outcome = tbgen.adjudicate(game, tables)
>>> print(game.accrued, outcome.value, outcome.basis)
G2.5 G1.5 tablebase

The same tables also contain the results of classical chess, and can replace Gaviota's (``chess.gaviota``):

>>> tables.view("classical").probe_wdl(board), tables.view("lasker").probe(board).points.white
(0, 0.5)

For research and training, the positions of a table are available as arrays. They can be selected by value,
depth and side:

>>> longest = tables.table("KBvK").positions(value="G0.5", depth=17)
>>> len(longest), longest.men, longest.squares()[0].tolist(), longest.board(0).fen()
(36, 'KkB', [2, 6, 4], '8/8/8/8/8/8/8/2K1B1k1 w - - 0 1')
>>> tables.close()

Bad input and bad files raise a ``TbgenError``, whose message is one sentence that says what to do. Missing
tables raise a ``MissingTableError``; ``tables.get`` returns None instead. A closed tablebase raises a
``ClosedError``. The documentation is README.md and
docs/ in the repository. Installation copies it to share/doc/tbgen below ``sys.prefix``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tbgen.beyond.budget import Budget as Budget
    from tbgen.beyond.budget import SolvingInterruptedError as SolvingInterruptedError
    from tbgen.beyond.budget import Stop as Stop
    from tbgen.beyond.cell_proof import WrongBoundError as WrongBoundError
    from tbgen.beyond.gaps import Gap as Gap
    from tbgen.beyond.gaps import Narrowing as Narrowing
    from tbgen.beyond.ledger import ForwardProof as ForwardProof
    from tbgen.beyond.lines import Hold as Hold
    from tbgen.beyond.lines import PlanMove as PlanMove
    from tbgen.beyond.solution import Solution as Solution
    from tbgen.beyond.solution import SolvedMove as SolvedMove
    from tbgen.beyond.solver import solve as solve
    from tbgen.board.fen import DescribedBoard as DescribedBoard
    from tbgen.board.material import Material as Material
    from tbgen.board.rules import FRESH as FRESH
    from tbgen.board.score import GScore as GScore
    from tbgen.board.scoring import Komi as Komi
    from tbgen.board.scoring import Points as Points
    from tbgen.board.scoring import Scheme as Scheme
    from tbgen.board.scoring import ScoreInterval as ScoreInterval
    from tbgen.board.scoring import Scoring as Scoring
    from tbgen.board.scoring import points as points
    from tbgen.board.variant import Variant as Variant
    from tbgen.errors import ClosedError as ClosedError
    from tbgen.errors import DamagedTableError as DamagedTableError
    from tbgen.errors import MissingLayerError as MissingLayerError
    from tbgen.errors import MissingTableError as MissingTableError
    from tbgen.errors import TbgenError as TbgenError
    from tbgen.errors import UnprovenError as UnprovenError
    from tbgen.errors import UsageError as UsageError
    from tbgen.games.game_options import GameSettings as GameSettings
    from tbgen.games.outcome import Basis as Basis
    from tbgen.games.outcome import Doubt as Doubt
    from tbgen.games.outcome import Outcome as Outcome
    from tbgen.games.referee import Arbiter as Arbiter
    from tbgen.games.referee import adjudicate as adjudicate
    from tbgen.probe.moves import LinePly as LinePly
    from tbgen.probe.moves import RankedMove as RankedMove
    from tbgen.probe.positions import SCORE_NAMES as SCORE_NAMES
    from tbgen.probe.positions import Positions as Positions
    from tbgen.probe.positions import PositionTable as PositionTable
    from tbgen.probe.positions import points_by_code as points_by_code
    from tbgen.probe.states import ProbeResult as ProbeResult
    from tbgen.probe.syzygy import Syzygy as Syzygy
    from tbgen.probe.tablebase import Tablebase as Tablebase
    from tbgen.probe.tablebase import open_tablebase as open_tablebase
    from tbgen.probe.views import ClassicalTables as ClassicalTables
    from tbgen.probe.views import View as View
    from tbgen.probe.views import ViewMove as ViewMove
    from tbgen.probe.views import ViewResult as ViewResult
    from tbgen.probe.views import ViewTables as ViewTables

    __version__: str

_EXPORTS = {
    "tbgen.beyond.budget": ("Budget", "SolvingInterruptedError", "Stop"),
    "tbgen.beyond.cell_proof": ("WrongBoundError",),
    "tbgen.beyond.gaps": ("Gap", "Narrowing"),
    "tbgen.beyond.ledger": ("ForwardProof",),
    "tbgen.beyond.lines": ("Hold", "PlanMove"),
    "tbgen.beyond.solution": ("Solution", "SolvedMove"),
    "tbgen.beyond.solver": ("solve",),
    "tbgen.board.fen": ("DescribedBoard",),
    "tbgen.board.material": ("Material",),
    "tbgen.board.rules": ("FRESH",),
    "tbgen.board.score": ("GScore",),
    "tbgen.board.scoring": ("Komi", "Points", "Scheme", "ScoreInterval", "Scoring", "points"),
    "tbgen.board.variant": ("Variant",),
    "tbgen.errors": (
        *("ClosedError", "DamagedTableError", "MissingLayerError", "MissingTableError", "TbgenError"),
        *("UnprovenError", "UsageError"),
    ),
    "tbgen.games.outcome": ("Basis", "Outcome", "Doubt"),
    "tbgen.games.referee": ("Arbiter", "adjudicate"),
    "tbgen.games.game_options": ("GameSettings",),
    "tbgen.probe.syzygy": ("Syzygy",),
    "tbgen.probe.moves": ("LinePly", "RankedMove"),
    "tbgen.probe.positions": ("SCORE_NAMES", "PositionTable", "Positions", "points_by_code"),
    "tbgen.probe.states": ("ProbeResult",),
    "tbgen.probe.tablebase": ("Tablebase", "open_tablebase"),
    "tbgen.probe.views": ("ClassicalTables", "ViewMove", "ViewResult", "ViewTables", "View"),
}
"""Maps each module to the names that it defines and that users import from this package."""
_MODULES_BY_NAME = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = ["__version__", *_MODULES_BY_NAME]


if not TYPE_CHECKING:  # else type checkers would accept any name

    def __getattr__(name: str) -> Any:
        # Modules are imported when they are used: `tbgen --help` needs neither numpy nor h5py.
        if name == "__version__":
            from importlib.metadata import version

            value: Any = version("tbgen")
        elif name in _MODULES_BY_NAME:
            try:
                value = getattr(import_module(_MODULES_BY_NAME[name]), name)
            except ValueError as error:
                from tbgen.extras import settings_error

                raise settings_error(error) or error from None
        else:
            raise AttributeError(f"module 'tbgen' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
