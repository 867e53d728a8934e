// The standings of an event, and its finished games, as tables.

import {$, h} from "./dom.js"
import {pointsText} from "./score.js"
import {addressOf} from "./watched.js"

export const games = number => number === 1 ? "1 game" : `${number} games`

/**
 * Show the standings.
 *
 * @param {object} found as docs/match.md describes them
 * @param {number} perEncounter the games of an encounter
 */
export function showStandings({score, tables, games: whole}, perEncounter) {
    $("score").textContent = score?.games ? scoreText(score, perEncounter) : ""
    if (!tables.length) return
    const shown = tables.map(each => [each.key, table(each.columns, each.rows, `${each.title}, by ${games(whole)} of whole encounters`, each.note, each.first)])
    const of = isCross => shown.filter(([key]) => (key === "crosstable") === isCross).map(([, element]) => element)
    $("standings").replaceChildren(...of(false))
    $("crosstable").replaceChildren(...of(true))
    $("crosstable").hidden = !$("crosstable").hasChildNodes()
}

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

/** Return how a game ended; by what it is decided only where the reason does not say that. */
const howOf = ({reason, basis}) => reason.toLowerCase().includes(basis) ? reason : `${reason} (${basis})`

const signed = number => (number < 0 ? "−" : "+") + Math.abs(number).toFixed(1)

/**
 * Show the finished games, the last one first.
 *
 * @param {(game: object) => void} onReplay told of the one that is to be seen again
 */
export function showFinished(listed, onReplay) {
    const head = ["Game", "White", "Black", "Result", "Points", "Plies", "How it ended", "Show"]
    const words = new Set([0, 1, 2, 6, 7])
    const rows = listed.map(game => {
        return [
            game.key, game.white, game.black, game.value, pointsText(game.points), game.plies, howOf(game),
            [h("button", {type: "button", class: "step", onclick: () => onReplay(game), "aria-label": `Replay game ${game.key}`}, "replay"), " ",
                h("a", {href: addressOf(game.key), "aria-label": `Explore game ${game.key}`}, "explore"), " ", h("a", {href: addressOf(game.key, ".pgn"), "aria-label": `PGN of game ${game.key}`}, "PGN")],
        ]
    })
    $("finished").replaceChildren(table(head.map((title, at) => ({title, word: words.has(at)})), rows, "Finished games, the last one first"))
}

function table(columns, rows, caption, note = "", first = "") {
    const kind = at => columns[at].word ? "text" : false
    return h("div", {class: "wide", tabindex: "0", role: "region", "aria-label": caption},
        h("table", {},
            h("caption", {}, caption, first && h("p", {class: "note"}, first), note && h("details", {}, h("summary", {}, "How to read it"), note)),
            h("thead", {}, h("tr", {}, columns.map(({title}, at) => title ? h("th", {scope: "col", class: kind(at)}, title) : h("td")))),
            h("tbody", {}, rows.map(row => h("tr", {}, row.map((cell, at) => h("td", {class: kind(at)}, cell)))))))
}
