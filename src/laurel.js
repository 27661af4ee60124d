#!/usr/bin/env node
/** The command `laurel`. */
import "./requireNode.js"
import "./startAgain.js"
import "./compileCache.js"

await import("./main.ts")
