/** The media types of request bodies, and the refusal of others. */
import type { IncomingMessage } from "node:http"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"

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
