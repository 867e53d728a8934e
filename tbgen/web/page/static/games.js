// Games as PGN, followed ply by ply: accrued scores, and values where tables have them. Games that ended off the board are
// not refereed here, so there are no outcomes.

import {badInput} from "../api.js"
import {INITIAL, MOST_MEN} from "../position.js"
import {SIGNS} from "../tree.js"
import {checkMark, fenOf, numberOfMen, sanOf, textOf} from "./chess.js"
import {knownGoal, reached, stateDocument, stateOf} from "./positions.js"
import {materialOf} from "./tables.js"

/** Tag; comment in braces, up to the end of the text if unclosed; comment up to the end of the line; glyph as number; glyph as sign; bracket; result; castling with zeros; move number; move. */
const TOKEN = /\s+|\[\s*(\w[\w+#=:-]*)\s*"((?:[^"\\]|\\.)*)"\s*\]|\{(?:([^}]*)\}|[^}]*$)|;([^\n]*)|\$(\d+)|([!?]+)|([()])|(1-0|0-1|1\/2-1\/2|\*)|(0-0(?:-0)?[+#!?]*)|\d+\.*|([A-Za-z][^\s(){};$]*)|./gy
const MOVE = /^([KQRBN]?)([a-h]?)([1-8]?)x?([a-h][1-8])=?([QRBN]?)$/

/** Yield the games of a text: `tags`, the `comment` after the last move, the `result`, the `pgn`, and the `moves`. @type {(text: string) => Generator<PgnGame>} */
function* parsedGames(text) {
    let game = /** @type {UnfinishedPgn} */ (null)
    let stack = /** @type {number[]} */ ([])
    let at = 0
    /** @type {(start: number) => UnfinishedPgn} */
    const begun = start => ({start, tags: {}, comment: "", result: "*", moves: [{san: null, after: null, depth: 0, comment: "", nags: []}], words: false, over: false})
    for (const {0: token, index, 1: name, 2: value, 3: braced, 4: comment = braced, 5: nag, 6: sign, 7: bracket, 8: result, 9: castling, 10: san} of text.matchAll(TOKEN)) {
        if (/^\s/.test(token)) continue
        if ((name !== undefined && game?.words) || (game?.over && comment === undefined)) {
            yield {...game, pgn: text.slice(game.start, index)}
            game = null
        }
        if (game === null) {
            game = begun(index)
            stack = []
            at = 0
        }
        if (name !== undefined) game.tags[name] = value.normalize().replace(/\r?\n|\r/g, " ").replace(/\\(.)/g, "$1")
        else game.words = true
        if (comment !== undefined) {
            const said = comment.split(/\s+/).filter(Boolean)
            if (!stack.length && (!game.comment || comment.replace(/\[%[^[\]]*\]/g, "").trim())) game.comment = comment.trim()
            game.moves[at].comment = [game.moves[at].comment, ...said].filter(Boolean).join(" ")
        }
        if (bracket === "(") {
            stack.push(at)
            at = game.moves[at].after ?? 0
        } else if (bracket === ")" && stack.length) {
            at = stack.pop()
        } else if (san ?? castling) {
            game.moves.push({san: (san ?? castling.replaceAll("0", "O")).replace(/[+#!?]+$/, ""), after: at, depth: stack.length, comment: "", nags: nagsOf(null, token.replace(/[^!?]/g, ""))})
            at = game.moves.length - 1
            if (!stack.length) game.comment = ""
        } else if ((nag ?? sign) && at && game.moves[at].depth === stack.length) {
            game.moves[at].nags.push(...nagsOf(nag, sign))
        } else if (result !== undefined && !stack.length) {
            Object.assign(game, {result, over: true})
        }
    }
    if (game?.words) yield {...game, pgn: text.slice(game.start)}
}

/** Return a list of the glyph with a number or sign; the list is empty if the number or sign is invalid. @type {(nag: string, sign: string) => number[]} */
const nagsOf = (nag, sign) => [Number(nag ?? SIGNS.indexOf(sign))].filter(number => number > 0 && number < 256)

/** Return the legal move that a text names; undefined if the text names none. @type {(position: Studied, san: string) => StudiedMove} */
function moveOf({moves}, san) {
    if (/^O-O(-O)?$/.test(san)) return moves.find(move => move.rook !== undefined && (move.to > move.from) === (san === "O-O"))
    const [, kind, file, rank, target, promotion] = san.match(MOVE) ?? []
    if (!target) return undefined
    const meant = moves.filter(move => move.rook === undefined && move.kind === (kind || "P") && move.uci.slice(2, 4) === target &&
        move.uci[0].startsWith(file) && move.uci[1].startsWith(rank) && move.promotion === promotion.toLowerCase())
    return meant.length === 1 ? meant[0] : undefined
}

/**
 * Return the states of a game, those of the main line first, each with the `move` that led to it and its `san`, the
 * number of the state that it is `after`, and its `ply`; and the number of variations `cut` before an illegal move.
 * @type {(game: Pick<PgnGame, "tags" | "moves">, rules: string) => {states: FollowedState[], cut: number, main: number}}
 */
function followedStates({tags, moves}, rules) {
    const fen = tags.FEN ?? INITIAL
    const start = stateOf({fen, accrued: tags.FENAccrued}, rules)
    /** @type {FollowedState[]} */
    const states = [{...start, san: null, move: null, ply: 0, before: null, comment: moves[0].comment, nags: []}]
    let cut = 0
    moves.slice(1).forEach(({san, after, depth, comment, nags}, index) => {
        const before = states[after]
        if (!before) return // the move follows a cut
        const move = moveOf(before.position, san)
        if (!move && !depth) throw badInput(`'${san}' is not a legal move in ${fenOf(before.position)}`)
        if (!move) cut++
        else states[index + 1] = {...reached(before, move, rules), move, san: sanOf(before.position, move), ply: before.ply + 1, before, comment, nags}
    })
    const order = [true, false].flatMap(main => states.filter((state, index) => state && !moves[index].depth === main))
    return {states: order.map(state => ({...state, after: order.indexOf(state.before)})), cut, main: moves.filter(move => !move.depth).length}
}

/** @type {(state: FollowedState, goal: Goal) => GamePlyDocument} */ const plyOf = (state, goal) => ({
    ...stateDocument(state, goal), ply: state.ply, uci: state.move?.uci ?? null, san: state.san && state.san + checkMark(state.position), comment: state.comment,
    nags: state.nags, position_score: textOf(state.position.positionScore),
})

/** Return the only game of a PGN text ply by ply, with its variations. @type {(text: string, rules: string) => Promise<GameDocument>} */
export async function game(text, rules) {
    const found = [...parsedGames(text)]
    if (found.length !== 1) throw badInput(`the PGN has ${found.length ? "more than one game" : "no game"}: give one`)
    const {states, cut, main} = followedStates(found[0], rules)
    const goals = await Promise.all(states.map(state => knownGoal(state, rules)))
    const plies = states.map((state, index) => plyOf(state, goals[index]))
    const missing = states.filter(({position}, index) => !goals[index] && !position.castling && numberOfMen(position) <= MOST_MEN)
    return {
        rules, plies: plies.slice(0, main), variations: plies.slice(main).map((ply, index) => ({...ply, after: states[main + index].after})),
        cut_variations: cut, outcome: null, missing_tables: [...new Set(missing.map(({position}) => materialOf(position).material))].sort(),
    }
}

/** Return the games of a PGN text, one by one. @type {(text: string, rules: string) => Promise<GamesDocument>} */
export async function games(text, rules) {
    const found = []
    for (const {tags, comment, result, pgn, moves} of parsedGames(text)) {
        let error = /** @type {string} */ (null)
        try {
            followedStates({tags, moves: moves.filter(({depth}) => !depth).map((move, index) => ({...move, after: index - 1}))}, rules)
        } catch (wrong) {
            error = /** @type {Error} */ (wrong).message
        }
        found.push({number: found.length + 1, tags, comment, result, plies: moves.filter(({depth}) => !depth).length - 1, outcome: null, error, pgn})
        await new Promise(done => setTimeout(done)) // keeps the page responsive
    }
    if (!found.length) throw badInput("the PGN has no game: give one")
    return {rules, games: found}
}
