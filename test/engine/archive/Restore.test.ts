import { cp, mkdir, readdir, readFile, truncate, writeFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import type { Step } from "../../../src/engine/archive/jobs/Jobs.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { restoreDraft } from "../../../src/engine/archive/restore/RestoreJob.ts"
import { planRestore, type RestoreTarget } from "../../../src/engine/archive/restore/RestorePlan.ts"
import { limits } from "../../../src/Limits.ts"
import { listArchives } from "../../../src/storage/archive/ArchiveCatalog.ts"
import { installDraft, settleSwap } from "../../../src/storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { event, sandbox } from "../fixture.ts"
import { alone, busy, found, running, seen } from "./fixture.ts"
import { workerOf } from "./processes.ts"

const users = 8
const toSequence = (sequence: number): RestoreTarget => ({ kind: "sequence", sequence })
const last: RestoreTarget = { kind: "last" }
const toArchive: RestoreTarget = { kind: "archive" }

const plan = Effect.fnUntraced(function* (directory: string, target: RestoreTarget, id?: string) {
  const archives = yield* listArchives(nodeDisk, path.join(directory, "archive"))
  const journal = path.join(directory, "journal")
  return yield* planRestore({ disk: nodeDisk, journal, archives, id, target })
})

/** Restores as the command does, but for the lock; in the process of the test. */
const restore = Effect.fnUntraced(function* (
  directory: string,
  target: RestoreTarget,
  id?: string,
) {
  const planned = yield* plan(directory, target, id)
  const wish = { directory, archive: planned.folder, until: planned.sequence, project: null }
  const findings = yield* Effect.scoped(restoreDraft(wish, alone))
  const replaced = yield* installDraft(nodeDisk, directory, Date.now())
  return { ...planned, findings, replaced }
})

const copyOf = Effect.fnUntraced(function* (directory: string) {
  const copy = yield* temporaryFolder
  yield* Effect.promise(() => cp(directory, copy, { recursive: true }))
  return copy
})

/** Every user's xp after the record `sequence`, by the records. */
const xpAt = (committed: ReadonlyArray<JournalRecord>, sequence: number) => {
  const xp = new Map<string, number>()
  for (const record of committed) {
    if (record.sequence > sequence || record.subject.actor !== "user") continue
    for (const fact of record.facts) {
      if (fact.kind === "event.tracked" || fact.kind === "reward.granted") {
        xp.set(record.subject.userId, fact.xp)
      }
    }
  }
  return xp
}

/**
 * A directory that was closed in order, with archives after each of `archiveAfter` rounds out of `rounds`, all of
 * its records, and where each round ended.
 */
const history = Effect.fnUntraced(function* (rounds: number, ...archiveAfter: Array<number>) {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const first = yield* running({ directory, host, engine: { snapshotIntervalMs: 20 } })
  yield* found(first.engine)
  const ends: Array<{ sequence: number; seen: Effect.Success<ReturnType<typeof seen>> }> = []
  const ids: Array<string> = []
  for (let round = 1; round <= rounds; round++) {
    yield* busy(first.engine, users, round)
    const { lastSequence: sequence } = first.archives.position()
    ends.push({ sequence, seen: yield* seen(first.engine, users) })
    if (!archiveAfter.includes(round)) continue
    ids.push((yield* first.archives.create({ reason: "request" })).id)
  }
  yield* first.close()
  return { committed: first.committed, directory, ends, host, ids }
})

const openSeen = Effect.fnUntraced(function* (
  directory: string,
  host: Effect.Success<ReturnType<typeof makeWorkerHost>>,
) {
  const opened = yield* running({ directory, host })
  const found = yield* seen(opened.engine, users)
  const { lastSequence } = opened.archives.position()
  yield* opened.close()
  return { lastSequence, seen: found }
})

describe("A restore", () => {
  it.live("is the state of exactly the record that was asked for", () =>
    Effect.gen(function* () {
      const { committed, directory, ends, host, ids } = yield* history(4, 1, 3)
      const end = ends.at(-1)!.sequence
      // Ends of rounds, and records in the middle of a batch.
      for (const sequence of [ends[1]!.sequence - 5, ends[1]!.sequence, end - 7]) {
        const copy = yield* copyOf(directory)
        const restored = yield* restore(copy, toSequence(sequence))
        expect(restored.archive?.id).toBe(sequence < ends[2]!.sequence ? ids[0] : ids[1])
        expect(restored.lost).toMatchObject({ first: sequence + 1, last: end })
        const opened = yield* openSeen(copy, host)
        expect(opened.lastSequence).toBe(sequence)
        const xp = xpAt(committed, sequence)
        for (const user of opened.seen.states) expect(user?.xp).toBe(xp.get(user!.id))
        expect(restored.findings.counts.users).toBe(xp.size)
        const round = ends.find((each) => each.sequence === sequence)
        if (round !== undefined) expect(opened.seen).toEqual(round.seen)
        // What was there is whole, and still a data directory.
        const replaced = yield* openSeen(restored.replaced!, host)
        expect(replaced).toEqual({ lastSequence: end, seen: ends.at(-1)!.seen })
      }
    }),
  )

  it.live("to a record before all archives begins with the first record of the journal", () =>
    Effect.gen(function* () {
      const { committed, directory, ends, host, ids } = yield* history(3, 3)
      for (const { seen: expected, sequence } of ends.slice(0, 2)) {
        const copy = yield* copyOf(directory)
        const restored = yield* restore(copy, toSequence(sequence))
        expect(restored).toMatchObject({ archive: null, lost: { first: sequence + 1 } })
        expect(restored.findings.counts.users).toBe(xpAt(committed, sequence).size)
        expect(yield* openSeen(copy, host)).toEqual({ lastSequence: sequence, seen: expected })
      }
      const named = yield* Effect.flip(plan(directory, toSequence(ends[0]!.sequence), ids[0]))
      expect(named).toMatchObject({ kind: "refused" })
    }),
  )

  it.live("to a time has the records up to it, and none of the next millisecond", () =>
    Effect.gen(function* () {
      const { committed, directory } = yield* history(3, 1)
      const at = committed.at(-20)!.at
      const expected = committed.findLast((record) => record.at <= at)!.sequence
      const planned = yield* plan(directory, { kind: "time", at })
      expect(planned).toMatchObject({ sequence: expected, at })
      const later = yield* plan(directory, { kind: "time", at: Date.now() + 1_000 })
      expect(later).toMatchObject({ sequence: committed.at(-1)!.sequence, lost: undefined })
      const before = yield* plan(directory, { kind: "time", at: committed[0]!.at - 1 })
      expect(before).toMatchObject({ archive: null, sequence: 0, lost: { first: 1 } })
    }),
  )

  it.live("makes a destroyed snapshot anew, and loses nothing", () =>
    Effect.gen(function* () {
      const { directory, ends, host } = yield* history(3, 1)
      yield* Effect.promise(() => writeFile(path.join(directory, "live", "data.mdb"), "nothing"))
      const { lost } = yield* restore(directory, last)
      expect(lost).toBeUndefined()
      const opened = yield* openSeen(directory, host)
      expect(opened).toEqual({ lastSequence: ends.at(-1)!.sequence, seen: ends.at(-1)!.seen })
    }),
  )

  it.live("of an archive alone works where nothing else is left", () =>
    Effect.gen(function* () {
      const { directory, ends, host, ids } = yield* history(2, 1)
      const elsewhere = yield* temporaryFolder
      const archives = path.join(directory, "archive")
      yield* Effect.promise(() =>
        cp(archives, path.join(elsewhere, "archive"), { recursive: true }),
      )
      const restored = yield* restore(elsewhere, toArchive, ids[0])
      expect(restored).toMatchObject({ lost: undefined, unknown: undefined, replaced: undefined })
      const opened = yield* openSeen(elsewhere, host)
      expect(opened).toEqual({ lastSequence: ends[0]!.sequence, seen: ends[0]!.seen })
      const more = yield* Effect.flip(plan(yield* copyOf(elsewhere), toSequence(9_999)))
      expect(more).toMatchObject({ kind: "refused" })
    }),
  )

  it.live("has the whole journal of the archive, also where that of the directory is damaged", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: false })
      const segmentBytes = 24_000
      const first = yield* running({ directory, host, segmentBytes })
      yield* found(first.engine)
      for (let round = 1; round <= 8; round++) yield* busy(first.engine, users, round)
      yield* first.close()
      const second = yield* running({ directory, host, segmentBytes })
      yield* busy(second.engine, users, 9)
      yield* second.archives.create({ reason: "request" })
      yield* busy(second.engine, users, 10)
      const end = second.archives.position().lastSequence
      yield* second.close()
      const journal = path.join(directory, "journal")
      const names = (yield* Effect.promise(() => readdir(journal))).filter((name) =>
        /\.(segment|sealed)$/.test(name),
      )
      expect(names.length).toBeGreaterThan(2)
      const oldest = Effect.fnUntraced(function* (at: string) {
        const opened = yield* running({ directory: at, host, segmentBytes })
        const firstSequence = yield* opened.firstSequence
        const { lastSequence } = opened.archives.position()
        yield* opened.close()
        return { firstSequence, lastSequence }
      })
      const whole = yield* copyOf(directory)
      yield* restore(whole, toSequence(end - 3))
      expect(yield* oldest(whole)).toEqual({ firstSequence: 1, lastSequence: end - 3 })
      // The archive of the copy has files of its own.
      const torn = yield* copyOf(directory)
      yield* Effect.promise(() => damageEnd(path.join(torn, "journal", names.toSorted()[0]!)))
      yield* restore(torn, last)
      expect(yield* oldest(torn)).toEqual({ firstSequence: 1, lastSequence: end })
    }),
  )

  it.live("passes over archives of a history that was given up", () =>
    Effect.gen(function* () {
      const { directory, ends, host, ids } = yield* history(2, 1, 2)
      yield* restore(directory, toArchive, ids[0])
      const second = yield* running({ directory, host })
      // As many records as before, but others.
      yield* busy(second.engine, users, 77)
      yield* busy(second.engine, users, 78)
      const now = yield* seen(second.engine, users)
      yield* second.close()
      const refusal = yield* Effect.flip(plan(directory, last, ids[1]))
      expect(refusal).toMatchObject({
        kind: "refused",
        detail: expect.stringContaining(`does not continue after archive ${ids[1]}`),
      })
      // To its own last record it needs nothing of the journal; one more is of another history.
      const sequence = Number(ids[1]!.slice(ids[1]!.lastIndexOf("-") + 1))
      const own = yield* plan(directory, { kind: "sequence", sequence }, ids[1])
      expect([own.archive?.id, own.sequence]).toEqual([ids[1], sequence])
      const further = { kind: "sequence", sequence: sequence + 1 } as const
      expect(yield* Effect.flip(plan(directory, further, ids[1]))).toMatchObject({
        kind: "refused",
      })
      const restored = yield* restore(directory, last)
      expect(restored.archive?.id).toBe(ids[0])
      expect((yield* openSeen(directory, host)).seen).toEqual(now)
      // By its name it can still be had: the whole of it.
      const back = yield* restore(directory, toArchive, ids[1])
      expect(back.unknown).toContain("does not continue after this archive")
      expect((yield* openSeen(directory, host)).seen).toEqual(ends[1]!.seen)
    }),
  )

  it.live("tells whose erasure and which revocation it takes back", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: false })
      const { archives, close, engine } = yield* running({ directory, host })
      yield* found(engine)
      yield* busy(engine, users)
      const { id } = yield* archives.create({ reason: "request" })
      yield* engine.askUser(sandbox, { userId: "u3", command: { kind: "erasure" } })
      yield* engine.askDirectory({ kind: "revokeKey", by: "operator", keyId: "key_1" })
      const some = Array.from({ length: limits.restoreListedMax }, (_, n) => `gone-${n}`)
      yield* engine.askUsers(
        sandbox,
        some.map((userId) => event(userId, "TAP")),
      )
      yield* engine.askUsers(
        sandbox,
        some.map((userId) => ({ userId, command: { kind: "erasure" } })),
      )
      yield* close()
      const { lost } = yield* plan(directory, toArchive, id)
      expect(lost).toMatchObject({
        erasureCount: 1 + limits.restoreListedMax,
        revokedKeys: ["key_1"],
        revokedKeyCount: 1,
      })
      // All are counted, and not more than so many are named.
      expect(lost?.erasures[0]).toEqual({ environment: sandbox, userId: "u3" })
      expect(lost?.erasures).toHaveLength(limits.restoreListedMax)
    }),
  )

  it.live("goes no further than the journal is whole, and says how far that is", () =>
    Effect.gen(function* () {
      const { committed, directory } = yield* history(3, 1)
      const end = committed.at(-1)!.sequence
      const folder = path.join(directory, "journal")
      const names = yield* Effect.promise(() => readdir(folder))
      const newest = names
        .filter((name) => name.endsWith(".segment"))
        .toSorted()
        .at(-1)!
      // In the middle of the last batch: `clean` says that it was whole.
      yield* Effect.promise(() => damageEnd(path.join(folder, newest)))
      const refusal = yield* Effect.flip(plan(directory, last))
      expect(refusal).toMatchObject({ kind: "refused" })
      expect(refusal.message).toContain("The journal is damaged at byte")
      const kept = Number(/--to-sequence (\d+)/.exec(refusal.message)?.[1])
      expect(kept).toBeLessThan(end)
      expect((yield* plan(directory, toSequence(kept))).sequence).toBe(kept)
      const further = yield* Effect.flip(plan(directory, toSequence(kept + 1)))
      expect(further.message).toContain("damaged")
    }),
  )

  it.live("does not take an archive that has changed, and leaves everything as it was", () =>
    Effect.gen(function* () {
      const { directory, ends, host, ids } = yield* history(1, 1)
      const data = path.join(directory, "archive", ids[0]!, "live", "data.mdb")
      yield* Effect.promise(() => truncate(data, 8_192))
      const error = yield* Effect.flip(restore(directory, toArchive, ids[0]))
      expect(String(error)).toContain(
        "The file live/data.mdb of the archive has changed: choose another archive",
      )
      const names = yield* Effect.promise(() => readdir(directory))
      expect(names.filter((name) => /restore|replaced/.test(name))).toEqual([])
      expect((yield* openSeen(directory, host)).seen).toEqual(ends[0]!.seen)
    }),
  )

  it.live("that dies at any step changes nothing, and leaves nothing after the next start", () =>
    Effect.gen(function* () {
      const { directory, ends, host, ids } = yield* history(2, 1)
      const folder = path.join(directory, "archive", ids[0]!)
      const wish = { directory, archive: folder, until: ends[0]!.sequence, project: null }
      for (const step of ["begun", "copied", "journal", "verified"] as const) {
        const asked = (at: Step) =>
          Effect.promise(async () => {
            if (at === step) process.kill(await workerOf(process.pid), "SIGKILL")
          })
        const result = yield* Effect.result(host.run("restore", wish, { asked }))
        expect(result).toMatchObject(Result.fail({ kind: "died" }))
        // A folder of the next try's name, with something else in it, is no obstacle.
        yield* Effect.promise(() =>
          mkdir(path.join(directory, "restore.draft", "more"), { recursive: true }),
        )
      }
      yield* settleSwap(nodeDisk, directory)
      const names = yield* Effect.promise(() => readdir(directory))
      expect(names.filter((name) => /restore|replaced/.test(name))).toEqual([])
      expect((yield* openSeen(directory, host)).seen).toEqual(ends[1]!.seen)
    }),
  )
})

/** Flips a bit near the end of what is written in a segment. */
const damageEnd = async (file: string): Promise<void> => {
  const bytes = await readFile(file)
  let end = bytes.length
  while (bytes[end - 1] === 0) end--
  bytes[end - 3]! ^= 1
  await writeFile(file, bytes)
}
