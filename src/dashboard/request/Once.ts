/** Secrets that are shown once: a form makes a secret, the next page shows and drops it. */
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

  /** Keeps a secret for a minute, for one session. Returns the name that `take` needs. */
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

  /** Takes the secret, if it belongs to the session. */
  take(name: string | null, sessionId: string): string | undefined {
    const kept = name === null ? undefined : this.#kept.get(name)
    if (kept === undefined || kept.sessionId !== sessionId) return undefined
    this.#kept.delete(name!)
    return this.#now() - kept.at < limits.secretShownMs ? kept.text : undefined
  }
}
