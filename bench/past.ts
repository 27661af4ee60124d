/**
 * What old events cost: a page of a user's history among ten events of each of 1,000,000 users, and
 * a batch of 1,000 duplicates of the oldest events beside a batch of new ones. The users of pages
 * and duplicates are drawn at random, so few of their blocks are in a cache of the server. It
 * flatters the server where the machine's memory holds all files: the kernel then reads from no
 * disk. The run prints how many bytes the disks delivered for a page.
 */
import { readFileSync } from "node:fs"
import { lessonDone, newEventId, userIdAt } from "./events.ts"
import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { processorUs } from "./load/processorTime.ts"
import type { BenchOptions, Variant } from "./options.ts"
import { inTurn, lineOf } from "./rounds.ts"
import type { Subject } from "./Subject.ts"
import { startVariant } from "./subjects.ts"

const eventsOfUser = 10
const pageLimit = 20
/** A page of ten events is larger. */
const pageBytesMin = 500
const callers = 4
const batchEvents = 1_000

interface Round {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly pageUs: number
  /** Bytes from disks for each page. */
  readonly readBytes: number
  readonly duplicateUs: number
  readonly newUs: number
}

const readBytesOf = (pid: number): number =>
  Number(/^read_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1])

const oldId = (round: number, n: number): string => `old-${round}-${n}`

const ask = async ({ answer }: Subject, path: string, body?: string): Promise<string> => {
  const { host = "127.0.0.1", key, port } = answer
  const reply = await fetch(`http://${host}:${port}${path}`, {
    ...(body !== undefined && { method: "POST", body }),
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      prefer: "return=minimal",
    },
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${text.slice(0, 500)}`)
  return text
}

/** Measures all lines; about a quarter of an hour for each server. */
export const past = async (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const { quick = false, variants = [] } = options
  const users = options.users ?? (quick ? 5_000 : 1_000_000)
  const pages = quick ? 200 : 2_000
  const batches = quick ? 3 : 20
  const anyone = () => Math.floor(Math.random() * users)
  const subjects: Array<Subject> = []
  const added = new Map<Subject, number>()

  const readPages = async (subject: Subject): Promise<ReadonlyArray<number>> => {
    const times: Array<number> = []
    const caller = async () => {
      while (times.length < pages) {
        const startedAt = performance.now()
        const path = `/v1/users/${userIdAt(anyone())}/history?limit=${pageLimit}`
        const page = await ask(subject, path)
        times.push(performance.now() - startedAt)
        if (page.length < pageBytesMin) throw new Error(`${path} is short: ${page}`)
      }
    }
    await Promise.all(Array.from({ length: callers }, caller))
    return times.sort((one, other) => one - other)
  }
  /** Processor time of an event in batches; `old`: duplicates of the first events of users. */
  const sendBatches = async (subject: Subject, old: boolean): Promise<number> => {
    const before = processorUs(subject.roots)
    for (let batch = 0; batch < batches; batch++) {
      const events = Array.from({ length: batchEvents }, () => {
        const n = anyone()
        return { id: old ? oldId(0, n) : newEventId(), ...lessonDone(userIdAt(n)) }
      })
      const text = await ask(subject, "/v1/events/batch", JSON.stringify({ events }))
      const { duplicates } = JSON.parse(text) as { readonly duplicates: number }
      if (duplicates !== (old ? batchEvents : 0)) throw new Error(`Not as sent: ${text}`)
      if (!old) added.set(subject, added.get(subject)! + batchEvents)
    }
    return (processorUs(subject.roots) - before) / (batches * batchEvents)
  }
  const round = async (subject: Subject, beforeUs: number): Promise<Round> => {
    const pid = subject.roots[0]!
    const bytesBefore = readBytesOf(pid)
    const times = await readPages(subject)
    const pageUs = (processorUs(subject.roots) - beforeUs) / times.length
    const readBytes = (readBytesOf(pid) - bytesBefore) / times.length
    const at = (share: number) => times[Math.floor(times.length * share)]!
    const duplicateUs = await sendBatches(subject, true)
    const newUs = await sendBatches(subject, false)
    return { p50Ms: at(0.5), p99Ms: at(0.99), pageUs, readBytes, duplicateUs, newUs }
  }

  try {
    const all: ReadonlyArray<Variant> = [{ name: "Laurel", settings: {} }, ...variants]
    for (const variant of all) {
      const subject = await startVariant(variant)
      subjects.push(subject)
      for (let event = 0; event < eventsOfUser; event++) {
        await fill(subject.answer, users, 4, (n) => oldId(event, n))
      }
      added.set(subject, users * eventsOfUser)
    }
    const measured = await inTurn(subjects, quick ? 1 : 3, round)
    for (const subject of subjects) await subject.check(added.get(subject)!, 0)
    const bench = `${(users * eventsOfUser).toLocaleString("en-US")} events`
    return [
      lineOf(`${bench}: a history page, 99 % within`, "ms", measured, ({ p99Ms }) => p99Ms, {
        goal: "≤ 10 ms",
      }),
      lineOf(`${bench}: a history page, median`, "ms", measured, ({ p50Ms }) => p50Ms),
      lineOf(`${bench}: a history page, processor time`, "µs", measured, ({ pageUs }) => pageUs),
      lineOf(`${bench}: a history page, read from disk`, "B", measured, (r) => r.readBytes),
      lineOf(`${bench}: an old duplicate`, "µs/event", measured, ({ duplicateUs }) => duplicateUs),
      lineOf(`${bench}: a new event`, "µs/event", measured, ({ newUs }) => newUs),
      lineOf(
        `${bench}: old duplicates beside new events`,
        "×",
        measured,
        ({ duplicateUs, newUs }) => duplicateUs / newUs,
        { goal: "≤ 2×" },
      ),
    ]
  } finally {
    for (const subject of subjects) await subject.stop()
  }
}

if (import.meta.main) for (const line of await past()) console.log(formatLine(line))
