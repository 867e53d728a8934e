// The moves made so far, with their variations, what they lead to and the mistakes.

import {$, h, refill, score} from "./dom.js"
import {SIGNS} from "./game_text.js"
import {graph} from "./graph.js"
import {markOf} from "./mistakes.js"
import {inOrder, lineThrough} from "./tree.js"

/**
 * Show the game.
 *
 * @param {object[]} plies positions with `fen`, `san`, `after`, `accrued`, maybe `comment`, and `value` where a table says it
 * @param {number} at the one that is shown
 * @param {boolean} whole whether values are there wherever tables say them
 * @param {(at: number) => void} onGo told where to go
 */
export function showGame(plies, at, whole, onGo) {
    $("game").hidden = plies.length < 2
    if (plies.length < 2) return
    refill($("played"), [step("start", 0, at, onGo), " ", ...listed(plies, at, onGo)], "[aria-current]")
    const list = $("played")
    const here = list.querySelector("[aria-current]")
    if (here) list.scrollTop = here.offsetTop - list.offsetTop - list.clientHeight / 2
    const line = lineThrough(plies, at)
    const shown = {width: $("graph").clientWidth, at: line.indexOf(at), whole, onGo: index => onGo(line[index])}
    $("graph").replaceChildren(graph(line.map(number => plies[number]), shown))
}

function listed(plies, at, onGo) {
    const open = [[]]
    for (const each of inOrder(plies)) {
        if (each === "(") {
            open.push(["("])
        } else if (each === ")") {
            const variation = open.pop().slice(0, -1)
            open.at(-1).push(h("span", {class: "variation"}, variation, ")"), " ")
        } else {
            const {number, label} = each
            open.at(-1).push(label && `${label} `, made(plies, number, at, onGo), " ")
        }
    }
    return open[0].flat(Infinity)
}

/**
 * Return a move with its mark, and the value of the position it leads to; of a mistake, that of the one before, too.
 * Where the text has glyphs, the mark stands with the values.
 */
function made(plies, number, at, onGo) {
    const {san, nags = [], value, after, comment} = plies[number]
    const before = plies[after]
    const mark = markOf(before, plies[number])
    const said = nags.map(nag => SIGNS[nag] ?? "").join("")
    const shown = [step(san + (said || mark), number, at, onGo, comment)]
    if (value) shown.push(" ", h("small", {class: mark ? "mistake" : "worth"}, mark ? [said && said !== mark ? `${mark} ` : "", score(before.value), " → "] : "", score(value)))
    return shown
}

function step(text, at, shown, onGo, comment = "") {
    return h("button", {type: "button", class: comment ? "step said" : "step", title: comment || false, "aria-current": at === shown ? "step" : false, onclick: () => onGo(at)}, text)
}

/** Say what a refereed game has come to. */
export function showOutcome(element, refereed) {
    if (!refereed?.outcome) {
        element.replaceChildren()
        return
    }
    const {outcome, plies, missing_tables: missing, cut_variations: cut} = refereed
    const first = plies.find(ply => ply.value)
    element.replaceChildren(...[
        "Result ", score(outcome.value), ` (${basisOf(outcome)}), accrued at the end `, score(plies.at(-1).accrued), ". ",
        !first ? "No table reaches it." : first.ply ? `Tables begin at ply ${first.ply}.` : "",
        cut ? ` ${cut === 1 ? "A variation ends" : `${cut} variations end`} before a move that is not legal.` : "",
        outcome.doubts.length ? ` Doubtful: ${outcome.doubts.join(", ")}.` : "",
        missing.length ? [" More is known after ", h("code", {}, `tbgen build ${missing.join(" ")}`), "."] : "",
    ].flat())
}

/** Return by what a game is decided. */
export const basisOf = ({basis}) => BASES[basis] ?? basis

const BASES = {accrued: "what was played", tablebase: "by the tables", solved: "proved", mate: "mate", stalemate: "stalemate"}
