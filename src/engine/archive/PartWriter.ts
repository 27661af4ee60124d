/**
 * Puts the parts of an archive in creation into its draft: links those of an earlier archive, the base, and writes others.
 *
 * - A file is linked unread if it has the size and the time of the base's list, else it is read again first: one that is not
 *   what the list says is not used.
 * - Archives share a file, and so its damage. So each archive reads some of the files again, another share of them each hour
 *   (`isDueAt`). One that is damaged is written from the data.
 * - Where the file system has no links, or no more of them, a file is copied.
 * - A file that is written is read back: its entries, their sum and what they add to a check are as the file has them.
 * - A partition that is written again is cut where the base has cut it, so what is the same becomes the same file.
 */
import fs from "node:fs/promises"
import path from "node:path"
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { copyFile, describeFiles } from "../../storage/archive/Files.ts"
import {
  type Part,
  PartBuilder,
  partFile,
  partName,
  partPath,
  partsFolder,
  readSection,
  readSections,
} from "../../storage/archive/PartFile.ts"
import { DiskError, isMissing, withFile } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { type KeyRange, rangeOf } from "../../storage/Keys.ts"
import { change, digestOf, hashKey } from "../../storage/lmdb/Sums.ts"
import { checksumOf } from "../../storage/SealedValue.ts"
import type { StoredEntry } from "../../storage/Storage.ts"
import { partitionPrefix } from "../records/SnapshotValues.ts"
import type { ArchiveBase } from "./ArchiveBase.ts"
import { contentsOf } from "./HistoryParts.ts"
import { damaged, type JobFailed } from "./Jobs.ts"

/** Of link(2), where a copy serves as well: no links here, too many of the file, another device, not this user's file. */
const withoutLinks = new Set([
  "EPERM",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
  "EXDEV",
  "EACCES",
])

type OnDiskPart = Effect.Effect<Part | undefined, DiskError>

const everything = rangeOf(new Uint8Array())

const hourMs = 3_600_000

/** Whether an archive made at `at` (epoch milliseconds) reads a part again before it is linked: in one of `archiveRereadHours`. */
export const isDueAt = ({ sha256 }: Pick<Part, "sha256">, at: number): boolean =>
  (Number.parseInt(sha256.slice(0, 8), 16) + Math.floor(at / hourMs)) %
    limits.archiveRereadHours ===
  0

export interface PartWriterOptions {
  readonly draft: string
  /** When the archive is made, epoch milliseconds. */
  readonly at: number
  readonly base: ArchiveBase | undefined
  /** Reads the pages of a partition, among some keys. */
  readonly pagesOf: (partition: number, among: KeyRange) => Iterable<StoredEntry>
  /** Runs after each part that was written, with its bytes. */
  readonly rested: (bytes: number) => Effect.Effect<void>
}

export class PartWriter {
  readonly #options: PartWriterOptions
  readonly #draft: string
  readonly #base: ArchiveBase | undefined
  readonly #builder = new PartBuilder(partitionPrefix)
  /** Files that are the base's own, and those that are copies of them for want of links. */
  linked = 0
  copied = 0

  constructor(options: PartWriterOptions) {
    this.#options = options
    this.#draft = options.draft
    this.#base = options.base
  }

  /**
   * Takes over a partition from the base. Where it has no part, one of them is missing or damaged, or `isStale` for the keys
   * that it stands for, the pages among these are written.
   */
  readonly take = Effect.fnUntraced(function* (
    this: PartWriter,
    partition: number,
    isStale: (among: KeyRange) => boolean,
  ): Effect.fn.Return<ReadonlyArray<Part>, DiskError | JobFailed> {
    const known = this.#ofBase(partition)
    if (known.length === 0) return yield* this.write(partition)
    const parts: Array<Part> = []
    for (const [n, part] of known.entries()) {
      const next = known[n + 1]
      const among = {
        from: n === 0 ? everything.from : firstKeyOf(part),
        until: next === undefined ? everything.until : firstKeyOf(next),
      }
      const linked = isStale(among) ? undefined : yield* this.#link(part)
      parts.push(...(linked === undefined ? yield* this.write(partition, among) : [linked]))
    }
    return parts
  })

