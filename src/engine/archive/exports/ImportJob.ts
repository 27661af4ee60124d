/**
 * Builds a data directory from an export (`ExportLines`), in `restore.draft` (`ArchiveSwap`):
 * writes snapshot and journal line by line, flushes them, and checks them like an archive. A file
 * with a bad line gives no data directory; the report has each bad line, up to
 * `verificationFaultsMax`, by number with all its faults.
 */
import { createHash, type Hash } from "node:crypto"
import path from "node:path"
import { Effect, Result, type Scope } from "effect"
import { limits } from "../../../Limits.ts"
import { inDraft } from "../../../storage/archive/ArchiveSwap.ts"
import { type DiskFile, withFile } from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { compositeKey } from "../../../storage/Keys.ts"
import { type LmdbStore, openLmdbStore } from "../../../storage/lmdb/LmdbStore.ts"
import type { Table } from "../../../storage/Storage.ts"
import { encodeValue } from "../../../storage/Values.ts"
import { NewUsers } from "../check/SavedUsers.ts"
import { verifyDraft } from "../check/Verification.ts"
import { EntryWriter } from "../jobs/EntryWriter.ts"
import { FaultList, type Findings } from "../jobs/Findings.ts"
import { type JobCode, type JobContext, JobFailed } from "../jobs/Jobs.ts"
import {
  decodeLine,
  type End,
  type Entry as EntryLine,
  type ExportedTable,
  entryOf,
  exportedTables,
  type Header,
  type Line,
  userOf,
} from "./ExportLines.ts"
import { RecordWriter } from "./RecordWriter.ts"

const pieceBytes = 1_048_576
const newline = 10

export const importLines: JobCode<"import"> = ({ directory, file }, context) =>
  inDraft(nodeDisk, directory, (draft) => fill(file, draft, context))

const fill = Effect.fnUntraced(function* (
  file: string,
  draft: string,
  context: JobContext,
): Effect.fn.Return<Findings & { readonly sequence: number }, unknown, Scope.Scope> {
  const live = path.join(draft, "live")
  const journal = path.join(draft, "journal")
  const header = yield* Effect.scoped(
    Effect.gen(function* () {
      const store = yield* openLmdbStore({ folder: live })
      const reading = new Import(journal, store)
      yield* withFile(nodeDisk, file, "read", (opened) => reading.run(opened, context))
      return reading.header!
    }),
  )
  for (const folder of [live, journal, draft]) yield* nodeDisk.syncFolder(folder)
  const { faults, findings } = yield* verifyDraft(draft, context)
  if (faults.count > 0) {
    return yield* refused(faults.shown.map((words) => `The whole does not add up: ${words}`))
  }
  return { ...findings, sequence: header.sequence }
})

const refused = (lines: ReadonlyArray<string>) =>
  new JobFailed({ kind: "refused", detail: lines.join("\n") })

type RecordLine = Extract<Line, { readonly kind: "record" | "gap" }>

class Import {
  readonly #faults = new FaultList()
  readonly #journal: string
  readonly #entries: EntryWriter
  readonly #hash = createHash("sha256")
  header: Header | undefined
  #end: End | undefined
  #line = 0
  #place: { readonly table: ExportedTable; readonly key: Uint8Array } | undefined
  readonly #users = new NewUsers()
  #writer: RecordWriter | undefined
  #records: Array<RecordLine> = []
  #lastSequence: number | undefined

  constructor(journal: string, store: LmdbStore) {
    this.#journal = journal
    this.#entries = new EntryWriter(store.writeEntries)
  }

