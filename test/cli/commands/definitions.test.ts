/** `laurel definitions` against a real server. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Place } from "../../http/definitions.ts"
import { startServer, type TestServer } from "../../http/fixture.ts"
import { runCommand } from "../commands.ts"

let server: TestServer
let folder: string
beforeAll(async () => {
  server = await startServer()
  folder = await mkdtemp(join(tmpdir(), "laurel-definitions-"))
})
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true })
})

const run = ({ key }: Place, ...args: ReadonlyArray<string>) =>
  Effect.runPromise(
    runCommand(["definitions", ...args], folder, { LAUREL_KEY: key, LAUREL_URL: server.url }),
  )
const fileWith = async (text: string): Promise<string> => {
  const file = join(folder, "definitions.json")
  await writeFile(file, text)
  return file
}

describe("laurel definitions", () => {
  it("exports, compares and applies definitions from sandbox to production, after which nothing differs", async () => {
    const [sandbox, production] = [new Place(server, "from"), new Place(server, "to")]
    const badgeId = await sandbox.create("/v1/badges", { name: "B", criteria: { kind: "manual" } })
    await sandbox.create("/v1/rules", { action: "TAP", reward: { xp: 5, badgeId } })
    const out = await run(sandbox, "export")
    const asked = `Server: ${server.url}\n`
    expect(out).toMatchObject({ code: 0, stderr: asked })
    const file = await fileWith(out.stdout)
    const diff = await run(production, "diff", file)
    expect(diff.code).toBe(0)
    expect(diff.stdout).toContain("+ badge b (B)\n")
    expect(diff.stdout).toContain("2 to create, 0 to change, 0 to delete.\n")
    expect((await production.get("/v1/rules")).json.total).toBe(0)
    const applied = await run(production, "apply", file, "--yes")
    expect(applied).toMatchObject({ code: 0, stderr: asked })
    expect(applied.stdout).toBe(`${diff.stdout}Applied: 2 created, 0 changed, 0 deleted.\n`)
    const again = await run(production, "apply", file)
    expect(again).toEqual({ code: 0, stdout: "Nothing to change.\n", stderr: asked })
    expect((await run(production, "export")).stdout).toBe(out.stdout)
  })

  it("changes nothing without a confirmation, and deletes nothing without --delete", async () => {
    const place = new Place(server, "kept")
    await place.create("/v1/rules", { action: "TAP", reward: { xp: 5 } })
    const file = await fileWith('{"rules": []}')
    expect((await run(place, "apply", file, "--yes")).stdout).toBe("Nothing to change.\n")
    const asked = await run(place, "apply", file, "--delete")
    expect(asked.code).toBe(64)
    expect(asked.stderr).toContain("use --yes. Nothing was changed.")
    expect((await place.get("/v1/rules")).json.total).toBe(1)
    const done = await run(place, "apply", file, "--delete", "--yes")
    expect(done.stdout).toContain("Applied: 0 created, 0 changed, 1 deleted.")
  })

  it("prints each fault on a line and ends with 1, or with 64 if the file is not JSON", async () => {
    const place = new Place(server, "faults")
    const file = await fileWith('{"rules": [{"key": "a", "acton": "TAP", "reward": {"xp": 1}}]}')
    const refused = await run(place, "apply", file, "--yes")
    expect(refused).toMatchObject({ code: 1, stdout: "" })
    const [asked, ...lines] = refused.stderr.trimEnd().split("\n")
    expect(asked).toBe(`Server: ${server.url}`)
    expect(lines.toSorted()).toEqual([
      "laurel: /definitions/rules/0/action: is required",
      expect.stringContaining("laurel: /definitions/rules/0/acton: "),
    ])
    expect((await run(place, "diff", await fileWith("{"))).code).toBe(64)
  })

  it("names the server that does not answer, and never the key", async () => {
    const args = ["definitions", "export", "--url", "http://127.0.0.1:1"]
    const end = await Effect.runPromise(runCommand(args, folder, { LAUREL_KEY: "lk_test_secret" }))
    expect(end.code).toBe(69)
    expect(end.stderr).toContain("The server at http://127.0.0.1:1 did not answer")
    const wrong = await run({ key: "lk_test_wrong" } as Place, "export")
    expect(wrong.code).toBe(1)
    expect(end.stderr + wrong.stderr).not.toMatch(/lk_test_(secret|wrong)/)
  })
})
