/**
 * The OpenAPI document as tools of others read it: an app on each generated client compiles and runs against a real server, and
 * linters find nothing. The tools run in processes of their own, from the workspace that this folder is.
 */
import { execFile } from "node:child_process"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { fullKey, startServer, type TestServer } from "../http/fixture.ts"

/** The tools alone take seconds of processor time, and other tests run beside them. */

const here = import.meta.dirname
const generated = join(here, "generated")
const documentFile = join(generated, "openapi.json")
const typescript = resolve(here, "../../node_modules/typescript/bin/tsc")

/** The output of a script; fails with all that it printed. */
const run = async (script: string, ...words: ReadonlyArray<string>): Promise<string> => {
  const running = promisify(execFile)(process.execPath, [join(here, script), ...words])
  const { stdout } = await running.catch(({ stderr, stdout }) => {
    throw new Error(`${script} failed:\n${stdout}${stderr}`)
  })
  return stdout
}

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await rm(generated, { recursive: true, force: true })
  await mkdir(generated)
  const { text } = await server.call("GET", "/openapi.json", { key: null })
  await writeFile(documentFile, text)
})
afterAll(() => server.stop())

describe("Clients of openapi-typescript, @hey-api/openapi-ts and orval", () => {
  it("compile in an app, which sees through each what the server has", async () => {
    await run("tools/generate.ts", generated, server.url)
    const compile = promisify(execFile)(process.execPath, [typescript, "-p", here])
    const faults = await compile.then(
      () => "",
      ({ stdout }) => stdout,
    )
    expect(faults).toBe("")
    const seen = JSON.parse(await run("apps/main.ts", server.url, fullKey))
    const expected = {
      questIcon: "footprints",
      earned: 60,
      plan: "pro",
      amountInHistory: 60,
      refusal: "user_not_found",
      streamed: 60,
    }
    expect(seen).toEqual({
      heyApi: { ...expected, rank: 1 },
      openapiFetch: { ...expected, rank: 1 },
      orval: { ...expected, rank: 1 },
    })
  })
})

describe("redocly and spectral", () => {
  it("find nothing in the document but what is known", async () => {
    const findings = JSON.parse(await run("tools/lint.ts", documentFile))
    const places = Object.entries<ReadonlyArray<string>>(findings).map(([rule, found]) => [
      rule,
      found.map((each) => each.split(" ")[0]),
    ])
    expect(Object.fromEntries(places)).toEqual({
      // They answer every request, without a key and without input.
      "redocly operation-4xx-response": [
        "#/paths/~1healthz/get/responses",
        "#/paths/~1readyz/get/responses",
        "#/paths/~1openapi.json/get/responses",
        "#/paths/~1docs/get/responses",
      ],
      // PostHog's libraries send to this path.
      "redocly no-path-trailing-slash": ["#/paths/~1v1~1ingest~1posthog~1batch~1"],
      "spectral path-keys-no-trailing-slash": ["paths//v1/ingest/posthog/batch/"],
    })
  })
})
