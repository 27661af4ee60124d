import { cp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Result } from "effect"
import { ArchiveMetrics } from "../../../src/engine/archive/ArchiveMetrics.ts"
import { verifyArchive } from "../../../src/engine/archive/check/Verification.ts"
import type { Step } from "../../../src/engine/archive/jobs/Jobs.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { listArchives } from "../../../src/storage/archive/ArchiveCatalog.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { reward, sandbox } from "../fixture.ts"
import { alone, busy, found, running, seen } from "./fixture.ts"
import { workerOf } from "./processes.ts"

const steps: ReadonlyArray<Step> = [
  "begun",
  "copied",
  "position",
  "journal",
  "verified",
  "described",
  "published",
]

const users = 20

const idsIn = (folder: string) =>
  Effect.map(listArchives(nodeDisk, folder), (archives) => archives.map(({ id }) => id))

describe("An archive", () => {
  it.live("is made while the server writes, and is the state of exactly its last record", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: false })
      // Periodic snapshots all the time, in many slices: the copy falls between any two.
      const engine = { snapshotIntervalMs: 10, snapshotSliceEntriesMax: 40 }
      const first = yield* running({ directory, host, engine })
      yield* found(first.engine)
      const writing = yield* Effect.forkChild(
        Effect.gen(function* () {
          for (let round = 0; ; round++) {
            yield* busy(first.engine, users, round)
            yield* Effect.sleep(20)
          }
        }),
      )
      const manifests = []
      for (let n = 0; n < 3; n++)
        manifests.push(yield* first.archives.create({ reason: "request" }))
      yield* Fiber.interrupt(writing)
      yield* first.close()

      for (const manifest of manifests) {
        const archive = path.join(first.folder, manifest.id)
        const findings = yield* verifyArchive({ folder: archive }, alone)
        expect(findings).toMatchObject({ faults: [], counts: manifest.counts })
        const sums = yield* stateAt(first.committed, manifest.sequence)
        expect(manifest.counts.users).toBe(sums.users)
        expect(manifest.sums.xp).toBe(String(sums.xp))
        // It is a data directory as it lies there.
        const copy = yield* temporaryFolder
        yield* Effect.promise(() => cp(archive, copy, { recursive: true }))
        const second = yield* running({ directory: copy, host })
        expect(second.archives.position()).toMatchObject({ lastSequence: manifest.sequence })
        const { states } = yield* seen(second.engine, users)
        expect(states.filter((state) => state !== undefined).length).toBe(sums.users)
        expect(states.reduce((sum, state) => sum + (state?.xp ?? 0), 0)).toBe(sums.xp)
        yield* second.engine.askUser(sandbox, reward("u1", 1))
        yield* second.close()
      }
    }),
  )

  it.live("of a data directory without any record is one too", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: true })
      const { archives, close, folder } = yield* running({ directory, host })
      const manifest = yield* archives.create({ reason: "request" })
      expect(manifest).toMatchObject({ sequence: 0, recordedAt: null, counts: { users: 0 } })
      const findings = yield* verifyArchive({ folder: path.join(folder, manifest.id) }, alone)
      expect(findings.faults).toEqual([])
      yield* close()
    }),
  )

  it.live("that dies at any step leaves no trace, and the next one is made", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: false })
      let dieAt: Step | undefined
      const onStep = (step: Step) =>
        Effect.promise(async () => {
          if (step === dieAt) process.kill(await workerOf(process.pid), "SIGKILL")
        })
      const metrics = new Metrics()
      const archiveMetrics = new ArchiveMetrics(metrics, undefined, Date.now)
      const first = yield* running({ directory, host, onStep, metrics: archiveMetrics })
      yield* found(first.engine)
      yield* busy(first.engine, users)
      const before = yield* seen(first.engine, users)
      for (const step of steps) {
        dieAt = step
        const result = yield* Effect.result(first.archives.create({ reason: "request" }))
        expect(result).toMatchObject(
          Result.fail({ kind: "died", detail: expect.stringContaining("SIGKILL") }),
        )
        expect(yield* idsIn(first.folder)).toHaveLength(step === "published" ? 1 : 0)
      }
      dieAt = undefined
      expect(metrics.text()).toContain(`laurel_archives_total{outcome="failed"} ${steps.length}\n`)
      expect(metrics.text()).toContain("laurel_archive_age_seconds 0\n")
      yield* first.archives.create({ reason: "request" })
      expect(metrics.text()).toContain('laurel_archives_total{outcome="made"} 1\n')
      expect(metrics.text()).not.toContain("laurel_archive_age_seconds 0\n")
      const names = yield* Effect.promise(() => readdir(first.folder))
      expect(names.toSorted()).toEqual(yield* idsIn(first.folder))
      expect(yield* seen(first.engine, users)).toEqual(before)
      yield* first.close()
    }),
  )

  it.live("ends with the server that asked for it", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      for (const step of ["copied", "described"] as const) {
        const pid = yield* Effect.scoped(
          Effect.gen(function* () {
            const host = yield* makeWorkerHost({ background: false })
            let reached!: (pid: number) => void
            const at = new Promise<number>((resolve) => {
              reached = resolve
            })
            const { archives, close } = yield* running({
              directory,
              host,
              onStep: (asked) =>
                asked === step
                  ? Effect.andThen(
                      Effect.promise(async () => reached(await workerOf(process.pid))),
                      Effect.never,
                    )
                  : Effect.void,
            })
            const making = yield* Effect.forkChild(archives.create({ reason: "request" }))
            const worker = yield* Effect.promise(() => at)
            yield* Fiber.interrupt(making)
            yield* close()
            return worker
          }),
        )
        yield* Effect.promise(() => gone(pid))
      }
      const host = yield* makeWorkerHost({ background: false })
      const { archives, close, folder } = yield* running({ directory, host })
      yield* archives.create({ reason: "request" })
      const names = yield* Effect.promise(() => readdir(folder))
      expect(names.filter((name) => !name.includes("Z-0") || name.endsWith(".draft"))).toEqual([])
      yield* close()
    }),
  )

  it.live("is not made of a snapshot with a flipped bit, and the older ones stay", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: false })
      const first = yield* running({ directory, host })
      yield* found(first.engine)
      yield* busy(first.engine, users)
      const good = yield* first.archives.create({ reason: "request" })
      yield* first.close()
      yield* Effect.promise(() => flipIn(path.join(directory, "live", "data.mdb"), "u7"))
      const second = yield* Effect.exit(
        host.run("archive", {
          directory,
          archives: first.folder,
          at: Date.now(),
          reason: "request",
          throttled: false,
        }),
      )
      expect(String(second)).toMatch(/The value \S+ of table \w+ is damaged/)
      expect(yield* idsIn(first.folder)).toEqual([good.id])
      expect(yield* Effect.promise(() => readdir(first.folder))).toEqual([good.id])
    }),
  )
})

