// Puzzles: positions in which only one move keeps the value. The server makes them; the page asks for up to three moves,
// as long as only one keeps the value, and counts solved puzzles.

import {Refused, ask, attempt, badInput, fresh} from "./api.js"
import {Board} from "./board.js"
import {$, h, onClick, onKey, refill, step, steps, store, stored, turnTo} from "./browser.js"
import {Mobility} from "./mobility.js"
import {after, moverOf, numbered} from "./position.js"
import {leaves, otherSide, rankOf, score, sideOf, term} from "./score.js"

/** The storage key of the number of solved puzzles. */
const SOLVED_KEY = "tbgen-puzzles-solved"
/** Maximum number of moves to find. */
const MOST_MOVES = 3

const board = new Board($("board"), move => attempt($("problem"), () => answer(move)), () => {})
const mobility = new Mobility(board)

/** @type {Puzzle} */ let puzzle = null
/** The position whose only move is asked for: the puzzle's, or a later one. @type {Answer} */
let asked = null
/** The moves from the puzzle to that position. @type {SteppedMove[]} */
let found = []
/** Number of the current request: answers to an earlier one are dropped. */
let turn = 0
/** The move that the text is about; null if the text is no longer wanted. @type {Move} */
let answered = null
/** The moves that the visitor can step through: the solution, or a wrong move and its refutation. Each has the `fen` after it. @type {SteppedMove[]} */
let walk = []
/** Whether `walk` is the solution. */
let isDone = false
/** Number of moves of `walk` that have been made on the board. */
let made = 0
/** The element that lists the moves of `walk`. */
const told = h("span", {class: "solution"})

/** Request a puzzle and show it. A puzzle with a `day` is named after the day. @type {(asking: () => Promise<Puzzle>) => Promise<void>} */
async function begin(asking) {
    const mine = ++turn
    $("another").disabled = $("today").disabled = true
    await attempt($("problem"), async () => {
        const wanted = await asking().catch(error => {
            if (mine === turn) throw error
            return puzzle
        })
        if (mine !== turn) return
        puzzle = asked = wanted
        found = []
        answered = null
        walk = []
        isDone = false
        made = 0
        document.body.classList.remove("none")
        const {level, day} = puzzle
        $("name").textContent = [nameOf(day), level].filter(Boolean).join(", ")
        $("task").replaceChildren(...task())
        $("said").replaceChildren()
        $("give-up").disabled = false
        const query = `?fen=${puzzle.fen.replaceAll(" ", "_")}${isBlack() ? "&side=black" : ""}`
        turnTo($("explore"), query)
        turnTo($("play-on"), query)
        const more = Object.entries({level, day}).filter(([, value]) => value)
        history.replaceState({wanted: $("level").value}, "", query + more.map(([key, value]) => `&${key}=${value}`).join(""))
        restore()
    })
    if (mine !== turn) return
    if (!puzzle) {
        document.body.classList.add("none")
        $("name").textContent = "No puzzle"
    }
    $("another").disabled = $("today").disabled = false
}

/** @type {(day: string) => string} */
const nameOf = day => !day ? "A puzzle" : day === today() ? "Today's puzzle" : `The puzzle of ${day}`

const isBlack = () => moverOf(puzzle.fen) === "Black"

/** Return the puzzle of a day. @type {(day: string) => Promise<Puzzle>} */
const ofDay = async day => ({...await fresh("r/puzzle", {day}), day})

/** Return the puzzle of a position from an address, optionally with its level; the puzzle of the day if that has this position. @type {(fen: string, level: string, day: string) => Promise<Puzzle>} */
async function puzzleOfAddress(fen, level, day) {
    const daily = day && await ofDay(day).catch(() => /** @type {Puzzle} */ (null)) // with other tables, the day's puzzle may differ or not exist
    if (daily?.fen === fen) return daily
    const there = /** @type {PositionMovesDocument} */ (await ask("r", {fen}))
    if (hasOneMove(there)) return {...there, level}
    throw badInput("This position is not a puzzle: the side to move must have exactly one move that keeps a score of its own.")
}

/** Whether exactly one move keeps the value, which the side to move holds. @type {(answer: Answer) => boolean} */
const hasOneMove = ({fen, value, moves: [best, second]}) => second && best.value !== second.value && sideOf(value) === moverOf(fen)

const today = () => new Date().toISOString().slice(0, 10)

function task() {
    const mover = moverOf(puzzle.fen)
    const rank = rankOf(puzzle.value)
    const goal = rank === 0 ? "mates" : rank === 1 ? `stalemates ${otherSide(mover)}` : `gets ${otherSide(mover)} ${leaves(puzzle.value)}`
    return [`${mover} to move ${goal} (`, term("score", puzzle.value), "). Only one move leads there: find it."]
}

/** Show the position whose move is asked for, from the solver's side. @type {(arrows?: Arrow[]) => void} */
function restore(arrows = []) {
    board.show(asked.fen, isBlack())
    board.last(found.at(-1)?.uci ?? null)
    board.play(asked.moves)
    board.arrows(arrows)
    mobility.show(asked, isBlack())
}

