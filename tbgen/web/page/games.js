// The games of a text: their results in a table, and a way to each.

import {isStatic} from "./api.js"
import {$, h, score} from "./dom.js"
import {basisOf} from "./game.js"
import {TAB, keep, kept} from "./kept.js"
import {pointsText} from "./score.js"

/** Where the games are for as long as the tab is open; they are too many for the address. */
const NAME = "tbgen-games"

/**
 * Show the games of an answer of /games.
 *
 * @param {(game: object) => void} onOpen told of the game that is chosen
 */
export function showGames(games, onOpen) {
    keep(NAME, games.length > 1 ? {games} : null, TAB)
    $("games").hidden = games.length < 2
    $("games-label").textContent = `${games.length} games`
    $("games-rows").replaceChildren(...games.map(game => row(game, onOpen)))
}

/** Mark the game that is open. */
export function markGame({number}) {
    for (const each of $("games-rows").children) each.classList.toggle("here", each.dataset.number === String(number))
    const known = kept(NAME, TAB)
    if (known) keep(NAME, {...known, number}, TAB)
}

/** Show the games again that were there before the page was loaded anew. */
export function showKept(onOpen) {
    const known = kept(NAME, TAB)
    if (!known) return
    showGames(known.games, onOpen)
    markGame(known)
}

function row(game, onOpen) {
    const {number, tags, result, plies, outcome, error} = game
    const players = `${tags.White ?? "?"} – ${tags.Black ?? "?"}`
    const open = error ? players : h("button", {type: "button", class: "step", onclick: () => onOpen(game)}, players)
    const cells = error ? [h("td", {colspan: isStatic ? 2 : 3, class: "problem"}, error)] : [
        h("td", {}, result), isStatic ? "" : outcomeOf(outcome), h("td", {}, plies)]
    return h("tr", {"data-number": number}, h("th", {scope: "row"}, open), cells)
}

const outcomeOf = outcome => h("td", {title: pointsText(outcome.points)}, score(outcome.value), ` ${[basisOf(outcome), ...outcome.doubts].join(", ")}`)
