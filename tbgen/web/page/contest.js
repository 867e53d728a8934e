// A visitor's game against the page: its start, its plies, the page's moves at three strengths, and its review.

import {Refused, ask, attempt, fresh, post} from "./api.js"
import {$, h, refill, step} from "./browser.js"
import {INITIAL, after, lineText, moverOf, split} from "./position.js"
import {change, height, markOf, pointsOf, rankOf, score, sideOf} from "./score.js"
import {ENDGAMES, mayHold, stockUp} from "./stock.js"
import {inLine, pgnOf} from "./tree.js"

/** Ways to give something away other than by a move. @type {Record<string, string>} */
const ENDING = {resigned: "Resigning", agreed: "Offering the result"}

/**
 * Return a ply: the position with its `answer`, and the move that led to it, null for the first ply.
 *
 * It has `fen`, `accrued`, and `value` (null if no table has it), and `uci`, `san` and `zeroing` of the move.
 * @type {(answer: Answer, move?: Move) => ContestPly}
 */
const plyOf = (answer, move = null) => ({
    fen: answer.fen, accrued: answer.accrued, value: answer.value, answer,
    uci: move?.uci ?? null, san: move?.san ?? null, zeroing: move?.zeroing ?? false,
})

/** @type {(ply: ContestPly) => boolean} */ export const isOver = ({answer}) => answer.checkmate || answer.stalemate

/** Return each side's best score since the last reset, null for none; the better of both is the accrued score. @type {(plies: ContestPly[]) => Record<Side, string>} */
export function bestScores(plies) {
    const [{accrued}] = plies
    /** @type {Record<Side, string>} */ let best = {White: null, Black: null, [sideOf(accrued)]: accrued}
    for (const {zeroing, answer: {position_score: score}} of plies) {
        if (zeroing) best = {White: null, Black: null}
        const before = best[sideOf(score)]
        if (before === null || rankOf(score) < rankOf(before)) best[sideOf(score)] = score
    }
    return best
}

/** Whether one score is worse than another one for a side. @type {(score: string, than: string, side: Side) => boolean} */
const isWorse = (score, than, side) => side === "White" ? height(score) < height(than) : height(score) > height(than)

/** Whether a side that plays best accepts the accrued score as the result, since it gets nothing better. @type {(ply: ContestPly, side: Side) => boolean} */
export const accepts = ({accrued, value}, side) => value !== null && !isWorse(accrued, value, side)

/** Whether best play keeps the accrued score. @type {(ply: ContestPly) => boolean} */
export const keepsAccrued = ({accrued, value}) => accrued === value

/**
 * Return what each ply of a game has kept or lost: its number `at`, `san`, the `mover`, the value that the mover `had`
 * before it and `got` by it (null if no table has it), the `best` move, and a `mark`: "?" for a loss, "??" if the
 * score goes to the opponent.
 * @type {(plies: ContestPly[]) => PlyReview[]}
 */
function reviewed(plies) {
    return plies.slice(1).map(({san, value: got, answer}, index) => {
        const {fen, value: had, answer: {moves: [best]}} = plies[index]
        const mover = moverOf(fen)
        const mark = markOf({value: had}, {value: got})
        return {at: index + 1, san, mover, had, got, best: best.san, mark, left: answer.position_score, accrued: answer.accrued}
    })
}

/** Whether the last position, which no table holds, has occurred three times; the game then ends with the accrued score. @type {(plies: ContestPly[]) => boolean} */
export function isRepeated(plies) {
    const keyOf = (/** @type {Ply} */ {fen}) => fen.split(" ").slice(0, 4).join(" ")
    const here = plies.at(-1)
    return here.value === null && plies.filter(ply => keyOf(ply) === keyOf(here)).length >= 3
}

/** Return what a side gave away by its last move, in words, with the move that keeps it; empty if nothing, or if no table has the values. @type {(plies: ContestPly[], side: Side) => string} */
export function lastMistake(plies, side) {
    const {mover, mark, san, had, got, best} = reviewed(plies.slice(-3)).filter(ply => ply.mover === side).at(-1) ?? {}
    if (!mark) return ""
    const lost = Math.abs(pointsOf(had).white - pointsOf(got).white)
    const points = lost < 0.01 ? "less than 0.01 points" : `${lost.toFixed(2)} points`
    return `${san} gives away ${points}: ${best} keeps ${lost < 0.01 ? "it" : "them"}. `
}

/** Return the result of a game: the accrued score, unless the visitor has resigned. @type {(plies: ContestPly[], ended: string, side: Side) => string} */
export const resultOf = (plies, ended, side) => ended === "resigned" ? (side === "White" ? "-G0.0" : "G0.0") : plies.at(-1).accrued

/** Return what a side gives away by ending a game: the value that it `had` and the one that it `got`; null if nothing, or if no table has the value. @type {(plies: ContestPly[], ended: string, side: Side) => {had: string, got: string}} */
export function givenAway(plies, ended, side) {
    const [had, got] = [plies.at(-1).value, resultOf(plies, ended, side)]
    return had !== null && isWorse(got, had, side) ? {had, got} : null
}

/** Return the number of plies to take back so that a side is to move again, 0 if it has made no move. @type {(plies: ContestPly[], side: Side) => number} */
export function takenBack(plies, side) {
    const before = plies.slice(0, -1).findLastIndex(({fen}) => moverOf(fen) === side)
    return before < 0 ? 0 : plies.length - 1 - before
}

