// A running event: what the server tells as it happens. Nothing is asked again and again.

import {attempt, fresh, isStatic} from "./api.js"
import {$, h, step} from "./browser.js"
import {counted, movesIn, pointsText} from "./score.js"
import {Card, Stage, Watched, addressOf} from "./watched.js"

const MOST_CARDS = 15
const MOST_LISTED = 500
const SECOND = 1000
/** After which a server is asked again that has refused. */
const AGAIN = 10 * SECOND
/** @type {Record<string, string>} */ const OVER = {
    finished: "The event is over. This page stays as it is; its games are in the PGN file.",
    stopped: "The event was stopped. It goes on when the command is given again, and this page with it, if the address is the same.",
    gone: "The runner has ended without a word. The event goes on when the command is given again.",
    untold: "These are the finished games of the PGN file, of its last event if it has several. There is no live file beside it that can be read, so whether more follow is not known here.",
}
const NONE = "No event has begun: there is no live file that can be read beside the PGN file, and no finished game of tbgen match in the PGN file. This page goes on by itself."
const ARCHIVED = "The event was stopped before its end. This is how far it came."

/** @type {LiveEvent} */ let event = null
/** By key, those in play, and those that are over and not yet followed by another one. @type {Map<string, Watched>} */
const games = new Map()
const stage = new Stage()
/** @type {FinishedGame[]} */ let listed = []
let total = 0
/** Who is first in the standings; several if they share the place. @type {string[]} */
let leaders = []
/** By what he is ahead of the next one, if somebody is first alone. */
let lead = ""
/** How the event has ended, one of OVER; null before. @type {string} */
let over = null

function showEvent() {
    if (!event) {
        $("event").textContent = NONE
        return
    }
    const names = event.players.map(each => each.control === "inf" ? each.name : `${each.name} (${each.control})`)
    const played = event.total === null ? `${counted(total, "game")} played` : `${total} of ${counted(event.total, "game")} played`
    const where = [event.name, event.site].filter(Boolean).join(", ")
    $("event").textContent = `${where ? `${where}: ` : ""}${names.join(", ")}; ${[event.format, played].filter(Boolean).join(", ")}.`
}

// Games in play: one on the large board, the others on small ones.

const cards = () => [...games.values()].filter(game => game.view instanceof Card)

/** @type {(told: ToldGame) => void} */ function start(told) {
    const gone = [...games.values()].find(game => game.result && (game !== stage.game || stage.free))
    if (gone && games.size >= event.concurrency) {
        gone.view?.close()
        games.delete(gone.key)
    }
    enter(told)
    count()
}

/** @type {(told: ToldGame) => void} */ function enter(told) {
    const game = new Watched(told)
    games.set(game.key, game)
    if (stage.free) choose(game)
    else if (cards().length < MOST_CARDS) showCard(game)
}

/** @type {(game: Watched) => Card} */ const showCard = game => new Card(game, () => choose(game))

/** Show a game on the large board, and the one that was there on a small one. @type {(game: Watched) => void} */
function choose(game) {
    const before = stage.game
    game.view?.close()
    stage.close()
    stage.take(game)
    if (before?.again) games.delete(before.key)
    else if (before) showCard(before)
    count()
}

/** Show a finished game again, at its end. @type {(row: FinishedGame) => Promise<void>} */
async function open(row) {
    if (!games.has(row.key)) {
        const game = new Watched(await fresh(addressOf(row.key, ".json")))
        game.finish(row.reason, row)
        game.again = true
        games.set(row.key, game)
    }
    if (games.get(row.key) !== stage.game) choose(games.get(row.key))
}

/** The same, from its start. @type {(row: FinishedGame) => Promise<unknown>} */
const replay = row => attempt($("finished-problem"), async () => {
    await open(row)
    stage.go(0)
    $("stage").scrollIntoView()
})

function count() {
    const unseen = [...games.values()].filter(game => !game.view).length
    $("others").hidden = (games.size > 0 || over !== null) && !cards().length
    $("more-playing").textContent = unseen ? `${counted(unseen, "game")} more in play, for which there is no room.` : games.size ? "" : "There is none at present."
}

/** @type {(told: FinishedGames & {key: string, reason: string}) => void} */
function finish({key, reason, total: all, games: rows}) {
    total = all
    games.get(key)?.finish(reason, rows.find(each => each.key === key))
    if (!games.get(key)?.view) games.delete(key)
    listed = [...rows.toReversed(), ...listed].slice(0, MOST_LISTED)
    showEvent()
    showListed()
    count()
}

function showListed() {
    $("older").hidden = !listed.length || listed.at(-1).number === 1
    if (listed.length) showFinished(listed, replay)
}

/** @type {(found: Standings) => void} */ function rank(found) {
    if (!found) return
    ;({leaders, lead} = found)
    showStandings(found, event.games)
}

/** Show that the event is over, or that it is not: null. @type {(how: string) => void} */
function showOver(how) {
    over = how
    $("status").textContent = isStatic && ["stopped", "gone"].includes(how) ? ARCHIVED : OVER[how] ?? ""
    $("playing-label").textContent = how === null ? "Games in play" : "Last games"
    $("winner").textContent = ["finished", "untold"].includes(how) ? announced() : ""
    games.forEach(game => game.stopped = how !== null)
    count()
    tick()
}

function announced() {
    if (!leaders.length) return ""
    const first = over === "finished" ? "wins" : "is first"
    return leaders.length === 1 ? `${leaders[0]} ${first}${lead && `: ${lead}`}.` : `${leaders.slice(0, -1).join(", ")} and ${leaders.at(-1)} share the first place.`
}

