/**
 * Reads a data directory or an archive without an engine, for checks and exports: the snapshot as of one moment,
 * and the journal after its watermark.
 *
 * - It sees everything up to `lastSequence`, as a start does. If the snapshot was copied between two slices of a periodic
 *   one, some values are ahead of the watermark; the journal has the records for the others.
 * - Users come in the order of their keys, each with the snapshot's state and all records, so memory holds the
 *   states of all users, one page of history and the journal's tail.
 * - Unreadable data is reported to `fault` and left out.
 *
 * Use it in a child process only (`LmdbReader`).
 */

import path from "node:path"
import { Effect, type Scope } from "effect"
import { type DirectoryState, emptyDirectory } from "../../domain/project/Directory.ts"
import { emptyProject, type ProjectState } from "../../domain/project/Project.ts"
import { applyDirectory } from "../../domain/record/applyDirectory.ts"
import { applyProject } from "../../domain/record/applyProject.ts"
import { applyUser } from "../../domain/record/applyUser.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { UserState } from "../../domain/user/User.ts"
import { isArchive, readParts } from "../../storage/archive/ArchiveContents.ts"
import {
  archivedFolder,
  openArchiveTables,
  type TableReader,
} from "../../storage/archive/ArchiveTables.ts"
import type { Part } from "../../storage/archive/PartFile.ts"
import { DiskError, isFull } from "../../storage/disk/Disk.ts"
import { compositeKey, keyParts, rangeOf } from "../../storage/Keys.ts"
import { findDamage } from "../../storage/lmdb/DatabaseCheck.ts"
import { openReader } from "../../storage/lmdb/LmdbReader.ts"
import type { OnScanning } from "../../storage/lmdb/ScanProcesses.ts"
import { type StoredEntry, type Table, tables } from "../../storage/Storage.ts"
import { keyName, openValue, valueFault } from "../../storage/Values.ts"
import { joinPieces } from "../dedupe/KeptAnswers.ts"
import { decodeDirectory, decodePage, decodeProject } from "../records/Codec.ts"
import { type SnapshotMark, snapshotKey } from "../state/SnapshotMark.ts"
import { damaged, type JobFailed } from "./Jobs.ts"
import { type Fault, JournalTail } from "./JournalTail.ts"
import { PageWalk } from "./PageWalk.ts"
import { SavedUsers, type StoredUser } from "./SavedUsers.ts"

const same = (one: Uint8Array | undefined, other: Uint8Array): boolean =>
  one !== undefined && Buffer.compare(one, other) === 0

const leastOf = (...keys: ReadonlyArray<Uint8Array | undefined>): Uint8Array | undefined => {
  let least: Uint8Array | undefined
  for (const key of keys) {
    if (key !== undefined && (least === undefined || Buffer.compare(key, least) < 0)) least = key
  }
  return least
}

/* Opens the tables of a data directory or of an archive, whichever a folder is. */

/** Where the database of a data directory or an archive is. */
const databaseIn = (folder: string): Effect.Effect<string, DiskError> =>
  Effect.map(isArchive(folder), (isOne) => path.join(folder, isOne ? archivedFolder : "live"))

/** Opens the tables of a data directory or an archive for the surrounding scope. */
const openTables = Effect.fnUntraced(function* (
  folder: string,
  wanted?: ReadonlyArray<Part>,
): Effect.fn.Return<TableReader, DiskError | JobFailed, Scope.Scope> {
  if (!(yield* isArchive(folder))) return yield* openReader(path.join(folder, "live"))
  const parts = wanted ?? (yield* readParts(folder))
  if (parts === undefined)
    return yield* damaged(`The list of parts of ${folder} is missing or damaged`)
  return yield* Effect.mapError(openArchiveTables(folder, parts), (error) =>
    error instanceof DiskError && isFull(error)
      ? error
      : damaged(`The parts of ${folder} cannot be read: ${error}`),
  )
})

