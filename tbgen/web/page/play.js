// A game against the page, at three strengths, from any position.

import {attempt} from "./api.js"
import {Board} from "./board.js"
import {$, h, offerWalk, onClick, onKey, store, stored} from "./browser.js"
import {nameOf} from "./chessboard.js"
import {SEEN, accepts, bestScores, challenge, firstPly, givenAway, isOver, isRepeated, keepsAccrued, lastMistake, offerChoices, plyAfter, reply, resultOf, showReview, takenBack} from "./contest.js"
import {showGame} from "./game.js"
import {Mobility} from "./mobility.js"
import {bestOf, offerTyping} from "./moves.js"
import {moverOf, squaresOf} from "./position.js"
import {amount, counted, otherSide, pointsOf, pointsText, rankOf, score, scoreNodes, sentence, sideOf} from "./score.js"
import {DEFAULT, read, written} from "./state.js"
import {stockUp} from "./stock.js"
import {inLine, mainLine} from "./tree.js"

/** How a game can end, with the words that each end adds to the outcome; mate and stalemate need none. @type {Record<string, string>} */
const ENDS = {over: "", agreed: ": the result is agreed", resigned: ", as you have resigned", repeated: ": the position has occurred three times"}
/** Ends that the visitor requests. */
const REQUESTED_ENDS = ["agreed", "resigned"]
const MOVE_PAUSE_MS = 350
const RETRY_MS = 5000
const EASY = "easy"
/** The storage key of the strength of the page that was chosen last. */
const STRENGTH_KEY = "tbgen-strength"
/** The storage key of whether the page tells mistakes at once. */
const AT_ONCE_KEY = "tbgen-mistakes"

const board = new Board($("board"), move => play(move), () => {})
const mobility = new Mobility(board)

/** @type {Start} */ let start = {fen: "", accrued: null}
/** @type {ContestPly[]} */ let plies = []
/** The visitor's side. @type {Side} */
let side = "White"
/** The page's strength, a key of SEEN. */
let strength = "best"
/** Number of the shown ply. */
let shown = 0
/** How the game has ended, a key of ENDS; null while it continues. @type {string} */
let ended = null
/** Number of hints, and number of times that moves were taken back. */
let helped = {hints: 0, moves: 0}
/** The number of the ply whose man the last hint has named: the next hint names the move. */
let hinted = -1
/** The end that the visitor has requested once and has to confirm, a key of ENDS; null if there is none. @type {string} */
let confirming = null
/** Number of the current request: answers to an earlier one are dropped. */
let turn = 0
let begun = 0

const last = () => plies.at(-1)
const isMine = () => !ended && shown === plies.length - 1 && moverOf(last().fen) === side

/** Begin a game, optionally with moves already made and an end already requested; `depth` see `updateAddress`. @type {(from: Start, plays: Side, more?: {line?: string[], how?: string, depth?: number}) => Promise<void>} */
async function begin(from, plays, {line = [], how = null, depth = null} = {}) {
    const mine = ++begun
    await stockUp()
    const found = [await firstPly(from.fen, from.accrued)]
    for (const san of line) {
        const move = found.at(-1).answer.moves.find(each => each.san === san)
        if (!move) break
        found.push(await plyAfter(found.at(-1), move))
    }
    if (mine !== begun) return
    turn++
    start = from
    plies = found
    side = plays
    helped = {hints: 0, moves: 0}
    hinted = -1
    continueGame(how, depth)
}

/** Continue from the last ply, unless the game ends there. @type {(how?: string, depth?: number) => void} */
function continueGame(how = null, depth = null) {
    shown = plies.length - 1
    confirming = null
    ended = isOver(last()) ? "over" : isRepeated(plies) ? "repeated" : how
    updateAddress(depth)
    say(adviceText())
    show()
    if (!ended && !isMine()) answer(++turn)
}

/** Number of moves that the browser's back button takes back. */
const depthOf = () => /** @type {number} */ (history.state?.depth ?? 0)

/**
 * Write the game into the address, in the explorer's form, with the visitor's side and the requested end; with a `depth`
 * as a new entry of the browser's history, so that its back button takes a move back.
 * @type {(depth?: number) => void}
 */
function updateAddress(depth = null) {
    const line = plies.slice(1).map(ply => ply.san)
    const found = written({...DEFAULT, ...start, line, at: line.length, flipped: side === "Black"})
    $("explore").href = `./${found}`
    const more = [side === "White" && "side=white", `strength=${strength}`, REQUESTED_ENDS.includes(ended) && `ended=${ended}`].filter(Boolean)
    history[depth === null ? "replaceState" : "pushState"]({depth: depth ?? depthOf()}, "", found.replace("?", `?${more.map(each => `${each}&`).join("")}`))
}

