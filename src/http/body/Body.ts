/**
 * Reads the body of a request: bounded while it arrives, valid UTF-8, valid JSON. Refusals never
 * repeat the input.
 */
import { isUtf8 } from "node:buffer"
import type { IncomingMessage } from "node:http"
import { Result } from "effect"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { jsonFault } from "./jsonFault.ts"

export const emptyBytes = Buffer.alloc(0)

export const bodyTooLarge = (bytesMax: number): LaurelError =>
  laurelError("body_too_large", `The body may have at most ${bytesMax} bytes.`)

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0

/** The length of the body that the request announces. */
export const announcedBytes = ({ headers }: IncomingMessage): number =>
  Number(headers["content-length"] ?? 0)

/** A request that can pass each piece of its body directly to a reader, without stream events. */
export interface BodySource {
  /** `false`: a part of the body has already arrived and is in the stream. */
  readonly readTo: (reader: BodyReader) => boolean
}

/** Collects the pieces of one body. */
export class BodyReader {
  readonly #bytesMax: number
  readonly #done: (body: Result.Result<Buffer, LaurelError>) => void
  readonly #room: (bytes: number) => LaurelError | undefined
  readonly #chunks: Array<Buffer> = []
  #bytes = 0
  /** The number of pieces at the end of `#chunks` that are not joined. */
  #small = 0

  constructor(
    bytesMax: number,
    done: (body: Result.Result<Buffer, LaurelError>) => void,
    room: (bytes: number) => LaurelError | undefined,
  ) {
    this.#bytesMax = bytesMax
    this.#done = done
    this.#room = room
  }

  /**
   * Takes the next piece, or returns a refusal. After a refusal the caller passes no more pieces
   * and calls `refuse`.
   */
  take(chunk: Buffer): LaurelError | undefined {
    this.#bytes += chunk.length
    const refusal =
      this.#bytes <= this.#bytesMax ? this.#room(chunk.length) : bodyTooLarge(this.#bytesMax)
    if (refusal !== undefined) return refusal
    this.#chunks.push(chunk)
    if (++this.#small === limits.bodyPiecesMax) {
      this.#chunks.push(Buffer.concat(this.#chunks.splice(-this.#small)))
      this.#small = 0
    }
    return undefined
  }

  refuse(refusal: LaurelError): void {
    this.#chunks.length = 0
    this.#done(Result.fail(refusal))
  }

  /** The body is complete. */
  end(): void {
    const chunks = this.#chunks
    this.#done(
      Result.succeed(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, this.#bytes)),
    )
  }
}

/**
 * Calls `done` with the whole body, or with `body_too_large` as soon as it has more than
 * `bytesMax`. It never calls `done` if the caller disconnects before the end. `room` gets the bytes
 * of each piece and may refuse the piece.
 */
export const readBody = (
  request: IncomingMessage | (IncomingMessage & BodySource),
  bytesMax: number,
  done: (body: Result.Result<Buffer, LaurelError>) => void,
  room: (bytes: number) => LaurelError | undefined = () => undefined,
): void => {
  const reader = new BodyReader(bytesMax, done, room)
  if ("readTo" in request && request.readTo(reader)) return
  const take = (chunk: Buffer): void => {
    const refusal = reader.take(chunk)
    if (refusal === undefined) return
    request.off("data", take)
    request.off("end", end)
    reader.refuse(refusal)
  }
  const end = (): void => reader.end()
  request.on("data", take)
  request.on("end", end)
}

/**
 * Discards the rest of a refused body, so that the caller can read the reply. A body that goes on
 * for ever is cut off.
 */
export const discardBody = (request: IncomingMessage): void => {
  // Node itself discards the rest of a bounded body after the reply.
  if (!withinBounds(request)) discardRest(request)
}

/** Discards the rest of a body that was read in part. Node leaves such a body to its reader. */
export const discardRest = (request: IncomingMessage): void => {
  let bytes = 0
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > limits.refusedBodyBytesMax) request.destroy()
  })
  request.resume()
}

