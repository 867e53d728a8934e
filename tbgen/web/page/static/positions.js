// Answers about positions, the same as a server's (docs/web.md).

import {Refused, badInput} from "../api.js"
import {MOST_MEN} from "../position.js"
import {pointsOf} from "../score.js"
import {LEAST_RANK, checkMark, fenOf, isInsufficient, isWhites, merit, numberOfMen, rankOf, readFen, sanOf, scoreOf, studied, textOf, validate, worthOf} from "./chess.js"
import {accruedAt, goalOf, materialOf, stock} from "./tables.js"

/** Maximum number of plies in one answer of best play; each needs pieces of tables. */
const MAX_LINE_PLIES = 30
/** A score that any other score replaces. */
const ANY_SCORE_REPLACES = 1999
/** Points of the holder of G0.0 and of G0.5 in a view; other scores are draws. @type {Record<string, number[]>} */
const VIEWS = {classical: [1, 0.5], "stalemate-wins": [1, 1], lasker: [1, 0.75]}
const CASTLING = "no table holds positions with castling rights: write - for them in the FEN if they do not matter"

/** Return the studied position of a request, and its accrued score with the position score folded in. @type {(question: Question, rules: string) => PositionState} */
export function stateOf({fen = "", accrued = null}, rules) {
    const {position, seventh} = readFen(fen)
    validate(position)
    const found = studied(position)
    const earlier = accrued ? scoreOf(accrued) : seventh !== null && (rules === "wg" || found.clock) ? scoreOf(seventh) : null
    const ignored = found.over || (found.passing && rules === "r")
    if (earlier !== null && !ignored && rankOf(earlier) < LEAST_RANK) throw badInput(`the accrued score ${textOf(earlier)} ends the game, but this position has legal moves`)
    const note = accrued || seventh === null || rules === "wg" ? null : noteOn(scoreOf(seventh), found)
    return {position: found, accrued: accruedAt(found, earlier, rules), note}
}

/** Return why the seventh field of a FEN does not count, null if it counts. @type {(seventh: number, position: Studied) => string} */
function noteOn(seventh, {clock, passing}) {
    if (clock && !passing) return null
    const reason = clock ? "an en passant capture is legal, so a pawn move has just reset the score"
        : "the halfmove clock is 0, so the score has just been reset; give it beside the FEN, or a higher clock"
    return `the seventh field ${textOf(seventh)} does not count: ${reason}`
}

/** Return the state of a request whose position a table may hold; throw a refusal otherwise. @type {(question: Question, rules: string) => Promise<PositionState>} */
async function stateInTables(parameters, rules) {
    const men = numberOfMen(readFen(parameters.fen ?? "").position)
    if (men > MOST_MEN) throw badInput(`the position has ${men} men, kings included: ${await stock()}`)
    const state = stateOf(parameters, rules)
    if (state.position.castling) throw new Refused(404, {code: "castling_rights", message: CASTLING})
    return state
}

/** @type {(position: Studied) => {checkmate: boolean, stalemate: boolean}} */
const endOf = ({over, check}) => ({checkmate: over && check, stalemate: over && !check})

/** @type {(state: PositionState, goal: Goal, rules: string) => PositionDocument} */
const factsOf = ({position, accrued, note = null}, goal, rules) => ({
    fen: fenOf(position), material: materialOf(position).material, rules, ...endOf(position),
    insufficient_material: isInsufficient(position), position_score: textOf(position.positionScore), accrued: textOf(accrued),
    holder: isWhites(goal.value) ? "white" : "black", ...worthOf(goal, position.side),
    note,
})

/** Return the state that a move leads to. @type {(state: PositionState, move: StudiedMove, rules: string) => PositionState} */
export function reached({accrued}, move, rules) {
    const position = studied(move.next)
    return {position, accrued: accruedAt(position, move.zeroing && rules === "r" ? null : accrued, rules)}
}

/** Return the states that all legal moves lead to, each with its `move`. @type {(state: PositionState, rules: string) => ReachedState[]} */
const reachedBy = (state, rules) => state.position.moves.map(move => ({move, ...reached(state, move, rules)}))

/**
 * Return the order of moves from a state, best for the mover first. Of equal values, gains with less depth and losses with more
 * depth come first. Moves without a goal come last.
 * @type {(state: PositionState) => (one: ReachedState & {goal: Goal}, two: ReachedState & {goal: Goal}) => number}
 */
