// What the first drawing depends on, so that nothing moves when the modules have loaded: whether the palette of Set up is
// open, and whether there is a lesson.
"use strict"

document.documentElement.classList.toggle("setting-up", new URLSearchParams(location.search).has("setup"))
document.documentElement.classList.toggle("guided", location.hash.startsWith("#how"))
