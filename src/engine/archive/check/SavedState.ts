/**
 * Reads a data directory or an archive without an engine, for checks and exports: the snapshot as
 * of one moment, and the journal.
 *
 * - It sees everything up to `lastSequence`, as a start does. If the snapshot was copied between
 *   two slices of a periodic one, some values are ahead of the watermark; the journal has the
 *   records for the others.
 * - Memory: the states of all users once one is asked for, as in a server, and of the journal after
 *   the watermark the records that are not of users.
 * - Unreadable data is reported to `fault` and left out.
 *
 * Use it in a child process only (`LmdbReader`).
 */

import path from "node:path"
import { Effect, type Scope } from "effect"
import { type DirectoryState, emptyDirectory } from "../../../domain/project/Directory.ts"
import { emptyProject, type ProjectState } from "../../../domain/project/Project.ts"
import type { TeamChunk } from "../../../domain/project/Team.ts"
import { applyDirectory } from "../../../domain/record/applyDirectory.ts"
import { applyProject } from "../../../domain/record/applyProject.ts"
import type { JournalRecord } from "../../../domain/record/Record.ts"
import type { UserState } from "../../../domain/user/User.ts"
import { gatheredIn, readDescription } from "../../../storage/archive/GatheredJournals.ts"
import type { DiskError } from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { batchRecords } from "../../../storage/Frames.ts"
import {
  damageOf,
  faultText,
  scanJournal,
  segmentsIn,
} from "../../../storage/journal/JournalScan.ts"
import { compositeKey, everyKey, keyParts, rangeOf } from "../../../storage/Keys.ts"
import { findDamage } from "../../../storage/lmdb/DatabaseCheck.ts"
import { type LmdbReader, openReader } from "../../../storage/lmdb/LmdbReader.ts"
import type { OnScanning } from "../../../storage/lmdb/ScanProcesses.ts"
import {
  type StoredEntry,
  type StoredRecord,
  type Table,
  tables,
} from "../../../storage/Storage.ts"
import { jsonOf, keyName, openValue, valueFault } from "../../../storage/Values.ts"
import { joinPieces } from "../../dedupe/KeptAnswers.ts"
import { decodeDirectory, decodeProject } from "../../records/Codec.ts"
import { decodeChunk, withTeamsOf } from "../../records/TeamBytes.ts"
import { type SnapshotMark, snapshotKey } from "../../state/SnapshotMark.ts"
import { damaged, type JobFailed } from "../jobs/Jobs.ts"
import { decodedRecord, type Fault, JournalTail } from "./JournalTail.ts"
import { SavedUsers, type StoredUser } from "./SavedUsers.ts"

export interface SavedUser extends StoredUser {
  readonly stored: UserState
}

/** A record of the journal, and the sequence of the same user's record before it. */
export interface FoldedRecord {
  readonly record: JournalRecord
  readonly previous: number
}

export interface RecordVisitor<E = never> {
  readonly record: (folded: FoldedRecord) => void
  /** Called for a record that was erased. */
  readonly erased?: (erased: StoredRecord) => void
  /** Runs after each piece of the journal. */
  readonly rest?: Effect.Effect<void, DiskError | E>
}

/** A journal of a gathered partition (`storage/archive/GatheredJournals.ts`). */
export interface GatheredJournal {
  readonly folder: string
  /** The last record. */
  readonly through: number
}

export interface DescribedJournal extends GatheredJournal {
  /** The environments whose records are in it up to `through`. */
  readonly environments: ReadonlySet<string>
}

export interface SavedStateOptions {
  /** A data directory or an archive. */
  readonly folder: string
  /** The last record to read; by default the journal's last. */
  readonly until?: Effect.Effect<number | undefined>
  readonly fault: Fault
  /** Called while the database is scanned. */
  readonly onScanning?: OnScanning
  /** The database was scanned already. */
  readonly isScanned?: true
}

/**
 * Scans the database of a data directory or an archive. Fails if it is damaged, which LMDB would
 * not survive.
 */
export const insistWhole = Effect.fnUntraced(function* (
  folder: string,
  onScanning?: OnScanning,
): Effect.fn.Return<void, DiskError | JobFailed> {
  const detail = yield* findDamage(path.join(folder, "live"), onScanning)
  if (detail !== undefined) return yield* damaged(detail)
})

/** Up to which record the snapshot of a data directory is complete. */
export const readWatermark = (folder: string): Effect.Effect<number, JobFailed> =>
  Effect.scoped(Effect.flatMap(openReader(path.join(folder, "live")), watermarkOf))

