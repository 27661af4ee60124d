/**
 * A page of a user's history: a row for each record, with its cause, its facts and a button that
 * undoes it.
 */

import { Effect } from "effect"
import { shownKinds } from "../../../domain/message/FactMembers.ts"
import { environmentId } from "../../../domain/project/Directory.ts"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import { cursorOf, positionIn } from "../../../http/api/Cursor.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import { mayChange, type PlaceVisit } from "../../request/Route.ts"
import { confirmButton, selectField } from "../../view/Forms.ts"
import { type Content, type Html, html, isolated, textBox } from "../../view/Html.ts"
import { cursorPager, newestFirst, table } from "../../view/Lists.ts"
import { boostWords, count, isoTime } from "../../view/Quantities.ts"
import { boardText } from "./boardText.ts"
import { goalText, isOfGoal } from "./goalText.ts"
import { inProduction } from "./inProduction.ts"
import { isOfLeague, leagueText } from "./leagueText.ts"

/* Facts and their causes in words. */

export type Fact = BodyOf<"users.history">["facts"][number]
export type Cause = Fact["cause"]
type FactOf<Kind extends Fact["kind"]> = Extract<Fact, { readonly kind: Kind }>
type Outcome = Pick<
  FactOf<"event.tracked">,
  "capped" | "currencies" | "freezes" | "level" | "pending" | "points" | "xp"
>

const signed = (amount: number): string => (amount > 0 ? `+${count(amount)}` : count(amount))
const percent = (share: number): string => `${Math.floor(share * 100)}%`

/** "xp +50 (1,250), level 4 → 5"; empty if nothing changed. */
export const outcomeText = ({
  capped = [],
  currencies = {},
  freezes = {},
  level,
  pending = [],
  points,
  xp,
}: Outcome): string =>
  [
    ...(xp.earned === 0 ? [] : [`xp ${signed(xp.earned)} (${count(xp.total)})`]),
    ...(points.earned === 0 ? [] : [`points ${signed(points.earned)} (${count(points.total)})`]),
    ...Object.entries(currencies).map(
      ([key, { earned, total }]) => `${key} ${signed(earned)} (${count(total)})`,
    ),
    ...pending.map(
      ({ amount, currency, spendableAt }) =>
        `${count(amount)} ${currency} pending until ${spendableAt.slice(0, 10)}`,
    ),
    ...capped.map(
      ({ amount, by, currency }) => `${count(amount)} ${currency} cut (${capWords[by]})`,
    ),
    ...Object.entries(freezes).map(
      ([key, { capped = 0, earned, total }]) =>
        `freezes of ${key} ${signed(earned)} (${count(total)})${capped === 0 ? "" : `, ${count(capped)} cut`}`,
    ),
    ...(level.before === level.after ? [] : [`level ${level.before} → ${level.after}`]),
  ].join(", ")

const capWords = { earnLimit: "its limit of a period", max: "its maximum" } as const

const summary = (words: string, outcome: Outcome): string => {
  const text = outcomeText(outcome)
  return text === "" ? `${words}, no balance changed` : `${words}: ${text}`
}

const undone = (
  words: string,
  { expired = {}, shortfall, ...outcome }: FactOf<"event.revoked">,
): string => {
  const lost = Object.entries(expired).map(([key, amount]) => `${count(amount)} ${key}`)
  const missing = [
    ...(shortfall.xp === 0 ? [] : [`${count(shortfall.xp)} xp`]),
    ...(shortfall.points === 0 ? [] : [`${count(shortfall.points)} points`]),
    ...Object.entries(shortfall.currencies ?? {}).map(([key, amount]) => `${count(amount)} ${key}`),
    ...Object.entries(shortfall.freezes ?? {}).map(
      ([key, amount]) => `${count(amount)} freezes of ${key}`,
    ),
  ].join(" and ")
  const rest = missing === "" ? "" : `; ${missing} were already gone`
  return `${summary(words, outcome)}${rest}${expiredText(lost)}`
}

