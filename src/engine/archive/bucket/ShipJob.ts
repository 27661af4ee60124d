/**
 * Sends the archives of a folder that a bucket lacks, the newest first, and applies the retention
 * there (`storage/bucket/BucketArchives.ts` has the form of the bucket, and why several may ship at
 * once).
 *
 * A file goes in pieces, a few at a time; pieces that the bucket has are named, not sent. Each file
 * is compared with the archive's manifest on the way: what the bucket lists was read whole and
 * right.
 */
import { createHash } from "node:crypto"
import path from "node:path"
import { Effect, Result, Semaphore } from "effect"
import { limits } from "../../../Limits.ts"
import {
  bytesOf,
  isGood,
  type ListedArchive,
  listArchives,
} from "../../../storage/archive/ArchiveCatalog.ts"
import {
  byAge,
  encodeManifest,
  type Manifest,
  manifestBytesMax,
  manifestName,
} from "../../../storage/archive/ArchiveManifest.ts"
import { sha256Of } from "../../../storage/archive/SealedJson.ts"
import { type Bucket, openBucket } from "../../../storage/bucket/Bucket.ts"
import {
  archiveKey,
  type BucketArchive,
  type BucketIndex,
  collectPieces,
  encodeIndex,
  expiredInBucket,
  listBucketArchives,
  pieceName,
  pieceSum,
  piecesPrefix,
  readIndex,
  removeFromBucket,
} from "../../../storage/bucket/BucketArchives.ts"
import type { BucketError, BucketPlace } from "../../../storage/bucket/bucketErrors.ts"
import {
  type DiskError,
  type DiskFile,
  isMissing,
  readSmallFile,
  withFile,
} from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import {
  damaged,
  type Input,
  type JobCode,
  type JobContext,
  JobFailed,
  type ResultOf,
} from "../jobs/Jobs.ts"

type ArchiveFile = Manifest["files"][number]

export const shipArchives: JobCode<"ship"> = (input, context) =>
  Effect.flatMap(openShipped(context), (bucket) => ship(input, context, bucket))

/**
 * Opens the bucket that the host of the job names: credentials do not belong into the arguments of
 * a process.
 */
export const openShipped = Effect.fnUntraced(function* (
  context: JobContext,
): Effect.fn.Return<Bucket, BucketError> {
  const place = (yield* context.ask("bucket")) as BucketPlace
  return yield* openBucket(place, {
    onRetry: () => context.progress({ activity: "Sending", done: 0, total: 0 }),
  })
})

const ship = Effect.fnUntraced(function* (
  input: Input<"ship">,
  context: JobContext,
  bucket: Bucket,
): Effect.fn.Return<ResultOf<"ship">, BucketError | DiskError | JobFailed> {
  const { archives: folder, collect, retention } = input
  const listed = yield* listBucketArchives(bucket)
  const wanted = wantedOf(yield* listArchives(nodeDisk, folder), listed, retention)
  const shipment = yield* Shipment.begin(bucket, listed.at(-1), wanted.length > 0)
  const shipped: Array<BucketArchive> = []
  for (const archive of wanted) {
    const isThere = yield* shipment.send(archive, context).pipe(
      Effect.as(true),
      // The server prunes beside this job.
      Effect.catchTag("DiskError", (error) =>
        isMissing(error) ? Effect.succeed(false) : Effect.fail(error),
      ),
    )
    if (isThere) shipped.push(archive)
  }
  yield* context.ask("shipped")
  const all = [...listed, ...shipped].sort(byAge)
  const expired = expiredInBucket(all, retention)
  for (const archive of expired) yield* removeFromBucket(bucket, archive)
  yield* context.ask("pruned")
  const collected = collect
    ? yield* collectPieces(bucket, Date.now(), () =>
        context.progress({ activity: "Sending", done: 0, total: 0 }),
      )
    : undefined
  const removed = new Set(expired.map(({ id }) => id))
  return {
    shipped: shipped.map(({ id }) => id),
    listed: all.flatMap(({ at, id }) => (removed.has(id) ? [] : [{ id, at }])),
    sentBytes: shipment.sentBytes,
    sentPieces: shipment.sentPieces,
    usedPieces: shipment.usedPieces,
    removed: [...removed],
    collected: collected !== undefined && Result.isSuccess(collected) ? collected.success : null,
    unreadable: collected !== undefined && Result.isFailure(collected) ? collected.failure : null,
  }
})

