/** The last acknowledged batch is damaged after a crash: that is no write that was interrupted. */
import { open, readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { nodeDisk } from "../../src/storage/disk/NodeDisk.ts"
import { readFlushed } from "../../src/storage/journal/FlushedMark.ts"
import { scanJournal } from "../../src/storage/journal/JournalScan.ts"
import { commandEnd } from "../cli/commands.ts"
import { Server, temporaryFolder } from "./program.ts"

describe("A journal whose last acknowledged batch is damaged after a crash", () => {
  it("ends the start with 65, the check says so too, and a restore goes to the last whole record", async () => {
    const folder = await temporaryFolder()
    const journal = join(folder, "journal")
    const server = await Server.start(folder, { LAUREL_SNAPSHOT_INTERVAL: "1 hour" })
    const key = await server.createKey()
    expect((await commandEnd(["snapshots", "create"], folder)).code).toBe(0)
    const sent = { userId: "u1", action: "ACKNOWLEDGED" }
    expect((await server.request(key, "POST", "/v1/events", sent)).status).toBe(200)
    const scan = scanJournal({ disk: nodeDisk, folder: journal }, () => Effect.void)
    const { lastSequence } = await Effect.runPromise(scan)
    const marked = () => Effect.runPromise(readFlushed(nodeDisk, journal))
    while ((await marked()) < lastSequence) await setTimeout(50)
    await server.stop("SIGKILL")

    const [name] = (await readdir(journal)).filter((file) => /^\d+\.segment$/.test(file))
    const where = join(journal, name!)
    const at = (await readFile(where)).lastIndexOf("ACKNOWLEDGED")
    const handle = await open(where, "r+")
    await handle.write("B", at)
    await handle.close()

    const damaged =
      /records up to \d+ were flushed and acknowledged, and the whole batches end with/
    const second = new Server(folder)
    expect(await second.ended).toBe(65)
    expect(second.stderr.text).toMatch(damaged)
    const checked = await commandEnd(["snapshots", "verify", "live"], folder)
    expect([checked.code, checked.stderr]).toEqual([65, expect.stringMatching(damaged)])

    const restore = (sequence: string) =>
      commandEnd(["snapshots", "restore", "--to-sequence", sequence, "--yes"], folder)
    const refused = await restore("last")
    const [, whole = ""] = /`--to-sequence (\d+)` restores the whole part/.exec(refused.stderr)!
    expect((await restore(whole)).code).toBe(0)
    const third = await Server.start(folder)
    expect(await third.stop()).toBe(0)
  })
})
