// Moves that are typed.

import {$} from "./dom.js"
import {typedMove} from "./moves.js"

/** Clear what was typed in another position. */
export function clearTyping() {
    $("typed").value = ""
    $("typing-problem").textContent = ""
}

/**
 * @param {() => Promise<object[]>} moves returns the legal ones of what is shown; who types fast has the move wait for it
 * @param {(move: object) => void} onMove told of the move that was typed
 * @param {() => string} hindrance returns why no move can be made now; empty if one can
 */
export function offerTyping(moves, onMove, hindrance = () => "") {
    $("typing").addEventListener("submit", async event => {
        event.preventDefault()
        const typed = $("typed").value.trim()
        const move = typedMove(await moves(), typed)
        $("typing-problem").textContent = move ? "" : hindrance() || `${typed || "This"} is no legal move here.`
        if (!move) return
        $("typed").value = ""
        onMove(move)
    })
}
