/**
 * Writes an export (`ExportLines`) of a data directory, also beside the server that has it, or of
 * an archive: the snapshot as of one moment, then the journal from its beginning. Memory: a value
 * and a piece of the journal at a time.
 *
 * An export of one environment has its entries, its project and its records. Those of others are a
 * gap up to the watermark, and empty records after it, which a start reads; keys and webhook
 * deliveries are left out. It also has the environment's records from before its partition was
 * gathered, whose numbers an export of everything cannot have.
 */

import { createHash } from "node:crypto"
import path from "node:path"
import { Effect } from "effect"
import { noAccounts } from "../../../domain/accounts/Account.ts"
import {
  type EnvironmentName,
  environmentId,
  type Project,
  projectNamed,
} from "../../../domain/project/Directory.ts"
import type { JournalRecord } from "../../../domain/record/Record.ts"
import { type DiskError, type DiskFile, removeTree } from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { remainsIn } from "../../../storage/Frames.ts"
import { damageOf, faultText } from "../../../storage/journal/JournalScan.ts"
import { keyParts } from "../../../storage/Keys.ts"
import { type Table, tables } from "../../../storage/Storage.ts"
import { openValue, valueFault } from "../../../storage/Values.ts"
import { encodeDirectory } from "../../records/Codec.ts"
import { namesPrefix } from "../../records/Names.ts"
import { secretPrefix } from "../../users/StoredBucket.ts"
import { type GatheredJournal, type RecordVisitor, SavedState } from "../check/SavedState.ts"
import { FaultList } from "../jobs/Findings.ts"
import {
  damaged,
  durableEnd,
  type ExportScope,
  type Input,
  type JobCode,
  type JobContext,
  JobFailed,
} from "../jobs/Jobs.ts"
import { emptyRecord, environmentAt } from "../restore/ProjectHistory.ts"
import { exportFormat, type Header, type Line, userForm, valueForm } from "./ExportLines.ts"

const pieceCharacters = 1_048_576

/** Buffers lines for a file. */
class Writer {
  readonly #file: DiskFile
  readonly #hash = createHash("sha256")
  #waiting: Array<string> = []
  #characters = 0
  #position = 0
  #lines = 0

  constructor(file: DiskFile) {
    this.#file = file
  }

