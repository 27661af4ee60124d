/** The archives that a restore can begin with: those of this machine, and those of the bucket where these do not lead there. */
import { Effect } from "effect"
import { bucketOf } from "../../config/BucketSettings.ts"
import type { Config } from "../../config/Config.ts"
import { isGood, type ListedArchive } from "../../storage/archive/ArchiveCatalog.ts"
import { type BucketPlace, bucketName } from "../../storage/bucket/bucketErrors.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { type ArchiveSettings, archivesHere, archivesOfBoth } from "./ArchiveSettings.ts"
import { archivesInBucket, runWithBucket } from "./BucketAccess.ts"

type Listed = Effect.Effect<ReadonlyArray<ListedArchive>, CommandFailed>

export class RestoreSources {
  readonly #place: BucketPlace | undefined
  readonly #folder: string
  /** The archives of this machine. */
  readonly #here: Listed
  /** Those of the bucket as well, oldest first. */
  readonly #all: Listed

  private constructor(config: Config, settings: ArchiveSettings, inBucket: Listed) {
    this.#place = bucketOf(config)
    this.#folder = settings.folder
    this.#here = archivesHere(config, settings)
    this.#all = Effect.zipWith(this.#here, inBucket, archivesOfBoth)
  }

  static readonly make = (config: Config, settings: ArchiveSettings) =>
    Effect.map(
      Effect.cached(archivesInBucket(config, settings.folder)),
      (inBucket) => new RestoreSources(config, settings, inBucket),
    )

  /** The id of the archive that `wish` means, an id or `newest`; `undefined` for no wish. */
  readonly find = Effect.fnUntraced(function* (
    this: RestoreSources,
    wish: string | undefined,
  ): Effect.fn.Return<string | undefined, CommandFailed> {
    const here = yield* this.#here
    const isHere = this.#place === undefined && wish !== "newest"
    if (wish === undefined || isHere || here.some(({ id }) => id === wish)) return wish
    const all = yield* this.#all
    const found = wish === "newest" ? all.findLast(isGood) : all.find(({ id }) => id === wish)
    if (found !== undefined) return found.id
    const words =
      wish === "newest"
        ? "There is no good archive."
        : `Archive ${wish} not found. \`laurel snapshots list\` shows all.`
    return yield* commandFailed(exitCodes.refused, words)
  }).bind(this)

  /** Runs `plan` with the archives of this machine; with those of the bucket as well where it needs them. */
  plan<A>(
    id: string | undefined,
    plan: (archives: ReadonlyArray<ListedArchive>) => Effect.Effect<A, CommandFailed>,
  ): Effect.Effect<A, CommandFailed> {
    return Effect.flatMap(this.#here, (here) => {
      if (this.#place === undefined || here.some((archive) => archive.id === id)) return plan(here)
      const withAll = Effect.flatMap(this.#all, plan)
      if (id !== undefined) return withAll
      const isRefused = ({ exitCode }: CommandFailed) => exitCode === exitCodes.refused
      return Effect.catchIf(plan(here), isRefused, () => withAll)
    })
  }

  /** Where archive `id` is fetched from, and how; `undefined`: it is here. */
  readonly toFetch = (id: string) =>
    Effect.map(this.#here, (here) => {
      const place = this.#place
      if (place === undefined || here.some((archive) => archive.id === id)) return undefined
      const fetch = runWithBucket(place, "fetch", { archives: this.#folder, id })
      return { from: bucketName(place), fetch }
    })
}
