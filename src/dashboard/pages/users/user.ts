/** One user: profile, balances, progress, and the history with what can be done about it. */

import { Effect } from "effect"
import { windowKinds } from "../../../domain/values/Calendar.ts"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import { noticeOf } from "../../request/notice.ts"
import { mayChange, type PlaceVisit } from "../../request/Route.ts"
import { confirmButton, refusal, textField } from "../../view/Forms.ts"
import {
  type Content,
  type Html,
  html,
  isolated,
  textOrLink,
  titled,
  visible,
} from "../../view/Html.ts"
import { properties, table } from "../../view/Lists.ts"
import { count, isoTime } from "../../view/Quantities.ts"
import type { Reply } from "../../view/Replies.ts"
import { teamPath, userPath } from "../../view/Users.ts"
import { historySection, readHistory } from "./history.ts"
import { inProduction } from "./inProduction.ts"
import { purchasesSection } from "./purchases.ts"

/* A user's badges, quests, streaks and metrics, the first 100 of each. */

type Progress = BodyOf<"users.progress">

const timeOrNone = (at: string | null): Content => (at === null ? "–" : isoTime(at))

/** A heading with a table of at most `pageMax` rows. `sorted` has the most important rows first. */
const section = <Row>(
  title: string,
  none: string,
  heads: ReadonlyArray<string>,
  sorted: ReadonlyArray<Row>,
  cells: (row: Row) => ReadonlyArray<Content>,
): Html => html`<h2>${title}</h2>
${
  sorted.length === 0
    ? html`<p>${none}</p>`
    : table(title, heads, sorted.slice(0, limits.pageMax).map(cells))
}
${sorted.length > limits.pageMax && html`<p class="hint">The first ${limits.pageMax} of ${count(sorted.length)} are shown.</p>`}`

const badgesSection = ({ badges }: Progress, base: string): Html =>
  section(
    "Badges",
    "The environment has no badges yet.",
    ["Badge", "Progress", "Earned"],
    badges.toSorted(
      (one, other) =>
        Number(one.earnedAt === null) - Number(other.earnedAt === null) ||
        other.current / other.target - one.current / one.target,
    ),
    ({ current, earnedAt, id, name, target, tiers = [], times = 0 }) => [
      html`<a href="${base}/badges/${id}">${isolated(name)}</a>${tiers
        .filter((tier) => tier.earnedAt !== null)
        .map((tier) => html`, ${isolated(tier.name)}`)}${times > 0 && `, ${count(times)} times`}`,
      `${count(current)} of ${count(target)}`,
      earnedAt === null ? "not yet" : isoTime(earnedAt),
    ],
  )

const questLabels = {
  in_progress: "in progress",
  completed: "completed",
  not_started: "not started",
  expired: "expired",
} as const
const questOrder = Object.keys(questLabels)

const questsSection = ({ quests }: Progress, base: string): Html =>
  section(
    "Quests",
    "No quest is active, and the user began none.",
    ["Quest", "Status", "Steps", "Completed", "Period ends"],
    quests.toSorted(
      (one, other) => questOrder.indexOf(one.status) - questOrder.indexOf(other.status),
    ),
    ({ claimable, completedAt, periodEndsAt, questId, status, steps, title }) => [
      html`<a href="${base}/quests/${questId}">${isolated(title)}</a>`,
      claimable ? "completed, to be claimed" : questLabels[status],
      html`<ul class="plain">${steps.map(
        ({ current, key, target }) =>
          html`<li>${isolated(key)} ${count(current)} of ${count(target)}</li>`,
      )}</ul>`,
      timeOrNone(completedAt),
      timeOrNone(periodEndsAt),
    ],
  )

const streaksSection = ({ streaks }: Progress): Html =>
  section(
    "Streaks",
    "The environment has no streaks yet.",
    ["Streak", "In a row", "Best", "Last day", "Freezes"],
    streaks,
    ({ best, current, freezes, key, lastDay }) => [
      isolated(key),
      count(current),
      count(best),
      lastDay ?? "–",
      count(freezes),
    ],
  )

const segmentsSection = (segments: BodyOf<"users.segments">["segments"], base: string): Html =>
  section("Segments", "The user is in no segment.", ["Segment", "Key"], segments, (segment) => [
    html`<a href="${base}/segments/${segment.id}">${isolated(segment.name)}</a>`,
    html`<code>${segment.key}</code>`,
  ])

