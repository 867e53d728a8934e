// Positions that no table holds. The server narrows the interval that contains the value, and sends its progress.

import {$, h, svg} from "./browser.js"
import {middleOf, pictureOf} from "./chessboard.js"
import {MOST_MEN, describedIn, numberOfMen, parse, squaresOf} from "./position.js"
import {height, pointsText, score, scoreNodes, sentence} from "./score.js"

const MAX_GAPS = 3
/** The width of a bar, in its own units. */
const WIDTH = 400
const MAX_ARROWS = 4
/** @type {AbortController} */ let asking = null

/** Stop the server's work, which ends when its client disconnects. */
export function stopSolving() {
    asking?.abort()
    asking = null
}

/** Whether the server can solve a position for which a request to the tables was refused. @type {(refused: {code?: string}, fen: string, rules: string) => boolean} */
export function maySolve(refused, fen, rules) {
    if (document.documentElement.dataset.solve === undefined || rules !== "r" || describedIn(fen).length) return false
    return ["missing_table", "castling_rights"].includes(refused.code) || (numberOfMen(fen) > MOST_MEN && parse(fen).castling === "-")
}

/** Offer to solve a position. @type {(element: Element, fen: string, accrued: string) => void} */
export function offerSolving(element, fen, accrued) {
    const button = h("button", {type: "button", onclick: () => solve(element, fen, accrued)}, "Solve it here")
    element.append(h("p", {}, button, " ", h("span", {class: "note"}, "This may take a minute.")))
}

/** @type {(element: Element, fen: string, accrued: string) => Promise<void>} */ async function solve(element, fen, accrued) {
    stopSolving()
    const mine = asking = new AbortController()
    const shown = h("p", {class: "interval", role: "status"}, "Solving …")
    const stop = h("button", {type: "button", onclick: stopSolving}, "Stop")
    element.replaceChildren(shown, stop)
    try {
        const response = await fetch(`r/solve?${new URLSearchParams(accrued ? {fen, accrued} : {fen})}`, {signal: mine.signal})
        if (!response.ok) shown.textContent = (await response.json()).message
        else for await (const {name, data} of events(response)) show[name]?.(shown, data)
    } catch {
        shown.append(mine.signal.aborted ? " Stopped." : " The connection has broken off.")
    }
    stop.remove()
}

/** @type {Record<string, (element: HTMLElement, told: Progress & Solution & RefusalDocument) => void>} */ const show = {
    interval(element, {lower, upper, cells}) {
        const known = isOpen({lower, upper}) ? ["Not known yet"] : ["Between ", score(lower), " and ", score(upper)]
        element.replaceChildren(...known, `, ${cells} cells solved …`, bar(lower, upper))
    },
    compiling(element, {message}) {
        element.textContent = `Solving begins soon: the server is ${message}.`
    },
    refusal(element, {message}) {
        element.textContent = message
    },
    solution(element, {fen, value, accrued, depth, lower, upper, points, moves, claims, plans, gaps, narrowing, stopped_by: stop}) {
        $("value").replaceChildren(...worth({lower, upper}))
        const known = isOpen({lower, upper}) ? "Nothing is known of the value." : `White gets ${lower} at least and ${upper} at most.`
        $("sentence").replaceChildren(...scoreNodes(value === null ? known : sentence({fen, value, accrued, depth, points: points.lower})))
        element.replaceChildren(...scoreNodes(value === null
            ? `Stopped by: ${stop}.`
            : `Proved: best play comes to ${value}, ${pointsText(points.lower)}.`))
        const ends = /** @type {const} */ (["lower", "upper"]).filter(end => claims[end]).map(end => boundFigure(fen, claims[end], plans[end]))
        const open = gaps.slice(0, MAX_GAPS).map(({text}) => h("li", {}, `${text}.`))
        if (narrowing) open.push(h("li", {}, `To be solved: ${narrowing.text}.`))
        element.after(h("div", {class: "ends"}, ends), open.length ? h("ul", {class: "gaps"}, open) : "", h("ul", {class: "solved"}, moves.map(move => h("li", {}, h("b", {}, move.san), " ", worth(move)))))
    },
}

/** Return a picture of one bound: the proved claim in words, and the moves that show it. @type {(fen: string, claim: string, plan: PlyDocument[]) => HTMLElement} */
function boundFigure(fen, claim, plan) {
    const said = plan.length ? `${claim}: ${plan.map(ply => ply.san).join(" ")}` : claim
    return h("figure", {}, planPicture(fen, plan.map(ply => ply.uci), said), h("figcaption", {}, said))
}

/** @type {(interval: Interval) => boolean} */ const isOpen = ({lower, upper}) => lower === "-G0.0" && upper === "G0.0"

/** @type {(interval: Interval) => (Node | string)[]} */ function worth({lower, upper}) {
    if (lower === upper) return [score(lower)]
    return isOpen({lower, upper}) ? ["not known"] : [score(lower), " to ", score(upper)]
}

/** Yield the events of a response. An EventSource would hide the reason of a refusal, and would reconnect. @type {(response: Response) => AsyncGenerator<{name: string, data: Progress & Solution & RefusalDocument}>} */
async function* events(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let text = ""
    for (;;) {
        const {done, value} = await reader.read()
        if (done) return
        text += value
        const blocks = text.split("\n\n")
        text = blocks.pop()
        for (const block of blocks) {
            const [, name, data] = block.match(/^event: (\w+)\ndata: (.*)$/) ?? []
            if (name) yield {name, data: JSON.parse(data)}
        }
    }
}

// Pictures of proved results: an interval as a bar, a bound as a board with arrows.

/** Return a bar from Black's best score to White's in which an interval is filled. @type {(lower: string, upper: string) => SVGSVGElement} */
function bar(lower, upper) {
    const [from, to] = [lower, upper].map(end => WIDTH / 2 * (1 + height(end)))
    return svg("svg", {class: "bar", viewBox: `0 0 ${WIDTH} 12`, role: "img", "aria-label": `from ${lower} to ${upper}`},
        svg("rect", {class: "all", width: WIDTH, height: 12}),
        svg("rect", {class: "left", x: from - 2, width: to - from + 4, height: 12}),
        svg("line", {x1: WIDTH / 2, x2: WIDTH / 2, y1: 0, y2: 12}))
}

/** Return a board with arrows for the first of some moves in UCI's notation. @type {(fen: string, moves: string[], said: string) => SVGSVGElement} */
function planPicture(fen, moves, said) {
    const {turn} = parse(fen)
    const arrows = moves.slice(0, MAX_ARROWS).map((uci, index) => {
        const [from, to] = squaresOf(uci).map(square => middleOf(square))
        const side = (turn === "w") === (index % 2 === 0) ? "white" : "black"
        return svg("g", {class: `arrow ${side}${index < 2 ? "" : " later"}`},
            svg("line", {x1: from.x, y1: from.y, x2: to.x, y2: to.y}), svg("circle", {cx: to.x, cy: to.y, r: 7}))
    })
    return pictureOf(fen, false, {class: "ending", role: "img", "aria-label": said}, arrows.reverse())
}
