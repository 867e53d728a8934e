// A position and its line in a frame of another site. Visitors can step through the line, which continues with best play.

import {Refused, ask, attempt} from "./api.js"
import {Board} from "./board.js"
import {$, offerWalk, onClick, onKey} from "./browser.js"
import {Mobility} from "./mobility.js"
import {after, lineText} from "./position.js"
import {referee} from "./referee.js"
import {headline, scoreNodes, sentence, showScore, unknownSentence} from "./score.js"
import {isView, questionOf, read, variantOf, written} from "./state.js"
import {lineThrough} from "./tree.js"

const state = read(location.search, location.hash)
const board = new Board($("board"), () => {}, () => {})
const mobility = new Mobility(board)
/** @type {Ply[]} */ let plies = [{fen: state.fen, san: null, accrued: state.accrued}]
let at = 0
/** Number of the current view: answers for an earlier view are dropped. */
let turn = 0

const begin = () => attempt($("problem"), async () => {
    if (state.line.length) {
        const {plies: all} = await referee(state)
        const path = lineThrough(all, state.at)
        plies = path.map(number => all[number])
        at = path.indexOf(state.at)
    }
    await show()
})

/** @type {(number: number) => Promise<unknown>} */ const go = number => attempt($("problem"), () => {
    at = number
    return show()
})

async function show() {
    const mine = ++turn
    const ply = plies[at]
    board.show(ply.fen, state.flipped)
    board.last(ply.uci ?? null)
    $("move").textContent = at ? lineText(plies[at - 1].fen, [ply.san]) : ""
    $("explore").href = `./${written({...state, line: plies.slice(1).map(each => each.san), at, head: ""})}`
    offerSteps()
    const view = isView(state.rules)
    const asked = questionOf(ply, state.rules)
    let found
    try {
        found = await ask(state.rules, asked)
    } catch (error) {
        if (!(error instanceof Refused)) throw error
        const moves = view ? null : await ask(`${variantOf(state.rules)}/moves`, asked).catch(() => /** @type {LegalMovesDocument} */ (null))
        if (mine !== turn) return
        const accrued = moves?.accrued ?? ply.accrued
        showScore($("value"), moves?.value ?? accrued ?? "?")
        $("sentence").replaceChildren(...scoreNodes(moves?.value ? sentence(moves) : accrued ? unknownSentence(accrued) : error.message))
        mobility.show(moves, state.flipped)
        return
    }
    if (mine !== turn) return
    ply.accrued = found.accrued
    showScore($("value"), headline(found))
    $("sentence").replaceChildren(...scoreNodes(sentence(found)))
    mobility.show(view ? null : found, state.flipped)
    if (at === plies.length - 1 && !view) await goOn(ply, found)
}

/** Continue the line with best play. @type {(from: Ply, found: {value?: string}) => Promise<void>} */
async function goOn({fen, accrued}, {value}) {
    const {mainline} = await ask(`${state.rules}/mainline`, {fen, accrued})
    if (at !== plies.length - 1) return
    for (const ply of mainline) plies.push({...ply, fen: after(plies.at(-1).fen, ply.uci), value})
    offerSteps()
}

const offerSteps = () => offerWalk(at === 0, at === plies.length - 1)

const steps = {
    first: () => go(0),
    back: () => go(Math.max(0, at - 1)),
    forward: () => go(Math.min(at + 1, plies.length - 1)),
    last: () => go(plies.length - 1),
}
onClick(steps)
onKey(key => key === "ArrowLeft" ? steps.back() : key === "ArrowRight" && steps.forward())

begin()
