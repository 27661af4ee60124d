/**
 * The journals of the partitions of a cluster whose projects were gathered into a data directory
 * (`engine/archive/restore/GatherJob.ts`): `gathered/<n>/` has the segments of one, all of them
 * sealed, and `gathered.json`.
 *
 * Records keep their numbers, which several partitions have: a record up to `through` of one of the
 * `environments` is in their journal, and not in the journal of the directory, which begins later.
 * Nothing is appended. An erasure rewrites segments, as in the directory's own journal.
 */
import path from "node:path"
import { Effect, Schema } from "effect"
import { type Disk, DiskError, namesIn, type OnDisk, readSmallFile } from "../disk/Disk.ts"
import { Journal } from "../journal/Journal.ts"
import { recoverJournal } from "../journal/JournalRecovery.ts"
import { Broken } from "../Storage.ts"

export const gatheredName = "gathered"
/** Describes a gathered journal, in its folder. */
export const descriptionName = "gathered.json"
const descriptionBytesMax = 64 * 1_024 * 1_024

const Description = Schema.fromJsonString(
  Schema.Struct({
    format: Schema.Literal(1),
    through: Schema.Int,
    environments: Schema.Array(Schema.String),
  }),
)
export type Description = typeof Description.Type
export const encodeDescription = Schema.encodeSync(Description)
const decodeDescription = Schema.decodeUnknownEffect(Description)

/** The folders of gathered journals in a data directory or an archive, relative to it, in order. */
export const gatheredIn = (disk: Disk, directory: string): OnDisk<ReadonlyArray<string>> =>
  Effect.map(namesIn(disk, path.join(directory, gatheredName)), (names) =>
    names
      .filter((name) => /^\d+$/.test(name))
      .sort((one, other) => Number(one) - Number(other))
      .map((name) => `${gatheredName}/${name}`),
  )

export const readDescription = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
): Effect.fn.Return<Description, DiskError> {
  const where = path.join(folder, descriptionName)
  const text = yield* readSmallFile(disk, where, descriptionBytesMax)
  return yield* Effect.mapError(
    decodeDescription(text),
    () => new DiskError({ operation: "understand", path: where, code: "EBADMSG" }),
  )
})

interface Gathered {
  readonly through: number
  readonly journal: Journal
}

export class GatheredJournals {
  /** Of each environment, in the order of their records. */
  readonly #journals = new Map<string, Array<Gathered>>()

  static readonly open = Effect.fnUntraced(function* (
    disk: Disk,
    directory: string,
  ): Effect.fn.Return<GatheredJournals, Broken> {
    const opening = Effect.mapError((cause: DiskError) => new Broken({ operation: "open", cause }))
    const all = new GatheredJournals()
    for (const name of yield* opening(gatheredIn(disk, directory))) {
      const folder = path.join(directory, name)
      const { environments, through } = yield* opening(readDescription(disk, folder))
      const options = { disk, folder, segmentBytes: 0, freeSpaceBytesMin: 0 }
      const journal = new Journal(options, yield* recoverJournal(disk, folder), undefined)
      for (const environment of environments) all.#add(environment, { through, journal })
    }
    return all
  })

  #add(environment: string, gathered: Gathered): void {
    const journals = this.#journals.get(environment) ?? []
    journals.push(gathered)
    journals.sort((one, other) => one.through - other.through)
    this.#journals.set(environment, journals)
  }

  /** The journal that has the record, where it is not the directory's own. */
  journalOf(environment: string | undefined, sequence: number): Journal | undefined {
    const journals = environment === undefined ? undefined : this.#journals.get(environment)
    return journals?.find(({ through }) => sequence <= through)?.journal
  }
}
