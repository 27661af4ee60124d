/**
 * The bytes of version 1 of each format, made at commit 567dbcd: today's code reads them, and writes the same ones. A change
 * that these tests do not bear needs a new version, and a way to read the old one. `data/` has whole data directories.
 */

import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import path from "node:path"
import { crc32 } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { Counts } from "../../src/engine/actor/Counts.ts"
import { exportLines } from "../../src/engine/archive/ExportJob.ts"
import { bodyOf, valueForm } from "../../src/engine/archive/ExportLines.ts"
import { importLines } from "../../src/engine/archive/ImportJob.ts"
import { verifyLive } from "../../src/engine/archive/Verification.ts"
import { joinPieces, keptEntries } from "../../src/engine/dedupe/KeptAnswers.ts"
import {
  decodeDirectory,
  decodeProject,
  decodeRecord,
  encodeDirectory,
  encodeProject,
  encodeRecord,
} from "../../src/engine/records/Codec.ts"
import { decodeUser } from "../../src/engine/records/UserCodec.ts"
import { decodeManifestText, encodeManifest } from "../../src/storage/archive/ArchiveManifest.ts"
import { draftIn } from "../../src/storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../src/storage/disk/NodeDisk.ts"
import * as DurableStorage from "../../src/storage/durable/DurableStorage.ts"
import { batchRecords } from "../../src/storage/Frames.ts"
import { scanJournal } from "../../src/storage/journal/JournalScan.ts"
import { SegmentWriter } from "../../src/storage/journal/SegmentWriter.ts"
import { compositeKey, keyParts } from "../../src/storage/Keys.ts"
import { openTable, openWritable } from "../../src/storage/lmdb/environment.ts"
import { type Table, tables } from "../../src/storage/Storage.ts"
import { encodeValue, openValue } from "../../src/storage/Values.ts"
import { alone } from "../engine/archive/fixture.ts"
import { temporaryFolder } from "../storage/temporaryFolder.ts"

const set = path.join(import.meta.dirname, "1")
const read = (name: string) => Effect.promise(() => readFile(path.join(set, name)))

interface Stored {
  readonly table: Table
  readonly key: Buffer
  readonly value: Buffer
}

const values = Effect.map(read("values.hex"), (text) =>
  text
    .toString()
    .trimEnd()
    .split("\n")
    .map((line): Stored => {
      const [table, key, value] = line.split(" ")
      return {
        table: table as Table,
        key: Buffer.from(key!, "hex"),
        value: Buffer.from(value!, "hex"),
      }
    }),
)

/** Streaks of that time are read, and written in the present form (`formerStreaks.ts`). */
const hasFormerStreak = (text: string): boolean => text.includes('"runs":[')

const manifest = Effect.map(read("manifest.json"), (text) =>
  Result.getOrThrow(decodeManifestText(text.toString())),
)

/** A data directory of the golden bytes; `change` may spoil a value. */
const directoryOf = Effect.fnUntraced(function* (
  change: (stored: Stored) => Uint8Array = ({ value }) => value,
) {
  const directory = yield* temporaryFolder
  const stored = yield* values
  yield* Effect.promise(async () => {
    await cp(path.join(set, "journal"), path.join(directory, "journal"), { recursive: true })
    await mkdir(path.join(directory, "live"))
    const root = openWritable(path.join(directory, "live"))
    for (const each of stored) await openTable(root, each.table)!.put(each.key, change(each))
    await root.close()
  })
  return directory
})

const openedBody = (value: Uint8Array): Buffer => {
  const body = openValue(value)
  if (typeof body === "string") throw new Error(body)
  return Buffer.from(body)
}

