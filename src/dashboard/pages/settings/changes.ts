/** Effects of a change of settings, shown before it is saved. */
import { Effect } from "effect"
import { environmentId } from "../../../domain/project/Directory.ts"
import { type LevelCurve, levelStart } from "../../../domain/project/Level.ts"
import { windowKinds, zoneOf } from "../../../domain/values/Calendar.ts"
import type { PlaceVisit } from "../../request/Route.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { table } from "../../view/Lists.ts"
import { time } from "../../view/Quantities.ts"

export interface Changed {
  readonly timezone: string
  readonly levelCurve: LevelCurve
  readonly streaks: ReadonlyArray<{ readonly key: string }>
  readonly clientActions: ReadonlyArray<string>
}

/** The levels that are shown; the last row has all above. */
const levelsShown = 20

/** How many users each of the first levels has, then how many are above them. */
const usersByLevel = Effect.fnUntraced(function* (
  { place, reads }: PlaceVisit,
  curve: LevelCurve,
): Effect.fn.Return<ReadonlyArray<number>> {
  const environment = environmentId(place.project.id, place.environment)
  const { users } = yield* reads.readCounts(environment)
  const starts = Array.from({ length: levelsShown }, (_, index) => levelStart(curve, index + 2))
  const above = yield* reads.readCountsAtLeast(environment, starts)
  const atLeast = [users, ...above]
  return atLeast.map((count, index) => count - (atLeast[index + 1] ?? 0))
})

const startWords = (start: number): Content => (start === Number.POSITIVE_INFINITY ? "none" : start)

const levels = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  now: LevelCurve,
  then: LevelCurve,
): Effect.fn.Return<Html> {
  const before = yield* usersByLevel(visit, now)
  const after = yield* usersByLevel(visit, then)
  const rows = before.map((count, index) => {
    const level = index + 1
    const [from, to] = [levelStart(now, level), levelStart(then, level)]
    return level > levelsShown
      ? [`above ${levelsShown}`, "", "", count, after[index]]
      : [level, startWords(from), [startWords(to), from !== to && " changed"], count, after[index]]
  })
  return html`<h3>Levels</h3>
<p class="hint">Xp stay; every user's level changes at once, without a message. Users who are hidden from leaderboards are counted at level 1.</p>
${table("Levels", ["Level", "Begins now at", "Would begin at", "Users now", "Users then"], rows)}`
})

const windows = ({ now }: PlaceVisit, before: string, after: string): Html => {
  const at = now()
  const endOf = (name: string, kind: (typeof windowKinds)[number]) => {
    const zone = zoneOf(name)
    return time(zone.windowBounds(kind, zone.windowAt(kind, at)).endsAt)
  }
  return html`<h3>Time zone</h3>
<p class="hint">Leaderboards, limits and recurring quests follow it from then on. Windows that are closed stay closed.</p>
${table(
  "Time zone",
  ["Window", "Ends now", "Would end"],
  windowKinds.map((kind) => [kind, endOf(before, kind), endOf(after, kind)]),
)}`
}

const streaks = (before: Changed["streaks"], after: Changed["streaks"]): Html | undefined => {
  const find = (all: Changed["streaks"], key: string) => all.find((one) => one.key === key)
  const lines = [
    ...before
      .filter(({ key }) => find(after, key) === undefined)
      .map(({ key }) => `${key} stops counting. Adding its key again restores the users' days.`),
    ...after.flatMap((streak) => {
      const old = find(before, streak.key)
      if (old === undefined) return [`${streak.key} is new: it counts from now on.`]
      const isSame = JSON.stringify(old) === JSON.stringify(streak)
      return isSame ? [] : [`${streak.key} counts in a new way from now on. Users' days stay.`]
    }),
  ]
  return lines.length === 0
    ? undefined
    : html`<h3>Streaks</h3><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`
}

const clientActions = (before: ReadonlyArray<string>, after: ReadonlyArray<string>) => {
  const lines = [
    ...after
      .filter((action) => !before.includes(action))
      .map((action) => `Users may send ${action} themselves.`),
    ...before
      .filter((action) => !after.includes(action))
      .map((action) => `Users may not send ${action} themselves any more.`),
  ]
  return lines.length === 0
    ? undefined
    : html`<h3>Actions of clients</h3><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`
}

/** The effects where `then` replaces `now`. */
export const changesSection = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  now: Changed,
  then: Changed,
): Effect.fn.Return<Html> {
  const isCurve = JSON.stringify(now.levelCurve) !== JSON.stringify(then.levelCurve)
  const parts = [
    isCurve && (yield* levels(visit, now.levelCurve, then.levelCurve)),
    now.timezone !== then.timezone && windows(visit, now.timezone, then.timezone),
    streaks(now.streaks, then.streaks),
    clientActions(now.clientActions, then.clientActions),
  ].filter((part) => part instanceof Object)
  return html`<section id="changes" aria-labelledby="changes-title"><h2 id="changes-title">Effect on users</h2>
${parts.length === 0 ? html`<p>Nothing that users notice.</p>` : parts}</section>`
})
