/**
 * What a server of a cluster removes of partitions that it does not serve, and of copies that were
 * set aside.
 */
import { mkdir, readdir, rename, utimes, writeFile } from "node:fs/promises"
import path from "node:path"
import { expect, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { limits } from "../../../src/Limits.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { lineageName, writeLineage } from "../../../src/storage/durable/LineageFile.ts"
import { removeLeftovers } from "../../../src/storage/postgres/Leftovers.ts"
import { archiveOf } from "../../engine/archive/bucketFixture.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const young = limits.leftoverKeptMs - 60_000
const old = limits.leftoverKeptMs + 60_000

/** A copy whose parts were written so long ago. */
const copyIn = (directory: string, agoMs: number) =>
  Effect.promise(async () => {
    const at = new Date(Date.now() - agoMs)
    for (const [folder, file] of [
      ["journal", "00000000000000000001.segment"],
      ["live", "data.mdb"],
    ] as const) {
      const within = path.join(directory, folder)
      await mkdir(within, { recursive: true })
      await writeFile(path.join(within, file), "ada")
      await utimes(path.join(within, file), at, at)
      await utimes(within, at, at)
    }
  })

const aged = (folder: string, agoMs: number) =>
  Effect.promise(() => {
    const at = new Date(Date.now() - agoMs)
    return utimes(folder, at, at)
  })

interface Removal {
  /** Partitions that are open, and those that are owned. */
  readonly open?: ReadonlyArray<number>
  readonly owned?: ReadonlyArray<number>
  readonly archivesKeptMs?: number
}

/** Removes once. */
const removeOnce = (
  directories: ReadonlyMap<number, string>,
  { archivesKeptMs, open = [], owned = [] }: Removal = {},
) =>
  Effect.gen(function* () {
    const over = yield* Deferred.make<void>()
    const last = Math.max(...directories.keys()) + 1
    const removing = removeLeftovers({
      // The last directory does not exist: with it the sweep is over.
      directories: new Map([...directories, [last, "/nowhere"]]),
      whileClosed: (partition, remove) => {
        if (partition === last) return Effect.asVoid(Deferred.succeed(over, undefined))
        return open.includes(partition) ? Effect.void : remove
      },
      isOwner: (partition) => owned.includes(partition),
      archivesKeptMs,
    })
    yield* Effect.raceFirst(removing, Deferred.await(over))
  })

const namesIn = (directory: string) =>
  Effect.promise(async () => (await readdir(directory)).toSorted())

it.live("A copy that its server does not use is removed a week after its last write", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const at = (name: string) => path.join(folder, name)
    const kinds = ["young", "old", "open", "foreign"]
    for (const kind of kinds) {
      yield* copyIn(at(kind), kind === "young" ? young : old)
      if (kind !== "foreign") yield* writeLineage(nodeDisk, at(kind), "lineage")
    }
    const directories = new Map(kinds.map((kind, index) => [index + 1, at(kind)]))
    yield* removeOnce(directories, { open: [kinds.indexOf("open") + 1] })
    const whole = ["journal", lineageName, "live"].toSorted()
    expect(yield* namesIn(at("young"))).toEqual(whole)
    expect(yield* namesIn(at("open"))).toEqual(whole)
    // It has belonged to no cluster: nothing says that PostgreSQL has its records.
    expect(yield* namesIn(at("foreign"))).toEqual(["journal", "live"])
    expect(yield* namesIn(at("old"))).toEqual([])
  }),
)

it.live("A copy that was moved aside is removed a week later, also from an open partition", () =>
  Effect.gen(function* () {
    const directory = yield* temporaryFolder
    for (const [number, agoMs] of [
      [1, old],
      [2, young],
    ] as const) {
      const aside = path.join(directory, `discarded-${number}`)
      yield* copyIn(directory, old)
      yield* Effect.promise(async () => {
        await mkdir(aside)
        await rename(path.join(directory, "journal"), path.join(aside, "journal"))
        await rename(path.join(directory, "live"), path.join(aside, "live"))
      })
      yield* aged(aside, agoMs)
    }
    yield* removeOnce(new Map([[1, directory]]), { open: [1] })
    expect(yield* namesIn(directory)).toEqual(["discarded-2"])
  }),
)

it.live("Scheduled archives of a partition with another owner are removed after their time", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const directories = new Map([
      [1, path.join(folder, "owned")],
      [2, path.join(folder, "given-away")],
    ])
    const now = Date.now()
    const archivesKeptMs = 3_600_000
    const at = [now - archivesKeptMs - 60_000, now - archivesKeptMs + 60_000] as const
    for (const directory of directories.values()) {
      for (const [index, time] of at.entries()) {
        yield* Effect.promise(() =>
          archiveOf(path.join(directory, "archive"), time, [], Buffer.from("ada"), index + 1),
        )
      }
    }
    const archives = (partition: number) =>
      namesIn(path.join(directories.get(partition)!, "archive"))
    yield* removeOnce(directories, { owned: [1, 2] })
    const [old, young] = yield* archives(2)
    yield* removeOnce(directories, { owned: [1], archivesKeptMs })
    expect(yield* archives(1)).toEqual([old, young])
    expect(yield* archives(2)).toEqual([young])
  }),
)
