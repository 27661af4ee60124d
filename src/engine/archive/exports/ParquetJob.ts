/**
 * Writes facts, users and balances of a data directory or an archive as Parquet files for a
 * warehouse, into a folder or a bucket:
 *
 *     facts/part-00001.parquet  users/part-00001.parquet  balances/part-00001.parquet  export.json
 *
 * `export.json` comes last: an export without it is not complete. A folder appears whole.
 *
 * - The records are those of the journal up to its last durable one, and users and balances are as of
 *   that record.
 * - No table has an erased user, even while the journal still has the user's records.
 * - Definitions, keys, webhooks and accounts are in no table: they have secrets.
 *
 * Memory: what `SavedState` holds, which are the stored states of all users as in a server; the
 * states of `parquetUsersMax` users with later records, for more of them there are several passes;
 * rows and parts (`ParquetParts.ts`).
 */
import path from "node:path"
import { Effect } from "effect"
import { emptyProject, type ProjectState, timeIn } from "../../../domain/project/Project.ts"
import { applyUser } from "../../../domain/record/applyUser.ts"
import type { JournalRecord } from "../../../domain/record/Record.ts"
import { isAlias, type UserState } from "../../../domain/user/User.ts"
import { limits } from "../../../Limits.ts"
import type { BucketError } from "../../../storage/bucket/bucketErrors.ts"
import { type DiskError, removeTree, withFile } from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { damageOf, faultText } from "../../../storage/journal/JournalScan.ts"
import { keyParts } from "../../../storage/Keys.ts"
import { hashText } from "../../dedupe/IdIndex.ts"
import { openShipped } from "../bucket/ShipJob.ts"
import { type RecordVisitor, SavedState } from "../check/SavedState.ts"
import { Sequences } from "../check/Sequences.ts"
import { FaultList } from "../jobs/Findings.ts"
import { damaged, durableEnd, type Input, type JobCode, JobFailed } from "../jobs/Jobs.ts"
import { onlyOf } from "./ExportJob.ts"
import { loadParquet, ParquetParts, type Sink } from "./ParquetParts.ts"
import {
  balanceRows,
  factRows,
  type ParquetTable,
  parquetTables,
  userRow,
} from "./ParquetTables.ts"

type SinkError = DiskError | BucketError

/** The form of the tables. A change of columns raises it. */
export const parquetFormat = 1

const nameOf = (environment: string, userId: string) => `${environment} ${userId}`

class ParquetExport {
  readonly #saved: SavedState
  /** The id of the environment; `undefined`: all. */
  readonly #only: string | undefined
  readonly #at: number
  readonly #parts: { readonly [Table in ParquetTable]: ParquetParts<SinkError> }
  readonly #projects: ReadonlyMap<string, ProjectState>
  /** By user, the last record that nobody may read. */
  readonly #erased = new Map<string, number>()
  /** The users with a record after the watermark, at most. */
  #late = 0
  /** Records before erased ones: a user whose state ends with one of them is erased. */
  readonly #ended = new Sequences()

  constructor(
    saved: SavedState,
    only: string | undefined,
    at: number,
    parts: ParquetExport["parts"],
  ) {
    this.#saved = saved
    this.#only = only
    this.#at = at
    this.#parts = parts
    this.#projects = saved.readProjects()
  }

  get parts() {
    return this.#parts
  }

  #isOf({ subject }: JournalRecord): boolean {
    return subject.actor === "user" && (this.#only ?? subject.environment) === subject.environment
  }

