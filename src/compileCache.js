/**
 * Node keeps the compiled code of what is imported from here on in a folder beside the program, for the next start, and so do the
 * threads and processes that it starts; where that folder can not be written, nothing is kept. JavaScript: the first file of
 * TypeScript that is not kept makes Node load its compiler.
 */
import module from "node:module"
import path from "node:path"

const compiled = path.join(import.meta.dirname, "../node_modules/.cache/compile")
module.enableCompileCache(compiled)
process.env.NODE_COMPILE_CACHE ??= compiled