const metricsSection = ({ metrics }: BodyOf<"metrics.ofUser">): Html =>
  section(
    "Metrics",
    "The environment has no metrics yet.",
    ["Metric", "Total", "Today", "Day before", "Week", "Week before", "Month", "Month before"],
    metrics,
    ({ day, month, name, recalculating, total, unit, week }) => [
      isolated(name),
      [
        total === null ? "–" : [total, unit !== null && ` ${unit}`],
        recalculating && " (recalculating)",
      ],
      ...[day, week, month].flatMap(({ current, previous }) => [current ?? "–", previous ?? "–"]),
    ],
  )

type User = BodyOf<"users.get">

const windowLabels = { daily: "Rank today", weekly: "Rank this week", monthly: "Rank this month" }

/** The page of a user. `error` is the refusal of one of its forms. */
export const userPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  userId: string,
  error?: LaurelError,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, request, show } = visit
  const params = { id: userId }
  const user = yield* ask("users.get", { params })
  const progress = yield* ask("users.progress", { params })
  const { segments } = yield* ask("users.segments", { params })
  const metrics = yield* ask("metrics.ofUser", { params })
  const posted = request.method === "POST"
  const part = (name: string) => (posted ? undefined : (request.query.get(name) ?? undefined))
  const query = { limit: part("limit"), cursor: part("cursor"), kind: part("kind") }
  const page = yield* readHistory(visit, userId, query)
  const ranks: Array<readonly [string, Content]> = []
  for (const window of windowKinds) {
    const { me } = yield* ask("leaderboard.get", { query: { window, around: userId, limit: "1" } })
    ranks.push([windowLabels[window], rankLink(base, userId, window, me?.rank)])
  }
  const path = userPath(base, userId)
  const purchases = yield* purchasesSection(visit, userId, path)
  return show(
    `User ${titled(userId)}`,
    html`${noticeOf(visit)}
${refusal(error, ["confirm", "into"])}
${profile(user, progress, base, ranks)}
${levelLine(progress)}
${mayChange(visit) && actions(visit, user, path, error)}
${attributesSection(user)}
${badgesSection(progress, base)}
${questsSection(progress, base)}
${streaksSection(progress)}
${segmentsSection(segments, base)}
${metricsSection(metrics)}
${purchases}
${historySection({ visit, path, page })}`,
    error,
  )
})

const rankLink = (
  base: string,
  userId: string,
  window: string,
  rank: number | null | undefined,
): Content =>
  rank === null || rank === undefined
    ? "not listed"
    : html`<a href="${base}/leaderboard?${new URLSearchParams({ window, around: userId }).toString()}">${count(rank)}</a>`

/** An id with its unseen characters as escapes; nothing if it has none. */
const spelled = (id: string): Html | undefined => {
  const text = visible(id, id.length)
  return text === id ? undefined : html`<p class="hint">Spelled ${text}</p>`
}

const profile = (
  user: User,
  { rank }: Progress,
  base: string,
  ranks: ReadonlyArray<readonly [string, Content]>,
): Html =>
  properties([
    [
      "Id",
      html`<code id="user-id">${isolated(user.id)}</code> <button data-copy="user-id" hidden>Copy</button>${spelled(user.id)}`,
    ],
    ["Name", user.displayName === null ? "none" : isolated(user.displayName)],
    ["Xp", count(user.xp)],
    [
      "Points",
      html`${count(user.points)}${pendingText(user, "points")}${expiringText(user, "points")}${levelText(user, "points")}`,
    ],
    ...Object.entries(user.balances)
      .filter(([key]) => key !== "xp" && key !== "points")
      .map(
        ([key, amount]) =>
          [
            key,
            html`<a href="${base}/currencies/${key}">${count(amount)}</a>${pendingText(user, key)}${expiringText(user, key)}${refillText(user, key)}${levelText(user, key)}`,
          ] as const,
      ),
    ...(user.boosts ?? []).map(
      ({ boostId, currencies, endsAt, factor, name }) =>
        [
          "Boost",
          html`<a href="${base}/boosts/${boostId}">${isolated(name)}</a>: ${currencies.join(", ")} × ${factor}, until ${isoTime(endsAt)}`,
        ] as const,
    ),
    ...(user.experiments ?? []).map(
      ({ counted, experimentId, exposedAt, name, variant }) =>
        [
          "Experiment",
          html`<a href="${base}/experiments/${experimentId}">${isolated(name)}</a>: ${isolated(variant)}, since ${isoTime(exposedAt)}${!counted && ", not in results: a merged user had another variant"}`,
        ] as const,
    ),
    ...(user.teams ?? []).map(
      ({ id, joinedAt, kind, name }) =>
        [
          `Team (${kind})`,
          html`<a href="${teamPath(base, id)}">${isolated(name)}</a> since ${isoTime(joinedAt)}`,
        ] as const,
    ),
    ["All-time rank", rankLink(base, user.id, "all_time", rank)],
    ...ranks,
    ["Leaderboards", user.hidden ? "hidden" : "shown"],
    ["Time zone", user.timezone ?? "of the project"],
    ["Created", isoTime(user.createdAt)],
    ["Last change", isoTime(user.updatedAt)],
  ])

