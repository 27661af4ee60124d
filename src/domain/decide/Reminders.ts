/** Decides the reminders of what ends (`user/Reminder.ts` has when they are due), and which an event follows. */
import { followedBy } from "../user/Comeback.ts"
import { amountsExpiring, questsEnding } from "../user/Reminder.ts"
import type { Draft } from "./Draft.ts"
import { questProgress } from "./Quests.ts"

/** Adds the reminders that are due at `draft.now`. */
export const remindOfEndings = ({ facts, now, project, user }: Draft): void => {
  if (user === undefined || project.settings.reminders === undefined) return
  for (const { endsAt, quest, state } of questsEnding(user, project, now)) {
    const { id: questId, key, title } = quest
    const progress = questProgress(quest, state.steps)
    facts.push({
      kind: "quest.ending",
      questId,
      key,
      title,
      period: state.period,
      endsAt,
      progress,
    })
  }
  for (const { currency, endings, through } of amountsExpiring(user, project, now)) {
    facts.push({
      kind: "currency.expiring",
      currency,
      endings: endings.map(({ amount, expiresAt }) => [expiresAt, amount] as const),
      through,
    })
  }
}

/** Notes the reminders that the event follows within a day. */
export const followReminders = ({ facts, now, occurredAt, user }: Draft): void => {
  if (user === undefined || user.unanswered.length === 0) return
  const reminders = followedBy(user.unanswered, occurredAt, now)
  if (reminders.length > 0) facts.push({ kind: "reminders.followed", reminders })
}