export interface SavedUser extends StoredUser {
  /** The state in the snapshot; `undefined`: it has none. */
  readonly stored: UserState | undefined
  /** All records of the user, oldest first; to be read before the next user is asked for. */
  readonly records: Iterable<JournalRecord>
  /** The records after the watermark, which `stored` may lack. */
  readonly tail: ReadonlyArray<JournalRecord>
}

export interface SavedStateOptions {
  /** A data directory or an archive. */
  readonly folder: string
  /** Of an archive: the parts to read, by default all. */
  readonly parts?: ReadonlyArray<Part>
  /** The last record to read; by default the journal's last. */
  readonly until?: Effect.Effect<number | undefined>
  readonly fault: Fault
  /** Called while the database is scanned. */
  readonly onScanning?: OnScanning
  /** The database was scanned already. */
  readonly isScanned?: true
}

/** Scans the database of a data directory or an archive. Fails if it is damaged, which LMDB would not survive. */
export const insistWhole = Effect.fnUntraced(function* (
  folder: string,
  onScanning?: OnScanning,
): Effect.fn.Return<void, DiskError | JobFailed> {
  const detail = yield* findDamage(yield* databaseIn(folder), onScanning)
  if (detail !== undefined) return yield* damaged(detail)
})

/** Up to which record the snapshot of a data directory is complete. */
export const readWatermark = (folder: string): Effect.Effect<number, JobFailed> =>
  Effect.scoped(Effect.flatMap(openReader(path.join(folder, "live")), watermarkOf))

/** Up to which record the snapshot that `reader` reads is complete. */
export const watermarkOf = (reader: TableReader): Effect.Effect<number, JobFailed> =>
  Effect.suspend(() => {
    const faults: Array<string> = []
    const { watermark } = new SavedState(reader, (words) => faults.push(words)).withMark()
    return faults.length === 0 ? Effect.succeed(watermark) : damaged(faults[0]!)
  })

const everything = rangeOf(new Uint8Array())

export class SavedState {
  readonly #reader: TableReader
  readonly #fault: Fault
  #tail!: JournalTail
  #users: SavedUsers | undefined
  /** Up to here the snapshot is complete. */
  watermark = 0

  constructor(reader: TableReader, fault: Fault) {
    this.#reader = reader
    this.#fault = fault
  }

  /** Opens `folder` for the surrounding scope. Fails where the database is damaged or the journal's files cannot be read. */
  static readonly open = Effect.fnUntraced(function* ({
    fault,
    folder,
    isScanned,
    onScanning,
    parts,
    until,
  }: SavedStateOptions): Effect.fn.Return<SavedState, DiskError | JobFailed, Scope.Scope> {
    if (isScanned !== true) yield* insistWhole(folder, onScanning)
    const reader = yield* openTables(folder, parts)
    const saved = new SavedState(reader, fault)
    const { watermark } = saved.withMark()
    const last = yield* until ?? Effect.undefined
    saved.#tail = yield* JournalTail.read(path.join(folder, "journal"), watermark, last, fault)
    return saved
  })

  /** The journal after the watermark. */
  get tail(): JournalTail {
    return this.#tail
  }

  get lastSequence(): number {
    return this.#tail.end.lastSequence
  }

