// A board as a picture: squares, men, marks and arrows, in an SVG of 320 units, in the visitor's style.

import {store, stored, svg} from "./browser.js"
import {FILES, isWhite, parse, squaresOf} from "./position.js"

const SIDE = 40
const HALF = SIDE / 2
export const WIDTH = 8 * SIDE
const SQUARES = Array.from({length: 64}, (_, index) => FILES[index % 8] + (1 + (index >> 3)))

/** Markers of squares by kind, from the lowest layer to the highest. The men are in a layer between them. @type {Record<string, () => SVGElement>} */
const MARKS = {
    square: () => svg("rect", {width: SIDE, height: SIDE}),
    circle: () => svg("circle", {cx: HALF, cy: HALF, r: 18}),
    frame: () => svg("path", {d: "M3 13V6q0-3 3-3h7M27 3h7q3 0 3 3v7M37 27v7q0 3-3 3h-7M13 37H6q-3 0-3-3v-7"}),
    man: null,
    dot: () => svg("circle", {cx: HALF, cy: HALF, r: 7}),
    focus: () => svg("rect", {x: 1, y: 1, width: SIDE - 2, height: SIDE - 2}),
}

/** Distances of an arrow's ends from the middles of its squares, length of its head, half the widths of head and shaft, and the radius of a circle. */
const ARROW = {begin: 18, end: 5, endAtMan: 15, head: 13, headWidth: 8, width: 3, ring: 18}
/** The storage key of the visitor's preferences. */
const TASTE_KEY = "tbgen-taste"

/** Return the upper left corner of a square. @type {(square: string, flipped?: boolean) => Point} */
function cornerOf(square, flipped = false) {
    const [file, rank] = [FILES.indexOf(square[0]), Number(square[1]) - 1]
    return {x: SIDE * (flipped ? 7 - file : file), y: SIDE * (flipped ? rank : 7 - rank)}
}

/** @type {(square: string, flipped?: boolean) => Point} */ export function middleOf(square, flipped = false) {
    const {x, y} = cornerOf(square, flipped)
    return {x: x + HALF, y: y + HALF}
}

/** @type {(place: Point) => string} */ const shiftTo = ({x, y}) => `translate(${x} ${y})`

/** @type {(index: number) => string} */ const shadeOf = index => (index + (index >> 3)) % 2 ? "light" : "dark"

/** Return a picture of a position, with the elements of `more` drawn on it. @type {(fen: string, flipped: boolean, attributes?: Attributes, more?: Child[]) => SVGSVGElement} */
export function pictureOf(fen, flipped, attributes = {}, more = []) {
    const dark = SQUARES.filter((_, index) => shadeOf(index) === "dark").map(square => cornerOf(square))
    return svg("svg", {viewBox: `0 0 ${WIDTH} ${WIDTH}`, ...attributes},
        svg("rect", {class: "light", width: WIDTH, height: WIDTH}),
        svg("path", {class: "dark", d: dark.map(({x, y}) => `M${x} ${y}h${SIDE}v${SIDE}h-${SIDE}z`).join("")}),
        [...parse(fen).men].map(([square, man]) => svg("g", {transform: shiftTo(cornerOf(square, flipped))}, drawn(man))),
        more)
}

/** A board whose men move to their new squares. */
export class Chessboard {
    /** @param {Element} place the element that the board fills */ constructor(place) {
        this.flipped = false
        /** Men, as in FENs, by square. @type {Map<string, string>} */
        this.men = new Map()
        /** @type {Map<string, SVGGElement>} */ this.drawings = new Map()
        /** Marked squares by kind. @type {Map<string, string[]>} */
        this.marks = new Map()
        /** @type {Arrow[]} */ this.drawnArrows = []
        /** Arrows and circles of the visitor. @type {Arrow[]} */ this.notes = []
        this.squares = svg("g")
        this.layers = Object.fromEntries(Object.keys(MARKS).map(kind => [kind, svg("g")]))
        this.arrowLayer = svg("g")
        this.svg = svg("svg", {class: "chessboard", viewBox: `0 0 ${WIDTH} ${WIDTH}`, role: "img", "aria-label": "Chessboard"},
            this.squares, Object.values(this.layers), this.arrowLayer)
        this.drawSquares()
        place.append(this.svg)
        // The letters at the edge have the same size on the screen for any size of the board.
        new ResizeObserver(([{contentRect}]) => this.svg.style.setProperty("--pixel", String(WIDTH / contentRect.width))).observe(place)
    }

