/**
 * Who asks. A connection that goes on sending the same `Authorization` is not hashed again, until any key
 * changes.
 */
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import type { Accounts, Caller } from "../accounts/Accounts.ts"
import { laurelError } from "../domain/Errors.ts"
import { bearerKey } from "./RequestParts.ts"

/** The same for a key that is missing, malformed, unknown or revoked. */
export const unauthorized = laurelError(
  "unauthorized",
  "Send an API key that is in force as `Authorization: Bearer <key>`.",
)

interface Remembered {
  readonly header: string
  readonly version: number
  readonly caller: Caller
}

export class Authentication {
  readonly #accounts: Accounts["Service"]
  readonly #remembered = new WeakMap<Socket, Remembered>()

  constructor(accounts: Accounts["Service"]) {
    this.#accounts = accounts
  }

  /** The caller of a request; `undefined` when its key is not in force. */
  callerOf({ headers, socket }: IncomingMessage): Caller | undefined {
    const header = headers.authorization
    if (header === undefined) return undefined
    const { version } = this.#accounts
    const remembered = this.#remembered.get(socket)
    if (remembered?.header === header && remembered.version === version) return remembered.caller
    const key = bearerKey(header)
    const caller = key === undefined ? undefined : this.#accounts.authenticate(key)
    if (caller !== undefined) this.#remembered.set(socket, { header, version, caller })
    return caller
  }
}
