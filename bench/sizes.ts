/**
 * The disk space of users, events, deliveries and archives, for deploy/README.md: each part of the
 * data directory apart.
 */
import path from "node:path"
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
      {
        question: `sizes: journal, a day of ${eventsPerSecond} events/s`,
        value: (ofJournal * eventsPerSecond * daySeconds) / 2 ** 30,
        unit: "GiB",
      },
      {
        question: "sizes: an archive, of the database",
        value: (100 * archiveBytes) / all.database,
        unit: "%",
      },
    ]
  })

if (import.meta.main) for (const line of await sizes()) console.log(formatLine(line))