/** @type {(move: Move) => Promise<void>} */ async function answer(move) {
    const {uci, san} = move
    answered = move
    if (uci === asked.moves[0].uci) {
        const [reply, next] = await further(move) ?? []
        if (answered !== move) return
        if (reply) {
            [found, asked, walk] = [[...found, move, reply], next, []]
            restore()
            $("said").replaceChildren("Right: ", h("b", {}, san), ". The reply is ", h("b", {}, reply.san), ". Again only one move keeps the score: find it.")
        } else await finish(["Right: ", h("b", {}, san), "."], true)
        return
    }
    restore()
    const line = await lineAfter(move)
    if (answered !== move) return
    walk = withPositions([move, ...line], asked)
    $("said").replaceChildren("Not ", h("b", {}, san), ": it leads to ", score(move.value), ". ", step("Try again", () => go(0)), ", or see why: ", told)
    go(0)
}

/** Return the reply to the right move and the position after it, if again only one move keeps the value; else null. @type {(move: Move) => Promise<[Move, Answer]>} */
async function further({uci, accrued}) {
    if (found.length >= 2 * (MOST_MOVES - 1)) return null
    try {
        const {fen, moves: [reply]} = await ask("r", {fen: after(asked.fen, uci), accrued})
        const next = reply && await ask("r", {fen: after(fen, reply.uci), accrued: reply.accrued})
        return next && next.accrued !== next.value && hasOneMove(next) ? [reply, next] : null
    } catch (error) {
        if (error instanceof Refused) return null // a table is missing
        throw error
    }
}

/** Return moves from a position, each with the position that it leads to. @type {(moves: SteppedMove[], from: {fen: string}) => SteppedMove[]} */
function withPositions(moves, {fen}) {
    return moves.map(move => ({...move, fen: fen = after(fen, move.uci)}))
}

/** Return best play after a move; empty if best play needs depths that are not stored. @type {(move: Move) => Promise<PlyDocument[]>} */
async function lineAfter({uci, accrued}) {
    try {
        return (await ask("r/mainline", {fen: after(asked.fen, uci), accrued})).mainline
    } catch (error) {
        if (error instanceof Refused && error.code === "missing_layer") return []
        throw error
    }
}

/** Make the correct move on the board, and show the play that follows. @type {(said: (Node | string)[], isSolved: boolean) => Promise<void>} */
async function finish(said, isSolved) {
    const [move] = asked.moves
    answered = move
    $("give-up").disabled = true
    $("said").replaceChildren(...said)
    if (isSolved) store(SOLVED_KEY, solved() + 1)
    showSolved()
    walk = withPositions([...found, move], puzzle)
    isDone = true
    go(walk.length)
    const line = await lineAfter(move)
    if (answered !== move || !line.length) return
    walk = withPositions([...found, move, ...line], puzzle)
    $("said").append(" Best play continues: ", told)
    go(made)
}

/** Show the position after a number of moves of `walk`. Before the first move, show its arrow. @type {(number: number) => void} */
function go(number) {
    if (!walk.length) return
    made = Math.min(Math.max(number, 0), walk.length)
    const labels = numbered((isDone ? puzzle : asked).fen, walk.map(ply => ply.san))
    refill(told, steps(labels, index => go(index + 1), made - 1), "[aria-current]")
    const arrows = isDone ? [{uci: walk[0].uci, kind: "success"}] : [{uci: walk[0].uci, kind: "info"}, ...walk.slice(1, 2).map(({uci}) => ({uci, kind: "secondary"}))]
    if (!made && !isDone) {
        restore(arrows)
        return
    }
    const {fen, uci = null, accrued} = walk[made - 1] ?? /** @type {Partial<Ply>} */ (puzzle)
    board.show(fen, isBlack())
    board.play([])
    board.last(uci)
    board.arrows(made ? [] : arrows)
    attempt($("problem"), async () => {
        const there = await ask("r", {fen, accrued})
        if (board.fen === fen) mobility.show(there, isBlack())
    })
}

const solved = () => Number(stored(SOLVED_KEY)) || 0

const showSolved = () => {
    $("solved").textContent = String(solved())
}

const beginToday = () => begin(() => ofDay(today()))
const beginAnother = () => begin(() => fresh("r/puzzle", {level: $("level").value}))

$("level").addEventListener("change", beginAnother)
onClick({
    today: beginToday,
    another: beginAnother,
    "give-up": () => attempt($("problem"), () => finish(["It is ", h("b", {}, asked.moves[0].san), "."], false)),
})
onKey(key => {
    if (key === "ArrowLeft") go(made - 1)
    else if (key === "ArrowRight") go(made + 1)
    else return false
    return walk.length > 0
})

showSolved()
const given = new URLSearchParams(location.search)
const level = [...$("level").options].map(option => option.value).find(value => value === given.get("level"))
const day = given.get("day")?.match(/^\d{4}-\d\d-\d\d$/)?.[0]
$("level").value = history.state?.wanted ?? level ?? ""
if (given.get("fen")) begin(() => puzzleOfAddress(given.get("fen").replaceAll("_", " "), level, day))
else beginToday()