describe("The golden set of version 1", () => {
  it.effect("has values of every table", () =>
    Effect.gen(function* () {
      expect([...new Set((yield* values).map(({ table }) => table))]).toEqual([...tables])
    }),
  )

  it.live("is a data directory that passes its check, as the manifest says", () =>
    Effect.gen(function* () {
      const directory = yield* directoryOf()
      const findings = yield* Effect.scoped(verifyLive({ directory }, alone))
      const { counts, sequence, sums } = yield* manifest
      expect(findings).toMatchObject({ faults: [], sums, sequence })
      expect(findings.counts).toMatchObject(counts)
    }),
  )

  it.live("is exported as it was, and what was exported is imported", () =>
    Effect.gen(function* () {
      const folder = yield* directoryOf()
      const file = path.join(yield* temporaryFolder, "export")
      const golden = (yield* read("export.ndjson")).toString().split("\n")
      const { createdAt, laurel } = JSON.parse(golden[0]!)
      const wish = { folder, file, laurel, at: Date.parse(createdAt), scope: null }
      yield* Effect.scoped(exportLines(wish, alone))
      const lines = (yield* Effect.promise(() => readFile(file, "utf8"))).split("\n")
      expect(lines).toHaveLength(golden.length)
      for (const [index, line] of golden.slice(0, -2).entries()) {
        if (!hasFormerStreak(line)) expect(lines[index]).toBe(line)
      }
      const directory = yield* temporaryFolder
      const importing = { directory, file: path.join(set, "export.ndjson") }
      const findings = yield* Effect.scoped(importLines(importing, alone))
      expect(findings.faults).toEqual([])
      expect(yield* Effect.promise(() => readdir(draftIn(directory)))).toEqual(["journal", "live"])
    }),
  )

  it.live("has a journal of which today's code writes the same bytes", () =>
    Effect.gen(function* () {
      const folder = path.join(set, "journal")
      const copy = yield* temporaryFolder
      const after = { lastSequence: 0, checksum: 0 }
      const writer = new SegmentWriter({ disk: nodeDisk, folder: copy, after })
      const end = yield* scanJournal({ disk: nodeDisk, folder }, (batches) =>
        Effect.gen(function* () {
          for (const batch of batches) {
            for (const { body } of batchRecords(batch, 1) ?? []) {
              const text = Buffer.from(body).toString()
              if (!hasFormerStreak(text)) expect(encodeRecord(decodeRecord(body))).toBe(text)
            }
            yield* writer.write(batch)
          }
        }),
      )
      expect(end.fault).toBeUndefined()
      yield* writer.end
      for (const name of yield* Effect.promise(() => readdir(folder))) {
        const written = yield* Effect.promise(() => readFile(path.join(copy, name)))
        expect(written).toEqual(yield* read(path.join("journal", name)))
      }
    }),
  )

  it.effect("has values and a manifest of which today's code writes the same bytes", () =>
    Effect.gen(function* () {
      const text = (yield* read("manifest.json")).toString()
      expect(encodeManifest(yield* manifest)).toBe(text)
      const stored = yield* values
      for (const { key, table, value } of stored) {
        expect(compositeKey(...keyParts(key))).toEqual(key)
        const body = openedBody(value)
        expect(encodeValue(body)).toEqual(value)
        if (hasFormerStreak(Buffer.from(body).toString())) continue
        const again = rewritten(table, key, body)
        expect(again === undefined ? body : Buffer.from(again)).toEqual(body)
        // Users and histories have a form that people can read.
        if (table === "users" || table === "history") {
          const form = valueForm(table, body)
          expect(form).not.toHaveProperty("base64")
          expect(bodyOf(table, form)).toEqual(body)
        }
      }
      for (const [, pieces] of Map.groupBy(ofTable(stored, "idempotency"), ({ key }) =>
        JSON.stringify(keyParts(key).slice(0, 2)),
      )) {
        const entries = keptEntries(joinPieces(pieces.map(({ value }) => openedBody(value))))
        for (const entry of entries) {
          const golden = ofTable(stored, entry.table).find(({ key }) => key.equals(entry.key))
          expect(golden?.value).toEqual(entry.value)
        }
      }
    }),
  )

  it.effect("means what it meant", () =>
    Effect.gen(function* () {
      const users = ofTable(yield* values, "users").map(({ value }) => {
        const { badges, id, points, profile, questsCompleted, streaks, xp } = decodeUser(
          openedBody(value),
        )
        const { attributes, displayName } = profile
        const best = [...streaks.values()].map((streak) => streak.best)
        return {
          id,
          xp,
          points,
          questsCompleted,
          badges: badges.size,
          displayName,
          attributes,
          best,
        }
      })
      const nobody = {
        points: 4,
        questsCompleted: 2,
        best: [1],
        displayName: null,
        attributes: {},
      }
      expect(users).toEqual(goldenUsers.map((user) => ({ ...nobody, ...user })))
    }),
  )
})