const expiredText = (lost: ReadonlyArray<string>): string =>
  lost.length === 0 ? "" : `; ${lost.join(" and ")} had expired`

const sourceText = ({ id, kind }: FactOf<"xp.earned">["source"], base: string): Content => {
  if (kind === "reward") return "by the reward"
  if (kind === "criteria") return "by its criteria"
  if (kind === "item") return "by the item"
  if (kind === "goal") return "by the goal"
  // Ids begin with a time, so only their ends tell them apart.
  const list = kind === "level" ? "currencies" : `${kind}s`
  return html`by <a href="${base}/${list}/${id}">${kind} <code>…${id?.slice(-6)}</code></a>`
}

const levelWords = (fact: FactOf<"currency.level_changed" | "level.changed">): Content =>
  fact.kind === "level.changed"
    ? `Level ${fact.from} → ${fact.to}`
    : html`Level in ${fact.currency}: ${levelText(fact.from)} → ${levelText(fact.to)}`

const levelText = (level: FactOf<"currency.level_changed">["from"]): Content =>
  level === null ? "none" : isolated(level.name ?? count(level.number))

const tierText = (tier: FactOf<"badge.earned">["tier"]): Content =>
  tier !== undefined && html`, ${isolated(tier.name)}`

const timesText = (times: number | undefined): Content =>
  times !== undefined && `, ${count(times)} times now`

const questText = (fact: Extract<Fact, { readonly questId: string }>): Content => {
  switch (fact.kind) {
    case "quest.started":
      return html`Quest ${isolated(fact.title)} begun`
    case "quest.progressed":
      return html`Quest ${isolated(fact.title)}: step ${isolated(fact.step)} ${count(fact.current)} of ${count(fact.target)} (quest ${percent(fact.progress)})`
    case "quest.completed":
      return html`Quest ${isolated(fact.title)} completed${fact.times > 1 && `, ${count(fact.times)} times by then`}${fact.claimable && ", to be claimed"}`
    case "quest.claimed":
      return html`Quest ${isolated(fact.title)} claimed`
    case "quest.claim_revoked":
      return html`Claim of the quest ${isolated(fact.title)} revoked`
    case "quest.repeated":
      return html`Quest ${isolated(fact.title)} claimed again, nothing earned`
    case "quest.reverted":
      return html`Quest ${isolated(fact.title)} set back to ${percent(fact.progress)}`
    case "quest.expired":
      return html`Quest ${isolated(fact.title)} expired`
    case "quest.ending":
      return html`Reminder: quest ${isolated(fact.title)} ends on ${isoTime(fact.endsAt)} (${percent(fact.progress)})`
    case "quest.claim_lapsed":
      return html`Quest ${isolated(fact.title)} was not claimed in its period`
  }
}

type StreakFact = Extract<Fact, { readonly kind: `streak.${string}` }>

const isOfStreak = (fact: Fact): fact is StreakFact => fact.kind.startsWith("streak.")

/** A fact of a streak in words. */
const streakText = (fact: StreakFact, base: string): Content => {
  switch (fact.kind) {
    case "streak.extended":
      return html`Streak ${isolated(fact.key)}: ${count(fact.current)} in a row (best ${count(fact.best)})`
    case "streak.counted":
      return html`Streak ${isolated(fact.key)}: an earlier day, week or month counted, now ${count(fact.current)} in a row`
    case "streak.broken":
      return html`Streak ${isolated(fact.key)} ended after ${count(fact.length)} in a row`
    case "streak.at_risk":
      return html`Streak ${isolated(fact.key)} of ${count(fact.current)} at risk (${count(fact.freezes)} freezes left)`
    case "streak.paused":
      return html`Streak ${isolated(fact.key)} paused from ${fact.from} to ${fact.to}, now ${count(fact.current)} in a row`
    case "streak.repaired":
      return html`Streak ${isolated(fact.key)} repaired from ${fact.from} to ${fact.to}, now ${count(fact.current)} in a row`
    case "streak.repair_undone":
      return html`Streak ${isolated(fact.key)} no longer repaired from ${fact.from} to ${fact.to}, now ${count(fact.current)} in a row`
    case "streak.milestone_reached":
      return html`Streak ${isolated(fact.name)} reached the milestone of ${count(fact.target)}`
    case "streak.milestone_revoked":
      return html`The milestone of ${count(fact.target)} of streak ${isolated(fact.name)} undone`
    case "streak.freezes_earned":
      return html`Freezes of ${isolated(fact.key)} +${count(fact.amount)} (${count(fact.total)}) ${sourceText(fact.source, base)}`
    case "streak.freezes_revoked":
      return html`Freezes of ${isolated(fact.key)} −${count(fact.amount)} (${count(fact.total)})`
    case "streak.freezes_capped":
      return html`${count(fact.amount)} freezes of ${isolated(fact.key)} cut (its maximum) ${sourceText(fact.source, base)}`
  }
}

