// Games that are pasted, dropped or chosen as PGN, and refereed.

import {Refused, attempt, post} from "./api.js"
import {$} from "./dom.js"
import {commentsOf, headOf, pgnOf, withComments} from "./game_text.js"
import {markGame, showGames, showKept} from "./games.js"
import {describedIn, withScore} from "./position.js"
import {replayed} from "./replaying.js"
import {variantOf} from "./state.js"
import {inLine, lineThrough, parsed, refereed, written} from "./tree.js"

const MOST_BYTES = 2 << 20 // what the server takes

/** Return the positions of a state's line, and what the referee says of it. */
export async function referee(state) {
    if (describedIn(state.fen).length) return {plies: await replayed(state), refereed: null}
    const [start, ...moves] = parsed(state.line)
    const told = withComments([{...start, fen: state.fen}, ...moves], state.comments)
    const game = await post(`${variantOf(state.rules)}/game`, pgnOf(state, told))
    const plies = refereed(told, game)
    if (!plies) throw new Refused(400, {code: "bad_input", message: "a variation has a move that is not legal"})
    return {plies: withComments(plies, state.comments), refereed: game}
}

/**
 * @param {() => string} variant returns the rules to referee by
 * @param {(known: object, change: object) => void} onGame told of its `plies` and what the referee says, and of the
 *     state that shows it from the first position that tables hold
 */
export function offerReferee(variant, onGame) {
    const take = text => attempt($("pgn-problem"), async () => {
        const size = text.size ?? text.length
        if (size > MOST_BYTES) {
            throw new Refused(413, {code: "too_large", message: `The PGN has ${(size / (1 << 20)).toFixed(1)} MiB: give at most 2 MiB at once.`})
        }
        const {games} = await post(`${variant()}/games`, text)
        const sound = games.find(game => !game.error)
        showGames(games, choose)
        if (!sound) throw new Refused(400, {code: "bad_input", message: games[0].error})
        await open(sound)
    })
    const open = async listed => {
        const game = await post(`${variant()}/game`, listed.pgn)
        markGame(listed)
        const plies = [...inLine(game.plies), ...game.variations]
        onGame({plies, refereed: game}, stateOf(plies, headOf(listed)))
    }
    const choose = game => attempt($("pgn-problem"), () => open(game))
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

/** Whether a text is dropped where one is typed: that is left to the browser. */
const isField = ({target, dataTransfer}) => target.closest?.("input, textarea") && !dataTransfer.types.includes("Files")

function stateOf(plies, head) {
    const [start] = plies
    const own = start.accrued === start.position_score
    const main = lineThrough(plies)
    return {
        fen: own ? start.fen : withScore(start.fen), accrued: own ? null : start.accrued, line: written(plies),
        head, comments: commentsOf(plies), setup: false, at: main.find(number => plies[number].value) ?? main.at(-1),
    }
}
