// The moves made so far, and the score that has accrued over them as a graph.

import {$, h, score, svg} from "./dom.js"
import {numbered} from "./position.js"
import {height} from "./score.js"

const LEAST_WIDTH = 320
const HEIGHT = 150
const LEFT = 44
const GRID = ["G0.5", "G2.0", "G6.0", "-G6.0", "-G2.0", "-G0.5"]

/**
 * Show the game.
 *
 * @param {object[]} plies positions with `fen`, `san`, `accrued`, and `value` where a table says it
 * @param {number} at the one that is shown
 * @param {boolean} whole whether values are there wherever tables say them
 * @param {(at: number) => void} onGo told where to go
 */
export function showGame(plies, at, whole, onGo) {
    $("game").hidden = plies.length < 2
    if (plies.length < 2) return
    const labels = numbered(plies[0].fen, plies.slice(1).map(ply => ply.san))
    const steps = labels.map(([label, san], index) => [label && `${label} `, step(san, index + 1, at, onGo), " "])
    $("played").replaceChildren(step("start", 0, at, onGo), " ", ...steps.flat())
    const list = $("played")
    const here = list.querySelector("[aria-current]")
    if (here) list.scrollTop = here.offsetTop - list.offsetTop - list.clientHeight / 2
    $("graph").replaceChildren(graph(plies, at, whole, onGo))
}

function step(san, at, shown, onGo) {
    return h("button", {type: "button", class: "step", "aria-current": at === shown ? "step" : false, onclick: () => onGo(at)}, san)
}

function graph(plies, at, whole, onGo) {
    const width = Math.max($("graph").clientWidth, LEAST_WIDTH)
    const x = ply => LEFT + (width - LEFT - 8) * ply / (plies.length - 1)
    const y = value => HEIGHT / 2 - (HEIGHT / 2 - 8) * height(value)
    const first = plies.findIndex(ply => ply.value)
    const known = plies.map((ply, index) => [ply, index]).filter(([ply]) => ply.value)
    const accrued = plies.map((ply, index) => [ply, index]).filter(([ply]) => ply.accrued)
    const said = `Accrued score over ${plies.length - 1} plies, from ${accrued[0]?.[0].accrued} to ${accrued.at(-1)?.[0].accrued}`
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
        svg("line", {class: "here", x1: x(at), x2: x(at), y1: 0, y2: HEIGHT}))
    drawn.addEventListener("click", event => {
        const box = drawn.getBoundingClientRect()
        const place = (event.clientX - box.left) / box.width * width
        const ply = Math.round((place - LEFT) / (width - LEFT - 8) * (plies.length - 1))
        onGo(Math.min(Math.max(ply, 0), plies.length - 1))
    })
    return drawn
}

/** Return a path that stays where it is until the next point. */
const steps = points => points.map(([x, y], index) => index ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}`).join("")

/** Return a path through what is known, broken where it is not. */
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

/** Say what a refereed game has come to. */
export function showOutcome(element, refereed) {
    if (!refereed) {
        element.replaceChildren()
        return
    }
    const {outcome, plies, missing_tables: missing} = refereed
    const first = plies.find(ply => ply.value)
    element.replaceChildren(...[
        "Result ", score(outcome.value), ` (${BASES[outcome.basis] ?? outcome.basis}), accrued at the end `, score(plies.at(-1).accrued), ". ",
        !first ? "No table reaches it." : first.ply ? `Tables begin at ply ${first.ply}.` : "",
        missing.length ? [" More is known after ", h("code", {}, `tbgen build ${missing.join(" ")}`), "."] : "",
    ].flat())
}

const BASES = {accrued: "what was played", tablebase: "by the tables", solved: "proved", mate: "mate", stalemate: "stalemate"}