const itemText = (fact: FactOf<"item.purchased"> | FactOf<"item.refunded">): Content => {
  if (fact.kind === "item.refunded") {
    return html`Item ${isolated(fact.name)}: ${undone("purchase undone", { ...fact, kind: "event.revoked" })}`
  }
  return html`Item ${isolated(fact.name)} bought for ${amountsText(fact.price)}${gainText(fact)}`
}

const gainText = (outcome: Outcome): string => {
  const text = outcomeText(outcome)
  return text === "" ? "" : `: ${text}`
}

const badgeText = (
  fact: FactOf<"badge.earned"> | FactOf<"badge.revoked">,
  base: string,
): Content =>
  "source" in fact
    ? html`Badge ${isolated(fact.name)}${tierText(fact.tier)} earned${timesText(fact.times)} ${sourceText(fact.source, base)}`
    : html`Badge ${isolated(fact.name)}${tierText(fact.tier)} revoked${timesText(fact.times)}`

const boostText = (fact: FactOf<"boost.earned"> | FactOf<"boost.revoked">, base: string): Content =>
  html`Boost ${isolated(fact.name)} until ${isoTime(fact.endsAt)} ${
    "source" in fact ? sourceText(fact.source, base) : "taken back"
  }`

const summaryText = (
  fact: Extract<Fact, { readonly kind: `${"event" | "reward" | "item"}.${string}` }>,
): Content => {
  switch (fact.kind) {
    case "event.tracked":
    case "reward.granted":
      return summary(fact.kind === "event.tracked" ? "Event counted" : "Reward granted", fact)
    case "event.revoked":
      return undone("Event undone", fact as FactOf<"event.revoked">)
    case "reward.revoked":
      return undone("Reward undone", { ...fact, kind: "event.revoked" })
    case "item.purchased":
    case "item.refunded":
      return itemText(fact)
  }
}