/** Up to which record the snapshot that `reader` reads is complete. */
export const watermarkOf = (reader: LmdbReader): Effect.Effect<number, JobFailed> =>
  Effect.suspend(() => {
    const faults: Array<string> = []
    const { watermark } = new SavedState(reader, "", (words) => faults.push(words)).withMark()
    return faults.length === 0 ? Effect.succeed(watermark) : damaged(faults[0]!)
  })

export class SavedState {
  readonly #reader: LmdbReader
  readonly #journal: string
  readonly #fault: Fault
  #tail!: JournalTail
  #users: SavedUsers | undefined
  /** Up to here the snapshot is complete, and the time of its mark, epoch milliseconds. */
  watermark = 0
  markedAt = 0
  /** The first record of the journal; without records, the next one. */
  firstSequence = 1

  constructor(reader: LmdbReader, journal: string, fault: Fault) {
    this.#reader = reader
    this.#journal = journal
    this.#fault = fault
  }

  /**
   * Opens `folder` for the surrounding scope. Fails where the database is damaged or the journal's
   * files cannot be read.
   */
  static readonly open = Effect.fnUntraced(function* ({
    fault,
    folder,
    isScanned,
    onScanning,
    until,
  }: SavedStateOptions): Effect.fn.Return<SavedState, DiskError | JobFailed, Scope.Scope> {
    if (isScanned !== true) yield* insistWhole(folder, onScanning)
    const reader = yield* openReader(path.join(folder, "live"))
    const journal = path.join(folder, "journal")
    const saved = new SavedState(reader, journal, fault)
    const { watermark } = saved.withMark()
    const last = yield* until ?? Effect.undefined
    saved.#tail = yield* JournalTail.read(journal, watermark, last, fault)
    const [first] = yield* segmentsIn(nodeDisk, journal)
    saved.firstSequence = first ?? saved.lastSequence + 1
    return saved
  })

  /** What is not of users in the journal after the watermark. */
  get tail(): JournalTail {
    return this.#tail
  }

  get lastSequence(): number {
    return this.#tail.end.lastSequence
  }

