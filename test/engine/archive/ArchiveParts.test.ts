/** Archives that share history, over partitions so small that most records stand in parts. */
import {
  appendFile,
  cp,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { erasedSince, openBase } from "../../../src/engine/archive/ArchiveBase.ts"
import type { Step } from "../../../src/engine/archive/Jobs.ts"
import { isDueAt } from "../../../src/engine/archive/PartWriter.ts"
import { watermarkOf } from "../../../src/engine/archive/SavedState.ts"
import { copyTables } from "../../../src/engine/archive/TableCopy.ts"
import { makeWorkerHost } from "../../../src/engine/archive/WorkerHost.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { placeOfPage } from "../../../src/engine/records/SnapshotValues.ts"
import { limits } from "../../../src/Limits.ts"
import { removeArchive } from "../../../src/storage/archive/ArchiveCatalog.ts"
import { readParts } from "../../../src/storage/archive/ArchiveContents.ts"
import type { Manifest } from "../../../src/storage/archive/ArchiveManifest.ts"
import { installDraft } from "../../../src/storage/archive/ArchiveSwap.ts"
import { openArchiveTables } from "../../../src/storage/archive/ArchiveTables.ts"
import { partPath } from "../../../src/storage/archive/PartFile.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { rangeOf } from "../../../src/storage/Keys.ts"
import { openReader } from "../../../src/storage/lmdb/LmdbReader.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { sandbox } from "../fixture.ts"
import { busy, found, type Running, running, seen } from "./fixture.ts"
import { workerOf } from "./processes.ts"

const users = 6
const real = { ...limits }
const options = process.env.NODE_OPTIONS

// Modules are shared with other files of tests, and the processes of jobs have their own.
beforeAll(async () => {
  const module = fileURLToPath(new URL("smallParts.ts", import.meta.url))
  process.env.NODE_OPTIONS = `${options ?? ""} --import ${module}`
  await import("./smallParts.ts")
  Object.assign(limits, { historyPartitionRecords: 20, archivePartBytes: 1_000 })
})
afterAll(() => {
  Object.assign(limits, real)
  if (options === undefined) delete process.env.NODE_OPTIONS
  else process.env.NODE_OPTIONS = options
})

/** A data directory, and how a server runs on it. */
const place = Effect.fnUntraced(function* (onStep?: (step: Step) => Effect.Effect<void>) {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const server = <A, E>(use: (running: Running) => Effect.Effect<A, E>) =>
    Effect.acquireUseRelease(
      running({ directory, host, ...(onStep !== undefined && { onStep }) }),
      use,
      ({ close }) => close(),
    )
  yield* server(({ engine }) => found(engine))
  return {
    directory,
    host,
    server,
    /** Records of each user, enough for a partition, all in the snapshot: the server's end takes one. */
    round: (n: number) =>
      server(({ engine }) =>
        Effect.andThen(busy(engine, users, 2 * n), busy(engine, users, 2 * n + 1)),
      ),
    /** Records of which the snapshot has nothing yet. */
    killed: (n: number) =>
      Effect.gen(function* () {
        const { close, engine } = yield* running({ directory, host })
        yield* busy(engine, users, -n)
        yield* close("kill")
      }),
    erase: (userId: string) =>
      server(({ engine }) => engine.askUser(sandbox, { userId, command: { kind: "erasure" } })),
    archive: server(({ archives }) => archives.create({ reason: "request" })),
    archiveAt: (at: number) =>
      host.run("archive", {
        ...{ directory, at, archives: path.join(directory, "archive") },
        ...{ reason: "request", throttled: false },
      }),
    checked: (folder: string) => host.run("verifyArchive", { folder }),
    folderOf: ({ id }: Pick<Manifest, "id">) => path.join(directory, "archive", id),
    /** What readers see. */
    all: server(({ engine }) => Effect.all([historiesOf(engine), seen(engine, users)])),
    /** An archive takes the place of the data. */
    restore: Effect.fnUntraced(function* ({ id, sequence }: Manifest) {
      const archive = path.join(directory, "archive", id)
      yield* host.run("restore", { directory, archive, until: sequence, project: null })
      yield* installDraft(nodeDisk, directory, Date.now())
    }),
  }
})

const partsOf = (where: string) => Effect.map(readParts(where), (parts) => parts!)

const inodeOf = (file: string) => Effect.promise(async () => (await stat(file)).ino)

/** The users of whom an archive has pages, parts or not. */
const usersIn = (where: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const tables = yield* openArchiveTables(where, yield* partsOf(where))
      const pages = tables.entries({ table: "history", ...rangeOf(new Uint8Array()) })
      return new Set(Array.from(pages, ([key]) => placeOfPage(key)!.userId))
    }),
  )

