// The buttons that step: back and forth through the game, and on by best play.

import {$} from "./dom.js"
import {isView} from "./state.js"
import {nextOf} from "./tree.js"

/** Let be stepped where there is something to step to. */
export function offerSteps({at, rules}, plies, line) {
    const ends = !nextOf(plies)[at].length
    $("back").disabled = $("first").disabled = at === 0
    $("forward").disabled = ends && !line.length
    $("last").disabled = ends && (isView(rules) || !line.length)
    $("step").disabled = $("run").disabled = !line.length
    $("end").disabled = isView(rules) || !line.length
}
