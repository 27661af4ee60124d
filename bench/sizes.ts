/**
 * The disk space of users, events, deliveries and archives, for deploy/README.md: each part of the
 * data directory apart.
 */
import { readdirSync, statSync } from "node:fs"
import path from "node:path"
import { Effect } from "effect"
import { limits } from "../src/Limits.ts"
import { nodeDisk } from "../src/storage/disk/NodeDisk.ts"
import { batchOf } from "../src/storage/Frames.ts"
import { openJournal } from "../src/storage/journal/Journal.ts"
import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { type Laurel, startLaurel } from "./laurel.ts"
import { makeArchive } from "./makeArchive.ts"
import { withTemporaryFolder } from "./millionUsers.ts"
import type { BenchOptions } from "./options.ts"
import { bytesIn } from "./stored.ts"

/** After the first. */
const eventsOfUser = 3
const daySeconds = 86_400
const eventsPerSecond = 100
const pollMs = 100
const readRecords = 1_000

const settings = {
  LAUREL_ARCHIVE_INTERVAL: "off",
  LAUREL_WEBHOOK_ALLOW_CIDR: "127.0.0.0/8",
  // The first attempt fails, and no retry follows while the bench runs.
  LAUREL_WEBHOOK_RETRY_SCHEDULE: "0,86400",
}

interface Sizes {
  readonly journal: number
  readonly database: number
}

/** Measures all lines; about three minutes, 2 GB of temporary disk. */
export const sizes = ({ quick = false }: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (folder) => {
    const users = quick ? 20_000 : 200_000
    const events = users * (1 + eventsOfUser)
    /** The sizes of a data directory after an orderly shutdown, which writes a full snapshot. */
    const after = async (name: string, use: (laurel: Laurel) => Promise<void>): Promise<Sizes> => {
      const directory = path.join(folder, name)
      const laurel = await startLaurel({ directory, settings })
      try {
        await use(laurel)
      } finally {
        await laurel.stop()
      }
      return {
        journal: bytesIn(path.join(directory, "journal")),
        database: bytesIn(path.join(directory, "live")),
      }
    }
    const empty = await after("plain", async () => {})
    const first = await after("plain", async ({ answer }) => void (await fill(answer, users)))
    let archiveBytes = 0
    const all = await after("plain", async ({ answer }) => {
      for (let round = 0; round < eventsOfUser; round++) await fill(answer, users)
      archiveBytes = (await makeArchive(path.join(folder, "plain"))).bytes
    })
    // The same events, each with a pending delivery.
    const delivering = await after("delivering", async ({ answer, request }) => {
      // Nobody listens there.
      const wish = { url: "http://127.0.0.1:9/", events: ["event.tracked"] }
      const { id } = (await request("/v1/webhooks", wish)) as { readonly id: string }
      for (let round = 0; round <= eventsOfUser; round++) await fill(answer, users)
      let pending = 0
      while (pending < events) {
        await new Promise((resolve) => setTimeout(resolve, pollMs))
        const { deliveries } = (await request(`/v1/webhooks/${id}`)) as {
          readonly deliveries: { readonly pending: number }
        }
        pending = deliveries.pending
      }
    })
    const sealed = await sealAll(path.join(folder, "plain", "journal"))
    const ofUser = (first.database - empty.database) / users
    const ofEvent = (all.database - first.database) / (users * eventsOfUser)
    const ofJournal = (all.journal - first.journal) / (users * eventsOfUser)
    const ofDelivery = (delivering.database - all.database) / events
    const bytes = (question: string, value: number): BenchLine => ({
      question: `sizes: ${question}`,
      value,
      unit: "B",
    })
    return [
      bytes("database, a user with one event", ofUser),
      bytes("database, a further event", ofEvent),
      bytes("database, a pending delivery", ofDelivery),
      bytes("journal, an event", ofJournal),
      bytes("journal, a record in a sealed segment", sealed.recordBytes),
      { question: "sizes: processor time to seal a record", value: sealed.sealUs, unit: "µs" },
      { question: "sizes: a record read from sealed segments", value: sealed.readUs, unit: "µs" },
      {
        question: `sizes: journal, a day of ${eventsPerSecond} events/s`,
        value: (ofJournal * eventsPerSecond * daySeconds) / 2 ** 30,
        unit: "GiB",
      },
      {
        question: "sizes: an archive without the journal's files, of the database",
        value: (100 * archiveBytes) / all.database,
        unit: "%",
      },
    ]
  })

/** Seals all records of a journal, and reads some of them one by one, each from another block. */
const sealAll = (folder: string) =>
  Effect.gen(function* () {
    const options = { disk: nodeDisk, folder, segmentBytes: limits.segmentBytes }
    const journal = yield* openJournal({ ...options, freeSpaceBytesMin: 0 })
    const records = journal.lastSequence - journal.firstSequence + 1
    // The next batch begins another segment, so that the newest one is full too.
    yield* journal.prune(0, journal.lastSequence)
    yield* journal.append(batchOf(journal.lastSequence + 1, [Buffer.from("{}")]))
    const before = process.cpuUsage()
    yield* Effect.repeat(journal.sealer.sealNext, { while: (isMore) => isMore })
    const { system, user } = process.cpuUsage(before)
    const sealUs = (system + user) / records
    const sealedBytes = readdirSync(folder)
      .filter((name) => name.endsWith(".sealed"))
      .reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0)
    const step = Math.max(1, Math.floor(records / readRecords))
    const work = { blocks: 0 }
    const readStart = performance.now()
    for (let n = 0; n < readRecords; n++) {
      const sequence = journal.firstSequence + ((n * 7_919 * step) % records)
      if ((yield* journal.readRecord(sequence, work)) === undefined) throw new Error("no record")
    }
    const readUs = ((performance.now() - readStart) * 1_000) / readRecords
    return { recordBytes: sealedBytes / records, sealUs, readUs }
  }).pipe(Effect.scoped, Effect.runPromise)

if (import.meta.main) for (const line of await sizes()) console.log(formatLine(line))
