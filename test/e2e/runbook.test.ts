/** The operator's runbook in `snapshots/README.md` is true: every block of commands in it is run here, in its order. */
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { readdir, truncate, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { root, Server, temporaryFolder } from "./program.ts"

const guide = readFileSync(join(root, "snapshots/README.md"), "utf8")
const part = guide.slice(guide.indexOf("## When something is wrong"), guide.indexOf("## Copies"))
/** The commands under each heading. */
const blocks = new Map(
  part
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const commands = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text)
      return [section.slice(0, section.indexOf("\n")), commands.join("")] as const
    }),
)

interface Ended {
  readonly code: number | null
  readonly output: string
}

describe("The runbook", () => {
  it("works from the first command to the last", async () => {
    const temporary = await temporaryFolder()
    const folder = join(temporary, "data")
    const untried = new Set(blocks.keys())

    /** Runs the commands under a heading; the first wrong one ends them. `answer` is typed when it asks. */
    const commands = async (
      heading: string,
      changed = (text: string) => text,
      answer = "y",
    ): Promise<Ended> => {
      const block = blocks.get(heading)
      if (block === undefined) throw new Error(`There is nothing under ${heading}`)
      untried.delete(heading)
      // The first block defines `laurel` through npm; the others need not wait for npm each time.
      const laurel =
        heading === "First" ? "" : `laurel() { '${process.execPath}' src/main.ts "$@"; }\n`
      const text = block.replaceAll("/tmp/laurel", join(temporary, "laurel"))
      const script = join(temporary, "commands.sh")
      await writeFile(script, `set -eu\n${laurel}${changed(text)}`)
      const env = { ...process.env, LAUREL_DATA_DIR: current }
      const asks = text.includes("--to-time")
      const [program, ...args] = asks
        ? ["script", "-qec", `bash ${script}`, "/dev/null"]
        : ["bash", script]
      const child = spawn(program!, args, { cwd: root, env })
      let output = ""
      let answered = false
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (chunk) => {
          output += chunk
          if (answered || !output.includes("Continue?")) return
          answered = true
          child.stdin.write(answer)
        })
      }
      const code = await new Promise<number | null>((ended) => child.on("close", ended))
      return { code, output }
    }
    let current = folder

    const first = await commands("First")
    expect(first).toMatchObject({ code: 0, output: expect.stringContaining("laurel v1.") })

    const server = await Server.start(folder)
    const key = await server.createKey()
    await server.request(key, "POST", "/v1/rules", { action: "TAP", reward: { xp: 10 } })
    const cafeKey = await server.createKey("cafe")
    const tap = async (userId: string, by = key) =>
      (await server.request(by, "POST", "/v1/events", { userId, action: "TAP" })).body.receivedAt
    const board = async (on: Server) =>
      (await on.request(key, "GET", "/v1/leaderboard")).body.entries.map(
        ({ userId, xp }: { userId: string; xp: number }) => `${userId} ${xp}`,
      )
    await tap("ada")
    const young = await commands("Is it good")
    expect(young).toEqual({
      code: 0,
      output: expect.stringMatching(/^live is good.*\n.*record.*$/m),
    })
    const created = await commands("Before anything risky")
    expect(created).toMatchObject({ code: 0, output: expect.stringMatching(/^[-\dT.]+Z-\d+$/m) })
    const ten = await tap("bob")
    while (Date.now() <= Date.parse(ten)) await new Promise((next) => setImmediate(next))
    await tap("eve")
    await tap("zoe", cafeKey)
    const there = await commands("List archives")
    expect(there).toMatchObject({ code: 0, output: expect.stringContaining("server.json") })
    const good = await commands("Is it good")
    expect(good).toMatchObject({
      code: 0,
      output: expect.stringMatching(/live is good[\s\S]*Z-\d+ is good/),
    })
    expect(await commands("Stop the server")).toEqual({ code: 0, output: "" })
    expect(await server.ended).toBe(0)

    const atTen = (text: string) => text.replace(/\d{4}-\d\d-\d\dT10:00:00Z/, ten)
    const no = await commands("Go back to 10:00", atTen, "n")
    expect(no).toMatchObject({ code: 1, output: expect.stringContaining("Nothing was changed.") })
    const back = await commands("Go back to 10:00", atTen)
    expect(back).toMatchObject({
      code: 0,
      // Two events, and the last use of the keys.
      output: expect.stringMatching(/3 records will be lost[\s\S]*Copying {3}█+ [\d.]+ KiB of/),
    })
    const second = await Server.start(folder)
    expect(await board(second)).toEqual(["ada 10", "bob 10"])
    await second.stop()

    const undone = await commands("It was the wrong time")
    expect(undone).toMatchObject({ code: 0, output: expect.stringContaining("Restored: 4 users") })

    const alone = await commands("One project back to 10:00", atTen)
    expect(alone).toMatchObject({
      code: 0,
      output: expect.stringMatching(
        /1 record of the project will be lost[\s\S]*Restored: shop as of/,
      ),
    })
    const partly = await Server.start(folder)
    expect(await board(partly)).toEqual(["ada 10", "bob 10"])
    expect((await partly.request(cafeKey, "GET", "/v1/users/zoe")).status).toBe(200)
    await partly.stop()
    expect(await commands("It was the wrong time")).toMatchObject({ code: 0 })

    const live = join(folder, "live", "data.mdb")
    await truncate(live, 8_192)
    const damaged = new Server(folder)
    expect(await damaged.ended).toBe(65)
    expect(damaged.stderr.text).toContain("laurel snapshots restore --to-sequence last")
    const anew = await commands("The database is damaged")
    expect(anew).toMatchObject({
      code: 0,
      output: expect.stringContaining("No record of the journal will be lost"),
    })

    const moved = await commands("Move to another machine")
    expect(moved.code).toBe(0)
    expect(await commands("The disk is full")).toMatchObject({ code: 0 })
    expect((await readdir(folder)).filter((name) => name.startsWith("replaced-"))).toEqual([])

    current = join(temporary, "elsewhere")
    const arrived = await commands("On the other machine")
    expect(arrived).toMatchObject({ code: 0, output: expect.stringContaining("live is good") })
    const third = await Server.start(current)
    expect(await board(third)).toEqual(["ada 10", "bob 10", "eve 10"])
    await third.stop()

    const other = await commands("Another version, or one project only")
    expect(other).toMatchObject({
      code: 0,
      output: expect.stringMatching(/Imported and verified: 4 users[\s\S]*lk_test_/),
    })

    expect([...untried]).toEqual([])
  })
})