    /**
     * Show a position; the returned promise resolves when the men have arrived.
     *
     * @type {(fen: string, flipped?: boolean, animated?: boolean) => Promise<unknown>}
     */
    show(fen, flipped = this.flipped, animated = true) {
        const turned = flipped !== this.flipped
        if (turned) this.turn(flipped)
        return this.setMen(parse(fen).men, animated && !turned)
    }

    /** Replace the marked squares of one kind. @type {(kind: string, squares: string[]) => void} */
    mark(kind, squares) {
        this.marks.set(kind, squares)
        this.layers[kind].replaceChildren(...[...new Set(squares)].map(square => {
            const mark = MARKS[kind]()
            mark.setAttribute("class", `marker marker-${kind}`)
            mark.setAttribute("transform", shiftTo(this.corner(square)))
            return mark
        }))
    }

    /** Mark the squares of the last move, as UCI; null for none. @type {(uci: string) => void} */
    last(uci) {
        this.mark("square", uci ? squaresOf(uci) : [])
    }

    /** Replace the arrows: `{uci, kind}`, the kind `success`, `info`, `secondary` or `note`. From a square to itself it is a circle. @type {(list: Arrow[]) => void} */
    arrows(list) {
        this.drawnArrows = list
        this.arrowLayer.replaceChildren(...[...list, ...this.notes].map(({uci, kind}) => {
            const [from, to] = squaresOf(uci)
            if (from === to) return svg("circle", {class: `arrow arrow-${kind} ring`, r: ARROW.ring, transform: shiftTo(middleOf(from, this.flipped))})
            const [a, b] = [from, to].map(square => middleOf(square, this.flipped))
            const [across, down] = [b.x - a.x, b.y - a.y]
            const turn = Math.atan2(down, across) * 180 / Math.PI
            const tip = Math.hypot(across, down) - (this.men.has(to) ? ARROW.endAtMan : ARROW.end)
            const {begin, width, headWidth} = ARROW
            const neck = Math.max(begin, tip - ARROW.head)
            const outline = `M${begin} ${-width}H${neck}V${-headWidth}L${tip} 0L${neck} ${headWidth}V${width}H${begin}z`
            return svg("path", {class: `arrow arrow-${kind}`, d: outline, transform: `${shiftTo(a)} rotate(${turn})`})
        }))
    }

    /** Replace the men. Drawings of men that change their square move there; other men appear or vanish. @type {(men: Map<string, string>, animated: boolean) => Promise<unknown>} */
    setMen(men, animated) {
        this.svg.classList.toggle("still", !animated)
        const left = [...this.men].filter(([square, man]) => men.get(square) !== man)
        const come = [...men].filter(([square, man]) => this.men.get(square) !== man)
        const free = left.map(([square, man]) => ({square, man, drawing: this.drawings.get(square)}))
        for (const {square} of free) this.drawings.delete(square)
        for (const [square, man] of come) {
            const index = free.findIndex(each => each.man === man)
            const drawing = index < 0 ? this.drawMan(man) : free.splice(index, 1)[0].drawing
            this.put(drawing, square)
        }
        this.men = men
        const gone = free.map(({drawing}) => drawing)
        for (const drawing of gone) {
            drawing.setAttribute("class", "gone")
            drawing.removeAttribute("data-man")
            drawing.removeAttribute("data-square")
        }
        const arrived = Promise.allSettled(this.svg.getAnimations({subtree: true}).map(each => each.finished))
        return arrived.then(() => gone.forEach(drawing => drawing.remove()))
    }

    /** @type {(man: string) => SVGGElement} */ drawMan(man) {
        const drawing = svg("g", {"data-man": man}, drawn(man))
        this.layers.man.append(drawing)
        return drawing
    }

    /** @type {(drawing: SVGGElement, square: string) => void} */ put(drawing, square) {
        drawing.setAttribute("data-square", square)
        this.move(drawing, middleOf(square, this.flipped))
        this.drawings.set(square, drawing)
    }

    /** Move the middle of a drawing to a point. @type {(drawing: SVGGElement, place: Point) => void} */
    move(drawing, {x, y}) {
        drawing.style.transform = `translate(${x - HALF}px, ${y - HALF}px)`
    }

    /** @type {(flipped: boolean) => void} */ turn(flipped) {
        this.flipped = flipped
        this.drawSquares()
        this.svg.classList.add("still")
        for (const [square, drawing] of this.drawings) this.put(drawing, square)
        for (const [kind, squares] of this.marks) this.mark(kind, squares)
        this.arrows(this.drawnArrows)
    }