  /** Writes the pages of a partition, or those `among` some keys; parts that the base has are linked. */
  readonly write = Effect.fnUntraced(function* (
    this: PartWriter,
    partition: number,
    among: KeyRange = everything,
  ): Effect.fn.Return<ReadonlyArray<Part>, DiskError | JobFailed> {
    const { pagesOf, rested } = this.#options
    const parts: Array<Part> = []
    const builder = this.#builder
    const cuts = this.#ofBase(partition).map(firstKeyOf)
    let cut = 0
    const end = Effect.fnUntraced(function* (this: PartWriter) {
      const { bytes } = builder.end()
      parts.push(yield* this.#end(partition))
      builder.clear()
      yield* rested(bytes.length)
    }).bind(this)
    builder.clear()
    for (const [key, value] of pagesOf(partition, among)) {
      let isCut = builder.isFull
      for (; cut < cuts.length && Buffer.compare(cuts[cut]!, key) <= 0; cut++) isCut = true
      if (isCut && !builder.isEmpty) yield* end()
      builder.add(key, value)
    }
    if (!builder.isEmpty) yield* end()
    return parts
  })

  /** Makes the folder of the parts durable, with `parts` and no others. */
  readonly end = Effect.fnUntraced(function* (
    this: PartWriter,
    parts: ReadonlyArray<Part>,
  ): Effect.fn.Return<void, DiskError> {
    const folder = path.join(this.#draft, partsFolder)
    const names = new Set(parts.map(partName))
    for (const name of yield* nodeDisk.list(folder)) {
      if (!names.has(name)) yield* nodeDisk.remove(path.join(folder, name))
    }
    yield* nodeDisk.syncFolder(folder)
  })

  #ofBase(partition: number): ReadonlyArray<Part> {
    return this.#base?.partsOf(partition) ?? []
  }

  /** Writes what was built, or links it. */
  readonly #end = Effect.fnUntraced(function* (
    this: PartWriter,
    partition: number,
  ): Effect.fn.Return<Part, DiskError | JobFailed> {
    const { bytes, sha256 } = this.#builder.end()
    const known = this.#ofBase(partition).find((part) => part.sha256 === sha256)
    const linked = known && (yield* this.#link(known))
    if (linked !== undefined) return linked
    const where = partPath(this.#draft, { sha256 })
    yield* withFile(nodeDisk, where, "create", (file) =>
      Effect.andThen(file.write(0, [bytes]), file.sync),
    )
    const sum = { count: 0, sum: 0 }
    const contents = yield* Effect.try({
      try: () => contentsOf(summed(sum, where)),
      catch: (error) => damaged(`A page of partition ${partition} cannot be read: ${error}`),
    })
    return {
      table: "history",
      partition,
      first: Buffer.from(this.#builder.firstKey).toString("hex"),
      sha256,
      bytes: bytes.length,
      modifiedMs: yield* modifiedAt(where),
      entries: sum.count,
      sum: sum.sum,
      ...contents,
    }
  })

  /** `undefined`: the base's file is missing, or is not what its list says. */
  #link(part: Part): OnDiskPart {
    const from = partPath(this.#base!.folder, part)
    const to = partPath(this.#draft, part)
    const link = Effect.tryPromise({
      try: async () => {
        await fs.rm(to, { force: true })
        await fs.link(from, to)
      },
      catch: (error) => diskError("link", to, error),
    })
    const name = partFile(part)
    const linked: OnDiskPart = Effect.gen({ self: this }, function* () {
      const { mtimeMs, size } = yield* stat(from)
      if (size !== part.bytes) return undefined
      if (mtimeMs !== part.modifiedMs || isDueAt(part, this.#options.at)) {
        const [found] = yield* describeFiles(this.#base!.folder, [name], () => {})
        if (found?.sha256 !== part.sha256) return undefined
      }
      const isLinked = yield* link.pipe(
        Effect.as(true),
        Effect.catchIf(
          ({ code }) => withoutLinks.has(code),
          () => Effect.succeed(false),
        ),
      )
      if (isLinked) this.linked++
      else {
        this.copied++
        const { sha256 } = yield* copyFile(from, to, "", () => {})
        if (sha256 !== part.sha256) return undefined
      }
      return { ...part, modifiedMs: yield* modifiedAt(to) }
    })
    return Effect.catchIf(linked, isMissing, () => Effect.undefined)
  }
}

const firstKeyOf = ({ first }: Part): Buffer => Buffer.from(first, "hex")

const diskError = (operation: string, where: string, error: unknown): DiskError => {
  const { code, message } = error as NodeJS.ErrnoException
  return new DiskError({ operation, path: where, code: code ?? message })
}

const stat = (where: string) =>
  Effect.tryPromise({
    try: () => fs.stat(where),
    catch: (error) => diskError("stat", where, error),
  })

const modifiedAt = (where: string) => Effect.map(stat(where), ({ mtimeMs }) => mtimeMs)

/** The entries of a part, added to `sum`. */
function* summed(sum: { count: number; sum: number }, where: string): Generator<StoredEntry> {
  for (const section of readSections(where)) {
    for (const entry of readSection(where, section)) {
      change(sum, digestOf(hashKey(entry[0]), checksumOf(entry[1])), 1)
      yield entry
    }
  }
}
