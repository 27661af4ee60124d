import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { NewAuditEntry } from "../../../src/accounts/audit/AuditLog.ts"
import { openAuditStore } from "../../../src/accounts/audit/AuditStore.ts"
import { limits } from "../../../src/Limits.ts"
import { batchOf } from "../../../src/storage/Frames.ts"
import { openJournal } from "../../../src/storage/journal/Journal.ts"
import { segmentName } from "../../../src/storage/journal/SegmentFormat.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"

const folder = "/data/audit"
const day = 86_400_000
const begin = Date.parse("2026-11-22T10:00:00Z")

const entry = (subject: string, more: Partial<NewAuditEntry> = {}): NewAuditEntry => ({
  action: "key.revoke",
  by: { id: "acc_1", email: "ada@example.com" },
  subject,
  detail: "",
  projectId: "prj_1",
  environment: "sandbox",
  address: "192.0.2.1",
  requestId: "req_1",
  ...more,
})
const operator = (subject: string) => entry(subject, { by: "operator" })

/** A log on this disk, with a clock that the test sets. */
const logOn = (disk: SimulatedDisk, clock = { now: begin }) =>
  openAuditStore({ disk, directory: "/data", now: () => clock.now, freeSpaceBytesMin: 0 })

const subjects = (page: { readonly entries: ReadonlyArray<{ readonly subject: string }> }) =>
  page.entries.map(({ subject }) => subject)

/** Entries written a thousand at a time, as only a test does. */
const filled = (disk: SimulatedDisk, count: number, at: (index: number) => number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const journal = yield* openJournal({
        disk,
        folder,
        segmentBytes: limits.auditSegmentBytes,
        freeSpaceBytesMin: 0,
      })
      for (let done = 0; done < count; ) {
        const size = Math.min(1_000, count - done)
        const bodies = Array.from({ length: size }, (_, index) =>
          Buffer.from(JSON.stringify({ at: at(done + index), ...operator(`s${done + index}`) })),
        )
        yield* journal.append(batchOf(done + 1, bodies))
        done += size
      }
    }),
  )

/** The oldest entry that the log shows; it is known to be among the 50 before this number. */
const oldestOf = (log: Effect.Success<ReturnType<typeof logOn>>, before: number) =>
  Effect.map(log.read({ before }), ({ entries, next }) => {
    expect(next).toBeUndefined()
    return entries.at(-1)
  })

describe("An entry", () => {
  it.effect("is on disk before its write succeeds, and is read after a kill", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const log = yield* logOn(disk)
      for (let count = 1; count <= 20; count++) {
        yield* log.write(entry(`key_${count}`))
        for (const survived of [disk.afterKill(), disk.afterPowerCut(count)]) {
          const found = yield* (yield* logOn(survived)).read({})
          expect(found.entries).toHaveLength(count)
          expect(found.entries[0]).toEqual({
            sequence: count,
            at: begin,
            ...entry(`key_${count}`),
          })
        }
      }
    }),
  )

  it.effect("is in the order of writing, also if many entries are written at the same time", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const log = yield* logOn(disk)
      const names = Array.from({ length: 30 }, (_, index) => `key_${index}`)
      yield* Effect.forEach(names, (name) => log.write(entry(name)), {
        concurrency: "unbounded",
        discard: true,
      })
      expect(subjects(yield* log.read({}))).toEqual(names.toReversed())
    }),
  )

  it.effect("has a time that is never before the time of the previous entry", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const clock = { now: begin }
      const log = yield* logOn(disk, clock)
      yield* log.write(entry("first"))
      const earlier = { now: begin - day }
      const again = yield* logOn(disk.afterKill(), earlier)
      yield* again.write(entry("second"))
      const { entries } = yield* again.read({})
      expect(entries.map(({ at, subject }) => [subject, at])).toEqual([
        ["second", begin],
        ["first", begin],
      ])
    }),
  )

  it.effect(`has texts of at most ${limits.auditTextCharactersMax} characters`, () =>
    Effect.gen(function* () {
      const log = yield* logOn(new SimulatedDisk())
      const most = "x".repeat(limits.auditTextCharactersMax)
      yield* log.write(entry(most, { detail: `${most}y` }))
      const { entries } = yield* log.read({})
      expect([entries[0]!.subject, entries[0]!.detail]).toEqual([most, most])
    }),
  )

  it.effect(`has at most ${limits.auditChangesMax} changes, and counts the rest`, () =>
    Effect.gen(function* () {
      const log = yield* logOn(new SimulatedDisk())
      const { auditChangeCharactersMax: most, auditChangesMax } = limits
      const long = "x".repeat(most + 1)
      const change = { field: long, from: long, to: long }
      yield* log.write({ ...entry("a"), changes: Array(auditChangesMax).fill(change) })
      yield* log.write({ ...entry("a"), changes: Array(auditChangesMax + 2).fill(change) })
      const [more, whole] = (yield* log.read({})).entries
      const kept = { field: long.slice(1), from: long.slice(1), to: long.slice(1) }
      expect(whole!.changes).toEqual(Array(auditChangesMax).fill(kept))
      expect(whole!.detail).not.toContain("more")
      expect(more!.changes).toHaveLength(auditChangesMax)
      expect(more!.detail).toContain("2 more changes")
    }),
  )
})

