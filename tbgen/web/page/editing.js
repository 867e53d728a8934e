// What can be changed of the moves of a game besides playing on: their order, their comments, and whether they are there.

import {$} from "./dom.js"
import {asComment} from "./game_text.js"
import {lineThrough} from "./tree.js"

const MOST_LETTERS = 1000

/** Let the position that is shown be edited; `does` is told: `promote()`, `remove()` and `comment(text)`. */
export function offerEditing(does) {
    const text = $("comment-text")
    text.maxLength = MOST_LETTERS
    const open = isOpen => {
        $("commenting").hidden = !isOpen
        $("edit-comment").setAttribute("aria-expanded", isOpen)
        if (isOpen) text.focus()
    }
    const close = () => {
        open(false)
        $("edit-comment").focus()
    }
    const save = comment => {
        close()
        does.comment(asComment(comment))
    }
    $("promote").addEventListener("click", () => does.promote())
    $("delete").addEventListener("click", () => does.remove())
    $("edit-comment").addEventListener("click", () => {
        text.value = $("comment").textContent
        open($("commenting").hidden)
    })
    $("commenting").addEventListener("submit", event => {
        event.preventDefault()
        save(text.value)
    })
    $("comment-delete").addEventListener("click", () => save(""))
    $("comment-cancel").addEventListener("click", close)
    text.addEventListener("keydown", event => {
        if (event.key === "Escape") close()
        else if (event.key === "Enter" && !event.shiftKey) $("commenting").requestSubmit()
        else return
        event.preventDefault()
    })
}

/** Show what can be done with the position that is shown, by its number. */
export function showEditing(plies, at) {
    const {comment = ""} = plies[at]
    $("comment").textContent = comment
    $("commenting").hidden = true
    $("edit-comment").textContent = comment ? "Edit the comment" : "Add a comment"
    $("edit-comment").setAttribute("aria-expanded", "false")
    $("comment-delete").hidden = !comment
    $("promote").disabled = lineThrough(plies).includes(at)
    $("delete").disabled = at === 0
}