  /** Finds who is erased: by a job that is not carried out, or by a record that the snapshot lacks. */
  readonly findErased: Effect.Effect<void, DiskError> = Effect.suspend(() => {
    for (const [key] of this.#saved.entries("erasures")) {
      const [environment, userId, sequence] = keyParts(key) as [string, string, number]
      this.#erase(environment, userId, sequence)
    }
    const watermark = this.#saved.watermark
    return this.#saved.eachRecord(Math.max(watermark + 1, this.#saved.firstSequence), {
      record: ({ record }) => {
        if (!this.#isOf(record)) return
        this.#late++
        const { cause, sequence, subject } = record
        if (cause.kind !== "erasure" || subject.actor !== "user") return
        this.#erase(subject.environment, subject.userId, sequence)
      },
      erased: ({ previous }) => this.#ended.add(previous),
    })
  })

  #erase(environment: string, userId: string, sequence: number): void {
    const name = nameOf(environment, userId)
    this.#erased.set(name, Math.max(this.#erased.get(name) ?? 0, sequence))
  }

  /** The facts of the gathered journals and of the directory's own. */
  readonly writeFacts = Effect.fnUntraced(function* (
    this: ParquetExport,
    progress: (sequence: number) => void,
  ): Effect.fn.Return<void, SinkError> {
    const { facts } = this.#parts
    const { rest } = this.#parts.facts
    const take = (record: JournalRecord) => {
      const { sequence, subject } = record
      if (!this.#isOf(record) || subject.actor !== "user") return
      const through = this.#erased.get(nameOf(subject.environment, subject.userId)) ?? 0
      if (sequence <= through) return
      for (const row of factRows(record)) facts.add(row)
    }
    /** Of an environment, the last record of the journals so far. */
    const taken = new Map<string, number>()
    for (const journal of yield* this.#saved.gathered) {
      const { environments, through } = journal
      const visitor: RecordVisitor<SinkError> = {
        record: ({ record }) => {
          const { sequence, subject } = record
          if (subject.actor !== "user" || !environments.has(subject.environment)) return
          if (sequence > (taken.get(subject.environment) ?? 0)) take(record)
        },
        rest,
      }
      yield* this.#saved.eachRecord(1, visitor, journal)
      for (const environment of environments) taken.set(environment, through)
    }
    const visitor: RecordVisitor<SinkError> = {
      record: ({ record }) => {
        take(record)
        progress(record.sequence)
      },
      rest,
    }
    yield* this.#saved.eachRecord(this.#saved.firstSequence, visitor)
    yield* facts.end
  })

  /** Users and balances as of the last record. */
  readonly writeUsers = Effect.fnUntraced(function* (
    this: ParquetExport,
  ): Effect.fn.Return<void, SinkError> {
    const passes = Math.max(1, Math.ceil(this.#late / limits.parquetUsersMax))
    for (let pass = 0; pass < passes; pass++) {
      const isOwn = (name: string) => hashText(name) % passes === pass
      const late = yield* this.#lateStates(isOwn)
      for (const user of this.#saved.stored.inOrder()) {
        const { environment, userId } = user
        const name = nameOf(environment, userId)
        if ((this.#only ?? environment) !== environment || !isOwn(name) || late.has(name)) continue
        const state = this.#saved.stored.read(user)
        if (state !== undefined) this.#write(environment, state)
        yield* this.#rest
      }
      for (const [name, state] of late) {
        if (state !== undefined) this.#write(name.slice(0, name.indexOf(" ")), state)
        yield* this.#rest
      }
    }
    yield* this.#parts.users.end
    yield* this.#parts.balances.end
  })

  get #rest(): Effect.Effect<void, SinkError> {
    return Effect.andThen(this.#parts.users.rest, this.#parts.balances.rest)
  }

  /** The states of the users who have records after the watermark. */
  readonly #lateStates = Effect.fnUntraced(function* (
    this: ParquetExport,
    isOwn: (name: string) => boolean,
  ): Effect.fn.Return<ReadonlyMap<string, UserState | undefined>, DiskError> {
    const states = new Map<string, UserState | undefined>()
    const { firstSequence, watermark } = this.#saved
    yield* this.#saved.eachRecord(Math.max(watermark + 1, firstSequence), {
      record: ({ record }) => {
        const { sequence, subject } = record
        if (subject.actor !== "user" || !this.#isOf(record)) return
        const { environment, userId } = subject
        const name = nameOf(environment, userId)
        if (!isOwn(name)) return
        const before = states.has(name) ? states.get(name) : this.#storedUser(environment, userId)
        // The snapshot may be ahead of its mark.
        if (before !== undefined && sequence <= before.sequence) return
        states.set(name, applyUser(before, record))
      },
    })
    return states
  })

  #storedUser(environment: string, userId: string): UserState | undefined {
    const state = this.#saved.storedUser(environment, userId)
    return state !== undefined && this.#isGone(environment, state) ? undefined : state
  }

  /** Whether an erasure came after the state. */
  #isGone(environment: string, { id, sequence }: UserState): boolean {
    return sequence <= (this.#erased.get(nameOf(environment, id)) ?? 0) || this.#ended.has(sequence)
  }

  #write(environment: string, state: UserState): void {
    if (isAlias(state) || this.#isGone(environment, state)) return
    const project = this.#projects.get(environment) ?? emptyProject
    const now = timeIn(project, this.#at)
    this.#parts.users.add(userRow(environment, state, project, now))
    for (const row of balanceRows(environment, state, project, now)) this.#parts.balances.add(row)
  }
}

export const exportParquet: JobCode<"parquet"> = Effect.fnUntraced(function* (input, context) {
  const { folder, laurel, scope } = input
  const faults = new FaultList()
  const saved = yield* SavedState.open({ folder, fault: faults.add, until: durableEnd(context) })
  const only = scope === null ? undefined : (yield* onlyOf(saved, scope)).environment
  const damage = damageOf(saved.tail.end)
  if (damage !== undefined) faults.add(faultText(damage))
  const module = yield* loadParquet
  const write = Effect.fnUntraced(function* (sink: Sink<SinkError>) {
    const of = (table: ParquetTable) => new ParquetParts(module, table, parquetTables[table], sink)
    const parts = { facts: of("facts"), users: of("users"), balances: of("balances") }
    const run = new ParquetExport(saved, only, input.at, parts)
    yield* run.findErased
    const total = saved.lastSequence
    yield* run.writeFacts((done) => context.progress({ activity: "Exporting", done, total }))
    yield* run.writeUsers()
    if (faults.count > 0) return yield* damaged(faults.shown[0]!)
    const { balances, facts, users } = parts
    const result = {
      sequence: total,
      facts: facts.rows,
      users: users.rows,
      balances: balances.rows,
      parts: facts.parts + users.parts + balances.parts,
    }
    const described = {
      format: parquetFormat,
      laurel,
      createdAt: new Date(input.at).toISOString(),
      scope: scope && { project: scope.project, environment: scope.environment },
      sequence: total,
      tables: Object.fromEntries(
        Object.entries(parts).map(([name, { parts: files, rows }]) => [name, { files, rows }]),
      ),
    }
    yield* sink("export.json", Buffer.from(`${JSON.stringify(described)}\n`))
    return result
  })
  return yield* input.to === null ? intoBucket(write, context) : intoFolder(input.to, write)
})

type Write = (sink: Sink<SinkError>) => Effect.Effect<Result, SinkError | JobFailed>
type Result = Effect.Success<ReturnType<JobCode<"parquet">>>

const intoBucket = Effect.fnUntraced(function* (
  write: Write,
  context: Parameters<JobCode<"parquet">>[1],
): Effect.fn.Return<Result, SinkError | JobFailed> {
  const bucket = yield* openShipped(context)
  const there = yield* bucket.list("")
  if (there.length > 0) {
    const detail = `${bucket.name} is not empty: an export goes under a prefix of its own`
    return yield* new JobFailed({ kind: "refused", detail })
  }
  return yield* write(bucket.put)
})

/** The folder appears with its name when all files are durable. */
const intoFolder = Effect.fnUntraced(function* (
  to: NonNullable<Input<"parquet">["to"]>,
  write: Write,
): Effect.fn.Return<Result, SinkError | JobFailed> {
  const draft = `${to}.draft`
  const sink: Sink<DiskError> = (name, bytes) => {
    const file = path.join(draft, name)
    return nodeDisk
      .makeFolder(path.dirname(file))
      .pipe(
        Effect.andThen(
          withFile(nodeDisk, file, "create", (opened) =>
            Effect.andThen(opened.write(0, [bytes]), opened.sync),
          ),
        ),
        Effect.andThen(nodeDisk.syncFolder(path.dirname(file))),
      )
  }
  const begun = Effect.andThen(removeTree(nodeDisk, draft), nodeDisk.makeFolder(draft))
  const result = yield* Effect.andThen(begun, write(sink)).pipe(
    Effect.onError(() => Effect.ignore(removeTree(nodeDisk, draft))),
  )
  yield* nodeDisk.rename(draft, to)
  yield* nodeDisk.syncFolder(path.dirname(to))
  return result
})
