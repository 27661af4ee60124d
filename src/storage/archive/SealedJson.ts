/** JSON with the SHA-256 of its content beside it: `{"sha256": …, "<name>": content}`. */
import { createHash } from "node:crypto"
import { Option, Result, Schema } from "effect"
import { otherFormat } from "../format.ts"

/** The SHA-256 of `bytes`, in hex. */
export const sha256Of = (bytes: Uint8Array | string): string =>
  createHash("sha256").update(bytes).digest("hex")

const checksumOf = (content: unknown): string => sha256Of(JSON.stringify(content))

/** The document, to be written as JSON. */
export const sealJson = (name: string, content: unknown): object => ({
  sha256: checksumOf(content),
  [name]: content,
})

const decodeDocument = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)),
)

/**
 * The content of a document in the format `own`, or the document's fault, in words that follow its
 * name ("is damaged").
 */
export const openSealedJson = <A>(
  text: string,
  name: string,
  own: number,
  decode: (content: unknown) => Option.Option<A>,
): Result.Result<A, string> => {
  const document = Option.getOrUndefined(decodeDocument(text))
  const content = document?.[name]
  if (content === undefined || document!.sha256 !== checksumOf(content)) {
    return Result.fail("is damaged")
  }
  const format = (content as { readonly format?: unknown } | null)?.format
  if (typeof format === "number" && format !== own) return Result.fail(otherFormat(format, own))
  return Result.fromOption(decode(content), () => "is not one of Laurel's")
}
