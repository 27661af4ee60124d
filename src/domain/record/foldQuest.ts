/** How the facts of a record change a user's state in a quest. */
import type { QuestState } from "../user/User.ts"
import type { FactOf } from "./Record.ts"

type QuestFact = FactOf<
  | "quest.started"
  | "quest.progressed"
  | "quest.completed"
  | "quest.claimed"
  | "quest.claim_revoked"
  | "quest.expired"
  | "quest.claim_lapsed"
  | "quest.reverted"
>

/** Applies a fact of the time `at` to `quests`. Returns the change of the number of completions. */
export const foldQuest = (
  quests: Map<string, QuestState>,
  fact: QuestFact,
  at: number,
): -1 | 0 | 1 => {
  const { period, questId } = fact
  const before = quests.get(questId) ?? notStarted
  switch (fact.kind) {
    case "quest.started": {
      const { times } = before
      const joined = fact.joined === true && ({ joined: true } as const)
      const kept = period === before.period && paidClaim(before)
      quests.set(questId, { ...notStarted, period, startedAt: at, times, ...joined, ...kept })
      return 0
    }
    case "quest.progressed": {
      const steps = { ...before.steps, [fact.step]: fact.current }
      quests.set(questId, { ...before, steps })
      return 0
    }
    case "quest.completed": {
      const claim = fact.claimable === true && ({ claim: "open" } as const)
      quests.set(questId, { ...before, completedAt: at, times: fact.times, ...claim })
      return 1
    }
    case "quest.claimed":
      quests.set(questId, { ...before, claim: "paid" })
      return 0
    case "quest.claim_revoked": {
      if (fact.alsoPaid !== undefined) {
        quests.set(questId, withAlso(before, before.also, fact.alsoPaid))
        return 0
      }
      const { claim: _, ...state } = before
      quests.set(questId, fact.claimable === true ? { ...state, claim: "open" } : state)
      return 0
    }
    case "quest.expired":
      quests.set(questId, { ...before, expired: true })
      return 0
    case "quest.claim_lapsed": {
      const { claim: _, ...state } = before
      quests.set(questId, state)
      return 0
    }
    case "quest.reverted":
      return revert(quests, before, fact)
  }
}

const revert = (
  quests: Map<string, QuestState>,
  before: QuestState,
  fact: FactOf<"quest.reverted">,
): -1 | 0 => {
  const { also, from, period, questId, steps, times, to } = fact
  const claim = paidClaim(before)
  const whole = withAlso(before, also, before.alsoPaid)
  const startedAt = fact.startedAt ?? before.startedAt
  const { claim: _, ...state } = { ...whole, startedAt }
  // The completion belongs to an earlier period, so the present period stays.
  if (period !== before.period) quests.set(questId, { ...before, times })
  else if (to === "completed") {
    quests.set(questId, { ...whole, startedAt, steps, times })
  } else if (to !== "not_started") {
    quests.set(questId, { ...state, steps, completedAt: null, times, ...claim })
  } else if (times > 0 || claim) quests.set(questId, { ...notStarted, period, times, ...claim })
  else quests.delete(questId)
  return from === "completed" && times < before.times ? -1 : 0
}

/** The state with the numbers of what merged users did besides. */
const withAlso = (
  { also: _, alsoPaid: _paid, ...state }: QuestState,
  also = 0,
  alsoPaid = 0,
): QuestState => ({
  ...state,
  ...(also > 0 && { also }),
  ...(alsoPaid > 0 && { alsoPaid }),
})

/** A claim that has paid stays paid in its period, whatever is undone but itself. */
const paidClaim = ({ alsoPaid, claim }: QuestState) =>
  claim === "paid" && ({ claim, ...(alsoPaid !== undefined && { alsoPaid }) } as const)

const notStarted: QuestState = {
  period: 0,
  steps: {},
  startedAt: null,
  completedAt: null,
  expired: false,
  times: 0,
}
