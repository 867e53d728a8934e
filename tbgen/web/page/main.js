// The explorer. The page shows a state, which is contained in its address.

import {Refused, ask, badInput} from "./api.js"
import {Board, offerDescribed, offerRights, offerTools, showRights, showTool} from "./board.js"
import {$, debounced, h, onClick, onKey, turnTo} from "./browser.js"
import {offerTaste} from "./chessboard.js"
import {offerEditing, offerSteps, showEditing, showGame, showOutcome} from "./game.js"
import {Guide, positionOf} from "./guide.js"
import {Mobility} from "./mobility.js"
import {Pointing, bestOf, clearTyping, offerTyping, showMoves} from "./moves.js"
import {EMPTY, after, describedIn, format, isBoard, kingProblem, mirrored, moverOf, parse, split, swapped, withMen, withScore, withTurn} from "./position.js"
import {beginning, gameOf, isSameGame, offerReferee, refereeAgain, storeGame} from "./referee.js"
import {opposite} from "./score.js"
import {fenOf, offerCopies, offerSharing, svgOf} from "./sharing.js"
import {maySolve, offerSolving, stopSolving} from "./solving.js"
import {DEFAULT, isView, questionOf, read, variantOf, written} from "./state.js"
import {mayHold, offerRules, offerSamples, showExamples} from "./stock.js"
import {added, commented, commentsOf, isSameLine, lineThrough, openHead, pgnOf, promoted, titleOf, tokensOf, towards, upTo, withLast, without} from "./tree.js"
import {Running, Slider, bestPlay, showBeyond, showLine, showMaterial, showProblem, showVerdict} from "./verdict.js"

let state = stateOfAddress()
let plies = beginning(state)
/** @type {GameDocument} */ let refereed = null
/** The state whose result is being refereed. @type {State} */
let refereeing = null
/** @type {Answer} */ let answer = null
/** @type {Ply[]} */ let line = []
/** Number of the current view: answers for an earlier view are dropped. */
let turn = 0
/** Resolves when the current view is complete. @type {Promise<void>} */
let showing = null
/** The state before the guide was opened; it survives a reload. */
let before = {...DEFAULT, ...history.state?.before}

const board = new Board($("board"), play, rows => setUp(withMen(here().fen, rows)))
const mobility = new Mobility(board)
const pointing = new Pointing(board, () => state.rules)
const running = new Running($("run"), first => advance(1, !first), () => state)
const guide = new Guide(lesson => lesson ? fromAbove(() => go({...DEFAULT, ...positionOf(lesson), lesson})) : go(before))
const slider = new Slider(debounced(60, (accrued, done) => accrue(accrued, done)))

/** Actions of the buttons of moves. */
const does = {play, look: (/** @type {Move} */ move) => pointing.look(move), leave: () => pointing.leave()}

/** Return the state of the address; a lesson has its own position. */
function stateOfAddress() {
    const found = read(location.search, location.hash)
    return {...found, ...positionOf(found.lesson)}
}

const here = () => plies[state.at]
/** Whether a position has described men; only tables have moves of such positions. @type {(fen: string) => boolean} */
const isDescribed = fen => describedIn(fen).length > 0

/** Replace the state. When the guide opens, remember the state to return to. @type {(next: State) => void} */
function setState(next) {
    if (next.lesson && !state.lesson) before = state
    if (next.fen !== state.fen || next.line !== state.line || next.at !== state.at) clearTyping()
    state = next
}

/**
 * Go to another state, as a new entry of the browser's history or in place of the last one. With another first position,
 * the state belongs to no lesson unless the change names one.
 * @type {(change: Partial<State>, replace?: boolean) => Promise<void>}
 */
function go(change, replace = false) {
    setState({...state, ...change.fen && {lesson: 0}, ...change})
    const entry = {depth: (history.state?.depth ?? 0) + (replace ? 0 : 1), before}
    history[replace ? "replaceState" : "pushState"](entry, "", written(state))
    return showing = show()
}

/** Call a function that changes the view, and scroll to the board. @type {(call: () => unknown) => void} */
function fromAbove(call) {
    call()
    scrollTo({top: 0})
}

