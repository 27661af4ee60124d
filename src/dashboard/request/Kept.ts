/**
 * What a session comes back to: pages that answered a form, and forms that wait. A browser shows the answer to a POST once,
 * and asks again for each page that it leaves; a page that is kept has an address of its own, so that Back and Reload show
 * it with everything that was typed. In memory, within bounds, for the session that sent the form.
 */
import { randomUUID } from "node:crypto"
import { limits } from "../../Limits.ts"
import { pageReply, type Reply } from "../view/Replies.ts"

/** A form as it was sent. */
export interface SentForm {
  readonly path: string
  readonly body: Buffer
  /** What it does (`Route.action`). */
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

/** Each form that is shown has a key of its own, which makes a double click one change (`idempotencyField`). */
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

  /** Keeps the page that answered a form; the name under which to ask for it. */
  keepPage({ body, status }: Reply, sessionId: string): string {
    return this.#keep({ kind: "page", status, body: Buffer.from(body) }, sessionId)
  }

  /** Keeps a form that waits for a confirmation, or for somebody who signs in. */
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

  /** The form, which is no longer kept: it is sent now. */
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
