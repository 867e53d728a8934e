// The value of a position: in words, for each accrued score, by best play, and among all positions of its material.

import {ask, attempt} from "./api.js"
import {$, h, refill, steps} from "./browser.js"
import {numbered} from "./position.js"
import {counted, headline, height, isWhites, movesIn, plies, pointsText, score, scoreNodes, sentence, showScore, term, unknownSentence} from "./score.js"
import {copy} from "./sharing.js"
import {DEFAULT, isView, variantOf, written} from "./state.js"

const PLAYING_MS = 900

/** @type {(answer: Answer) => void} */ export function showVerdict(answer) {
    document.body.classList.remove("refused", "beyond")
    $("value").classList.remove("soft")
    showScore($("value"), headline(answer))
    $("sentence").replaceChildren(...scoreNodes(sentence(answer)))
    showFacts(facts(answer))
    $("problem").replaceChildren()
    document.title = `${headline(answer)} ${answer.material} - tbgen explorer`
}

/** @type {(list: [string, Child][]) => void} */ function showFacts(list) {
    $("facts").replaceChildren(...list.map(([name, value]) => h("div", {}, h("dt", {}, term(name)), h("dd", {}, value))))
}

/** @type {(answer: Answer) => [string, Child][]} */ function facts(answer) {
    /** @type {[string, Child][]} */ const found = [["points", pointsText(answer.points)]]
    if (answer.material) found.unshift(["material", answer.material])
    if (answer.view) return found
    const {depth} = answer
    const way = depth === null ? "not stored" : h("span", {"data-plies": depth, title: plies(depth)}, counted(movesIn(depth), "move"))
    return [...found, ["accrued", answer.accrued], ["position", answer.position_score], ["depth", way]]
}

/** Show the legal moves' answer about a position that tables do not hold: accrued score, and the value if it is available. @type {(found: LegalMovesDocument, view: boolean) => void} */
export function showBeyond(found, view) {
    const known = found.value !== null && !view
    const over = found.checkmate || found.stalemate
    document.body.classList.add("beyond")
    $("value").classList.toggle("soft", !known)
    showScore($("value"), view ? "?" : found.value ?? found.accrued)
    $("sentence").replaceChildren(...scoreNodes(known || over ? sentence(found) : view ? "" : unknownSentence(found.accrued)))
    if (known || over) $("problem").replaceChildren()
    /** @type {[string, Child][]} */ const scores = [["accrued", found.accrued], ["position", found.position_score]]
    showFacts(view ? [] : known ? facts(found) : scores)
}

