/** The memory of 1,000,000 users, and the time of a start with them. */
import { inProcess } from "./children.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { users, withTemporaryFolder } from "./millionUsers.ts"
import type { OpenReport } from "./processes/openDirectory.ts"
import type { ReadReport } from "./processes/readDirectory.ts"
import { median } from "./statistics.ts"

const rounds = 5

/** Measures all lines; about a minute and a half, 1.5 GB of temporary disk. */
export const millionUsers = (): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (directory) => {
    const { bytesPerUser } = await inProcess<{ bytesPerUser: number }>("bareMap", { users })
    const { bytesPerNewUser } = await inProcess<{ bytesPerNewUser: number }>("fillDirectory", {
      directory,
      users,
    })
    const opened: Array<OpenReport> = []
    const read: Array<ReadReport> = []
    for (let round = 0; round < rounds; round++) {
      opened.push(await inProcess<OpenReport>("openDirectory", { directory }))
      read.push(await inProcess<ReadReport>("readDirectory", { directory }))
    }
    for (const { users: found } of opened) {
      if (found !== users) throw new Error(`${found} of ${users} users came back`)
    }
    const memory = (kind: string, value: number): BenchLine => ({
      question: `users: bytes per ${kind} user of 1,000,000`,
      value,
      unit: "B",
      reference: { name: "Map of id and xp", value: bytesPerUser, unit: "B" },
      ratio: value / bytesPerUser,
      goal: "≤ 600 B",
    })
    const startMs = median(opened.map(({ durationMs }) => durationMs))
    const readMs = median(read.map(({ durationMs }) => durationMs))
    return [
      memory("new", bytesPerNewUser),
      memory("loaded", median(opened.map(({ bytes }) => bytes)) / users),
      {
        question: "users: start-up with 1,000,000",
        value: startMs,
        unit: "ms",
        reference: { name: "the same values read bare", value: readMs, unit: "ms" },
        ratio: startMs / readMs,
        goal: "≤ 2×",
      },
    ]
  })

if (import.meta.main) for (const line of await millionUsers()) console.log(formatLine(line))
