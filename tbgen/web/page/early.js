// Runs before anything is drawn, so that nothing moves when the modules have loaded: the palette of Set up has its place,
// and a lesson has no line about the game.
"use strict"

document.documentElement.classList.toggle("setting-up", new URLSearchParams(location.search).has("setup"))
document.documentElement.classList.toggle("guided", location.hash.startsWith("#how"))
