// The interactive board: legal moves by mouse, touch and keys, or men put on any square to set up a position.

import {$, h, svg} from "./browser.js"
import {Chessboard, WIDTH, drawn, nameOf, tick} from "./chessboard.js"
import {EMPTY, FILES, castlingsOf, describedIn, format, isBoard, isWhite, parse, passedIn, squaresOf} from "./position.js"

const PROMOTIONS = "qrbn"
/** Steps of the arrow keys, to the right and up. @type {Record<string, number[]>} */
const STEPS = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}
/** Distance in pixels after which a pointer's movement is a drag. */
const DRAG_PIXELS = 4

export class Board extends Chessboard {
    /**
     * @param {Element} element
     * @param {(move: Move) => unknown} onMove called with a legal move that was made
     * @param {(rows: string) => unknown} onEdit called with the first field of the FEN of a position that was set up
     */
    constructor(element, onMove, onEdit) {
        super(element)
        this.element = element
        this.onMove = onMove
        this.onEdit = onEdit
        this.fen = /** @type {string} */ (null)
        this.moves = /** @type {Move[]} */ ([])
        this.tool = /** @type {string} */ (null)
        this.editing = false
        /** The square of the man that was picked up. */
        this.from = /** @type {string} */ (null)
        /** Where the pointer was pressed on that man, whether the man had been picked up before, and whether it has been dragged since. */
        this.held = /** @type {Point & {isAgain: boolean, isDragged: boolean}} */ (null)
        this.over = /** @type {string} */ (null)
        /** The square where an arrow or circle of the visitor begins. */
        this.noted = /** @type {string} */ (null)
        /** The square chosen by keys. */
        this.cursor = "a1"
        this.table = h("table")
        this.said = h("div", {"aria-live": "polite"})
        this.svg.setAttribute("role", "application")
        this.svg.setAttribute("tabindex", "0")
        element.append(h("div", {class: "unseen"}, this.table, this.said))
        /** @type {{[Name in keyof SVGElementEventMap]?: (event: SVGElementEventMap[Name]) => unknown}} */ const listeners = {
            pointerdown: event => this.press(event),
            pointermove: event => this.drag(event),
            pointerup: event => this.release(event),
            pointercancel: () => {
                this.noted = null
                this.cancel()
            },
            contextmenu: event => event.preventDefault(),
            mousedown: event => this.leaveKeys(event),
            click: event => this.click(event),
            keydown: event => this.key(event),
            focus: () => this.goTo(this.cursor),
            blur: () => this.mark("focus", []),
        }
        for (const [name, listener] of Object.entries(listeners)) this.svg.addEventListener(name, /** @type {EventListener} */ (listener))
        $("draw")?.addEventListener("click", () => $("draw").setAttribute("aria-pressed", String(this.svg.classList.toggle("drawing"))))
    }

    /** Show a position. @type {(fen: string, flipped: boolean) => Promise<unknown>} */
    show(fen, flipped) {
        const isKnown = this.fen !== null
        if (isKnown && fen !== this.fen) tick()
        if (fen !== this.fen) this.note([])
        this.fen = fen
        return super.show(isBoard(fen) ? fen : EMPTY, flipped, isKnown)
    }

    /** Let the visitor make the moves of an answer. @type {(moves: Move[]) => void} */
    play(moves) {
        this.editing = false
        this.moves = moves
        this.showMovable()
    }

    /** Let the visitor set up a position with a tool: a man such as `K`, `none` to remove men, null to move them. @type {(tool: string) => void} */
    edit(tool) {
        this.editing = true
        this.tool = tool
        this.moves = []
        this.showMovable()
    }

    /** Mark the target squares of moves. @type {(squares: string[]) => void} */
    spot(squares) {
        this.mark("circle", squares)
    }

    /** @type {(men: Map<string, string>, animated: boolean) => Promise<unknown>} */ setMen(men, animated) {
        if (this.from && men.get(this.from) !== this.men.get(this.from)) this.cancel()
        const arrived = super.setMen(men, animated)
        this.showMovable()
        this.table.replaceChildren(h("caption", {}, "Chessboard as table"), ...this.rows())
        return arrived
    }

