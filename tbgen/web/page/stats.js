// The material of a position: its report, and how many positions have which value.

import {ask, attempt} from "./api.js"
import {$, h, score} from "./dom.js"
import {isWhite} from "./score.js"
import {DEFAULT, isView, variantOf, written} from "./state.js"

const SIDES = [["white", "White to move"], ["black", "Black to move"]]

/**
 * Show the material of a position, and its values where they are unfolded.
 *
 * @param {object} answer what the position is worth
 * @param {string} rules those of the answer
 * @param {() => boolean} isShown whether it is still that position that is shown
 */
export async function showMaterial({material, value}, rules, isShown) {
    const variant = variantOf(rules)
    $("material-name").textContent = isView(rules) ? `${material} in r-mobility` : material
    if (document.documentElement.dataset.report !== undefined) showReport($("material-report"), material, variant, isShown)
    if (!$("material").open) return
    // Mates and stalemates have values without a table.
    await attempt($("stats-problem"), async () => {
        const table = await ask(`${variant}/stats/${material}`)
        if (isShown()) showStats($("stats"), table, value)
    })
}

/** Show the way to the report on a table, if there is one. */
async function showReport(link, material, variant, isShown) {
    link.href = `report/tables/${material}.${variant}.html`
    const response = await fetch(link.href, {method: "HEAD"}).catch(() => null)
    if (isShown()) link.hidden = !response?.ok
}

/** Show what /stats says of a table; the value of the position shown is marked. */
function showStats(element, table, value) {
    const {positions, values} = table
    const totals = SIDES.map(([side]) => Object.values(values[side]).reduce((sum, count) => sum + count, 0))
    const names = [...new Set(SIDES.flatMap(([side]) => Object.keys(values[side])))].sort(byWorth)
    const number = count => count.toLocaleString("en")
    const included = table.accrued && table.form === "plain"
    element.replaceChildren(
        h("p", {class: "note"},
            `${number(positions.white)} positions with White to move, ${number(positions.black)} with Black to move, up to `,
            `symmetry; the longest way to a value, ${included ? "whatever has accrued" : "with a fresh score"}, takes `,
            table.longest ? h("a", {href: written({...DEFAULT, ...table.longest, rules: table.rules})}, `${table.max_depth} plies`) : `${table.max_depth} plies`, "."),
        h("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "Positions by value"}, h("table", {class: "counts"},
            h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "value"), SIDES.map(([, name]) => h("th", {scope: "col", colspan: 2}, name)))),
            h("tbody", {}, names.map(name => h("tr", {class: name === value ? "here" : false},
                h("th", {scope: "row"}, score(name)),
                SIDES.map(([side], index) => {
                    const count = values[side][name] ?? 0
                    return [h("td", {}, count ? number(count) : ""), h("td", {class: "bar"}, count > 0 && bar(count / totals[index]))]
                })))))))
}

function bar(share) {
    const element = h("span", {title: `${(100 * share).toFixed(2)} %`})
    element.style.width = `${100 * share}%`
    return element
}

/** Sort scores from White's best to Black's best. */
function byWorth(one, other) {
    const place = name => (isWhite(name) ? 1 : -1) / (1 + Number(name.replace(/^-?G/, "")))
    return place(other) - place(one)
}
