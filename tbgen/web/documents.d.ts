// The types of the page, which tsc checks (CONTRIBUTING.md); no browser loads them. First come the documents of the API,
// with the names of /openapi.json and the fields that the page reads; docs/web.md explains the fields.

type Colour = "white" | "black"
interface PointsDocument { white: number; black: number }
interface RefusalDocument { code: string; message: string }
interface StateDocument { fen: string; accrued: string; value: string; depth: number; points: PointsDocument; category: string }
interface MoveDocument extends Omit<StateDocument, "fen"> { uci: string; san: string; zeroing: boolean; checkmate: boolean; stalemate: boolean }
interface LegalMoveDocument extends MoveDocument { fen: string }
interface ViewMoveDocument extends Omit<MoveDocument, "accrued" | "value"> { winner: Colour }
interface Ending { checkmate: boolean; stalemate: boolean; insufficient_material: boolean }
interface PositionDocument extends StateDocument, Ending { material: string; rules: string; position_score: string; holder: Colour; note: string }
interface PositionMovesDocument extends PositionDocument { moves: MoveDocument[] }
interface PuzzleDocument extends PositionMovesDocument { level: string; tempting: string[] }
interface LegalMovesDocument extends StateDocument, Ending { rules: string; position_score: string; refusal: RefusalDocument; moves: LegalMoveDocument[] }
interface ViewDocument extends Ending { fen: string; material: string; view: string; winner: Colour; depth: number; points: PointsDocument; category: string; moves: ViewMoveDocument[] }
interface PlyDocument { uci: string; san: string; accrued: string; depth: number }
interface MainlineDocument extends PositionDocument { mainline: PlyDocument[] }
interface AccruedScoreDocument { accrued: string; value: string; depth: number; points: PointsDocument }
interface AccruedScoresDocument { fen: string; material: string; rules: string; position_score: string; accrued_scores: AccruedScoreDocument[] }
interface ReplyDocument { uci: string; san: string }
interface GamePlyDocument extends StateDocument { ply: number; uci: string; san: string; comment: string; nags: number[]; position_score: string }
interface VariationPlyDocument extends GamePlyDocument { after: number }
interface OutcomeDocument { value: string; basis: string; points: PointsDocument; doubts: string[] }
interface GameDocument { rules: string; plies: GamePlyDocument[]; variations: VariationPlyDocument[]; cut_variations: number; outcome: OutcomeDocument; missing_tables: string[] }
interface ListedGameDocument { number: number; tags: Record<string, string>; comment: string; result: string; plies: number; outcome: OutcomeDocument; error: string; pgn: string }
interface GamesDocument { rules: string; games: ListedGameDocument[] }
interface TableDocument { material: string; rules: string }
interface TablesDocument { tables: TableDocument[] }
interface ValueCounts { white: Record<string, number>; black: Record<string, number> }
interface LongestState { fen: string; accrued: string }
interface PositionCounts { white: number; black: number }
interface CountedTableDocument extends TableDocument { positions: PositionCounts; form: string; accrued: boolean; max_depth: number; values: ValueCounts; longest: LongestState }

/** The answer to a GET request, by its path; the explorer's request is about a position, in the tables or in a view of them. */
type AnswerTo<Path> =
    Path extends "tables" ? TablesDocument : Path extends "live/games" ? FinishedGames : Path extends "live/event" ? WholeEvent :
    Path extends `live/games/${string}` ? ToldGame : Path extends `${string}/stats/${string}` ? CountedTableDocument :
    Path extends `${string}/accrued` ? AccruedScoresDocument : Path extends `${string}/mainline` ? MainlineDocument :
    Path extends `${string}/moves` ? LegalMovesDocument : Path extends `${string}/puzzle` ? PuzzleDocument : Answer
