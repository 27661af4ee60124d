import type { Laurel } from "../Laurel.ts"
import { pause } from "../limit.ts"
import { ClientElement, make, named, type Words } from "./base.ts"

/** The data of the messages that a toast shows. */
interface Message {
  readonly name?: string
  readonly title?: string
  readonly tier?: { readonly name: string }
  readonly from?: number
  readonly to?: number
}

/**
 * `<laurel-toast>`: tells each badge, level and completed quest of the user in the attribute `user`
 * as it happens, for `seconds` (default 6). Needs a user token.
 */
export class LaurelToast extends ClientElement {
  words: Words = {
    "badge.earned": "New badge: {name}",
    "level.changed": "Level {name}",
    "quest.completed": "Quest completed: {name}",
  }

  protected start(laurel: Laurel): () => void {
    const leaving = new AbortController()
    const { signal } = leaving
    const region = named(make("div"), "toasts")
    region.role = "status"
    this.shadowRoot!.replaceChildren(region)
    this.#follow(laurel, region, signal).catch((error) => {
      if (!signal.aborted) this.report(error)
    })
    return () => leaving.abort()
  }

  async #follow(laurel: Laurel, region: HTMLElement, signal: AbortSignal): Promise<void> {
    const { userId } = this
    const events = Object.keys(this.words).join(",")
    for await (const { data, type } of laurel.stream({ userId, events, signal })) {
      const { from, name, tier, title, to } = data as Message
      // An undo may have lowered the level.
      if (type === "level.changed" && Number(to) < Number(from)) continue
      const [before, after = ""] = (this.words[type] ?? "{name}").split("{name}")
      const shown = String(name ?? title ?? to) + (tier === undefined ? "" : ` · ${tier.name}`)
      const toast = make("p", before!, make("bdi", shown), after)
      region.append(toast)
      this.#remove(toast, signal)
    }
  }

  async #remove(toast: HTMLElement, signal: AbortSignal): Promise<void> {
    await pause(Number(this.getAttribute("seconds") ?? 6) * 1_000, signal)
    toast.remove()
  }
}
