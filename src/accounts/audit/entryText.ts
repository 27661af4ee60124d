/** The stored form of the audit log's entries, one JSON object each, and the search among them. */
import { limits } from "../../Limits.ts"
import type { StoredRecord } from "../../storage/Storage.ts"
import type { AuditActor, AuditEntry, AuditQuery, NewAuditEntry } from "./AuditLog.ts"

/** Long texts are truncated. `at` is epoch milliseconds. */
export const encodeEntry = (at: number, entry: NewAuditEntry): Buffer => {
  const { changes = [], detail, subject, ...others } = entry
  const kept = changes.slice(0, limits.auditChangesMax).map(({ field, from, to }) => ({
    field: cut(field, limits.auditChangeCharactersMax),
    from: cut(from, limits.auditChangeCharactersMax),
    to: cut(to, limits.auditChangeCharactersMax),
  }))
  const more = changes.length - kept.length
  const texts = {
    subject: cut(subject),
    detail: cut(more > 0 ? `${detail}, ${more} more changes` : detail),
  }
  const all = { at, ...others, ...texts, ...(kept.length > 0 && { changes: kept }) }
  return Buffer.from(JSON.stringify(all))
}

const cut = (text: string, most: number = limits.auditTextCharactersMax): string =>
  text.slice(0, most)

export const decodeEntry = ({ body, sequence }: StoredRecord): AuditEntry => ({
  sequence,
  ...JSON.parse(bufferOf(body).toString("utf8")),
})

const bufferOf = ({ buffer, byteLength, byteOffset }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/** Tests entries against a query. The store itself selects by times and numbers. */
export class EntryFilter {
  readonly #query: AuditQuery
  readonly #by: string | undefined
  /** Each matching entry contains all of these bytes, and one of `#subjects`. */
  readonly #needles: ReadonlyArray<Buffer>
  readonly #subjects: ReadonlyArray<Buffer> | undefined

  constructor(query: AuditQuery) {
    const { action, by, projectId } = query
    this.#query = query
    this.#by = by?.toLowerCase()
    const texts = [action, this.#by, projectId].filter((text) => text !== undefined)
    this.#needles = texts.map(needleOf)
    this.#subjects = query.on?.map(needleOf)
  }

  /**
   * Whether the entry may match, by its bytes: that is cheaper than decoding, and most entries do
   * not match.
   */
  mayMatch({ body }: StoredRecord): boolean {
    const bytes = bufferOf(body)
    const has = (needle: Buffer) => bytes.includes(needle)
    return this.#needles.every(has) && (this.#subjects?.some(has) ?? true)
  }

  matches({ action, by, environment, projectId, subject }: AuditEntry): boolean {
    const query = this.#query
    return (
      (query.action === undefined || query.action === action) &&
      (query.on?.includes(subject.split(" ", 1)[0]!) ?? true) &&
      (query.projectId === undefined || query.projectId === projectId) &&
      (query.environment === undefined ||
        environment === null ||
        query.environment === environment) &&
      (this.#by === undefined || isBy(by, this.#by))
    )
  }
}

const needleOf = (text: string): Buffer => Buffer.from(JSON.stringify(text).slice(1, -1))

/** Ids and e-mail addresses are in lower case. */
const isBy = (actor: AuditActor, wanted: string): boolean =>
  typeof actor === "string"
    ? actor === wanted
    : actor.id === wanted || ("email" in actor && actor.email.includes(wanted))
