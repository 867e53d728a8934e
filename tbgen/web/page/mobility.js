// How many legal moves the side to move has, where they lead, and what has accrued: beside the board.

import {$} from "./dom.js"
import {height, isWhite, moverOf, opponentHas} from "./score.js"
import "./terms.js"

export class Mobility {
    /** @param {Board} board that shows where the moves lead */
    constructor(board) {
        this.board = board
        this.answer = null
        $("count").addEventListener("click", () => this.mark($("count").getAttribute("aria-pressed") !== "true"))
    }

    /** Show the number of moves of an answer, and the accrued score as a bar; nothing if it is null. */
    show(answer, flipped) {
        this.answer = answer
        if (!answer) showCount(null, null)
        $("accrued-bar").classList.toggle("unknown", !answer?.accrued)
        this.mark($("count").getAttribute("aria-pressed") === "true")
        if (!answer) return
        const {fen, accrued, position_score: own} = answer
        showCount(fen, own)
        if (accrued) showBar(accrued, flipped)
    }

    mark(pressed) {
        $("count").setAttribute("aria-pressed", pressed)
        this.board.spot(pressed && this.answer ? this.answer.moves.map(move => move.uci.slice(2, 4)) : [])
    }
}

/** Show how many legal moves the side to move has in a position with a score of its own; nothing where that is not known. */
export function showCount(fen, own) {
    $("mobility").classList.toggle("unknown", !own)
    if (!own) return
    $("count").textContent = `${moverOf(fen)} ${opponentHas(own)}`
    $("count-score").textContent = own
}

/** Show the accrued score as a bar in the colour of its holder. */
export function showBar(accrued, flipped) {
    $("accrued-bar").classList.remove("unknown")
    $("accrued-bar").setAttribute("aria-label", `Accrued so far: ${accrued}`)
    $("accrued-bar").title = `Accrued so far: ${accrued}`
    $("accrued-bar").classList.toggle("flipped", flipped)
    $("accrued-fill").style.height = `${50 * Math.abs(height(accrued))}%`
    $("accrued-fill").className = isWhite(accrued) ? "white" : "black"
}
