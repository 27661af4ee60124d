/**
 * A bucket of an S3-compatible server: puts, gets, lists and removes whole objects under one
 * prefix.
 *
 * The client (`@bradenmacdonald/s3-lite-client`) signs each request with the SHA-256 of its body,
 * so that the server refuses bytes that changed on the way. The module is loaded when a bucket is
 * opened. A request has a deadline, and is repeated after a temporary failure. Repeating any
 * request is safe, since no object is ever appended to. No object is larger than
 * `bucketObjectBytesMax`; callers hold objects in memory.
 */
import type { S3Client } from "@bradenmacdonald/s3-lite-client"
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import {
  type BucketError,
  type BucketPlace,
  bucketFailed,
  bucketName,
  Garbled,
  isReply,
  NotS3,
  TooLarge,
} from "./bucketErrors.ts"

/** A listed object. The key does not include the prefix of the bucket. */
export interface ListedObject {
  readonly key: string
  readonly bytes: number
  /** Epoch milliseconds of the server's clock. */
  readonly modifiedAt: number
}

export interface Bucket {
  /** The name for people: `s3://bucket/prefix`. */
  readonly name: string
  readonly put: (key: string, bytes: Uint8Array) => Effect.Effect<void, BucketError>
  /** The object's bytes. Fails if there are more than `bucketObjectBytesMax`. */
  readonly get: (key: string) => Effect.Effect<Buffer, BucketError>
  /** Does nothing if the object is missing. */
  readonly remove: (key: string) => Effect.Effect<void, BucketError>
  /** All objects whose keys begin with `start`, in the order of their keys. */
  readonly list: (start: string) => Effect.Effect<ReadonlyArray<ListedObject>, BucketError>
}

export interface BucketOptions {
  /** The delay before the first repetition of a request. It doubles with each repetition. */
  readonly retryMs?: number
  /** The deadline of a request. */
  readonly requestMs?: number
  /** How often a request is sent if its failures are temporary. */
  readonly tries?: number
  /** Called before a request is repeated. */
  readonly onRetry?: () => void
}

/** Sends a request until it succeeds, fails permanently, or was sent `tries` times. */
const insistWith =
  (
    place: BucketPlace,
    {
      onRetry,
      requestMs = limits.bucketRequestMs,
      retryMs = limits.bucketRetryMs,
      tries = limits.bucketTries,
    }: BucketOptions,
  ) =>
  <A>(request: () => Promise<A>): Effect.Effect<A, BucketError> => {
    const once = Effect.tryPromise({
      try: () => beforeDeadline(request(), requestMs),
      catch: (error) => bucketFailed(error, place),
    })
    const again = (tried: number): Effect.Effect<A, BucketError> =>
      Effect.catch(once, (error) => {
        if (error.kind !== "passing" || tried === tries) return Effect.fail(error)
        onRetry?.()
        const delayMs = retryMs * 2 ** (tried - 1) * (0.5 + Math.random() / 2)
        return Effect.andThen(Effect.sleep(delayMs), again(tried + 1))
      })
    return again(1)
  }

/** A page of the objects whose keys begin with `start`, and the token of the next page. */
const pageOf = (
  client: S3Client,
  insist: ReturnType<typeof insistWith>,
  prefix: string,
  start: string,
  token: string | undefined,
) =>
  insist(async () => {
    const objects: Array<ListedObject> = []
    const found = client.listObjectsGrouped({
      prefix: prefix + start,
      delimiter: "",
      pageSize: listPageKeys,
      maxResults: listPageKeys,
      ...(token !== undefined && { continuationToken: token }),
    })
    while (true) {
      const { done, value } = await found.next().catch(orNotS3)
      if (done) return { objects, next: value as string | undefined }
      if (value.type !== "Object" || !value.key.startsWith(prefix + start)) continue
      const modifiedAt = value.lastModified.getTime()
      if (Number.isNaN(modifiedAt)) throw new Garbled("a listed object has no time")
      objects.push({ key: value.key.slice(prefix.length), bytes: value.size, modifiedAt })
    }
  })

export const openBucket = Effect.fnUntraced(function* (
  place: BucketPlace,
  options: BucketOptions = {},
): Effect.fn.Return<Bucket, BucketError> {
  const { prefix } = place
  const client = yield* Effect.tryPromise({
    try: () => clientFor(place),
    catch: (error) => bucketFailed(error, place),
  })

  const insist = insistWith(place, options)

  return {
    name: bucketName(place),
    put: (key, bytes) =>
      Effect.asVoid(
        insist(() =>
          client.makeRequest({
            method: "PUT",
            objectName: prefix + key,
            // A copy: the client does not handle a view of a larger buffer.
            payload: bytes as Uint8Array<ArrayBuffer>,
          }),
        ),
      ),
    get: (key) => insist(async () => wholeBody(await client.getObject(prefix + key))),
    remove: (key) =>
      Effect.catchIf(
        insist(() => client.deleteObject(prefix + key)),
        ({ kind }) => kind === "missing",
        () => Effect.void,
      ),
    list: Effect.fnUntraced(function* (start) {
      const all: Array<ListedObject> = []
      let token: string | undefined
      while (true) {
        const { next, objects } = yield* pageOf(client, insist, prefix, start, token)
        for (const object of objects) {
          // A server that repeats its listing would never end it.
          if (object.key <= (all.at(-1)?.key ?? "")) return yield* bucketFailed(new NotS3(), place)
          all.push(object)
        }
        if (next === undefined) return all
        token = next
      }
    }),
  }
})

const listPageKeys = 1_000

const clientFor = async (place: BucketPlace): Promise<S3Client> => {
  const { S3Client } = await import("@bradenmacdonald/s3-lite-client")
  return new S3Client({
    endPoint: place.endpoint,
    region: place.region,
    bucket: place.bucket,
    accessKey: place.accessKeyId,
    secretKey: place.secretAccessKey,
    ...(place.sessionToken !== undefined && { sessionToken: place.sessionToken }),
  })
}

/**
 * Turns the errors of a listing that the client cannot parse into `NotS3`: the client has no error
 * class for them.
 */
const orNotS3 = (error: unknown): never => {
  const isOther = error instanceof Error && error.constructor === Error
  throw isOther || isMissingList(error) ? new NotS3() : error
}

const isMissingList = (error: unknown): boolean =>
  isReply(error) && error.statusCode === 404 && error.code !== "NoSuchBucket"

const wholeBody = async (response: Response): Promise<Buffer> => {
  // A body that was compressed on the way has another length.
  const isEncoded = response.headers.has("content-encoding")
  const expected = isEncoded ? null : response.headers.get("content-length")
  const pieces: Array<Uint8Array> = []
  let bytes = 0
  if (Number(expected) > limits.bucketObjectBytesMax) {
    await response.body?.cancel()
    throw new TooLarge("the object is too large")
  }
  for await (const piece of response.body ?? []) {
    bytes += piece.length
    if (bytes > limits.bucketObjectBytesMax) throw new TooLarge("the object is too large")
    pieces.push(piece)
  }
  if (expected !== null && Number(expected) !== bytes) throw new Garbled("the reply ended early")
  return Buffer.concat(pieces)
}

const beforeDeadline = async <A>(request: Promise<A>, deadlineMs: number): Promise<A> => {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Garbled(`no reply within ${deadlineMs / 1_000} seconds`)),
    deadlineMs,
  )
  try {
    return await Promise.race([request, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
