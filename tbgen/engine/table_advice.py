"""What tables say of the game: the move to play where they hold the position, and values of leaves.

Of the moves that keep the value they take the one that makes it hardest for the other side to keep it too.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from itertools import permutations
from pathlib import Path
from typing import Final, TypeAlias

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import MAX_MEN, Material
from tbgen.board.rules import own_score
from tbgen.board.score import MAX_CODED_RANK, GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.engine.game import Advice, SearchGame
from tbgen.engine.limits import Timer
from tbgen.engine.loading import is_there, loading, seconds_since
from tbgen.errors import MissingTableError, TbgenError
from tbgen.games.settings import PLIES, FiftyMoveRule
from tbgen.packed import tables as asking
from tbgen.probe.moves import RankedMove
from tbgen.probe.tablebase import open_tablebase
from tbgen.store.format import table_path
from tbgen.store.table_file import StoredFile
from tbgen.text import counted

_ENDS = 3
"""Occurrences of a position that end the game."""


def most_tempting(
    game: SearchGame, moves: Sequence[RankedMove], answers: Sequence[Sequence[RankedMove]]
) -> RankedMove:
    """Return the move after which a random answer gives up most points.

    Answers that are mated count for nothing, since whoever knows chess avoids them, and a position counts
    half as much for each time that it has been met. Among like moves that one comes first which keeps what
    has accrued or, if it is lost, keeps it longest; then one to a position that has been met least often and
    leaves the fewest answers.

    :param moves: that keep the value, of known depth, at least one.
    :param answers: those to each of them.
    """
    white = game.live.turn

    def key(number: int) -> tuple[float, int, int, int]:
        move = moves[number]
        game.play(move.move)
        met = game.occurrences
        game.pop()
        gains = [_gain(answer.value, move.value, white) for answer in answers[number] if answer.value.rank]
        mean = sum(gains) / len(gains) if gains and met < _ENDS else 0.0
        depth = move.depth or 0
        held = -depth if move.value == game.accrued else depth
        return mean * 0.5**met, held, -met, -move.position_score.rank

    return moves[max(range(len(moves)), key=key)]


def _gain(value: GScore, kept: GScore, white: bool) -> float:
    """Return the points that a side gains where a value becomes another one."""
    gain = float(EXPONENTIAL.lead(value) - EXPONENTIAL.lead(kept)) / 2
    return gain if white else -gain


_WAIT: Final = 0.02
"""Seconds between two looks at the timer."""
_LONGEST_LINE: Final = 256
_CASTLING_MEN: Final = 4
"""Most men of positions with castling rights that are asked about: more take minutes."""
_APART: Final = (chess.A2, chess.H7, chess.B5, chess.G4, chess.D2, chess.E7, chess.C3, chess.F6)
"""Squares that men stand on where any position will do."""
_TEMPTING_SECONDS: Final = 0.1
"""What a move must have before mistakes are sought: packed tables may take as long for all answers."""
_PATIENCE: Final = 60.0
"""Seconds to look for depths at most, also where only ``stop`` ends it: what is looked at takes memory."""


_Compile: TypeAlias = Callable[[Callable[[str], object]], None]
"""Compiles code if that is still to do, and says so before."""


class EngineTables:
    """The tables of some directories, for play: what is wrong with one is said once, and it is left out.

    Packed tables, castling rights and leaves take compiled code. It is loaded, or compiled, aside by
    :meth:`load` or when it is first needed, and until it is there no such position is asked for.

    :param directories: where tables lie; none for the default directory.
    :param say: told in a sentence what is wrong.
    :raises UsageError: if a directory is none.
    """

    def __init__(self, directories: Sequence[Path], say: Callable[[str], None]) -> None:
        self._base = open_tablebase(*directories)
        self.directories = self._base.directories
        """Where the tables lie."""
        self.there = frozenset(found for found in self._base.materials if not found.is_described)
        """The materials of men of chess that have a table."""
        self._say = say
        self._said: set[str] = set()
        self._lost: set[Material] = set()
        self._packed: dict[Material, bool] = {}
        self._codes: dict[_Compile, Future[None]] = {}
        """What loads compiled code, by what compiles it."""
        self._aside = threading.Lock()
        """Held while another thread than that of the move reads tables."""
        self._opened, self._opening = False, threading.Lock()

    def load(self, wait: bool) -> None:
        """Open all tables, have the code of packed ones loaded or compiled, and say how long it takes.

        :param wait: whether to return only when the code is there.
        """
        with self._opening:  # the thread that looks leaves up may have begun with it
            if not self._opened:
                self._open_all()
        if wait:
            wait_for(self._codes.values())

    def _open_all(self) -> None:
        self._opened, began = True, time.perf_counter()
        packed_first = sorted(self.there, key=lambda each: (not self._is_packed(each), each))
        if packed_first:
            self._say(f"opening {counted(len(self.there), 'table')} took {seconds_since(began)}")
            boards = map(_some_board, packed_first)
            self._loaded(asking.ensure_compiled, ((board, own_score(board)) for board in boards))

    def close(self) -> None:
        """Wait for what other threads read, and let them read no more: they would keep the program alive."""
        self._aside.acquire()

    @property
    def can_tell(self) -> bool:
        """Whether the code of :meth:`values` is there, or never will be; else it is being made ready."""
        self.load(wait=False)
        code = self._codes.get(asking.ensure_compiled)
        return code is not None and code.done()

    def values(
        self, men: str, squares: NDArray[np.int64], side: NDArray[np.int64], accrued: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]] | None:
        """Return codes of values and depths in plies of many states, None if tables do not tell them, or not
        yet (:attr:`can_tell`).

        The arguments are those of :meth:`tbgen.Tablebase.probe_arrays`.
        """
        white = "".join(man for man in men if man.isupper())
        black = "".join(man.upper() for man in men if man.islower())
        if not is_there(self._codes.get(asking.ensure_compiled)):
            return None
        with self._reading(Material.of_sides(white, black)[0]) as readable, self._aside:
            return self._base.probe_arrays(men, squares, side, accrued) if readable else None
        return None

    def known(self, game: SearchGame) -> tuple[GScore, int | None] | None:
        """Return value and depth of the current state, None if tables do not tell them at once.

        Under a 50-move rule only goals count that are reached before it ends the game.
        """
        board = game.live
        if board.occupied.bit_count() > MAX_MEN or board.castling_rights:
            return None
        with self._reading(Material.of_board(board)[0]) as readable:
            code = self._code(game) if readable else None
            if readable and (code is None or is_there(code)):
                found = self._base.probe(board, game.accrued)
                return (found.value, found.depth) if _in_time(game, found.value, found.depth) else None
        return None

    def advice(
        self, game: SearchGame, allowed: Sequence[chess.Move], timer: Timer, tempting: bool = False
    ) -> Advice | None:
        """Return what tables say of the current state, in which there are legal moves; None if nothing.

        With the depths known it is one move: the shortest way for the side that the value is better for than
        the accrued score, the longest for the other, and where they are the same the one after which it is
        hardest for the other side to keep the value. Depths that tables do not store are looked for during
        half of the time there is; if that is not enough, all moves are left that keep the value, those whose
        positions have been met least often in this game.

        :param allowed: the moves to choose among.
        :param tempting: whether that is sought in place of the longest way too, but not where that ends in
            mate.
        """
        board = game.live
        if board.occupied.bit_count() > (_CASTLING_MEN if board.castling_rights else MAX_MEN):
            return None
        material, _ = Material.of_board(board)
        if material not in self.there:
            self._say_once(MissingTableError(material.name, self._base.directory))
            return None
        code = self._code(game)
        while code and not is_there(code):
            if timer.half() or (code.done() and not is_there(code)):
                self._say("the code that reads this table is not ready: searching instead")
                return None
            time.sleep(_WAIT)
        try:
            return self._advice(game, allowed, timer, tempting)
        except TbgenError as error:
            self._say_once(error)
            return None

    def ranked(self, game: SearchGame, allowed: Sequence[chess.Move]) -> Sequence[Advice]:
        """Return each of some moves with what it comes to, best first; nothing if tables do not say."""
        ranked = (move for move in self._moves(game) if move.move in allowed)
        return [Advice.of(move.move, move.value, _depth(game, move.value, move.depth)) for move in ranked]

    def line(self, game: SearchGame, best: Advice, timer: Timer) -> tuple[chess.Move, ...]:
        """Return best play from the first move of an advice on up to where the accrued score is the value, as
        far as depths are stored and there is time."""
        before = game.length
        move: chess.Move | None = best.moves[0]
        line = []
        while move:
            line.append(move)
            game.play(move)
            wanted = game.accrued != best.value and len(line) < _LONGEST_LINE and not timer.enough()
            ranked = self._moves(game) if wanted else ()
            move = ranked[0].move if ranked and ranked[0].depth is not None else None
        while game.length > before:
            game.pop()
        return tuple(line)

    def _moves(self, game: SearchGame) -> Sequence[RankedMove]:
        """Return the moves of the current state, best first; none if tables do not know them all."""
        with suppress(TbgenError):
            return self._base.moves(game.live, game.accrued)
        return ()

    def _advice(
        self, game: SearchGame, allowed: Sequence[chess.Move], timer: Timer, tempting: bool
    ) -> Advice | None:
        board, accrued = game.live, game.accrued
        moves = self._base.moves(board, accrued)
        ranked = [move for move in moves if move.move in allowed]
        chosen: RankedMove | None = ranked[0]
        value = ranked[0].value
        kept = [move for move in ranked if move.value == value]
        if value != accrued and any(move.depth is None for move in kept):
            until = timer.elapsed + _PATIENCE
            chosen = None
            if len(ranked) == len(moves):
                chosen = self._base.next_move(
                    board, accrued, patience=lambda: not timer.half() and timer.elapsed < until
                )
            if chosen is None and game.settings.fifty_move_rule is FiftyMoveRule.NONE:
                return Advice(_least_met(game, [move.move for move in kept]), value, value)
        if chosen is None:
            return None
        worse = value < accrued if board.turn else value > accrued
        has_time = timer.share is None or timer.share >= _TEMPTING_SECONDS
        if has_time and (value == accrued or (worse and tempting and value.rank)):
            chosen = self._most_tempting(game, [move for move in kept if move.depth is not None]) or chosen
        depth = _depth(game, value, chosen.depth or 0)
        return Advice.of(chosen.move, value, depth) if _in_time(game, value, depth) else None

    def _most_tempting(self, game: SearchGame, kept: Sequence[RankedMove]) -> RankedMove | None:
        """Return the one of some moves that makes it hardest to keep the value, None if there is none."""
        after, states = [], []
        for move in kept:
            game.play(move.move)
            after.append(game.live.copy(stack=False))
            game.pop()
            states.append(move.accrued)
        answers = [
            [] if isinstance(found, TbgenError) else found for found in self._base.moves_many(after, states)
        ]
        return most_tempting(game, kept, answers) if kept else None

    @contextmanager
    def _reading(self, material: Material) -> Iterator[bool]:
        """Tell whether a table is there and readable; it is left out after an error of the block."""
        try:
            yield material in self.there and material not in self._lost
        except TbgenError as error:
            self._lost.add(material)
            self._say_once(error)

    def _code(self, game: SearchGame) -> Future[None] | None:
        """Return what loads the code that a position takes, which is begun with; None if it takes none."""
        board = game.live
        if board.castling_rights:
            compiled = _compile_cells
        elif self._is_packed(Material.of_board(board)[0]):
            compiled = asking.ensure_compiled
        else:
            return None
        return self._loaded(compiled, [(board.copy(stack=False), game.accrued)])

    def _loaded(self, compiled: _Compile, states: Iterable[tuple[chess.Board, GScore]]) -> Future[None]:
        """Return what compiles code if that is still to do, and asks for a value, which loads all it takes.

        :param states: what to ask for, with the accrued scores: the first that tables can tell.
        """
        arrays = compiled is asking.ensure_compiled

        def work() -> None:
            compiled(self._say)
            for board, accrued in states:
                try:
                    with self._aside:
                        self._base.get(board, accrued)
                        if arrays:
                            men, side = board.piece_map(), [int(not board.turn)]
                            letters = "".join(man.symbol() for man in men.values())
                            self._base.probe_arrays(letters, [list(men)], side, [own_score(board).code])
                except TbgenError as error:  # the code is there all the same: other tables take it
                    self._say_once(error)
                else:
                    break

        if compiled not in self._codes:
            name = "that looks positions up in tables" if arrays else "for castling rights"
            self._codes[compiled] = loading(f"the code {name}", work, self._say)
        return self._codes[compiled]

    def _is_packed(self, material: Material) -> bool:
        for directory in () if material in self._packed else self._base.directories:
            path = table_path(directory, material.name, self._base.rules)
            with suppress(TbgenError), StoredFile(path, material=material) as file:
                self._packed.setdefault(material, file.info.packed)
        return self._packed.get(material, False)

    def _say_once(self, error: TbgenError) -> None:
        sentence = str(error)
        if sentence not in self._said:
            self._said.add(sentence)
            self._say(sentence)


def _some_board(material: Material) -> chess.Board:
    """Return a legal position of men of chess, the same each time, in which White has a move, and whose own
    score has a code."""
    pieces = [
        chess.Piece.from_symbol(man.upper() if white else man.lower())
        for men, white in ((material.white, True), (material.black, False))
        for man in men
    ]
    for squares in permutations(_APART, len(pieces)):
        board = chess.Board(None)
        board.set_piece_map(dict(zip(squares, pieces, strict=True)))
        if board.was_into_check() or board.is_check():
            continue
        if 1 < own_score(board).rank <= MAX_CODED_RANK:
            return board
    raise AssertionError(f"{material} has no position on these squares")


def _compile_cells(note: Callable[[str], object]) -> None:
    from tbgen.cells.cell_warmup import compile_kernels  # takes numba, which plain tables do without

    compile_kernels(note)


def _depth(game: SearchGame, value: GScore, after: int | None) -> int | None:
    """Return the plies to a value by the depth after a move; None if that is not known."""
    if value == game.accrued:
        return 0
    return None if after is None else 1 + after


def _in_time(game: SearchGame, value: GScore, depth: int | None) -> bool:
    """Tell whether a 50-move rule lets a goal be reached."""
    if game.settings.fifty_move_rule is FiftyMoveRule.NONE or value == game.accrued:
        return True
    return depth is not None and game.clock + depth < PLIES


def _least_met(game: SearchGame, moves: Sequence[chess.Move]) -> tuple[chess.Move, ...]:
    """Return the moves to the positions that have been met least often in this game."""
    met = []
    for move in moves:
        game.play(move)
        met.append(game.occurrences)
        game.pop()
    return tuple(move for move, times in zip(moves, met, strict=True) if times == min(met))
