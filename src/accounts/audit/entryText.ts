/** Entries of the audit log as the store has them, a JSON object each, and the search among them. */
import { limits } from "../../Limits.ts"
import type { StoredRecord } from "../../storage/Storage.ts"
import type { AuditActor, AuditEntry, AuditQuery, NewAuditEntry } from "./AuditLog.ts"

/** Longer texts are cut. `at` is epoch milliseconds. */
export const encodeEntry = (at: number, entry: NewAuditEntry): Buffer => {
  const { detail, subject } = entry
  return Buffer.from(JSON.stringify({ at, ...entry, subject: cut(subject), detail: cut(detail) }))
}

const cut = (text: string): string => text.slice(0, limits.auditTextCharactersMax)

export const decodeEntry = ({ body, sequence }: StoredRecord): AuditEntry => ({
  sequence,
  ...JSON.parse(bufferOf(body).toString("utf8")),
})

const bufferOf = ({ buffer, byteLength, byteOffset }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/** The members of a query that an entry matches or not; times and numbers are the store's. */
export class EntryFilter {
  readonly #query: AuditQuery
  readonly #by: string | undefined
  /** Every matching entry has these bytes. */
  readonly #needles: ReadonlyArray<Buffer>

  constructor(query: AuditQuery) {
    const { action, by, projectId } = query
    this.#query = query
    this.#by = by?.toLowerCase()
    const texts = [action, this.#by, projectId].filter((text) => text !== undefined)
    this.#needles = texts.map((text) => Buffer.from(JSON.stringify(text).slice(1, -1)))
  }

  /** Whether it is worth to decode the entry: most are not, and a look at the bytes is cheaper. */
  mayMatch({ body }: StoredRecord): boolean {
    const bytes = bufferOf(body)
    return this.#needles.every((needle) => bytes.includes(needle))
  }

  matches({ action, by, environment, projectId }: AuditEntry): boolean {
    const query = this.#query
    return (
      (query.action === undefined || query.action === action) &&
      (query.projectId === undefined || query.projectId === projectId) &&
      (query.environment === undefined ||
        environment === null ||
        query.environment === environment) &&
      (this.#by === undefined || isBy(by, this.#by))
    )
  }
}

/** Ids and e-mail addresses are in lower case. */
const isBy = (actor: AuditActor, wanted: string): boolean =>
  typeof actor === "string" ? actor === wanted : actor.id === wanted || actor.email.includes(wanted)
