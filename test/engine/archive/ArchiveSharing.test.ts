/** Archives that share the journal, in segments so small that there are several. */
import { cp, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { Step } from "../../../src/engine/archive/jobs/Jobs.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { planRestore, type RestoreTarget } from "../../../src/engine/archive/restore/RestorePlan.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { decodeRecord } from "../../../src/engine/records/Codec.ts"
import { listArchives, removeArchive } from "../../../src/storage/archive/ArchiveCatalog.ts"
import type { Manifest } from "../../../src/storage/archive/ArchiveManifest.ts"
import { installDraft } from "../../../src/storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { batchRecords } from "../../../src/storage/Frames.ts"
import { openJournal } from "../../../src/storage/journal/Journal.ts"
import { scanJournal } from "../../../src/storage/journal/JournalScan.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { reward, sandbox } from "../fixture.ts"
import { busy, found, type Running, running, seen } from "./fixture.ts"
import { workerOf } from "./processes.ts"

const users = 6
const segmentBytes = 16_000
const shop = { id: "prj_1", name: "shop" }
const options = process.env.NODE_OPTIONS

// The processes of jobs load it.
beforeAll(() => {
  const module = fileURLToPath(new URL("noLinks.ts", import.meta.url))
  process.env.NODE_OPTIONS = `${options ?? ""} --import ${module}`
})
afterAll(() => {
  if (options === undefined) delete process.env.NODE_OPTIONS
  else process.env.NODE_OPTIONS = options
})

/** A data directory, and how a server runs on it. */
const place = Effect.fnUntraced(function* (onStep?: (step: Step) => Effect.Effect<void>) {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const server = <A, E>(use: (running: Running) => Effect.Effect<A, E>) =>
    Effect.acquireUseRelease(
      running({ directory, host, segmentBytes, ...(onStep !== undefined && { onStep }) }),
      use,
      ({ close }) => close(),
    )
  yield* server(({ engine }) => found(engine))
  return {
    directory,
    host,
    server,
    /** Records of each user, enough for a segment, all in the snapshot: the server's end takes one. */
    round: (n: number) =>
      server(({ engine }) =>
        Effect.andThen(busy(engine, users, 2 * n), busy(engine, users, 2 * n + 1)),
      ),
    /** Records of which the snapshot has nothing yet. */
    killed: (n: number) =>
      Effect.gen(function* () {
        const { close, engine } = yield* running({ directory, host, segmentBytes })
        yield* busy(engine, users, -n)
        yield* close("kill")
      }),
    erase: (userId: string) =>
      server(({ engine }) => engine.askUser(sandbox, { userId, command: { kind: "erasure" } })),
    archive: server(({ archives }) => archives.create({ reason: "request" })),
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

/** The segments that change no more. */
const closedIn = ({ files }: Manifest) => files.filter((file) => file.modifiedMs !== undefined)

const inodeOf = (file: string) => Effect.promise(async () => (await stat(file)).ino)

const historiesOf = (engine: Engine["Service"]) =>
  Effect.forEach(
    Array.from({ length: users }, (_, n) => `u${n}`),
    (user) =>
      Effect.map(Stream.runCollect(engine.readHistory(sandbox, user)), (chunks) =>
        chunks.flat().map(({ sequence }) => sequence),
      ),
  )

const good = { faults: [], faultCount: 0 }

/** Seals the full segments of a journal, and erases the lives of users that ended; returns how many records. */
const eraseFromSegments = (folder: string, userIds: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const ended = new Map<string, Array<number>>()
      const sequences: Array<number> = []
      yield* scanJournal({ disk: nodeDisk, folder }, (batches) =>
        Effect.sync(() => {
          for (const batch of batches) {
            for (const { body, sequence } of batchRecords(batch, 1)!) {
              const { cause, subject } = decodeRecord(body)
              if (subject.actor !== "user" || !userIds.includes(subject.userId)) continue
              const life = [...(ended.get(subject.userId) ?? []), sequence]
              ended.set(subject.userId, cause.kind === "erasure" ? [] : life)
              if (cause.kind === "erasure") sequences.push(...life)
            }
          }
        }),
      )
      sequences.sort((one, other) => one - other)
      const { sealer } = yield* openJournal({
        ...{ disk: nodeDisk, folder, segmentBytes, freeSpaceBytesMin: 0 },
      })
      yield* Effect.repeat(sealer.sealNext, { while: (isMore) => isMore })
      for (let at = 0; at < sequences.length; ) {
        const erased = yield* sealer.erase(sequences.slice(at))
        expect(erased).toBeDefined()
        while (at < sequences.length && sequences[at]! <= erased!.lastSequence) at++
      }
      return sequences.length
    }),
  )

describe("An archive after another one", () => {
  it.live("shares its segments, and is what one made alone would be", () =>
    Effect.gen(function* () {
      const { all, archive, checked, folderOf, restore, round } = yield* place()
      const made: Array<Manifest> = []
      for (let n = 0; n < 4; n++) {
        yield* round(n)
        if (n % 2 === 1) made.push(yield* archive)
      }
      const before = yield* all
      const [older, newer] = made as [Manifest, Manifest]
      for (const manifest of made) {
        const { counts, sums, ...findings } = yield* checked(folderOf(manifest))
        expect(findings).toEqual(good)
        expect({ counts, sums }).toEqual({ counts: manifest.counts, sums: manifest.sums })
        expect(manifest.segments).toEqual({ linked: closedIn(manifest).length, copied: 0 })
      }
      expect(closedIn(older).length).toBeGreaterThan(0)
      expect(closedIn(newer).length).toBeGreaterThan(closedIn(older).length)
      for (const file of closedIn(older)) {
        // A plain segment may have been sealed meanwhile.
        const sealed = file.path.replace(".segment", ".sealed")
        if (sealed !== file.path && newer.files.some(({ path }) => path === sealed)) continue
        expect(newer.files).toContainEqual(file)
        const own = yield* inodeOf(path.join(folderOf(newer), file.path))
        expect(yield* inodeOf(path.join(folderOf(older), file.path))).toBe(own)
      }
      yield* restore(newer)
      expect(yield* all).toEqual(before)
    }),
  )

  it.live("has no state of a user who was erased in between, and is whole", () =>
    Effect.gen(function* () {
      const { archive, checked, erase, folderOf, host, round } = yield* place()
      for (let n = 0; n < 2; n++) yield* round(n)
      const before = yield* archive
      yield* erase("u1")
      const after = yield* archive
      expect(after.counts.users).toBe(before.counts.users! - 1)
      expect(yield* checked(folderOf(after))).toMatchObject({ ...good, counts: after.counts })
      const copy = yield* temporaryFolder
      yield* Effect.promise(() => cp(folderOf(after), copy, { recursive: true }))
      const { close, engine } = yield* running({ directory: copy, host })
      expect(yield* engine.readUser(sandbox, "u1")).toBeUndefined()
      yield* close()
    }),
  )

  it.live("is whole where erased users' records, and their erasures, have left the journal", () =>
    Effect.gen(function* () {
      const { archive, checked, directory, erase, folderOf, host, server } = yield* place()
      const some = (count: number, round: number) =>
        server(({ engine }) => busy(engine, count, round))
      for (let n = 0; n < 3; n++) yield* some(users, n)
      const before = yield* archive
      yield* erase("u1")
      yield* erase("u5")
      // `u1` is created again, and `u5` is not.
      for (let n = 3; n < 8; n++) yield* some(users - 1, n)
      const gone = yield* eraseFromSegments(path.join(directory, "journal"), ["u1", "u5"])
      expect(gone).toBeGreaterThan(10)
      const wish = { directory, archives: path.dirname(folderOf(before)), at: Date.now() }
      const after = yield* host.run("archive", { ...wish, reason: "request", throttled: false })
      expect(after.counts.users).toBe(users - 1)
      for (const manifest of [before, after]) {
        const { counts, ...findings } = yield* checked(folderOf(manifest))
        expect(findings).toMatchObject(good)
        expect(counts).toEqual(manifest.counts)
      }
    }),
  )

  it.live("leads to no user whose erasure has left the journal since", () =>
    Effect.gen(function* () {
      const { archive, checked, directory, erase, folderOf, host, round, server } = yield* place()
      for (let n = 0; n < 2; n++) yield* round(n)
      const before = yield* archive
      yield* erase("u1")
      // `u1` stays away.
      const expected = yield* server(({ engine }) =>
        Effect.gen(function* () {
          for (let n = 4; n < 60; n++) yield* busy(engine, 1, n)
          return yield* seen(engine, users)
        }),
      )
      expect(expected.states[1]).toBeUndefined()
      const journal = path.join(directory, "journal")
      expect(yield* eraseFromSegments(journal, ["u1"])).toBeGreaterThan(10)
      const archives = yield* listArchives(nodeDisk, path.join(directory, "archive"))
      const options = { disk: nodeDisk, journal, archives, id: before.id }
      const restored = Effect.fnUntraced(function* (
        target: RestoreTarget,
        project?: { readonly id: string; readonly name: string },
      ) {
        const own = project === undefined ? {} : { project }
        const plan = yield* planRestore({ ...options, target, ...own })
        const goesBack = plan.project === undefined ? null : { ...shop, after: plan.project.after }
        const { folder: from, sequence: until } = plan
        yield* host.run("restore", { directory, archive: from, until, project: goesBack })
        const copy = yield* temporaryFolder
        yield* Effect.promise(() =>
          cp(path.join(directory, "restore.draft"), copy, { recursive: true }),
        )
        const { close, engine } = yield* running({ directory: copy, host, segmentBytes })
        const found = yield* seen(engine, users)
        yield* close()
        return { plan, found }
      })
      const last = yield* restored({ kind: "last" })
      expect(last.found).toEqual(expected)
      // The erasure is the second record after the archive, or thereabouts.
      const soon = yield* restored({ kind: "sequence", sequence: before.sequence + 6 })
      expect(soon.plan.sequence).toBe(before.sequence + 6)
      expect(soon.found.states[1]).toBeUndefined()
      const back = yield* restored({ kind: "archive" }, shop)
      expect(back.plan.lost?.count).toBeGreaterThan(0)
      expect(back.found.states[1]).toBeUndefined()
      expect(back.found.states[2]).toEqual(expected.states[2])
      expect(yield* checked(folderOf(before))).toMatchObject(good)
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
      for (let n = 0; n < 2; n++) yield* round(n)
      const older = yield* archive
      remove = Effect.orDie(removeArchive(nodeDisk, path.join(directory, "archive"), older.id))
      const newer = yield* archive
      expect(closedIn(newer).length).toBeGreaterThan(0)
      expect(yield* checked(folderOf(newer))).toMatchObject({ ...good, counts: newer.counts })
    }),
  )

  it.live("is not made of a segment that was damaged, and the check of the others finds it", () =>
    Effect.gen(function* () {
      const { archive, checked, directory, folderOf, host, round } = yield* place()
      for (let n = 0; n < 2; n++) yield* round(n)
      // An archive of a segment that the directory still has: it may be sealed after the archive.
      let older = yield* archive
      const shared = Effect.promise(async () => {
        const names = new Set(await readdir(path.join(directory, "journal")))
        return closedIn(older).find((file) => names.has(path.basename(file.path)))
      })
      let file = yield* shared
      while (file === undefined) {
        older = yield* archive
        file = yield* shared
      }
      const where = path.join(folderOf(older), file.path)
      const before = yield* Effect.promise(() => readdir(path.join(directory, "archive")))
      yield* Effect.promise(async () => {
        const bytes = await readFile(where)
        bytes[bytes.length >> 1]! ^= 1
        await writeFile(where, bytes)
        await utimes(where, 1, 1)
      })
      expect((yield* checked(folderOf(older))).faults).toEqual([
        `The file ${file.path} has changed`,
      ])
      // A server does not start on it.
      const wish = { directory, archives: path.dirname(folderOf(older)), at: Date.now() }
      const failed = yield* Effect.flip(
        host.run("archive", { ...wish, reason: "request", throttled: false }),
      )
      expect(failed).toMatchObject({ kind: "damaged" })
      const names = yield* Effect.promise(() => readdir(path.join(directory, "archive")))
      expect(names).toEqual(before)
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
      for (const step of ["journal", "described"] as const) {
        dieAt = step
        const failed = yield* Effect.flip(archive)
        expect(failed).toMatchObject({ kind: "died" })
      }
      dieAt = undefined
      const newer = yield* archive
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
      const { archive, checked, folderOf, restore, round } = yield* Effect.ensuring(
        place(),
        Effect.sync(() => delete process.env.LAUREL_TEST_NO_LINKS),
      )
      for (let n = 0; n < 2; n++) yield* round(n)
      const older = yield* archive
      const newer = yield* archive
      // A segment may be sealed between the two archives, and has another name then.
      const inodes = (manifest: Manifest) =>
        Effect.forEach(closedIn(manifest), (file) =>
          inodeOf(path.join(folderOf(manifest), file.path)),
        )
      expect(closedIn(newer).length).toBeGreaterThan(0)
      expect(newer.segments).toEqual({ linked: 0, copied: closedIn(newer).length })
      const before = yield* inodes(older)
      expect(before.length).toBeGreaterThan(0)
      for (const own of yield* inodes(newer)) expect(before).not.toContain(own)
      expect(yield* checked(folderOf(newer))).toMatchObject(good)
      yield* restore(older)
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

describe("A server that starts on an archive", () => {
  it.live("has all of it, and changes no file of the data and of other archives", () =>
    Effect.gen(function* () {
      const { all, archive, checked, folderOf, host, round } = yield* place()
      for (let n = 0; n < 2; n++) yield* round(n)
      const state = yield* all
      const one = yield* archive
      const other = yield* archive
      const { close, engine } = yield* running({ directory: folderOf(one), host, segmentBytes })
      expect(yield* Effect.all([historiesOf(engine), seen(engine, users)])).toEqual(state)
      yield* engine.askUser(sandbox, reward("u1", 1))
      yield* close()
      expect(yield* checked(folderOf(other))).toMatchObject({ ...good, counts: other.counts })
      expect(yield* all).toEqual(state)
    }),
  )
})
