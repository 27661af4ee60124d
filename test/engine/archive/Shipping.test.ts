/** Archives on their way to a bucket and back, against a real S3 server. */
import { randomBytes } from "node:crypto"
import { mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Result } from "effect"
import { fetchArchive, verifyInBucket } from "../../../src/engine/archive/bucket/FetchJob.ts"
import { shipArchives } from "../../../src/engine/archive/bucket/ShipJob.ts"
import type { JobContext, Step } from "../../../src/engine/archive/jobs/Jobs.ts"
import { limits } from "../../../src/Limits.ts"
import { archiveId } from "../../../src/storage/archive/ArchiveManifest.ts"
import { decodeIndex, encodeIndex } from "../../../src/storage/bucket/BucketArchives.ts"
import { refuse, type S3 } from "../../storage/bucket/server.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { archiveOf, bucketIn, day, hour, noon, sum } from "./bucketFixture.ts"

const contextFor = (
  { place }: S3,
  onStep: (step: Step) => Effect.Effect<unknown> = () => Effect.void,
): JobContext => ({
  ask: (step) => Effect.as(onStep(step), step === "bucket" ? place : undefined),
  progress: () => {},
})

const retention = { hourly: 24, daily: 7 }
const ship = (s3: S3, archives: string, more: { collect?: boolean; hourly?: number } = {}) =>
  Effect.scoped(
    shipArchives(
      {
        archives,
        collect: more.collect ?? false,
        retention: more.hourly === undefined ? retention : { hourly: more.hourly, daily: 0 },
      },
      contextFor(s3),
    ),
  )
const fetched = (s3: S3, archives: string, id: string) =>
  Effect.scoped(fetchArchive({ archives, id }, contextFor(s3)))
const faultsOf = (s3: S3, id: string) =>
  Effect.map(Effect.scoped(verifyInBucket({ id }, contextFor(s3))), ({ faults }) => faults)

const contentsOf = (folder: string) =>
  Effect.promise(async () => {
    const names = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = names.filter((entry) => entry.isFile())
    const found: Record<string, string> = {}
    for (const { name, parentPath } of files) {
      const where = path.join(parentPath, name)
      found[path.relative(folder, where)] = sum(await readFile(where))
    }
    return found
  })

const puts = ({ requests }: S3) => requests.filter((request) => request.startsWith("PUT"))
const listedIn = (s3: S3) =>
  Effect.map(Effect.promise(s3.keys), (keys) =>
    keys.flatMap((key) => /archives\/(.+)\.schedule\.json$/.exec(key)?.[1] ?? []),
  )