/** Show why there is no answer, and what to do. If available, the accrued score of the game is shown. @type {(error: Error, accrued: string) => void} */
export function showProblem(error, accrued) {
    document.body.classList.remove("beyond")
    document.body.classList.add("refused")
    showScore($("value"), accrued || "?")
    $("sentence").replaceChildren(...scoreNodes(accrued ? `${accrued} has accrued so far.` : ""))
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

// A slider for the accrued score, with the values of the position along it.

/** Return stretches of neighbouring stops: with the same value, or with one side keeping each accrued score. @type {(stops: AccruedScoreDocument[]) => Stretch[]} */
function stretches(stops) {
    const found = /** @type {Stretch[]} */ ([])
    for (const stop of stops) {
        const last = found.at(-1)
        if (last && last.value === stop.value) last.stops.push(stop)
        else found.push({value: stop.value, stops: [stop]})
    }
    const merged = /** @type {Stretch[]} */ ([])
    for (const stretch of found) {
        const kept = stretch.stops.length === 1 && stretch.stops[0].accrued === stretch.value
        const last = merged.at(-1)
        if (kept && last?.kept && isWhites(last.value) === isWhites(stretch.value)) last.stops.push(...stretch.stops)
        else merged.push({...stretch, kept})
    }
    return merged
}

export class Slider {
    /** @param {(accrued: string, done: boolean) => void} onChange called with the chosen score, and whether the choice is final */
    constructor(onChange) {
        this.stops = /** @type {AccruedScoreDocument[]} */ ([])
        this.key = ""
        /** Whether the slider is being moved. */
        this.moving = false
        this.input = $("accrued")
        this.band = $("band")
        this.input.addEventListener("input", () => this.changed(onChange, false))
        this.input.addEventListener("change", () => this.changed(onChange, true))
    }

    /** @type {(onChange: (accrued: string, done: boolean) => void, done: boolean) => void} */ changed(onChange, done) {
        const stop = this.stops[Number(this.input.value)]
        this.say(stop)
        if (stop) onChange(stop.accrued, done)
    }

    /** Show an answer of /accrued, with the slider at the current accrued score. @type {(document: AccruedScoresDocument, accrued: string) => void} */
    show(document, accrued) {
        const stops = [...document.accrued_scores].reverse()
        const key = JSON.stringify(stops)
        if (key !== this.key) {
            this.key = key
            this.stops = stops
            this.input.max = String(stops.length - 1)
            this.band.replaceChildren(...stretches(stops).map(segment))
        }
        this.positionScore = document.position_score
        const at = stops.findIndex(stop => stop.accrued === accrued)
        this.input.value = String(Math.max(at, 0))
        this.say(stops[Math.max(at, 0)])
        this.input.disabled = stops.length < 2
    }

    /** @type {(stop: AccruedScoreDocument) => void} */ say(stop) {
        if (!stop) return
        this.input.setAttribute("aria-valuetext", `${stop.accrued} accrued, worth ${stop.value}`)
        $("accrued-text").textContent = stop.accrued
        $("accrued-own").textContent = stop.accrued === this.positionScore ? "of this position alone" : ""
    }
}

/** @type {(stretch: Stretch) => HTMLElement} */ function segment(stretch) {
    const {stops, kept, value} = stretch
    const several = kept && stops.length > 1
    const text = several ? "kept" : value
    const range = stops.length > 1 ? `${stops[0].accrued} to ${stops.at(-1).accrued}` : stops[0].accrued
    const said = several ? `${range} accrued: it is kept` : `${range} accrued: worth ${value}`
    const element = h("span", {class: isWhites(value) ? "segment white" : "segment black", title: said}, h("span", {}, text))
    element.style.flexGrow = String(stops.length)
    return element
}

// Best play as a line of moves.

/** Return best play from a position, `{fen, accrued}`, with its answer: moves with `uci`, `san` and `accrued`. @type {(answer: Answer, here: Ply, rules: string) => Promise<Ply[]>} */
export async function bestPlay(answer, {fen, accrued}, rules) {
    const [best] = answer.moves
    // If the depth is available, play reaches the end by making the first move of the answer each time.
    if (isView(rules)) return answer.depth && best ? [{uci: best.uci, san: best.san, accrued: null}] : []
    const line = async (/** @type {Question} */ from) => (await ask(`${rules}/mainline`, from)).mainline
    if (!answer.refusal) return await line({fen, accrued})
    // No table holds the position, but tables hold those after its moves.
    return answer.depth === 0 ? [] : [best, ...best.depth === 0 ? [] : await line({fen: best.fen, accrued: best.accrued})]
}

/**
 * Show best play.
 *
 * @type {(element: Element, line: Ply[], answer: Answer, onGo: (number: number) => unknown) => void}
 * @param line moves with `san` and the accrued score after them
 * @param answer the answer about the position
 * @param onGo called with the number of moves to make
 */
export function showLine(element, line, answer, onGo) {
    const moves = steps(numbered(answer.fen, line.map(ply => ply.san)), index => onGo(index + 1), -1, index => ({title: answer.view ? false : `accrued ${line[index].accrued}`}))
    refill(element, line.length ? [...moves, answer.view || line.at(-1).depth ? "…" : ""] : [h("span", {class: "note"}, noLine(answer))])
}

/** @type {(answer: Answer) => string} */ function noLine(answer) {
    if (!answer.moves.length) return "The game is over."
    if (!answer.view) return "Nothing to do: what has accrued is the value."
    return answer.winner === null ? "A draw: there is nothing to reach." : "The winner is known here, but not how soon: there is no line."
}

/** Best play that is shown move by move. */
export class Running {
    /**
     * @param {Element} button the button that starts and stops it
     * @param {(first: boolean) => Promise<void>} step makes a move
     * @param {() => object} shown returns the current state; if it has changed since the last step, the visitor has gone
     *     elsewhere, and play stops
     */
    constructor(button, step, shown) {
        this.button = button
        this.step = step
        this.shown = shown
        this.timer = 0
    }

    toggle() {
        if (this.timer) {
            this.stop()
            return
        }
        this.button.textContent = "Pause"
        this.last = null
        this.timer = setTimeout(() => this.tick())
    }

    async tick() {
        if (this.last && this.shown() !== this.last) {
            this.stop()
            return
        }
        await this.step(!this.last)
        this.last = this.shown()
        if (this.timer) this.timer = setTimeout(() => this.tick(), PLAYING_MS)
    }

    stop() {
        clearTimeout(this.timer)
        this.timer = 0
        this.button.textContent = "Play"
    }
}

// The material: its report, and how many positions have which value.

/** @type {[Colour, string][]} */ const SIDES = [["white", "White to move"], ["black", "Black to move"]]

/**
 * Show the material of a position, and the counts of its values if they are unfolded.
 *
 * @type {(answer: Answer, rules: string, isShown: () => boolean) => Promise<void>}
 * @param answer the answer about the position
 * @param rules the rules of the answer
 * @param isShown returns whether the position is still shown
 */
export async function showMaterial({material, value}, rules, isShown) {
    const variant = variantOf(rules)
    $("material-name").textContent = isView(rules) ? `${material} in r-mobility` : material
    if (document.documentElement.dataset.report !== undefined) showReport($("material-report"), material, variant, isShown)
    if (!$("material").open) return
    // Mates and stalemates have values without a table.
    await attempt($("stats-problem"), async () => {
        const table = await ask(`${variant}/stats/${material}`)
        if (isShown()) showStats($("stats"), table, value)
    })
}

/** Show the link to the report on a table, if it exists. @type {(link: HTMLAnchorElement, material: string, variant: string, isShown: () => boolean) => Promise<void>} */
async function showReport(link, material, variant, isShown) {
    link.href = `report/tables/${material}.${variant}.html`
    const response = await fetch(link.href, {method: "HEAD"}).catch(() => /** @type {Response} */ (null))
    if (isShown()) link.hidden = !response?.ok
}

/** Show an answer of /stats about a table, with the value of the shown position marked. @type {(element: Element, table: CountedTableDocument, value: string) => void} */
function showStats(element, table, value) {
    const {positions, values} = table
    const totals = SIDES.map(([side]) => Object.values(values[side]).reduce((sum, count) => sum + count, 0))
    const names = [...new Set(SIDES.flatMap(([side]) => Object.keys(values[side])))].sort((one, other) => height(other) - height(one))
    const number = (/** @type {number} */ count) => count.toLocaleString("en")
    const longest = counted(movesIn(table.max_depth), "move")
    const included = table.accrued && table.form === "plain"
    element.replaceChildren(
        h("p", {class: "note"},
            `${number(positions.white)} positions with White to move, ${number(positions.black)} with Black to move, up to `,
            `symmetry; the longest way to a value, ${included ? "whatever has accrued" : "with a fresh score"}, takes `,
            table.longest ? h("a", {href: written({...DEFAULT, ...table.longest, rules: table.rules})}, longest) : longest, "."),
        h("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "Positions by value"}, h("table", {class: "counts"},
            h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "value"), SIDES.map(([, name]) => h("th", {scope: "col", colspan: 2}, name)))),
            h("tbody", {}, names.map(name => h("tr", {class: name === value ? "here" : false},
                h("th", {scope: "row"}, score(name)),
                SIDES.map(([side], index) => {
                    const count = values[side][name] ?? 0
                    return [h("td", {}, count ? number(count) : ""), h("td", {class: "bar"}, count > 0 && bar(count / totals[index]))]
                })))))))
}

/** @type {(share: number) => HTMLElement} */ function bar(share) {
    const element = h("span", {title: `${(100 * share).toFixed(2)} %`})
    element.style.width = `${100 * share}%`
    return element
}
