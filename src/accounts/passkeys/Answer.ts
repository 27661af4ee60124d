/**
 * The browser's answer about a passkey: the JSON of a `PublicKeyCredential`. Unknown members are
 * ignored.
 */
import { Option, Schema } from "effect"

const shared = { clientDataJSON: Schema.String }

const New = Schema.Struct({
  id: Schema.NonEmptyString,
  rawId: Schema.String,
  type: Schema.Literal("public-key"),
  response: Schema.Struct({
    ...shared,
    attestationObject: Schema.String,
    transports: Schema.optional(Schema.Array(Schema.String)),
  }),
})

const Used = Schema.Struct({
  id: Schema.NonEmptyString,
  rawId: Schema.String,
  type: Schema.Literal("public-key"),
  response: Schema.Struct({
    ...shared,
    authenticatorData: Schema.String,
    signature: Schema.String,
    /** The id of the account, base64url. Some authenticators omit it. */
    userHandle: Schema.optional(Schema.NullOr(Schema.String)),
  }),
})

/** A passkey that an authenticator has created. */
export type NewAnswer = typeof New.Type
/** A signature by a passkey. */
export type UsedAnswer = typeof Used.Type

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const decodeNew = Schema.decodeUnknownOption(New)
const decodeUsed = Schema.decodeUnknownOption(Used)

/**
 * The answer in a form's field, without unknown members; `undefined` if the text is no such answer.
 */
export const newAnswer = (text: string): NewAnswer | undefined =>
  Option.getOrUndefined(decodeNew(parsed(text)))

export const usedAnswer = (text: string): UsedAnswer | undefined =>
  Option.getOrUndefined(decodeUsed(parsed(text)))

/** The challenge that the browser claims to have signed. The signature is checked later. */
export const challengeOf = ({ response }: NewAnswer | UsedAnswer): string => {
  const data = parsed(Buffer.from(response.clientDataJSON, "base64url").toString())
  const challenge =
    typeof data === "object" && data !== null && "challenge" in data ? data.challenge : undefined
  return typeof challenge === "string" ? challenge : ""
}
