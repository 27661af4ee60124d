/**
 * Writes an export (`ExportLines`) of a data directory, also beside the server that has it, or of an archive: the
 * snapshot as of one moment, then the journal after it. Memory: the journal's tail, and a value at a time.
 *
 * An export of one environment has its entries, its project and its records. Empty records replace those of others,
 * so that the journal has no gaps; keys and webhook deliveries are left out.
 */

import { createHash } from "node:crypto"
import path from "node:path"
import { Effect } from "effect"
import { noAccounts } from "../../domain/accounts/Account.ts"
import {
  type EnvironmentName,
  environmentId,
  type Project,
  projectNamed,
} from "../../domain/project/Directory.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { type DiskError, type DiskFile, removeTree } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { batchRecords } from "../../storage/Frames.ts"
import { damageOf, faultText, scanJournal } from "../../storage/journal/JournalScan.ts"
import { keyParts } from "../../storage/Keys.ts"
import { type Table, tables } from "../../storage/Storage.ts"
import { openValue, valueFault } from "../../storage/Values.ts"
import { decodeRecord, encodeDirectory } from "../records/Codec.ts"
import { exportFormat, type Line, valueForm } from "./ExportLines.ts"
import { FaultList } from "./Findings.ts"
import { damaged, durableEnd, type ExportScope, type JobCode, JobFailed } from "./Jobs.ts"
import { emptyRecord, environmentAt } from "./ProjectHistory.ts"
import { SavedState } from "./SavedState.ts"

const pieceCharacters = 1_048_576

/** Buffers lines for a file. */
class Writer {
  readonly #file: DiskFile
  readonly #hash = createHash("sha256")
  #waiting: Array<string> = []
  #characters = 0
  #position = 0
  lines = 0

  constructor(file: DiskFile) {
    this.#file = file
  }

  /** Of all flushed lines. */
  get sha256(): string {
    return this.#hash.copy().digest("hex")
  }

  write(line: Line | { readonly kind: "record"; readonly record: JournalRecord }): void {
    const text = `${JSON.stringify(line)}\n`
    this.#waiting.push(text)
    this.#characters += text.length
    this.lines++
  }

  get isFull(): boolean {
    return this.#characters >= pieceCharacters
  }

  readonly flush: Effect.Effect<void, DiskError> = Effect.suspend(() => {
    const bytes = Buffer.from(this.#waiting.join(""))
    const at = this.#position
    this.#hash.update(bytes)
    this.#waiting = []
    this.#characters = 0
    this.#position += bytes.length
    return this.#file.write(at, [bytes])
  })
}

export const exportLines: JobCode<"export"> = Effect.fnUntraced(function* (input, context) {
  const { file, folder, laurel, scope } = input
  const draft = `${file}.draft`
  const faults = new FaultList()
  const saved = yield* SavedState.open({
    folder,
    fault: faults.add,
    until: durableEnd(context),
  })
  const exported = scope === null ? undefined : yield* projectOf(saved, scope)
  const environment = exported && environmentId(exported.id, scope!.environment as EnvironmentName)
  const shown = scope && { project: scope.project, environment: scope.environment }
  const { lastSequence, watermark } = saved
  const damage = damageOf(saved.tail.end)
  if (damage !== undefined) faults.add(faultText(damage))
  const counts = { entries: 0, records: 0 }
  const write = Effect.fnUntraced(function* (opened: DiskFile) {
    const writer = new Writer(opened)
    const createdAt = new Date(input.at).toISOString()
    const header = { kind: "header", format: exportFormat, laurel, createdAt } as const
    writer.write({ ...header, scope: shown, watermark, sequence: lastSequence })
    const total = saved.totalEntries
    for (const table of tables) {
      if (exported !== undefined && table !== "meta") addShared(writer, table, saved, exported)
      for (const [key, value] of saved.entries(table)) {
        if (
          environment !== undefined &&
          keyParts(key)[environmentAt[table] ?? -1] !== environment
        ) {
          continue
        }
        const body = openValue(value)
        if (typeof body === "string") {
          return yield* damaged(valueFault(table, key, body))
        }
        const parts = keyParts(key) as [string | number, ...Array<string | number>]
        writer.write({ kind: "entry", table, key: parts, ...valueForm(table, body) })
        counts.entries++
        if (!writer.isFull) continue
        yield* writer.flush
        context.progress({ activity: "Exporting", done: counts.entries, total })
      }
      if (exported !== undefined && table === "meta") addShared(writer, table, saved, exported)
    }
    const from = Math.max(1, watermark)
    const until = lastSequence
    yield* scanJournal(
      { disk: nodeDisk, folder: path.join(folder, "journal"), from, until },
      (batches) =>
        Effect.gen(function* () {
          for (const batch of batches) {
            for (const { body, sequence } of batchRecords(batch, from) ?? []) {
              if (sequence > until) break
              const record = decodeRecord(body)
              writer.write({ kind: "record", record: ofEnvironment(record, environment) })
              counts.records++
            }
          }
          if (writer.isFull) yield* writer.flush
        }),
    )
    if (faults.count > 0) return yield* damaged(faults.shown[0]!)
    const { lines } = writer
    yield* writer.flush
    writer.write({ kind: "end", lines, sha256: writer.sha256 })
    yield* writer.flush
    yield* opened.sync
  })
  const opened = Effect.acquireUseRelease(
    nodeDisk.open(draft, "create"),
    write,
    (each) => each.close,
  )
  yield* Effect.onError(opened, () => Effect.ignore(removeTree(nodeDisk, draft)))
  yield* nodeDisk.rename(draft, file)
  yield* nodeDisk.syncFolder(path.dirname(file))
  return { ...counts, sequence: lastSequence }
})

const projectOf = (
  saved: SavedState,
  { known, project }: ExportScope,
): Effect.Effect<Project, JobFailed> => {
  const found = known ?? projectNamed(saved.readDirectory(), project)
  return found === undefined
    ? new JobFailed({ kind: "refused", detail: `There is no project ${project}` })
    : Effect.succeed(found)
}

/** Shared entries that every environment needs; their keys sort before or after all others. */
const addShared = (writer: Writer, table: Table, saved: SavedState, exported: Project): void => {
  if (table === "meta") {
    const json = { watermark: saved.watermark, at: 0, journal: [] }
    writer.write({ kind: "entry", table, key: ["snapshot"], json })
  } else if (table === "actors") {
    // The partitions of another cluster, or of none, are others.
    const { partition: _, ...project } = exported
    const { sequence } = saved.readDirectory()
    const text = encodeDirectory({
      sequence,
      hashSecret: null,
      projects: new Map([[project.id, project]]),
      keys: new Map(),
      ...noAccounts,
    })
    writer.write({ kind: "entry", table, key: ["directory"], json: JSON.parse(text) })
  } else if (table === "outbox") {
    // The exporting machine has sent all webhook messages (`webhooks/store/DeliveryStore.ts`).
    writer.write({ kind: "entry", table, key: ["cursor"], json: saved.lastSequence })
  }
}

/** The record, or an empty one if it belongs to another environment. */
const ofEnvironment = (record: JournalRecord, environment: string | undefined): JournalRecord => {
  const { subject } = record
  if (environment === undefined) return record
  if (subject.actor !== "directory" && subject.environment === environment) return record
  return emptyRecord(record)
}