interface Wanted extends BucketArchive {
  readonly folder: string
  readonly manifest: Manifest
}

/** The good archives that the bucket lacks and would keep, the newest first. */
const wantedOf = (
  local: ReadonlyArray<ListedArchive>,
  listed: ReadonlyArray<BucketArchive>,
  retention: Input<"ship">["retention"],
): ReadonlyArray<Wanted> => {
  const there = new Set(listed.map(({ id }) => id))
  const lacking = local.flatMap((archive): ReadonlyArray<Wanted> => {
    const { manifest, ...named } = archive
    if (there.has(archive.id) || !isGood(archive) || Result.isFailure(manifest)) return []
    return [{ ...named, reason: manifest.success.reason, manifest: manifest.success }]
  })
  const expired = new Set(expiredInBucket([...listed, ...lacking], retention).map(({ id }) => id))
  return lacking.filter(({ id }) => !expired.has(id)).reverse()
}

/** One attempt to send archives, which uses what it found in the bucket when it began. */
class Shipment {
  readonly #bucket: Bucket
  readonly #beganAt = Date.now()
  readonly #attempt = `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`
  /** The names of pieces that may be used, and their sizes, by their checksums. */
  readonly #usable = new Map<string, { readonly name: string; readonly bytes: number }>()
  /** The pieces of files that the newest archive of the bucket has, by the files' checksums. */
  readonly #files = new Map<string, ReadonlyArray<string>>()
  readonly #pace = new Pace()
  sentBytes = 0
  sentPieces = 0
  usedPieces = 0

  private constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  static readonly begin = Effect.fnUntraced(function* (
    bucket: Bucket,
    newest: BucketArchive | undefined,
    isNeeded: boolean,
  ): Effect.fn.Return<Shipment, BucketError> {
    const shipment = new Shipment(bucket)
    if (!isNeeded) return shipment
    const index = newest === undefined ? undefined : yield* readIndex(bucket, newest)
    const named = new Set<string>()
    if (index !== undefined && Result.isSuccess(index)) {
      const sums = new Map(index.success.manifest.files.map((file) => [file.path, file.sha256]))
      for (const { path, pieces } of index.success.files) {
        for (const name of pieces) named.add(name)
        const sha256 = sums.get(path)
        if (sha256 !== undefined) shipment.#files.set(sha256, pieces)
      }
    }
    for (const { bytes, key, modifiedAt } of yield* bucket.list(piecesPrefix)) {
      const name = key.slice(piecesPrefix.length)
      const sha256 = pieceSum(name)
      const isYoung = modifiedAt >= shipment.#beganAt - limits.bucketSendMs
      if (sha256 !== undefined && (isYoung || named.has(name))) {
        shipment.#usable.set(sha256, { name, bytes })
      }
    }
    return shipment
  })

