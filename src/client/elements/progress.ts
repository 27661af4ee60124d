/** The elements about a user's progress: profile, level, badges and quests. */
import type { BadgeProgress, Progress, QuestProgress } from "../generated/types.ts"
import type { Laurel } from "../Laurel.ts"
import { bar, commonWords, LaurelElement, make, moment, named, number, type Words } from "./base.ts"

type Profile = readonly [name: string, progress: Progress]

/**
 * `<laurel-profile>`: the level, progress, streaks and badges of the user in the attribute `user`.
 */
export class LaurelProfile extends LaurelElement<Profile | undefined> {
  words: Words = { ...commonWords, level: "Level", xp: "XP", rank: "Rank", streak: "Streak" }

  protected read({ users }: Laurel, signal: AbortSignal): Promise<Profile | undefined> {
    const { userId: id } = this
    const both = Promise.all([users.get(id, { signal }), users.progress(id, { signal })])
    return this.orNothing(both.then(([user, progress]) => [user.displayName ?? id, progress]))
  }

  protected draw(profile: Profile | undefined): ReadonlyArray<Node> {
    const { words } = this
    if (profile === undefined) return [make("p", words.empty!)]
    const [name, { badges, level, levelProgress, rank, streaks, xp }] = profile
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
    const progress = bar(`${words.level} ${number(level)}`, levelProgress.ratio)
    return [make("p", title), make("p", facts.join(" · ")), progress, ...list]
  }
}

/** An element that reads the progress of the user in the attribute `user`. */
abstract class ProgressElement extends LaurelElement<Progress | undefined> {
  protected read({ users }: Laurel, signal: AbortSignal): Promise<Progress | undefined> {
    return this.orNothing(users.progress(this.userId, { signal }))
  }
}

/** `<laurel-level>`: the level of the user as a bar, and how many xp the next one needs. */
export class LaurelLevel extends ProgressElement {
  words: Words = { ...commonWords, level: "Level", next: "{xp} XP to level {level}" }

  protected draw(progress: Progress | undefined): ReadonlyArray<Node> {
    const { words } = this
    const { level, levelProgress } = progress ?? {
      level: 1,
      levelProgress: { ratio: 0, xpToNext: null },
    }
    const title = `${this.heading("level")} ${number(level)}`
    const { ratio, xpToNext } = levelProgress
    const next = words
      .next!.replace("{xp}", number(xpToNext ?? 0))
      .replace("{level}", number(level + 1))
    const rest = xpToNext === null ? [] : [named(make("p", next), "quiet")]
    return [make("p", make("strong", title)), bar(title, ratio), ...rest]
  }
}

/** `<laurel-badges>`: the user's badges and tiers, earned ones first, with the way to the others. */
export class LaurelBadges extends ProgressElement {
  words: Words = { ...commonWords, badges: "Badges", earned: "earned" }

  protected draw(progress: Progress | undefined): ReadonlyArray<Node> {
    const badges = progress?.badges ?? []
    if (badges.length === 0) return this.empty("badges")
    const ordered = [...badges].sort(
      (one, other) => Number(one.earnedAt === null) - Number(other.earnedAt === null),
    )
    const rows = ordered.map((badge) => this.#row(badge))
    return titledList(this.heading("badges"), rows)
  }

  #row({ current, earnedAt, name, target, tiers = [], times }: BadgeProgress): HTMLElement {
    const { words } = this
    const held = tiers.filter((tier) => tier.earnedAt !== null).map((tier) => tier.name)
    const earned = held.at(-1) ?? words.earned!
    const often = times !== undefined && times > 1 ? ` × ${number(times)}` : ""
    const status = earnedAt === null ? "" : ` · ${earned}${often}`
    const head = make("p", make("strong", make("bdi", name)), status)
    // The last tier is earned, or the badge is given by hand: there is no way to show.
    if (current >= target || target === 0) return make("li", head)
    const way = named(make("p", `${number(current)} / ${number(target)}`), "quiet")
    return make("li", head, bar(name, current / target), way)
  }
}

/** `<laurel-quests>`: the quests of the user that are open or completed, with their steps. */
export class LaurelQuests extends ProgressElement {
  words: Words = {
    ...commonWords,
    quests: "Quests",
    completed: "completed",
    claimable: "can be claimed",
    until: "until",
  }

  protected draw(progress: Progress | undefined): ReadonlyArray<Node> {
    const quests = (progress?.quests ?? []).filter(({ status }) => status !== "expired")
    if (quests.length === 0) return this.empty("quests")
    const rows = quests.map((quest) => this.#row(quest))
    return titledList(this.heading("quests"), rows)
  }

  #row({ claimable, periodEndsAt, status, steps, title }: QuestProgress): HTMLElement {
    const { words } = this
    const state = claimable === true ? words.claimable : words.completed
    const done = status === "completed" ? ` · ${state}` : ""
    const head = make("p", make("strong", make("bdi", title)), done)
    if (status === "completed") return make("li", head)
    const bars = steps.flatMap(({ current, key, target }) => [
      bar(`${title}: ${key}`, current / target),
      named(make("p", make("bdi", key), ` ${number(current)} / ${number(target)}`), "quiet"),
    ])
    const until =
      periodEndsAt === null
        ? []
        : [named(make("p", `${words.until} ${moment(periodEndsAt)}`), "quiet")]
    return make("li", head, ...bars, ...until)
  }
}

const titledList = (title: string, rows: ReadonlyArray<Node>): ReadonlyArray<Node> => {
  const list = named(make("ul", ...rows), "rows")
  list.ariaLabel = title
  return [make("p", make("strong", title)), list]
}