describe("The log", () => {
  it.effect(`shows ${limits.auditEntriesMax} entries, and little more is on disk`, () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* filled(disk, limits.auditEntriesMax, () => begin)
      const log = yield* logOn(disk)
      expect((yield* oldestOf(log, 20))?.subject).toBe("s0")
      const hasFirstSegment = () => disk.files(folder).has(segmentName(1))
      expect(hasFirstSegment()).toBe(true)
      yield* log.write(operator("one more"))
      expect((yield* oldestOf(log, 20))?.subject).toBe("s1")
      for (let count = 1; count < limits.auditReadEntriesMax; count++) {
        yield* log.write(operator(`${count} more`))
      }
      const surplus = limits.auditReadEntriesMax
      expect((yield* oldestOf(log, surplus + 20))?.subject).toBe(`s${surplus}`)
      const { entries } = yield* log.read({})
      expect(entries[0]!.sequence).toBe(limits.auditEntriesMax + surplus)
      expect(hasFirstSegment()).toBe(false)
    }),
  )

  it.effect("keeps an entry for 400 days, and removes its bytes within another month", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const clock = { now: begin }
      const log = yield* logOn(disk, clock)
      yield* log.write(entry("oldest"))
      clock.now = begin + 1
      yield* log.write(entry("second"))
      clock.now = begin + limits.auditKeptMs - 1
      expect(subjects(yield* log.read({}))).toEqual(["second", "oldest"])
      clock.now = begin + limits.auditKeptMs
      expect(subjects(yield* log.read({}))).toEqual(["second"])
      yield* log.write(entry("third"))
      expect(subjects(yield* log.read({}))).toEqual(["third", "second"])
      clock.now = begin + limits.auditKeptMs + 1
      const bytes = () => Buffer.concat([...disk.files(folder).values()])
      yield* TestClock.adjust(limits.auditPruneMs)
      // The first segment was closed by then: "third" is in the second one.
      yield* log.write(entry("fourth"))
      yield* TestClock.adjust(limits.auditPruneMs)
      expect(subjects(yield* log.read({}))).toEqual(["fourth", "third"])
      clock.now += limits.auditSegmentMs
      yield* TestClock.adjust(limits.auditPruneMs)
      yield* log.write(entry("fifth"))
      clock.now = begin + 2 * limits.auditKeptMs + 1
      yield* TestClock.adjust(limits.auditPruneMs)
      expect(bytes().includes("oldest")).toBe(false)
      expect(bytes().includes("third")).toBe(false)
      expect(subjects(yield* log.read({}))).toEqual(["fifth"])
    }),
  )

  it.effect(`takes ${limits.auditAccountActionsPerHourMax} actions of an account in an hour`, () =>
    Effect.gen(function* () {
      const clock = { now: begin }
      const log = yield* logOn(new SimulatedDisk(), clock)
      for (let count = 0; count < limits.auditAccountActionsPerHourMax; count++) {
        yield* log.admit("acc_1")
        yield* log.write(entry("key"))
      }
      expect((yield* Effect.flip(log.admit("acc_1"))).code).toBe("rate_limited")
      yield* log.admit("acc_2")
      yield* log.admit()
      clock.now += 3_600_000
      yield* log.admit("acc_1")
    }),
  )
})