/** @type {(found: WholeEvent) => void} */ function showAll(found) {
    for (const game of games.values()) game.view?.close()
    stage.close()
    games.clear()
    ;({event} = found)
    total = found.finished.total
    listed = found.finished.games
    showEvent()
    leaders = []
    found.playing.forEach(enter)
    rank(found.standings)
    showListed()
    showOver(found.over)
    const showStage = (/** @type {FinishedGame} */ last) => $("stage").hidden = !stage.game && !last
    const last = over !== null && !games.size ? listed[0] : undefined
    showStage(last) // where it stays, nothing moves when the last game comes
    if (last) attempt($("finished-problem"), () => open(last)).then(() => showStage(undefined))
}

$("older").addEventListener("click", () => attempt($("finished-problem"), async () => {
    const {games: more} = await fresh("live/games", {before: listed.at(-1).number})
    listed = [...listed, ...more.filter(game => game.number < listed.at(-1).number)]
    showListed()
}))

const tick = () => games.forEach(game => game.view?.tick())
setInterval(tick, SECOND)

function connect() {
    const stream = new EventSource("live/stream")
    /** @type {<Told>(name: string, call: (told: Told) => void) => void} */
    const on = (name, call) => stream.addEventListener(name, message => call(JSON.parse(message.data)))
    on("state", (/** @type {WholeEvent} */ found) => {
        showAll(found)
        if (over === "finished") stream.close()
    })
    on("started", start)
    on("moved", (/** @type {Moved} */ told) => games.get(told.key)?.move(told))
    on("thought", (/** @type {Thought & {key: string}} */ told) => games.get(told.key)?.think(told))
    on("finished", finish)
    on("standings", rank)
    on("over", (/** @type {{how: string}} */ {how}) => {
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

// The standings of the event, and its finished games, as tables.

/**
 * Show the standings.
 *
 * @type {(standings: Standings, perEncounter: number) => void}
 * @param found as docs/match.md describes them
 * @param perEncounter the games of an encounter
 */
export function showStandings({score, tables, games: whole}, perEncounter) {
    $("score").textContent = score?.games ? scoreText(score, perEncounter) : ""
    if (!tables.length) return
    const shown = tables.map(each => [each.key, table(each.columns, each.rows, `${each.title}, by ${counted(whole, "game")} of whole encounters`, each.note, each.first)])
    const of = (/** @type {boolean} */ isCross) => shown.filter(([key]) => (key === "crosstable") === isCross).map(([, element]) => element)
    $("standings").replaceChildren(...of(false))
    $("crosstable").replaceChildren(...of(true))
    $("crosstable").hidden = !$("crosstable").hasChildNodes()
}

/** @type {(score: MatchScore, perEncounter: number) => string} */
function scoreText({player, opponent, points, games: played, elo, test}, perEncounter) {
    const words = [`${player} against ${opponent}: ${points.toFixed(4)} of ${played}`]
    if (elo) {
        const kind = perEncounter === 2 ? "Elo by pairs" : "Elo"
        words.push(`${kind} ${elo.difference === null ? "unbounded" : signed(elo.difference)} ± ${elo.margin === null ? "unbounded" : elo.margin.toFixed(1)}`)
        words.push(`likelihood of superiority ${(100 * elo.los).toFixed(1)} %`)
    }
    if (test) words.push(`LLR ${test.llr.toFixed(2)} between ${test.lower.toFixed(2)} and ${test.upper.toFixed(2)}${test.verdict === "continue" ? "" : `, the test accepts ${test.verdict}`}`)
    return words.join("; ")
}

/** Return how a game ended; by what it is decided only where the reason does not say that. @type {(game: FinishedGame) => string} */
const howOf = ({reason, basis}) => reason.toLowerCase().includes(basis) ? reason : `${reason} (${basis})`

/** @type {(number: number) => string} */ const signed = number => (number < 0 ? "−" : "+") + Math.abs(number).toFixed(1)

/**
 * Show the finished games, the last one first.
 *
 * @type {(listed: FinishedGame[], onReplay: (game: FinishedGame) => unknown) => void}
 * @param onReplay told of the one that is to be seen again
 */
function showFinished(listed, onReplay) {
    const head = ["Game", "White", "Black", "Result", "Points", "Moves", "How it ended", "Show"]
    const words = new Set([0, 1, 2, 6, 7])
    const rows = listed.map(game => {
        return [
            game.key, game.white, game.black, game.value, pointsText(game.points), movesIn(game.plies), howOf(game),
            [step("replay", () => onReplay(game), false, {"aria-label": `Replay game ${game.key}`}), " ",
                h("a", {href: addressOf(game.key), "aria-label": `Explore game ${game.key}`}, "explore"), " ", h("a", {href: addressOf(game.key, ".pgn"), "aria-label": `PGN of game ${game.key}`}, "PGN")],
        ]
    })
    $("finished").replaceChildren(table(head.map((title, at) => ({title, word: words.has(at)})), rows, "Finished games, the last one first"))
}

/** @type {(columns: Column[], rows: Child[][], caption: string, note?: string, first?: string) => HTMLElement} */
function table(columns, rows, caption, note = "", first = "") {
    const kind = (/** @type {number} */ at) => columns[at].word ? "text" : false
    return h("div", {class: "wide", tabindex: "0", role: "region", "aria-label": caption},
        h("table", {},
            h("caption", {}, caption, first && h("p", {class: "note"}, first), note && h("details", {}, h("summary", {}, "How to read it"), note)),
            h("thead", {}, h("tr", {}, columns.map(({title}, at) => title ? h("th", {scope: "col", class: kind(at)}, title) : h("td")))),
            h("tbody", {}, rows.map(row => h("tr", {}, row.map((cell, at) => h("td", {class: kind(at)}, cell)))))))
}

if (isStatic) attempt($("status"), async () => showAll(await fresh("live/event")))
else connect()