  readonly send = Effect.fnUntraced(function* (
    this: Shipment,
    archive: Wanted,
    context: JobContext,
  ): Effect.fn.Return<void, BucketError | DiskError | JobFailed> {
    const { folder, manifest } = archive
    const { files } = manifest
    const total = bytesOf(manifest)
    let done = 0
    const passed = (bytes: number) => {
      done += bytes
      context.progress({ activity: "Sending", done, total })
    }
    const sent: Array<BucketIndex["files"][number]> = []
    for (const file of files) {
      sent.push({ path: file.path, pieces: yield* this.#sendFile(folder, file, passed) })
    }
    yield* context.ask("sent")
    const text = yield* readSmallFile(nodeDisk, path.join(folder, manifestName), manifestBytesMax)
    if (text !== encodeManifest(manifest)) {
      return yield* damaged(`The manifest of archive ${archive.id} changed while it was sent`)
    }
    const index = encodeIndex({ text, files: sent })
    if (index.length > limits.bucketObjectBytesMax) {
      return yield* new JobFailed({
        kind: "failed",
        detail: `Archive ${archive.id} has too many files for a bucket`,
      })
    }
    if (Date.now() - this.#beganAt > limits.bucketSendMs) {
      return yield* new JobFailed({
        kind: "unavailable",
        detail: `Archive ${archive.id} could not be sent within ${limits.bucketSendMs / 3_600_000} hours`,
      })
    }
    yield* this.#bucket.put(archiveKey(archive), index)
    yield* context.ask("listed")
  })

  /** Sends what the bucket lacks of a file; returns the names of all of its pieces. */
  readonly #sendFile = Effect.fnUntraced(function* (
    this: Shipment,
    folder: string,
    file: ArchiveFile,
    passed: (bytes: number) => void,
  ): Effect.fn.Return<ReadonlyArray<string>, BucketError | DiskError | JobFailed> {
    const there = this.#piecesOf(file)
    if (there !== undefined) {
      passed(file.bytes)
      return there
    }
    const hash = createHash("sha256")
    const count = Math.max(1, Math.ceil(file.bytes / limits.bucketPieceBytes))
    const inOrder = yield* Semaphore.make(1)
    const names = yield* withFile(nodeDisk, path.join(folder, file.path), "read", (opened) =>
      Effect.forEach(
        Array.from({ length: count }, (_, n) => n * limits.bucketPieceBytes),
        (position) =>
          Effect.gen({ self: this }, function* () {
            const bytes = yield* Semaphore.withPermit(
              inOrder,
              Effect.tap(readPieceOf(opened, position), (read) =>
                Effect.sync(() => hash.update(read)),
              ),
            )
            const name = yield* this.#sendPiece(bytes)
            passed(bytes.length)
            return name
          }),
        { concurrency: limits.bucketRequestsMax },
      ),
    )
    if (hash.digest("hex") !== file.sha256) {
      return yield* damaged(`The file ${file.path} of the archive in ${folder} has changed`)
    }
    this.#files.set(file.sha256, names)
    return names
  })

  /** The pieces of a file that need not be read, because the bucket has all of it. */
  #piecesOf({ bytes, sha256 }: ArchiveFile): ReadonlyArray<string> | undefined {
    const names = this.#files.get(sha256)
    if (names !== undefined && this.#bytesThere(names) === bytes) {
      this.usedPieces += names.length
      return names
    }
    if (bytes > limits.bucketPieceBytes) return undefined
    // The bucket has a file of one piece under the checksum of the file.
    const whole = this.#find(sha256, bytes)
    return whole === undefined ? undefined : [whole]
  }

  #bytesThere(names: ReadonlyArray<string>): number {
    return names.reduce((sum, name) => {
      const found = this.#usable.get(pieceSum(name)!)
      return sum + (found?.name === name ? found.bytes : 0)
    }, 0)
  }

  readonly #sendPiece = Effect.fnUntraced(function* (
    this: Shipment,
    bytes: Uint8Array,
  ): Effect.fn.Return<string, BucketError> {
    const sha256 = sha256Of(bytes)
    const found = this.#find(sha256, bytes.length)
    if (found !== undefined) return found
    const name = pieceName(sha256, this.#attempt)
    yield* this.#bucket.put(`${piecesPrefix}${name}`, bytes)
    this.#usable.set(sha256, { name, bytes: bytes.length })
    this.sentBytes += bytes.length
    this.sentPieces++
    yield* this.#pace.rest(bytes.length)
    return name
  })

  #find(sha256: string, bytes: number): string | undefined {
    const found = this.#usable.get(sha256)
    // One of another size was truncated by somebody.
    if (found?.bytes !== bytes) return undefined
    this.usedPieces++
    return found.name
  }
}

const readPieceOf = (file: DiskFile, position: number): Effect.Effect<Buffer, DiskError> =>
  Effect.suspend(() => {
    const memory = Buffer.allocUnsafe(limits.bucketPieceBytes)
    return Effect.map(file.read(position, memory), (count) => memory.subarray(0, count))
  })

/** Bounds the rate at which bytes are sent. */
class Pace {
  readonly #startedAt = performance.now()
  #bytes = 0

  rest(bytes: number): Effect.Effect<void> {
    this.#bytes += bytes
    const dueMs = (this.#bytes / limits.bucketBytesPerSecond) * 1_000
    return Effect.sleep(Math.max(0, dueMs - (performance.now() - this.#startedAt)))
  }
}
