/**
 * The program. Node keeps the compiled code of what is imported from here on in a folder beside it, for the next
 * start, and so do the threads and processes that it starts; where that folder can not be written, nothing is kept.
 * The schema compiler comes first: schemas that are made before it stay slow.
 */
import { enableCompileCache } from "node:module"
import path from "node:path"

const compiled = path.join(import.meta.dirname, "../node_modules/.cache/compile")
enableCompileCache(compiled)
process.env.NODE_COMPILE_CACHE ??= compiled
await import("effect/schema/SchemaJITCompiler/enable")
const { runCommandLine } = await import("./cli/CommandLine.ts")
runCommandLine(process.argv.slice(2))