    /** Return the rows of the board as a table for screen readers. */
    rows() {
        const [files, ranks] = [[...FILES], [..."87654321"]].map(each => this.flipped ? each.reverse() : each)
        const cell = (/** @type {string} */ square) => h("td", {}, this.men.has(square) ? nameOf(this.men.get(square)) : "")
        return [
            h("tr", {}, h("td"), files.map(file => h("th", {scope: "col"}, file))),
            ...ranks.map(rank => h("tr", {}, h("th", {scope: "row"}, rank), files.map(file => cell(file + rank)))),
        ]
    }

    /** Whether the man on a square may be picked up. @type {(square: string) => boolean} */
    isMovable(square) {
        return this.editing ? this.tool === null && this.men.has(square) : this.moves.some(({uci}) => uci.startsWith(square))
    }

    /** Mark the men that may be picked up: over them the pointer changes, and a finger moves the man rather than the page. */
    showMovable() {
        for (const cell of this.squares.querySelectorAll(".square")) cell.classList.toggle("movable", this.isMovable(cell.getAttribute("data-square")))
    }

    /** Pick up the man on a square; null leaves none picked up. @type {(square: string) => void} */
    choose(square) {
        this.from = square
        this.mark("frame", square ? [square] : [])
        this.mark("dot", square ? this.moves.filter(({uci}) => uci.startsWith(square)).map(({uci}) => squaresOf(uci)[1]) : [])
    }

    /** Move a man if the move is allowed, and return whether it is allowed. @type {(from: string, to: string, animated: boolean) => boolean} */
    attempt(from, to, animated) {
        const found = this.moves.filter(({uci}) => uci.slice(0, 4) === from + to)
        if (!this.editing && !found.length) return false
        const men = new Map(this.men)
        men.delete(from)
        men.set(to, this.men.get(from))
        this.choose(null)
        this.setMen(men, animated)
        if (this.editing) this.edited()
        else this.make(found)
        return true
    }

    /** Make a legal move; of several, which promote a pawn, the visitor chooses one. @type {(found: Move[]) => void} */
    make(found) {
        if (found.length === 1) this.onMove(found[0])
        else this.promote(found, squaresOf(found[0].uci)[1])
    }

    /** @type {(found: Move[], to: string) => void} */ promote(found, to) {
        const focused = /** @type {HTMLElement} */ (document.activeElement)
        const close = (/** @type {Move} */ move) => {
            removeEventListener("pointerdown", outside, true)
            chooser.remove()
            focused.focus({preventScroll: true})
            if (move) this.onMove(move)
            else this.show(this.fen, this.flipped)
        }
        const outside = (/** @type {Event} */ event) => chooser.contains(/** @type {Node} */ (event.target)) || close(null)
        const isOnTop = this.corner(to).y === 0
        const {turn} = parse(this.fen)
        const moves = found.sort((one, other) => PROMOTIONS.indexOf(one.uci[4]) - PROMOTIONS.indexOf(other.uci[4]))
        const buttons = moves.map(move => {
            const man = turn === "w" ? move.uci[4].toUpperCase() : move.uci[4]
            return h("button", {type: "button", "data-man": man, "aria-label": nameOf(man), onclick: () => close(move)}, svg("svg", {viewBox: "0 0 40 40"}, drawn(man)))
        })
        const chooser = h("div", {class: "promotion", role: "dialog", "aria-modal": "true", "aria-label": "Promotion"}, isOnTop ? buttons : buttons.toReversed())
        chooser.style.left = `${100 * this.corner(to).x / WIDTH}%`
        chooser.style[isOnTop ? "top" : "bottom"] = "0"
        chooser.addEventListener("keydown", event => {
            const step = new Map([["ArrowDown", 1], ["ArrowRight", 1], ["ArrowUp", -1], ["ArrowLeft", -1], ["Tab", event.shiftKey ? -1 : 1]]).get(event.key)
            event.stopPropagation()
            if (event.key === "Escape") close(null)
            if (!step) return
            event.preventDefault()
            const order = isOnTop ? buttons : buttons.toReversed()
            order.at((order.findIndex(each => each === document.activeElement) + step) % order.length).focus()
        })
        this.element.append(chooser)
        addEventListener("pointerdown", outside, true)
        buttons[0].focus()
    }

