// Asking the server, or on a site without one the tables. Answers that hold are remembered; docs/web.md describes them.

const MOST_REMEMBERED = 500
const remembered = new Map()

/** Return what a map has under a key, or is to have; what fails is forgotten, and the oldest if there are more than so many. @type {<Found>(map: Map<string, Promise<Found>>, key: string, make: () => Promise<Found>, most?: number) => Promise<Found>} */
export function cached(map, key, make, most = Infinity) {
    if (!map.has(key)) {
        if (map.size >= most) map.delete(map.keys().next().value)
        map.set(key, make())
        map.get(key).catch(() => map.delete(key))
    }
    return map.get(key)
}

/** What the server refuses: `code` for programs, `message` for people. */
export class Refused extends Error {
    /** @param {number} status @param {RefusalDocument} document */ constructor(status, document) {
        super(document.message)
        this.status = status
        this.code = document.code
    }
}

/** Return the refusal of what makes no sense. @type {(message: string) => Refused} */
export const badInput = message => new Refused(400, {code: "bad_input", message})

/** Ask by GET; parameters that are null or empty are left out. @type {<Path extends string>(path: Path, parameters?: Question) => Promise<Answered<Path>>} */
export async function ask(path, parameters = {}) {
    const asked = () => fresh(path, parameters)
    return await (path.endsWith("/sample") ? asked() : cached(remembered, addressOf(path, parameters), asked, MOST_REMEMBERED))
}

/** Ask by GET for what changes. @type {<Path extends string>(path: Path, parameters?: Question) => Promise<Answered<Path>>} */
export const fresh = async (path, parameters = {}) => /** @type {Answered<typeof path>} */ (await (await source).get(path, parameters))

/** @type {(path: string, parameters: Question) => string} */ function addressOf(path, parameters) {
    const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "")
    const query = new URLSearchParams(given).toString()
    return query ? `${path}?${query}` : path
}

/** Ask by POST. @type {<Path extends string>(path: Path, body: string | Blob) => Promise<Taken<Path>>} */
export const post = async (path, body) => /** @type {Taken<typeof path>} */ (await (await source).post(path, body))

/** What answers. @typedef {{get: (path: string, question: Question) => Promise<unknown>, post: (path: string, body: string | Blob) => Promise<unknown>}} Source */

/** @type {Source} */ const server = {
    get: (path, parameters) => answer(fetch(addressOf(path, parameters))),
    post: (path, body) => answer(fetch(path, {method: "POST", body})),
}
/** Whether the page is on a site without a server. */
export const isStatic = document.documentElement.dataset.static !== undefined

/** What answers: `get(path, parameters)` and `post(path, body)` return documents, or refuse. @type {Source | Promise<Source>} */
const source = isStatic ? import("./static/source.js") : server

/** @type {(fetching: Promise<Response>) => Promise<unknown>} */ async function answer(fetching) {
    let response
    try {
        response = await fetching
    } catch {
        throw new Refused(0, {code: "unreachable", message: "The server does not answer: is it still running?"})
    }
    const document = await response.json().catch(() => ({code: "failed", message: "The server's answer is broken."}))
    if (!response.ok) throw new Refused(response.status, document)
    return document
}

/** Do something that may be refused; say why where there is room, and return it. @type {(element: HTMLElement, call: () => unknown) => Promise<Refused>} */
export async function attempt(element, call) {
    element.textContent = ""
    try {
        await call()
    } catch (error) {
        if (!(error instanceof Refused)) throw error
        element.textContent = error.message
        return error
    }
    return null
}
