/**
 * Walks the journal after an archive record by record: finds the end of a restore and the records
 * that it would lose.
 */
import { Effect } from "effect"
import type { JournalRecord } from "../../../domain/record/Record.ts"
import { limits } from "../../../Limits.ts"
import { batchRecords } from "../../../storage/Frames.ts"
import { damageOf, faultText, type JournalEnd } from "../../../storage/journal/JournalScan.ts"
import type { SegmentBatch } from "../../../storage/journal/SegmentFormat.ts"
import type { StoredRecord } from "../../../storage/Storage.ts"
import { decodeRecord } from "../../records/Codec.ts"
import { JobFailed } from "../jobs/Jobs.ts"
import { emptyRecord, isOfProject } from "./ProjectHistory.ts"

/**
 * The last record after a restore: the archive's, a given one, the last one at or before a time
 * (epoch milliseconds), or the journal's last.
 */
export type RestoreTarget =
  | { readonly kind: "archive" }
  | { readonly kind: "sequence"; readonly sequence: number }
  | { readonly kind: "time"; readonly at: number }
  | { readonly kind: "last" }

/**
 * The records that a restore would lose, of all projects or of the restored one. Times are epoch
 * milliseconds.
 */
export interface LostRecords {
  readonly count: number
  readonly first: number
  readonly last: number
  readonly firstAt: number
  readonly lastAt: number
  /** Users whose erasure would be undone: the first `restoreListedMax`, and their number. */
  readonly erasures: ReadonlyArray<{ readonly environment: string; readonly userId: string }>
  readonly erasureCount: number
  /** Keys whose revocation would be undone, likewise. */
  readonly revokedKeys: ReadonlyArray<string>
  readonly revokedKeyCount: number
}

/** The only project to restore. */
export interface RestoredProject {
  readonly id: string
  readonly name: string
}

export const refused = (detail: string) => new JobFailed({ kind: "refused", detail })

/** A record; one that was erased has the time `at` of the one before. */
const decoded = ({ body, sequence }: StoredRecord, at = 0): JournalRecord =>
  body.length > 0 ? decodeRecord(body) : emptyRecord({ sequence, at })

/** Walks the journal after an archive, past the target to the end. */
export class Walk {
  readonly #target: RestoreTarget
  readonly #from: number
  readonly #project: RestoredProject | undefined
  /** The last record to keep and its time; the last record read and its time. */
  kept: number
  keptAt: number | undefined
  last: number
  lastAt: number | undefined
  #reached = false
  #lost: LostRecords | undefined

  constructor(
    sequence: number,
    recordedAt: number | undefined,
    target: RestoreTarget,
    project: RestoredProject | undefined,
  ) {
    this.#project = project
    this.last = sequence
    this.lastAt = recordedAt
    this.#from = sequence + 1
    this.#target = target
    this.kept = sequence
    this.keptAt = recordedAt
    this.#reached = target.kind === "archive"
  }

  get lost(): LostRecords | undefined {
    return this.#lost
  }

  take(batches: ReadonlyArray<SegmentBatch>): Effect.Effect<void, JobFailed> {
    for (const batch of batches) {
      const last = batch.firstSequence + batch.count - 1
      if (last < this.#from) continue
      const records = batchRecords(batch, this.#from)
      if (records === undefined) {
        return refused(`The batch from record ${batch.firstSequence} on does not add up.`)
      }
      // Most batches are kept as a whole: then only their last record is decoded.
      const whole = records.findLast(({ body }) => body.length > 0)
      const before = this.lastAt
      if (whole !== undefined) this.lastAt = decodeRecord(whole.body).at
      const newest = decoded(records.at(-1)!, this.lastAt)
      this.last = newest.sequence
      if (!this.#reached && this.#isKept(newest)) {
        this.#keep(newest)
        continue
      }
      let at = before
      for (const stored of records) {
        const record = decoded(stored, at)
        at = record.at
        const problem = this.#add(record)
        if (problem !== undefined) return refused(problem)
      }
    }
    return Effect.void
  }

  #isKept({ at, sequence }: JournalRecord): boolean {
    const target = this.#target
    if (target.kind === "sequence") return sequence <= target.sequence
    return target.kind === "time" ? at <= target.at : target.kind === "last"
  }

  #keep({ at, sequence }: JournalRecord): void {
    this.kept = sequence
    this.keptAt = at
  }

  /** Takes a record; returns why the restore is impossible if the project did not exist yet. */
  #add(record: JournalRecord): string | undefined {
    this.#reached ||= !this.#isKept(record)
    const project = this.#project
    if (!this.#reached) this.#keep(record)
    else if (project === undefined || isOfProject(project.id, record)) this.#lose(record)
    for (const fact of this.#reached && project !== undefined ? record.facts : []) {
      if (fact.kind !== "project.created" || fact.project.id !== project!.id) continue
      return `Project ${project!.name} was made by record ${record.sequence}, after record ${this.kept}.`
    }
    return undefined
  }

  #lose({ at, facts, sequence, subject }: JournalRecord): void {
    this.#lost ??= {
      count: 0,
      first: sequence,
      last: sequence,
      firstAt: at,
      lastAt: at,
      erasures: [],
      erasureCount: 0,
      revokedKeys: [],
      revokedKeyCount: 0,
    }
    const lost = { ...this.#lost, count: this.#lost.count + 1, last: sequence, lastAt: at }
    for (const fact of facts) {
      if (fact.kind === "user.deleted" && subject.actor === "user") {
        const { environment, userId } = subject
        if (lost.erasureCount++ < limits.restoreListedMax) {
          lost.erasures = [...lost.erasures, { environment, userId }]
        }
      } else if (fact.kind === "key.revoked" && lost.revokedKeyCount++ < limits.restoreListedMax) {
        lost.revokedKeys = [...lost.revokedKeys, fact.keyId]
      }
    }
    this.#lost = lost
  }

  /** Ends the walk; returns why lost records are unknown. */
  end(end: JournalEnd): Effect.Effect<string | undefined, JobFailed> {
    const target = this.#target
    const damage = damageOf(end)
    const where = damage && `${faultText(damage, `, after record ${end.lastSequence}`)}.`
    const short = target.kind === "sequence" && this.kept < target.sequence
    if (where !== undefined && this.#project !== undefined) {
      return refused(`${where} Restoring one project needs a whole journal.`)
    }
    if (where !== undefined && !this.#reached && (short || target.kind !== "sequence")) {
      return refused(`${where} \`--to-sequence ${this.kept}\` restores the whole part.`)
    }
    if (short) {
      return refused(
        `The journal ends with record ${end.lastSequence}: there is no ${target.sequence}.`,
      )
    }
    return Effect.succeed(where === undefined ? undefined : `${where} Later records are unknown.`)
  }
}