/** Start with another position. @type {(fen: string, accrued?: string, more?: Partial<State>) => Promise<void>} */
const begin = (fen, accrued = null, more = {}) => go({fen, accrued, line: [], at: 0, head: "", ...more})
/** @type {(fen: string) => Promise<void>} */ const setUp = fen => begin(fen, null, {setup: true})

async function show() {
    const mine = ++turn
    stopSolving()
    $("undo").disabled = !history.state?.depth
    $("rules").value = state.rules
    document.documentElement.classList.toggle("setting-up", state.setup)
    $("setup").setAttribute("aria-pressed", String(state.setup))
    try {
        await loadLine()
        if (mine !== turn) return
        showPlace()
        await look(mine)
    } catch (error) {
        if (!(error instanceof Refused)) throw error
        const found = error.status === 404 ? await askMoves().catch(() => /** @type {LegalMovesDocument} */ (null)) : null
        if (mine !== turn) return
        showRefusal(error)
        if (found) await showMovesBeyond(found)
    }
}

/** Drop a line that has an illegal move, and show its first position. */
function forgetLine() {
    state = {...state, line: [], at: 0, head: ""}
    plies = beginning(state)
    refereed = null
    showPlace()
}

/** Load the positions of the line. */
async function loadLine() {
    const wanted = state
    try {
        const game = await gameOf(wanted)
        if (wanted === state) ({plies, refereed} = game)
    } catch (error) {
        if (wanted === state) forgetLine()
        throw error
    }
}

/** Show the parts that need no request, and drop the answer about the previous position. */
function showPlace() {
    const {fen} = here()
    answer = null
    line = []
    board.show(fen, state.flipped)
    board.play([])
    $("said").textContent = ""
    pointing.rest(null, [])
    board.last(state.setup ? null : here().uci ?? null)
    $("fen").value = fen
    turnTo($("play-on"), written({...DEFAULT, fen, accrued: here().accrued, flipped: moverOf(fen) === "Black"}))
    $(parse(fen).turn === "w" ? "white" : "black").checked = true
    showPlayed()
    $("game-label").textContent = titleOf(state)
    guide.show(state.lesson, plies[upTo(plies, state.at)[1]])
    showEditing(plies, state.at)
    showOutcome($("outcome"), refereed)
    offerSteps(state, plies, line)
    offerDescribed(board, fen)
    showRights(fen)
    showTool(board.tool)
    if (state.setup) board.edit(board.tool)
}

function showPlayed() {
    showGame(plies, state.at, refereed !== null, at => go({at}))
    $("course").hidden = $("game").hidden
}

const currentQuestion = () => questionOf(here(), state.rules)

/** Request the legal moves, which are available for every position. */
const askMoves = () => ask(`${variantOf(state.rules)}/moves`, currentQuestion())

/** Request the value of the position, and show it. @type {(mine: number) => Promise<void>} */
async function look(mine) {
    const problem = isBoard(here().fen) ? kingProblem([...parse(here().fen).men.values()]) : null
    if (problem) throw badInput(problem)
    if (!isDescribed(here().fen) && !mayHold(here().fen, variantOf(state.rules))) {
        const found = await askMoves()
        if (mine !== turn) return
        if (found.refusal) {
            showRefusal(new Refused(404, found.refusal))
            await showMovesBeyond(found)
            return
        }
    }
    const found = await ask(state.rules, currentQuestion())
    if (mine !== turn) return
    answer = found
    if (!isView(state.rules)) {
        here().accrued = found.accrued
        here().value = found.value
        showPlayed()
    }
    showVerdict(found)
    mobility.show(isView(state.rules) ? null : found, state.flipped)
    tellGuide(found)
    if (!state.setup) board.play(found.moves)
    showMoves($("moves"), found, state.rules, does)
    pointBest()
    pointing.leave()
    await Promise.all([lookAhead(mine), showSlider(mine), tellMaterial()])
}

/** Let the guide explain the first move of its lesson. @type {(found: Answer) => void} */
const tellGuide = found => here().after === 0 && !isView(state.rules) && guide.tell(found)

const tellMaterial = (mine = turn) => showMaterial(answer, state.rules, () => mine === turn)