function preference({position: {side}, accrued}) {
    const gain = (/** @type {Goal} */ {value}) => merit(value, side) - merit(accrued, side)
    return ({goal: one, ...first}, {goal: two, ...second}) => one && two && (gain(two) - gain(one) || Math.sign(gain(one)) * (one.depth - two.depth))
        || Number(!one) - Number(!two) || (first.move.uci < second.move.uci ? -1 : 1)
}

/** Return the states after all moves with their `goal`, best for the mover first. @type {(state: PositionState, rules: string) => Promise<(ReachedState & {goal: Goal})[]>} */
async function rankedMoves(state, rules) {
    const found = await Promise.all(reachedBy(state, rules).map(async each => ({...each, goal: await goalOf(each.position, each.accrued, rules)})))
    return found.sort(preference(state))
}

/** @type {(position: Studied, reached: ReachedState) => {uci: string, san: string, zeroing: boolean}} */
const moveNames = (position, {move, position: after}) => ({uci: move.uci, san: sanOf(position, move) + checkMark(after), zeroing: move.zeroing})

/** @type {(question: Question, rules: string) => Promise<Goal>} */ async function probe(parameters, rules) {
    const {position, accrued} = await stateInTables(parameters, rules)
    return await goalOf(position, accrued, rules)
}

/** Return the values of a position that tables hold, and of its moves. @type {(question: Question, rules: string) => Promise<PositionMovesDocument>} */
export async function answer(parameters, rules) {
    const state = await stateInTables(parameters, rules)
    const [goal, moves] = await Promise.all([goalOf(state.position, state.accrued, rules), rankedMoves(state, rules)])
    return {
        ...factsOf(state, goal, rules),
        moves: moves.map(each => ({
            ...moveNames(state.position, each), ...endOf(each.position), accrued: textOf(each.accrued), ...worthOf(each.goal, each.position.side),
        })),
    }
}

/**
 * Return best play, or its beginning if it is long. Each move is the first by name that leads to the value in the remaining
 * plies.
 * @type {(question: Question, rules: string) => Promise<MainlineDocument>}
 */
async function mainline(parameters, rules) {
    let state = await stateInTables(parameters, rules)
    const goal = await goalOf(state.position, state.accrued, rules)
    const facts = factsOf(state, goal, rules)
    const line = []
    for (let {depth} = goal; depth > 0 && line.length < MAX_LINE_PLIES; depth--) {
        const moves = reachedBy(state, rules).sort((one, two) => one.move.uci < two.move.uci ? -1 : 1)
        let best = null
        while (moves.length && !best) {
            // The moves of one man are tried together: their slots are close together, and the moves of other men may not be needed.
            const {from} = moves[0].move
            const some = moves.splice(0, moves.findLastIndex(({move}) => move.from === from) + 1)
            const goals = await Promise.all(some.map(each => goalOf(each.position, each.accrued, rules, goal.value)))
            best = some[goals.findIndex(({value, depth: left}) => value === goal.value && left === depth - 1)]
        }
        if (!best) throw new Refused(500, {code: "damaged_table", message: "the tables of this site contradict each other"})
        const {uci, san} = moveNames(state.position, best)
        line.push({uci, san, accrued: textOf(best.accrued), depth: depth - 1})
        state = best
    }
    return {...facts, mainline: line}
}

/** @type {(question: Question, rules: string) => Promise<AccruedScoresDocument>} */ async function accruedScores({fen}, rules) {
    const {position, accrued} = await stateInTables({fen: fen.split(/[\s_]+/).slice(0, 6).join(" ")}, rules)
    const ranks = Array.from({length: Math.max(rankOf(position.positionScore) - 1, 0)}, (_, index) => index + LEAST_RANK)
    const possible = position.over || (position.passing && rules === "r") ? [accrued] : [...ranks, ...ranks.map(rank => ~rank).reverse()]
    const scores = await Promise.all(possible.map(async score => {
        const held = accruedAt(position, score, rules)
        const {value, depth} = await goalOf(position, held, rules)
        return {accrued: textOf(held), value: textOf(value), depth, points: pointsOf(textOf(value))}
    }))
    return {fen: fenOf(position), material: materialOf(position).material, rules, position_score: textOf(position.positionScore), accrued_scores: scores}
}