/** One fact in words. `base` is the path of the environment's pages. */
const factText = (fact: Fact, base: string): Content => {
  if (isOfLeague(fact)) return leagueText(fact)
  if (isOfGoal(fact)) return goalText(fact, base)
  if (isOfStreak(fact)) return streakText(fact, base)
  switch (fact.kind) {
    case "event.tracked":
    case "event.revoked":
    case "reward.granted":
    case "reward.revoked":
    case "item.purchased":
    case "item.refunded":
      return summaryText(fact)
    case "xp.earned":
    case "points.earned":
    case "currency.earned":
      return html`${balanceOf(fact)} +${count(fact.amount)} (${count(fact.total)}) ${sourceText(fact.source, base)}${fact.boosts !== undefined && ` with ${boostWords(fact.boosts)}`}`
    case "xp.revoked":
    case "points.revoked":
    case "points.spent":
    case "currency.revoked":
    case "currency.spent":
      return `${balanceOf(fact)} −${count(fact.amount)} (${count(fact.total)})`
    case "points.refunded":
    case "currency.refunded":
      return `${balanceOf(fact)} +${count(fact.amount)} (${count(fact.total)})${fact.shortfall === 0 ? "" : `; ${count(fact.shortfall)} were undone at their source`}`
    case "currency.refilled":
      return `${fact.currency} +${count(fact.amount)} (${count(fact.total)}) with time`
    case "currency.expired":
      return `${fact.currency} −${count(fact.amount)} (${count(fact.total)}) expired`
    case "currency.expiring":
      return html`Reminder: ${count(fact.amount)} ${fact.currency} expire from ${isoTime(fact.expiresAt)} on`
    case "currency.capped":
      return html`${count(fact.amount)} ${fact.currency} cut (${capWords[fact.by]}) ${sourceText(fact.source, base)}`
    case "currency.level_changed":
    case "level.changed":
      return levelWords(fact)
    case "badge.earned":
    case "badge.revoked":
      return badgeText(fact, base)
    case "boost.earned":
    case "boost.revoked":
      return boostText(fact, base)
    case "experiment.exposed":
      return html`Entered experiment <a href="${base}/experiments/${fact.experimentId}">${isolated(fact.name)}</a> as ${isolated(fact.variant)}`
    case "quest.started":
    case "quest.progressed":
    case "quest.completed":
    case "quest.claimed":
    case "quest.claim_revoked":
    case "quest.repeated":
    case "quest.reverted":
    case "quest.expired":
    case "quest.claim_lapsed":
    case "quest.ending":
      return questText(fact)
    case "metric.changed":
      return html`Metric ${isolated(fact.key)}: ${fact.total ?? "none"}`
    case "leaderboard.disqualified":
    case "leaderboard.prize_won":
    case "leaderboard.rank_changed":
      return boardText(fact, base)
    default:
      return userText(fact)
  }
}

const userText = (
  fact: FactOf<
    | "team.joined"
    | "team.left"
    | "user.created"
    | "user.opened"
    | "user.merged"
    | "user.updated"
    | "user.inactive"
  >,
): Content => {
  switch (fact.kind) {
    case "team.joined":
      return html`Joined the team ${isolated(fact.name)} (${fact.teamKind})`
    case "team.left":
      return html`Left the team ${isolated(fact.name)} (${fact.teamKind})`
    case "user.created":
      return "User created"
    case "user.opened":
      return html`Opening: ${amountsText(fact.balances)}${fact.streaks.map(
        ({ best, current, key }) =>
          html`, streak ${isolated(key)} ${count(current)} (best ${count(best)})`,
      )}${fact.badges.length > 0 && `, ${count(fact.badges.length)} badges`}`
    case "user.merged":
      return html`User ${isolated(fact.from)} merged into this one${Object.entries(fact.gained).map(
        ([key, amount]) => html`, +${count(amount)} ${key}`,
      )}`
    case "user.inactive":
      return `Reminder: no event for ${count(fact.days)} days, since ${fact.lastDay}`
    case "user.updated": {
      const { attributes, displayName, hidden, timezone } = fact.profile
      const name = displayName === null ? "no name" : html`name ${isolated(displayName)}`
      return html`Profile: ${name}, time zone ${timezone ?? "of the project"}, ${count(Object.keys(attributes).length)} attributes, ${hidden ? "hidden from" : "shown on"} leaderboards`
    }
  }
}

const amountsText = (amounts: { readonly [key: string]: number }): string =>
  Object.entries(amounts)
    .map(([key, amount]) => `${count(amount)} ${key}`)
    .join(", ")

const balanceOf = (fact: Fact): string => {
  if ("currency" in fact) return fact.currency
  return fact.kind.startsWith("xp.") ? "Xp" : "Points"
}

const reasonText = (reason: string | null): Content =>
  reason !== null && reason !== "" && html`: ${isolated(reason)}`

/** Laurel's id of a cause that can be undone. */
const ownId = (cause: Cause): string | undefined => {
  switch (cause.kind) {
    case "event":
      return cause.eventId
    case "reward":
      return cause.rewardId
    case "spend":
      return cause.spendId
    case "purchase":
      return cause.purchaseId
    default:
      return undefined
  }
}

