import { readdir, readFile, writeFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { AccountCommand } from "../../../src/domain/accounts/Account.ts"
import { verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import { exportLines } from "../../../src/engine/archive/exports/ExportJob.ts"
import { exportFormat } from "../../../src/engine/archive/exports/ExportLines.ts"
import { importLines } from "../../../src/engine/archive/exports/ImportJob.ts"
import type { Input } from "../../../src/engine/archive/jobs/Jobs.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { limits } from "../../../src/Limits.ts"
import { installDraft } from "../../../src/storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { event, rule, sandbox } from "../fixture.ts"
import { alone, busy, eraseFrom, found, running, seen } from "./fixture.ts"

const users = 8
const production = "prj_1:production"
type Scope = Input<"export">["scope"]

/** A directory with a snapshot and records after it, as a kill leaves it; and what its readers saw. */
const written = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const { close, engine } = yield* running({ directory, host })
  yield* found(engine)
  yield* busy(engine, users)
  yield* engine.askUser(sandbox, {
    userId: "u5",
    command: { kind: "reward", type: "points", amount: 9 },
  })
  yield* engine.askUser(sandbox, { userId: "u5", command: { kind: "spend", amount: 4 } })
  yield* engine.drain
  const again = yield* Effect.andThen(close("kill"), running({ directory, host }))
  yield* busy(again.engine, users, 1)
  yield* again.engine.askUser(sandbox, { userId: "u3", command: { kind: "erasure" } })
  yield* again.engine.askUser(
    sandbox,
    event("u4", "TAP", { id: "meta", metadata: { 'ä"\n': [1.5, null, "𝄞"] } }),
  )
  yield* again.engine.askUser(sandbox, { userId: "u5", command: { kind: "spend", amount: 2 } })
  yield* again.engine.askProject(production, rule("TAP", 1))
  yield* again.engine.askUser(production, event("u1", "TAP"))
  for (const command of firstOwner) yield* again.engine.askDirectory(command)
  const reads = yield* readsOf(again.engine)
  const position = again.archives.position().lastSequence
  yield* again.close("kill")
  return { directory, host, position, reads }
})

const firstOwner: ReadonlyArray<AccountCommand> = [
  {
    kind: "invite",
    by: "operator",
    invitation: {
      id: "inv_1",
      purpose: "setup",
      hash: "hash-of-the-token",
      accountId: null,
      email: null,
      access: { owner: true, projects: [] },
    },
  },
  {
    kind: "acceptInvitation",
    hash: "hash-of-the-token",
    accountId: "acc_1",
    email: "ada@example.com",
    name: "Ada",
    credential: { password: "$argon2id$hash-of-the-password" },
    session: { id: "ses_1", hash: "hash-of-the-cookie", agent: "Firefox", address: "::1" },
  },
]

const readsOf = Effect.fnUntraced(function* (engine: Engine["Service"]) {
  const other = yield* engine.readUser(production, "u1")
  const { accounts, sessions } = yield* engine.readDirectory
  return { ...(yield* seen(engine, users)), other: other?.xp, accounts, sessions }
})

const exported = Effect.fnUntraced(function* (folder: string, scope: Scope = null) {
  const file = path.join(yield* temporaryFolder, "export.ndjson")
  const at = Date.UTC(2026, 10, 21, 10)
  const result = yield* Effect.scoped(
    exportLines({ folder, file, laurel: "1.2.3", at, scope }, alone),
  )
  const text = yield* Effect.promise(() => readFile(file, "utf8"))
  return { file, result, text }
})

const imported = Effect.fnUntraced(function* (file: string) {
  const directory = yield* temporaryFolder
  const findings = yield* Effect.scoped(importLines({ directory, file }, alone))
  yield* installDraft(nodeDisk, directory, Date.now())
  return { directory, findings }
})

/** Why a text can not be imported. */
const faultsOf = Effect.fnUntraced(function* (text: string | Buffer) {
  const directory = yield* temporaryFolder
  const file = path.join(yield* temporaryFolder, "bad.ndjson")
  yield* Effect.promise(() => writeFile(file, text))
  const error = yield* Effect.flip(Effect.scoped(importLines({ directory, file }, alone)))
  expect(yield* Effect.promise(() => readdir(directory))).toEqual([])
  expect(error).toMatchObject({ kind: "refused" })
  return (error as Error).message.split("\n")
})