  readonly run = Effect.fnUntraced(function* (
    this: Import,
    file: DiskFile,
    { progress }: JobContext,
  ): Effect.fn.Return<void, unknown> {
    const total = yield* file.size
    const memory = Buffer.allocUnsafe(pieceBytes)
    /** Pieces of an incomplete line. */
    let carried: Array<Buffer> = []
    let carriedBytes = 0
    let position = 0
    while (true) {
      const count = yield* file.read(position, memory)
      if (count === 0) break
      position += count
      let start = 0
      const filled = memory.subarray(0, count)
      for (let end = filled.indexOf(newline); end >= 0; end = filled.indexOf(newline, start)) {
        this.#take(Buffer.concat([...carried, filled.subarray(start, end + 1)]))
        carried = []
        carriedBytes = 0
        start = end + 1
      }
      if (start < count) carried.push(Buffer.from(filled.subarray(start)))
      carriedBytes += count - start
      if (carriedBytes > limits.exportLineBytesMax) {
        this.#line++
        this.#fault([`it is longer than ${limits.exportLineBytesMax} bytes`])
        break
      }
      if (this.#faults.count >= limits.verificationFaultsMax) break
      if (this.#faults.count === 0) yield* this.#flush(false)
      progress({ activity: "Importing", done: position, total })
    }
    if (this.#faults.count === 0) this.#complete(carriedBytes)
    if (this.#faults.count > 0) return yield* refused(this.#faults.shown)
    for (const entry of this.#users.entries()) {
      this.#entries.add(entry)
      if (this.#entries.isDue) yield* this.#entries.flush
    }
    yield* this.#flush(true)
  }).bind(this)

  #fault(words: ReadonlyArray<string>): void {
    this.#faults.add(`Line ${this.#line}: ${words.join("; ")}`)
  }

  #take(bytes: Buffer): void {
    this.#line++
    const words = this.#read(bytes)
    if (words.length > 0) this.#fault(words)
  }

  /** Takes a line, or returns its faults. */
  #read(bytes: Buffer): ReadonlyArray<string> {
    const before = this.#hash.copy()
    this.#hash.update(bytes)
    if (this.#end !== undefined) return ["nothing may follow the line with kind end"]
    let text: string
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    } catch {
      return ["it is no UTF-8"]
    }
    const line = decodeLine(text)
    return Result.isFailure(line) ? line.failure : this.#understand(line.success, before)
  }

  #understand(line: Line, hash: Hash): ReadonlyArray<string> {
    if ((line.kind === "header") !== (this.#line === 1)) {
      return ["the first line, and no other, is the header"]
    }
    switch (line.kind) {
      case "header":
        this.header = line
        return fine
      case "entry":
        return this.#entry(line)
      case "record":
        return this.#record(line, line.record.sequence)
      case "gap":
        return this.#record(line, line.through)
      case "end":
        this.#end = line
        if (line.lines !== this.#line - 1) {
          return [`${line.lines} lines should come before it, not ${this.#line - 1}`]
        }
        return line.sha256 === undefined || line.sha256 === hash.digest("hex")
          ? fine
          : ["the lines before it differ from those exported: their sha256 is another"]
    }
  }

  #entry(line: EntryLine): ReadonlyArray<string> {
    if (this.#lastSequence !== undefined) return ["entries come before records"]
    const { table } = line
    const faults = this.#comesNext(table, line.key)
    if (faults.length > 0) return faults
    if (table === "users") return this.#user(line)
    const entry = entryOf(line)
    if (Result.isFailure(entry)) return [entry.failure]
    const { body, key } = entry.success
    this.#entries.add({ table: table as Table, key, value: encodeValue(body) })
    return fine
  }

  #comesNext(table: ExportedTable, parts: EntryLine["key"]): ReadonlyArray<string> {
    let key: Uint8Array
    try {
      key = compositeKey(...parts)
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)]
    }
    const before = this.#place
    const placeOf = (of: ExportedTable) => exportedTables.indexOf(of)
    const byTable = before === undefined ? 1 : placeOf(table) - placeOf(before.table)
    if (byTable < 0) return ["its table should come earlier"]
    if (byTable === 0 && Buffer.compare(key, before!.key) <= 0) {
      return ["its key should come earlier, or was there before"]
    }
    this.#place = { table, key }
    return fine
  }

  #user({ key, user }: EntryLine): ReadonlyArray<string> {
    const [environment, userId] = key
    const read = userOf(user ?? {})
    if (Result.isFailure(read)) return [read.failure]
    if (typeof environment !== "string" || read.success.user.id !== userId) {
      return ["its key is not that of its user"]
    }
    this.#users.add(environment, read.success.user, read.success.due)
    return fine
  }

  /** Takes a line of records up to `sequence`. */
  #record(line: RecordLine, sequence: number): ReadonlyArray<string> {
    const expected =
      this.#lastSequence === undefined ? (this.header?.first ?? 1) : this.#lastSequence + 1
    this.#lastSequence = sequence
    if (line.kind === "gap" ? sequence < expected : sequence !== expected) {
      const member = line.kind === "gap" ? "through" : "record.sequence"
      return [`${member}: it should be ${expected}`]
    }
    if (line.kind === "gap" && line.previous !== undefined && line.previous >= sequence) {
      return [`previous: it should be below ${sequence}`]
    }
    this.#records.push(line)
    return fine
  }

  /** The end of the file, `rest` bytes after the last line. */
  #complete(rest: number): void {
    if (rest > 0 || this.#end === undefined) {
      this.#line++
      this.#fault(["the file ends before the line with kind end: a part of it is missing"])
      return
    }
    const { sequence } = this.header!
    const last = this.#lastSequence ?? 0
    if (last === sequence) return
    this.#line = 1
    this.#fault([`sequence: it is ${sequence}, but the last record is ${last}`])
  }

  /**
   * Writes waiting records, and waiting entries once they fill a transaction; with `all`, in any
   * case.
   */
  readonly #flush = Effect.fnUntraced(function* (this: Import, all: boolean) {
    if (all || this.#entries.isDue) yield* this.#entries.flush
    // The line of the header may be longer than a piece.
    if (this.header === undefined || (this.#records.length === 0 && !all)) return
    this.#writer ??= new RecordWriter(this.#journal, this.header.first)
    const lines = this.#records
    this.#records = []
    for (const line of lines) {
      if (line.kind === "gap") yield* this.#writer.gap(line.through, line)
      else yield* this.#writer.add(line.record)
    }
    if (all) yield* this.#writer.end
  }).bind(this)
}

const fine: ReadonlyArray<string> = []