    drawSquares() {
        const cells = SQUARES.map((square, index) => {
            const {x, y} = this.corner(square)
            return svg("rect", {class: `square ${shadeOf(index)}`, "data-square": square, x, y, width: SIDE, height: SIDE})
        })
        const letters = Array.from({length: 8}, (_, index) => {
            const at = this.flipped ? 7 - index : index
            return [
                svg("text", {class: "coordinate", x: SIDE * index + 33.5, y: WIDTH - 2.5}, FILES[at]),
                svg("text", {class: "coordinate", x: 1, y: WIDTH - SIDE * index - 31}, String(at + 1)),
            ]
        })
        this.squares.replaceChildren(...cells, ...letters.flat())
    }

    /** @type {(square: string) => Point} */ corner(square) {
        return cornerOf(square, this.flipped)
    }

    /** Return a pointer's position in units of the board, and the square there, which is null outside the board. @type {(event: MouseEvent) => Point & {square: string}} */
    pointed({clientX, clientY}) {
        const box = this.svg.getBoundingClientRect()
        const [x, y] = [(clientX - box.left) / box.width * WIDTH, (clientY - box.top) / box.height * WIDTH]
        const [across, down] = [Math.floor(x / SIDE), Math.floor(y / SIDE)]
        const isOnBoard = [across, down].every(each => each >= 0 && each < 8)
        const square = FILES[this.flipped ? 7 - across : across] + (this.flipped ? down + 1 : 8 - down)
        return {x, y, square: isOnBoard ? square : null}
    }
}

// Men.

/** @type {Record<string, string>} */ const NAMES = {k: "king", q: "queen", r: "rook", b: "bishop", n: "knight", p: "pawn"}

/** Return the name of a man: "white king", "black [WD]". @type {(man: string) => string} */
export const nameOf = man => `${isWhite(man) ? "white" : "black"} ${NAMES[man.toLowerCase()] ?? man.toUpperCase()}`

/** Return a drawing of a man, 40 units wide, from the file of all men, or from the file of a described man. @type {(man: string) => SVGElement} */
export function drawn(man) {
    const side = isWhite(man) ? "w" : "b"
    return man.startsWith("[")
        ? svg("image", {href: `page/men/${side}/${encodeURIComponent(man.slice(1, -1).toUpperCase())}.svg`, width: SIDE, height: SIDE})
        : svg("use", {href: `#${side}${man.toLowerCase()}`})
}

/** Return the definitions in the file of all men; drawings refer to them. */
export async function definitions() {
    const answer = await fetch(`page/${taste.men === "plain" ? "men-plain" : "men"}.svg`)
    return [...new DOMParser().parseFromString(await answer.text(), "image/svg+xml").documentElement.childNodes]
}

// The visitor's preferences for boards, men and sound, stored in this browser.

const taste = {board: "grey", men: "classic", sound: false, ...stored(TASTE_KEY)}
const root = document.documentElement
root.dataset.board = taste.board
/** @type {AudioContext} */ let audio = null

/** Play the sound of a move, if sound is on. */
export function tick() {
    if (!taste.sound) return
    audio ??= new AudioContext()
    const [tone, volume] = [audio.createOscillator(), audio.createGain()]
    tone.frequency.value = 520
    volume.gain.setValueAtTime(.15, audio.currentTime)
    volume.gain.exponentialRampToValueAtTime(.001, audio.currentTime + .06)
    tone.connect(volume).connect(audio.destination)
    tone.start()
    tone.stop(audio.currentTime + .06)
}

/** Let the visitor choose the preferences by two lists and a checkbox. @type {(boards: HTMLSelectElement, men: HTMLSelectElement, sound: Input) => void} */
export function offerTaste(boards, men, sound) {
    boards.value = taste.board
    men.value = taste.men
    sound.checked = taste.sound
    const update = (/** @type {Partial<typeof taste>} */ change) => store(TASTE_KEY, Object.assign(taste, change))
    boards.addEventListener("change", () => {
        update({board: boards.value})
        root.dataset.board = taste.board
    })
    men.addEventListener("change", () => {
        update({men: men.value})
        location.reload() // existing boards keep their men
    })
    sound.addEventListener("change", () => {
        update({sound: sound.checked})
        tick()
    })
}

definitions()
    .then(men => document.body.append(svg("svg", {width: 0, height: 0, "aria-hidden": "true"}, men)))
    .catch(() => {}) // squares and moves remain usable without pictures
