/**
 * Validates the URL of a webhook. The checks run on the parsed and serialised URL, since parsers
 * accept many spellings of one address (`2130706433`, `0x7f.1`, full-width digits) and drop tabs
 * and line breaks.
 */
import { isIP } from "node:net"
import { Result } from "effect"
import { limits } from "../Limits.ts"
import { type AllowedRanges, mayReach } from "./send/AddressGuard.ts"

export interface WebhookUrlPolicy {
  /** Address ranges that are allowed although they are not public. */
  readonly allowed: AllowedRanges
  /** Whether production requires https. */
  readonly requireHttps: boolean
}

/** The fault of a URL with an address that is not allowed. */
export const notReachable =
  "must lead to a public address, or to one that the server allows with LAUREL_WEBHOOK_ALLOW_CIDR"

/**
 * The normalised form of `text`, or all its faults. Host names are resolved only for each
 * connection (`Connector.ts`): a refusal here would reveal which names in the operator's network
 * lead to private addresses.
 */
export const parseWebhookUrl = (
  text: string,
  { allowed, requireHttps }: WebhookUrlPolicy,
  production: boolean,
): Result.Result<string, ReadonlyArray<string>> => {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === "") {
    return Result.fail(["must be an http or https URL"])
  }
  const faults: Array<string> = []
  if (url.username !== "" || url.password !== "") {
    faults.push("must not contain a user name or password")
  }
  if (production && requireHttps && url.protocol !== "https:") {
    faults.push("must be an https URL in production")
  }
  if (url.href.length > limits.urlCharactersMax) {
    faults.push(`must have at most ${limits.urlCharactersMax} characters`)
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "")
  if (!isAllowedHost(host, allowed)) faults.push(notReachable)
  if (faults.length > 0) return Result.fail(faults)
  url.hash = ""
  return Result.succeed(url.href)
}

const isAllowedHost = (host: string, allowed: AllowedRanges): boolean => {
  if (isIP(host) !== 0) return mayReach(host, allowed)
  const isLocal = host === "localhost" || host.endsWith(".localhost")
  return !isLocal || allowed.includes("127.0.0.1") || allowed.includes("::1")
}
