/**
 * What the journal after an archive says of a restore, record by record: where it is to end, and what would be lost.
 */
import { Effect } from "effect"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { batchRecords } from "../../storage/Frames.ts"
import { damageOf, faultText, type JournalEnd } from "../../storage/journal/JournalScan.ts"
import type { SegmentBatch } from "../../storage/journal/SegmentFormat.ts"
import { decodeRecord } from "../records/Codec.ts"
import { JobFailed } from "./Jobs.ts"
import { isOfProject } from "./ProjectHistory.ts"

/**
 * Up to which record: that of the archive, a given one, the last one decided at a time (epoch milliseconds)
 * or before it, or the journal's last.
 */
export type RestoreTarget =
  | { readonly kind: "archive" }
  | { readonly kind: "sequence"; readonly sequence: number }
  | { readonly kind: "time"; readonly at: number }
  | { readonly kind: "last" }

/** The records that would not be there any more, of all or of the project that goes back. Times are epoch milliseconds. */
export interface LostRecords {
  readonly count: number
  readonly first: number
  readonly last: number
  readonly firstAt: number
  readonly lastAt: number
  /** Whose erasure is undone with them: the first `restoreToldMax`, and how many they are. */
  readonly erasures: ReadonlyArray<{ readonly environment: string; readonly userId: string }>
  readonly erasureCount: number
  /** The keys that are in force again, likewise. */
  readonly revokedKeys: ReadonlyArray<string>
  readonly revokedKeyCount: number
}

/** The project that goes back alone. */
export interface RestoredProject {
  readonly id: string
  readonly name: string
}

export const refused = (detail: string) => new JobFailed({ kind: "refused", detail })

/** Goes through the journal after an archive, up to the target and on to the end. */
export class Walk {
  readonly #target: RestoreTarget
  readonly #from: number
  readonly #project: RestoredProject | undefined
  /** The last record that counts for what goes back, and when it was decided; and the last that was read. */
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
      const newest = decodeRecord(records.at(-1)!.body)
      this.last = newest.sequence
      this.lastAt = newest.at
      if (!this.#reached && this.#isKept(newest)) this.#keep(newest)
      else {
        for (const { body } of records) {
          const problem = this.#add(decodeRecord(body))
          if (problem !== undefined) return refused(problem)
        }
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

  /** Says why it can not be, where the project was not there yet. */
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
        if (lost.erasureCount++ < limits.restoreToldMax) {
          lost.erasures = [...lost.erasures, { environment, userId }]
        }
      } else if (fact.kind === "key.revoked" && lost.revokedKeyCount++ < limits.restoreToldMax) {
        lost.revokedKeys = [...lost.revokedKeys, fact.keyId]
      }
    }
    this.#lost = lost
  }

  /** The journal is at its end; tells what is not known because of that. */
  end(end: JournalEnd): Effect.Effect<string | undefined, JobFailed> {
    const target = this.#target
    const damage = damageOf(end)
    const where = damage && `${faultText(damage, `, after record ${end.lastSequence}`)}.`
    const short = target.kind === "sequence" && this.kept < target.sequence
    if (where !== undefined && this.#project !== undefined) {
      return refused(`${where} One project can go back only where all of the journal is whole.`)
    }
    if (where !== undefined && !this.#reached && (short || target.kind !== "sequence")) {
      return refused(`${where} \`--to-sequence ${this.kept}\` goes back to what is whole.`)
    }
    if (short) {
      return refused(
        `The journal ends with record ${end.lastSequence}: there is no ${target.sequence}.`,
      )
    }
    return Effect.succeed(
      where === undefined ? undefined : `${where} What came after that can not be told.`,
    )
  }
}
