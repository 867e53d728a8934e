// Best play that goes on by itself.

const PLAYING_MS = 900

export class Running {
    /**
     * @param {Element} button that starts and stops it
     * @param {(first: boolean) => Promise} step makes a move
     * @param {() => object} shown returns what is shown; if it is something else than after the last step, somebody has
     *     gone elsewhere, and it stops
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
