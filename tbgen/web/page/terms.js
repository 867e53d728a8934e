// Terms of the game with what they mean, for pointer, touch and keys: those of a page are marked by data-term.

import {h} from "./dom.js"

const TERMS = {
    material: "The men, White's before the v.",
    points: "What White and Black get of the point if both play best.",
    accrued: "The lowest score since the last capture or pawn move; the first of equal ones counts. A minus is Black's.",
    position: "The score of this position alone: the legal moves of the side to move, and half a move more if it is not in check. A minus is Black's.",
    depth: "Plies, moves of one side, until the value is reached by best play.",
    score: "The number of legal moves left to the opponent, and half a move more if he is not in check: the fewer, the better. A minus is Black's.",
    worth: "The score that best play comes to from there.",
    mistake: "A move after which best play gives its side less.",
    resets: "After a capture or a pawn move the accrued score is that of the new position.",
    held: "The lowest score of this side since the last capture or pawn move. The better one of both has accrued, and is framed.",
    evaluation: "What the engine gives, in pawns, and how good that is for its own side.",
}

/** Return the id of an element that says what a term means. */
function described(name) {
    const id = `term-${name}`
    if (!document.getElementById(id)) document.body.append(h("p", {id, hidden: true}, TERMS[name]))
    return id
}

/** Let an element explain its term when it is pointed at, touched or reached by keys. */
function explain(element) {
    const {term: name} = element.dataset
    for (const [key, value] of Object.entries({"data-tip": TERMS[name], tabindex: 0, role: "note", "aria-describedby": described(name)})) element.setAttribute(key, value)
    return element
}

/** Return a term that explains itself. */
export const term = (name, text = name) => explain(h("span", {"data-term": name}, text))

document.querySelectorAll("[data-term]").forEach(explain)