    /** @type {(event: PointerEvent) => void} */ press(event) {
        const {square} = this.pointed(event)
        if (!square || !event.isPrimary || event.button === 1) return
        if (event.button || this.isDrawing) {
            this.cancel()
            this.noted = square
            this.svg.setPointerCapture(event.pointerId)
            return
        }
        this.note([])
        if (this.from && this.from !== square && this.attempt(this.from, square, true)) return
        const isAgain = this.from === square
        this.choose(this.isMovable(square) ? square : null)
        if (!this.from) return
        this.svg.setPointerCapture(event.pointerId)
        this.held = {isAgain, isDragged: false, x: event.clientX, y: event.clientY}
    }

    /** @type {(event: PointerEvent) => void} */ drag(event) {
        if (!this.from) return
        const {held} = this
        const {x, y, square} = this.pointed(event)
        if (held && !held.isDragged && Math.hypot(event.clientX - held.x, event.clientY - held.y) > DRAG_PIXELS) {
            held.isDragged = true
            this.drawing.setAttribute("class", "dragged")
            this.svg.classList.add("dragging")
            this.layers.man.append(this.drawing)
        }
        if (square !== this.over) {
            this.over = square
            this.mark("frame", square ? [this.from, square] : [this.from])
        }
        if (held?.isDragged) this.move(this.drawing, {x, y})
    }

    /** Replace the visitor's arrows and circles. @type {(notes: Arrow[]) => void} */
    note(notes) {
        this.notes = notes
        this.arrows(this.drawnArrows)
    }

    /** Draw an arrow or circle of the visitor, or remove it. @type {(to: string) => void} */
    toggleNote(to) {
        const uci = this.noted + to
        this.noted = null
        const others = this.notes.filter(note => note.uci !== uci)
        if (to) this.note(others.length < this.notes.length ? others : [...others, {uci, kind: "note"}])
    }

    /** Whether the main button draws arrows and circles, too. */
    get isDrawing() {
        return this.svg.classList.contains("drawing")
    }

    /** The drawing of the man that was picked up. */
    get drawing() {
        return this.drawings.get(this.from)
    }

    /** @type {(event: PointerEvent) => void} */ release(event) {
        const {held, from} = this
        const {square} = this.pointed(event)
        if (this.noted) this.toggleNote(square)
        if (!held) return
        this.letGo()
        if (!held.isDragged) {
            if (held.isAgain) this.choose(null)
        } else if (!square || square === from || !this.attempt(from, square, false)) {
            this.cancel()
            if (!square && this.editing) this.set(from, "none")
        }
    }

    letGo() {
        this.held = null
        this.drawing?.removeAttribute("class")
        this.svg.classList.remove("dragging")
    }

    /** Put the picked-up man back. */
    cancel() {
        if (!this.from) return
        this.letGo()
        if (this.drawing) this.put(this.drawing, this.from)
        this.choose(null)
    }

    /** When moves are made by mouse, take the focus off the board, so that the arrow keys step through the game. In set-up, letters put men on the square that was clicked. @type {(event: MouseEvent) => void} */
    leaveKeys(event) {
        const {square} = this.pointed(event)
        if (!this.editing) {
            event.preventDefault()
            const focused = /** @type {HTMLElement} */ (document.activeElement)
            focused.blur()
        } else if (square) {
            this.cursor = square
            this.mark("focus", [square])
        }
    }

    /** @type {(event: MouseEvent) => void} */ click(event) {
        const {square} = this.pointed(event)
        if (this.editing && this.tool !== null && square && !this.isDrawing) this.set(square, this.tool)
    }

    /** Put a man such as `K` on a square; `none` removes the man there. @type {(square: string, man: string) => void} */
    set(square, man) {
        const men = new Map(this.men)
        men.delete(square)
        if (man !== "none") men.set(square, man)
        this.setMen(men, false)
        this.edited()
    }

    edited() {
        this.onEdit(format({...parse(EMPTY), men: this.men}).split(" ")[0])
    }

    /** Move the keyboard's cursor to a square, and announce the man there. @type {(square: string) => void} */
    goTo(square) {
        this.cursor = square
        this.mark("focus", [square])
        const man = this.men.get(square)
        this.said.textContent = `${square} ${man ? nameOf(man) : "empty"}${this.from ? `, move from ${this.from}` : ""}`
    }

