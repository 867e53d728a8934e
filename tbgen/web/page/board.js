// The board: legal moves by mouse, touch and keys, free set-up, arrows.

import "./style_properties.js"
import {Chessboard, INPUT_EVENT_TYPE} from "./cm-chessboard/src/Chessboard.js"
import {Accessibility} from "./cm-chessboard/src/extensions/accessibility/Accessibility.js"
import {ARROW_TYPE, Arrows} from "./cm-chessboard/src/extensions/arrows/Arrows.js"
import {MARKER_TYPE, Markers} from "./cm-chessboard/src/extensions/markers/Markers.js"
import {PROMOTION_DIALOG_RESULT_TYPE, PromotionDialog} from "./cm-chessboard/src/extensions/promotion-dialog/PromotionDialog.js"
import {MOVE_CANCELED_REASON} from "./cm-chessboard/src/view/VisualMoveInput.js"
import {fromBoard, onBoard} from "./men.js"
import {EMPTY, isBoard, parse} from "./position.js"
import {menFile, tick} from "./taste.js"

const ASSETS = "page/cm-chessboard/assets/"
const calm = matchMedia("(prefers-reduced-motion: reduce)")

/** What all boards look like, for cm-chessboard. */
export const look = () => ({
    assetsUrl: ASSETS,
    style: {
        cssClass: "tbgen",
        pieces: {file: `../../${menFile()}`},
        animationDuration: calm.matches ? 0 : 200,
    },
})

export class Board {
    /**
     * @param {Element} element
     * @param {(move: object) => void} onMove told of a legal move that was made
     * @param {(rows: string) => void} onEdit told of the first field of the FEN of what was set up
     */
    constructor(element, onMove, onEdit) {
        this.onMove = onMove
        this.onEdit = onEdit
        this.element = element
        this.fen = null
        this.moves = []
        this.tool = null
        this.editing = false
        this.board = new Chessboard(element, {
            ...look(),
            extensions: [
                {class: Markers, props: {autoMarkers: MARKER_TYPE.frame}},
                {class: Arrows, props: {headSize: 5, offsetFrom: 0.6, offsetTo: 0.35}},
                {class: PromotionDialog, props: {language: "en"}},
                {
                    class: Accessibility,
                    props: {language: "en", movePieceForm: false, piecesAsList: false, keyboardMoveInput: true, visuallyHidden: true},
                },
            ],
        })
        this.keys = this.board.getExtension(Accessibility).components.find(each => each.getCurrentSquare)
        this.board.enableMoveInput(event => this.input(event))
        element.addEventListener("mousedown", event => this.press(event))
        element.addEventListener("click", event => this.click(event))
        element.addEventListener("keydown", event => this.key(event))
    }

    /** Show a position. */
    show(fen, flipped) {
        const orientation = flipped ? "b" : "w"
        if (this.board.getOrientation() !== orientation) this.board.setOrientation(orientation)
        const known = this.fen !== null
        if (known && fen !== this.fen) tick()
        this.fen = fen
        this.board.setPosition(isBoard(fen) ? onBoard(fen) : EMPTY, known && !calm.matches)
    }

    /** Let moves be made: those that an answer lists. */
    play(moves) {
        this.editing = false
        this.moves = moves
    }

    /** Let men be put anywhere: the one of a tool, such as `wk`, `none` to remove, null to move men. */
    edit(tool) {
        this.editing = true
        this.tool = tool
        this.moves = []
    }

    /** Mark the squares of the last move, as UCI; null for none. */
    last(uci) {
        this.board.removeMarkers(MARKER_TYPE.square)
        for (const square of uci ? [uci.slice(0, 2), uci.slice(2, 4)] : []) this.board.addMarker(MARKER_TYPE.square, square)
    }

    /** Mark squares that moves lead to. */
    spot(squares) {
        this.board.removeMarkers(MARKER_TYPE.circle)
        for (const square of new Set(squares)) this.board.addMarker(MARKER_TYPE.circle, square)
    }

    /** Draw arrows: `{uci, kind}`, the kind one of those of cm-chessboard. */
    arrows(list) {
        this.board.removeArrows()
        for (const {uci, kind} of list) this.board.addArrow(ARROW_TYPE[kind], uci.slice(0, 2), uci.slice(2, 4))
    }

    input(event) {
        const {type, squareFrom: from, squareTo: to} = event
        if (type === INPUT_EVENT_TYPE.moveInputStarted) {
            if (this.editing) return this.tool === null
            const own = this.moves.filter(move => move.uci.startsWith(from))
            this.board.removeMarkers(MARKER_TYPE.dot)
            for (const square of new Set(own.map(move => move.uci.slice(2, 4)))) this.board.addMarker(MARKER_TYPE.dot, square)
            return own.length > 0
        }
        if (type === INPUT_EVENT_TYPE.validateMoveInput) {
            this.board.removeMarkers(MARKER_TYPE.dot)
            // The board makes the move when this returns; what follows from it comes after that.
            if (this.editing) {
                setTimeout(() => this.edited())
                return true
            }
            const found = this.moves.filter(move => move.uci.slice(0, 4) === from + to)
            if (found.length) setTimeout(() => this.made(found, to))
            return found.length > 0
        }
        if (type === INPUT_EVENT_TYPE.moveInputCanceled) {
            this.board.removeMarkers(MARKER_TYPE.dot)
            if (this.editing && event.reason === MOVE_CANCELED_REASON.movedOutOfBoard) setTimeout(() => this.put(from, "none"))
        }
        return undefined
    }

    made(found, to) {
        if (found.length === 1) {
            this.onMove(found[0])
            return
        }
        this.board.showPromotionDialog(to, parse(this.fen).turn, ({type, piece}) => {
            const chosen = type === PROMOTION_DIALOG_RESULT_TYPE.pieceSelected && found.find(move => move.uci[4] === piece[1])
            if (chosen) this.onMove(chosen)
            else this.board.setPosition(onBoard(this.fen), true)
        })
    }

    /** Leave the arrow keys to the game where moves are made by mouse; letters go where the mouse has pointed. */
    press(event) {
        const square = event.target.getAttribute?.("data-square")
        if (!this.editing) {
            event.preventDefault()
            document.activeElement.blur()
        } else if (square) {
            this.keys.focusedFile = square.charCodeAt(0) - "a".charCodeAt(0)
            this.keys.focusedRank = Number(square[1]) - 1
            this.keys.redrawFocusIndicator()
        }
    }

    click(event) {
        const square = event.target.getAttribute?.("data-square")
        if (this.editing && this.tool !== null && square) this.put(square, this.tool)
    }

    /** Put a man, such as `wk`, on a square, or take away what is there: `none`. */
    put(square, man) {
        this.board.setPiece(square, man === "none" ? null : man)
        this.edited()
    }

    edited() {
        this.onEdit(fromBoard(this.board.getPosition()))
    }

    /** Letters put men on the square that has the focus: capitals White's, small ones Black's. */
    key(event) {
        if (!this.editing || event.ctrlKey || event.metaKey || event.altKey) return
        const square = this.keys.getCurrentSquare()
        if (/^[kqrbnp]$/i.test(event.key)) {
            const side = event.key === event.key.toUpperCase() ? "w" : "b"
            this.put(square, side + event.key.toLowerCase())
        } else if (["Delete", "Backspace"].includes(event.key)) {
            this.put(square, "none")
        } else {
            return
        }
        event.preventDefault()
    }
}
