// What each side of a finished game could have had, ply by ply, with the mistakes named.

import {givenAway, reviewed} from "./contest.js"
import {$, h, refill, score} from "./dom.js"
import {numbered} from "./position.js"

/** What a visitor may give something away by, beside moves. */
const ENDING = {resigned: "Resigning", agreed: "Offering the result"}

/**
 * Show the review of a game.
 *
 * @param {object[]} plies those of contest.js
 * @param {number} shown the one that is shown
 * @param {string} ended how it has ended, see play.js
 * @param {string} side that of the visitor, by whom it was ended
 * @param {(at: number) => void} onGo told where to go
 */
export function showReview(plies, shown, ended, side, onGo) {
    const rows = reviewed(plies).map(ply => ({...ply, label: numbered(plies[ply.at - 1].fen, [ply.san])[0].join(" ") + ply.mark}))
    const known = rows.some(row => row.had !== null)
    const step = row => h("button", {type: "button", class: "step", "aria-current": row.at === shown ? "step" : false, onclick: () => onGo(row.at)}, row.label)
    const mistakes = rows.filter(row => row.mark).map(row => h("li", {}, step(row), " ", ...change(row), "; best was ", h("b", {}, row.best)))
    const given = givenAway(plies, ended, side)
    if (given) mistakes.push(h("li", {}, `${ENDING[ended]} `, ...change(given), "; best was to play on"))
    $("mistakes").replaceChildren(...mistakes)
    $("no-mistakes").hidden = mistakes.length > 0
    $("no-mistakes").textContent = known ? "Nobody has made a mistake." : "No table says what could have been."
    refill($("plies"), rows.map(row => h("tr", {class: row.mark ? "mistake" : false},
        h("th", {scope: "row"}, step(row)),
        h("td", {}, score(row.left)),
        h("td", {}, score(row.accrued)),
        h("td", {}, row.had === null ? "?" : row.mark ? change(row) : score(row.had)))), "[aria-current]")
}

/** What a mistake has changed. */
const change = ({had, got}) => [score(had), " → ", score(got)]
