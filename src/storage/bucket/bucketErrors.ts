/** Describes failed requests to a bucket in words that name the setting to check. */
import { Data } from "effect"

/** Where the bucket is, and the credentials. */
export interface BucketPlace {
  readonly bucket: string
  /** The prefix of all keys: empty, or ends with a slash. */
  readonly prefix: string
  /** Base URL of the server. */
  readonly endpoint: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | undefined
}

/**
 * `missing`: no such object. `refused`: a setting or the machine's clock is wrong. `passing`: a
 * temporary failure. `failed`: everything else.
 */
export type BucketErrorKind = "missing" | "refused" | "passing" | "failed"

export class BucketError extends Data.TaggedError("BucketError")<{
  readonly kind: BucketErrorKind
  readonly detail: string
}> {
  override get message(): string {
    return this.detail
  }
}

export const bucketName = ({ bucket, prefix }: Pick<BucketPlace, "bucket" | "prefix">): string =>
  `s3://${bucket}/${prefix}`.replace(/\/$/, "")

/** There was no reply, or an incomplete one. */
export class Garbled extends Error {}

/** The reply is not that of an S3 server. */
export class NotS3 extends Error {}

export class TooLarge extends Error {}

/** The error that the client throws for an error reply. */
interface Reply {
  readonly statusCode: number
  readonly code: string
  readonly message: string
}

export const isReply = (error: unknown): error is Reply =>
  error instanceof Error && "statusCode" in error && typeof error.statusCode === "number"

/** The failure of a request, in words for the operator. */
export const bucketFailed = (error: unknown, place: BucketPlace): BucketError =>
  new BucketError(describe(error, place))

/**
 * The words of a server for the log: one line of bounded length, without the secrets that a server
 * may repeat.
 */
const quoted = (text: string, { secretAccessKey, sessionToken = "" }: BucketPlace): string => {
  let shown = text
  for (const secret of [secretAccessKey, sessionToken]) {
    if (secret !== "") shown = shown.replaceAll(secret, "[secret]")
  }
  const line = shown
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .replace(/\.$/, "")
  return line.length <= quotedCharactersMax ? line : `${line.slice(0, quotedCharactersMax)}…`
}

const quotedCharactersMax = 300

type Described = Pick<BucketError, "kind" | "detail">

const describe = (error: unknown, place: BucketPlace): Described => {
  if (isReply(error)) return describeReply(error, place)
  const name = bucketName(place)
  if (error instanceof TooLarge) return { kind: "failed", detail: error.message }
  if (error instanceof NotS3) {
    return {
      kind: "refused",
      detail: `${place.endpoint} does not answer as an S3 server does: check AWS_ENDPOINT_URL`,
    }
  }
  if (error instanceof Error && clientRefuses.test(error.name)) {
    return { kind: "refused", detail: quoted(error.message, place) }
  }
  const cause = error instanceof Error ? error.cause : undefined
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : undefined
  if (code !== undefined && tlsCode.test(code)) {
    return {
      kind: "refused",
      detail: `No trusted TLS connection to ${place.endpoint} (${code}): check AWS_ENDPOINT_URL; NODE_EXTRA_CA_CERTS names a file with further authorities`,
    }
  }
  const words = code ?? (cause instanceof Error ? cause : (error as Error)).message
  return {
    kind: "passing",
    detail: `${name} at ${place.endpoint} cannot be reached (${quoted(words, place)})`,
  }
}

/** The names of the client's own errors. */
const clientRefuses = /^Invalid\w+Error$/

const tlsCode = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|EPROTO)/

const denied = new Set(["AccessDenied", "AccountProblem", "AllAccessDisabled"])
const badKey = new Set(["InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidSecurity"])
const badToken = new Set(["ExpiredToken", "InvalidToken", "TokenRefreshRequired"])
const badRegion = new Set([
  "PermanentRedirect",
  "UnexpectedRedirect",
  "AuthorizationHeaderMalformed",
  "IllegalLocationConstraintException",
])

const describeReply = (reply: Reply, place: BucketPlace): Described => {
  const { code, statusCode } = reply
  const words = quoted(`${code}: ${reply.message}`, place)
  const name = bucketName(place)
  const refused = (meaning: string): Described => ({
    kind: "refused",
    detail: `${meaning} (${words})`,
  })
  if (code === "NoSuchBucket") {
    return refused(`The bucket ${place.bucket} does not exist at ${place.endpoint}`)
  }
  if (code === "RequestTimeTooSkewed") {
    return refused(`${place.endpoint} refuses this machine's clock: set it`)
  }
  if (badKey.has(code)) {
    return refused(
      `${place.endpoint} refuses the key ${place.accessKeyId}: check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`,
    )
  }
  if (badToken.has(code)) return refused(`AWS_SESSION_TOKEN is no longer valid`)
  if (badRegion.has(code)) {
    return refused(
      `The bucket ${place.bucket} is not in region ${place.region} at ${place.endpoint}: check AWS_REGION and AWS_ENDPOINT_URL`,
    )
  }
  if (denied.has(code) || statusCode === 401 || statusCode === 403) {
    return refused(
      `The key ${place.accessKeyId} may not do this in ${name}: it needs to list the bucket, and to get, put and delete objects`,
    )
  }
  if (statusCode === 404) {
    return { kind: "missing", detail: `An object is missing in ${name}` }
  }
  const passes = statusCode >= 500 || statusCode === 429 || statusCode === 408
  return {
    kind: passes || code === "RequestTimeout" || code === "SlowDown" ? "passing" : "failed",
    detail: `${name} at ${place.endpoint} answered ${statusCode} ${words}`,
  }
}
