// What is proved of a position as pictures: an interval as a bar, an end of it as a board with arrows.

import {svg} from "./dom.js"
import {drawn} from "./men.js"
import {parse} from "./position.js"
import {height} from "./score.js"

const SQUARE = 40
const SIZE = 8 * SQUARE
const WIDTH = 400
const ARROWS = 4

/** Return the bar of an interval, from Black's best score to White's: what is left of it is filled. */
export function bar(lower, upper) {
    const [from, to] = [lower, upper].map(end => WIDTH / 2 * (1 + height(end)))
    return svg("svg", {class: "bar", viewBox: `0 0 ${WIDTH} 12`, role: "img", "aria-label": `from ${lower} to ${upper}`},
        svg("rect", {class: "all", width: WIDTH, height: 12}),
        svg("rect", {class: "left", x: from - 2, width: to - from + 4, height: 12}),
        svg("line", {x1: WIDTH / 2, x2: WIDTH / 2, y1: 0, y2: 12}))
}

/** Return a board with arrows for the first of some moves in UCI's notation. */
export function ending(fen, moves, said) {
    const corner = square => [SQUARE * (square.charCodeAt(0) - 97), SQUARE * (8 - Number(square[1]))]
    const dark = Array.from({length: 64}, (_, index) => [index % 8, index >> 3]).filter(([x, y]) => (x + y) % 2)
    const {men, turn} = parse(fen)
    const arrows = moves.slice(0, ARROWS).map((uci, index) => {
        const [from, to] = [uci.slice(0, 2), uci.slice(2, 4)].map(square => corner(square).map(edge => edge + SQUARE / 2))
        const side = (turn === "w") === (index % 2 === 0) ? "white" : "black"
        return svg("g", {class: `arrow ${side}${index < 2 ? "" : " later"}`},
            svg("line", {x1: from[0], y1: from[1], x2: to[0], y2: to[1]}), svg("circle", {cx: to[0], cy: to[1], r: 7}))
    })
    return svg("svg", {class: "ending", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", "aria-label": said},
        svg("rect", {class: "light", width: SIZE, height: SIZE}),
        svg("path", {class: "dark", d: dark.map(([x, y]) => `M${x * SQUARE} ${y * SQUARE}h${SQUARE}v${SQUARE}h-${SQUARE}z`).join("")}),
        [...men].map(([square, man]) => {
            const [x, y] = corner(square)
            return svg("g", {transform: `translate(${x} ${y})`}, drawn(man))
        }),
        arrows.reverse())
}