/** Return the value of a position in a view of the tables for r-mobility. @type {(question: Question, name: string) => Promise<ViewDocument>} */
export async function view(parameters, name) {
    /** @type {(goal: Goal, side: number) => Omit<ViewMoveDocument, "uci" | "san" | "zeroing" | "checkmate" | "stalemate">} */
    const seen = ({value, depth}, side) => {
        const share = VIEWS[name][rankOf(value)] ?? 0.5
        const points = isWhites(value) ? {white: share, black: 1 - share} : {white: 1 - share, black: share}
        const own = side === 0 ? points.white : points.black
        const category = own === 1 ? "win" : own === 0 ? "loss" : own === 0.5 ? "draw" : own > 0.5 ? "stalemate" : "stalemated"
        const winner = share === 0.5 ? null : isWhites(value) ? "white" : "black"
        return {winner, depth: name !== "classical" ? null : rankOf(value) ? 0 : depth, points, category}
    }
    const {position} = await stateInTables({fen: parameters.fen}, "r")
    const [goal, moves] = await Promise.all([goalOf(position, position.positionScore, "r"), rankedMoves({position, accrued: ANY_SCORE_REPLACES}, "r")])
    return {
        fen: fenOf(position), material: materialOf(position).material, view: name, ...endOf(position),
        insufficient_material: isInsufficient(position), ...seen(goal, position.side),
        moves: moves.map(each => ({...moveNames(position, each), ...endOf(each.position), ...seen(each.goal, each.position.side)})),
    }
}

/** @type {Omit<StateDocument, "fen" | "accrued">} */ const UNAVAILABLE = {value: null, depth: null, points: null, category: null}

/** Return value and depth of a state of a game from the tables; null if no table holds the position. @type {(state: PositionState, rules: string) => Promise<Goal>} */
export async function knownGoal({position, accrued}, rules) {
    if (position.over) return {value: position.positionScore, depth: 0}
    if (position.castling || numberOfMen(position) > MOST_MEN) return null
    try {
        return await goalOf(position, accrued, rules)
    } catch (error) {
        if (error instanceof Refused && error.code === "missing_table") return null
        throw error
    }
}

/** Return the document of a state of a game. @type {(state: PositionState, goal: Goal) => StateDocument} */
export const stateDocument = ({position, accrued}, goal) => ({fen: fenOf(position), accrued: textOf(accrued), ...goal ? worthOf(goal, position.side) : UNAVAILABLE})

/** Return value and depth of a state from the goals of all its moves; null if a goal is unavailable. @type {(state: PositionState, goals: Goal[]) => Goal} */
function goalByMoves({position: {side}, accrued}, goals) {
    if (!goals.length || goals.includes(null)) return null
    const value = goals.map(goal => goal.value).reduce((best, each) => merit(each, side) > merit(best, side) ? each : best)
    if (value === accrued) return {value, depth: 0}
    const depths = goals.filter(goal => goal.value === value).map(goal => goal.depth)
    return {value, depth: 1 + (merit(value, side) > merit(accrued, side) ? Math.min(...depths) : Math.max(...depths))}
}

/** Return the legal moves of any position. @type {(question: Question, rules: string) => Promise<LegalMovesDocument>} */
async function legalMoves(parameters, rules) {
    const state = stateOf(parameters, rules)
    const {position} = state
    const after = reachedBy(state, rules)
    const [own, ...goals] = await Promise.all([state, ...after].map(each => knownGoal(each, rules)))
    const refusal = await probe(parameters, rules).then(() => /** @type {RefusalDocument} */ (null), error => {
        if (error instanceof Refused) return {code: error.code, message: error.message}
        throw error
    })
    const moves = after.map((each, index) => ({...each, goal: goals[index]})).sort(preference(state))
    return {
        ...stateDocument(state, own ?? goalByMoves(state, goals)), rules, ...endOf(position), insufficient_material: isInsufficient(position),
        position_score: textOf(position.positionScore), refusal, moves: moves.map(each => ({...moveNames(position, each), ...endOf(each.position), ...stateDocument(each, each.goal)})),
    }
}

/** Functions that answer questions about positions, by the questions' names. */
export const QUESTIONS = {"": answer, moves: legalMoves, mainline, accrued: accruedScores}

/** @type {(name: string) => boolean} */ export const isView = name => name in VIEWS
