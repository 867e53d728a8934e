// The games of a text: their results in a table, and a way to each.

import {$, h, score} from "./dom.js"
import {basisOf} from "./game.js"
import {pointsText} from "./score.js"

/**
 * Show the games of an answer of /games.
 *
 * @param {(game: object) => void} onOpen told of the game that is chosen
 */
export function showGames(games, onOpen) {
    $("games").hidden = games.length < 2
    $("games-label").textContent = `${games.length} games`
    $("games-rows").replaceChildren(...games.map(game => row(game, onOpen)))
}

/** Mark the game that is open. */
export function markGame(game) {
    for (const each of $("games-rows").children) each.classList.toggle("here", each.dataset.number === String(game.number))
}

function row(game, onOpen) {
    const {number, tags, result, plies, outcome, error} = game
    const players = `${tags.White ?? "?"} – ${tags.Black ?? "?"}`
    const open = error ? players : h("button", {type: "button", class: "step", onclick: () => onOpen(game)}, players)
    const cells = error ? [h("td", {colspan: 3, class: "problem"}, error)] : [
        h("td", {}, result), h("td", {title: pointsText(outcome.points)}, score(outcome.value), ` ${basisOf(outcome)}`), h("td", {}, plies)]
    return h("tr", {"data-number": number}, h("th", {scope: "row"}, open), cells)
}
