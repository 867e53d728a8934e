// What the pointer rests on: a move, and the best reply to it.

import {Refused, ask} from "./api.js"
import {$} from "./dom.js"
import {after} from "./position.js"
import {isView} from "./state.js"

export class Pointing {
    /**
     * @param {Board} board that shows the arrows
     * @param {() => string} rules returns those that are looked at
     */
    constructor(board, rules) {
        this.board = board
        this.rules = rules
        this.pointed = 0
        this.answer = null
        this.best = []
    }

    /** Show arrows for the best moves, as UCI; the moves of an answer can be looked at. */
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

    async look(move) {
        if (!this.answer?.moves.includes(move)) return
        const mine = ++this.pointed
        this.board.arrows([{uci: move.uci, kind: "info"}])
        if (this.answer.beyond && !move.value) return
        try {
            const fen = move.fen ?? after(this.answer.fen, move.uci)
            const reply = await ask(this.rules(), isView(this.rules()) ? {fen} : {fen, accrued: move.accrued})
            if (mine !== this.pointed) return
            const best = reply.moves[0]
            $("reply").textContent = best ? `${move.san}, and the reply is ${best.san}` : `${move.san} ends the game`
            if (best) this.board.arrows([{uci: move.uci, kind: "info"}, {uci: best.uci, kind: "secondary"}])
        } catch (error) {
            if (!(error instanceof Refused)) throw error
        }
    }
}