  /** The gathered journals in the order of their records. */
  get gathered(): Effect.Effect<ReadonlyArray<DescribedJournal>, DiskError> {
    const directory = path.dirname(this.#journal)
    return Effect.gen(function* () {
      const found: Array<DescribedJournal> = []
      for (const name of yield* gatheredIn(nodeDisk, directory)) {
        const folder = path.join(directory, name)
        const { environments, through } = yield* readDescription(nodeDisk, folder)
        found.push({ folder, through, environments: new Set(environments) })
      }
      return found.sort((one, other) => one.through - other.through)
    })
  }

  /** Reads the watermark, and nothing else yet. */
  withMark(): this {
    const value = this.#reader.get("meta", snapshotKey)
    const mark: SnapshotMark | undefined =
      value && this.#decoded("meta", snapshotKey, value, jsonOf<SnapshotMark>)
    this.watermark = mark?.watermark ?? 0
    this.markedAt = mark?.at ?? 0
    return this
  }

  /** How many users the snapshot has. */
  get userCount(): number {
    return this.#reader.count("userIds")
  }

  /** How many entries all tables have. */
  get totalEntries(): number {
    return tables.reduce((sum, table) => sum + this.#reader.count(table), 0)
  }

  readDirectory(): DirectoryState {
    const key = compositeKey("directory")
    const value = this.#reader.get("actors", key)
    let state = (value && this.#decoded("actors", key, value, decodeDirectory)) ?? emptyDirectory
    for (const record of this.#tail.shared) {
      const late = record.subject.actor === "directory" && record.sequence > state.sequence
      if (late) state = applyDirectory(state, record)
    }
    return state
  }

  /** The definitions of each environment that has any. */
  readProjects(): ReadonlyMap<string, ProjectState> {
    const projects = new Map<string, ProjectState>()
    const chunks = new Map<string, Array<TeamChunk>>()
    for (const [key, value] of this.entries("actors")) {
      const [kind, environment, chunk] = this.#parts("actors", key)
      if (kind === "directory") continue
      if (kind === "project" && typeof environment === "string" && typeof chunk === "number") {
        const read = (body: Uint8Array) => decodeChunk(chunk, body)
        const teams = this.#decoded("actors", key, value, read)
        const known = chunks.get(environment) ?? []
        if (teams !== undefined) chunks.set(environment, [...known, teams])
        continue
      }
      const known = kind === "project" && typeof environment === "string"
      const state = known ? this.#decoded("actors", key, value, decodeProject) : undefined
      if (!known) this.#fault(valueFault("actors", key, "is of no known actor"))
      if (state !== undefined) projects.set(environment as string, state)
    }
    for (const [environment, teams] of chunks) this.#addTeams(projects, environment, teams)
    for (const record of this.#tail.shared) {
      if (record.subject.actor !== "project") continue
      const { environment } = record.subject
      const state = projects.get(environment) ?? emptyProject
      if (record.sequence > state.sequence) projects.set(environment, applyProject(state, record))
    }
    return projects
  }

  #addTeams(
    projects: Map<string, ProjectState>,
    environment: string,
    chunks: ReadonlyArray<TeamChunk>,
  ): void {
    const project = projects.get(environment)
    if (project === undefined) return
    try {
      projects.set(environment, withTeamsOf(project, chunks))
    } catch {
      this.#fault(`The teams of ${environment} do not fit together`)
    }
  }

  /** The states of users in the snapshot, read when the first one is asked for. */
  get stored(): SavedUsers {
    this.#users ??= new SavedUsers(
      (table, prefix) => this.#reader.entries({ table, ...rangeOf(prefix) }),
      this.#fault,
    )
    return this.#users
  }

  /** The users of the snapshot, in the order of their keys. */
  *users(): Generator<SavedUser> {
    for (const user of this.stored.inOrder()) {
      const stored = this.stored.read(user)
      if (stored !== undefined) yield { ...user, stored }
    }
  }

  /** The snapshot's state of a user; `undefined`: it has none, or it cannot be decoded. */
  storedUser(environment: string, userId: string): UserState | undefined {
    return this.stored.read({ key: compositeKey(environment, userId), environment, userId })
  }

  /**
   * Visits the records of a journal from `from` on, up to its last one; by default of the
   * directory's own.
   */
  eachRecord<E = never>(
    from: number,
    visitor: RecordVisitor<E>,
    { folder, through }: GatheredJournal = { folder: this.#journal, through: this.lastSequence },
  ): Effect.Effect<void, DiskError | E> {
    if (from > through) return Effect.void
    const scanned = { disk: nodeDisk, folder, from, until: through }
    const scan = scanJournal<DiskError | E>(scanned, (batches) =>
      Effect.suspend(() => {
        for (const batch of batches) {
          for (const stored of batchRecords(batch, from) ?? []) {
            if (stored.sequence <= through) this.#visit(stored, visitor)
          }
        }
        return visitor.rest ?? Effect.void
      }),
    )
    return Effect.map(scan, (end) => {
      const damage = damageOf(end)
      if (damage !== undefined) this.#fault(faultText(damage))
    })
  }

  #visit(stored: StoredRecord, visitor: RecordVisitor<unknown>): void {
    const { body, previous, sequence } = stored
    if (body.length === 0) {
      visitor.erased?.(stored)
      return
    }
    const record = decodedRecord(sequence, body, this.#fault)
    if (record !== undefined) visitor.record({ record, previous })
  }

  /** The kept answers; `stored`: in the snapshot. */
  *kept(): Generator<{ readonly record: JournalRecord; readonly stored: boolean }> {
    let pieces: Array<Uint8Array> = []
    let name = ""
    const joined = () => {
      if (pieces.length === 0) return undefined
      try {
        return joinPieces(pieces)
      } catch {
        this.#fault(`The kept answer ${name} is no record`)
        return undefined
      }
    }
    for (const [key, value] of this.entries("idempotency")) {
      const [environment, id] = this.#parts("idempotency", key)
      const next = JSON.stringify([environment, id])
      if (next !== name) {
        const record = joined()
        if (record !== undefined) yield { record, stored: true }
        pieces = []
        name = next
      }
      const body = this.#decoded("idempotency", key, value, (bytes) => Uint8Array.from(bytes))
      if (body !== undefined) pieces.push(body)
    }
    const record = joined()
    if (record !== undefined) yield { record, stored: true }
    for (const late of this.#tail.kept) yield { record: late, stored: false }
  }

  /** All entries of a table as they are stored. */
  entries(table: Table): Generator<StoredEntry> {
    return this.#reader.entries({ table, ...everyKey })
  }

  get(table: Table, key: Uint8Array): Uint8Array | undefined {
    return this.#reader.get(table, key)
  }

  #parts(table: Table, key: Uint8Array): ReadonlyArray<string | number> {
    try {
      return keyParts(key)
    } catch {
      this.#fault(`${keyName(key)} is no key of table ${table}`)
      return []
    }
  }

  #decoded<A>(
    table: Table,
    key: Uint8Array,
    value: Uint8Array,
    decode: (body: Uint8Array) => A,
  ): A | undefined {
    const body = openValue(value)
    const about = (words: string) => this.#fault(valueFault(table, key, words))
    if (typeof body === "string") {
      about(body)
      return undefined
    }
    try {
      return decode(body)
    } catch {
      about("cannot be decoded")
      return undefined
    }
  }
}
