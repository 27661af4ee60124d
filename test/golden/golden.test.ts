/**
 * The bytes of each stored form: today's code reads the golden data (`data/make.ts`) and writes the
 * same bytes. A change that these tests do not bear is a new format (`src/storage/format.ts`), and
 * takes `npm run golden:make`.
 */
import { readdir, readFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"
import { Counts } from "../../src/engine/actor/Counts.ts"
import { exportLines } from "../../src/engine/archive/exports/ExportJob.ts"
import { bodyOf, valueForm } from "../../src/engine/archive/exports/ExportLines.ts"
import { importLines } from "../../src/engine/archive/exports/ImportJob.ts"
import { joinPieces, keptEntries } from "../../src/engine/dedupe/KeptAnswers.ts"
import {
  decodeDirectory,
  decodeProject,
  decodeRecord,
  encodeDirectory,
  encodeProject,
  encodeRecord,
} from "../../src/engine/records/Codec.ts"
import { decodeManifestText, encodeManifest } from "../../src/storage/archive/ArchiveManifest.ts"
import { draftIn } from "../../src/storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../src/storage/disk/NodeDisk.ts"
import { batchRecords } from "../../src/storage/Frames.ts"
import { scanJournal } from "../../src/storage/journal/JournalScan.ts"
import { SegmentWriter } from "../../src/storage/journal/SegmentWriter.ts"
import { compositeKey, keyParts, rangeOf } from "../../src/storage/Keys.ts"
import { openLmdbStore } from "../../src/storage/lmdb/LmdbStore.ts"
import { type Table, tables } from "../../src/storage/Storage.ts"
import { encodeValue, openValue } from "../../src/storage/Values.ts"
import { alone } from "../engine/archive/fixture.ts"
import { temporaryFolder } from "../storage/temporaryFolder.ts"
import { unpacked } from "./data/unpacked.ts"

interface Stored {
  readonly table: Table
  readonly key: Buffer
  readonly value: Buffer
}

const valuesIn = Effect.fnUntraced(function* (directory: string) {
  const store = yield* openLmdbStore({ folder: path.join(directory, "live") })
  const stored: Array<Stored> = []
  for (const table of tables) {
    const range = { table, ...rangeOf(new Uint8Array()) }
    for (const [key, value] of (yield* Stream.runCollect(store.readEntries(range))).flat()) {
      stored.push({ table, key: Buffer.from(key), value: Buffer.from(value) })
    }
  }
  return stored
})

const textOf = (...parts: ReadonlyArray<string>) =>
  Effect.promise(() => readFile(path.join(...parts), "utf8"))

const openedBody = (value: Uint8Array): Buffer => {
  const body = openValue(value)
  if (typeof body === "string") throw new Error(body)
  return Buffer.from(body)
}

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

describe("Today's code writes the bytes that it reads", () => {
  it.live("of a journal", () =>
    Effect.gen(function* () {
      const folder = path.join(yield* unpacked, "journal")
      const copy = yield* temporaryFolder
      let records = 0
      let writer: SegmentWriter | undefined
      const end = yield* scanJournal({ disk: nodeDisk, folder }, (batches) =>
        Effect.gen(function* () {
          for (const batch of batches) {
            for (const { body } of batchRecords(batch, 1) ?? []) {
              expect(encodeRecord(decodeRecord(body))).toBe(Buffer.from(body).toString())
              records++
            }
            writer ??= new SegmentWriter({
              disk: nodeDisk,
              folder: copy,
              after: { lastSequence: batch.firstSequence - 1, checksum: batch.previous },
            })
            yield* writer.write(batch)
          }
        }),
      )
      expect(end.fault).toBeUndefined()
      expect(records).toBeGreaterThan(10)
      yield* writer!.end
      for (const name of yield* Effect.promise(() => readdir(copy))) {
        if (!name.endsWith(".segment")) continue
        const written = yield* Effect.promise(() => readFile(path.join(copy, name)))
        const golden = yield* Effect.promise(() => readFile(path.join(folder, name)))
        // A segment that is written to ends with zeros.
        expect(golden.subarray(0, written.length)).toEqual(written)
        expect(golden.subarray(written.length).every((byte) => byte === 0)).toBe(true)
      }
    }),
  )

  it.live("of values", () =>
    Effect.gen(function* () {
      const stored = yield* Effect.scoped(Effect.flatMap(unpacked, valuesIn))
      expect(new Set(stored.map(({ table }) => table)).size).toBeGreaterThan(9)
      for (const { key, table, value } of stored) {
        expect(compositeKey(...keyParts(key))).toEqual(key)
        const body = openedBody(value)
        expect(encodeValue(body)).toEqual(value)
        const again = rewritten(table, key, body)
        expect(again === undefined ? body : Buffer.from(again)).toEqual(body)
        // Callers' ids have a form that people can read.
        if (table === "eventIds") {
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

  it.live("of an archive's manifest and an export", () =>
    Effect.gen(function* () {
      const directory = yield* unpacked
      const archives = path.join(directory, "archive")
      const [id] = yield* Effect.promise(() => readdir(archives))
      const manifest = yield* textOf(archives, id!, "manifest.json")
      expect(encodeManifest(Result.getOrThrow(decodeManifestText(manifest)))).toBe(manifest)

      const source = path.join(directory, "export.ndjson")
      const golden = yield* textOf(source)
      const target = yield* temporaryFolder
      yield* Effect.scoped(importLines({ directory: target, file: source }, alone))
      const { createdAt, laurel } = JSON.parse(golden.split("\n")[0]!)
      const file = path.join(target, "export")
      const at = Date.parse(createdAt)
      const wish = { folder: draftIn(target), file, laurel, at, scope: null }
      yield* Effect.scoped(exportLines(wish, alone))
      expect(yield* textOf(file)).toBe(golden)
    }),
  )
})