/** The answer to a text sent by POST. */
type PostedTo<Path> = Path extends `${string}/reply` ? ReplyDocument : Path extends `${string}/games` ? GamesDocument : GameDocument
interface Question { fen?: string; accrued?: string; material?: string; value?: string; side?: string; level?: string; day?: string; before?: number }

// Events; docs/match.md describes their messages.

interface LivePly { uci: string; san: string; accrued: string; comment: string; line: string; position_score: string; fen: string; search: SearchFigures }
interface SearchFigures { nodes: number; speed: number; hits: number }
interface Thought { comment: string; line: string; search: SearchFigures; moves: string }
interface PairedGame { key: string; white: string; black: string }
interface DuelGame { key: string; white: string; classical: string; value: string }
interface Duel { stage: string; players: string[]; points: number[]; games: DuelGame[]; winner: string; decision: string }
interface LiveGame { key: string; number: number; white: string; black: string; start: { fen: string; accrued: string; position_score: string }; plies: LivePly[]; left: Record<Colour, number>; thought: Thought; since: number }
interface Moved { key: string; ply: LivePly; fen: string; left: Record<Colour, number> }
interface FinishedGame { key: string; number: number; white: string; black: string; value: string; points: PointsDocument; plies: number; reason: string; basis: string }
interface FinishedGames { total: number; games: FinishedGame[] }
interface LiveEvent { name: string; site: string; format: string; players: { name: string; control: string }[]; total: number; games: number; concurrency: number }
interface Column { title: string; word?: boolean }
interface StandingsTable { key: string; title: string; note: string; first: string; columns: Column[]; rows: Child[][] }
interface MatchScore { player: string; opponent: string; points: number; games: number; elo: { difference: number; margin: number; los: number }; test: { llr: number; lower: number; upper: number; verdict: string } }
interface EventResult { winner: string; leaders: string[]; decision: string; sentence: string; bracket: Duel[][] }
interface Standings { score: MatchScore; tables: StandingsTable[]; games: number; result: EventResult }
interface WholeEvent { event: LiveEvent; finished: FinishedGames; playing: LiveGame[]; next: PairedGame[]; standings: Standings; over: string }

// The page's own data.

type Side = "White" | "Black"
interface Point { x: number; y: number }
/** A legal move of any answer. */
interface Move extends Partial<LegalMoveDocument> { uci: string; san: string; winner?: Colour }
/** An answer about a position: from tables, in a view of these, or `beyond` them. With a `refusal`, no table holds the position. */
interface Answer extends Partial<PositionDocument> { fen: string; moves: Move[]; view?: string; winner?: Colour; refusal?: RefusalDocument; beyond?: boolean }
/** A position of a game; `after` is the number of the position before it. */
interface Ply extends Partial<VariationPlyDocument> { san: string; zeroing?: boolean }
/** A ply of a game against the page, with the answer about it. */
interface ContestPly extends Ply { fen: string; accrued: string; value: string; uci: string; zeroing: boolean; answer: Answer }
interface Start { fen: string; accrued: string }
/** The state of the page, see state.js. */
interface State extends Start { line: string[]; at: number; head: string; comments: string; rules: string; flipped: boolean; setup: boolean; lesson: number }
/** An element of the moves in PGN: a move, by its number, or a bracket of a variation. */
type Step = string | { number: number; label: string }
interface Game { plies: Ply[]; refereed: GameDocument }
interface Fen { men: Map<string, string>; turn: string; castling: string; ep: string; clock: number; number: number }
interface Arrow { uci: string; kind: string }
interface Interval { lower: string; upper: string }
/** The scores of a position in a graph. */
interface GraphPly { accrued?: string; value?: string }
interface MoveActions { play: (move: Move) => unknown; look: (move: Move) => unknown; leave: () => unknown }
interface SharedView { state: State; plies: Ply[]; line: Ply[] }
/** The value that a ply of a game against the page has kept or lost. */
interface PlyReview { at: number; san: string; mover: Side; had: string; got: string; best: string; mark: string; left: string; accrued: string }
interface Puzzle extends PositionMovesDocument { level?: string; day?: string }
/** A move that can be stepped through, with the position that it leads to. */
interface SteppedMove extends Partial<PlyDocument> { uci: string; san: string; fen?: string }
/** Neighbouring stops of the slider; if `kept`, the value of each is its accrued score. */
interface Stretch { value: string; stops: AccruedScoreDocument[]; kept?: boolean }
interface Progress extends Interval { cells: number }
/** The server's answer about a position that it has solved, see docs/web.md. */
interface Solution extends Interval, Start { value: string; depth: number; points: { lower: PointsDocument }; moves: (Interval & { san: string })[]; claims: Interval; plans: Record<keyof Interval, PlyDocument[]>; gaps: { text: string }[]; narrowing: { text: string }; stopped_by: string }