/** How much of a balance cannot be spent yet. */
const pendingText = ({ pending = {} }: User, key: string): Content => {
  const { amount = 0, lots: [next] = [] } = pending[key] ?? {}
  return (
    next !== undefined &&
    html`, ${count(amount)} of it pending (${count(next.amount)} until ${isoTime(next.spendableAt)})`
  )
}

/** How much of a balance ends next. */
const expiringText = ({ expiring = {} }: User, key: string): Content => {
  const [next] = expiring[key]?.lots ?? []
  return next !== undefined && html`, ${count(next.amount)} of it until ${isoTime(next.expiresAt)}`
}

/** The level in a currency. */
const levelText = ({ levels = {} }: User, key: string): Content => {
  const { level = null } = levels[key] ?? {}
  return level !== null && html`, level ${isolated(level.name ?? count(level.number))}`
}

/** When a balance grows next. */
const refillText = ({ refills = {} }: User, key: string): Content => {
  const { amount = 0, nextAt = null } = refills[key] ?? {}
  return nextAt !== null && html`, +${count(amount)} at ${isoTime(nextAt)}`
}

const levelLine = ({ level, levelProgress }: Progress): Html => {
  const { ratio, xpToNext } = levelProgress
  return html`<p><label for="level">Level ${count(level)}${
    xpToNext === null ? ", the highest" : html`, ${count(xpToNext)} xp to level ${count(level + 1)}`
  }</label>
<progress id="level" max="1" value="${ratio}">${Math.floor(ratio * 100)}%</progress></p>`
}

const attributesSection = ({ attributes }: User): Html | undefined => {
  const all = Object.entries(attributes)
  if (all.length === 0) return undefined
  return html`<h2>Attributes</h2>
<dl class="properties">${all.map(
    ([name, value]) =>
      html`<div><dt>${isolated(name)}</dt><dd>${typeof value === "string" ? textOrLink(value) : String(value)}</dd></div>`,
  )}</dl>`
}

const actions = (
  visit: PlaceVisit,
  { hidden, id }: User,
  path: string,
  error: LaurelError | undefined,
): Html => {
  const production = inProduction(visit)
  return html`<div class="row actions">
<a class="button" href="${path}/reward">Grant reward</a> <a class="button" href="${path}/spend">Spend points</a> <a class="button" href="${path}/event">Send event</a> <a class="button" href="${path}/profile">Edit profile</a>
${
  hidden
    ? confirmButton({
        id: "show-user",
        button: "Show on leaderboards",
        title: `Show this user on leaderboards${production}?`,
        detail: "The user is listed again at once, on the leaderboards of the open windows.",
        action: `${path}/show`,
        danger: false,
      })
    : confirmButton({
        id: "hide-user",
        button: "Hide from leaderboards",
        title: `Hide this user from leaderboards${production}?`,
        detail:
          "The user keeps everything, and leaves the leaderboards of the open windows at once.",
        action: `${path}/hide`,
        danger: false,
      })
}
${confirmButton({
  id: "export-user",
  button: "Export user",
  confirm: `Export user${production}`,
  title: `Export this user${production}?`,
  detail: "A JSON file with all personal data and the whole history of the user.",
  action: `${path}/export`,
  danger: false,
})}
${confirmButton({
  id: "merge-user",
  button: "Merge user",
  confirm: `Merge user${production}`,
  title: `Merge this user into another${production}?`,
  detail:
    "For a visitor who signed up: the other user gets balances, badges, streaks and history, and this id leads there from then on. A merge cannot be undone.",
  action: `${path}/merge`,
  fields: textField({
    name: "into",
    label: "Id of the user who stays",
    required: true,
    faults: error?.errors,
  }),
})}
${confirmButton({
  id: "erase-user",
  button: "Erase user",
  confirm: `Erase user${production}`,
  keep: "Keep the user",
  title: `Erase this user${production}?`,
  detail: html`Deletes profile, balances, history and places on leaderboards. An erased user cannot be brought back. The id is <code>${isolated(id)}</code>`,
  action: `${path}/erase`,
  fields: textField({
    name: "confirm",
    label: "Type the id of the user",
    required: true,
    faults: error?.errors,
  }),
})}</div>`
}
