import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ApiKey } from "../../../src/domain/project/Directory.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { restoreDraft } from "../../../src/engine/archive/restore/RestoreJob.ts"
import { findReturnedKeys } from "../../../src/engine/archive/restore/ReturnedKeys.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { limits } from "../../../src/Limits.ts"
import { listArchives } from "../../../src/storage/archive/ArchiveCatalog.ts"
import { installDraft } from "../../../src/storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { alone, found, running } from "./fixture.ts"

const create = (engine: Engine["Service"], id: string, more: Partial<ApiKey> = {}) =>
  engine.askDirectory({
    kind: "createKey",
    by: "operator",
    projectId: "prj_1",
    projectName: "shop",
    key: {
      id,
      environment: "sandbox",
      scope: "full",
      hash: id,
      hint: `lk_test_${id.slice(-4)}`,
      ...more,
    },
  })

const revoke = (engine: Engine["Service"], keyId: string) =>
  engine.askDirectory({ kind: "revokeKey", by: "operator", keyId })

/** A directory that was restored to its archive, after which `change` was made; the folder of the replaced data. */
const restored = Effect.fnUntraced(function* (
  prepare: (engine: Engine["Service"]) => Effect.Effect<unknown, unknown>,
  change: (engine: Engine["Service"]) => Effect.Effect<unknown, unknown>,
) {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const { archives, close, engine } = yield* running({ directory, host })
  yield* found(engine)
  yield* prepare(engine)
  yield* archives.create({ reason: "request" })
  yield* change(engine)
  yield* close()
  const [archive] = yield* listArchives(nodeDisk, path.join(directory, "archive"))
  const { sequence } = yield* Effect.fromResult(archive!.manifest)
  const wish = { directory, archive: archive!.folder, until: sequence, project: null }
  yield* Effect.scoped(restoreDraft(wish, alone))
  const replaced = (yield* installDraft(nodeDisk, directory, Date.now()))!
  return { directory, replaced }
})

const compared = (restored: string, replaced: string) =>
  Effect.scoped(findReturnedKeys({ restored, replaced, at: Date.now() }, alone))

describe("Keys that a restore brings back", () => {
  it.live(
    "are those that had ended and are in force again, by revocation, rotation or archiving",
    () =>
      Effect.gen(function* () {
        const { directory, replaced } = yield* restored(
          (engine) =>
            Effect.gen(function* () {
              yield* create(engine, "key_revoked", { name: "Backend" })
              yield* create(engine, "key_rotated")
              yield* create(engine, "key_lasting")
              yield* create(engine, "key_over")
              yield* revoke(engine, "key_over")
            }),
          (engine) =>
            Effect.gen(function* () {
              yield* revoke(engine, "key_revoked")
              const key = { id: "key_successor", hash: "s", hint: "lk_test_succ" }
              const [by, overlap, keyId] = ["operator", "0", "key_rotated"] as const
              yield* engine.askDirectory({ kind: "rotateKey", by, keyId, overlap, key })
              yield* create(engine, "key_new")
            }),
        )
        const project = "shop"
        const environment = "sandbox"
        expect(yield* compared(directory, replaced)).toEqual({
          count: 2,
          keys: [
            {
              id: "key_revoked",
              name: "Backend",
              hint: "lk_test_oked",
              project,
              environment,
              was: "revoked",
            },
            {
              id: "key_rotated",
              name: "full key",
              hint: "lk_test_ated",
              project,
              environment,
              was: "expired",
            },
          ],
        })
        // The way back: the replaced data knows all that the older data knows, and more.
        expect(yield* compared(replaced, directory)).toEqual({ count: 0, keys: [] })
      }),
  )

  it.live(
    "are counted, the first 1,000 named, also those that had ended too long ago to be listed",
    () =>
      Effect.gen(function* () {
        const count = limits.endedKeysMax + 1
        const ids = Array.from({ length: count }, (_, index) => `key_${10_000 + index}`)
        const all = { concurrency: "unbounded", discard: true } as const
        const environmentOf = (index: number) => (index % 2 === 0 ? "sandbox" : "production")
        const { directory, replaced } = yield* restored(
          (engine) =>
            Effect.forEach(
              ids,
              (id, index) => create(engine, id, { environment: environmentOf(index) }),
              all,
            ),
          (engine) => Effect.forEach(ids, (id) => revoke(engine, id), all),
        )
        const found = yield* compared(directory, replaced)
        expect(found.count).toBe(count)
        expect(found.keys).toHaveLength(limits.restoreListedMax)
        expect(new Set(found.keys.map(({ was }) => was))).toEqual(new Set(["revoked", "unlisted"]))
      }),
  )

  it.live("cannot be told where the replaced data cannot be read or is of another directory", () =>
    Effect.gen(function* () {
      const nothing = () => Effect.void
      const { directory } = yield* restored(nothing, (engine) => create(engine, "key_new"))
      const empty = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: false })
      const wish = { restored: directory, replaced: empty, at: Date.now() }
      const failure = yield* Effect.flip(host.run("returnedKeys", wish, { progress: () => {} }))
      expect(failure).toMatchObject({ _tag: "JobFailed", kind: "failed" })
      const other = yield* temporaryFolder
      const { close, engine } = yield* running({ directory: other, host })
      yield* engine.askDirectory({ kind: "createDirectory", hashSecret: "11" })
      yield* close()
      expect(yield* Effect.flip(compared(directory, other))).toMatchObject({
        detail: "The replaced data is of another data directory",
      })
      const partitions = []
      for (const partition of [2, 3]) {
        const directory = yield* temporaryFolder
        const { close, engine } = yield* running({ directory, host })
        yield* engine.askDirectory({ kind: "beginPartition", partition })
        yield* close()
        partitions.push(directory)
      }
      const [two, three] = partitions as [string, string]
      expect(yield* compared(two, two)).toEqual({ keys: [], count: 0 })
      expect(yield* Effect.flip(compared(two, three))).toMatchObject({ kind: "refused" })
    }),
  )
})
