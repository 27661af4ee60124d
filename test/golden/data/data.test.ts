/**
 * The golden data (`make.ts`), opened by the present code: its server answers everything as the one
 * that wrote it. The snapshot has a part of the data, the journal of a killed server the rest.
 */
import { readdir, readFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { openAuditStore } from "../../../src/accounts/audit/AuditStore.ts"
import { verifyArchive, verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import { importLines } from "../../../src/engine/archive/exports/ImportJob.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { alone } from "../../engine/archive/fixture.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { type Answers, answersFile, answerTo, serve } from "./program.ts"
import { unpacked } from "./unpacked.ts"

const golden: Answers = JSON.parse(await readFile(answersFile, "utf8"))

describe("The golden data", () => {
  it.live("is served as it was", () =>
    Effect.gen(function* () {
      const directory = yield* unpacked
      const { answers, at, key } = golden
      const present = yield* Effect.promise(() =>
        serve(directory, Date.parse(at), async (url) => {
          const present = []
          for (const { ask } of answers) present.push(await answerTo(url, key, ask))
          return present
        }),
      )
      for (const [n, answer] of answers.entries()) expect.soft(present[n]).toEqual(answer)
      const { faults } = yield* Effect.scoped(verifyLive({ directory }, alone))
      expect(faults).toEqual([])
    }),
  )

  it.live("has an archive, an export and an audit log that are read", () =>
    Effect.gen(function* () {
      const directory = yield* unpacked
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
      expect(imported.counts).toMatchObject({ users: 4 })
      const now = () => Date.parse(golden.at)
      const log = yield* openAuditStore({ disk: nodeDisk, directory, now })
      const { entries } = yield* log.read({})
      expect(entries.toReversed().slice(0, 2)).toMatchObject([
        { sequence: 1, by: "operator", action: "key.create", detail: "full" },
        { sequence: 2, by: { email: "ada@example.com" }, action: "account.create", subject: "" },
      ])
    }),
  )
})
