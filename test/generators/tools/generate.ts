/**
 * Generates a client with each tool. Arguments: a folder, whose file `openapi.json` is the document, and the address of the
 * server, which only orval writes into its client.
 */
import { writeFile } from "node:fs/promises"
import path from "node:path"
import { pathToFileURL } from "node:url"
import { createClient } from "@hey-api/openapi-ts"
import openapiTypescript, { astToString } from "openapi-typescript"
import { generate } from "orval"

const [, , folderName = "", baseUrl = ""] = process.argv
const folder = path.resolve(folderName)
const input = path.join(folder, "openapi.json")

const types = await openapiTypescript(pathToFileURL(input))
await writeFile(path.join(folder, "openapi-typescript.ts"), astToString(types))
await createClient({
  input,
  logs: { level: "silent" },
  output: { path: path.join(folder, "hey-api"), module: { extension: ".ts" } },
})
const target = path.join(folder, "orval.ts")
await generate({ input, output: { target, client: "fetch", baseUrl } }, folder)
