// What engines think: their evaluations and times over a game as a graph, and the figures of their searches.

import {svg} from "./browser.js"
import {LEAST_WIDTH, LEFT, offerPlies} from "./mobility.js"
import {counted, movesIn} from "./score.js"

/** Evaluation, depth and time in the comment of a move. */
const THOUGHT = /^(\S+)\/(\d+) ([\d.]+s)/
/** Heights of the curves and of the bars of time below them. */
const CURVES = 92
const BARS = 24
/** The evaluation in pawns that is drawn at half the height; mates are at the edge. */
const HALF = 2
const GRID = [1, 4, -4, -1]
/** @type {Colour[]} */ const SIDES = ["white", "black"]

/** Return the parts of a move's comment; null if the engine has reported no evaluation. @type {(comment: string) => {evaluation: string, depth: string, time: string}} */
export function thoughtOf(comment) {
    const [, evaluation, depth, time] = comment.match(THOUGHT) ?? []
    return evaluation ? {evaluation, depth, time} : null
}

/** Return the figures of a search: "1.2M nodes, 430k/s, 12 hits". @type {(search: SearchFigures) => string} */
export function figuresText(search) {
    const {nodes = null, speed = null, hits = null} = search ?? {}
    return [nodes === null ? "" : `${short(nodes)} nodes`, speed === null ? "" : `${short(speed)}/s`, hits ? counted(hits, "tablebase hit") : ""].filter(Boolean).join(", ")
}

/** Return a count with at most four characters. @type {(count: number) => string} */
function short(count) {
    if (count < 1e3) return String(count)
    const [divisor, letter] = count < 1e6 ? [1e3, "k"] : count < 1e9 ? [1e6, "M"] : [1e9, "G"]
    const share = count / divisor
    return `${share < 9.95 ? share.toFixed(1) : Math.round(share)}${letter}`
}

/** Return an evaluation as a share of the height: 1 for a mate, 0 if the sides are level. @type {(evaluation: string) => number} */
function heightOf(evaluation) {
    if (evaluation.includes("M")) return evaluation.startsWith("-") ? -1 : 1
    const pawns = Number(evaluation)
    return pawns / (Math.abs(pawns) + HALF)
}

/**
 * Return the graph of both engines' evaluations in pawns, seen from White, and of the time that each move has taken.
 *
 * @type {(game: {plies: LivePly[], white: string, black: string, moverOf: (number: number) => Colour}, shown: {width: number, at?: number, onGo: (at: number) => unknown}) => SVGSVGElement}
 * @param shown as for the graph of accrued scores
 */
export function evaluations({plies, white, black, moverOf}, {width: wanted, at = null, onGo}) {
    const width = Math.max(wanted, LEAST_WIDTH)
    const x = (/** @type {number} */ ply) => LEFT + (width - LEFT - 8) * ply / Math.max(plies.length, 1)
    const y = (/** @type {number} */ share) => CURVES / 2 - (CURVES / 2 - 6) * share
    const bottom = CURVES + BARS
    const thoughts = plies.map(({comment}, index) => ({...thoughtOf(comment), mover: moverOf(index), ply: index + 1}))
    const seconds = thoughts.map(({time}) => parseFloat(time ?? "0"))
    const most = Math.max(...seconds, 1e-9)
    const thick = Math.max(1, (width - LEFT) / (plies.length + 1) - 1)
    const curve = (/** @type {Colour} */ side) => thoughts
        .filter(({mover, evaluation}) => mover === side && evaluation)
        .map(({evaluation, ply}, index) => `${index ? "L" : "M"}${x(ply).toFixed(1)} ${y(heightOf(evaluation) * (side === "white" ? 1 : -1)).toFixed(1)}${index ? "" : "h0.1"}`).join("")
    const drawn = svg("svg", {viewBox: `0 0 ${width} ${bottom}`, role: "img", "aria-label": `Evaluations by ${white} and ${black} over ${counted(movesIn(plies.length), "move")}, and the time of each move, at most ${most.toFixed(1)} seconds`},
        GRID.map(pawns => [
            svg("line", {class: "grid", x1: LEFT, x2: width, y1: y(heightOf(String(pawns))), y2: y(heightOf(String(pawns)))}),
            svg("text", {x: LEFT - 6, y: y(heightOf(String(pawns))) + 3.5, "text-anchor": "end"}, `${pawns > 0 ? "+" : "−"}${Math.abs(pawns)}`),
        ]),
        svg("line", {class: "middle", x1: LEFT, x2: width, y1: y(0), y2: y(0)}),
        svg("text", {x: LEFT - 6, y: bottom - 3, "text-anchor": "end"}, most < 1 ? "" : `${Math.round(most)} s`),
        thoughts.map(({mover, ply}, index) => svg("rect", {class: `time ${mover}`, x: x(ply) - thick / 2, width: thick, y: bottom - (BARS - 4) * seconds[index] / most, height: (BARS - 4) * seconds[index] / most})),
        SIDES.map(side => svg("path", {class: `thought ${side}`, d: curve(side)})),
        at === null ? [] : svg("line", {class: "here", x1: x(at), x2: x(at), y1: 0, y2: bottom}))
    offerPlies(drawn, width, plies.length, onGo)
    return drawn
}
