// A game that is watched, and what all views of one have: a board, the players and their clocks.

import {isStatic} from "./api.js"
import {Chessboard} from "./chessboard.js"
import {h, score} from "./dom.js"
import {pointsText} from "./score.js"
import {tick} from "./taste.js"

const SECOND = 1000

/** Return the address of a finished game: by its ending, or that which leads to the explorer. */
export const addressOf = (key, ending = isStatic ? ".html" : "") => `live/games/${encodeURIComponent(key)}${ending}`

/** What has been told of a game: docs/match.md describes the fields. */
export class Watched {
    constructor(told) {
        Object.assign(this, told)
        this.heard = performance.now() - SECOND * told.since
        /** What it has come to, to be shown; null before. */
        this.result = null
        /** Whether the event has ended, and its clocks with it. */
        this.stopped = false
        /** Whether it is shown again after its end. */
        this.again = false
        /** That shows it; null where there is no room. */
        this.view = null
    }

    move({ply, fen, left}) {
        this.plies.push({...ply, fen})
        this.left = left
        this.thought = null
        this.heard = performance.now()
        this.view?.schedule()
    }

    /** Take what the engine to move thinks. */
    think({comment, line}) {
        this.thought = {comment, line}
        this.view?.schedule()
    }

    /** @param {object} found its row in the list of finished games, if it is there */
    finish(reason, found) {
        this.result = found ? [score(found.value), `, ${pointsText(found.points)}: ${reason}`] : [reason]
        this.view?.schedule()
    }

    /** Return the position after so many plies. */
    fenAt = at => at ? this.plies[at - 1].fen : this.start.fen

    /** Return the position's own score after so many plies; empty where nothing was told of it. */
    ownAt = at => (at ? this.plies[at - 1] : this.start).position_score

    accruedAt = at => at ? this.plies[at - 1].accrued : this.start.accrued

    /** Return the side that makes a move, by its number from 0. */
    moverOf = number => (this.start.fen.split(" ")[1] === "w") === (number % 2 === 0) ? "white" : "black"

    /** Return the seconds that a side has left, null without a clock. */
    leftOf(side) {
        const left = this.left[side] ?? null
        const runs = !this.stopped && !this.result && side === this.moverOf(this.plies.length)
        return {runs, left: left === null || !runs ? left : left - (performance.now() - this.heard) / SECOND}
    }

    get link() {
        const fen = this.fenAt(this.plies.length).replaceAll(" ", "_")
        const query = `fen=${fen}&accrued=${this.accruedAt(this.plies.length)}`
        return this.result ? addressOf(this.key) : `./?${query}`
    }
}

export class View {
    /** @param {Element} place of the board */
    constructor(place) {
        this.game = null
        this.scheduled = this.drawing = this.closed = false
        this.drawn = this.wanted = null
        /** Whether its moves are heard. */
        this.sounds = false
        this.board = new Chessboard(place)
    }

    /** Show what has changed with the next picture: moves may come faster than these, or nobody may be looking. */
    schedule() {
        if (this.scheduled) return
        this.scheduled = true
        requestAnimationFrame(() => {
            this.scheduled = false
            if (this.game && !this.closed) this.show()
        })
    }

    /** Draw the position after so many plies; those that come while men move are left out. */
    async draw(at) {
        const {game} = this
        const last = game.plies[at - 1]
        this.wanted = game.fenAt(at)
        this.board.mark("square", last ? [last.uci.slice(0, 2), last.uci.slice(2, 4)] : [])
        this.board.svg.setAttribute("aria-label", last ? `Board after ${at} plies, the last one ${last.san}` : "Board before the first move")
        if (this.drawing) return
        this.drawing = true
        while (!this.closed && this.drawn !== this.wanted) {
            if (this.drawn && this.sounds) tick()
            this.drawn = this.wanted
            await this.board.show(this.drawn)
        }
        this.drawing = false
    }

    /** Show the clocks; the one of the side to move runs. */
    tick() {
        if (!this.game) return
        for (const [side, element] of Object.entries(this.players)) {
            const {runs, left} = this.game.leftOf(side)
            if (runs) element.setAttribute("aria-current", "true")
            else element.removeAttribute("aria-current")
            element.querySelector(".name").textContent = this.game[side]
            element.querySelector(".clock").textContent = left === null ? "" : time(left)
        }
    }
}

/** A player's row: name and clock. */
export const player = () => h("p", {class: "player"}, h("span", {class: "name"}), h("span", {class: "clock"}))

/** Return seconds as on a clock. */
function time(seconds) {
    const whole = Math.max(0, Math.floor(seconds))
    const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60]
    const two = number => String(number).padStart(2, "0")
    return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`
}
