/** A database that is damaged under the real server: it serves with nothing missing, or says exactly why it does not. */
import { cp, open, readFile, stat, truncate, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { exitCodes } from "../../src/cli/output/ExitCode.ts"
import { isRunHead } from "../../src/engine/dedupe/IdRun.ts"
import { limits } from "../../src/Limits.ts"
import { compositeKey, rangeOf } from "../../src/storage/Keys.ts"
import { LmdbReader } from "../../src/storage/lmdb/LmdbReader.ts"
import { openLmdbStore } from "../../src/storage/lmdb/LmdbStore.ts"
import { encodeValue } from "../../src/storage/SealedValue.ts"
import { type Table, tables } from "../../src/storage/Storage.ts"
import { openValue } from "../../src/storage/Values.ts"
import { commandEnd } from "../cli/commands.ts"
import { Random, seeds } from "../simulation/random.ts"
import { answer, Receiver } from "../webhooks/Receiver.ts"
import { Server, sharedByAll, temporaryFolder } from "./program.ts"

const pageBytes = 4_096
const users = 60
const allowed = { LAUREL_WEBHOOK_ALLOW_CIDR: "127.0.0.0/8" }
const words =
  /(The (database|data directory) \S+ is damaged: [^\n]+|The database is damaged; the process stops)\. Nothing was changed\. `laurel snapshots restore --to-sequence last` rebuilds it from an archive/

/** What tells of a file that is cut: which table it names depends on the pages that are gone. */
const cut = /^laurel: The database \S+ is damaged: (reading|opening|page \d+ of) /m

/** A directory with something in every table: webhooks that wait and that were delivered, kept answers, batches. */
const filled = async () => {
  const folder = await temporaryFolder()
  const receiver = await Receiver.start()
  receiver.answer = (response, received, socket) =>
    answer(received.path === "/good" ? 204 : 500)(response, received, socket)
  const server = await Server.start(folder, allowed)
  const key = await server.createKey()
  const events = ["reward.granted"]
  for (const path of ["good", "bad"]) {
    await server.request(key, "POST", "/v1/webhooks", {
      url: receiver.url("127.0.0.1", `/${path}`),
      events,
    })
  }
  await server.request(key, "POST", "/v1/rules", { action: "TAP", reward: { xp: 10 } })
  for (let n = 0; n < users; n++) {
    const reward = { type: "xp", amount: 1, id: `r${n}` }
    const { status } = await server.request(key, "POST", `/v1/users/u${n}/rewards`, reward)
    expect(status).toBe(200)
  }
  const batch = await fetch(`${server.url}/v1/events/batch`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${key}`,
      "Content-Type": "application/json",
      "Idempotency-Key": "once",
    },
    body: JSON.stringify({ events: [{ userId: "u0", action: "OTHER" }] }),
  })
  expect(batch.status).toBe(200)
  await receiver.until(
    () => receiver.received.filter(({ path }) => path === "/good").length >= users,
  )
  expect(await server.stop()).toBe(0)
  await receiver.stop()
  return { folder, key }
}

/** Any value of a table. */
const anyValue = async (live: string, table: Table, random: Random): Promise<Buffer> => {
  const reader = new LmdbReader(live)
  // A running server reads no head of a run of callers' ids.
  const entries = [...reader.entries({ table, ...rangeOf(new Uint8Array(0)) })].filter(
    ([, value]) => table !== "eventIds" || !isRunHead(openValue(value) as Uint8Array),
  )
  const value = Buffer.from(random.pick(entries)[1])
  await reader.close()
  return value
}

/** The tables with this value: those whose keys say all have the same. */
const tablesWith = async (live: string, value: Buffer): Promise<ReadonlyArray<Table>> => {
  const reader = new LmdbReader(live)
  const found = tables.filter((table) =>
    [...reader.entries({ table, ...rangeOf(new Uint8Array(0)) })].some(([, each]) =>
      value.equals(each),
    ),
  )
  await reader.close()
  return found
}

/** Flips a bit of a value, in every copy of it: pages of earlier transactions are still in the file. Answers how many those were. */
const flipABit = async (data: string, value: Buffer, random: Random): Promise<number> => {
  const bytes = await readFile(data)
  const at = random.integer(0, value.length - 1)
  const flipped = Buffer.of(value[at]! ^ (1 << random.integer(0, 7)))
  const handle = await open(data, "r+")
  let copies = 0
  for (let start = bytes.indexOf(value); start >= 0; start = bytes.indexOf(value, start + 1)) {
    await handle.write(flipped, 0, 1, start + at)
    copies++
  }
  await handle.close()
  return copies
}

const copyOf = async (folder: string) => {
  const copy = await temporaryFolder()
  await cp(folder, copy, { recursive: true })
  return { copy, data: join(copy, "live", "data.mdb") }
}

/**
 * Starts a server on the directory; what it serves is all there, or it has said what is wrong, or
 * the next start does where LMDB has ended it.
 */
const servesOrTells = async (folder: string, key: string) => {
  const server = new Server(folder, allowed)
  const ready = await server.stderr.waitFor(/"message":"Ready".*\n/).catch(() => undefined)
  if (ready === undefined) {
    await server.ended
    expect(server.stderr.text).toMatch(words)
    return "told"
  }
  server.url = JSON.parse(await readFile(join(folder, "server.json"), "utf8")).url
  const found: Array<unknown> = []
  // A webhook that waits is tried again, which looks at all that is known of it.
  await server
    .request(key, "POST", "/v1/users/u0/rewards", { type: "xp", amount: 1, id: "r0" })
    .catch(() => {})
  for (let n = 0; n < users; n++) {
    const reply = await server.request(key, "GET", `/v1/users/u${n}`).catch(() => undefined)
    if (reply === undefined) break
    found.push(reply.body.xp)
  }
  if (found.length === users) await server.stop()
  else {
    await server.ended
    const next = words.test(server.stderr.text) ? server : new Server(folder, allowed)
    await next.ended
    expect(next.stderr.text).toMatch(words)
    return "told"
  }
  expect(found).toEqual(found.map(() => 1))
  return "served"
}

describe("A server whose database is damaged", () => {
  let folder: string
  let key: string
  sharedByAll(async () => {
    ;({ folder, key } = await filled())
  })

  for (const seed of seeds(1)) {
    it(`serves all that was acknowledged or tells what is wrong, wherever a bit flips; again with LAUREL_TEST_SEED=${seed}`, async () => {
      const random = new Random(seed)
      const bytes = await readFile(join(folder, "live", "data.mdb"))
      for (let n = 0; n < 4; n++) {
        const { copy, data } = await copyOf(folder)
        const page = n < 2 ? n : random.integer(2, bytes.length / pageBytes - 1)
        const at = page * pageBytes + random.integer(0, n % 3 === 0 ? 40 : 200)
        const handle = await open(data, "r+")
        await handle.write(Buffer.from([bytes[at]! ^ (1 << random.integer(0, 7))]), 0, 1, at)
        await handle.close()
        await servesOrTells(copy, key)
      }
    })
  }

  for (const seed of seeds(1)) {
    it(`tells of a value that is damaged in the tables of webhooks and kept answers; again with LAUREL_TEST_SEED=${seed}`, async () => {
      const random = new Random(seed)
      const damaged = ["outbox", "endpoints", "deliveries", "due", "expiry"] as const
      // All are reported; a start takes long, so each run serves another one.
      const served = random.pick(damaged)
      for (const table of damaged) {
        const { copy, data } = await copyOf(folder)
        const value = await anyValue(join(folder, "live"), table, random)
        const alike = (await tablesWith(join(folder, "live"), value)).join("|")
        expect([table, (await flipABit(data, value, random)) > 0]).toEqual([table, true])
        const checked = await commandEnd(["snapshots", "verify", "live"], copy)
        expect([checked.code, checked.stderr]).toEqual([
          65,
          expect.stringMatching(
            new RegExp(`The value \\S+ of table (${alike}) (is damaged|has format)`),
          ),
        ])
        if (table === served) expect(["served", "told"]).toContain(await servesOrTells(copy, key))
      }
    })
  }

  for (const seed of seeds(1)) {
    it(`ends with 65 and names a value that is damaged while it runs; again with LAUREL_TEST_SEED=${seed}`, async () => {
      const { copy, data } = await copyOf(folder)
      const value = await anyValue(join(folder, "live"), "eventIds", new Random(seed))
      const server = await Server.start(copy, allowed)
      expect(await flipABit(data, value, new Random(seed))).toBeGreaterThan(0)
      for (let n = 0; n < users; n++) {
        const reward = { type: "xp", amount: 1, id: `r${n}` }
        const repeated = server.request(key, "POST", `/v1/users/u${n}/rewards`, reward)
        if ((await repeated.catch(() => undefined)) === undefined) break
      }
      expect(await server.ended).toBe(65)
      expect(server.stderr.text).toMatch(
        /The database is damaged; the process stops[^\n]+The value \S+ of table eventIds (is damaged|has format)/,
      )
    })
  }

  it("tells so when the file is cut, and so does everything else that reads it; the runbook's command makes it whole", async () => {
    const { copy, data } = await copyOf(folder)
    expect((await commandEnd(["snapshots", "create"], copy)).code).toBe(0)
    const { size } = await stat(data)
    await truncate(data, Math.floor(size / pageBytes / 2) * pageBytes)
    expect(await servesOrTells(copy, key)).toBe("told")
    const checked = await commandEnd(["snapshots", "verify", "live"], copy)
    expect(checked.code).toBe(65)
    expect(checked.stderr).toMatch(cut)
    const exported = await commandEnd(["snapshots", "export", join(copy, "x.ndjson")], copy)
    expect(exported.code).toBe(65)
    expect(exported.stderr).toMatch(cut)
    const restored = await commandEnd(
      ["snapshots", "restore", "--to-sequence", "last", "--yes"],
      copy,
    )
    expect(restored.code).toBe(0)
    expect(await servesOrTells(copy, key)).toBe("served")
  })

  it("is checked beside the server where it is large and was closed in order, and ends the server with 65", async () => {
    const { copy, data } = await copyOf(folder)
    const live = join(copy, "live")
    const long = {
      table: "expiry",
      key: compositeKey("zzz"),
      value: encodeValue(Buffer.alloc(limits.databaseCheckedBytesMax)),
    } as const
    await Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(openLmdbStore({ folder: live, freeSpaceBytesMin: 0 }), (store) =>
          store.writeEntries([long]),
        ),
      ),
    )
    const whole = await Server.start(copy, allowed)
    await whole.stderr.waitFor(/"message":"The database was checked beside the server"/)
    expect(await whole.stop()).toBe(0)
    // A key of a table that no start reads: its value is whole, and comes before the same key after it.
    const bytes = await readFile(data)
    const key = Buffer.from("\u0001u59\0")
    const renamed = Buffer.from("\u0001u5:\0")
    for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + 1)) {
      renamed.copy(bytes, at)
    }
    await writeFile(data, bytes)
    const server = new Server(copy, allowed)
    await server.stderr.waitFor(/"message":"Ready"/)
    expect(await server.ended).toBe(exitCodes.damagedData)
    expect(server.stderr.text).toMatch(words)
    expect(server.stderr.text).toMatch(
      /table userIds has other entries than those that were written/,
    )
  })

  it("tells so at the next start, when it has died of it", async () => {
    const { copy, data } = await copyOf(folder)
    const server = await Server.start(copy, allowed)
    const handle = await open(data, "r+")
    const { size } = await handle.stat()
    // Every page but those that were read by now: nobody looks at the heads of those again.
    const nonsense = Buffer.alloc(64, 0xff)
    for (let at = 2 * pageBytes; at < size; at += pageBytes) await handle.write(nonsense, 0, 64, at)
    await handle.close()
    // Whether or not LMDB dies of it before it is killed.
    await server.request(key, "GET", "/v1/users/u1").catch(() => undefined)
    server.process.kill("SIGKILL")
    await server.ended
    expect(await servesOrTells(copy, key)).toBe("told")
  })
})