  /** Reads the watermark, and nothing else yet. */
  withMark(): this {
    const value = this.#reader.get("meta", snapshotKey)
    const mark: SnapshotMark | undefined =
      value &&
      this.#decoded("meta", snapshotKey, value, (body) =>
        JSON.parse(Buffer.from(body).toString("utf8")),
      )
    this.watermark = mark?.watermark ?? 0
    return this
  }

  /** How many entries of the snapshot `users` reads. */
  get userEntries(): number {
    return this.#reader.count("userIds") + this.#reader.count("history")
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
    for (const [key, value] of this.entries("actors")) {
      const [kind, environment] = this.#parts("actors", key)
      if (kind === "directory") continue
      const known = kind === "project" && typeof environment === "string"
      const state = known ? this.#decoded("actors", key, value, decodeProject) : undefined
      if (!known) this.#fault(valueFault("actors", key, "is of no known actor"))
      if (state !== undefined) projects.set(environment as string, state)
    }
    for (const record of this.#tail.shared) {
      if (record.subject.actor !== "project") continue
      const { environment } = record.subject
      const state = projects.get(environment) ?? emptyProject
      if (record.sequence > state.sequence) projects.set(environment, applyProject(state, record))
    }
    return projects
  }

  /** The users in the snapshot, read when they are first needed. */
  get stored(): SavedUsers {
    this.#users ??= new SavedUsers(
      (table, prefix) => this.#reader.entries({ table, ...rangeOf(prefix) }),
      this.#fault,
    )
    return this.#users
  }

  /** Every user that the snapshot or the journal's tail knows, in the order of their keys. */
  *users(): Generator<SavedUser> {
    const states = this.stored.inOrder()
    let state = states.next()
    const pages = new PageWalk(
      (range) => this.#reader.entries({ table: "history", ...range }),
      (key) => this.#fault(`${keyName(key)} of table history is no key of a page`),
    )
    const tails = this.#tail.users()
    let at = 0
    while (true) {
      const key = leastOf(state.value?.key, pages.page?.user, tails[at]?.key)
      if (key === undefined) return
      const isStored = same(state.value?.key, key)
      const stored = isStored ? this.stored.read(state.value!) : undefined
      if (isStored) state = states.next()
      const tail = same(tails[at]?.key, key) ? tails[at++]!.records : []
      const [environment, userId] = this.#parts("history", key) as [string, string]
      this.#checkId(key, isStored, tail)
      const records = this.#recordsOf(key, environment, userId, pages, tail)
      yield { key, environment, userId, stored, records, tail }
      // Skips records that the caller left unread.
      while (!records.next().done) {}
    }
  }

  /** A list of users needs the id of each; the journal has those that are not stored yet. */
  #checkId(key: Uint8Array, isStored: boolean, tail: ReadonlyArray<JournalRecord>): void {
    if (tail.length > 0) return
    const hasId = this.#reader.get("userIds", key) !== undefined
    if (hasId === isStored) return
    this.#fault(`${keyName(key)} of table userIds is ${hasId ? "no user" : "missing"}`)
  }

  /** The state of one user; `undefined`: there is none. */
  stateOf(user: StoredUser): UserState | undefined {
    let state = this.stored.read(user)
    for (const record of this.#tail.recordsOf(user.key)) {
      if (record.sequence > (state?.sequence ?? 0)) state = applyUser(state, record)
    }
    return state
  }

  *#recordsOf(
    user: Uint8Array,
    environment: string,
    userId: string,
    pages: PageWalk,
    tail: ReadonlyArray<JournalRecord>,
  ): Generator<JournalRecord> {
    let last = 0
    let next = 0
    for (let page = pages.page; page && same(page.user, user); page = pages.page) {
      const { first, key, value } = page
      const records = this.#decoded("history", key, value, decodePage) ?? []
      if (records.length > 0 && records[0]!.sequence !== first) {
        this.#fault(`The page ${keyName(key)} begins with record ${records[0]!.sequence}`)
      }
      for (const record of records) {
        const { subject } = record
        if (
          subject.actor !== "user" ||
          subject.environment !== environment ||
          subject.userId !== userId
        ) {
          this.#fault(`Record ${record.sequence} in the page ${keyName(key)} is another user's`)
        } else if (record.sequence <= last) {
          this.#fault(`Record ${record.sequence} in the page ${keyName(key)} is out of order`)
        } else {
          last = record.sequence
          // Some records exist only in the journal: an erasure of the user.
          while (next < tail.length && tail[next]!.sequence < last) yield tail[next++]!
          if (tail[next]?.sequence === last) next++
          yield record
        }
      }
      pages.next()
    }
    yield* tail.slice(next)
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
    return this.#reader.entries({ table, ...everything })
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