const historiesOf = (engine: Engine["Service"]) =>
  Effect.forEach(
    Array.from({ length: users }, (_, n) => `u${n}`),
    (user) =>
      Effect.map(Stream.runCollect(engine.readHistory(sandbox, user)), (chunks) =>
        chunks.flat().map(({ sequence }) => sequence),
      ),
  )

const good = { faults: [], faultCount: 0 }

describe("An archive after another one", () => {
  it.live("shares its parts, and is what one made alone would be", () =>
    Effect.gen(function* () {
      const { all, archive, checked, folderOf, restore, round } = yield* place()
      const made: Array<Manifest> = []
      for (let n = 0; n < 2; n++) {
        yield* round(n)
        made.push(yield* archive)
      }
      const before = yield* all
      expect(made[0]!.parts).toMatchObject({ linked: 0, copied: 0 })
      for (const [n, manifest] of made.entries()) {
        const { counts, sums, ...findings } = yield* checked(folderOf(manifest))
        expect(findings).toEqual(good)
        expect({ counts, sums }).toEqual({ counts: manifest.counts, sums: manifest.sums })
        if (n === 0) continue
        const older = folderOf(made[n - 1]!)
        const shared = yield* partsOf(older)
        expect(manifest.parts).toMatchObject({ linked: shared.length, copied: 0 })
        expect(manifest.parts!.files).toBeGreaterThan(shared.length)
        for (const part of shared) {
          const own = yield* inodeOf(partPath(folderOf(manifest), part))
          expect(yield* inodeOf(partPath(older, part))).toBe(own)
        }
      }
      yield* restore(made.at(-1)!)
      expect(yield* all).toEqual(before)
    }),
  )

  it.live("has nothing of a user who was erased in between, in parts either", () =>
    Effect.gen(function* () {
      const { archive, checked, erase, folderOf, round } = yield* place()
      for (let n = 0; n < 4; n++) yield* round(n)
      const before = yield* archive
      yield* erase("u1")
      const after = yield* archive
      expect((yield* usersIn(folderOf(before))).has("u1")).toBe(true)
      const others = ["u0", "u2", "u3", "u4", "u5"]
      expect([...(yield* usersIn(folderOf(after)))].toSorted()).toEqual(others)
      // Parts without the user are the same files.
      expect(after.parts!.linked).toBeGreaterThan(0)
      expect(after.parts!.linked).toBeLessThan(before.parts!.files)
      expect(yield* checked(folderOf(after))).toMatchObject({ ...good, counts: after.counts })
    }),
  )

  it.live("reads of old history only what may be an erased user's", () =>
    Effect.gen(function* () {
      const { archive, directory, erase, round } = yield* place()
      for (let n = 0; n < 4; n++) yield* round(n)
      yield* archive
      yield* erase("u1")
      const journal = path.join(directory, "journal")
      const copied = Effect.fnUntraced(function* (isKnown: boolean) {
        const base = (yield* openBase(path.join(directory, "archive"), journal, () => {}))!
        const erased = yield* erasedSince(base, journal)
        expect(erased).toMatchObject([{ userId: "u1" }])
        const live = yield* openReader(path.join(directory, "live"))
        let read = 0
        const reader: Parameters<typeof copyTables>[0] = {
          get: (table, key) => live.get(table, key),
          count: (table) => live.count(table),
          sums: () => live.sums(),
          *entries(range) {
            for (const entry of live.entries(range)) {
              if (range.table === "history") read++
              yield entry
            }
          },
        }
        const watermark = yield* watermarkOf(live)
        const draft = yield* temporaryFolder
        const rest = () => Effect.void
        const { parts } = yield* copyTables(reader, 0, {
          ...{ at: 0, base, draft, rest, watermark, progress: () => {} },
          erased: isKnown ? erased : [],
        })
        return { read, parts: parts.map(({ modifiedMs, ...part }) => part) }
      })
      const known = yield* Effect.scoped(copied(true))
      const unknown = yield* Effect.scoped(copied(false))
      expect(known.parts).toEqual(unknown.parts)
      expect(known.read).toBeLessThan(unknown.read)
    }),
  )

  it.live("does not need it: two share a file, and one goes", () =>
    Effect.gen(function* () {
      const { all, archive, directory, restore, round } = yield* place()
      yield* round(0)
      const older = yield* archive
      const state = yield* all
      const newer = yield* archive
      yield* removeArchive(nodeDisk, path.join(directory, "archive"), older.id)
      yield* restore(newer)
      expect(yield* all).toEqual(state)
    }),
  )

  it.live("is made whole where that one goes while it is read", () =>
    Effect.gen(function* () {
      let remove: Effect.Effect<void> = Effect.void
      const { archive, checked, directory, folderOf, round } = yield* place((step) =>
        step === "based" ? remove : Effect.void,
      )
      yield* round(0)
      const older = yield* archive
      remove = Effect.orDie(removeArchive(nodeDisk, path.join(directory, "archive"), older.id))
      const newer = yield* archive
      expect(newer.parts).toMatchObject({ files: older.parts!.files, linked: 0 })
      expect(yield* checked(folderOf(newer))).toMatchObject({ ...good, counts: newer.counts })
    }),
  )

  it.live("does not take over a part that has changed, and the check finds it", () =>
    Effect.gen(function* () {
      const { archive, checked, folderOf, round } = yield* place()
      yield* round(0)
      const older = yield* archive
      const [part] = yield* partsOf(folderOf(older))
      const file = partPath(folderOf(older), part!)
      const { atime } = yield* Effect.promise(() => stat(file))
      // Touched only: it is read again, and shared.
      yield* Effect.promise(() => utimes(file, atime, 1))
      const touched = yield* archive
      expect(touched.parts!.linked).toBe(older.parts!.files)
      const bytes = yield* Effect.promise(() => readFile(file))
      bytes[bytes.length >> 1]! ^= 1
      yield* Effect.promise(() => writeFile(file, bytes))
      for (const manifest of [older, touched]) {
        expect((yield* checked(folderOf(manifest))).faults).toEqual([
          `The file parts/${part!.sha256}.part has changed`,
        ])
      }
      const newer = yield* archive
      expect(newer.parts.linked).toBeLessThan(older.parts!.files)
      expect(yield* checked(folderOf(newer))).toMatchObject(good)
      expect(yield* inodeOf(partPath(folderOf(newer), part!))).not.toBe(yield* inodeOf(file))
    }),
  )

  it.live("reads a part again within a week, and replaces one that was damaged unseen", () =>
    Effect.gen(function* () {
      const { archive, archiveAt, checked, folderOf, round } = yield* place()
      yield* round(0)
      const first = yield* archive
      const [part] = yield* partsOf(folderOf(first))
      const file = partPath(folderOf(first), part!)
      yield* Effect.promise(() => utimes(file, 1, 1))
      const older = yield* archive
      yield* Effect.promise(async () => {
        const bytes = await readFile(file)
        bytes[bytes.length >> 1]! ^= 1
        await writeFile(file, bytes)
        await utimes(file, 1, 1)
      })
      const hours = Array.from({ length: limits.archiveRereadHours }, (_, hour) => hour)
      const start = Date.now() + 2 * 3_600_000
      const due = hours.map((n) => start + n * 3_600_000).filter((at) => isDueAt(part!, at))
      expect(due.length).toBe(1)
      const unaware = yield* archiveAt(due[0]! - 3_600_000)
      expect(unaware.parts!.linked).toBe(older.parts!.files)
      const newer = yield* archiveAt(due[0]!)
      expect(yield* checked(folderOf(newer))).toMatchObject(good)
    }),
  )

  it.live("dies at any step without harm to either", () =>
    Effect.gen(function* () {
      let dieAt: Step | undefined
      const { all, archive, checked, directory, folderOf, round } = yield* place((step) =>
        step === dieAt
          ? Effect.promise(async () => void process.kill(await workerOf(process.pid), "SIGKILL"))
          : Effect.void,
      )
      yield* round(0)
      const older = yield* archive
      yield* round(1)
      const state = yield* all
      // What dies at other steps has made no other files (`Archives.test.ts`).
      for (const step of ["linked", "described"] as const) {
        dieAt = step
        const failed = yield* Effect.flip(archive)
        expect(failed).toMatchObject({ kind: "died" })
      }
      dieAt = undefined
      const newer = yield* archive
      expect(newer.parts.linked).toBe(older.parts!.files)
      for (const manifest of [older, newer]) {
        expect(yield* checked(folderOf(manifest))).toMatchObject(good)
      }
      const names = yield* Effect.promise(() => readdir(path.join(directory, "archive")))
      expect(names.toSorted()).toEqual([older.id, newer.id])
      expect(yield* all).toEqual(state)
    }),
  )
})

