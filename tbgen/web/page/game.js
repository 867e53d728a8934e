// The moves made so far.

import {$, h, refill, score} from "./dom.js"
import {graph} from "./graph.js"
import {numbered} from "./position.js"

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
    refill($("played"), [step("start", 0, at, onGo), " ", ...steps.flat()], "[aria-current]")
    const list = $("played")
    const here = list.querySelector("[aria-current]")
    if (here) list.scrollTop = here.offsetTop - list.offsetTop - list.clientHeight / 2
    $("graph").replaceChildren(graph(plies, {width: $("graph").clientWidth, at, whole, onGo}))
}

function step(san, at, shown, onGo) {
    return h("button", {type: "button", class: "step", "aria-current": at === shown ? "step" : false, onclick: () => onGo(at)}, san)
}

/** Say what a refereed game has come to. */
export function showOutcome(element, refereed) {
    if (!refereed) {
        element.replaceChildren()
        return
    }
    const {outcome, plies, missing_tables: missing, variations} = refereed
    const first = plies.find(ply => ply.value)
    element.replaceChildren(...[
        "Result ", score(outcome.value), ` (${BASES[outcome.basis] ?? outcome.basis}), accrued at the end `, score(plies.at(-1).accrued), ". ",
        !first ? "No table reaches it." : first.ply ? `Tables begin at ply ${first.ply}.` : "",
        variations ? ` ${variations === 1 ? "Its variation is" : `Its ${variations} variations are`} left out.` : "",
        missing.length ? [" More is known after ", h("code", {}, `tbgen build ${missing.join(" ")}`), "."] : "",
    ].flat())
}

const BASES = {accrued: "what was played", tablebase: "by the tables", solved: "proved", mate: "mate", stalemate: "stalemate"}