/** @type {(move: Move) => Promise<void>} */ async function play(move) {
    const mine = ++turn
    await attempt($("problem"), async () => {
        const depth = isMine() ? depthOf() + 1 : null
        const next = await plyAfter(last(), move)
        if (mine !== turn) return
        plies = [...plies, next]
        continueGame(null, depth)
    })
    if (mine === turn) show()
}

/** Make the page's move. If the server cannot answer now, try again later. @type {(mine: number) => Promise<void>} */
async function answer(mine) {
    const again = await attempt($("problem"), async () => {
        const [move] = await Promise.all([reply(plies, start, strength), pause(MOVE_PAUSE_MS)])
        if (mine === turn) await play(move)
    })
    if (!again || [400, 404].includes(again.status)) return
    await pause(RETRY_MS)
    if (mine === turn) await answer(mine)
}

/** @type {(milliseconds: number) => Promise<void>} */
const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds))

function takeBack() {
    const number = takenBack(plies, side)
    if (!number) return
    if (depthOf()) {
        history.back()
        return
    }
    turn++
    helped.moves++
    hinted = -1
    plies = plies.slice(0, plies.length - number)
    continueGame()
}

async function hint() {
    const mine = turn
    const {value} = last()
    await attempt($("problem"), async () => {
        const best = await reply(plies, start)
        if (mine !== turn) return
        helped.hints++
        const isNamed = hinted === shown
        const [from] = squaresOf(best.uci)
        hinted = shown
        board.arrows([{uci: isNamed ? best.uci : from + from, kind: "success"}])
        if (!isNamed) say("Move the ", h("b", {}, nameOf(board.men.get(from)).split(" ")[1]), ` on ${from}. The next hint shows where to.`)
        else if (value === null) say("The page would play ", h("b", {}, best.san), ".")
        else say("Best is ", h("b", {}, best.san), ": it leads to ", score(value), ".")
    })
}

/** Offer the accrued score as the result. */
function offer() {
    const {accrued, value} = last()
    const page = otherSide(side)
    const taken = accepts(last(), page)
    if (taken && !givenAway(plies, "agreed", side)) finish("agreed")
    else if (taken) askToConfirm("agreed", score(accrued), " has accrued; best play gives ", score(value), ". Offer the result again to end the game at ", score(accrued), ".")
    else say("No: best play gives ", sideOf(value), " ", score(value), ", and only ", score(accrued), " has accrued.")
}

const resign = () => askToConfirm("resigned", "Resigning gives the page ", score(resultOf(plies, "resigned", side)), ", as mate does. Press Resign again to do so.")

/** End the game if the visitor has already requested this end once; otherwise show a warning. @type {(how: string, ...warning: (Node | string)[]) => void} */
function askToConfirm(how, ...warning) {
    if (confirming === how) {
        finish(how)
        return
    }
    confirming = how
    say(...warning)
}

/** @type {(how: string) => void} */ function finish(how) {
    turn++
    ended = how
    updateAddress()
    const focused = $("walk").contains(document.activeElement)
    say(adviceText())
    show()
    if (focused) $("back").focus()
}

/** @type {(at: number) => void} */ function go(at) {
    if (!plies.length) return
    confirming = null
    shown = Math.min(Math.max(at, 0), plies.length - 1)
    say(adviceText())
    show()
}

// What is shown.

/** @type {(...words: (string | Node)[]) => void} */
const say = (...words) => $("said").replaceChildren(...words.flatMap(word => typeof word === "string" ? scoreNodes(word) : [word]))

function show() {
    const ply = plies[shown]
    const black = side === "Black"
    document.body.classList.toggle("over", ended !== null)
    $("typing-problem").textContent = ""
    board.show(ply.fen, black)
    board.last(ply.uci)
    board.play(isMine() ? ply.answer.moves : [])
    const best = ended && ply.value !== null ? bestOf(ply.answer.moves) : []
    board.arrows(best.map(({uci}) => ({uci, kind: "success"})))
    mobility.show(ply.answer, black)
    $("name").replaceChildren(...title())
    showHeld()
    const told = ended ? plies : plies.map(each => /** @type {Ply} */ ({...each, value: null})) // values are hidden during the game
    showGame(inLine(told), shown, ended !== null, go)
    $("review").hidden = !ended || plies.length < 2
    if (!$("review").hidden) showReview(plies, shown, ended, side, go)
    offerWalk(shown === 0, shown === plies.length - 1)
    $("take-back").disabled = !takenBack(plies, side)
    $("hint").disabled = !isMine()
    $("offer").disabled = !isMine() || last().value === null
    $("resign").disabled = false
}

/** Return why the visitor cannot move now; empty if moves can be made. */
const hindrance = () => isMine() ? "" : shown < plies.length - 1 ? "The board looks back: the right arrow (→) or the last move returns to the game." : "The page is to move."