describe("An export", () => {
  it.live("leads to no user whose erasure left the journal after the snapshot", () =>
    Effect.gen(function* () {
      const { directory, host, reads } = yield* written
      yield* eraseFrom(directory, "u3")
      const { file, text } = yield* exported(directory)
      expect(text).toContain('"previous"')
      const copy = yield* imported(file)
      const { close, engine } = yield* running({ directory: copy.directory, host })
      const found = yield* readsOf(engine)
      expect(found.states[3]).toBeUndefined()
      expect(found).toEqual(reads)
      yield* close()
      const end = text.indexOf('{"kind":"end"')
      const bad = text.slice(0, end).replace(/"previous":\d+/, '"previous":1000000')
      const faults = yield* faultsOf(`${bad}{"kind":"end","lines":${bad.split("\n").length - 1}}\n`)
      expect(faults.join()).toContain("previous: it should be below")
    }),
  )

  it.live("of everything, imported, is read as it was, and goes on", () =>
    Effect.gen(function* () {
      const { directory, host, position, reads } = yield* written
      const { file, result, text } = yield* exported(directory)
      const lines = text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
      expect(lines[0]).toEqual({
        kind: "header",
        format: exportFormat,
        laurel: "1.2.3",
        createdAt: "2026-11-21T10:00:00.000Z",
        scope: null,
        watermark: expect.any(Number),
        first: 1,
        sequence: position,
      })
      expect(result.sequence).toBe(position)
      // People can read it: none of the tables of a small directory needs to be taken as bytes.
      expect(lines.filter((line) => "base64" in line).map(({ table }) => table)).toEqual([])
      const { directory: copy, findings } = yield* imported(file)
      expect(findings).toMatchObject({ faults: [], sequence: position })
      const second = yield* running({ directory: copy, host })
      expect(yield* readsOf(second.engine)).toEqual(reads)
      expect(second.archives.position().lastSequence).toBe(position)
      // An id that was used before is still a duplicate.
      const repeat = yield* second.engine.askUser(sandbox, event("u4", "TAP", { id: "meta" }))
      expect(JSON.stringify(repeat)).toContain('"duplicate":true')
      yield* busy(second.engine, users, 2)
      yield* second.close()
      // What is exported again has what is new.
      const third = yield* exported(copy)
      expect(third.result.sequence).toBeGreaterThan(position)
    }),
  )

  it.live("is read wherever the pieces that it is read in begin", () =>
    Effect.gen(function* () {
      const { directory } = yield* written
      const { file, text } = yield* exported(directory)
      const { findings } = yield* imported(file)
      const unsigned = text.replace(/,"sha256":"[0-9a-f]+"/, "")
      const first = unsigned.indexOf("\n")
      const pieceBytes = 1_048_576
      for (const end of [pieceBytes - 1, pieceBytes, pieceBytes + 1]) {
        const padded = `${unsigned.slice(0, first)}${" ".repeat(end - first)}${unsigned.slice(first)}`
        const moved = path.join(yield* temporaryFolder, "padded.ndjson")
        yield* Effect.promise(() => writeFile(moved, padded))
        expect((yield* imported(moved)).findings).toEqual(findings)
      }
    }),
  )

  it.live("of one environment has nothing of others, no keys and no accounts", () =>
    Effect.gen(function* () {
      const { directory, host, position, reads } = yield* written
      const scope = { project: "shop", environment: "sandbox" }
      const { file, text } = yield* exported(directory, scope)
      expect(text).not.toContain(production)
      expect(text).not.toContain("key_1")
      expect(text).not.toMatch(/ada@|hash-of/)
      const { directory: copy, findings } = yield* imported(file)
      expect(findings.counts).toMatchObject({ projects: 1, keys: 0, environments: 1 })
      const second = yield* running({ directory: copy, host })
      const noAccounts = { accounts: new Map(), sessions: new Map() }
      expect(yield* readsOf(second.engine)).toEqual({ ...reads, ...noAccounts, other: undefined })
      expect(second.archives.position().lastSequence).toBe(position)
      yield* second.close()
      const unknown = yield* Effect.flip(exported(directory, { ...scope, project: "x" }))
      expect(unknown).toMatchObject({ kind: "refused", detail: "There is no project x" })
    }),
  )

  it.live("of one environment of another partition has the project that the first one has", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: false })
      const { close, engine } = yield* running({ directory, host })
      yield* engine.askDirectory({ kind: "beginPartition", partition: 2 })
      yield* engine.askProject(sandbox, rule("TAP", 5))
      yield* busy(engine, users)
      const before = yield* seen(engine, users)
      yield* close()
      const checked = yield* Effect.scoped(verifyLive({ directory }, alone))
      expect(checked).toMatchObject({ faultCount: 0, counts: { users, environments: 1 } })
      const scope = { project: "shop", environment: "sandbox" }
      expect(yield* Effect.flip(exported(directory, scope))).toMatchObject({ kind: "refused" })
      const known = { id: "prj_1", name: "shop", createdAt: 1, partition: 2 }
      const { file, text } = yield* exported(directory, { ...scope, known })
      expect(text).not.toContain("partition")
      const { directory: copy, findings } = yield* imported(file)
      expect(findings).toMatchObject({ faultCount: 0, counts: { projects: 1, users } })
      const again = yield* running({ directory: copy, host })
      expect(yield* seen(again.engine, users)).toEqual(before)
      yield* again.close()
    }),
  )

  it.live("of one environment does not say which partition of a cluster had it", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: false })
      const { close, engine } = yield* running({ directory, host })
      yield* found(engine)
      const project = { id: "prj_2", name: "mall" }
      const by = "operator"
      yield* engine.askDirectory({ kind: "createProject", by, project, partitions: 2 })
      expect((yield* engine.readDirectory).projects.get("prj_2")).toMatchObject({ partition: 2 })
      yield* close()
      const { text } = yield* exported(directory, { project: "mall", environment: "sandbox" })
      expect(text).toContain('"name":"mall"')
      expect(text).not.toContain("partition")
    }),
  )

  it.live(
    "with a bad line makes nothing, and each is told by its number with all that is wrong",
    () =>
      Effect.gen(function* () {
        const { directory, host } = yield* written
        // All of it in the snapshot: a record in the journal would put right what a value says.
        yield* Effect.flatMap(running({ directory, host }), ({ close }) => close())
        const { text } = yield* exported(directory)
        const lines = text.trimEnd().split("\n")
        const user = lines.findIndex((line) => line.includes('"table":"users"'))
        const last = lines.length
        const changed = (at: number, change: (line: string) => string) =>
          lines
            .map((line, index) => (index === at ? change(line) : line))
            .join("\n")
            .concat("\n")
        const without = (...gone: ReadonlyArray<number>) =>
          lines
            .filter((_, index) => !gone.includes(index))
            .join("\n")
            .concat("\n")

        expect(yield* faultsOf(changed(user, () => "{"))).toContain(
          `Line ${user + 1}: it is no JSON`,
        )
        const strange = JSON.stringify({ kind: "entry", table: "moon", key: [] })
        const [several] = yield* faultsOf(changed(user, () => strange))
        expect(several).toMatch(new RegExp(`^Line ${user + 1}: table: .*; key`))
        const many = changed(user, () => "{").replace('"kind":"record"', '"kind":"recurd"')
        expect((yield* faultsOf(many)).length).toBeGreaterThanOrEqual(2)
        expect(
          yield* faultsOf(changed(user, (line) => line.replace('"user":', '"json":'))),
        ).toContain(`Line ${user + 1}: its value is not that of its table`)
        expect(yield* faultsOf(changed(user, (line) => `${line}\n${line}`))).toContain(
          `Line ${user + 2}: its key should come earlier, or was there before`,
        )
        expect(yield* faultsOf(without(last - 2))).toContain(
          `Line ${last - 1}: ${last - 1} lines should come before it, not ${last - 2}`,
        )
        for (const part of [text.slice(0, -5), `${lines.slice(0, 9).join("\n")}\n`, "", "x"]) {
          const [first] = yield* faultsOf(part)
          expect(first).toMatch(/^Line \d+: the file ends before the line with kind end/)
        }
        for (const format of [exportFormat - 1, exportFormat + 1]) {
          const other = changed(0, (line) => line.replace(/"format":\d+/, `"format":${format}`))
          expect((yield* faultsOf(other))[0]).toContain(
            `Line 1: it has format ${format}, and this version of Laurel reads exports of format ${exportFormat} alone`,
          )
        }
        expect((yield* faultsOf(without(0)))[0]).toBe(
          "Line 1: the first line, and no other, is the header",
        )
        expect((yield* faultsOf(Buffer.from([0xff, 10])))[0]).toBe("Line 1: it is no UTF-8")
        const long = `${lines[0]}\n${"x".repeat(limits.exportLineBytesMax + 1_048_576)}`
        expect((yield* faultsOf(long))[0]).toContain(`Line 2: it is longer than`)

        const richer = changed(user, (line) => line.replace(/"xp":\d+/, '"xp":999999'))
        expect(yield* faultsOf(richer)).toContain(
          `Line ${last}: the lines before it differ from those exported: their sha256 is another`,
        )
        // Without the checksum it is the sums that do not agree.
        const edited = richer.replace(/,"sha256":"[0-9a-f]+"/, "")
        expect((yield* faultsOf(edited))[0]).toMatch(
          /^The whole does not add up: User "u\d" of \S+ differs from its records: xp is 999999/,
        )
      }),
  )
})
