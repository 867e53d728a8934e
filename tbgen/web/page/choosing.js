// What a new game begins with.

import {attempt, fresh} from "./api.js"
import {$, h} from "./dom.js"
import {ENDGAMES} from "./endgames.js"
import {split} from "./position.js"
import {mayHold, stockUp} from "./stock.js"

const INITIAL = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

/** Return a random position whose side to move has a score to win. */
export const challenge = async level => (await fresh("r/challenge", {level})).fen

/**
 * Let a new game be chosen.
 *
 * @param {(start: object, first: boolean) => Promise} onBegin told of `fen` and `accrued` of a position, and whether the
 *     visitor plays the side to move; it may be refused
 */
export function offerChoices(onBegin) {
    const begin = find => attempt($("choosing-problem"), async () => {
        await onBegin({accrued: null, ...await find()}, $("mover").value === "first")
        $("choosing").close()
    })
    for (const button of document.querySelectorAll("#levels button")) {
        button.addEventListener("click", () => begin(async () => ({fen: await challenge(button.dataset.level)})))
    }
    $("initial").hidden = document.documentElement.dataset.engine === undefined
    $("initial").addEventListener("click", () => begin(() => ({fen: INITIAL})))
    $("position").addEventListener("submit", event => {
        event.preventDefault()
        begin(() => split($("fen").value))
    })
    $("choosing-close").addEventListener("click", () => $("choosing").close())
    $("new").addEventListener("click", async () => {
        $("choosing").showModal()
        await stockUp()
        const there = ENDGAMES.filter(([, fen]) => mayHold(fen, "r"))
        $("famous").replaceChildren(...there.map(([name, fen, text]) => h("li", {},
            h("button", {type: "button", onclick: () => begin(() => ({fen}))}, name, " ", h("small", {}, text)))))
    })
}
