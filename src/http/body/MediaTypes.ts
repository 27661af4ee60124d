/** Which media types a request's body may have, and how others are refused. */
import type { IncomingMessage } from "node:http"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { CompiledOperation } from "../contract/Operation.ts"

interface MediaType {
  /** In lower case, without parameters. */
  readonly essence: string
  /** In lower case, `utf-8` if not given. */
  readonly charset: string
}

/** The name, and the one that many clients send instead. */
const utf8: ReadonlySet<string> = new Set(["utf-8", "utf8"])

/** What a `Content-Type` header says. */
const parseMediaType = (header: string): MediaType => {
  const [essence = "", ...parameters] = header.toLowerCase().split(";")
  let charset = "utf-8"
  for (const parameter of parameters) {
    const [name = "", value = ""] = parameter.split("=")
    if (name.trim() === "charset") charset = value.trim().replace(/^"(.*)"$/, "$1")
  }
  return { essence: essence.trim(), charset }
}

/** The media type of a body that an operation takes; `undefined` for one that it does not. */
export const acceptedMediaType = (
  { headers }: IncomingMessage,
  { mediaTypes }: CompiledOperation,
): string | undefined => {
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") return undefined
  const header = headers["content-type"]
  if (header === undefined) return undefined
  if (mediaTypes.has(header)) return header
  const { charset, essence } = parseMediaType(header)
  return mediaTypes.has(essence) && utf8.has(charset) ? essence : undefined
}

/** The media types that an operation takes, for a header field. */
export const acceptable = ({ mediaTypes }: CompiledOperation): string => [...mediaTypes].join(", ")

export const unsupportedMediaType = (operation: CompiledOperation): LaurelError =>
  laurelError(
    "unsupported_media_type",
    `Send the body as ${acceptable(operation)}, in UTF-8, without a content encoding.`,
  )
