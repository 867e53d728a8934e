// The displays beside a board: the number of legal moves of the side to move, the accrued score as a bar, and the graph of scores over a game.

/** @typedef {import("./board.js").Board} Board */

import {$, svg} from "./browser.js"
import {moverOf, squaresOf} from "./position.js"
import {counted, height, isWhites, markOf, movesIn, opponentHas} from "./score.js"

/** The least width of the graph of a game, its height, and the width of its labels. */
export const LEAST_WIDTH = 320
const HEIGHT = 150
export const LEFT = 44
/** Scores of a higher rank differ by hardly any points, and are shown paler. */
const DULL = "G6.0"
const GRID = ["G0.5", "G2.0", "G6.0", "-G6.0", "-G2.0", "-G0.5"]

export class Mobility {
    /** @param {Board} board the board on which the targets of moves are marked */ constructor(board) {
        this.board = board
        this.answer = null
        $("count").addEventListener("click", () => this.mark($("count").getAttribute("aria-pressed") !== "true"))
    }

    /** Show the number of moves of an answer, and the accrued score as a bar; show neither if the answer is null. @type {(answer: Answer, flipped: boolean) => void} */
    show(answer, flipped) {
        this.answer = answer
        if (!answer) showCount(null, null)
        $("accrued-bar").classList.toggle("unknown", !answer?.accrued)
        this.mark($("count").getAttribute("aria-pressed") === "true")
        if (!answer) return
        const {fen, accrued, position_score: positionScore} = answer
        showCount(fen, positionScore)
        if (accrued) showBar(accrued, flipped)
    }

    /** @type {(pressed: boolean) => void} */ mark(pressed) {
        $("count").setAttribute("aria-pressed", String(pressed))
        this.board.spot(pressed && this.answer ? this.answer.moves.map(({uci}) => squaresOf(uci)[1]) : [])
    }
}

/** Show the number of legal moves of the side to move, and the position score; nothing if the score is null. @type {(fen: string, own: string) => void} */
export function showCount(fen, positionScore) {
    $("mobility").classList.toggle("unknown", !positionScore)
    if (!positionScore) return
    $("count").textContent = `${moverOf(fen)} ${opponentHas(positionScore)}`
    $("count-score").textContent = positionScore
}

/**
 * Show the accrued score as a bar in the colour of its holder, with the legend in the empty half.
 *
 * @type {(accrued: string, flipped: boolean) => void}
 * @param accrued
 * @param flipped whether Black is below
 */
export function showBar(accrued, flipped) {
    $("accrued-bar").classList.remove("unknown")
    $("accrued-legend").textContent = `Accrued so far: ${accrued}`
    $("accrued-bar").classList.toggle("flipped", flipped)
    $("accrued-fill").style.height = `${50 * Math.abs(height(accrued))}%`
    $("accrued-fill").className = isWhites(accrued) ? "white" : "black"
}

// The graph of a game: accrued scores, and values where tables have them.

/**
 * Return the graph of a game.
 *
 * @type {(plies: GraphPly[], shown: {width: number, at?: number, whole?: boolean, onGo?: (at: number) => unknown}) => SVGSVGElement}
 * @param plies positions with `accrued`, and `value` if a table has it
 * @param shown the graph's `width`, and optionally `at`, the position to mark; `whole`, whether all values that the
 *     tables have are present; `onGo`, called with the number of the chosen position
 */
export function graph(plies, {width: wanted, at = null, whole = false, onGo = null}) {
    const width = Math.max(wanted, LEAST_WIDTH)
    const x = (/** @type {number} */ ply) => LEFT + (width - LEFT - 8) * ply / Math.max(plies.length - 1, 1)
    const y = (/** @type {string} */ value) => HEIGHT / 2 - (HEIGHT / 2 - 8) * height(value)
    const first = plies.findIndex(ply => ply.value)
    const all = plies.map((ply, index) => /** @type {[GraphPly, number]} */ ([ply, index]))
    const known = all.filter(([ply]) => ply.value)
    const accrued = all.filter(([ply]) => ply.accrued)
    const said = `Accrued score over ${counted(movesIn(plies.length - 1), "move")}, from ${accrued[0]?.[0].accrued} to ${accrued.at(-1)?.[0].accrued}`
    const drawn = svg("svg", {viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": said},
        GRID.map(value => [
            svg("line", {class: "grid", x1: LEFT, x2: width, y1: y(value), y2: y(value)}),
            svg("text", {x: LEFT - 6, y: y(value) + 3.5, "text-anchor": "end"}, value),
        ]),
        svg("line", {class: "middle", x1: LEFT, x2: width, y1: HEIGHT / 2, y2: HEIGHT / 2}),
        whole && first > 0 ? [
            svg("line", {class: "tables", x1: x(first), x2: x(first), y1: 0, y2: HEIGHT}),
        ] : [],
        svg("path", {class: "accrued", d: steps(accrued.map(([ply, index]) => [x(index), y(ply.accrued)]))}),
        known.length ? svg("path", {class: "value", d: pieces(known, x, y)}) : [],
        known.filter(([ply, index]) => markOf(plies[index - 1], ply)).map(([ply, index]) => svg("circle", {class: "mistake", cx: x(index), cy: y(ply.value), r: 4})),
        svg("rect", {class: "muted", x: LEFT, width: width - LEFT, y: y(DULL), height: y(`-${DULL}`) - y(DULL)}),
        at === null ? [] : svg("line", {class: "here", x1: x(at), x2: x(at), y1: 0, y2: HEIGHT}))
    if (onGo) offerPlies(drawn, width, plies.length - 1, onGo)
    return drawn
}

/** Call `onGo` with the number of the ply at which a graph of a game is clicked. @type {(drawn: SVGSVGElement, width: number, last: number, onGo: (at: number) => unknown) => void} */
export function offerPlies(drawn, width, last, onGo) {
    drawn.addEventListener("click", event => {
        const box = drawn.getBoundingClientRect()
        const place = (event.clientX - box.left) / box.width * width
        const ply = Math.round((place - LEFT) / (width - LEFT - 8) * last)
        onGo(Math.min(Math.max(ply, 0), last))
    })
}

/** Return a step-shaped path through points. @type {(points: number[][]) => string} */
const steps = points => points.map(([x, y], index) => index ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}`).join("")

/** Return a path through the positions with values, interrupted at positions without. @type {(known: [GraphPly, number][], x: (ply: number) => number, y: (value: string) => number) => string} */
function pieces(known, x, y) {
    let last = -2
    let path = ""
    for (const [ply, index] of known) {
        const [at, level] = [x(index).toFixed(1), y(ply.value).toFixed(1)]
        path += index === last + 1 ? `H${at}V${level}` : `M${at} ${level}h0.1`
        last = index
    }
    return path
}
