/**
 * Reading the body of a request: bounded while it streams, valid UTF-8, valid JSON. Nothing here repeats
 * what was sent.
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

/** How large the body is, as far as the request says. */
export const announcedBytes = ({ headers }: IncomingMessage): number =>
  Number(headers["content-length"] ?? 0)

/** A request that can hand each piece of its body to a reader itself, without the events of a stream. */
export interface BodySource {
  /** `false`: some of the body has come already, and is in the stream. */
  readonly readTo: (reader: BodyReader) => boolean
}

/** Collects the pieces of one body. */
export class BodyReader {
  readonly #bytesMax: number
  readonly #done: (body: Result.Result<Buffer, LaurelError>) => void
  readonly #room: (bytes: number) => LaurelError | undefined
  readonly #chunks: Array<Buffer> = []
  #bytes = 0
  /** Pieces at the end of `#chunks` that are as they arrived. */
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

  /** Takes the next piece, or returns the refusal: then the caller hands over no more and calls `refuse`. */
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
 * Calls `done` with the whole body, or with `body_too_large` as soon as it has more than `bytesMax`, and never
 * when the caller disconnects before its end. `room` is called with the bytes of each piece and may refuse it.
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
 * Lets the rest of a body that was refused pass by, so that the caller gets to read the reply; one that goes
 * on for ever is cut off.
 */
export const discardBody = (request: IncomingMessage): void => {
  // Node itself discards the rest of a bounded body after the reply.
  if (!withinBounds(request)) discardRest(request)
}

/** The same for a body that was read in part, which Node leaves to the reader. */
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

/** How a decoder refuses a body. */
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
 * The value of a JSON text. Of members with the same name the last one counts. `place` says where in the body the
 * character stands that has an index in `text`.
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

/* The media types of request bodies, and the refusal of others. */

interface MediaType {
  /** In lower case, without parameters. */
  readonly essence: string
  /** In lower case, `utf-8` if not given. */
  readonly charset: string
}

/** The name, and the one that many clients send instead. */
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

/** The media type of a body, in lower case, if it is one of `mediaTypes`; else `undefined`. */
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

/** Media types as a header field lists them. */
export const acceptable = (mediaTypes: ReadonlySet<string>): string => [...mediaTypes].join(", ")

export const unsupportedMediaType = (mediaTypes: ReadonlySet<string>): LaurelError =>
  laurelError(
    "unsupported_media_type",
    `Send the body as ${acceptable(mediaTypes)}, in UTF-8, without a content encoding.`,
  )

/** JSON that stands for a `Body`, of a reply that is written faster by hand than by `JSON.stringify`. */
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
