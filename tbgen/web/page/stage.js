// The game on the large board: what its engines think, its moves, which can be walked, and what accrues.

import {$, h, refill} from "./dom.js"
import {graph} from "./graph.js"
import {onKey} from "./keys.js"
import {showBar, showCount} from "./mobility.js"
import {numbered} from "./position.js"
import {View} from "./watched.js"

const SIDES = ["black", "white"]
/** Evaluation, depth and time of a move, as its comment has them. */
const TOLD = /^(\S+)\/(\d+) ([\d.]+s)/

export class Stage extends View {
    constructor() {
        super($("board"))
        this.sounds = true
        /** The number of plies after which the game is shown; null for as many as there are. */
        this.at = null
        this.players = {black: $("black"), white: $("white")}
        for (const [id, step] of Object.entries(this.steps)) $(id).addEventListener("click", step)
        onKey(key => ({ArrowLeft: this.steps.back, ArrowRight: this.steps.forward, Home: this.steps.first, End: this.steps.last})[key]?.())
    }

    steps = {
        first: () => this.go(0),
        back: () => this.go(Math.max(0, this.here - 1)),
        forward: () => this.go(this.here + 1),
        last: () => this.go(null),
    }

    get here() {
        return this.at ?? this.game?.plies.length ?? 0
    }

    /** Whether another game may be shown: there is none, or it is over and nobody walks through it. */
    get free() {
        return !this.game || (this.game.result !== null && this.at === null)
    }

    take(game) {
        this.game = game
        this.at = null
        game.view = this
        $("stage").hidden = false
        $("stage").setAttribute("aria-label", `Game ${game.key}`)
        $("stage-label").replaceChildren(`${game.white} – ${game.black} `, h("small", {}, game.key))
        this.show()
    }

    close() {
        if (this.game) this.game.view = null
        this.game = null
    }

    /** Go to the position after so many plies; at the last one the game is followed. */
    go(at) {
        if (!this.game) return
        this.at = at === null || at >= this.game.plies.length ? null : at
        this.show()
    }

    show() {
        const {game, here} = this
        const followed = this.at === null
        this.draw(here)
        $("now-score").textContent = game.accruedAt(here)
        showBar(game.accruedAt(here), false)
        showCount(game.fenAt(here), game.ownAt(here))
        for (const side of SIDES) this.showEngine(side)
        this.showMoves()
        const shown = {width: $("graph").clientWidth, at: followed ? null : here, onGo: at => this.go(at)}
        $("graph").replaceChildren(...game.plies.length ? [graph([game.start, ...game.plies], shown)] : [])
        $("banner").hidden = !game.result || !followed
        $("banner").replaceChildren(...game.result ?? [])
        $("explore").href = game.link
        $("first").disabled = $("back").disabled = here === 0
        $("forward").disabled = $("last").disabled = followed
        $("last").textContent = game.result ? "End" : "Now"
        this.tick()
    }

    /** Show what an engine thinks, or has told of its last move before the position that is shown. */
    showEngine(side) {
        const {game} = this
        const thinks = game.thought !== null && !game.result && this.at === null && game.moverOf(game.plies.length) === side
        const number = thinks ? game.plies.length : [...game.plies.keys()].findLast(each => each < this.here && game.moverOf(each) === side)
        const {comment = "", line = ""} = (thinks ? game.thought : game.plies[number]) ?? {}
        const [, evaluation = "", depth = "", time = comment] = comment.match(TOLD) ?? []
        const set = (name, text) => $(`${side}-${name}`).textContent = text
        set("engine", game[side])
        set("evaluation", evaluation || "–")
        set("depth", [depth && `depth ${depth}`, time].filter(Boolean).join(", "))
        set("line", line ? textOf(numbered(game.fenAt(number), line.split(" "))) : "")
        $(`${side}-engine`).parentElement.classList.toggle("thinks", thinks)
    }

    showMoves() {
        const {game, here} = this
        const labels = numbered(game.start.fen, game.plies.map(ply => ply.san))
        const moves = labels.flatMap(([label, san], index) => [
            label && `${label} `,
            h("button", {type: "button", class: "step", title: game.plies[index].comment || false, "aria-current": index + 1 === here ? "step" : false, onclick: () => this.go(index + 1)}, san), " "])
        refill($("played"), moves, "[aria-current]")
        const current = $("played").querySelector("[aria-current]")
        $("played").scrollTop = current ? current.offsetTop - $("played").offsetTop - $("played").clientHeight / 2 : 0
    }
}

const textOf = moves => moves.map(([label, san]) => label ? `${label} ${san}` : san).join(" ")
