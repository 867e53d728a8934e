// The moves, grouped by what they keep, and what becomes of them under the pointer.

import {$, h, refill, score} from "./dom.js"
import {isView} from "./state.js"
import {plies, pointsText} from "./score.js"

const MOST_BEST = 8

/**
 * Show the moves of an answer.
 *
 * @param {object} does `play(move)`, `look(move)` and `leave()`
 */
export function showMoves(element, answer, rules, does) {
    const {beyond} = answer
    const groups = new Map()
    for (const move of answer.moves) {
        const key = isView(rules) && !beyond ? `${move.winner} ${move.points.white}` : move.value
        groups.set(key, [...(groups.get(key) ?? []), move])
    }
    const lists = [...groups.values()].map((moves, index) => h("section", {class: index || beyond ? "kept" : "kept best"},
        h("h3", {}, heading(moves[0], index, rules, answer), " ", h("small", {}, moves[0].points ? pointsText(moves[0].points) : "")),
        h("ul", {}, moves.map(move => h("li", {}, button(move, rules, does))))))
    const none = h("p", {class: "note"}, "No moves: the game is over.")
    refill(element, lists.length ? lists : [none])
    $("moves-reset").hidden = rules !== "r"
}

function heading(move, index, rules, {accrued, beyond}) {
    if (beyond) return move.value ? ["leads to ", score(move.value)] : "leads where no table says it"
    if (isView(rules)) {
        if (move.winner === null) return "draws"
        const side = move.winner === "white" ? "White" : "Black"
        return `${side} ${move.points[move.winner] === 1 ? "wins" : "stalemates"}`
    }
    return [index ? "leads to " : move.value === accrued ? "keeps " : "gets ", score(move.value)]
}

function button(move, rules, does) {
    const depth = move.checkmate ? "mate" : move.stalemate ? "stalemate" : move.depth === null ? "" : String(move.depth)
    const said = [
        move.depth === null ? "" : `${plies(move.depth)} to go`,
        isView(rules) || !move.accrued ? "" : `accrued after it ${move.accrued}`,
        move.zeroing && rules === "r" ? "resets" : "",
    ].filter(Boolean).join(", ")
    return h("button", {
        type: "button",
        class: move.zeroing && rules === "r" ? "move zeroing" : "move",
        "data-uci": move.uci,
        title: said,
        onclick: () => does.play(move),
        onpointerenter: () => does.look(move),
        onpointerleave: () => does.leave(),
        onfocus: () => does.look(move),
        onblur: () => does.leave(),
    }, h("b", {}, move.san), depth && h("small", {}, depth))
}

/** Return the best moves of those of an answer: the first one, and those of the same value in as many plies. */
export function bestOf(moves) {
    const [best] = moves
    const isAsGood = ({value, winner, depth}) => value === best.value && winner === best.winner && depth === best.depth
    const isDecisive = best && best.depth !== null && best.winner !== null
    return isDecisive ? moves.filter(isAsGood).slice(0, MOST_BEST) : moves.slice(0, 1)
}

/** Return the move that somebody has typed, undefined if it is none: UCI, or SAN with or without its marks. */
export function typedMove(moves, typed) {
    const bare = text => text.replace(/[+#]/g, "")
    const plain = text => text.replace(/[+#=x]/g, "").replace(/0/g, "o").toLowerCase()
    return moves.find(move => move.uci === typed.toLowerCase()) ?? moves.find(move => bare(move.san) === bare(typed)) ??
        moves.find(move => plain(move.san) === plain(typed))
}
