// A running event. The server sends changes as they happen, so the page does not poll.

import {attempt, fresh, isStatic} from "./api.js"
import {$, debounced, h, step} from "./browser.js"
import {counted, movesIn, pointsText} from "./score.js"
import {Card, Stage, Watched, addressOf} from "./watched.js"

const MAX_CARDS = 15
const MAX_LISTED = 500
const MAX_NEXT = 6
const SECOND_MS = 1000
/** Time in milliseconds after which the page connects again to a server that has refused. */
const RETRY_MS = 10 * SECOND_MS
/** Time in milliseconds without any message after which the server counts as lost: several times as long as it is ever silent. */
const PATIENCE_MS = 35 * SECOND_MS
/** @type {Record<string, string>} */ const OVER = {
    finished: "The event is over. This page stays as it is; its games are in the PGN file.",
    stopped: "The event was stopped. The same command resumes it, and this page continues if the address is the same.",
    gone: "The event has broken off: the program that plays it, tbgen match, was killed or has crashed. The finished games are kept. Once the same command runs again, the games in play begin anew, and this page continues.",
    untold: "These are the finished games of the PGN file, of its last event if it has several. There is no readable live file beside it, so this page cannot say whether more games follow.",
}
const NONE = "No event has begun: the PGN file has no readable live file beside it, and no finished game of tbgen match in it. This page updates itself."
const LOST = "The server of this page does not answer, so the clocks stand still, and what is shown may be out of date. The page continues by itself when the server is back."
const TINY = ">0.5000-<0.5000 is a lead that is too small for four decimals."
const ARCHIVED = "The event was stopped before its end. This is how far it came."

/** @type {LiveEvent} */ let event = null
/** Games by key: the games in play, and finished games that no other game has replaced yet. @type {Map<string, Watched>} */
const games = new Map()
const stage = new Stage()
/** @type {FinishedGame[]} */ let listed = []
let total = 0
/** Who has won the event, or who is first; null before an encounter is complete. @type {EventResult} */
let result = null
/** How the event has ended, a key of OVER; null before. @type {string} */
let over = null
/** Games that have still to begin, as far as they are known. @type {PairedGame[]} */ let next = []

