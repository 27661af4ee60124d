/**
 * The time without writes when the owner of a cluster ends: the longest time between two accepted
 * events, at the server that takes over. Two servers and PostgreSQL on one machine; with a
 * follower, and without.
 */
import { mkdir, rename } from "node:fs/promises"
import path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { followed, ownerOf, Runner } from "../test/cluster/Runner.ts"
import { lessonDone, newEventId, userIdAt } from "./events.ts"
import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { startLaurel } from "./laurel.ts"
import type { BenchOptions } from "./options.ts"
import { median } from "./statistics.ts"
import { withPostgres } from "./withPostgres.ts"

interface Fault {
  readonly signal: "SIGKILL" | "SIGTERM"
  readonly expirationMs: number
  readonly goal: string
}

const faults: ReadonlyArray<Fault> = [
  { signal: "SIGKILL", expirationMs: 10_000, goal: "≤ 12 s" },
  { signal: "SIGKILL", expirationMs: 3_000, goal: "≤ 4 s" },
  { signal: "SIGTERM", expirationMs: 3_000, goal: "≤ 1 s" },
]

const partition = path.join("partitions", "1")

/** Whether a server takes an event. */
const isTaken = (url: string, key: string): Promise<boolean> =>
  fetch(`${url}/v1/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ id: newEventId(), ...lessonDone(userIdAt(0)) }),
    signal: AbortSignal.timeout(60_000),
  }).then(
    ({ status }) => status === 200 || status === 201,
    () => false,
  )

/**
 * Sends events one after another to a server, until an event is accepted after the owner has ended.
 * Resolves with the longest time between two accepted events. An owner that ends in order may
 * accept events after the signal.
 */
const longestGapMs = async (
  url: string,
  key: string,
  end: () => Promise<unknown>,
): Promise<number> => {
  let takenAt = performance.now()
  let longestMs = 0
  let hasEnded = false
  void end().then(() => {
    hasEnded = true
  })
  while (true) {
    const isLast = hasEnded
    if (await isTaken(url, key)) {
      const now = performance.now()
      longestMs = Math.max(longestMs, now - takenAt)
      takenAt = now
      if (isLast) return longestMs
    }
    await sleep(5)
  }
}

/** Ends the owner `rounds` times, each time after the other one has caught up. */
const measure = async (
  runners: ReadonlyArray<Runner>,
  key: string,
  { signal }: Fault,
  settings: Readonly<Record<string, string>>,
  rounds: number,
): Promise<ReadonlyArray<number>> => {
  const measured: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    const owner = await ownerOf(runners)
    const other = runners.find((runner) => runner !== owner)!
    if (settings.LAUREL_CLUSTER_FOLLOWERS !== "0") await followed(other)
    const end = () => {
      owner.signal(signal)
      return owner.process.ended
    }
    measured.push(await longestGapMs(other.url, key, end))
    await owner.start()
  }
  return measured
}

/** Measures the lines; about seven minutes. */
export const failover = ({ quick = false }: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  withPostgres(async (postgres, folder) => {
    const users = quick ? 10_000 : 1_000_000
    const filled = await startLaurel({ directory: folder })
    const { key } = filled.answer
    await fill(filled.answer, users)
    await filled.stop()
    const lines: Array<BenchLine> = []
    const runners: Array<Runner> = []
    try {
      const url = await postgres.schema("failover")
      const settingsOf = (expirationMs: number, followers: number) => ({
        LAUREL_CLUSTER_LOCK_EXPIRATION: `${expirationMs} millis`,
        LAUREL_CLUSTER_FOLLOWERS: String(followers),
        LAUREL_SNAPSHOT_INTERVAL: "30 seconds",
      })
      for (let n = 0; n < 2; n++) runners.push(await Runner.make({ LAUREL_CLUSTER: url }))
      await mkdir(path.join(runners[0]!.directory, "partitions"))
      await rename(folder, path.join(runners[0]!.directory, partition))
      for (const { expirationMs, goal, signal } of faults) {
        const times: Array<ReadonlyArray<number>> = []
        for (const followers of [0, 1]) {
          const settings = settingsOf(expirationMs, followers)
          for (const runner of runners) {
            runner.more = settings
            await runner.start()
            await ownerOf(runners.slice(0, 1))
          }
          const fault = { signal, expirationMs, goal }
          const rounds = quick ? 1 : 3
          times.push(await measure(runners, key, fault, settings, rounds))
          for (const runner of runners) await runner.end("SIGTERM")
        }
        const [without, within] = times as [ReadonlyArray<number>, ReadonlyArray<number>]
        const seconds = (all: ReadonlyArray<number>) => all.map((ms) => ms / 1_000)
        const value = median(seconds(within))
        const reference = median(seconds(without))
        lines.push({
          question: `failover, ${users.toLocaleString("en-US")} users, ${signal}, ${expirationMs / 1_000} s expiration: writes again`,
          value,
          unit: "s",
          reference: { name: "without a follower", value: reference, unit: "s" },
          ratio: value / reference,
          goal,
          rounds: seconds(within),
        })
      }
      return lines
    } finally {
      for (const runner of runners) await runner.remove()
    }
  })

if (import.meta.main) {
  const quick = process.argv.includes("--quick")
  for (const line of await failover({ quick })) console.log(formatLine(line))
}
