// Refereed games: pasted, dropped or chosen as PGN, or played move by move.

import {Refused, ask, attempt, badInput, isStatic, post} from "./api.js"
import {$, TAB, h, step, store, stored} from "./browser.js"
import {basisOf} from "./game.js"
import {after, describedIn, withScore} from "./position.js"
import {movesIn, pointsText, score} from "./score.js"
import {variantOf} from "./state.js"
import {commentsOf, headOf, inLine, lineThrough, parsed, pgnOf, refereed, tokensOf, withComments} from "./tree.js"

const MAX_BYTES = 2 << 20 // the server's limit
/** The storage key of the games, which are kept while the tab is open because they are too long for the address. */
const GAMES_KEY = "tbgen-games"

/** Return the positions of a state's line, and the referee's answer about it. @type {(state: State) => Promise<Game>} */
export async function referee(state) {
    if (describedIn(state.fen).length) return {plies: await replayed(state), refereed: null}
    const [start, ...moves] = parsed(state.line)
    const told = withComments([{...start, fen: state.fen}, ...moves], state.comments)
    const game = await post(`${variantOf(state.rules)}/game`, pgnOf(state, told))
    const plies = refereed(told, game)
    if (!plies) throw badInput("a variation has a move that is not legal")
    return {plies: withComments(plies, state.comments), refereed: game}
}

/**
 * @type {(variant: () => string, onGame: (game: Game, change: Partial<State>) => unknown) => void}
 * @param variant returns the rules to referee by
 * @param onGame called with the game's `plies` and the referee's answer, and with the
 *     state that shows the game at the first position that tables hold
 */
export function offerReferee(variant, onGame) {
    const take = (/** @type {string | File} */ text) => attempt($("pgn-problem"), async () => {
        const size = typeof text === "string" ? text.length : text.size
        if (size > MAX_BYTES) {
            throw new Refused(413, {code: "too_large", message: `The PGN has ${(size / (1 << 20)).toFixed(1)} MiB: give at most 2 MiB at once.`})
        }
        const {games} = await post(`${variant()}/games`, text)
        const sound = games.find(game => !game.error)
        showGames(games, choose)
        if (!sound) throw badInput(games[0].error)
        await open(sound)
    })
    const open = async (/** @type {ListedGameDocument} */ listed) => {
        const game = await post(`${variant()}/game`, listed.pgn)
        markGame(listed)
        const plies = [...inLine(game.plies), ...game.variations]
        onGame({plies, refereed: game}, stateOf(plies, headOf(listed)))
    }
    const choose = (/** @type {ListedGameDocument} */ game) => attempt($("pgn-problem"), () => open(game))
    showKept(choose)
    $("refereeing").addEventListener("submit", event => {
        event.preventDefault()
        take($("pgn").value)
    })
    $("pgn-file").addEventListener("change", () => $("pgn-file").files.length && take($("pgn-file").files[0]))
    addEventListener("dragover", event => {
        if (!isField(event)) event.preventDefault()
    })
    addEventListener("drop", event => {
        if (isField(event)) return
        event.preventDefault()
        const {files} = event.dataTransfer
        take(files.length ? files[0] : event.dataTransfer.getData("text"))
    })
}

/** Whether a text is dropped on a text field, which the browser handles. @type {(event: DragEvent) => boolean} */
const isField = ({target, dataTransfer}) => /** @type {Partial<Element>} */ (target).closest?.("input, textarea") && !dataTransfer.types.includes("Files")

/** @type {(plies: Ply[], head: string) => Partial<State>} */ function stateOf(plies, head) {
    const [start] = plies
    const isFresh = start.accrued === start.position_score
    const main = lineThrough(plies)
    return {
        fen: isFresh ? start.fen : withScore(start.fen), accrued: isFresh ? null : start.accrued, line: tokensOf(plies),
        head, comments: commentsOf(plies), setup: false, at: main.find(number => plies[number].value) ?? main.at(-1),
    }
}

// A line with described men, which cannot be written as PGN: its moves are replayed by the tables.