function showEvent() {
    document.title = [event?.name, "tbgen live"].filter(Boolean).join(" – ")
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

/** Show the games that come next; after the end, there are none. @type {(games: PairedGame[]) => void} */
function showNext(games) {
    next = games
    $("next").hidden = over !== null || !next.length
    const rest = next.length - MAX_NEXT
    $("next-games").replaceChildren(...next.slice(0, MAX_NEXT).map(({key, white, black}) => h("li", {}, `${white} – ${black} `, h("small", {}, key))),
        rest > 0 ? h("li", {}, `and ${rest} more`) : "")
}

/** @type {(told: LiveGame) => void} */ function startGame(told) {
    showNext(next.filter(({key}) => key !== told.key))
    const gone = [...games.values()].find(game => game.result && (game !== stage.game || stage.free))
    if (gone && games.size >= event.concurrency) {
        gone.view?.close()
        games.delete(gone.key)
    }
    addGame(told)
    showCounts()
}

/** @type {(told: LiveGame) => void} */ function addGame(told) {
    const game = new Watched(told)
    games.set(game.key, game)
    if (stage.free) chooseGame(game)
    else if (cards().length < MAX_CARDS) showCard(game)
}

/** @type {(game: Watched) => Card} */ const showCard = game => new Card(game, () => chooseGame(game))

/** Show a game on the large board, and the previous one on a small board. @type {(game: Watched) => void} */
function chooseGame(game) {
    const before = stage.game
    game.view?.close()
    stage.close()
    stage.take(game)
    if (before?.again) games.delete(before.key)
    else if (before) showCard(before)
    showCounts()
}

/** Show the last position of a finished game. @type {(row: FinishedGame) => Promise<void>} */
async function openGame(row) {
    if (!games.has(row.key)) {
        const game = new Watched(await fresh(addressOf(row.key, ".json")))
        game.finish(row.reason, row)
        game.again = true
        games.set(row.key, game)
    }
    if (games.get(row.key) !== stage.game) chooseGame(games.get(row.key))
}

/** Show a finished game from its start. @type {(row: FinishedGame) => Promise<unknown>} */
const replay = row => attempt($("finished-problem"), async () => {
    await openGame(row)
    stage.go(0)
    $("stage").scrollIntoView()
})

function showCounts() {
    const unseen = [...games.values()].filter(game => !game.view).length
    $("others").hidden = (games.size > 0 || over !== null) && !cards().length
    $("more-playing").textContent = unseen ? `${counted(unseen, "game")} more in play, not shown here.` : games.size ? "" : "There is none at present."
}

/** @type {(told: FinishedGames & {key: string, reason: string}) => void} */
function finishGame({key, reason, total: all, games: rows}) {
    total = all
    games.get(key)?.finish(reason, rows.find(each => each.key === key))
    if (!games.get(key)?.view) games.delete(key)
    listed = [...rows.toReversed(), ...listed].slice(0, MAX_LISTED)
    showEvent()
    showListed()
    showCounts()
}

function showListed() {
    $("older").hidden = !listed.length || listed.at(-1).number === 1
    if (listed.length) showFinished(listed, replay)
}

/** @type {(found: Standings) => void} */ function showRanking(found) {
    if (!found) return
    ;({result} = found)
    showStandings(found, event.games)
    stage.schedule() // the crosstable may have narrowed it
}

/** Show how the event has ended; null while it runs. @type {(how: string) => void} */
function showOver(how) {
    over = how
    document.body.classList.toggle("broken", how === "gone")
    $("status").textContent = isStatic && ["stopped", "gone"].includes(how) ? ARCHIVED : OVER[how] ?? ""
    $("playing-label").textContent = how === null ? "Games in play" : "Last games"
    $("winner").textContent = ["finished", "untold"].includes(how) ? result?.sentence ?? "" : ""
    games.forEach(game => game.stopped = how !== null)
    showNext(next)
    showCounts()
    tick()
}

/** @type {(found: WholeEvent) => void} */ function showAll(found) {
    Watched.lostAt = null
    document.body.classList.remove("lost")
    for (const game of games.values()) game.view?.close()
    stage.close()
    games.clear()
    ;({event} = found)
    total = found.finished.total
    listed = found.finished.games
    showEvent()
    result = null
    found.playing.forEach(addGame)
    showRanking(found.standings)
    showListed()
    next = found.next
    showOver(found.over)
    const showStage = (/** @type {FinishedGame} */ last) => $("stage").hidden = !stage.game && !last
    const last = over !== null && !games.size ? listed[0] : undefined
    showStage(last) // shown early, so that nothing moves when the last game arrives
    if (last) attempt($("finished-problem"), () => openGame(last)).then(() => showStage(undefined))
}

$("older").addEventListener("click", () => attempt($("finished-problem"), async () => {
    const {games: more} = await fresh("live/games", {before: listed.at(-1).number})
    listed = [...listed, ...more.filter(game => game.number < listed.at(-1).number)]
    showListed()
}))

const tick = () => games.forEach(game => game.view?.tick())
setInterval(tick, SECOND_MS)

/** Stop the clocks of an event whose server is lost, and say so. */
function lose() {
    if (over !== null) return
    Watched.lostAt ??= performance.now()
    document.body.classList.add("lost")
    $("status").textContent = LOST
}

function connect() {
    const stream = new EventSource("live/stream")
    // A server whose machine or network has failed closes no connection: it is only silent.
    const wait = debounced(PATIENCE_MS, () => {
        if (stream.readyState === EventSource.CLOSED) return
        stream.close()
        lose()
        connect()
    })
    wait()
    /** @type {<Told>(name: string, call: (told: Told) => void) => void} */
    const on = (name, call) => stream.addEventListener(name, message => {
        wait()
        call(JSON.parse(message.data))
    })
    on("silence", () => null)
    on("state", showAll) // also after the end, when the event is continued
    on("paired", (/** @type {{games: PairedGame[]}} */ told) => showNext([...next, ...told.games]))
    on("started", startGame)
    on("moved", (/** @type {Moved} */ told) => games.get(told.key)?.move(told))
    on("thought", (/** @type {Thought & {key: string}} */ told) => games.get(told.key)?.think(told))
    on("finished", finishGame)
    on("standings", showRanking)
    on("over", (/** @type {{how: string}} */ {how}) => showOver(how))
    stream.addEventListener("error", async () => {
        lose()
        // The browser reconnects by itself unless the server has refused.
        if (stream.readyState !== EventSource.CLOSED) return
        setTimeout(connect, RETRY_MS)
        if (over === null) await fresh("live/event").catch(({status, message}) => status && ($("status").textContent = message))
    })
}

// The standings of the event, and its finished games, as tables.

/**
 * Show the standings.
 *
 * @type {(standings: Standings, perEncounter: number) => void}
 * @param standings see docs/match.md
 * @param perEncounter number of games in an encounter
 */
export function showStandings({score, tables, games: whole, result}, perEncounter) {
    $("score").textContent = score?.games ? scoreText(score, perEncounter) : ""
    if (!tables.length) return
    const shown = tables.map(each => [each.key, each.key === "bracket" ? bracket(result.bracket) : table(each.columns, each.rows, `${each.title}, by ${counted(whole, "game")} of whole encounters`, each)])
    const of = (/** @type {boolean} */ isCross) => shown.filter(([key]) => (key === "crosstable") === isCross).map(([, element]) => element)
    $("standings").replaceChildren(...of(false))
    $("crosstable").replaceChildren(...of(true))
    $("crosstable").hidden = !$("crosstable").hasChildNodes()
}

/** The bracket of a knockout: a column for each stage, with the games of each duel. @type {(stages: Duel[][]) => HTMLElement} */
const bracket = stages => h("div", {class: "bracket wide", tabindex: "0", role: "region", "aria-label": "Bracket"}, stages.map(duels =>
    h("section", {}, h("h3", {}, duels[0].stage), h("div", {}, duels.map(duel => h("article", {}, duel.players.map((name, at) => rowOf(duel, name, at)),
        h("p", {class: "note"}, duel.games.length ? duel.games.map(game => [gameOf(duel, game), " "]) : "\u00a0")))))))

/** Return a player of a duel with his points; the winner's name is set off. @type {(duel: Duel, name: string, at: number) => HTMLElement} */
function rowOf({winner, decision, points}, name, at) {
    const unknown = decision === "bye" ? "bye" : "–"
    const won = name !== null && name === winner
    return h("p", {class: won && "won"}, h("span", {}, name ?? unknown, won && decision === "seeding" && " (by seeding)"), points.length ? h("span", {}, points[at].toFixed(2)) : "")
}

/** Return a link to a game of a duel, with the colour and the result in chess of the first player. @type {(duel: Duel, game: DuelGame) => HTMLElement} */
function gameOf({players}, {key, white, classical, value}) {
    const isWhite = white === players[0]
    const mark = classical.startsWith("1/2") ? "=" : (classical === "1-0") === isWhite ? "1" : "0"
    return h("a", {href: addressOf(key), title: `Game ${key}: ${classical}, ${value}`, "aria-label": `Game ${key}: ${players[0]} with ${isWhite ? "White" : "Black"}, ${classical}`}, `${isWhite ? "w" : "b"}${mark}`)
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

/** Return how a game ended; the basis is added unless the reason contains its first word. @type {(game: FinishedGame) => string} */
const endingText = ({reason, basis}) => reason.toLowerCase().includes(basis.split(" ")[0]) ? reason : `${reason} (${basis})`

/** @type {(number: number) => string} */ const signed = number => (number < 0 ? "−" : "+") + Math.abs(number).toFixed(1)

/**
 * Show the finished games, the last one first.
 *
 * @type {(listed: FinishedGame[], onReplay: (game: FinishedGame) => unknown) => void}
 * @param onReplay called with the game to replay
 */
function showFinished(listed, onReplay) {
    const head = ["Game", "White", "Black", "Result", "Points", "Moves", "How it ended", "Show"]
    const words = new Set([0, 1, 2, 6, 7])
    const rows = listed.map(game => {
        return [
            game.key, game.white, game.black, game.value, pointsText(game.points), movesIn(game.plies), endingText(game),
            [step("replay", () => onReplay(game), false, {"aria-label": `Replay game ${game.key}`}), " ",
                h("a", {href: addressOf(game.key), "aria-label": `Explore game ${game.key}`}, "explore"), " ", h("a", {href: addressOf(game.key, ".pgn"), "aria-label": `PGN of game ${game.key}`}, "PGN")],
        ]
    })
    $("finished").replaceChildren(table(head.map((title, at) => ({title, word: words.has(at)})), rows, "Finished games, the last one first", {first: rows.some(([, , , , points]) => String(points).includes(">")) ? TINY : ""}))
}

/** Return a text with places after each second mark where its line may break, so that a crosstable fits; counts such as "+3 =2 -1" have blanks. @type {(text: string) => string} */
const marks = text => text.includes(" ") ? text : text.replace(/..(?=.)/g, "$&\u200b")

/** @type {(columns: Column[], rows: Child[][], caption: string, more?: Partial<StandingsTable>) => HTMLElement} */
function table(columns, rows, caption, {key = "", note = "", first = ""} = {}) {
    const isMarks = (/** @type {number} */ at) => key === "crosstable" && at > 2
    const kind = (/** @type {number} */ at) => isMarks(at) ? "marks" : columns[at].word ? "text" : false
    const cell = (/** @type {Child} */ text, /** @type {number} */ at) => columns[at].title === "player"
        ? h("th", {scope: "row", class: "player"}, text)
        : h("td", {class: kind(at)}, isMarks(at) ? marks(String(text)) : text)
    return h("div", {class: "wide", tabindex: "0", role: "region", "aria-label": caption},
        h("table", {class: key || false},
            h("caption", {}, caption),
            h("thead", {}, h("tr", {}, columns.map(({title}, at) => title ? h("th", {scope: "col", class: kind(at)}, title) : h("td")))),
            h("tbody", {}, rows.map(row => h("tr", {}, row.map(cell))))),
        first && h("p", {class: "note"}, first), note && h("details", {class: "note"}, h("summary", {}, "How to read it"), note))
}

if (isStatic) attempt($("status"), async () => showAll(await fresh("live/event")))
else connect()
