// Puzzles: positions in which one move alone keeps the value. The server makes them; what is solved is counted here.

import {Refused, ask, attempt, fresh} from "./api.js"
import {Board} from "./board.js"
import {$, h, score, turnTo} from "./dom.js"
import {after, numbered} from "./position.js"
import {leaves, moverOf, otherSide, rankOf} from "./score.js"
import {count, counted} from "./solved.js"

const SHOWN = 8
const board = new Board($("board"), move => attempt($("problem"), () => answer(move)), () => {})

let puzzle = null
/** Whether the puzzle shown has been solved or given up. */
let over = false
/** The move that is being answered; null if what is said about it is no longer wanted. */
let answered = null

async function begin(wanted, name) {
    $("another").disabled = $("today").disabled = true
    await attempt($("problem"), async () => {
        puzzle = await fresh("r/puzzle", wanted)
        over = false
        answered = null
        $("name").textContent = `${name}, ${puzzle.level}`
        $("task").textContent = task()
        $("said").replaceChildren()
        $("give-up").disabled = false
        const query = `?fen=${puzzle.fen.replaceAll(" ", "_")}${isBlack() ? "&side=black" : ""}`
        turnTo($("explore"), query)
        turnTo($("play-on"), query)
        restore()
    })
    $("another").disabled = $("today").disabled = false
}

const isBlack = () => moverOf(puzzle.fen) === "Black"

const today = () => new Date().toISOString().slice(0, 10)

function task() {
    const mover = moverOf(puzzle.fen)
    const rank = rankOf(puzzle.value)
    const goal = rank === 0 ? "mates" : rank === 1 ? `stalemates ${otherSide(mover)}` : `gets ${otherSide(mover)} ${leaves(puzzle.value)}`
    return `${mover} to move ${goal} (${puzzle.value}). One move alone leads there: find it.`
}

/** Show the position of the puzzle, from the side of who solves it. */
function restore(arrows = []) {
    board.show(puzzle.fen, isBlack())
    board.play(over ? [] : puzzle.moves)
    board.arrows(arrows)
}

async function answer(move) {
    const {uci, san} = move
    const right = uci === puzzle.moves[0].uci
    if (right) finish(["Right: ", h("b", {}, san), ". "], true)
    else restore()
    answered = move
    const line = await lineAfter(move)
    if (answered !== move) return
    const text = numbered(puzzle.fen, [san, ...line.map(ply => ply.san)].slice(0, SHOWN))
        .map(([label, each]) => label ? `${label} ${each}` : each).join(" ")
    if (right) {
        $("said").append(`Best play goes on: ${text}`)
        return
    }
    $("said").replaceChildren("Not ", h("b", {}, san), ": it leads to ", score(move.value), `, by ${text}. Try again.`)
    restore([{uci, kind: "info"}, ...line.slice(0, 1).map(ply => ({uci: ply.uci, kind: "secondary"}))])
}

/** Return best play after a move; none if it takes depths that are not stored. */
async function lineAfter({uci, accrued}) {
    try {
        return (await ask("r/mainline", {fen: after(puzzle.fen, uci), accrued})).mainline
    } catch (error) {
        if (error instanceof Refused && error.code === "missing_layer") return []
        throw error
    }
}

function finish(said, solved) {
    over = true
    answered = null
    $("give-up").disabled = true
    $("said").replaceChildren(...said)
    restore([{uci: puzzle.moves[0].uci, kind: "success"}])
    if (solved) count()
    showCount()
}

const showCount = () => {
    $("solved").textContent = String(counted())
}

$("today").addEventListener("click", () => begin({day: today()}, "Today's puzzle"))
$("another").addEventListener("click", () => begin({level: $("level").value}, "A puzzle"))
$("give-up").addEventListener("click", () => finish(["It is ", h("b", {}, puzzle.moves[0].san), "."], false))

showCount()
begin({day: today()}, "Today's puzzle")
