// The moves of the game with variations, values and mistakes: showing them, stepping through them, and editing them.

import {$, h, refillMoves, step} from "./browser.js"
import {graph} from "./mobility.js"
import {parse} from "./position.js"
import {change, markOf, score} from "./score.js"
import {isView} from "./state.js"
import {SIGNS, asComment, inOrder, lineThrough, nextOf} from "./tree.js"

/** @type {Record<string, string>} */
const BASES = {accrued: "what was played", tablebase: "by the tables", solved: "proved", mate: "mate", stalemate: "stalemate"}
const MAX_COMMENT_LETTERS = 1000

/**
 * Show the game.
 *
 * @type {(plies: Ply[], at: number, whole: boolean, onGo: (at: number) => unknown) => void}
 * @param plies positions with `fen`, `san`, `after`, `accrued`, optionally `comment`, and `value` if a table has it
 * @param at number of the shown position
 * @param whole whether `plies` have all values that the tables have
 * @param onGo called with the number of the position to go to
 */
export function showGame(plies, at, whole, onGo) {
    $("game").hidden = plies.length < 2
    if (plies.length < 2) return
    refillMoves($("played"), [step("start", () => onGo(0), at === 0), " ", ...gameNodes(plies, at, onGo)])
    const line = lineThrough(plies, at)
    const shown = {width: $("graph").clientWidth, at: line.indexOf(at), whole, onGo: (/** @type {number} */ index) => onGo(line[index])}
    $("graph").replaceChildren(graph(line.map(number => plies[number]), shown))
}

/** @type {(plies: Ply[], at: number, onGo: (at: number) => unknown) => Child[]} */ function gameNodes(plies, at, onGo) {
    const open = [/** @type {Child[]} */ ([])]
    for (const each of inOrder(plies)) {
        if (each === "(") {
            open.push(["("])
        } else if (typeof each === "string") {
            const variation = open.pop().slice(0, -1)
            open.at(-1).push(h("span", {class: "variation"}, variation, ")"), " ")
        } else {
            const {number, label} = each
            open.at(-1).push(label && `${label} `, moveNodes(plies, number, at, onGo), " ")
        }
    }
    return open[0]
}

/**
 * Return a move with its mark, and the value of the position that it leads to; a mistake also has the value before it.
 * If the text has glyphs, the glyphs follow the move, and the mark is shown with the values.
 * @type {(plies: Ply[], number: number, at: number, onGo: (at: number) => unknown) => Child[]}
 */
function moveNodes(plies, number, at, onGo) {
    const {san, nags = [], value, after, comment} = plies[number]
    const before = plies[after]
    const mark = markOf(before, plies[number])
    const said = nags.map(nag => SIGNS[nag] ?? "").join("")
    /** @type {Child[]} */
    const shown = [step(san + (said || mark), () => onGo(number), number === at, comment ? {class: "step said", title: comment} : {})]
    const worth = mark ? [said && said !== mark ? `${mark} ` : "", ...change(before.value, value)] : value && score(value)
    if (value) shown.push(" ", h("small", {class: mark ? "mistake" : "worth"}, worth))
    return shown
}

/** Show the outcome of a refereed game. @type {(element: Element, refereed: GameDocument) => void} */
export function showOutcome(element, refereed) {
    if (!refereed?.outcome) {
        element.replaceChildren()
        return
    }
    const {outcome, plies, missing_tables: missing, cut_variations: cut} = refereed
    const first = plies.find(ply => ply.value)
    element.replaceChildren(...[
        "Result ", score(outcome.value), ` (${basisOf(outcome)}), accrued at the end `, score(plies.at(-1).accrued), ". ",
        !first ? "No table reaches it." : first.ply ? `Tables begin at move ${parse(first.fen).number}.` : "",
        cut ? ` ${cut === 1 ? "A variation ends" : `${cut} variations end`} before a move that is not legal.` : "",
        outcome.doubts.length ? ` Doubtful: ${outcome.doubts.join(", ")}.` : "",
        missing.length ? [" More values are available after ", h("code", {}, `tbgen build ${missing.join(" ")}`), "."] : "",
    ].flat())
}

/** Return the basis of an outcome, in words. @type {(outcome: OutcomeDocument) => string} */
export const basisOf = ({basis}) => BASES[basis] ?? basis

// The buttons that step through the game, and beyond it by best play.

/** Enable each of the buttons if there is a position to step to. @type {(state: State, plies: Ply[], line: unknown[]) => void} */
export function offerSteps({at, rules}, plies, line) {
    const ends = !nextOf(plies)[at].length
    $("back").disabled = $("first").disabled = at === 0
    $("forward").disabled = ends && !line.length
    $("last").disabled = ends && (isView(rules) || !line.length)
    $("step").disabled = $("run").disabled = !line.length
    $("end").disabled = isView(rules) || !line.length
}

// Editing: promoting variations, deleting moves, and comments.

/** Let the visitor edit the shown position by the functions of `does`: `promote()`, `remove()` and `comment(text)`. @type {(does: {promote: () => unknown, remove: () => unknown, comment: (text: string) => unknown}) => void} */
export function offerEditing(does) {
    const text = $("comment-text")
    text.maxLength = MAX_COMMENT_LETTERS
    const open = (/** @type {boolean} */ isOpen) => {
        $("commenting").hidden = !isOpen
        $("edit-comment").setAttribute("aria-expanded", String(isOpen))
        if (isOpen) text.focus()
    }
    const close = () => {
        open(false)
        $("edit-comment").focus()
    }
    const save = (/** @type {string} */ comment) => {
        close()
        does.comment(asComment(comment))
    }
    $("promote").addEventListener("click", () => does.promote())
    $("delete").addEventListener("click", () => does.remove())
    $("edit-comment").addEventListener("click", () => {
        text.value = $("comment").textContent
        open($("commenting").hidden === true)
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

/** Show the comment of a position, and enable the possible actions. @type {(plies: Ply[], at: number) => void} */
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