/** Show why there is no answer, and what to do. @type {(error: Refused) => void} */
function showRefusal(error) {
    const {fen, accrued} = here()
    showProblem(error, state.line.length ? accrued : null)
    mobility.show(null, state.flipped)
    running.stop()
    $("moves").replaceChildren()
    $("line").replaceChildren()
    if (maySolve(error, fen, state.rules)) offerSolving($("problem"), fen, accrued)
    offerSteps(state, plies, line)
}

/** Show the legal moves of a position that no table holds, so that play can continue; and best play if tables hold the positions after all moves. @type {(found: LegalMovesDocument) => Promise<void>} */
async function showMovesBeyond(found) {
    const view = isView(state.rules)
    // The values of moves in r-mobility are meaningless in a view.
    const moves = view ? found.moves.map(move => ({...move, .../** @type {Move} */ ({value: null, depth: null, points: null})})) : found.moves
    answer = {...found, moves, beyond: view || found.value === null}
    if (!view) {
        here().accrued = found.accrued
        showPlayed()
    }
    pointing.rest(answer, [])
    showBeyond(found, view)
    mobility.show(view ? null : answer, state.flipped)
    tellGuide(found)
    if (!state.setup) board.play(moves)
    showMoves($("moves"), answer, state.rules, does)
    if (!answer.beyond) await lookAhead(turn)
}

// Best play.

/** @type {(mine: number) => Promise<void>} */ async function lookAhead(mine) {
    let found
    try {
        found = await bestPlay(answer, here(), state.rules)
    } catch (error) {
        if (!(error instanceof Refused)) throw error
        if (mine !== turn) return
        $("line").replaceChildren(h("span", {class: "note"}, error.message))
        offerSteps(state, plies, line)
        running.stop()
        return
    }
    if (mine !== turn) return
    line = found
    offerSteps(state, plies, line)
    showLine($("line"), line, answer, advance)
    pointBest()
    if (!line.length) running.stop()
}

/** Show arrows for the best moves. If depths are not stored, only the first move of the line has an arrow. */
function pointBest() {
    const found = bestOf(answer.moves).map(move => move.uci)
    const [first] = line
    pointing.rest(answer, state.setup ? [] : !first || found.includes(first.uci) ? found : [first.uci])
}

/** Make the first moves of the line. @type {(number: number, replace?: boolean) => Promise<void>} */
function advance(number, replace = false) {
    if (!line.length) return undefined
    let {fen} = here()
    const made = line.slice(0, number).map(({san, uci, accrued}) => {
        fen = after(fen, uci)
        return {fen, san, uci, accrued, value: answer.value}
    })
    return extend(made, replace)
}

/** @type {(move: Move) => Promise<void>} */ function play(move) {
    running.stop()
    if (!answer?.moves.includes(move)) return undefined // a move of an earlier view
    const {uci, san, value} = move
    return extend([{fen: move.fen ?? after(here().fen, uci), san, uci, accrued: move.accrued ?? null, value}])
}

/** Continue the game with moves, along existing moves or as a new variation. @type {(made: Ply[], replace?: boolean) => Promise<void>} */
function extend(made, replace = false) {
    let next = plies
    let {at} = state
    for (const ply of made) ({plies: next, at} = added(next, at, ply))
    return next === plies ? go({at, setup: false}, replace) : replaceTree(next, at, replace)
}

/** Replace the tree of moves. If the main line changes, the tags and the comment about the end are removed from the head of the game. @type {(next: Ply[], at: number, replace?: boolean) => Promise<void>} */
function replaceTree(next, at, replace = false) {
    const same = isSameLine(next, plies)
    const change = {line: tokensOf(next), at, head: same ? state.head : openHead(state.head), comments: commentsOf(next), setup: false}
    const wasRefereed = refereed || refereeing
    // Answers in a view have no accrued scores; in a view, the scores come from the referee.
    if (!isView(state.rules)) storeGame({...state, ...change}, {plies: next, refereed: same ? refereed : null})
    go(change, replace)
    if (!same && wasRefereed && !isView(state.rules)) tellResult()
    return showing
}

/** Have the changed game refereed, and show its result. */
async function tellResult() {
    const mine = refereeing = state
    await refereeAgain(mine)
    if (refereeing === mine) refereeing = null
    if (!isSameGame(mine, state)) return
    await loadLine()
    showOutcome($("outcome"), refereed)
    showPlayed()
}

