#!/usr/bin/env node
/** The command `laurel`. */
import "./requireNode.js"

await import("./main.ts")
