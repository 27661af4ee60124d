/**
 * Data that earlier versions wrote (`make.ts`), opened by the present one: its server answers everything as theirs did, with
 * new members at most. The snapshot has a part of the data, the journal of a killed server the rest.
 */
import { readdir, readFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { openAuditStore } from "../../../src/accounts/audit/AuditStore.ts"
import { exportFormat } from "../../../src/engine/archive/ExportLines.ts"
import { importLines } from "../../../src/engine/archive/ImportJob.ts"
import { verifyArchive, verifyLive } from "../../../src/engine/archive/Verification.ts"
import { archiveFormat, manifestName } from "../../../src/storage/archive/ArchiveManifest.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { alone } from "../../engine/archive/fixture.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { type Answers, answerTo, serve } from "./program.ts"
import { unpacked } from "./unpacked.ts"

const root = path.resolve(import.meta.dirname, "../../..")
const folders = await readdir(import.meta.dirname, { withFileTypes: true })
const sets = folders.filter((each) => each.isDirectory()).map(({ name }) => name)

const answersOf = (set: string): Effect.Effect<Answers> =>
  Effect.promise(async () =>
    JSON.parse(await readFile(path.join(import.meta.dirname, set, "answers.json"), "utf8")),
  )

describe.each(sets)("The data of %s", (set) => {
  it.live("is served as it was", () =>
    Effect.gen(function* () {
      const directory = yield* unpacked(set)
      const { answers, at, key } = yield* answersOf(set)
      const present = yield* Effect.promise(() =>
        serve(root, directory, Date.parse(at), async (url) => {
          const present = []
          for (const { ask } of answers) present.push(await answerTo(url, key, ask))
          return present
        }),
      )
      for (const [n, answer] of answers.entries()) expect.soft(present[n]).toMatchObject(answer)
      const { faults } = yield* Effect.scoped(verifyLive({ directory }, alone))
      expect(faults).toEqual([])
    }),
  )

  it.live("has an archive, an export and an audit log that are read", () =>
    Effect.gen(function* () {
      const directory = yield* unpacked(set)
      const names = yield* Effect.promise(() => readdir(directory))
      const archives = path.join(directory, "archive")
      const [id] = yield* Effect.promise(() => readdir(archives))
      const folder = path.join(archives, id!)
      const archived = yield* Effect.scoped(verifyArchive({ folder }, alone))
      const importing = {
        directory: yield* temporaryFolder,
        file: path.join(directory, "export.ndjson"),
      }
      const imported = yield* Effect.scoped(importLines(importing, alone))
      expect([archived.faults, imported.faults]).toEqual([[], []])
      expect(imported.counts).toMatchObject({ users: 3 })
      if (!names.includes("audit")) return
      const { at } = yield* answersOf(set)
      const now = () => Date.parse(at)
      const log = yield* openAuditStore({ disk: nodeDisk, directory, now })
      const { entries } = yield* log.read({})
      expect(entries.toReversed()).toMatchObject([
        { sequence: 1, by: "operator", action: "key.create", detail: "full, enterprise" },
        { sequence: 2, by: { email: "ada@example.com" }, action: "account.create", subject: "" },
      ])
    }),
  )
})

it.live("Each present format has golden data: `npm run golden:make` makes it", () =>
  Effect.gen(function* () {
    const found = { archives: new Set<number>(), exports: new Set<number>() }
    for (const set of sets) {
      const directory = yield* unpacked(set)
      const read = (...names: ReadonlyArray<string>) =>
        Effect.promise(() => readFile(path.join(directory, ...names), "utf8"))
      const [id] = yield* Effect.promise(() => readdir(path.join(directory, "archive")))
      found.archives.add(JSON.parse(yield* read("archive", id!, manifestName)).manifest.format)
      found.exports.add(JSON.parse((yield* read("export.ndjson")).split("\n")[0]!).format)
    }
    const all = (last: number) => new Set(Array.from({ length: last }, (_, n) => n + 1))
    expect(found).toEqual({ archives: all(archiveFormat), exports: all(exportFormat) })
  }),
)
