import type { Progress } from "../generated/types.ts"
import type { Laurel } from "../Laurel.ts"
import type { LaurelError } from "../LaurelError.ts"
import { LaurelElement, make, number } from "./LaurelElement.ts"

type Profile = readonly [name: string, progress: Progress] | undefined

/** `<laurel-profile>`: level, progress, streaks and badges of `user`. */
export class LaurelProfile extends LaurelElement<Profile> {
  protected async read({ users }: Laurel, signal: AbortSignal): Promise<Profile> {
    const id = this.getAttribute("user") ?? ""
    try {
      const [user, progress] = await Promise.all([
        users.get(id, { signal }),
        users.progress(id, { signal }),
      ])
      return [user.displayName ?? id, progress]
    } catch (error) {
      // The first event creates the user.
      if ((error as LaurelError).code !== "user_not_found") throw error
    }
  }

  protected draw(profile: Profile): ReadonlyArray<Node> {
    const { words } = this
    if (profile === undefined) return [make("p", words.empty!)]
    const [name, { badges, level, levelProgress, rank, streaks, xp }] = profile
    const bar = make("progress") as HTMLProgressElement
    bar.value = levelProgress.ratio
    bar.ariaLabel = `${words.level} ${number(level)}`
    const facts = [`${words.level} ${number(level)}`, `${number(xp)} ${words.xp}`]
    if (rank !== null) facts.push(`${words.rank} ${number(rank)}`)
    const items = [
      ...streaks
        .filter(({ current }) => current > 0)
        .map(({ current }) => `${words.streak} ${number(current)}`),
      ...badges.filter(({ earnedAt }) => earnedAt !== null).map((badge) => badge.name),
    ]
    const list = items.length === 0 ? [] : [make("ul", ...items.map((item) => make("li", item)))]
    const title = make("strong", make("bdi", this.getAttribute("label") ?? name))
    return [make("p", title), make("p", facts.join(" · ")), bar, ...list]
  }
}
