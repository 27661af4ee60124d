/**
 * The domain as naively as it can be written, to hold the engine against: plain maps, no journal, no
 * actors, every answer computed from everything.
 */
interface ModelUser {
  xp: number
  /** When the present xp was reached, counted in commands. */
  reachedAt: number
  readonly outcomes: Map<string, { earned: number; total: number }>
  readonly quests: Set<string>
}

export type ModelOutcome =
  | { readonly refused: string }
  | { readonly earned: number; readonly total: number; readonly duplicate: boolean }

export class Model {
  readonly users = new Map<string, ModelUser>()
  readonly rules: Array<{ readonly action: string; readonly xp: number }> = []
  readonly quests = new Map<string, { readonly xp: number; readonly active: boolean }>()
  #time = 0

  event(userId: string, action: string, id?: string, questId?: string): ModelOutcome {
    return this.#once(userId, id === undefined ? undefined : `event ${id}`, (user) => {
      if (action !== "QUEST_COMPLETE") {
        return this.rules
          .filter((rule) => rule.action === action)
          .reduce((sum, rule) => sum + rule.xp, 0)
      }
      const quest = this.quests.get(questId ?? "")
      if (quest === undefined) return "quest_not_found"
      if (user?.quests.has(questId!)) return 0
      return quest.active ? { quest: questId!, xp: quest.xp } : "quest_not_active"
    })
  }

  reward(userId: string, amount: number, id?: string): ModelOutcome {
    return this.#once(userId, id === undefined ? undefined : `reward ${id}`, () => amount)
  }

  #once(
    userId: string,
    id: string | undefined,
    give: (user: ModelUser | undefined) => string | number | { quest: string; xp: number },
  ): ModelOutcome {
    const before = this.users.get(userId)
    const first = id === undefined ? undefined : before?.outcomes.get(id)
    if (first !== undefined) return { ...first, duplicate: true }
    const given = give(before)
    if (typeof given === "string") return { refused: given }
    const earned = typeof given === "number" ? given : given.xp
    const total = (before?.xp ?? 0) + earned
    if (!Number.isSafeInteger(total)) return { refused: "balance_overflow" }
    const user = before ?? { xp: 0, reachedAt: 0, outcomes: new Map(), quests: new Set() }
    this.users.set(userId, user)
    if (typeof given === "object") user.quests.add(given.quest)
    user.xp = total
    if (earned > 0) user.reachedAt = ++this.#time
    if (id !== undefined) user.outcomes.set(id, { earned, total })
    return { earned, total, duplicate: false }
  }

  /** The whole board: by xp, then by who reached it first; ranks are shared. */
  board(): ReadonlyArray<{
    readonly rank: number
    readonly userId: string
    readonly score: number
  }> {
    const listed = [...this.users].filter(([, user]) => user.xp > 0)
    listed.sort(([, one], [, other]) => other.xp - one.xp || one.reachedAt - other.reachedAt)
    return listed.map(([userId, { xp }]) => ({
      rank: 1 + listed.filter(([, other]) => other.xp > xp).length,
      userId,
      score: xp,
    }))
  }
}
