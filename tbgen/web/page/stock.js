// Which tables the server has, so that nothing is asked of those that are missing.

import {ask, isStatic} from "./api.js"
import {parse} from "./position.js"
import {variantOf} from "./state.js"

/** Most men of a position that a table may hold. */
export const MOST_MEN = 5

let tables = null

/** Hear which tables there are, none if nobody says; they are known from then on. */
export async function stockUp() {
    tables ??= await ask("tables").then(found => found.tables, () => null)
    return tables ?? []
}

/** Offer only rules of which there are tables, where nobody can build others: on a site without a server. Others may stand in an address. */
export async function offerRules(select) {
    if (!isStatic) return
    const there = await stockUp()
    if (!there.length) return
    for (const option of select.options) option.hidden = option.disabled = !there.some(({rules}) => rules === variantOf(option.value))
}

/** Whether a table may hold a position, as far as is known. */
export function mayHold(fen, variant) {
    const {men, castling} = parse(fen)
    if (men.size > MOST_MEN || castling !== "-") return false
    const letters = [...men.values()]
    const sides = [letters.filter(man => man !== man.toLowerCase()), letters.filter(man => man === man.toLowerCase())]
    const wanted = materialOf(sides.map(side => side.map(man => man.toUpperCase())))
    return !tables?.length || tables.some(({material, rules}) => rules === variant && materialOf(material.split("v").map(menOf)) === wanted)
}

const menOf = side => side.match(/\[[^\]]*\]|./g)

/** Return a name that is the same whichever colour has which men. */
const materialOf = sides => sides.map(side => [...side].sort().join("")).sort().join("v")
