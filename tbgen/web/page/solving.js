// Positions that no table holds: the server narrows the interval that the value lies in, and tells of it.

import {$, h, score} from "./dom.js"
import {pointsText} from "./score.js"

let asking = null

/** Let the server stop: it ends what it does when nobody listens. */
export function stopSolving() {
    asking?.abort()
    asking = null
}

/** Offer to solve a position. */
export function offerSolving(element, fen, accrued) {
    const button = h("button", {type: "button", onclick: () => solve(element, fen, accrued)}, "Solve it here")
    element.append(h("p", {}, button, " ", h("span", {class: "note"}, "This may take a minute.")))
}

async function solve(element, fen, accrued) {
    stopSolving()
    const mine = asking = new AbortController()
    const shown = h("p", {class: "interval", role: "status"}, "Solving …")
    const stop = h("button", {type: "button", onclick: stopSolving}, "Stop")
    element.replaceChildren(shown, stop)
    try {
        const response = await fetch(`r/solve?${new URLSearchParams(accrued ? {fen, accrued} : {fen})}`, {signal: mine.signal})
        if (!response.ok) shown.textContent = (await response.json()).message
        else for await (const {name, data} of events(response)) show[name]?.(shown, data)
    } catch {
        shown.append(mine.signal.aborted ? " Stopped." : " The connection has broken off.")
    }
    stop.remove()
}

const show = {
    interval(element, {lower, upper, cells}) {
        element.replaceChildren("Between ", score(lower), " and ", score(upper), `, ${cells} cells solved …`)
    },
    refusal(element, {message}) {
        element.textContent = message
    },
    solution(element, {value, lower, upper, points, moves, in_budget: inBudget}) {
        $("value").replaceChildren(...(value === null ? [score(lower), " to ", score(upper)] : [score(value)]))
        const more = value === null && !inBudget ? " More time or memory may narrow it." : ""
        element.textContent = value === null
            ? `White gets ${lower} at least and ${upper} at most.${more}`
            : `Proved: best play comes to ${value}, ${pointsText(points.lower)}.`
        element.after(h("ul", {class: "solved"}, moves.map(move => h("li", {}, h("b", {}, move.san), " ",
            move.lower === move.upper ? score(move.lower) : [score(move.lower), " to ", score(move.upper)]))))
    },
}

/** Yield the events of an answer. An EventSource would not tell why it is refused, and would ask again. */
async function* events(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let text = ""
    for (;;) {
        const {done, value} = await reader.read()
        if (done) return
        text += value
        const blocks = text.split("\n\n")
        text = blocks.pop()
        for (const block of blocks) {
            const [, name, data] = block.match(/^event: (\w+)\ndata: (.*)$/) ?? []
            if (name) yield {name, data: JSON.parse(data)}
        }
    }
}
