// What a position is worth, large and in words; or why that is not known.

import {copy} from "./copying.js"
import {$, h, showScore, whole} from "./dom.js"
import {headline, plies, pointsText, sentence, unknown} from "./score.js"
import {term} from "./terms.js"

export function showVerdict(answer) {
    document.body.classList.remove("refused", "beyond")
    $("value").classList.remove("soft")
    showScore($("value"), headline(answer))
    $("sentence").replaceChildren(...whole(sentence(answer)))
    showFacts(facts(answer))
    $("problem").replaceChildren()
    document.title = `${headline(answer)} ${answer.material} - tbgen explorer`
}

function showFacts(list) {
    $("facts").replaceChildren(...list.map(([name, value]) => h("div", {}, h("dt", {}, term(name)), h("dd", {}, value))))
}

function facts(answer) {
    const found = [["material", answer.material], ["points", pointsText(answer.points)]]
    if (answer.view) return found
    const depth = answer.depth === null ? "not stored" : plies(answer.depth)
    return [...found, ["accrued", answer.accrued], ["position", answer.position_score], ["depth", depth]]
}

/** Show what is known of a position all the same where tables do not say all that there is to say. */
export function showBeyond(found, view) {
    const known = found.value !== null && !view
    const over = found.checkmate || found.stalemate
    document.body.classList.add("beyond")
    $("value").classList.toggle("soft", !known)
    showScore($("value"), view ? "?" : found.value ?? found.accrued)
    $("sentence").replaceChildren(...whole(known || over ? sentence(found) : view ? "" : unknown(found.accrued)))
    if (over) $("problem").replaceChildren()
    const scores = [["accrued", found.accrued], ["position", found.position_score]]
    showFacts(view ? [] : known ? [["points", pointsText(found.points)], ...scores] : scores)
}

/** Say why there is no answer, and what to do; what has accrued in a game is known all the same. */
export function showProblem(error, accrued) {
    document.body.classList.remove("beyond")
    document.body.classList.add("refused")
    showScore($("value"), accrued || "?")
    $("sentence").replaceChildren(...whole(accrued ? `${accrued} has accrued so far.` : ""))
    showFacts([])
    const command = error.message.match(/tbgen build .*/)?.[0]
    const text = command ? error.message.slice(0, error.message.indexOf(command)).replace(/; build it with: $/, ".") : error.message
    $("problem").replaceChildren(h("p", {}, `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`))
    if (command) {
        $("problem").append(h("p", {}, "Build it with ", h("code", {}, command), " ",
            h("button", {type: "button", onclick: () => copy(command, "Command")}, "Copy")))
    }
    document.title = "tbgen explorer"
}
