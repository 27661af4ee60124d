/** The program. The schema compiler comes first: schemas that are made before it stay slow. */
import "./startAgain.js"
import "./compileCache.js"

await import("effect/schema/SchemaJITCompiler/enable")
const { runCommandLine } = await import("./cli/CommandLine.ts")
runCommandLine(process.argv.slice(2))
