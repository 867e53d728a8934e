// What is shown, and how it stands in the address: whatever can be seen can be linked to.

export const START = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
const RULES = ["r", "wg", "classical", "stalemate-wins", "lasker"]

/**
 * A state: `fen` and `accrued` (null for the position's own score) of the first position, `line` (the moves from
 * there, in SAN), `at` (how many of them are made), `rules`, `flipped`, `setup`.
 */
export const DEFAULT = {fen: START, accrued: null, line: [], at: 0, rules: "r", flipped: false, setup: false}

export function read(search) {
    const given = new URLSearchParams(search)
    const fields = (given.get("fen") ?? START).trim().split(/[\s_]+/)
    const line = (given.get("line") ?? "").split("_").filter(Boolean)
    const at = given.has("at") ? Number(given.get("at")) : line.length
    return {
        fen: [...fields, ...["w", "-", "-", "0", "1"].slice(Math.max(0, fields.length - 1))].slice(0, 6).join(" "),
        accrued: given.get("accrued") || fields[6] || null,
        line,
        at: Number.isInteger(at) ? Math.min(Math.max(at, 0), line.length) : line.length,
        rules: RULES.includes(given.get("rules")) ? given.get("rules") : "r",
        flipped: given.get("side") === "black",
        setup: given.has("setup"),
    }
}

export function written(state) {
    const query = [`fen=${state.fen.replaceAll(" ", "_")}`]
    if (state.accrued) query.push(`accrued=${state.accrued}`)
    if (state.line.length) query.push(`line=${state.line.map(encodeURIComponent).join("_")}`)
    if (state.at !== state.line.length) query.push(`at=${state.at}`)
    if (state.rules !== "r") query.push(`rules=${state.rules}`)
    if (state.flipped) query.push("side=black")
    if (state.setup) query.push("setup")
    return `?${query.join("&")}`
}

/** The game that is played, whatever it is looked at as. */
export const variantOf = rules => rules === "wg" ? "wg" : "r"

export const isView = rules => !["r", "wg"].includes(rules)