describe("A page of the log", () => {
  it.effect("has 50 entries, newest first, and leads to the next", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* filled(disk, 1_234, (index) => begin + index)
      const log = yield* logOn(disk, { now: begin + 5_000 })
      const first = yield* log.read({})
      expect(subjects(first)).toHaveLength(limits.auditPageMax)
      expect(first.entries[0]!.subject).toBe("s1233")
      yield* log.write(operator("meanwhile"))
      const all = [...subjects(first)]
      for (let { next } = first; next !== undefined; ) {
        const page = yield* log.read({ before: next })
        all.push(...subjects(page))
        next = page.next
      }
      expect(all).toEqual(Array.from({ length: 1_234 }, (_, index) => `s${1_233 - index}`))
    }),
  )

  it.effect("has no next page if it ends with the last entry", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* filled(disk, limits.auditPageMax, () => begin)
      expect((yield* (yield* logOn(disk)).read({})).next).toBeUndefined()
    }),
  )

  it.effect("has only the entries that match the query", () =>
    Effect.gen(function* () {
      const clock = { now: begin }
      const log = yield* logOn(new SimulatedDisk(), clock)
      const bob = { by: { id: "acc_2", email: "bob@example.com" } } as const
      const entries: ReadonlyArray<readonly [string, Partial<NewAuditEntry>]> = [
        ["a", {}],
        ["b", bob],
        ["c", { action: "key.create" }],
        ["d", { projectId: null, environment: null }],
        ["e", { environment: "production" }],
        ["f", { by: "operator" }],
        ["g", { environment: null }],
      ]
      for (const [subject, more] of entries) {
        clock.now += 1_000
        yield* log.write(entry(subject, more))
      }
      const cases = [
        [{ by: "acc_2" }, "b"],
        [{ by: "BOB@" }, "b"],
        [{ by: "operator" }, "f"],
        [{ action: "key.create" }, "c"],
        [{ projectId: "prj_1" }, "gfecba"],
        [{ projectId: "prj_1", environment: "production" }, "ge"],
        [{ from: begin + 3_000 }, "gfedc"],
        [{ until: begin + 3_000 }, "ba"],
        [{ from: begin + 3_000, until: begin + 5_000 }, "dc"],
        [{ until: begin }, ""],
        [{ from: begin + 60_000 }, ""],
        [{ before: 3 }, "ba"],
        [{ before: 0 }, ""],
        [{ before: 1_000 }, "gfedcba"],
      ] as const
      for (const [query, expected] of cases) {
        expect({ query, found: subjects(yield* log.read(query)).join("") }).toEqual({
          query,
          found: expected,
        })
      }
    }),
  )

  it.effect(
    `searches ${limits.auditSearchedMax} entries at most, and the next page continues there`,
    () =>
      Effect.gen(function* () {
        const disk = new SimulatedDisk()
        const count = 2 * limits.auditSearchedMax
        yield* filled(disk, count, (index) => begin + index)
        const log = yield* logOn(disk, { now: begin + count })
        const query = { by: "nobody@example.com" }
        const first = yield* log.read(query)
        const oldest = count - limits.auditSearchedMax
        expect(first).toMatchObject({
          entries: [],
          next: oldest + 1,
          searchedBackTo: begin + oldest - 1,
        })
        const nothing = { entries: [], next: undefined, searchedBackTo: undefined }
        expect(yield* log.read({ ...query, before: first.next })).toEqual(nothing)
        // A day ends the search by itself.
        expect(yield* log.read({ ...query, from: begin + count - 10 })).toEqual(nothing)
      }),
  )
})

describe("Trouble with the disk", () => {
  it.effect("refuses actions while the disk is full, until there is space", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const log = yield* logOn(disk)
      yield* log.write(entry("before"))
      const used = [...disk.files(folder).values()].reduce((sum, file) => sum + file.length, 0)
      disk.capacityBytes = used + 2 * limits.auditSegmentBytes
      yield* log.admit()
      disk.capacityBytes--
      expect(yield* Effect.flip(log.admit())).toMatchObject({ code: "storage_unavailable" })
      expect(subjects(yield* log.read({}))).toEqual(["before"])
      disk.capacityBytes = Number.POSITIVE_INFINITY
      yield* log.admit()
      yield* log.write(entry("after"))
      expect(subjects(yield* log.read({}))).toEqual(["after", "before"])
    }),
  )

  it.effect(
    "reports a flush that fails after the action, and writes the entry to the server's log",
    () =>
      Effect.gen(function* () {
        const disk = new SimulatedDisk()
        const log = yield* logOn(disk)
        yield* log.write(entry("before"))
        disk.failCall(1, "EIO")
        const lines: Array<string> = []
        const collect = Logger.make((line) => lines.push(Logger.formatLogFmt.log(line)))
        const { code, detail } = yield* Effect.flip(log.write(entry("lost"))).pipe(
          Effect.provide(Logger.layer([collect])),
        )
        expect(code).toBe("storage_unavailable")
        expect(detail).toContain("This was done, but")
        expect(lines.join()).toContain("lost")
        expect((yield* Effect.flip(log.admit())).detail).toContain("nothing was changed")
      }),
  )

  it.effect("sets a damaged log aside, and begins a new log that says so", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const scope = yield* Scope.make()
      const log = yield* Scope.provide(logOn(disk), scope)
      yield* log.write(entry("before"))
      yield* log.write(entry("last"))
      yield* Scope.close(scope, Exit.void)
      const files = disk.files(folder)
      const [name, bytes] = [...files].find(([each]) => /^\d/.test(each))!
      const at = bytes.indexOf("before")
      bytes[at] = bytes[at]! ^ 1
      const damaged = SimulatedDisk.holding(folder, files)
      const again = yield* logOn(damaged)
      const aside = "audit-damaged-2026-11-22T10-00-00.000Z"
      expect((yield* again.read({})).entries).toMatchObject([
        { sequence: 1, action: "log.replace", by: "server", subject: aside },
      ])
      expect(damaged.files(`/data/${aside}`).get(name)).toEqual(bytes)
    }),
  )

  it.effect("fails the opening if the folder cannot be used, and does not set it aside", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      disk.failCall(1, "EACCES")
      const error = yield* Effect.flip(logOn(disk))
      expect(error.message).toContain("EACCES")
    }),
  )
})