describe("The check of an archive", () => {
  for (const seed of seeds(1)) {
    it.live(`notices every damage to its files, and survives it (seed ${seed})`, () =>
      Effect.gen(function* () {
        const random = new Random(seed)
        const directory = yield* temporaryFolder
        const host = yield* makeWorkerHost({ background: false })
        const { archives, close, engine, folder } = yield* running({ directory, host })
        yield* found(engine)
        yield* busy(engine, users)
        yield* engine.drain
        const { files, id } = yield* archives.create({ reason: "request" })
        yield* close()
        const damages = ["flip", "truncate", "zero", "remove", "add"] as const
        for (const damage of damages) {
          const copy = yield* temporaryFolder
          yield* Effect.promise(() => cp(path.join(folder, id), copy, { recursive: true }))
          const file = path.join(copy, random.pick(files).path)
          yield* Effect.promise(() => hurt(file, damage, random))
          const { faultCount, faults } = yield* verifyArchive({ folder: copy }, alone)
          expect(faultCount).toBeGreaterThan(0)
          expect(faults[0]).toMatch(/^The file \S+ (has changed|is missing|does not belong)/)
        }
      }),
    )
  }

  it.live("is of no use against a manifest that is not its own", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: false })
      const { archives, close, engine, folder } = yield* running({ directory, host })
      yield* found(engine)
      const one = yield* archives.create({ reason: "request" })
      yield* busy(engine, users)
      const other = yield* archives.create({ reason: "request" })
      yield* close()
      const at = (id: string) => path.join(folder, id, "manifest.json")
      yield* Effect.promise(async () => cp(at(one.id), at(other.id), { force: true }))
      const { faultCount } = yield* host.run("verifyArchive", {
        folder: path.join(folder, other.id),
      })
      expect(faultCount).toBeGreaterThan(0)
      yield* Effect.promise(() => cp("/dev/null", at(one.id), { force: true }).catch(() => {}))
    }),
  )
})

/** What the records up to `sequence` add up to. */
const stateAt = (
  committed: Parameters<typeof totals>[0],
  sequence: number,
): Effect.Effect<{ users: number; xp: number }> => Effect.sync(() => totals(committed, sequence))

const totals = (
  committed: Effect.Success<ReturnType<typeof running>>["committed"],
  sequence: number,
) => {
  const xp = new Map<string, number>()
  for (const record of committed) {
    if (record.sequence > sequence || record.subject.actor !== "user") continue
    for (const fact of record.facts) {
      if (fact.kind === "event.tracked" || fact.kind === "reward.granted") {
        xp.set(record.subject.userId, fact.xp)
      }
    }
  }
  return { users: xp.size, xp: [...xp.values()].reduce((sum, each) => sum + each, 0) }
}

const gone = async (pid: number): Promise<void> => {
  for (;;) {
    try {
      await stat(`/proc/${pid}`)
    } catch {
      return
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const flipIn = async (file: string, text: string): Promise<void> => {
  const bytes = await readFile(file)
  const at = bytes.indexOf(text)
  expect(at).toBeGreaterThan(0)
  for (let next = at; next >= 0; next = bytes.indexOf(text, next + 1)) bytes[next + 1]! ^= 1
  await writeFile(file, bytes)
}

const hurt = async (
  file: string,
  damage: "flip" | "truncate" | "zero" | "remove" | "add",
  random: Random,
): Promise<void> => {
  const bytes = await readFile(file)
  const at = random.integer(0, bytes.length - 1)
  if (damage === "flip") bytes[at]! ^= 1 << random.integer(0, 7)
  if (damage === "zero")
    bytes.fill(0xff, at, at + 1).fill(0, at + 1, Math.min(bytes.length, at + 4_096))
  if (damage === "flip" || damage === "zero") await writeFile(file, bytes)
  else if (damage === "truncate") await truncate(file, at)
  else if (damage === "remove") await rm(file)
  else await writeFile(`${file}.more`, "more")
}