/** Return the positions of the line of a state. @type {(state: State) => Promise<Ply[]>} */
async function replayed({fen, accrued, rules, line}) {
    const plies = parsed(line)
    Object.assign(plies[0], {fen, accrued})
    for (const ply of plies.slice(1)) {
        const from = plies[ply.after]
        const found = await ask(variantOf(rules), {fen: from.fen, accrued: from.accrued})
        Object.assign(from, {accrued: found.accrued, value: found.value})
        const move = found.moves.find(each => each.san === ply.san)
        if (!move) throw badInput(`the line has ${ply.san}, which is not a legal move there`)
        Object.assign(ply, {fen: after(from.fen, move.uci), uci: move.uci, accrued: move.accrued, value: move.value})
    }
    return plies
}

// The games of this page's states: those played move by move, and those refereed.

/** @type {Map<string, Game>} */ const gamesByState = new Map()

/** @type {(state: State) => string} */
const keyOf = ({fen, accrued, rules, line, head, comments}) => JSON.stringify([fen, accrued, variantOf(rules), line, head, comments])

/** Return only the first position of a state. @type {(state: State) => Ply[]} */
export const beginning = ({fen, accrued}) => [{fen, san: null, after: null, accrued}]

/** Store the game of a state: its `plies`, and the referee's answer about it, null if there is none. @type {(state: State, game: Game) => unknown} */
export const storeGame = (state, game) => gamesByState.set(keyOf(state), game)

/** Return the game of a state; have it refereed if it is not stored. @type {(state: State) => Promise<Game>} */
export async function gameOf(state) {
    const key = keyOf(state)
    if (!gamesByState.has(key)) gamesByState.set(key, state.line.length ? await referee(state) : {plies: beginning(state), refereed: null})
    return gamesByState.get(key)
}

/** Whether two states show the same game, possibly at different positions. @type {(one: State, other: State) => boolean} */
export const isSameGame = (one, other) => keyOf(one) === keyOf(other)

/** Have a changed game refereed again; if that fails, the game has no result. @type {(state: State) => Promise<void>} */
export async function refereeAgain(state) {
    const {refereed} = await referee(state).catch(error => {
        if (error instanceof Refused) return /** @type {Game} */ ({plies: null, refereed: null})
        throw error
    })
    storeGame(state, {...gamesByState.get(keyOf(state)), refereed})
}

// The games of a text: a table of results with links to the games.

/**
 * Show the games of an answer of /games.
 *
 * @type {(games: ListedGameDocument[], onOpen: (game: ListedGameDocument) => unknown) => void}
 * @param onOpen called with the chosen game
 */
function showGames(games, onOpen) {
    store(GAMES_KEY, games.length > 1 ? {games} : null, TAB)
    $("games").hidden = games.length < 2
    $("games-label").textContent = `${games.length} games`
    $("games-rows").replaceChildren(...games.map(game => row(game, onOpen)))
}

/** Mark the open game. @type {(game: {number?: number}) => void} */
function markGame({number}) {
    for (const each of $("games-rows").children) each.classList.toggle("here", each.getAttribute("data-number") === String(number))
    const saved = stored(GAMES_KEY, TAB)
    if (saved) store(GAMES_KEY, {...saved, number}, TAB)
}

/** Show again the games from before the page was reloaded. @type {(onOpen: (game: ListedGameDocument) => unknown) => void} */
function showKept(onOpen) {
    const saved = stored(GAMES_KEY, TAB)
    if (!saved) return
    showGames(saved.games, onOpen)
    markGame(saved)
}

/** @type {(game: ListedGameDocument, onOpen: (game: ListedGameDocument) => unknown) => HTMLElement} */
function row(game, onOpen) {
    const {number, tags, result, plies, outcome, error} = game
    const players = `${tags.White ?? "?"} – ${tags.Black ?? "?"}`
    const open = error ? players : step(players, () => onOpen(game))
    const cells = error ? [h("td", {colspan: isStatic ? 2 : 3, class: "problem"}, error)] : [
        h("td", {}, result), isStatic ? "" : outcomeOf(outcome), h("td", {}, movesIn(plies))]
    return h("tr", {"data-number": number}, h("th", {scope: "row"}, open), cells)
}

/** @type {(outcome: OutcomeDocument) => HTMLElement} */
const outcomeOf = outcome => h("td", {title: pointsText(outcome.points)}, score(outcome.value), ` ${[basisOf(outcome), ...outcome.doubts].join(", ")}`)
