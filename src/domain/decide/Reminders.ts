/** Decides the reminders of what ends (`user/Reminder.ts` has when they are due), and which an event follows. */
import { metricOf } from "../project/BoardDefinition.ts"
import { outcomeOf, termsOf } from "../project/League.ts"
import { followedBy } from "../user/Comeback.ts"
import { leaguesClosing } from "../user/LeagueReminder.ts"
import { amountsExpiring, questsEnding } from "../user/Reminder.ts"
import type { Draft } from "./Draft.ts"
import { divisionRef, type LeagueSeats, refOf } from "./Leagues.ts"
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

/** Adds the reminders of leagues that are due at `draft.now`, with the rank and the outcome if the windows closed now. */
export const remindOfLeagues = ({ facts, now, project, user }: Draft, seats: LeagueSeats): void => {
  if (user === undefined || project.settings.reminders?.leagueDays === undefined) return
  for (const { division, endsAt, entry, league, startsAt } of leaguesClosing(user, project, now)) {
    const { cohort, score, window } = entry
    const place = { leagueId: league.id, window, division, cohort }
    const { of, rank, size } = seats.standing(place, user.id)
    const decimals = metricOf(project.metrics, league)?.decimals ?? 0
    facts.push({
      kind: "league.closing",
      ...refOf(league),
      division: divisionRef(league, division),
      cohort,
      window,
      startsAt,
      endsAt,
      score,
      rank,
      of,
      size,
      outcome: outcomeOf(termsOf(league), division, rank, of),
      ...(decimals > 0 && { decimals }),
    })
  }
}

/** Notes the reminders that the event follows within a day. */
export const followReminders = ({ facts, now, occurredAt, user }: Draft): void => {
  if (user === undefined || user.unanswered.length === 0) return
  const reminders = followedBy(user.unanswered, occurredAt, now)
  if (reminders.length > 0) facts.push({ kind: "reminders.followed", reminders })
}
