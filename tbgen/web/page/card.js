// A game in play beside the large board: a small board, which leads there.

import {$, h, score} from "./dom.js"
import {View, player} from "./watched.js"

export class Card extends View {
    /**
     * @param {Watched} game
     * @param {() => void} onChoose told that it is to be seen on the large board
     */
    constructor(game, onChoose) {
        const place = h("div", {class: "board"})
        const players = {black: player(), white: player()}
        const now = h("p", {class: "now"})
        const choose = h("button", {type: "button", onclick: onChoose, "aria-label": `Watch game ${game.key}`}, game.key)
        const element = h("article", {class: "match", "aria-label": `Game ${game.key}`}, players.black, place, players.white, now, choose)
        $("playing").append(element)
        super(place)
        Object.assign(this, {game, players, now, element})
        game.view = this
        this.show()
    }

    show() {
        const {game} = this
        this.draw(game.plies.length)
        this.element.classList.toggle("over", game.result !== null)
        this.now.replaceChildren(...game.result ?? ["Accrued ", score(game.accruedAt(game.plies.length))])
        this.tick()
    }

    close() {
        this.closed = true
        this.game.view = null
        this.element.remove()
    }
}