describe("Archives on a file system without hard links", () => {
  it.live("are whole copies, and say so", () =>
    Effect.gen(function* () {
      process.env.LAUREL_TEST_NO_LINKS = "1"
      const { archive, checked, folderOf, round } = yield* Effect.ensuring(
        place(),
        Effect.sync(() => delete process.env.LAUREL_TEST_NO_LINKS),
      )
      yield* round(0)
      const older = yield* archive
      const newer = yield* archive
      expect(newer.parts).toMatchObject({ ...older.parts, copied: older.parts!.files })
      const [part] = yield* partsOf(folderOf(older))
      const own = yield* inodeOf(partPath(folderOf(newer), part!))
      expect(yield* inodeOf(partPath(folderOf(older), part!))).not.toBe(own)
      expect(yield* checked(folderOf(newer))).toMatchObject(good)
    }),
  )
})

describe("Archives of a random history", () => {
  for (const seed of seeds(1)) {
    it.live(`are what archives made alone would be (seed ${seed})`, () =>
      Effect.gen(function* () {
        const random = new Random(seed)
        const { archive, checked, erase, folderOf, killed, restore, round } = yield* place()
        const made: Array<Manifest> = []
        const steps = Number(process.env.LAUREL_TEST_STEPS ?? 6)
        for (let n = 0; n < steps; n++) {
          const step = random.pick(["round", "killed", "erase", "restore", "archive"] as const)
          if (step === "erase") yield* Effect.ignore(erase(`u${random.integer(0, users - 1)}`))
          else if (step === "killed") yield* killed(n)
          else if (step === "restore" && made.length > 0) yield* restore(random.pick(made))
          else yield* round(n)
          if (step === "archive") made.push(yield* archive)
        }
        made.push(yield* archive)
        for (const { counts, id, sums } of made) {
          expect(yield* checked(folderOf({ id }))).toMatchObject({ ...good, counts, sums })
        }
      }),
    )
  }
})