// Elements: the types of special elements by their ids, and arguments for making elements.

type Attribute = string | number | boolean | { handle(event: Event): unknown }["handle"]
type Attributes = Record<string, Attribute>
type Child = Node | string | number | boolean | Child[]
type Button = HTMLButtonElement
type Input = HTMLInputElement
interface Elements extends Record<string, HTMLElement> {
    accrued: Input; another: Button; "at-once": Input; back: Button; boards: HTMLSelectElement; choosing: HTMLDialogElement; "comment-text": HTMLTextAreaElement
    commenting: HTMLFormElement; delete: Button; end: Button; explore: HTMLAnchorElement; fen: Input; first: Button; forward: Button
    "give-up": Button; "guide-back": Button; hint: Button; last: Button; level: HTMLSelectElement; material: HTMLDetailsElement
    "material-report": HTMLAnchorElement; men: HTMLSelectElement; mover: HTMLSelectElement; offer: Button; passed: HTMLSelectElement; pgn: HTMLTextAreaElement; "pgn-file": Input
    "play-on": HTMLAnchorElement; promote: Button; resign: Button; rules: HTMLSelectElement; run: Button; "sample-material": Input
    "sample-side": HTMLSelectElement; "sample-value": Input; sound: Input; step: Button; strength: HTMLSelectElement; "take-back": Button; today: Button; typed: Input
    undo: Button; white: Input; black: Input
}

// A site without a server: positions, moves and scores as numbers, see static/chess.js, and the contents of its files.

interface Position { men: string[]; side: number; castling: string; ep: number; clock: number; number: number }
interface PseudoMove { from: number; to: number; promotion: string; rook?: number }
interface StudiedMove extends PseudoMove { kind: string; next: Position; capture: boolean; passing: boolean; zeroing: boolean; uci: string }
interface Studied extends Position { moves: StudiedMove[]; check: boolean; passing: boolean; over: boolean; positionScore: number }
interface Goal { value: number; depth: number }
interface PositionState { position: Studied; accrued: number; note?: string }
interface ReachedState extends PositionState { move: StudiedMove }
interface Dataset { type: "u1" | "u2" | "i4" | "u8"; length: number; pieces: number[][]; pieces_per_row: number }
interface TableFacts extends CountedTableDocument { bytes: number; datasets: Record<string, Dataset>; free_men: string; pawns: string; phase_size: number; size: number }
/** Elements of a dataset; elements of `u8`, which are read one by one, are BigInts. */
type Piece = Uint8Array | Uint16Array | Int32Array
interface Slot { slot: number; phase: number; within: number; symmetry: (square: number) => number }
interface PgnMove { san: string; after: number; depth: number; comment: string; nags: number[] }
interface UnfinishedPgn extends PgnGame { start: number; words: boolean; over: boolean }
interface PgnGame { tags: Record<string, string>; comment: string; result: string; moves: PgnMove[]; pgn?: string }
interface FollowedState extends PositionState { san: string; move: StudiedMove; ply: number; before: FollowedState; comment: string; nags: number[]; after?: number }
