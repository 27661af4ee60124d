#!/usr/bin/env node
/** The command `laurel`. */
import "./requireNode.js"
import "./compileCache.js"

await import("./main.ts")
