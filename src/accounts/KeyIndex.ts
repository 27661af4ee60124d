/**
 * An immutable index of the keys in force, by the hash of their text and by id. `AccountsLive`
 * builds a new one whenever the keys change. The look-up is by a keyed hash, which nobody can
 * compute without the secret. The comparison after it takes the same time wherever two hashes
 * differ. A user token names its key by id.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto"
import {
  type ApiKey,
  type DirectoryState,
  environmentId,
  isArchived,
  isKeyInForce,
  limitOf,
  scopeOf,
  type TokenScope,
} from "../domain/project/Directory.ts"
import type { Caller, KeyRestrictions, MadeToken } from "./Accounts.ts"
import { AddressRanges } from "./AddressRanges.ts"
import { isKeyText } from "./KeyText.ts"
import type { KeyUses } from "./KeyUses.ts"
import { looksLikeToken, type UserToken, UserTokens } from "./UserTokens.ts"

/** HMAC-SHA-256 of a key's text under the directory's secret (hex), in hex. */
export const hashKeyText = (secret: string | KeyObject, text: string): string =>
  hash(typeof secret === "string" ? secretKey(secret) : secret, text).toString("hex")

const secretKey = (hex: string): KeyObject => createSecretKey(Buffer.from(hex, "hex"))

const hash = (secret: KeyObject, text: string): Buffer =>
  createHmac("sha256", secret).update(text).digest()

interface IndexedKey {
  readonly caller: Caller
  readonly hash: Buffer
  readonly expiresAt: number
}

export class KeyIndex {
  readonly #secret: KeyObject | undefined
  readonly #tokens: UserTokens | undefined
  readonly #keys = new Map<string, IndexedKey>()
  readonly #keysById = new Map<string, IndexedKey>()
  /** When the next key expires; epoch milliseconds. */
  readonly nextExpiryAt: number

  /** Indexes the keys that are in force at `now`; without `now` all keys, for `projectOf`. */
  constructor(directory: DirectoryState, uses: KeyUses, now?: number) {
    this.#secret = directory.hashSecret === null ? undefined : secretKey(directory.hashSecret)
    this.#tokens = this.#secret && new UserTokens(this.#secret)
    let nextExpiryAt = Number.POSITIVE_INFINITY
    for (const key of directory.keys.values()) {
      const isEnded = now !== undefined && !isKeyInForce(key, now)
      if (isEnded || (now !== undefined && isArchived(directory, key))) continue
      const expiresAt = key.expiresAt ?? Number.POSITIVE_INFINITY
      nextExpiryAt = Math.min(nextExpiryAt, expiresAt)
      const indexed = {
        caller: callerOf(directory, key, uses),
        hash: Buffer.from(key.hash, "hex"),
        expiresAt,
      }
      this.#keys.set(key.hash, indexed)
      this.#keysById.set(key.id, indexed)
    }
    this.nextExpiryAt = nextExpiryAt
  }

  /** The caller with this key or token; `undefined` if none in force has this text. */
  find(text: string, now: number): Caller | undefined {
    if (looksLikeToken(text)) return this.#ofToken(text, now)
    const found = this.#keyOf(text)
    return found !== undefined && found.expiresAt > now ? found.caller : undefined
  }

  /** The project of a key, or of the key that made a token; both may have expired. */
  projectOf(text: string): string | undefined {
    const keyId = this.#tokens?.readAnyTime(text)?.keyId
    const key = keyId === undefined ? this.#keyOf(text) : this.#keysById.get(keyId)
    return key?.caller.projectId
  }

  /**
   * Makes a token with the caller's key; `undefined` unless that is a secret key in force. The
   * token expires no later than the key. Tokens have times in whole seconds: `issuedAt` is the
   * first second after `erasedAt`, or the token would count as made before the erasure.
   */
  makeToken(
    { keyId, kind }: Caller,
    userId: string,
    seconds: number,
    scopes: ReadonlyArray<TokenScope>,
    now: number,
    erasedAt: number,
  ): MadeToken | undefined {
    const key = this.#keysById.get(keyId)
    if (kind !== "secret" || key === undefined || key.expiresAt <= now) return undefined
    const endsAt = Math.min(now + seconds * 1_000, key.expiresAt)
    const expiresAt = Math.floor(endsAt / 1_000) * 1_000
    const earliest = erasedAt === 0 ? 0 : Math.floor(erasedAt / 1_000) + 1
    const issuedAt = 1_000 * Math.max(Math.floor(now / 1_000), earliest)
    const token = this.#tokens!.make({ keyId, userId, issuedAt, expiresAt, scopes })
    return { token, expiresAt }
  }

  #keyOf(text: string): IndexedKey | undefined {
    if (this.#secret === undefined || !isKeyText(text)) return undefined
    const asked = hash(this.#secret, text)
    const found = this.#keys.get(asked.toString("hex"))
    return found !== undefined && timingSafeEqual(found.hash, asked) ? found : undefined
  }

  #ofToken(text: string, now: number): Caller | undefined {
    const token = this.#tokens?.read(text, now)
    const key = token && this.#keysById.get(token.keyId)
    return key !== undefined && key.expiresAt > now ? userCaller(key.caller, token!) : undefined
  }
}

const callerOf = ({ projects }: DirectoryState, key: ApiKey, uses: KeyUses): Caller => ({
  kind: key.kind ?? "secret",
  keyId: key.id,
  projectId: key.projectId,
  environmentName: key.environment,
  environment: environmentId(key.projectId, key.environment),
  scope: scopeOf(key),
  tier: limitOf(projects.get(key.projectId) ?? {}).tier,
  restrictions: restrictionsOf(key),
  use: uses.of(key.id),
})

/**
 * The caller with a token that the key made. The key's address ranges do not apply: they are the
 * ranges of servers.
 */
const userCaller = (key: Caller, token: UserToken): Caller => {
  const { expiresAt, issuedAt, scopes, userId } = token
  const origins = key.restrictions?.origins
  const restrictions = origins && { origins, addresses: undefined }
  const ofToken = {
    userId,
    issuedAt,
    expiresAt,
    ...(scopes && { tokenScopes: scopes }),
    restrictions,
  }
  return { ...key, kind: "user", scope: "user", ...ofToken }
}

const restrictionsOf = ({ allowedCidrs, allowedOrigins }: ApiKey): KeyRestrictions | undefined =>
  allowedCidrs === undefined && allowedOrigins === undefined
    ? undefined
    : {
        origins: allowedOrigins && new Set(allowedOrigins),
        addresses: allowedCidrs && rangesOf(allowedCidrs),
      }

/** By the list of a key, which stays the same object when the index is rebuilt. */
const ranges = new WeakMap<ReadonlyArray<string>, AddressRanges>()

const rangesOf = (cidrs: ReadonlyArray<string>): AddressRanges => {
  let made = ranges.get(cidrs)
  if (made === undefined) {
    made = new AddressRanges(cidrs)
    ranges.set(cidrs, made)
  }
  return made
}