function title() {
    if (ended) {
        const value = resultOf(plies, ended, side)
        return [score(value), h("small", {}, ` ${pointsText(pointsOf(value))}`)]
    }
    if (shown < plies.length - 1) return ["Looking back"]
    return [isMine() ? `Your move: ${side}` : "The page moves"]
}

/** Show the best score of each side, and which side is ahead, since the better score is the accrued score. */
function showHeld() {
    const scores = bestScores(plies.slice(0, shown + 1))
    const counting = sideOf(plies[shown].accrued)
    for (const each of /** @type {Side[]} */ (["White", "Black"])) {
        const id = each.toLowerCase()
        $(`${id}-held`).textContent = scores[each] ?? "–"
        $(`${id}-holds`).classList.toggle("counts", each === counting)
        $(`${id}-player`).textContent = `${each} (${each === side ? "you" : strength === "best" ? "page" : `page, ${strength}`})${each === counting ? " ahead" : ""}`
    }
}

/** Return the text about the shown ply. */
function adviceText() {
    return (!ended && $("at-once").checked ? lastMistake(plies.slice(0, shown + 1), side) : "") + stateText()
}

function stateText() {
    const ply = plies[shown]
    if (ended && shown === plies.length - 1) return outcomeText()
    if (ended) return ply.value === null ? "No table says what this is worth." : sentence(ply.answer)
    if (keepsAccrued(ply)) return "Best play keeps the accrued score: offer it as the result, or play on."
    const [{value, answer: first}] = plies
    if (value === null) return "No table says what this is worth: the page plays as well as it can, and takes no offer."
    return value === last().value ? `Best play from the start: ${value}. ${sentence(first)}` : formerValueText(value)
}

/** @type {(value: string) => string} */ const formerValueText = value => `Best play from the start was ${value}.`

function outcomeText() {
    const value = resultOf(plies, ended, side)
    const winner = sideOf(value) === side ? "You win" : "The page wins"
    const by = rankOf(value) === 0 ? "" : ` ${amount(pointsOf(value))}`
    const [{value: first}] = plies
    const could = first === null ? "" : ` ${formerValueText(first)}`
    return `${winner}${by}${ENDS[ended]}.${could}${helpText()}`
}

function helpText() {
    const {hints, moves} = helped
    const told = [hints && counted(hints, "hint"), moves && `${moves} taken back`].filter(Boolean)
    return told.length ? ` (${told.join(", ")})` : ""
}

// Buttons and keys.

const does = {
    "take-back": takeBack, hint, offer, resign,
    first: () => go(0), back: () => go(shown - 1), forward: () => go(shown + 1), last: () => go(plies.length - 1),
}
onClick(does)

const shortcuts = new Map([...document.querySelectorAll("[aria-keyshortcuts]")].map(each => /** @type {Button} */ (each)).map(button => [button.getAttribute("aria-keyshortcuts"), button]))

onKey(key => {
    if (key === "ArrowLeft") go(shown - 1)
    else if (key === "ArrowRight") go(shown + 1)
    else if (shortcuts.get(key.toUpperCase())?.checkVisibility()) shortcuts.get(key.toUpperCase()).click()
    else return false
    return true
})
offerTyping(board, async () => isMine() ? last().answer.moves : [], hindrance)
offerChoices((from, first) => begin(from, first ? moverOf(from.fen) : otherSide(moverOf(from.fen)), {depth: 0}))
$("at-once").checked = stored(AT_ONCE_KEY) === true
$("at-once").addEventListener("change", () => {
    store(AT_ONCE_KEY, $("at-once").checked)
    if (plies.length) go(shown)
})
$("strength").addEventListener("change", () => {
    strength = $("strength").value
    store(STRENGTH_KEY, strength)
})

/** Open the game of the address, or a random one. */
async function openGame() {
    const given = new URLSearchParams(location.search)
    strength = [given.get("strength"), stored(STRENGTH_KEY)].find(wanted => wanted in SEEN) ?? strength
    $("strength").value = strength
    if (!given.get("fen")) {
        const fen = await challenge(EASY)
        await begin({fen, accrued: null}, moverOf(fen))
        return
    }
    const {fen, accrued, line} = read(location.search, location.hash)
    const named = /** @type {Map<string, Side>} */ (new Map([["white", "White"], ["black", "Black"]])).get(given.get("side"))
    await begin({fen, accrued}, named ?? moverOf(fen), {line: mainLine(line), how: REQUESTED_ENDS.find(how => how === given.get("ended"))})
}

attempt($("problem"), openGame)
addEventListener("popstate", () => attempt($("problem"), async () => {
    const [{fen}, {length}, {hints, moves}] = [start, plies, helped]
    await openGame()
    if (fen === start.fen && plies.length < length) helped = {hints, moves: moves + 1}
}))