const withinBounds = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] === undefined &&
  Number(headers["content-length"] ?? 0) <= limits.refusedBodyBytesMax

/** The refusal of a body by a decoder. */
export type BodyRefusal = LaurelError<"invalid_json" | "invalid_request">

const invalidJson = (detail: string): LaurelError<"invalid_json"> =>
  laurelError("invalid_json", detail)

/** Refuses JSON that is invalid at the character with this index. */
export const brokenAt = (index: number): LaurelError<"invalid_json"> =>
  invalidJson(`Invalid JSON at character ${index}.`)
export const endsEarly = invalidJson("The body ends before its JSON does.")

export const notUtf8 = (what: "body" | "line"): LaurelError<"invalid_json"> =>
  invalidJson(`The ${what} is not UTF-8.`)

/**
 * The value of a JSON text. Of members with the same name, the last one counts. `place` converts an
 * index in `text` to the index in the body.
 */
export const parseJson = (
  text: string,
  place: (index: number) => number = (index) => index,
): Result.Result<unknown, LaurelError<"invalid_json">> => {
  if (text.length === 0) return Result.fail(noBody)
  if (text.charCodeAt(0) === byteOrderMark) return Result.fail(markedBody)
  try {
    return Result.succeed(JSON.parse(text))
  } catch {
    const at = jsonFault(text)
    return Result.fail(at === text.length ? endsEarly : brokenAt(place(at)))
  }
}

/** The JSON value of a whole body. */
export const parseBody = (body: Buffer): Result.Result<unknown, LaurelError<"invalid_json">> =>
  isUtf8(body) ? parseJson(body.toString("utf8")) : Result.fail(notUtf8("body"))

const byteOrderMark = 0xfeff
const noBody = invalidJson("The body is empty.")
const markedBody = invalidJson("The body begins with a byte order mark.")

/* Media types of request bodies. */

interface MediaType {
  /** In lower case, without parameters. */
  readonly essence: string
  /** In lower case; `utf-8` by default. */
  readonly charset: string
}

/** The name of UTF-8, and the wrong name that many clients send. */
const utf8: ReadonlySet<string> = new Set(["utf-8", "utf8"])

/** Parses a `Content-Type` header. */
const parseMediaType = (header: string): MediaType => {
  const [essence = "", ...parameters] = header.toLowerCase().split(";")
  let charset = "utf-8"
  for (const parameter of parameters) {
    const [name = "", value = ""] = parameter.split("=")
    if (name.trim() === "charset") charset = value.trim().replace(/^"(.*)"$/, "$1")
  }
  return { essence: essence.trim(), charset }
}

/** The media type of a body, in lower case, if it is one of `mediaTypes`; otherwise `undefined`. */
export const acceptedMediaType = (
  { headers }: IncomingMessage,
  mediaTypes: ReadonlySet<string>,
): string | undefined => {
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") return undefined
  const header = headers["content-type"]
  if (header === undefined) return undefined
  if (mediaTypes.has(header)) return header
  const { charset, essence } = parseMediaType(header)
  return mediaTypes.has(essence) && utf8.has(charset) ? essence : undefined
}

/** Media types in the form of a header field. */
export const acceptable = (mediaTypes: ReadonlySet<string>): string => [...mediaTypes].join(", ")

export const unsupportedMediaType = (mediaTypes: ReadonlySet<string>): LaurelError =>
  laurelError(
    "unsupported_media_type",
    `Send the body as ${acceptable(mediaTypes)}, in UTF-8, without a content encoding.`,
  )

/** A `Body` as JSON, for replies that code writes faster than `JSON.stringify`. */
export class JsonText<Body> {
  readonly text: string

  /** `text` must parse to a `Body`. */
  constructor(text: string) {
    this.text = text
  }

  parse(): Body {
    return JSON.parse(this.text) as Body
  }
}
