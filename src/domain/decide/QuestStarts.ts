/**
 * The starts of quests after an undo. A quest starts with the first event that counts for it. If this
 * event is undone and others of the period stand, the quest starts with the first of these: as if the
 * undone one had never been.
 *
 * The state does not know the second event, so it is read from the user's history: back to the time at which the
 * quest started, since no record that was decided before can have started it. Of merged users each has a
 * first event, and the quest starts with the earlier one.
 *
 * Cost: nothing for an undo of any other event, or of one that leaves nothing of the quest.
 */
import { gaveAt } from "../record/EventDay.ts"
import { HistoryNeeded, type Past, type QuestPeriod } from "../record/Past.ts"
import type { JournalRecord } from "../record/Record.ts"
import { type QuestState, stepCountOf, type UserState } from "../user/User.ts"

/** When each quest started whose first event is undone, by id. */
export type QuestStarts = ReadonlyMap<string, number>

export const questStartsLeft = (
  user: UserState,
  found: JournalRecord,
  past: Past | undefined,
): QuestStarts | HistoryNeeded => {
  const at = gaveAt(found)
  const lost = [...startedBy(user, found, at)]
  if (lost.length === 0) return noStarts
  if (past === undefined) return new HistoryNeeded((_, since) => since < at)
  return new Map(
    lost.flatMap(([questId, { period }]) => {
      const start = nextStart(past, { period, questId }, found, at)
      return start === undefined ? [] : [[questId, start] as const]
    }),
  )
}

const noStarts: QuestStarts = new Map()

/** The quests that the record started, with the progress that stays when the record is undone. */
const startedBy = (
  { quests }: UserState,
  { facts }: JournalRecord,
  at: number,
): ReadonlyMap<string, QuestState> => {
  const left = new Map<string, QuestState>()
  for (const fact of facts) {
    if (fact.kind !== "quest.progressed" && fact.kind !== "quest.completed") continue
    const { period, questId } = fact
    const state = left.get(questId) ?? quests.get(questId)
    if (state === undefined || state.period !== period || state.startedAt !== at) continue
    left.set(questId, fact.kind === "quest.completed" ? reopened(state) : without(state, fact))
  }
  for (const [questId, { completedAt, joined, steps }] of left) {
    const isOver = Object.values(steps).every((count) => count <= 0)
    if (isOver && joined !== true && completedAt === null) left.delete(questId)
  }
  return left
}

/** `also`: a merged user completed it, too. */
const reopened = (state: QuestState): QuestState =>
  state.also === undefined ? { ...state, completedAt: null } : state

const without = (
  state: QuestState,
  { by = 1, step }: { readonly by?: number; readonly step: string },
): QuestState => ({
  ...state,
  steps: { ...state.steps, [step]: stepCountOf(state.steps, step) - by },
})

/** When the first record that stands began the period of the quest. */
const nextStart = (
  past: Past,
  quest: QuestPeriod,
  { sequence: undone, subject }: JournalRecord,
  at: number,
): number | undefined => {
  const owner = subject.actor === "user" ? subject.userId : ""
  /** By user: the first record. */
  const first = new Map<string, { readonly sequence: number; readonly at: number }>()
  for (const one of past.stepsOf(quest)) {
    const isLater = one.userId === owner ? one.sequence > undone : one.at >= at
    if (!isLater || one.sequence === undone || past.isRevoked(one.sequence)) continue
    const known = first.get(one.userId)
    if (known === undefined || one.sequence < known.sequence) first.set(one.userId, one)
  }
  return first.size === 0 ? undefined : Math.min(...Array.from(first.values(), ({ at }) => at))
}
