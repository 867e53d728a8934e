// A running event: what the server tells as it happens. Nothing is asked again and again.

import "./style_properties.js"
import {attempt, fresh} from "./api.js"
import {look} from "./board.js"
import {Chessboard} from "./cm-chessboard/src/Chessboard.js"
import {MARKER_TYPE, Markers} from "./cm-chessboard/src/extensions/markers/Markers.js"
import {$, h, score} from "./dom.js"
import {graph} from "./graph.js"
import {numbered} from "./position.js"
import {pointsText} from "./score.js"

const MOST_BOARDS = 16
const MOST_LISTED = 500
const SECOND = 1000
/** After which a server is asked again that has refused. */
const AGAIN = 10 * SECOND
const OVER = {
    finished: "The event is over. This page stays as it is; its games are in the PGN file.",
    stopped: "The event was stopped. It goes on when the command is given again, and this page with it, if the address is the same.",
    gone: "The runner has ended without a word. The event goes on when the command is given again.",
}

let event = null
/** By key, those that are shown: in play, or over and not yet followed by another one. */
const cards = new Map()
/** Games in play for whose board there is no room. */
const unseen = new Map()
let listed = []
let total = 0
/** Who is first in the standings; several if they share the place. */
let leaders = []
/** How the event has ended, one of OVER; null before. */
let over = null

class Card {
    constructor(game) {
        this.game = game
        /** What is said of the game when it is over. */
        this.result = null
        this.closed = this.scheduled = this.drawing = false
        this.drawn = null
        this.heard = performance.now() - SECOND * game.since
        this.players = {black: player(game.black), white: player(game.white)}
        this.place = h("div", {class: "board"})
        this.now = h("p", {class: "now"})
        this.graph = h("div", {class: "graph"})
        this.moves = h("p", {class: "moves", tabindex: "0", role: "region", "aria-label": `Moves of game ${game.key}`})
        this.link = h("a", {}, "Explore")
        this.element = h("article", {class: "match", "aria-label": `Game ${game.key}`},
            h("h3", {}, `${game.white} – ${game.black} `, h("small", {}, game.key)),
            this.players.black.element, this.place, this.players.white.element,
            this.now, this.graph, this.moves, h("p", {}, this.link))
        $("playing").append(this.element)
        this.board = new Chessboard(this.place, {...look(), extensions: [{class: Markers}]})
        this.show()
    }

    move({ply, fen, left}) {
        this.game.plies.push(ply)
        Object.assign(this.game, {fen, left})
        this.heard = performance.now()
        this.schedule()
    }

    finish(reason, found) {
        this.result = found ? ["Result ", score(found.value), `, ${pointsText(found.points)}: ${reason}`] : [reason]
        this.element.classList.add("over")
        this.schedule()
    }

    /** Show what has changed with the next picture: moves may come faster than these, or nobody may be looking. */
    schedule() {
        if (this.scheduled) return
        this.scheduled = true
        requestAnimationFrame(() => {
            this.scheduled = false
            if (!this.closed) this.show()
        })
    }

    /** Draw the last position; those that come while men move are left out. */
    async draw() {
        if (this.drawing) return
        this.drawing = true
        while (!this.closed && this.drawn !== this.game.fen) {
            this.drawn = this.game.fen
            await this.board.setPosition(this.drawn, true)
        }
        this.drawing = false
    }

    close() {
        this.closed = true
        this.board.destroy()
        this.element.remove()
    }

    show() {
        const {game} = this
        const last = game.plies.at(-1)
        const accrued = last?.accrued ?? game.start.accrued
        this.draw()
        this.board.removeMarkers(MARKER_TYPE.square)
        for (const square of last ? [last.uci.slice(0, 2), last.uci.slice(2, 4)] : []) this.board.addMarker(MARKER_TYPE.square, square)
        const labels = numbered(game.start.fen, game.plies.map(ply => ply.san))
        const said = labels.map(([label, san]) => label ? `${label} ${san}` : san)
        this.place.querySelector("svg").setAttribute("aria-label", last ? `Board after ${game.plies.length} plies, the last one ${last.san}` : "Board before the first move")
        this.now.replaceChildren(...this.result ?? ["Accrued ", score(accrued), last?.comment ? ` · ${last.comment}` : ""])
        this.moves.textContent = said.join(" ")
        this.moves.scrollTop = this.moves.scrollHeight
        this.graph.replaceChildren(...game.plies.length ? [graph([game.start, ...game.plies], {width: this.graph.clientWidth})] : [])
        this.link.href = this.result ? `live/games/${encodeURIComponent(game.key)}` : `./?fen=${game.fen.replaceAll(" ", "_")}&accrued=${accrued}&rules=${event?.rules ?? "r"}`
        this.tick()
    }

