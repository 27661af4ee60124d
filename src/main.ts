/** The program. The schema compiler comes first: schemas that are made before it stay slow. */
import "effect/schema/SchemaJITCompiler/enable"
import { runCommandLine } from "./cli/CommandLine.ts"

runCommandLine(process.argv.slice(2))