    /** @type {(event: KeyboardEvent) => void} */ key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey) return
        const step = STEPS[event.key]
        if (step) {
            const [across, up] = this.flipped ? step.map(each => -each) : step
            const within = (/** @type {number} */ number) => Math.max(0, Math.min(7, number))
            this.goTo(FILES[within(FILES.indexOf(this.cursor[0]) + across)] + (1 + within(Number(this.cursor[1]) - 1 + up)))
        } else if (["Enter", " "].includes(event.key)) {
            this.enter(this.cursor)
        } else if (event.key === "Escape" && this.from) {
            this.cancel()
            this.said.textContent = "Move cancelled"
        } else if (this.editing && /^[kqrbnp]$/i.test(event.key)) {
            this.set(this.cursor, event.key) // capitals are White's
        } else if (this.editing && ["Delete", "Backspace"].includes(event.key)) {
            this.set(this.cursor, "none")
        } else {
            return
        }
        event.preventDefault()
    }

    /** Pick up a man by keys, or move it. @type {(square: string) => void} */
    enter(square) {
        const {from} = this
        if (from && from !== square && this.attempt(from, square, true)) {
            this.said.textContent = `Moved to ${square}`
            return
        }
        this.choose(from !== square && this.isMovable(square) ? square : null)
        this.said.textContent = this.from ? `Move from ${square}` : "Move cancelled"
    }
}

// The palette has a tool for each man to set up. The chosen tool puts its man on clicked squares.

/** @type {() => Button[]} */
const buttons = () => [...document.querySelectorAll("#palette [data-tool]")].map(each => /** @type {Button} */ (each))

/** Show the chosen tool. @type {(tool: string) => void} */
export function showTool(tool) {
    for (const button of buttons()) button.setAttribute("aria-pressed", String((button.dataset.tool || null) === tool))
}

/** @type {() => Input[]} */
const rights = () => [...document.querySelectorAll("#rights input")].map(each => /** @type {Input} */ (each))

/** Show the castling rights of a position and the square of an en passant capture, with those that are possible. @type {(fen: string) => void} */
export function showRights(fen) {
    const position = parse(fen)
    const possible = castlingsOf(position)
    for (const box of rights()) {
        box.checked = position.castling.includes(box.value)
        box.disabled = !possible.includes(box.value)
    }
    const squares = [...new Set(["-", position.ep, ...passedIn(position)])]
    $("passed").replaceChildren(...squares.map(value => h("option", {value, selected: value === position.ep}, value === "-" ? "none" : value)))
    $("passed").disabled = squares.length < 2
}

/** Let the visitor change these rights. @type {(onChange: (change: {castling: string, ep: string}) => unknown) => void} */
export function offerRights(onChange) {
    $("rights").addEventListener("change", () => {
        const castling = rights().filter(box => box.checked).map(box => box.value).join("") || "-"
        onChange({castling, ep: $("passed").value})
    })
}

/** Let the visitor choose tools, and drag men from the palette to squares. @type {(board: Board) => void} */
export function offerTools(board) {
    for (const button of buttons()) offerTool(board, button)
}

/** Add the described men of a position to the palette, permanently. @type {(board: Board, fen: string) => void} */
export function offerDescribed(board, fen) {
    const kinds = new Set(describedIn(fen).map(man => man.toUpperCase()))
    for (const man of [...kinds].flatMap(kind => [kind, kind.toLowerCase()])) {
        if (buttons().some(button => button.dataset.tool === man)) continue
        const button = h("button", {type: "button", "data-tool": man, class: "man", "aria-pressed": "false", title: `${isWhite(man) ? "White" : "Black"} ${man}`},
            svg("svg", {viewBox: "0 0 40 40", "aria-hidden": "true"}, drawn(man)))
        $("palette").append(button)
        offerTool(board, button)
    }
}

/** @type {(board: Board, button: Button) => void} */ function offerTool(board, button) {
    const tool = button.dataset.tool || null
    const choose = () => {
        board.edit(tool)
        showTool(tool)
    }
    button.addEventListener("click", choose)
    button.addEventListener("pointerdown", () => {
        choose()
        addEventListener("pointerup", event => {
            const square = document.elementFromPoint(event.clientX, event.clientY)?.getAttribute("data-square")
            if (square && tool) board.set(square, tool)
        }, {once: true})
    })
}
