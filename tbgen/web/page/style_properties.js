// The Content-Security-Policy of this page allows no style attributes that are set as text, and cm-chessboard sets
// some. Here its functions that make elements set the same as properties.

import {Svg} from "./cm-chessboard/src/lib/Svg.js"

const {addElement, createSvg} = Svg

Svg.addElement = (parent, name, {style, ...attributes} = {}) => {
    const element = addElement(parent, name, attributes)
    if (style) element.style.cssText = style
    return element
}

Svg.createSvg = container => {
    const element = createSvg(container)
    element.setAttribute = (name, value) => {
        if (name === "style") element.style.cssText = value
        else SVGElement.prototype.setAttribute.call(element, name, value)
    }
    return element
}
