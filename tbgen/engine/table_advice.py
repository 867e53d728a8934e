"""Advice from the tables: the move to play in a position that they contain, and values of leaves.

Among the moves that keep the accrued score, the advice prefers the move that most tempts the opponent to err.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from itertools import permutations
from pathlib import Path
from typing import Final, TypeAlias

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import MAX_MEN, Material
from tbgen.board.rules import position_score
from tbgen.board.score import MAX_CODED_RANK, GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.engine.game import Advice, SearchGame
from tbgen.engine.loading import elapsed_text, is_ready, load_in_thread, wait_until_loaded
from tbgen.engine.timer import Timer
from tbgen.errors import MissingTableError, TbgenError
from tbgen.games.game_options import FIFTY_MOVE_PLIES, FiftyMoveRule
from tbgen.probe.moves import RankedMove
from tbgen.probe.tablebase import open_tablebase
from tbgen.tables.look_up_warmup import ensure_compiled
from tbgen.text import counted

_MAX_OCCURRENCES: Final = 3
"""A position that occurs this many times ends the game."""
_POLL_SECONDS: Final = 0.02
"""Interval at which the timer is checked."""
_MAX_LINE_PLIES: Final = 1000
"""Maximum length of a line, in case tables contradict each other."""
_MAX_LINE_SEARCHES: Final = 20
"""Maximum number of parts of the search for depths that tables do not store, for all lines of a report. With
packed tables, each part takes up to a third of a second."""
_MAX_CASTLING_MEN: Final = 4
"""Positions with castling rights are looked up if they have at most this many men. With more men, a look-up
takes minutes."""
_SAMPLE_SQUARES: Final = (chess.A2, chess.H7, chess.B5, chess.G4, chess.D2, chess.E7, chess.C3, chess.F6)
"""Squares to try for the men, to find an arbitrary position of a material."""
_MIN_TEMPTING_SECONDS: Final = 0.1
"""Minimum thinking time for which tempting moves are sought. Looking up all answers may take that long."""
_MAX_DEPTH_SECONDS: Final = 60.0
"""Maximum time to compute depths, even without a time limit, because the computation takes memory."""

_Compiler: TypeAlias = Callable[[Callable[[str], object]], None]
"""Compiles a family of kernels unless they are in the cache. The argument is called with a message first."""


def most_tempting_move(
    game: SearchGame, moves: Sequence[RankedMove], answers: Sequence[Sequence[RankedMove]]
) -> RankedMove:
    """Return the move after which a random answer gives up the most points on average.

    Answers that allow mate are not counted, because anyone who knows chess avoids them. The points are halved
    for each occurrence of the position after the move. Ties are broken in favour of these moves, in this
    order:

    - the move that keeps the accrued score or, if the value is another score, reaches the value latest;
    - the move to the position with the fewest occurrences;
    - the move that leaves the fewest answers.

    :param moves: the moves that keep the value, at least one, with their depths.
    :param answers: the answers to each of these moves.
    """
    white_moves = game.live.turn

    def key(index: int) -> tuple[float, int, int, int]:
        move = moves[index]
        game.play(move.move)
        occurrences = game.occurrences
        game.pop()
        values = [answer.value for answer in answers[index] if answer.value.rank]
        gains = [_gain(value, move.value, white_moves) for value in values]
        mean = sum(gains) / len(gains) if gains and occurrences < _MAX_OCCURRENCES else 0.0
        depth = move.depth or 0
        delay = -depth if move.value == game.accrued else depth
        return mean * 0.5**occurrences, delay, -occurrences, -move.position_score.rank

    return moves[max(range(len(moves)), key=key)]


def _gain(value: GScore, old_value: GScore, white_moves: bool) -> float:
    """Return the points that a side gains if the value changes from ``old_value`` to ``value``."""
    gain = float(EXPONENTIAL.lead(value) - EXPONENTIAL.lead(old_value)) / 2
    return gain if white_moves else -gain


class EngineTables:
    """The tables that the engine plays from.

    A table that cannot be read is reported once and then ignored. Compiled code is needed for packed tables,
    for positions with castling rights, and for leaves. :meth:`load` or the first use loads or compiles this
    code in the background. Until the code is ready, positions that need it are not looked up.

    :param directories: directories of tables; empty for the default directory.
    :param say: called with a sentence about each problem.
    :raises UsageError: if a path is not a directory.
    """

    def __init__(self, directories: Sequence[Path], say: Callable[[str], None]) -> None:
        self._tablebase = tablebase = open_tablebase(*directories)
        self.directories = tablebase.directories
        """The directories that contain the tables."""
        self.materials = frozenset(material for material in tablebase.materials if not material.is_described)
        """The materials that have a table, without described men."""
        self._say = say
        self._reported: set[str] = set()
        self._unreadable: set[Material] = set()
        self._kernels: dict[_Compiler, Future[None]] = {}
        """For each function that compiles kernels, the future that is done when loading them has ended."""
        self._read_lock = threading.Lock()
        """Lock that a background thread holds while it reads tables."""
        self._is_open = False
        self._open_lock = threading.Lock()

    def load(self) -> None:
        """Open all tables, start to load or compile the code for look-ups, and report the time taken."""
        with self._open_lock:  # the thread that looks up leaves may be opening the tables
            if not self._is_open:
                self._open_all()

    def wait(self, say: Callable[[str], object]) -> None:
        """Do the work of :meth:`load`, and wait until the code is loaded.

        :param say: called with a sentence every few seconds.
        """
        self.load()
        wait_until_loaded([*self._kernels.values()], say)

    def _open_all(self) -> None:
        self._is_open = True
        began = time.perf_counter()
        derived_first = sorted(self.materials, key=lambda material: (not self._derives(material), material))
        if derived_first:
            self._say(f"opening {counted(len(self.materials), 'table')} took {elapsed_text(began)}")
            boards = map(_sample_board, derived_first)
            self._load_code(ensure_compiled, ((board, position_score(board)) for board in boards))

    def close(self) -> None:
        """Wait until other threads have finished reading, and let no thread read afterwards.

        Reads would delay the exit.
        """
        self._read_lock.acquire()

    def try_loading(self) -> bool:
        """Start to load the code of :meth:`values`; return whether loading has succeeded or failed."""
        self.load()
        loading = self._kernels.get(ensure_compiled)
        return loading is not None and loading.done()

    def values(
        self, men: str, squares: NDArray[np.int64], side: NDArray[np.int64], accrued: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]] | None:
        """Return the codes of the values, and the depths in plies, of many states with the same men.

        Return None if no table contains the states, or if the code is not loaded yet. The parameters
        are those of :meth:`tbgen.Tablebase.probe_arrays`.
        """
        white_men = "".join(man for man in men if man.isupper())
        black_men = "".join(man.upper() for man in men if man.islower())
        if not is_ready(self._kernels.get(ensure_compiled)):
            return None
        with self._reading(Material.of_sides(white_men, black_men)[0]) as readable, self._read_lock:
            return self._tablebase.probe_arrays(men, squares, side, accrued) if readable else None
        return None

    def look_up(self, game: SearchGame) -> tuple[GScore, int | None] | None:
        """Return the value and the depth of the current state; None if they cannot be looked up (yet).

        Under a 50-move rule, also return None if the rule would end the game before the value is reached.
        """
        board = game.live
        if board.occupied.bit_count() > MAX_MEN or board.castling_rights:
            return None
        with self._reading(Material.of_board(board)[0]) as readable:
            loading = self._load_needed_code(game) if readable else None
            if readable and (loading is None or is_ready(loading)):
                result = self._tablebase.probe(board, game.accrued)
                return (result.value, result.depth) if _is_in_time(game, result.value, result.depth) else None
        return None

    def advice(
        self, game: SearchGame, choices: Sequence[chess.Move], timer: Timer, prefer_tempting: bool = False
    ) -> Advice | None:
        """Return the tables' advice on the current state, which has legal moves; None if unavailable.

        If depths are available, the advice is a single move that keeps the value:

        - the move that reaches the value soonest, if the mover prefers the value to the accrued score;
        - the move that reaches the value latest, if the mover prefers the accrued score;
        - the most tempting move (:func:`most_tempting_move`), if the value is the accrued score.

        Depths that the tables do not store are computed in at most half of the time. If this is not enough,
        the advice consists of the moves that keep the value and lead to the positions with the fewest
        occurrences in this game; under a 50-move rule, there is no advice.

        :param choices: the moves to choose from.
        :param prefer_tempting: whether to prefer the most tempting move even to the move that reaches the
            value latest, unless the value is a mate.
        """
        board = game.live
        if board.occupied.bit_count() > (_MAX_CASTLING_MEN if board.castling_rights else MAX_MEN):
            return None
        material, _ = Material.of_board(board)
        if material not in self.materials:
            self._say_once(MissingTableError(material.name, self._tablebase.directory))
            return None
        loading = self._load_needed_code(game)
        while loading and not is_ready(loading):
            if timer.is_half_over() or (loading.done() and not is_ready(loading)):
                self._say("the code that reads this table is not ready: searching instead")
                return None
            time.sleep(_POLL_SECONDS)
        try:
            return self._find_advice(game, choices, timer, prefer_tempting)
        except TbgenError as error:
            self._say_once(error)
            return None

    def ranked_advice(self, game: SearchGame, choices: Sequence[chess.Move]) -> Sequence[Advice]:
        """Return advice on each allowed move, best first; empty if tables do not cover all legal moves."""
        moves = list[RankedMove]()
        with suppress(TbgenError):
            moves = [move for move in self._tablebase.moves(game.live, game.accrued) if move.move in choices]
        return [Advice.of(move.move, move.value, _depth(game, move.value, move.depth)) for move in moves]

    def line(
        self, game: SearchGame, best: Advice, timer: Timer, searches: Iterator[int]
    ) -> tuple[chess.Move, ...]:
        """Return best play from the first move of ``best`` until the accrued score equals the value.

        The line ends earlier if depths are neither stored nor found, and when the time for lines runs out.

        :param searches: counts the parts of searches for depths, for all lines of a report together.
        """
        count_before = game.position_count
        line = [best.moves[0]]

        def is_patient() -> bool:
            return next(searches) < _MAX_LINE_SEARCHES and not timer.lines_are_due()

        game.play(line[0])
        with suppress(TbgenError):
            while game.accrued != best.value and len(line) < _MAX_LINE_PLIES and not timer.lines_are_due():
                ply = self._tablebase.next_move(game.live, game.accrued, patience=is_patient)
                if ply is None:
                    break
                line.append(ply.move)
                game.play(ply.move)
        while game.position_count > count_before:
            game.pop()
        return tuple(line)

    def _find_advice(
        self, game: SearchGame, choices: Sequence[chess.Move], timer: Timer, prefer_tempting: bool
    ) -> Advice | None:
        board = game.live
        accrued = game.accrued
        moves = self._tablebase.moves(board, accrued)
        ranked_moves = [move for move in moves if move.move in choices]
        choice: RankedMove | None = ranked_moves[0]
        value = ranked_moves[0].value
        best_moves = [move for move in ranked_moves if move.value == value]
        if value != accrued and any(move.depth is None for move in best_moves):
            deadline = timer.elapsed + _MAX_DEPTH_SECONDS
            choice = None
            if len(ranked_moves) == len(moves):
                choice = self._tablebase.next_move(
                    board, accrued, patience=lambda: not timer.is_half_over() and timer.elapsed < deadline
                )
            if choice is None and game.settings.fifty_move_rule is FiftyMoveRule.NONE:
                return Advice(_least_repeated_moves(game, [move.move for move in best_moves]), value, value)
        if choice is None:
            return None
        is_worse = value < accrued if board.turn else value > accrued
        has_time = timer.target is None or timer.target >= _MIN_TEMPTING_SECONDS
        if has_time and (value == accrued or (is_worse and prefer_tempting and value.rank)):
            tempting_moves = [move for move in best_moves if move.depth is not None]
            choice = self._most_tempting_of(game, tempting_moves) or choice
        depth = _depth(game, value, choice.depth or 0)
        return Advice.of(choice.move, value, depth) if _is_in_time(game, value, depth) else None

    def _most_tempting_of(self, game: SearchGame, moves: Sequence[RankedMove]) -> RankedMove | None:
        """Return the most tempting of the moves; None if there are no moves."""
        boards = []
        scores = []
        for move in moves:
            game.play(move.move)
            boards.append(game.live.copy(stack=False))
            game.pop()
            scores.append(move.accrued)
        answers = [
            [] if isinstance(reply, TbgenError) else reply
            for reply in self._tablebase.moves_many(boards, scores)
        ]
        return most_tempting_move(game, moves, answers) if moves else None

    @contextmanager
    def _reading(self, material: Material) -> Iterator[bool]:
        """Yield whether a material has a readable table. If the block fails, ignore the table afterwards."""
        try:
            yield material in self.materials and material not in self._unreadable
        except TbgenError as error:
            self._unreadable.add(material)
            self._say_once(error)

    def _load_needed_code(self, game: SearchGame) -> Future[None] | None:
        """Start loading the code that the current position needs, if any, and return the future."""
        board = game.live
        if board.castling_rights:
            compiler: _Compiler = _compile_cell_kernels
        elif self._derives(Material.of_board(board)[0]):
            compiler = ensure_compiled
        else:
            return None
        return self._load_code(compiler, [(board.copy(stack=False), game.accrued)])

    def _load_code(self, compiler: _Compiler, states: Iterable[tuple[chess.Board, GScore]]) -> Future[None]:
        """Start loading or compiling kernels in the background, and return the future.

        A look-up follows in the background, which loads the rest of the code that look-ups need.

        :param states: positions with accrued scores. They are looked up one by one until a look-up succeeds.
        """
        for_arrays = compiler is ensure_compiled

        def work() -> None:
            compiler(self._say)
            for board, accrued in states:
                try:
                    with self._read_lock:
                        self._tablebase.get(board, accrued)
                        if for_arrays:
                            piece_map = board.piece_map()
                            letters = "".join(man.symbol() for man in piece_map.values())
                            side = [int(not board.turn)]
                            score = [position_score(board).code]
                            self._tablebase.probe_arrays(letters, [list(piece_map)], side, score)
                except TbgenError as error:  # the code is ready nevertheless, for other tables
                    self._say_once(error)
                else:
                    break

        if compiler not in self._kernels:
            name = "that looks positions up in tables" if for_arrays else "for castling rights"
            self._kernels[compiler] = load_in_thread(f"the code {name}", work, self._say)
        return self._kernels[compiler]

    def _derives(self, material: Material) -> bool:
        """Return whether look-ups in a table need compiled code; False if the table cannot be read."""
        with suppress(TbgenError):
            return material in self.materials and self._tablebase.table_file(material).info.derives
        return False

    def _say_once(self, error: TbgenError) -> None:
        sentence = str(error)
        if sentence not in self._reported:
            self._reported.add(sentence)
            self._say(sentence)


def _sample_board(material: Material) -> chess.Board:
    """Return a fixed legal position of a material without described men.

    In this position, White has a legal move, and the position score has a code.
    """
    pieces = [
        chess.Piece.from_symbol(man.upper() if is_white else man.lower())
        for men, is_white in ((material.white, True), (material.black, False))
        for man in men
    ]
    for squares in permutations(_SAMPLE_SQUARES, len(pieces)):
        board = chess.Board(None)
        board.set_piece_map(dict(zip(squares, pieces, strict=True)))
        if board.was_into_check() or board.is_check():
            continue
        if 1 < position_score(board).rank <= MAX_CODED_RANK:
            return board
    raise AssertionError(f"{material} has no position on these squares")


def _compile_cell_kernels(announce: Callable[[str], object]) -> None:
    from tbgen.cells.cell_warmup import ensure_compiled  # imports numba, which plain tables do not need

    ensure_compiled(announce)


def _depth(game: SearchGame, value: GScore, depth_after: int | None) -> int | None:
    """Return the depth of a state, given the depth after a move that keeps the value; None if unavailable."""
    return 0 if value == game.accrued else None if depth_after is None else 1 + depth_after


def _is_in_time(game: SearchGame, value: GScore, depth: int | None) -> bool:
    """Return whether a value can be reached before a 50-move rule ends the game."""
    if game.settings.fifty_move_rule is FiftyMoveRule.NONE or value == game.accrued:
        return True
    return depth is not None and game.clock + depth < FIFTY_MOVE_PLIES


def _least_repeated_moves(game: SearchGame, moves: Sequence[chess.Move]) -> tuple[chess.Move, ...]:
    """Return the moves to the positions with the fewest occurrences in this game."""
    occurrences = []
    for move in moves:
        game.play(move)
        occurrences.append(game.occurrences)
        game.pop()
    return tuple(move for move, count in zip(moves, occurrences, strict=True) if count == min(occurrences))
