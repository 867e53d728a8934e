// A watched game, on the large board with all details, or on a small board beside it.

import {isStatic} from "./api.js"
import {$, h, offerWalk, onClick, onKey, refillMoves, steps} from "./browser.js"
import {Chessboard, tick} from "./chessboard.js"
import {evaluations, figuresText, thoughtOf} from "./evaluations.js"
import {graph, showBar, showCount} from "./mobility.js"
import {lineText, numbered} from "./position.js"
import {pointsText, score} from "./score.js"

const SECOND_MS = 1000
/** @type {Colour[]} */ const SIDES = ["black", "white"]
/** Kinds of the arrows for the moves that an engine expects: its own, and the reply. */
const ARROWS = ["info", "secondary"]

/** Return the address of a finished game: that of a file if `ending` is a suffix, else the address that redirects to the explorer. @type {(key: string, ending?: string) => `live/games/${string}`} */
export const addressOf = (key, ending = isStatic ? ".html" : "") => `live/games/${encodeURIComponent(key)}${ending}`

/** The state of a game from the server's messages; docs/match.md describes the fields. */
export class Watched {
    /** When the server was lost, the time at which all clocks stand; otherwise null. */
    static lostAt = /** @type {number} */ (null)

    /** @param {LiveGame} told */ constructor(told) {
        this.key = told.key
        this.white = told.white
        this.black = told.black
        this.start = told.start
        this.plies = told.plies
        this.left = told.left
        this.thought = told.thought
        this.heard = performance.now() - SECOND_MS * told.since
        /** The result to show; null before the end. */
        this.result = /** @type {(Node | string)[]} */ (null)
        /** Whether the event has ended, and its clocks with it. */
        this.stopped = false
        /** Whether the game is shown again after its end. */
        this.again = false
        /** The view that shows the game; null if it is not shown. */
        this.view = /** @type {Card | Stage} */ (null)
    }

    /** @type {(told: Moved) => void} */ move({ply, fen, left}) {
        this.plies.push({...ply, fen})
        this.left = left
        this.thought = null
        this.heard = performance.now()
        this.view?.schedule()
    }

    /** Store a thought of the engine to move. @type {(told: Thought) => void} */
    think({comment, line, search, moves}) {
        this.thought = {comment, line, search, moves}
        this.view?.schedule()
    }

    /** End the game; its row in the list of finished games may be missing. @type {(reason: string, found?: FinishedGame) => void} */
    finish(reason, found) {
        this.result = found ? [score(found.value), `, ${pointsText(found.points)}: ${reason}`] : [reason]
        this.view?.schedule()
    }

    /** Return the position after a number of plies. @type {(at: number) => string} */
    fenAt = at => at ? this.plies[at - 1].fen : this.start.fen

    /** Return the position score after a number of plies; empty if unavailable. @type {(at: number) => string} */
    positionScoreAt = at => (at ? this.plies[at - 1] : this.start).position_score

    /** @type {(at: number) => string} */ accruedAt = at => at ? this.plies[at - 1].accrued : this.start.accrued

    /** Return the side that makes a move, by its number from 0. @type {(number: number) => Colour} */
    moverOf = number => (this.start.fen.split(" ")[1] === "w") === (number % 2 === 0) ? "white" : "black"

    /** Return whether a side's clock runs, and its remaining seconds, null without a clock. @type {(side: Colour) => {runs: boolean, left: number}} */
    leftOf(side) {
        const left = this.left[side] ?? null
        const runs = !this.stopped && !this.result && side === this.moverOf(this.plies.length)
        return {runs, left: left === null || !runs ? left : left - ((Watched.lostAt ?? performance.now()) - this.heard) / SECOND_MS}
    }

    get link() {
        const fen = this.fenAt(this.plies.length).replaceAll(" ", "_")
        const query = `fen=${fen}&accrued=${this.accruedAt(this.plies.length)}`
        return this.result ? addressOf(this.key) : `./?${query}`
    }
}

class View {
    /** @param {Element} place the element of the board */ constructor(place) {
        this.game = /** @type {Watched} */ (null)
        this.players = /** @type {Record<Colour, HTMLElement>} */ (null)
        this.scheduled = this.drawing = this.closed = false
        this.drawn = this.wanted = ""
        /** Whether moves make a sound. */
        this.sounds = false
        this.board = new Chessboard(place)
    }

    /** Show changes with the next animation frame, because moves may come faster than frames, or the tab may be hidden. */
    schedule() {
        if (this.scheduled) return
        this.scheduled = true
        requestAnimationFrame(() => {
            this.scheduled = false
            if (this.game && !this.closed) this.show()
        })
    }

    /** Show the game; each kind of view overrides this. */
    show() {}

    /** Draw the position after a number of plies. Of the positions that arrive while men are moving, only the last is drawn. @type {(at: number) => Promise<void>} */
    async draw(at) {
        const {game} = this
        const last = game.plies[at - 1]
        this.wanted = game.fenAt(at)
        this.board.last(last?.uci ?? null)
        this.board.svg.setAttribute("aria-label", last ? `Board after ${lineText(game.fenAt(at - 1), [last.san])}` : "Board before the first move")
        if (this.drawing) return
        this.drawing = true
        while (!this.closed && this.drawn !== this.wanted) {
            if (this.drawn && this.sounds) tick()
            this.drawn = this.wanted
            await this.board.show(this.drawn)
        }
        this.drawing = false
    }