  write(line: Line | { readonly kind: "record"; readonly record: JournalRecord }): void {
    const text = `${JSON.stringify(line)}\n`
    this.#waiting.push(text)
    this.#characters += text.length
    this.#lines++
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

  /** Writes the line with kind end. */
  readonly end: Effect.Effect<void, DiskError> = Effect.gen({ self: this }, function* () {
    const lines = this.#lines
    yield* this.flush
    this.write({ kind: "end", lines, sha256: this.#hash.copy().digest("hex") })
    yield* this.flush
  })
}

/** What an export has: everything, or one environment of a project. */
interface Exported {
  readonly saved: SavedState
  /** `undefined`: everything. */
  readonly only: { readonly project: Project; readonly environment: string } | undefined
}

export const exportLines: JobCode<"export"> = Effect.fnUntraced(function* (input, context) {
  const { file, folder, scope } = input
  const faults = new FaultList()
  const saved = yield* SavedState.open({
    folder,
    fault: faults.add,
    until: durableEnd(context),
  })
  const only = scope === null ? undefined : yield* onlyOf(saved, scope)
  const damage = damageOf(saved.tail.end)
  if (damage !== undefined) faults.add(faultText(damage))
  const write = Effect.fnUntraced(function* (opened: DiskFile) {
    const writer = new Writer(opened)
    const gathered = (yield* saved.gathered).filter(
      ({ environments }) => only !== undefined && environments.has(only.environment),
    )
    const first = gathered.length === 0 ? saved.firstSequence : 1
    writer.write(headerOf(input, saved, first))
    const entries = yield* writeEntries(writer, { saved, only }, context)
    const records = yield* writeRecords(writer, { saved, only }, first, gathered)
    if (faults.count > 0) return yield* damaged(faults.shown[0]!)
    yield* writer.end
    yield* opened.sync
    return { entries, records }
  })
  const draft = `${file}.draft`
  const counts = yield* Effect.onError(
    Effect.acquireUseRelease(nodeDisk.open(draft, "create"), write, (each) => each.close),
    () => Effect.ignore(removeTree(nodeDisk, draft)),
  )
  yield* nodeDisk.rename(draft, file)
  yield* nodeDisk.syncFolder(path.dirname(file))
  return { ...counts, sequence: saved.lastSequence }
})

const headerOf = (
  { at, laurel, scope }: Input<"export">,
  saved: SavedState,
  first: number,
): Header => ({
  kind: "header",
  format: exportFormat,
  laurel,
  createdAt: new Date(at).toISOString(),
  scope: scope && { project: scope.project, environment: scope.environment },
  watermark: saved.watermark,
  first,
  sequence: saved.lastSequence,
})

/** Writes the entries of all tables; returns their number. */
const writeEntries = Effect.fnUntraced(function* (
  writer: Writer,
  { only, saved }: Exported,
  { progress }: JobContext,
): Effect.fn.Return<number, DiskError | JobFailed> {
  let count = 0
  const written = Effect.fnUntraced(function* () {
    count++
    if (!writer.isFull) return
    yield* writer.flush
    progress({ activity: "Exporting", done: count, total: saved.totalEntries })
  })
  for (const table of tables) {
    // An import makes the rows of both from the users.
    if (table === "userIds" || table === "teamMembers") continue
    if (table === "buckets") {
      for (const user of saved.stored.inOrder()) {
        const { environment, userId } = user
        if (only !== undefined && environment !== only.environment) continue
        const state = saved.stored.read(user)
        if (state === undefined) continue
        const form = userForm(state, saved.stored.dueOf(user))
        writer.write({ kind: "entry", table: "users", key: [environment, userId], user: form })
        yield* written()
      }
      continue
    }
    if (only !== undefined && table !== "meta") addShared(writer, table, saved, only.project)
    for (const [key, value] of saved.entries(table)) {
      const parts = keyParts(key) as [string | number, ...Array<string | number>]
      if (table === "meta" && ofBuckets.has(parts[0])) continue
      if (only !== undefined && parts[environmentAt[table] ?? -1] !== only.environment) continue
      const body = openValue(value)
      if (typeof body === "string") return yield* damaged(valueFault(table, key, body))
      writer.write({ kind: "entry", table, key: parts, ...valueForm(table, body) })
      yield* written()
    }
    if (only !== undefined && table === "meta") addShared(writer, table, saved, only.project)
  }
  return count
})

/** Values of `meta` that only buckets need: an import makes new buckets. */
const ofBuckets: ReadonlySet<string | number> = new Set([namesPrefix, secretPrefix])

/** Writes the records of the gathered journals and of the directory's own; returns their number. */
const writeRecords = Effect.fnUntraced(function* (
  writer: Writer,
  { only, saved }: Exported,
  first: number,
  gathered: ReadonlyArray<GatheredJournal>,
): Effect.fn.Return<number, DiskError> {
  let count = 0
  let last = first - 1
  const gapTo = (through: number) => {
    if (through > last) writer.write({ kind: "gap", through })
    last = through
  }
  const visitor: RecordVisitor = {
    record: ({ record }) => {
      const { sequence } = record
      const isLeftOut = only !== undefined && !isOf(record, only.environment)
      if (isLeftOut && sequence <= saved.watermark) return
      gapTo(sequence - 1)
      writer.write({ kind: "record", record: isLeftOut ? emptyRecord(record) : record })
      last = sequence
      count++
    },
    // The entries may still have the user.
    erased: (stored) => {
      const { previous, sequence } = stored
      if (sequence <= saved.watermark) return
      const remains = remainsIn(stored)
      const isLeftOut = only !== undefined && remains?.environment !== only.environment
      const left = remains !== undefined && !isLeftOut && { remains }
      if (previous === 0 && left === false) return
      gapTo(sequence - 1)
      const before = previous > 0 && { previous }
      writer.write({ kind: "gap", through: sequence, ...before, ...left })
      last = sequence
    },
    rest: Effect.suspend(() => (writer.isFull ? writer.flush : Effect.void)),
  }
  for (const journal of gathered) yield* saved.eachRecord(last + 1, visitor, journal)
  yield* saved.eachRecord(saved.firstSequence, visitor)
  gapTo(saved.lastSequence)
  return count
})

const isOf = ({ subject }: JournalRecord, environment: string): boolean =>
  subject.actor !== "directory" && subject.environment === environment

/** The project and the id of the environment. */
export const onlyOf = (
  saved: SavedState,
  { environment, known, project }: ExportScope,
): Effect.Effect<NonNullable<Exported["only"]>, JobFailed> => {
  const found = known ?? projectNamed(saved.readDirectory(), project)
  return found === undefined
    ? new JobFailed({ kind: "refused", detail: `There is no project ${project}` })
    : Effect.succeed({
        project: found,
        environment: environmentId(found.id, environment as EnvironmentName),
      })
}

/** Shared entries that every environment needs; their keys sort before or after all others. */
const addShared = (writer: Writer, table: Table, saved: SavedState, exported: Project): void => {
  if (table === "meta") {
    const json = { watermark: saved.watermark, at: saved.markedAt }
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
