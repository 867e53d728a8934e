"""The engine's side of its protocol, the Universal Chess Interface [1].

Commands are read while another thread thinks about the move. Whatever the input, the engine answers by the
rules of the protocol: it ignores unknown words, and reports errors in an ``info string``.

[1] Stefan Meyer-Kahlen, *Description of the universal chess interface (UCI)*, April 2006.
"""

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

import chess

import tbgen
from tbgen.engine.game import SearchGame, extend, read_game
from tbgen.engine.loading import PartnerOwner, is_ready, load_in_thread, wait_until_loaded
from tbgen.engine.options import Options
from tbgen.engine.table_advice import EngineTables
from tbgen.engine.thinker import MoveChoice, Thinker
from tbgen.engine.timer import Go, Timer
from tbgen.errors import TbgenError, UsageError, printable

if TYPE_CHECKING:
    from tbgen.engine.partner import Partner
    from tbgen.engine.workspace import SearchWorkspace

_NO_MOVE: Final = "bestmove (none)"
_WORD: Final = re.compile(r"\S+")


class UciEngine:
    """One engine, from its first command to the last.

    :param write: prints a line without buffering; several threads call it, one at a time.
    :param directories: default of the option Directory; empty for tbgen's default directory.
    :param partner: default of the option Partner.
    """

    _search_workspace: "SearchWorkspace | None"
    """Workspace of the compiled search; None until it is first needed."""

    def __init__(
        self, write: Callable[[str], None], directories: Sequence[Path] = (), partner: str = ""
    ) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._unsaid = SimpleQueue[str]()
        """Sentences about loading that wait for the next search, because clients expect no lines between
        searches, and nothing but ``readyok`` in answer to ``isready``."""
        self._options = Options(directories, partner)
        self._partner_owner = PartnerOwner(self._note_loading)
        self._search_future: Future[None] | None = None
        """Future of loading the compiled search; None until the search is first needed."""
        self._tables: EngineTables | None = None
        self._are_tables_open = False
        self._game: SearchGame | None = None
        self._position: Sequence[str] = ["startpos"]
        self._search_workspace = None
        self._output_error: OSError | None = None
        self._thinking: tuple[threading.Thread, Timer] | None = None
        self._move_due = threading.Event()
        """Event that is set when the latest move is about to be printed."""
        self._commands: dict[str, Callable[[str], None]] = {
            "uci": self._uci,
            "isready": self._answer_isready,
            "setoption": self._set_option,
            "ucinewgame": self._new_game,
            "position": self._set_position,
            "go": self._go,
            "stop": lambda _: self._stop(),
            "ponderhit": self._ponder_hit,
        }

    def run(self, lines: Iterable[str]) -> None:
        """Answer commands until ``quit`` or the end of the input; then make a pending move at once.

        :raises OSError: if the output cannot be written, although it has a reader.
        """
        try:
            for line in lines:
                if not self.handle_command(line):
                    break
        finally:
            self._stop()
            self._partner_owner.close()
            self._say_unsaid()
            if self._tables:
                self._tables.close()
                self._tables = None
                self._are_tables_open = False
        if self._output_error is not None and not isinstance(self._output_error, BrokenPipeError):
            raise self._output_error

    def handle_command(self, line: str) -> bool:
        """Answer one command.

        Unknown words before the command are ignored, as the protocol requires. Return whether to read more
        commands: False after ``quit``, and once the output is closed.
        """
        for word in _WORD.finditer(line):
            if word[0] == "quit":
                return False
            if word[0] in self._commands:
                try:
                    self._commands[word[0]](line[word.end() :])
                except TbgenError as error:
                    self._note(str(error))
                break
        return self._output_error is None

    def _uci(self, _rest: str) -> None:
        id_lines = f"id name tbgen {tbgen.__version__}", "id author the tbgen developers"
        for line in (*id_lines, *self._options.lines(), "uciok"):
            self._say(line)

    def _answer_isready(self, _rest: str) -> None:
        """Answer ``readyok`` once tables, code and partner are loaded; while thinking, or if the option Wait
        is off, at once."""
        if not self._is_thinking:
            tables = self._open_tables()
            if tables:
                tables.load()
            search = self._load_search()
            self._partner()
            if self._options.waits_for_loading:
                if tables:
                    tables.wait(self._note_waiting)
                wait_until_loaded([search], self._note_waiting)
                self._partner_owner.wait(self._note_waiting)
        self._say("readyok")

    def _set_option(self, arguments: str) -> None:
        """Handle ``setoption name NAME [value VALUE]``. NAME and VALUE may contain spaces."""
        words = arguments.split()
        if words[:1] != ["name"]:
            raise UsageError("an option is set by: setoption name NAME value VALUE")
        split = words.index("value") if "value" in words else len(words)
        name = " ".join(words[1:split])
        value = "".join(arguments.split(None, split + 1)[split + 1 :]).rstrip()
        self._game = None  # the option may affect how the position is read
        match self._options.set(name, value):
            case "Hash":
                self._search_workspace = None
            case "Directory":
                self._are_tables_open = False
            case "Partner" | "PartnerOptions":
                self._partner_owner.allow_restart()

    def _new_game(self, _rest: str) -> None:
        """Forget what was learned in the last game. The position stays until the next ``position``."""
        self._search_workspace = None
        self._partner_owner.new_game()

    def _set_position(self, arguments: str) -> None:
        """Set the position, or raise the error to report. After an error, ``go`` answers without a move."""
        words = arguments.split()
        old_position = self._position
        game = self._game
        self._position = words
        self._game = None
        is_extended = game is not None and not self._is_thinking and extend(game, old_position, words)
        self._game = game if is_extended else self._read_game()

    def _read_game(self) -> SearchGame:
        """Return the game that the last command ``position`` describes, under the current options.

        :raises UsageError: if the command is invalid.
        """
        options = self._options
        return read_game(
            self._position,
            accrued=options.accrued,
            rule=options.rule,
            chess960=options.chess960,
            announce=self._note,
        )

    def _go(self, arguments: str) -> None:
        self._stop()
        try:
            self._game = game = self._game or self._read_game()
        except TbgenError as error:
            self._note(str(error))
            self._say(_NO_MOVE)
            return
        thinker = Thinker(self._say, self._open_tables(), self._options, self._workspace, self._partner)
        go = Go.parse(arguments.split())
        for problem in go.problems:
            self._note(problem)
        timer = Timer(go, game.live.turn, self._options.overhead)
        thread = threading.Thread(target=self._think, args=(thinker, game, timer), daemon=True)
        self._move_due.clear()
        self._thinking = thread, timer
        thread.start()

    def _think(self, thinker: Thinker, game: SearchGame, timer: Timer) -> None:
        """Choose a move and print it; called in a thread of its own."""
        board = game.live.copy(stack=False)
        self._say_unsaid()
        try:
            choice = thinker.choose(game, timer)
        except Exception as error:  # an error in the engine must not lose the game on time
            self._note(f"this move is an arbitrary legal one, because of an error: {error!r}")
            choice = next(map(MoveChoice, board.legal_moves), None)
            if self._game is game:  # its board may be left at a node of the search
                self._game = None
        timer.wait()
        self._move_due.set()  # set first: the next command may arrive as soon as the move is printed
        self._say(_NO_MOVE if choice is None else _best_move_line(board, choice))

    @property
    def _is_thinking(self) -> bool:
        return self._thinking is not None and not self._move_due.is_set()

    def _stop(self) -> None:
        """Stop thinking, and wait until the move has been printed."""
        if self._thinking is not None:
            thread, timer = self._thinking
            timer.stop()
            thread.join()
            self._thinking = None

    def _ponder_hit(self, _rest: str) -> None:
        if self._thinking is not None:
            self._thinking[1].ponder_hit()

    def _load_search(self) -> "Future[None]":
        """Return the future of loading the compiled search; the first call starts loading it."""

        def load() -> None:
            from tbgen.engine.compiled_search import ensure_compiled  # imports numba

            ensure_compiled(self._note_loading)

        if self._search_future is None:
            self._search_future = load_in_thread("the compiled search", load, self._note_loading)
        return self._search_future

    def _workspace(self) -> "SearchWorkspace | None":
        """Return the workspace of the compiled search; None while the search is being loaded."""
        if is_ready(self._load_search()) and self._search_workspace is None:
            from tbgen.engine.workspace import SearchWorkspace  # imports numba

            self._search_workspace = SearchWorkspace.with_table_size(self._options.hash)
        return self._search_workspace

    def _partner(self) -> "Partner | None":
        """Return the partner; None if there is none or while it is starting."""
        options = self._options
        return self._partner_owner.get_partner(options.partner_command, options.hash, options.partner_options)

    def _open_tables(self) -> EngineTables | None:
        """Return the tables, reopened if the option Directory has been set; None after an error."""
        if not self._are_tables_open:
            self._tables = None
            self._are_tables_open = True
            try:
                self._tables = EngineTables(self._options.directories, self._note_loading)
            except TbgenError as error:
                self._note_loading(str(error))
        return self._tables

    def _note(self, sentence: str) -> None:
        self._say(f"info string {printable(sentence)}")

    def _note_loading(self, sentence: str) -> None:
        """Say a sentence about loading during this search or, between searches, at the next one."""
        self._unsaid.put(sentence)
        if self._is_thinking:
            self._say_unsaid()

    def _note_waiting(self, sentence: str) -> None:
        """Say, in answer to ``isready``, that loading takes long, so that clients do not give up."""
        self._say_unsaid()
        self._note(sentence)

    def _say_unsaid(self) -> None:
        with suppress(Empty):
            while True:
                self._note(self._unsaid.get_nowait())

    def _say(self, line: str) -> None:
        with self._lock:
            try:
                self._write(line)
            except OSError as error:  # perhaps nobody reads the output any more
                self._output_error = error


def _best_move_line(board: chess.Board, choice: MoveChoice) -> str:
    line = f"bestmove {board.uci(choice.move)}"
    if choice.reply is not None:
        board.push(choice.move)
        line += f" ponder {board.uci(choice.reply)}"
    return line