// The page as a player: the values of positions, and its moves.

/** Return the answer about a position: with values if a table holds it, else its legal moves. @type {(fen: string, accrued: string) => Promise<Answer>} */
async function look(fen, accrued) {
    try {
        if (mayHold(fen, "r")) return await ask("r", {fen, accrued})
    } catch (error) {
        if (!(error instanceof Refused && error.status === 404)) throw error
    }
    return await ask("r/moves", {fen, accrued})
}

/** Return the first ply of a game. @type {(fen: string, accrued: string) => Promise<ContestPly>} */
export const firstPly = async (fen, accrued) => plyOf(await look(fen, accrued))

/** Return the ply that a move of the last one leads to. @type {(ply: ContestPly, move: Move) => Promise<ContestPly>} */
export const plyAfter = async (ply, move) => plyOf(await look(move.fen ?? after(ply.fen, move.uci), move.accrued), move)

/** How many of its moves the page looks at, by its strength. @type {Record<string, number>} */
export const SEEN = {best: Infinity, good: 6, weak: 2}

/** Return the move of a player who looks at a number of moves, drawn at random with repetition, and makes the best of them. @type {(moves: Move[], seen: number, random?: () => number) => Move} */
export function chosen(moves, seen, random = Math.random) {
    const drawn = seen === Infinity ? [0] : Array.from({length: seen}, random)
    return moves[Math.floor(moves.length * Math.min(...drawn))]
}

/**
 * Return a move in the last position of a game: by the tables, or else that of an engine.
 *
 * @type {(plies: ContestPly[], start: Start, strength?: string) => Promise<Move>}
 * @param start `fen` and `accrued` of the first position
 * @param strength a key of SEEN; an engine always plays as well as it can
 */
export async function reply(plies, start, strength = "best") {
    const {value, answer: {moves}} = plies.at(-1)
    if (value !== null) return chosen(moves, SEEN[strength])
    const {uci} = await post("r/reply", pgnOf({...start, head: ""}, inLine(plies)))
    return moves.find(move => move.uci === uci)
}

// The start of a new game.

/** Return a random position whose side to move has a score to win. @type {(level: string) => Promise<string>} */
export const challenge = async level => (await fresh("r/challenge", {level})).fen

/**
 * Let the visitor choose a new game.
 *
 * @type {(onBegin: (start: Start, first: boolean) => Promise<void>) => void}
 * @param onBegin called with `fen` and `accrued` of a position, and whether the
 *     visitor plays the side to move; it may be refused
 */
export function offerChoices(onBegin) {
    const begin = (/** @type {() => Partial<Start> | Promise<Partial<Start>>} */ find) => attempt($("choosing-problem"), async () => {
        const {fen, accrued = null} = await find()
        await onBegin({fen, accrued}, $("mover").value === "first")
        $("choosing").close()
    })
    for (const button of document.querySelectorAll("#levels button")) {
        button.addEventListener("click", () => begin(async () => ({fen: await challenge(button.getAttribute("data-level"))})))
    }
    $("initial").hidden = document.documentElement.dataset.engine === undefined
    $("initial").addEventListener("click", () => begin(() => ({fen: INITIAL})))
    $("position").addEventListener("submit", event => {
        event.preventDefault()
        begin(() => split($("fen").value))
    })
    $("choosing-close").addEventListener("click", () => $("choosing").close())
    $("new").addEventListener("click", async () => {
        $("choosing").showModal()
        await stockUp()
        const there = ENDGAMES.filter(([, fen]) => mayHold(fen, "r"))
        $("famous").replaceChildren(...there.map(([name, fen, text]) => h("li", {},
            h("button", {type: "button", onclick: () => begin(() => ({fen}))}, name, " ", h("small", {}, text)))))
    })
}

// The review of a finished game: the value at each ply, and the mistakes.

/**
 * Show the review of a game.
 *
 * @type {(plies: ContestPly[], shown: number, ended: string, side: Side, onGo: (at: number) => unknown) => void}
 * @param shown number of the shown ply
 * @param ended how the game has ended, see play.js
 * @param side the visitor's side
 * @param onGo called with the ply to go to
 */
export function showReview(plies, shown, ended, side, onGo) {
    const rows = reviewed(plies).map(ply => ({...ply, label: lineText(plies[ply.at - 1].fen, [ply.san]) + ply.mark}))
    const known = rows.some(row => row.had !== null)
    const link = (/** @type {{at: number, label: string}} */ {at, label}) => step(label, () => onGo(at), at === shown)
    const mistakes = rows.filter(row => row.mark).map(row => h("li", {}, link(row), " ", change(row.had, row.got), "; best was ", h("b", {}, row.best)))
    const given = givenAway(plies, ended, side)
    if (given) mistakes.push(h("li", {}, `${ENDING[ended]} `, change(given.had, given.got), "; best was to play on"))
    $("mistakes").replaceChildren(...mistakes)
    $("no-mistakes").hidden = mistakes.length > 0
    $("no-mistakes").textContent = known ? "Nobody has made a mistake." : "No table says what could have been."
    refill($("plies"), rows.map(row => h("tr", {class: row.mark ? "mistake" : false},
        h("th", {scope: "row"}, link(row)),
        h("td", {}, score(row.left)),
        h("td", {}, score(row.accrued)),
        h("td", {}, row.had === null ? "?" : row.mark ? change(row.had, row.got) : score(row.had)))), "[aria-current]")
}
