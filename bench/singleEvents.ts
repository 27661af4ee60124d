/**
 * Single events over HTTP, each durable before its reply, beside a server that only parses and
 * answers, and the peers.
 */
import { randomEvent } from "./events.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { pinToOneCore } from "./load/family.ts"
import type { Choice } from "./load/wrk.ts"
import { closedLoopConnections, snapshotCycleSeconds } from "./loads.ts"
import type { BenchOptions } from "./options.ts"
import {
  answeredBy,
  closedLines,
  closedRounds,
  memoryLines,
  openLines,
  openRounds,
  type Rate,
} from "./rounds.ts"
import { median } from "./statistics.ts"
import { withSubjects } from "./subjects.ts"

/** Shares of Laurel's rate in a closed loop. */
const shares = [0.1, 0.5, 0.8]
const quickShares = [0.5]
const openConnections = 300
/** The interval of Laurel's snapshots, so that a round includes the work of a snapshot. */
const closedSeconds = 30
/**
 * Laurel was suspended before, so a snapshot is late, and each round begins with it. Alone it is
 * not suspended, and only a round of a whole cycle is sure to have one.
 */
const openSeconds = 8
const openSecondsAlone = snapshotCycleSeconds

const measure = async (
  bench: string,
  choice: Exclude<Choice, "next">,
  options: BenchOptions & { readonly oneCore?: boolean },
): Promise<ReadonlyArray<BenchLine>> => {
  const { connections = closedLoopConnections, quick = false } = options
  const rounds = quick ? 1 : 3
  const secondsOr = (usual: number) => options.seconds ?? (quick ? 1 : usual)
  const seconds = secondsOr(closedSeconds)
  const users = options.users ?? (quick ? 10_000 : 100_000)
  const work = { kind: "event", users, choice, connections, seconds } as const
  const example = { path: "/v1/events", body: randomEvent(), events: 1 }
  return withSubjects({ ...options, users, example }, async (subjects, filled) => {
    if (options.oneCore) for (const { roots } of subjects) pinToOneCore(roots)
    const warm = await closedRounds(subjects, 1, { ...work, seconds: quick ? 1 : 5 })
    const closed = await closedRounds(subjects, rounds, work)
    const saturation = median(closed[0]!.rounds.map(({ perSecond }) => perSecond))
    const rates: ReadonlyArray<Rate> = options.rate
      ? [{ perSecond: options.rate }]
      : (quick ? quickShares : shares).map((share) => ({ share, perSecond: share * saturation }))
    const lines = [...closedLines(bench, "event", closed), ...memoryLines(bench, subjects)]
    const opened = new Map(subjects.map((subject) => [subject, 0]))
    let broken = 0
    for (const rate of rates) {
      const open = await openRounds(subjects, rounds, {
        perSecond: rate.perSecond,
        users,
        choice,
        connections: openConnections,
        warmUpSeconds: 1,
        measureSeconds: secondsOr(options.alone ? openSecondsAlone : openSeconds),
      })
      lines.push(...openLines(bench, rate, open))
      for (const { rounds, subject } of open) {
        for (const report of rounds) {
          opened.set(subject, opened.get(subject)! + report.acceptedInAll)
          broken += report.broken
        }
      }
    }
    for (const subject of subjects) {
      const { answered, unread } = answeredBy(subject, work, warm, closed)
      // If a connection broke, it is unknown whether its event was applied.
      await subject.check(filled(subject) + answered + opened.get(subject)!, unread + broken)
    }
    return lines
  })
}

/** Each user as often as the others; a quarter of an hour with all peers. */
export const singleEvents = (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  measure("single events", "uniform", options)

/** Users by Zipf's law; a quarter of an hour with all peers. */
export const zipfEvents = (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  measure("single events, zipf", "zipf", options)

/**
 * Each server has one core, with all its threads and processes; a quarter of an hour with all
 * peers.
 */
export const oneCoreEvents = (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  measure("single events, one core", "uniform", { ...options, oneCore: true })

if (import.meta.main) for (const line of await singleEvents()) console.log(formatLine(line))