describe("Shipping", () => {
  it.live("sends an archive and shares what the bucket has; it comes back the same", () =>
    Effect.gen(function* () {
      const s3 = yield* bucketIn("deep/er/")
      const folder = yield* temporaryFolder
      const shared = [randomBytes(1_000), randomBytes(2_000)]
      // A whole piece and the rest.
      const large = randomBytes(limits.bucketPieceBytes + 3)
      const first = yield* Effect.promise(() => archiveOf(folder, noon, shared, large))
      const sent = yield* ship(s3, folder)
      expect(sent.shipped).toEqual([first.id])
      expect([sent.sentPieces, sent.usedPieces]).toEqual([2 + 1 + 2, 0])
      expect((yield* ship(s3, folder)).shipped).toEqual([])

      const more = [...shared, randomBytes(3_000)]
      const changed = Buffer.concat([large.subarray(0, -3), Buffer.from("end")])
      const second = yield* Effect.promise(() => archiveOf(folder, noon + hour, more, changed))
      const again = yield* ship(s3, folder)
      // A segment, the last one and the end of the database; two segments and a piece of the database are there.
      expect([again.sentPieces, again.usedPieces]).toEqual([3, 3])
      expect(again.listed.map(({ id }) => id)).toEqual([first.id, second.id])

      const elsewhere = yield* temporaryFolder
      for (const { id } of [first, second]) {
        expect(yield* faultsOf(s3, id)).toEqual([])
        yield* fetched(s3, elsewhere, id)
        expect(yield* contentsOf(path.join(elsewhere, id))).toEqual(
          yield* contentsOf(path.join(folder, id)),
        )
      }
      expect(
        s3.requests.every((request) => /^\w+ \/archives\/(deep\/er\/.*)?$/.test(request)),
      ).toBe(true)
    }).pipe(Effect.scoped),
  )

  it.live("lists only whole archives, wherever its process is killed", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const parts = [randomBytes(100), randomBytes(200)]
      yield* Effect.promise(() => archiveOf(folder, noon, parts, randomBytes(300)))
      const archives = [
        yield* Effect.promise(() => archiveOf(folder, noon + day, parts, randomBytes(300))),
      ]
      const s3 = yield* bucketIn()
      let isWhole = false
      for (let killedAt = 1; !isWhole; killedAt++) {
        yield* Effect.promise(() => rm(s3.folder, { recursive: true }))
        yield* Effect.promise(() => mkdir(s3.folder))
        const killed = yield* Deferred.make<void>()
        let count = 0
        s3.fault = () => {
          // Every other time the last request reaches the server.
          if (++count < killedAt) return false
          Deferred.doneUnsafe(killed, Effect.void)
          return count > killedAt || killedAt % 2 === 0
        }
        const job = yield* Effect.forkChild(ship(s3, folder, { collect: true, hourly: 1 }))
        isWhole = yield* Effect.raceFirst(
          Effect.as(Fiber.join(job), true),
          Effect.as(Deferred.await(killed), false),
        )
        yield* Fiber.interrupt(job)
        s3.fault = undefined
        for (const id of yield* listedIn(s3)) expect(yield* faultsOf(s3, id)).toEqual([])
        const { listed } = yield* ship(s3, folder, { collect: true, hourly: 1 })
        expect(listed.map(({ id }) => id)).toEqual([archives[0]!.id])
        expect(yield* listedIn(s3)).toEqual([archives[0]!.id])
        expect(yield* faultsOf(s3, archives[0]!.id)).toEqual([])
        if (killedAt > 100) throw new Error("it never ends")
      }
    }).pipe(Effect.scoped),
  )

  it.live("sends a piece again that the bucket has truncated, and says what is wrong", () =>
    Effect.gen(function* () {
      const s3 = yield* bucketIn()
      const folder = yield* temporaryFolder
      const parts = [randomBytes(1_000), randomBytes(1_000), randomBytes(1_000)]
      const first = yield* Effect.promise(() => archiveOf(folder, noon, parts, randomBytes(9)))
      yield* ship(s3, folder)
      const fileOf = (part: Buffer) =>
        Effect.map(Effect.promise(s3.keys), (keys) =>
          s3.fileOf(keys.find((key) => key.includes(sum(part)))!),
        )
      const [truncated, replaced, removed] = yield* Effect.forEach(parts, fileOf)
      yield* Effect.promise(() => truncate(truncated!, 500))
      yield* Effect.promise(() => rm(removed!))
      const second = yield* Effect.promise(() =>
        archiveOf(folder, noon + hour, parts, randomBytes(9)),
      )
      const sent = yield* ship(s3, folder)
      expect([sent.sentPieces, sent.usedPieces]).toEqual([4, 1])
      expect(yield* faultsOf(s3, second.id)).toEqual([])
      const faults = yield* faultsOf(s3, first.id)
      expect(faults).toHaveLength(2)
      expect(faults.join()).toMatch(/has changed.*is missing|is missing.*has changed/)

      yield* Effect.promise(() => writeFile(replaced!, randomBytes(1_000)))
      expect((yield* faultsOf(s3, second.id)).join()).toMatch(/^Of journal\/.*has changed$/)
      const elsewhere = yield* temporaryFolder
      const failure = yield* Effect.flip(fetched(s3, elsewhere, second.id))
      expect(failure).toMatchObject({ kind: "damaged", detail: /choose another archive$/ })
      expect(yield* Effect.promise(() => readdir(elsewhere))).toEqual([`${second.id}.fetched`])
    }).pipe(Effect.scoped),
  )

  it.live("does not list an archive whose file has changed on the disk", () =>
    Effect.gen(function* () {
      const s3 = yield* bucketIn()
      const folder = yield* temporaryFolder
      const { id } = yield* Effect.promise(() => archiveOf(folder, noon, [], randomBytes(1_000)))
      yield* Effect.promise(() => writeFile(path.join(folder, id, "live/data.mdb"), "other"))
      const failure = yield* Effect.flip(ship(s3, folder))
      expect(failure).toMatchObject({ _tag: "JobFailed", kind: "damaged" })
      expect(yield* listedIn(s3)).toEqual([])
    }).pipe(Effect.scoped),
  )

  it.live("skips an archive that the server prunes meanwhile", () =>
    Effect.gen(function* () {
      const s3 = yield* bucketIn()
      const folder = yield* temporaryFolder
      const older = yield* Effect.promise(() => archiveOf(folder, noon, [], randomBytes(9)))
      const newer = yield* Effect.promise(() => archiveOf(folder, noon + hour, [], randomBytes(9)))
      const isListed = (id: string) => Effect.map(listedIn(s3), (ids) => ids.includes(id))
      const context = contextFor(s3, (step) =>
        step === "sent"
          ? Effect.tap(isListed(newer.id), (isSecond) =>
              Effect.promise(async () => {
                if (isSecond) await rm(path.join(folder, older.id), { recursive: true })
              }),
            )
          : Effect.void,
      )
      const input = { archives: folder, collect: false, retention }
      const { listed, shipped } = yield* Effect.scoped(shipArchives(input, context))
      expect([shipped, listed.map(({ id }) => id)]).toEqual([[newer.id], [newer.id]])
      expect(yield* listedIn(s3)).toEqual([newer.id])
    }).pipe(Effect.scoped),
  )

  it.live("fails at once where the bucket refuses, and goes on once it does not", () =>
    Effect.gen(function* () {
      const s3 = yield* bucketIn()
      const folder = yield* temporaryFolder
      const { id } = yield* Effect.promise(() => archiveOf(folder, noon, [], randomBytes(9)))
      const before = yield* contentsOf(folder)
      for (const [status, code, kind] of [
        [403, "AccessDenied", "refused"],
        [403, "RequestTimeTooSkewed", "refused"],
        [404, "NoSuchBucket", "refused"],
        [400, "EntityTooLarge", "failed"],
      ] as const) {
        for (const method of ["GET", "PUT"]) {
          s3.fault = (request, response) =>
            request.method === method && refuse(response, status, code)
          const failure = yield* Effect.flip(ship(s3, folder))
          expect(failure).toMatchObject({ _tag: "BucketError", kind, detail: /./ })
        }
      }
      expect(yield* Effect.promise(s3.keys)).toEqual([])
      s3.fault = undefined
      expect((yield* ship(s3, folder)).shipped).toEqual([id])
      expect(yield* contentsOf(folder)).toEqual(before)
      expect(yield* faultsOf(s3, id)).toEqual([])
    }).pipe(Effect.scoped),
  )

  it.live(
    "fetches no more of a file than its manifest says, however often its pieces are named",
    () =>
      Effect.gen(function* () {
        const s3 = yield* bucketIn()
        const folder = yield* temporaryFolder
        const { id } = yield* Effect.promise(() => archiveOf(folder, noon, [], randomBytes(1_000)))
        yield* ship(s3, folder)
        const where = s3.fileOf(`archives/${id}.schedule.json`)
        const { files, text } = Result.getOrThrow(
          decodeIndex(yield* Effect.promise(() => readFile(where))),
        )
        const endless = files.map(({ path, pieces }) => ({
          path,
          pieces: Array.from({ length: path.startsWith("live/") ? 1_000 : 1 }, () => pieces[0]!),
        }))
        yield* Effect.promise(() => writeFile(where, encodeIndex({ files: endless, text })))
        s3.requests.length = 0
        const faults = yield* faultsOf(s3, id)
        expect(faults).toEqual(["The file live/data.mdb has changed"])
        const elsewhere = yield* temporaryFolder
        const failure = yield* Effect.flip(fetched(s3, elsewhere, id))
        expect(failure).toMatchObject({ kind: "damaged", detail: /data\.mdb .*has changed$/ })
        expect(s3.requests.length).toBeLessThan(20)
        const data = path.join(elsewhere, `${id}.fetched/live/data.mdb`)
        expect((yield* Effect.promise(() => readFile(data))).length).toBeLessThanOrEqual(1_000)
      }).pipe(Effect.scoped),
  )

  it.live("goes on with a fetch that was interrupted", () =>
    Effect.gen(function* () {
      const s3 = yield* bucketIn()
      const folder = yield* temporaryFolder
      const large = randomBytes(limits.bucketPieceBytes + 100)
      const { id } = yield* Effect.promise(() =>
        archiveOf(folder, noon, [randomBytes(100), randomBytes(100)], large),
      )
      yield* ship(s3, folder)
      const elsewhere = yield* temporaryFolder
      const lastPiece = sum(large.subarray(limits.bucketPieceBytes))
      const reached = yield* Deferred.make<void>()
      s3.fault = (request) => {
        if (!request.url!.includes(lastPiece)) return false
        Deferred.doneUnsafe(reached, Effect.void)
        return true
      }
      const job = yield* Effect.forkChild(fetched(s3, elsewhere, id))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(job)
      s3.fault = undefined
      s3.requests.length = 0
      yield* fetched(s3, elsewhere, id)
      const pieces = [sum(large.subarray(0, limits.bucketPieceBytes)), lastPiece]
      const isAsked = pieces.map((name) => s3.requests.some((request) => request.includes(name)))
      expect(isAsked).toEqual([false, true])
      expect(yield* contentsOf(path.join(elsewhere, id))).toEqual(
        yield* contentsOf(path.join(folder, id)),
      )
    }).pipe(Effect.scoped),
  )
})

