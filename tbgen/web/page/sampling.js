// Random positions of a material, with a value, or both.

import {ask, attempt} from "./api.js"
import {$, h} from "./dom.js"
import {stockUp} from "./stock.js"

/**
 * Let random positions be found.
 *
 * @param {() => string} variant the game that is played now
 * @param {(fen: string) => void} onFound
 */
export function offerSamples(variant, onFound) {
    $("sampling").addEventListener("submit", event => {
        event.preventDefault()
        attempt($("sampling-problem"), async () => {
            const wanted = {material: $("sample-material").value.trim(), value: $("sample-value").value.trim(), side: $("sample-side").value}
            onFound((await ask(`${variant()}/sample`, wanted)).fen)
        })
    })
    $("sample-material").addEventListener("focus", async () => {
        const names = (await stockUp()).filter(table => table.rules === variant()).map(table => table.material)
        $("materials").replaceChildren(...names.map(value => h("option", {value})))
    })
}
