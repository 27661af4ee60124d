import { spawn } from "node:child_process"
import { appendFile, readdir } from "node:fs/promises"
import { join, resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { compileCache } from "../compileCache.ts"
import { createKey, patience, run, Server, temporaryFolder } from "./program.ts"

const main = resolve(import.meta.dirname, "../../src/main.ts")

/** Gives each of the users 10 xp; answers when the last one got them. */
const send = async (server: Server, key: string, ...users: ReadonlyArray<string>) => {
  let at = ""
  for (const userId of users) {
    const { body } = await server.request(key, "POST", "/v1/events", { userId, action: "TAP" })
    expect(body.xp.earned).toBe(10)
    at = body.receivedAt
  }
  return at
}

const board = async (server: Server, key: string) =>
  (await server.request(key, "GET", "/v1/leaderboard")).body.entries.map(
    ({ userId, xp }: { userId: string; xp: number }) => [userId, xp],
  )

/** Runs a command at a terminal, and types `answer` when it asks. */
const atTerminal = async (folder: string, command: string, answer: string) => {
  const env = { ...process.env, ...compileCache, LAUREL_DATA_DIR: folder, TERM: "xterm" }
  const child = spawn("script", ["-qec", `${process.execPath} ${main} ${command}`, "/dev/null"], {
    env,
  })
  let text = ""
  child.stdout.on("data", (chunk) => {
    if (!text.includes("Go on?") && `${text}${chunk}`.includes("Go on?")) child.stdin.write(answer)
    text += chunk
  })
  const code = await new Promise((ended) => child.on("close", ended))
  return { code, text }
}

describe("Archives on the command line", patience, () => {
  it("are made and checked beside a server, and gone back to without one", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    const { key } = await createKey(folder)
    await server.request(key, "POST", "/v1/rules", { action: "TAP", reward: { xp: 10 } })
    await send(server, key, "ada", "bob")
    const created = await run(["snapshots", "create"], folder)
    expect(created).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^The archive has 2 users up to record \d+, takes [\d.]+ KiB/),
    })
    const id = created.stdout.trim()
    const recordedAt = await send(server, key, "ada", "eve")
    const then = await board(server, key)
    while (Date.now() <= Date.parse(recordedAt)) await new Promise((next) => setImmediate(next))
    await send(server, key, "bob", "bob")
    const listed = await run(["snapshots", "list"], folder)
    expect(listed.stdout.split("\n")).toEqual([
      expect.stringMatching(/^TIME +SEQUENCE +USERS +SIZE +MADE BY +VERIFIED +ID$/),
      expect.stringMatching(/^[─ ]+$/),
      expect.stringMatching(/^[-\dT:.]+Z +\d+ +2 +[\d.]+ KiB +request +[-\dT:.]+Z +\S+$/),
      "",
    ])
    const live = await run(["snapshots", "verify", "--json"], folder)
    expect(JSON.parse(live.stdout)).toMatchObject({ id: "live", faults: [], counts: { users: 3 } })
    const held = await run(["snapshots", "restore", id, "--yes"], folder)
    expect(held).toMatchObject({ code: 75, stderr: expect.stringContaining("in use") })
    expect(await server.stop()).toBe(0)

    const to = ["snapshots", "restore", "--to-time", recordedAt]
    const unasked = await run(to, folder)
    expect([unasked.code, unasked.stderr.split("\n").at(-2)]).toEqual([
      64,
      "laurel: Without a terminal to ask at, say --yes. Nothing was changed.",
    ])
    const restored = await run([...to, "--yes"], folder)
    expect([restored.code, restored.stderr]).toEqual([0, expect.stringContaining("2 records will")])
    const replaced = /What was there before is in (\S+)\.\n/.exec(restored.stdout)?.[1]
    expect((await readdir(replaced!)).toSorted()).toEqual(["journal", "live"])
    const again = await Server.start(folder)
    expect(await board(again, key)).toEqual(then)
    await again.stop()
  })

  it("are refused, damaged and removed with words and codes that scripts can tell apart", async () => {
    const folder = await temporaryFolder()
    const nothing = join(folder, "nothing")
    for (const command of ["create", "verify"]) {
      const { code, stderr } = await run(["snapshots", command], nothing)
      expect([code, stderr]).toEqual([66, `laurel: There is no data in ${nothing}.\n`])
    }
    expect((await run(["snapshots", "list", "--json"], nothing)).stdout).toBe("[]\n")
    await createKey(folder)
    const ids = []
    for (const _ of [1, 2]) {
      ids.push(JSON.parse((await run(["snapshots", "create", "--json"], folder)).stdout).id)
    }
    const unknown = await run(["snapshots", "verify", "x"], folder)
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      "laurel: There is no archive x. `laurel snapshots list` has all.\n",
    ])
    await appendFile(join(folder, "archive", ids[0], "journal", "clean"), " ")
    const damaged = await run(["snapshots", "verify", ids[0]], folder)
    expect([damaged.code, damaged.stderr]).toEqual([
      65,
      "laurel: The file journal/clean has changed.\n",
    ])
    const listed = await run(["snapshots", "list"], folder)
    expect(listed.stdout).toContain("NO: The file journal/clean has changed")
    const none = { LAUREL_ARCHIVE_HOURLY: "0", LAUREL_ARCHIVE_DAILY: "0" }
    // The damaged one stays, and the newest good one.
    const pruned = await run(["snapshots", "prune", "--json"], folder, none)
    expect(pruned).toMatchObject({ code: 0, stdout: "[]\n" })
    for (const wrong of [[], ["--project", "x", "--to-time", "10:00"], ["--to-sequence", "-1"]]) {
      expect((await run(["snapshots", "restore", ...wrong], folder)).code).toBe(64)
    }
  })

  it.runIf(process.platform === "linux")(
    "are gone back to from a terminal only after a yes, with a bar that shows how far it is",
    async () => {
      const folder = await temporaryFolder()
      await createKey(folder)
      const { id } = JSON.parse((await run(["snapshots", "create", "--json"], folder)).stdout)
      const no = await atTerminal(folder, `snapshots restore ${id}`, "n")
      expect(no.code).toBe(1)
      expect(no.text).toContain("Nothing was changed.")
      const yes = await atTerminal(folder, `snapshots restore ${id}`, "y")
      expect(yes.code).toBe(0)
      expect(yes.text).toMatch(/Copying {3}█+ [\d.]+ KiB of [\d.]+ KiB/)
      expect(yes.text).toContain("What was there before is in")
    },
  )
})