describe("The retention in a bucket", () => {
  it.live("removes archives, and their pieces once nobody can use them", () =>
    Effect.gen(function* () {
      const s3 = yield* bucketIn()
      const folder = yield* temporaryFolder
      const [both, once] = [randomBytes(100), randomBytes(100)]
      yield* Effect.promise(() => archiveOf(folder, noon, [both, once], randomBytes(9)))
      yield* ship(s3, folder)
      const second = yield* Effect.promise(() =>
        archiveOf(folder, noon + hour, [both], randomBytes(9)),
      )
      const { removed } = yield* ship(s3, folder, { collect: true, hourly: 1 })
      expect(removed).toEqual([archiveId(noon, 7)])
      const keysWith = (part: Buffer) =>
        Effect.map(Effect.promise(s3.keys), (keys) => keys.filter((key) => key.includes(sum(part))))
      const agePieces = (ms: number) =>
        Effect.promise(async () => {
          for (const key of await s3.keys()) if (key.startsWith("pieces/")) await s3.age(key, ms)
        })
      const removedKey = `removed/${archiveId(noon, 7)}.schedule.json`
      // Old pieces of an archive that was removed just now, and young ones of one that was removed long ago.
      yield* agePieces(limits.bucketKeptMs + hour)
      expect((yield* ship(s3, folder, { collect: true, hourly: 1 })).collected).toBe(0)
      yield* agePieces(limits.bucketKeptMs - hour)
      yield* Effect.promise(() => s3.age(removedKey, limits.bucketKeptMs + hour))
      expect((yield* ship(s3, folder, { collect: true, hourly: 1 })).collected).toBe(0)
      expect(yield* keysWith(once)).toHaveLength(1)

      yield* agePieces(limits.bucketKeptMs + hour)
      // The segment, the last one and the database of the archive that was removed.
      expect((yield* ship(s3, folder, { collect: true, hourly: 1 })).collected).toBe(3)
      expect(yield* keysWith(once)).toEqual([])
      expect(yield* faultsOf(s3, second.id)).toEqual([])
      expect(yield* Effect.promise(s3.keys)).not.toContain(removedKey)
    }).pipe(Effect.scoped),
  )

  it.live("never takes a piece from a server that is about to list an archive with it", () =>
    Effect.gen(function* () {
      const s3 = yield* bucketIn()
      const [one, other] = [yield* temporaryFolder, yield* temporaryFolder]
      const shared = randomBytes(100)
      const old = yield* Effect.promise(() => archiveOf(one, noon, [shared], randomBytes(9)))
      yield* ship(s3, one)
      for (const key of yield* Effect.promise(s3.keys)) {
        if (key.startsWith("pieces/")) yield* Effect.promise(() => s3.age(key, 9 * day))
      }
      const mine = yield* Effect.promise(() =>
        archiveOf(one, noon + hour, [shared], randomBytes(9)),
      )
      const its = yield* Effect.promise(() => archiveOf(other, noon + 2 * hour, [], randomBytes(9)))
      const others = Effect.gen(function* () {
        // Another server removes the only archive that names the piece, and collects.
        const { collected, removed } = yield* ship(s3, other, { collect: true, hourly: 1 })
        expect([collected, removed]).toEqual([0, [old.id]])
      })
      const context = contextFor(s3, (step) =>
        step === "sent" ? Effect.orDie(others) : Effect.void,
      )
      yield* Effect.scoped(shipArchives({ archives: one, collect: false, retention }, context))
      for (const { id } of [mine, its]) expect(yield* faultsOf(s3, id)).toEqual([])
      // Once nobody names them, old pieces count for nothing: they may be deleted at any time.
      yield* Effect.promise(() => rm(s3.folder, { recursive: true }).then(() => mkdir(s3.folder)))
      yield* ship(s3, one)
      for (const key of yield* Effect.promise(s3.keys)) {
        if (key.startsWith("archives/")) yield* Effect.promise(() => rm(s3.fileOf(key)))
        else yield* Effect.promise(() => s3.age(key, limits.bucketSendMs + hour))
      }
      expect((yield* ship(s3, one)).sentPieces).toBe(5)
    }).pipe(Effect.scoped),
  )

  it.live("deletes no piece while an archive cannot be read, and names that archive", () =>
    Effect.gen(function* () {
      const s3 = yield* bucketIn()
      const folder = yield* temporaryFolder
      const { id } = yield* Effect.promise(() => archiveOf(folder, noon, [], randomBytes(9)))
      yield* ship(s3, folder)
      const key = `archives/${id}.schedule.json`
      const text = yield* Effect.promise(() => readFile(s3.fileOf(key), "utf8"))
      yield* Effect.promise(() => writeFile(s3.fileOf(key), text.replace(/"journal/, '"jourmal')))
      for (const object of yield* Effect.promise(s3.keys)) {
        if (object.startsWith("pieces/")) yield* Effect.promise(() => s3.age(object, 9 * day))
      }
      const before = yield* Effect.promise(s3.keys)
      const { collected, unreadable } = yield* ship(s3, folder, { collect: true })
      expect([collected, unreadable]).toEqual([null, key])
      expect(yield* Effect.promise(s3.keys)).toEqual(before)
      const failure = yield* Effect.flip(faultsOf(s3, id))
      expect(failure).toMatchObject({ kind: "damaged", detail: /is damaged$/ })
      expect(puts(s3).filter((put) => put.includes("removed"))).toEqual([])
    }).pipe(Effect.scoped),
  )
})
