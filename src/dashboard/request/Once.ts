/** Secrets that are shown once: made by a form, shown by the page after it, and gone with that. */
import { randomUUID } from "node:crypto"
import { limits } from "../../Limits.ts"

interface Kept {
  readonly text: string
  readonly sessionId: string
  readonly at: number
}

export class Once {
  readonly #kept = new Map<string, Kept>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Keeps a secret for a minute, for one session; the name under which to ask for it. */
  keep(text: string, sessionId: string): string {
    const at = this.#now()
    for (const [name, kept] of this.#kept) {
      if (at - kept.at >= limits.secretShownMs || this.#kept.size >= limits.secretsShownMax) {
        this.#kept.delete(name)
      }
    }
    const name = randomUUID()
    this.#kept.set(name, { text, sessionId, at })
    return name
  }

  /** The secret, once, to the session that it is for. */
  take(name: string | null, sessionId: string): string | undefined {
    const kept = name === null ? undefined : this.#kept.get(name)
    if (kept === undefined || kept.sessionId !== sessionId) return undefined
    this.#kept.delete(name!)
    return this.#now() - kept.at < limits.secretShownMs ? kept.text : undefined
  }
}
