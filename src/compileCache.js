/**
 * From here on, Node keeps the compiled code of all imports in a folder beside the program, for the
 * next start. Its threads and processes do the same. If the folder cannot be written, nothing is
 * kept. In JavaScript: the first TypeScript file without kept code makes Node load its compiler.
 */
import module from "node:module"
import path from "node:path"

const compiled = path.join(import.meta.dirname, "../node_modules/.cache/compile")
module.enableCompileCache(compiled)
process.env.NODE_COMPILE_CACHE ??= compiled
