// Positions that no table holds: the server narrows the interval that the value lies in, and tells of it.

import {$, h, score} from "./dom.js"
import {pointsText} from "./score.js"

let source = null

export function stopSolving() {
    source?.close()
    source = null
}

/** Offer to solve a position. */
export function offerSolving(element, fen, accrued) {
    const button = h("button", {type: "button", onclick: () => begin(element, fen, accrued)}, "Solve it here")
    element.append(h("p", {}, button, " ", h("span", {class: "note"}, "This may take a minute.")))
}

function begin(element, fen, accrued) {
    stopSolving()
    const query = new URLSearchParams(accrued ? {fen, accrued} : {fen})
    const shown = h("p", {class: "interval", role: "status"}, "Solving …")
    const stop = h("button", {type: "button", onclick: () => {
        stopSolving()
        shown.append(" Stopped.")
        stop.remove()
    }}, "Stop")
    element.replaceChildren(shown, stop)
    source = new EventSource(`r/solve?${query}`)
    source.addEventListener("interval", event => {
        const {lower, upper, cells} = JSON.parse(event.data)
        shown.replaceChildren("Between ", score(lower), " and ", score(upper), `, ${cells} cells solved …`)
    })
    source.addEventListener("solution", event => {
        stopSolving()
        stop.remove()
        showSolution(element, JSON.parse(event.data))
    })
    source.addEventListener("refusal", event => {
        stopSolving()
        stop.remove()
        shown.textContent = JSON.parse(event.data).message
    })
    source.onerror = () => {
        stopSolving()
        stop.remove()
        shown.textContent = "The server does not solve it now: it may be solving another position. Try again later."
    }
}

function showSolution(element, {value, lower, upper, points, moves, in_budget: inBudget}) {
    const range = value === null ? [score(lower), " to ", score(upper)] : [score(value)]
    $("value").replaceChildren(...range)
    const more = value === null && !inBudget ? " More time or memory may narrow it." : ""
    const said = value === null
        ? `White gets ${lower} at least and ${upper} at most.${more}`
        : `Proved: best play comes to ${value}, ${pointsText(points.lower)}.`
    element.replaceChildren(
        h("p", {role: "status"}, said),
        h("ul", {class: "solved"}, moves.map(move => h("li", {}, h("b", {}, move.san), " ",
            move.lower === move.upper ? score(move.lower) : [score(move.lower), " to ", score(move.upper)]))))
}
