// Best play as a line of moves.

import {ask} from "./api.js"
import {h, refill} from "./dom.js"
import {numbered} from "./position.js"
import {isView} from "./state.js"

/** Return best play after an answer about a position, `{fen, accrued}`: moves with `uci`, `san` and what has accrued. */
export async function bestPlay(answer, {fen, accrued}, rules) {
    if (!isView(rules)) return (await ask(`${rules}/mainline`, {fen, accrued})).mainline
    // Where it is known how far it is to mate, whoever takes the first move each time gets there.
    const [best] = answer.moves
    return answer.depth && best ? [{uci: best.uci, san: best.san, accrued: null}] : []
}

/**
 * Show best play.
 *
 * @param {object[]} line moves with `san` and what has accrued after them
 * @param {object} answer what the position is worth
 * @param {(number: number) => void} onGo told how many moves to make
 */
export function showLine(element, line, answer, onGo) {
    const labels = numbered(answer.fen, line.map(ply => ply.san))
    const steps = labels.flatMap(([label, san], index) => [
        label && `${label} `, h("button", {type: "button", class: "step", title: answer.view ? false : `accrued ${line[index].accrued}`, onclick: () => onGo(index + 1)}, san), " "])
    refill(element, line.length ? [...steps, answer.view || line.at(-1).depth ? "…" : ""] : [h("span", {class: "note"}, noLine(answer))])
}

function noLine(answer) {
    if (!answer.moves.length) return "The game is over."
    if (!answer.view) return "Nothing to do: what has accrued is the value."
    return answer.winner === null ? "A draw: there is nothing to reach." : "Who wins is known here, and not how soon: there is no line."
}
