/**
 * Keeps pages that answered a form, and forms that wait for a confirmation or a sign-in. A browser
 * cannot show the answer to a POST again. A kept page has its own address, so Back and Reload show
 * it with everything that was typed. Pages and forms are kept in memory, within bounds, for the
 * session that sent the form.
 */
import { randomUUID } from "node:crypto"
import { limits } from "../../Limits.ts"
import { pageReply, type Reply } from "../view/Replies.ts"

/** A form as it was sent. */
export interface SentForm {
  readonly path: string
  readonly body: Buffer
  /** The action of its route (`Route.action`). */
  readonly action: string
}

type What =
  | { readonly kind: "page"; readonly status: number; readonly body: Buffer }
  | ({ readonly kind: "form" } & SentForm)

interface Entry {
  readonly sessionId: string
  readonly at: number
  readonly what: What
}

/**
 * Each rendered form has its own key, so that a double click makes one change (`idempotencyField`).
 */
const shownKey = /name="idempotencyKey" value="[^"]*"/g

export class Kept {
  /** Oldest first. */
  readonly #entries = new Map<string, Entry>()
  readonly #now: () => number
  #bytes = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** How many pages and forms are kept. */
  get size(): number {
    return this.#entries.size
  }

  /** Keeps the page that answered a form. Returns the name that the address needs. */
  keepPage({ body, status }: Reply, sessionId: string): string {
    return this.#keep({ kind: "page", status, body: Buffer.from(body) }, sessionId)
  }

  /** Keeps a form until the session confirms it or somebody signs in. */
  keepForm(form: SentForm, sessionId: string): string {
    return this.#keep({ kind: "form", ...form }, sessionId)
  }

  page(name: string | null, sessionId: string): Reply | undefined {
    const what = this.#find(name, sessionId)
    if (what?.kind !== "page") return undefined
    const text = what.body
      .toString("utf8")
      .replace(shownKey, () => `name="idempotencyKey" value="${randomUUID()}"`)
    return pageReply(what.status, { text })
  }

  form(name: string | null, sessionId: string): SentForm | undefined {
    const what = this.#find(name, sessionId)
    return what?.kind === "form" ? what : undefined
  }

  /** Takes the form: it is sent now and no longer kept. */
  takeForm(name: string | null, sessionId: string): SentForm | undefined {
    const form = this.form(name, sessionId)
    if (form !== undefined) this.#drop(name!)
    return form
  }

  #find(name: string | null, sessionId: string): What | undefined {
    const entry = name === null ? undefined : this.#entries.get(name)
    if (entry === undefined || entry.sessionId !== sessionId) return undefined
    return this.#now() - entry.at < limits.keptPagesMs ? entry.what : undefined
  }

  #keep(what: What, sessionId: string): string {
    const at = this.#now()
    const name = randomUUID()
    this.#entries.set(name, { sessionId, at, what })
    this.#bytes += what.body.length
    const own = [...this.#entries].filter(([, entry]) => entry.sessionId === sessionId)
    for (const [other] of own.slice(0, -limits.keptPagesOfSessionMax)) this.#drop(other)
    for (const [other, entry] of this.#entries) {
      if (at - entry.at < limits.keptPagesMs && this.#bytes <= limits.keptPagesBytesMax) break
      this.#drop(other)
    }
    return name
  }

  #drop(name: string): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) return
    this.#bytes -= entry.what.body.length
    this.#entries.delete(name)
  }
}
