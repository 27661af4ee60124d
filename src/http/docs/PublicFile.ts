/**
 * A file that is the same for all callers, such as the reference. It is compressed once and has an
 * ETag.
 */
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import type { PlainReply } from "../contract/Interpreter.ts"

export interface PublicFile {
  readonly contentType: string
  readonly cacheControl: string
  /** A hash of the text. */
  readonly tag: string
  readonly text: string
  readonly compressed: Buffer
}

export const makeFile = async (
  text: string,
  { cacheControl, contentType }: Pick<PublicFile, "cacheControl" | "contentType">,
): Promise<PublicFile> => {
  const tag = createHash("sha256").update(text).digest("hex").slice(0, 16)
  return { contentType, cacheControl, tag, text, compressed: await promisify(gzip)(text) }
}

/**
 * The file for a request with these headers: 304 where its sender has it, compressed where it takes
 * gzip.
 */
export const showFile = (
  { cacheControl, compressed, contentType, tag, text }: PublicFile,
  requestHeaders: NodeJS.Dict<string | string[]>,
): PlainReply => {
  const headers = [
    "ETag",
    // Weak: both forms have the same tag.
    `W/"${tag}"`,
    "Cache-Control",
    cacheControl,
    "Vary",
    "Accept-Encoding",
    "X-Content-Type-Options",
    "nosniff",
  ]
  if (hasTag(String(requestHeaders["if-none-match"] ?? ""), tag)) {
    return { status: 304, contentType, body: "", headers }
  }
  if (takesGzip(String(requestHeaders["accept-encoding"] ?? ""))) {
    headers.push("Content-Encoding", "gzip")
    return { status: 200, contentType, body: compressed, headers }
  }
  return { status: 200, contentType, body: text, headers }
}

/** Whether `If-None-Match` has the tag, strong or weak, as proxies make it (RFC 9110, 13.1.2). */
const hasTag = (header: string, tag: string): boolean =>
  header.split(",").some((each) => {
    const trimmed = each.trim()
    return trimmed === "*" || trimmed.replace(/^W\//, "") === `"${tag}"`
  })

/** Whether `Accept-Encoding` names gzip and does not refuse it by the weight 0. */
const takesGzip = (header: string): boolean =>
  header.split(",").some((each) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(each))
