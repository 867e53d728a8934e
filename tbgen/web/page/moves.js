// The legal moves: a list grouped by value, arrows for the move under the pointer, and typed moves.

/** @typedef {import("./board.js").Board} Board */

import {Refused, ask} from "./api.js"
import {$, h, refill} from "./browser.js"
import {after} from "./position.js"
import {counted, movesIn, pointsText, score, winning} from "./score.js"
import {isView, questionOf} from "./state.js"

const MAX_BEST = 8

/**
 * Show the moves of an answer.
 *
 * @type {(element: Element, answer: Answer, rules: string, does: MoveActions) => void}
 * @param does `play(move)`, `look(move)` and `leave()`
 */
export function showMoves(element, answer, rules, does) {
    const {beyond} = answer
    const groups = /** @type {Map<string, Move[]>} */ (new Map())
    for (const move of answer.moves) {
        const key = isView(rules) && !beyond ? `${move.winner} ${move.points.white}` : move.value
        groups.set(key, [...(groups.get(key) ?? []), move])
    }
    const lists = [...groups.values()].map((moves, index) => h("section", {class: index || beyond ? "kept" : "kept best"},
        h("h3", {}, heading(moves[0], index, rules, answer), " ", h("small", {}, moves[0].points ? pointsText(moves[0].points) : "")),
        h("ul", {}, moves.map(move => h("li", {}, button(move, rules, does))))))
    const none = h("p", {class: "note"}, "No moves: the game is over.")
    refill(element, lists.length ? lists : [none])
    $("moves-reset").hidden = rules !== "r" || !answer.moves.some(move => move.zeroing)
}

/** @type {(move: Move, index: number, rules: string, answer: Answer) => Child} */
function heading(move, index, rules, {accrued, beyond}) {
    if (beyond) return move.value ? ["leads to ", score(move.value)] : isView(rules) ? "without values" : "leads outside the tables"
    if (isView(rules)) {
        return move.winner === null ? "draws" : winning(move)
    }
    return [index ? "leads to " : move.value === accrued ? "keeps " : "gets ", score(move.value)]
}

/** @type {(move: Move, rules: string, does: MoveActions) => Button} */ function button(move, rules, does) {
    const depth = move.checkmate ? "mate" : move.stalemate ? "stalemate" : move.depth === null ? "" : String(movesIn(move.depth))
    const said = [
        move.depth === null ? "" : `${counted(movesIn(move.depth), "move")} to go`,
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

/** Return the best moves of an answer: the first move, and all moves with the same value and depth. @type {(moves: Move[]) => Move[]} */
export function bestOf(moves) {
    const [best] = moves
    const isAsGood = (/** @type {Move} */ {value, winner, depth}) => value === best.value && winner === best.winner && depth === best.depth
    const isDecisive = best && best.depth !== null && best.winner !== null
    return isDecisive ? moves.filter(isAsGood).slice(0, MAX_BEST) : moves.slice(0, 1)
}

/** Return the move that was typed, as UCI or as SAN with or without marks; all promotions that fit if no man is named; no move if none is legal. @type {(moves: Move[], typed: string) => Move[]} */
export function typedMoves(moves, typed) {
    const bare = (/** @type {string} */ text) => text.replace(/[+#]/g, "")
    const plain = (/** @type {string} */ text) => text.replace(/[+#=x]/g, "").replace(/0/g, "o").toLowerCase()
    for (const spell of [bare, plain]) {
        const [wanted, names] = [spell(typed), (/** @type {Move} */ {uci, san}) => [uci, spell(san)]]
        const found = moves.find(move => names(move).includes(wanted))
        if (found) return [found]
        const promotions = moves.filter(move => move.uci[4] && names(move).map(name => name.replace(/=?.$/, "")).includes(wanted))
        if (promotions.length) return promotions
    }
    return []
}

// Arrows for the move under the pointer and the best reply to it.

export class Pointing {
    /**
     * @param {Board} board the board that shows the arrows
     * @param {() => string} rules returns the rules that the page shows
     */
    constructor(board, rules) {
        this.board = board
        this.rules = rules
        this.pointed = 0
        this.answer = null
        this.best = /** @type {string[]} */ ([])
    }

    /** Show arrows for the best moves, as UCI; `answer` has the moves that can be pointed at. @type {(answer: Answer, best: string[]) => void} */
    rest(answer, best) {
        this.answer = answer
        this.best = best
        this.board.arrows(best.map(uci => ({uci, kind: "success"})))
    }

    leave() {
        this.pointed++
        $("reply").textContent = "\u00a0"
        this.rest(this.answer, this.best)
    }

    /** @type {(move: Move) => Promise<void>} */ async look(move) {
        if (!this.answer?.moves.includes(move)) return
        const mine = ++this.pointed
        this.board.arrows([{uci: move.uci, kind: "info"}])
        if (this.answer.beyond && !move.value) return
        try {
            const fen = move.fen ?? after(this.answer.fen, move.uci)
            const reply = await ask(this.rules(), questionOf({fen, accrued: move.accrued}, this.rules()))
            if (mine !== this.pointed) return
            const best = reply.moves[0]
            $("reply").textContent = best ? `${move.san}, and the reply is ${best.san}` : `${move.san} ends the game`
            if (best) this.board.arrows([{uci: move.uci, kind: "info"}, {uci: best.uci, kind: "secondary"}])
        } catch (error) {
            if (!(error instanceof Refused)) throw error
        }
    }
}

// Typed moves.

/** Clear the text that was typed in another position. */
export function clearTyping() {
    $("typed").value = ""
    $("typing-problem").textContent = ""
}

/**
 * Let the visitor type moves. For a promotion without its man, the board asks for the man.
 *
 * @type {(board: Board, moves: () => Promise<Move[]>, hindrance?: () => string) => void}
 * @param board the board on which typed moves are made
 * @param moves returns the legal moves of the shown position, once they are available
 * @param hindrance returns why no move can be made now; empty if moves can be made
 */
export function offerTyping(board, moves, hindrance = () => "") {
    $("typing").addEventListener("submit", async event => {
        event.preventDefault()
        const typed = $("typed").value.trim()
        const found = typedMoves(await moves(), typed)
        $("typing-problem").textContent = found.length ? "" : hindrance() || `${typed || "This"} is not a legal move here.`
        if (!found.length) return
        $("typed").value = ""
        board.make(found)
    })
}