const ofTable = (stored: ReadonlyArray<Stored>, table: Table) =>
  stored.filter((each) => each.table === table)

/** The body of a value, decoded and encoded again, where it is an actor's or counts. */
const rewritten = (table: Table, key: Buffer, body: Buffer): Uint8Array | string | undefined => {
  const [kind, environment] = keyParts(key)
  if (table === "actors") {
    return kind === "directory"
      ? encodeDirectory(decodeDirectory(body))
      : encodeProject(decodeProject(body))
  }
  if (table !== "meta" || kind !== "counts") return undefined
  const counts = new Counts()
  counts.load(body)
  return openedBody(counts.entry(environment as string).value!)
}

describe("A format of a newer Laurel", () => {
  const failureOf = Effect.fnUntraced(function* (directory: string) {
    const opened = Effect.scoped(DurableStorage.open({ directory }))
    return (yield* Effect.flip(opened)).message
  })

  it.live("is told apart from damage in the journal, and nothing is changed", () =>
    Effect.gen(function* () {
      const directory = yield* directoryOf()
      const file = path.join(directory, "journal", "00000000000000000001.segment")
      const bytes = yield* Effect.promise(() => readFile(file))
      const write = (version: number) => {
        bytes.writeUInt32LE(version, 8)
        bytes.writeUInt32LE(crc32(bytes.subarray(0, 24)), 24)
        return Effect.promise(() => writeFile(file, bytes))
      }
      yield* write(2)
      expect(yield* failureOf(directory)).toContain("was written by a newer Laurel")
      expect(yield* Effect.promise(() => readFile(file))).toEqual(bytes)
      // A version that never was is no older one: it is not taken for today's.
      yield* write(0)
      expect(yield* failureOf(directory)).toContain("The journal is damaged at byte 0")
    }),
  )

  it.effect("is told apart from damage in each value, and so is one that never was", () =>
    Effect.gen(function* () {
      for (const { value } of yield* values) {
        for (const [version, words] of [
          [3, "has format 3: it was written by a newer Laurel"],
          [0, "has format 0, which no Laurel has written"],
        ] as const) {
          const other = Buffer.from(value)
          other[0] = version
          other.writeUInt32LE(crc32(other.subarray(0, -4)), other.length - 4)
          expect(openValue(other)).toBe(words)
        }
      }
    }),
  )

  it.live("is named by the check of a directory, with the table and the key", () =>
    Effect.gen(function* () {
      const directory = yield* directoryOf(({ key, table, value }) => {
        if (table !== "users" || keyParts(key)[1] !== "bob") return value
        const newer = Buffer.from(value)
        newer[0] = 3
        newer.writeUInt32LE(crc32(newer.subarray(0, -4)), newer.length - 4)
        return newer
      })
      const { faults } = yield* Effect.scoped(verifyLive({ directory }, alone))
      expect(faults[0]).toMatch(
        /^The value \["prj_\w+:sandbox","bob"\] of table users has format 3: it was written by a newer Laurel$/,
      )
    }),
  )
})

/** 10 xp a tap, 2 points a page read, 5 xp a week for two taps, by what was sent. */
const goldenUsers: ReadonlyArray<object> = [
  { id: "ada", xp: 70, badges: 0, displayName: "Ada", attributes: { plan: "pro" } },
  { id: "bob", xp: 50, badges: 1 },
  { id: "ève 𝄞", xp: 50, badges: 0 },
]