/** The id of what a revocation undid. */
const undoneId = ({
  eventId,
  purchaseId,
  rewardId,
  spendId,
}: Extract<Cause, { readonly kind: "revocation" }>) => eventId ?? rewardId ?? spendId ?? purchaseId

/** The cause of a fact, without the metadata of its event. */
const causeText = (cause: Cause): Content => {
  switch (cause.kind) {
    case "event":
      return html`${cause.imported ? "Imported event" : "Event"} <code>${cause.action}</code>`
    case "reward":
      return html`Reward by hand${reasonText(cause.reason)}`
    case "spend":
      return html`${cause.currencies === undefined ? "Points" : "Currencies"} spent${reasonText(cause.reason)}`
    case "revocation":
      return html`Undo of <code>${undoneId(cause)}</code>`
    case "purchase":
      return html`Purchase of <code>${cause.item}</code>`
    case "backfill":
      return html`Backfill of badge <code>${cause.badgeId}</code>`
    case "prize":
      return html`Rank ${count(cause.rank)} of leaderboard ${isolated(cause.leaderboard.key)}`
    case "goal":
      return html`Goal ${isolated(cause.name)}`
    case "ranks":
      return "Look at the first ranks"
    case "opening":
      return "Opening balances"
    case "profile":
      return "Change of the profile"
    case "merge":
      return "Merge"
    case "clock":
      return "Passage of time"
  }
}

/** The ids of a cause, and the time of its event if that differs from `at`. */
const causeDetails = (cause: Cause, at: string): Content => {
  const own = ownId(cause)
  if (own === undefined || !("id" in cause)) return undefined
  return html`<code>${own}</code>${cause.id !== null && html`, your id ${isolated(cause.id)}`}${
    cause.kind === "event" &&
    cause.occurredAt !== at &&
    html`, occurred ${isoTime(cause.occurredAt)}`
  }`
}

type HistoryPage = BodyOf<"users.history">

interface HistoryQuery {
  readonly limit: string | undefined
  readonly cursor: string | undefined
  readonly kind: string | undefined
}

/**
 * A page of whole records. The operation ends a page after `limit` facts, which may be in the
 * middle of a record. This adds the other facts of that record, so that no row shows a part of an
 * event.
 */
export const readHistory = Effect.fnUntraced(function* (
  { ask, place }: PlaceVisit,
  userId: string,
  query: HistoryQuery,
): Effect.fn.Return<HistoryPage, LaurelError> {
  const params = { id: userId }
  const page = yield* ask("users.history", { params, query })
  const list = ["history", environmentId(place.project.id, place.environment)] as const
  const filters = { id: userId, kind: query.kind }
  const facts = [...page.facts]
  const sequence = facts.at(-1)?.sequence
  let { nextCursor } = page
  while (nextCursor !== null) {
    const [next, index] = positionIn(...list, filters, nextCursor)!
    if (next !== sequence || index === 0) break
    const limit = String(Math.min(index, limits.pageMax))
    const more = yield* ask("users.history", {
      params,
      query: { ...query, limit, cursor: nextCursor },
    })
    const rest = more.facts.filter((fact) => fact.sequence === sequence)
    facts.push(...rest)
    const isWhole = rest.length < more.facts.length
    nextCursor = isWhole ? cursorOf(...list, filters, [sequence, 0]) : more.nextCursor
  }
  return { facts, hasMore: nextCursor !== null, nextCursor }
})

/** `path` is that of the user's page. */
export interface HistoryView {
  readonly visit: PlaceVisit
  readonly path: string
  readonly page: HistoryPage
}

export const historySection = ({ page, path, visit }: HistoryView): Html => {
  const { query } = visit.request
  const kind = query.get("kind") ?? ""
  return html`<h2 id="history">History</h2>
<form method="get" action="${path}#history" class="row">
${selectField({
  name: "kind",
  label: "Kind of fact",
  value: kind,
  options: [["", "all"], ...shownKinds.map((one) => [one, one] as const)],
})}
<div class="field"><button>Filter</button></div></form>
${
  page.facts.length === 0
    ? html`<p>${query.has("cursor") ? "No more facts." : "No fact of this kind."}</p>`
    : historyTable({ visit, path, page })
}
${cursorPager(path, query, page, newestFirst)}`
}

