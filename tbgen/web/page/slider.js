// The accrued score as a slider, and along it what the position is worth.

import {$, h} from "./dom.js"
import {isWhite} from "./score.js"

/** Return neighbouring stops of one kind: of one value, or where one side keeps what has accrued. */
export function stretches(stops) {
    const found = []
    for (const stop of stops) {
        const last = found.at(-1)
        if (last && last.value === stop.value) last.stops.push(stop)
        else found.push({value: stop.value, stops: [stop]})
    }
    const merged = []
    for (const stretch of found) {
        const kept = stretch.stops.length === 1 && stretch.stops[0].accrued === stretch.value
        const last = merged.at(-1)
        if (kept && last?.kept && isWhite(last.value) === isWhite(stretch.value)) last.stops.push(...stretch.stops)
        else merged.push({...stretch, kept})
    }
    return merged
}

export class Slider {
    /** @param {(accrued: string, done: boolean) => void} onChange told of the score chosen, and whether for good */
    constructor(onChange) {
        this.stops = []
        this.input = $("accrued")
        this.band = $("band")
        this.input.addEventListener("input", () => this.changed(onChange, false))
        this.input.addEventListener("change", () => this.changed(onChange, true))
    }

    changed(onChange, done) {
        const stop = this.stops[Number(this.input.value)]
        this.say(stop)
        if (stop) onChange(stop.accrued, done)
    }

    /** Show what an answer of /accrued says, and where the score is that counts. */
    show(document, accrued) {
        const stops = [...document.accrued_scores].reverse()
        const key = JSON.stringify(stops)
        if (key !== this.key) {
            this.key = key
            this.stops = stops
            this.input.max = stops.length - 1
            this.band.replaceChildren(...stretches(stops).map(segment))
        }
        this.own = document.position_score
        const at = stops.findIndex(stop => stop.accrued === accrued)
        this.input.value = Math.max(at, 0)
        this.say(stops[Math.max(at, 0)])
        this.input.disabled = stops.length < 2
    }

    say(stop) {
        if (!stop) return
        this.input.setAttribute("aria-valuetext", `${stop.accrued} accrued, worth ${stop.value}`)
        $("accrued-text").textContent = stop.accrued
        $("accrued-own").textContent = stop.accrued === this.own ? "the position's own" : ""
    }
}

function segment(stretch) {
    const {stops, kept, value} = stretch
    const several = kept && stops.length > 1
    const text = several ? "kept" : value
    const range = stops.length > 1 ? `${stops[0].accrued} to ${stops.at(-1).accrued}` : stops[0].accrued
    const said = several ? `${range} accrued: it is kept` : `${range} accrued: worth ${value}`
    const element = h("span", {class: isWhite(value) ? "segment white" : "segment black", title: said}, h("span", {}, text))
    element.style.flexGrow = stops.length
    return element
}