    /** Show the clocks; the one of the side to move runs. */
    tick() {
        const mover = this.game.fen.split(" ")[1] === "w" ? "white" : "black"
        for (const [side, {element, clock}] of Object.entries(this.players)) {
            const runs = side === mover && !this.result && over === null
            const left = this.game.left[side]
            if (runs) element.setAttribute("aria-current", "true")
            else element.removeAttribute("aria-current")
            clock.textContent = left === null || left === undefined ? "" : time(left - (runs ? (performance.now() - this.heard) / SECOND : 0))
        }
    }
}

function player(name) {
    const clock = h("span", {class: "clock"})
    return {clock, element: h("p", {class: "player"}, h("span", {}, name), clock)}
}

/** Return seconds as on a clock. */
function time(seconds) {
    const whole = Math.max(0, Math.floor(seconds))
    const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60]
    const two = number => String(number).padStart(2, "0")
    return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`
}

const narrow = games => games === 1 ? "1 game" : `${games} games`

function showEvent() {
    if (!event) {
        $("event").textContent = "The engines are being tried."
        return
    }
    const names = event.players.map(each => each.control === "inf" ? each.name : `${each.name} (${each.control})`)
    const games = event.total === null ? `${narrow(total)} played` : `${total} of ${narrow(event.total)} played`
    const where = [event.name, event.site].filter(Boolean).join(", ")
    $("event").textContent = `${where ? `${where}: ` : ""}${names.join(", ")}; ${event.format}, ${games}.`
}

function start(game) {
    for (const [key, card] of cards) {
        if (!card.result || cards.size + unseen.size < event.concurrency) continue
        card.close()
        cards.delete(key)
        break
    }
    seat(game)
    countUnseen()
}

function seat(game) {
    if (cards.size < MOST_BOARDS) cards.set(game.key, new Card(game))
    else unseen.set(game.key, game)
}

function countUnseen() {
    if (over !== null) {
        $("more-playing").textContent = cards.size ? "" : "They are listed below."
        return
    }
    $("more-playing").textContent = unseen.size ? `${narrow(unseen.size)} more in play, for which there is no room.` : cards.size ? "" : "There is none at present."
}

function move(told) {
    const hidden = unseen.get(told.key)
    if (hidden) {
        hidden.plies.push(told.ply)
        Object.assign(hidden, {fen: told.fen, left: told.left, since: 0})
    }
    cards.get(told.key)?.move(told)
}

function finish({key, reason, total: all, games}) {
    total = all
    unseen.delete(key)
    cards.get(key)?.finish(reason, games.find(each => each.key === key))
    listed = [...games.toReversed(), ...listed].slice(0, MOST_LISTED)
    showEvent()
    showFinished()
    countUnseen()
}

function showFinished() {
    $("older").hidden = !listed.length || listed.at(-1).number === 1
    if (!listed.length) return
    const head = ["Game", "White", "Black", "Result", "Points", "Plies", "How it ended", "Show"]
    const words = new Set([0, 1, 2, 6, 7])
    const rows = listed.map(game => {
        const address = `live/games/${encodeURIComponent(game.key)}`
        return [
            game.key, game.white, game.black, game.value, pointsText(game.points), game.plies, `${game.reason} (${game.basis})`,
            [h("a", {href: address, "aria-label": `Explore game ${game.key}`}, "explore"), " ", h("a", {href: `${address}.pgn`, "aria-label": `PGN of game ${game.key}`}, "PGN")],
        ]
    })
    $("finished").replaceChildren(table(head.map((title, at) => ({title, word: words.has(at)})), rows, "Finished games, the last one first"))
}

function showStandings(found) {
    if (!found) return
    const {score: told} = found
    ;({leaders} = found)
    $("score").textContent = told ? scoreText(told) : ""
    if (!found.tables.length) return
    $("standings").replaceChildren(...found.tables.map(each => table(each.columns, each.rows, `${each.title}, by ${narrow(found.games)} of whole encounters`, each.note)))
}

function scoreText({player: one, opponent, points, games, elo, test}) {
    const words = [`${one} against ${opponent}: ${points.toFixed(4)} of ${games}`]
    if (elo) {
        const kind = event.games === 2 ? "Elo by pairs" : "Elo"
        words.push(`${kind} ${elo.difference === null ? "unbounded" : signed(elo.difference)} ± ${elo.margin === null ? "unbounded" : elo.margin.toFixed(1)}`)
        words.push(`likelihood of superiority ${(100 * elo.los).toFixed(1)} %`)
    }
    if (test) words.push(`LLR ${test.llr.toFixed(2)} between ${test.lower.toFixed(2)} and ${test.upper.toFixed(2)}${test.verdict === "continue" ? "" : `, the test accepts ${test.verdict}`}`)
    return words.join("; ")
}

const signed = number => (number < 0 ? "−" : "+") + Math.abs(number).toFixed(1)

function table(columns, rows, caption, note = "") {
    const kind = at => columns[at].word ? "text" : false
    return h("div", {class: "wide", tabindex: "0", role: "region", "aria-label": caption},
        h("table", {},
            h("caption", {}, caption, note && h("details", {}, h("summary", {}, "How to read it"), note)),
            h("thead", {}, h("tr", {}, columns.map(({title}, at) => title ? h("th", {scope: "col", class: kind(at)}, title) : h("td")))),
            h("tbody", {}, rows.map(row => h("tr", {}, row.map((cell, at) => h("td", {class: kind(at)}, cell)))))))
}

/** Show that the event is over, or that it is not: null. */
function showOver(how) {
    over = how
    $("status").textContent = OVER[how] ?? ""
    $("playing-label").textContent = how === null ? "Games in play" : "Last games"
    $("winner").textContent = how === "finished" ? announced() : ""
    countUnseen()
    cards.forEach(card => card.tick())
}

function announced() {
    if (!leaders.length) return ""
    return leaders.length === 1 ? `${leaders[0]} wins.` : `${leaders.slice(0, -1).join(", ")} and ${leaders.at(-1)} share the first place.`
}

function showAll(found) {
    for (const card of cards.values()) card.close()
    cards.clear()
    unseen.clear()
    ;({event} = found)
    total = found.finished.total
    listed = found.finished.games
    showEvent()
    leaders = []
    found.playing.forEach(seat)
    showStandings(found.standings)
    showFinished()
    showOver(found.over)
}

$("older").addEventListener("click", () => attempt($("finished-problem"), async () => {
    const {games} = await fresh("live/games", {before: listed.at(-1).number})
    listed = [...listed, ...games.filter(game => game.number < listed.at(-1).number)]
    showFinished()
}))

setInterval(() => cards.forEach(card => card.tick()), SECOND)

function connect() {
    const stream = new EventSource("live/stream")
    const on = (name, call) => stream.addEventListener(name, message => call(JSON.parse(message.data)))
    on("state", found => {
        showAll(found)
        if (over === "finished") stream.close()
    })
    on("started", start)
    on("moved", move)
    on("finished", finish)
    on("standings", showStandings)
    on("over", ({how}) => {
        showOver(how)
        if (how === "finished") stream.close()
    })
    stream.addEventListener("error", async () => {
        if (over === null) $("status").textContent = "The server does not answer at present."
        // The browser tries again by itself, but not where the server has refused.
        if (stream.readyState !== EventSource.CLOSED || over === "finished") return
        setTimeout(connect, AGAIN)
        if (over === null) await attempt($("status"), () => fresh("live/event"))
    })
}

connect()