/** The facts of one record: all of them, or all of the chosen kind. */
interface Group {
  readonly sequence: number
  readonly at: string
  readonly cause: Cause
  readonly facts: Array<Fact>
}

/** Groups facts by record. Facts of one record are consecutive in a history. */
const groupsOf = (facts: ReadonlyArray<Fact>): ReadonlyArray<Group> => {
  const groups: Array<Group> = []
  for (const fact of facts) {
    const { at, cause, sequence } = fact
    const last = groups.at(-1)
    if (last?.sequence === sequence) last.facts.push(fact)
    else groups.push({ sequence, at, cause, facts: [fact] })
  }
  return groups
}

const sums: ReadonlySet<string> = new Set([
  "event.tracked",
  "event.revoked",
  "reward.granted",
  "reward.revoked",
])

/** The sums of a record, then its other facts in the order in which they happened. */
const inOrder = (facts: ReadonlyArray<Fact>): ReadonlyArray<Fact> => [
  ...facts.filter(({ kind }) => sums.has(kind)),
  ...facts.filter(({ kind }) => !sums.has(kind)).toReversed(),
]

const historyTable = ({ page, path, visit }: HistoryView): Html => {
  const groups = groupsOf(page.facts)
  const metadata = new MetadataShare()
  const undone = new Set(
    groups.flatMap(({ cause }) => (cause.kind === "revocation" ? [undoneId(cause)] : [])),
  )
  const rows = groups.map((group) => {
    const { at, cause, facts } = group
    const id = ownId(cause)
    return [
      isoTime(at),
      html`${causeText(cause)}<br><span class="quiet">${causeDetails(cause, at)}</span>${
        cause.kind === "event" && metadata.show(cause)
      }`,
      html`<ul class="plain">${inOrder(facts).map(
        (fact) => html`<li title="${fact.kind}">${factText(fact, visit.base)}</li>`,
      )}</ul>`,
      id !== undefined && undone.has(id)
        ? "undone"
        : mayChange(visit) && id !== undefined && undoButton(visit, path, group, id),
    ]
  })
  return table("History", ["Time", "Cause", "Facts", "Undo"], rows)
}

const undoButton = (
  visit: PlaceVisit,
  path: string,
  { cause, sequence }: Group,
  id: string,
): Html => {
  const what = cause.kind
  return confirmButton({
    id: `undo-${sequence}`,
    button: "Undo",
    confirm: `Undo ${what}`,
    keep: "Keep it",
    title: `Undo this ${what}${inProduction(visit)}?`,
    detail: html`${causeText(cause)}: ${
      cause.kind === "spend"
        ? "gives back its points, except those whose event or reward was undone since."
        : cause.kind === "purchase"
          ? "gives back the price, puts the unit back in stock, and takes back what the item gave."
          : "takes back what it gave, such as xp, points, badges and quest progress. Closed leaderboards and streak days stay."
    } An undo cannot be undone.`,
    action: `${path}/${what}s/${id}/revoke`,
  })
}

/** Shows the metadata of events until the page has `pageMetadataCharactersMax` characters. */
class MetadataShare {
  #left = limits.pageMetadataCharactersMax

  show({ eventId, metadata }: Extract<Cause, { readonly kind: "event" }>): Content {
    if (metadata === null) return undefined
    const text = JSON.stringify(metadata, null, 2)
    const shown = Math.min(text.length, this.#left)
    this.#left -= shown
    return html`<details><summary>Metadata</summary>${textBox(`Metadata of ${eventId}`, text, shown)}${
      shown < text.length &&
      html`<p class="hint">Cut after ${shown} of ${text.length} characters. The export has the rest.</p>`
    }</details>`
  }
}