    /** Show the clocks; the clock of the side to move runs. */
    tick() {
        if (!this.game) return
        for (const side of SIDES) {
            const element = this.players[side]
            const {runs, left} = this.game.leftOf(side)
            if (runs) element.setAttribute("aria-current", "true")
            else element.removeAttribute("aria-current")
            element.querySelector(".name").textContent = this.game[side]
            element.querySelector(".clock").textContent = left === null ? "" : time(left)
        }
    }
}

/** A player's row: name and clock. */
const player = () => h("p", {class: "player"}, h("span", {class: "name"}), h("span", {class: "clock"}))

/** Return seconds as on a clock. @type {(seconds: number) => string} */
function time(seconds) {
    const whole = Math.max(0, Math.floor(seconds))
    const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60]
    const two = (/** @type {number} */ number) => String(number).padStart(2, "0")
    return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`
}

// The small board of a game in play, which leads to the large one.

export class Card extends View {
    /**
     * @param {Watched} game
     * @param {() => void} onChoose called when the game is to be shown on the large board
     */
    constructor(game, onChoose) {
        const place = h("div", {class: "board"})
        const players = {black: player(), white: player()}
        const now = h("p", {class: "now"})
        const choose = h("button", {type: "button", onclick: onChoose, "aria-label": `Watch game ${game.key}`}, game.key)
        const element = h("article", {class: "match", "aria-label": `Game ${game.key}`}, players.black, place, players.white, now, choose)
        $("playing").append(element)
        super(place)
        this.game = game
        this.players = players
        this.now = now
        this.element = element
        game.view = this
        this.show()
    }

    show() {
        const {game} = this
        this.draw(game.plies.length)
        this.element.classList.toggle("over", game.result !== null)
        this.now.replaceChildren(...game.result ?? ["Accrued ", score(game.accruedAt(game.plies.length))])
        this.tick()
    }

    close() {
        this.closed = true
        this.game.view = null
        this.element.remove()
    }
}

// The large board: the engines' thoughts, the moves, which can be stepped through, and the accrued score.

export class Stage extends View {
    constructor() {
        super($("board"))
        this.sounds = true
        /** The number of plies after which the game is shown; null to follow its last position. @type {number} */
        this.at = null
        this.players = {black: $("black"), white: $("white")}
        onClick(this.steps)
        const keys = new Map(Object.entries({ArrowLeft: this.steps.back, ArrowRight: this.steps.forward, Home: this.steps.first, End: this.steps.last}))
        onKey(key => keys.has(key) && (keys.get(key)(), true))
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

    /** Whether another game may be shown: no game is shown, or the game is over and the visitor is not stepping through it. */
    get free() {
        return !this.game || (this.game.result !== null && this.at === null)
    }

    /** @type {(game: Watched) => void} */ take(game) {
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

    /** Go to the position after a number of plies. At the last position the game is followed. @type {(at: number) => void} */
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
        showCount(game.fenAt(here), game.positionScoreAt(here))
        for (const side of SIDES) this.showEngine(side)
        this.showMoves()
        const shown = {width: $("graph").clientWidth, at: followed ? null : here, onGo: (/** @type {number} */ at) => this.go(at)}
        $("graph").replaceChildren(...game.plies.length ? [graph([game.start, ...game.plies], shown)] : [])
        $("thoughts").replaceChildren(...game.plies.length ? [evaluations(game, shown)] : [])
        const expected = followed && !game.result && game.thought?.moves?.split(" ").filter(Boolean) || []
        this.board.arrows(expected.slice(0, ARROWS.length).map((uci, index) => ({uci, kind: ARROWS[index]})))
        // A game that is over may have nothing to fill these places, which games in play reserve.
        $("stage").classList.toggle("unlined", game.result && !game.plies.some(ply => ply.line))
        $("stage").classList.toggle("unthought", game.result && !game.plies.some(ply => thoughtOf(ply.comment)))
        $("banner").hidden = !game.result || !followed
        $("banner").replaceChildren(...game.result ?? [])
        $("explore").href = game.link
        offerWalk(here === 0, followed)
        $("last").textContent = game.result ? "End" : "Now"
        this.tick()
    }

    /** Show an engine's current thought, or its thought on its last move before the shown position. @type {(side: Colour) => void} */
    showEngine(side) {
        const {game} = this
        const thinks = game.thought !== null && !game.result && this.at === null && game.moverOf(game.plies.length) === side
        const number = thinks ? game.plies.length : [...game.plies.keys()].findLast(each => each < this.here && game.moverOf(each) === side)
        const {comment = "", line = "", search = null} = (thinks ? game.thought : game.plies[number]) ?? {}
        const {evaluation = "", depth = "", time = comment} = thoughtOf(comment) ?? {}
        const set = (/** @type {string} */ name, /** @type {string} */ text) => $(`${side}-${name}`).textContent = text
        set("engine", game[side])
        set("evaluation", evaluation || "–")
        set("depth", [depth && `depth ${depth}`, time, figuresText(search)].filter(Boolean).join(", "))
        set("line", line ? lineText(game.fenAt(number), line.split(" ")) : "")
        $(`${side}-engine`).parentElement.classList.toggle("thinks", thinks)
    }

    showMoves() {
        const {game, here} = this
        const labels = numbered(game.start.fen, game.plies.map(ply => ply.san))
        refillMoves($("played"), steps(labels, index => this.go(index + 1), here - 1, index => ({title: game.plies[index].comment || false})))
    }
}