describe("An archive with parts", () => {
  it.live("is a data directory for a server that starts on a copy, also after a kill", () =>
    Effect.gen(function* () {
      const { all, archive, folderOf, host, round } = yield* place()
      for (let n = 0; n < 2; n++) yield* round(n)
      const state = yield* all
      const copy = yield* temporaryFolder
      const from = folderOf(yield* archive)
      yield* Effect.promise(async () => {
        await cp(from, copy, { recursive: true })
        // What a start that was killed has left.
        await mkdir(path.join(copy, "live.draft"))
        await appendFile(path.join(copy, "live.draft", "data.mdb"), "begun")
      })
      for (let n = 0; n < 2; n++) {
        const { close, engine } = yield* running({ directory: copy, host })
        expect(yield* Effect.all([historiesOf(engine), seen(engine, users)])).toEqual(state)
        yield* close()
      }
      const names = yield* Effect.promise(() => readdir(copy))
      expect(names.filter((name) => /part|snapshot|draft/.test(name))).toEqual([])
    }),
  )

  it.live("that lacks a part or has changed is no data directory", () =>
    Effect.gen(function* () {
      const { archive, folderOf, host, round } = yield* place()
      yield* round(0)
      const from = folderOf(yield* archive)
      const [part] = yield* partsOf(from)
      for (const damage of [
        (file: string) => rm(file),
        (file: string) => appendFile(file, "more"),
      ]) {
        const copy = yield* temporaryFolder
        yield* Effect.promise(async () => {
          await cp(from, copy, { recursive: true })
          await damage(partPath(copy, part!))
        })
        const failed = yield* Effect.flip(running({ directory: copy, host }))
        expect(String(failed)).toMatch(/The file parts\/\w+\.part (is missing|has changed)/)
      }
    }),
  )
})