/** Comment on the shown position. A comment after the last move is the game's last comment, which may say how the game ended. @type {(text: string) => Promise<void>} */
function comment(text) {
    const {at} = state
    const next = commented(plies, at, text)
    if (at === lineThrough(plies).at(-1)) return go({head: withLast(state.head, text), comments: commentsOf(next)})
    return replaceTree(next, at)
}

/** @type {(key: string) => Promise<void>} */ function step(key) {
    const next = towards(plies, state.at, key)
    if (next !== undefined) return go({at: next})
    return key === "ArrowRight" && line.length ? advance(1) : undefined
}

// The accrued score.

/** @type {(mine: number) => Promise<void>} */ async function showSlider(mine) {
    $("accruing").hidden = isView(state.rules)
    if (isView(state.rules)) return
    const {accrued} = answer
    const found = await ask(`${state.rules}/accrued`, {fen: here().fen})
    if (mine === turn) slider.show(found, accrued)
}

/** @type {(accrued: string, done: boolean) => Promise<void>} */ function accrue(accrued, done) {
    const isFresh = accrued === slider.positionScore
    const replace = slider.moving
    slider.moving = !done
    return go({fen: isFresh ? here().fen : withScore(here().fen), accrued: isFresh ? null : accrued, line: [], at: 0, head: ""}, replace)
}

/** Return the accrued score, null if it is the position score. */
const accruedEarlier = () => answer?.accrued === answer?.position_score ? null : answer.accrued

// Buttons and fields.

/** @type {(id: string, event: string, call: (event: Event) => unknown) => void} */
const on = (id, event, call) => $(id).addEventListener(event, call)

on("rules", "change", () => go({rules: $("rules").value}))
onClick({
    flip: () => go({flipped: !state.flipped}),
    mirror: () => begin(mirrored(here().fen), accruedEarlier()),
    swap: () => begin(swapped(here().fen), opposite(accruedEarlier())),
    clear: () => fromAbove(() => setUp(EMPTY)),
    undo: () => history.back(),
    setup: () => fromAbove(() => go({setup: !state.setup})),
    first: () => go({at: 0}),
    back: () => step("ArrowLeft"),
    forward: () => step("ArrowRight"),
    last() {
        const end = lineThrough(plies, state.at).at(-1)
        return end === state.at ? advance(line.length) : go({at: end})
    },
    step: () => advance(1),
    end: () => advance(line.length),
    run: () => running.toggle(),
})
for (const [id, letter] of [["white", "w"], ["black", "b"]]) on(id, "change", () => begin(withTurn(here().fen, letter)))

on("position", "submit", event => {
    event.preventDefault()
    const {fen, accrued} = split($("fen").value)
    begin(read(`?fen=${encodeURIComponent(fen)}`).fen, accrued)
})
offerTyping(board, async () => {
    await showing
    return answer?.moves ?? []
})
offerSamples(() => variantOf(state.rules), fen => fromAbove(() => begin(fen, null, {setup: false})))
offerReferee(() => variantOf(state.rules), (game, change) => {
    storeGame({...state, ...change}, game)
    fromAbove(() => go(change))
})
on("material", "toggle", () => answer && tellMaterial())
offerCopies({
    fen: () => fenOf(here(), answer),
    pgn: () => isDescribed(state.fen) ? null : pgnOf(state, plies),
    link: () => location.href,
    svg: () => svgOf(here().fen, state.flipped),
})

offerSharing(() => ({state, plies, line}))

offerEditing({
    promote() {
        const {plies: next, at} = promoted(plies, state.at)
        return replaceTree(next, at)
    },
    remove: () => replaceTree(without(plies, state.at), plies[state.at].after),
    comment,
})

offerTools(board)
offerRights(change => setUp(format({...parse(here().fen), ...change})))
offerTaste($("boards"), $("men"), $("sound"))

onKey(step)
addEventListener("popstate", () => {
    running.stop()
    setState(stateOfAddress())
    history.replaceState({...history.state, before}, "")
    showing = show()
})

$("material").open = matchMedia("(min-width: 60rem)").matches

showing = show()
showing.then(() => offerRules($("rules")))
showing.then(() => showExamples($("examples"), query => fromAbove(() => go({...DEFAULT, ...read(query)}))))
