/**
 * The state of an environment: users, their activity beside the period before, events a minute, the
 * week's best, webhooks that fail, actions that nothing names, archives that failed, and the next steps.
 */
import { Effect } from "effect"
import { environmentId } from "../../domain/project/Directory.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { BodyOf } from "../../http/contract/Operations.ts"
import { type PlaceVisit, placePage, type Route } from "../request/Route.ts"
import { seenActions, unmatchedOf } from "../view/Actions.ts"
import { type Html, html, visible } from "../view/Html.ts"
import { table } from "../view/Lists.ts"
import { count } from "../view/Quantities.ts"
import type { Reply } from "../view/Replies.ts"
import { userLink } from "../view/Users.ts"
import { activitySection } from "./activity.ts"

/* Charts as SVG, made on the server. Each says in words what it shows. */

const width = 600
const height = 80

/**
 * Bars of equal width; the highest is as high as the chart. `label` describes the chart for screen
 * readers.
 */
const bars = (label: string, values: ReadonlyArray<number>): Html => {
  const highest = Math.max(1, ...values)
  const step = width / Math.max(1, values.length)
  return html`<svg class="bars" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${label}">${values.map(
    (value, index) => {
      const high = (value / highest) * height
      return html`<rect x="${(index * step).toFixed(1)}" y="${(height - high).toFixed(1)}" width="${(step * 0.8).toFixed(1)}" height="${high.toFixed(1)}"/>`
    },
  )}</svg>`
}

const shownUsers = "5"
const shownWebhooks = "100"

const overviewPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, place, reads, show } = visit
  const environment = environmentId(place.project.id, place.environment)
  const { users } = yield* reads.readCounts(environment)
  const perMinute = yield* reads.readActivity(environment)
  const week = yield* ask("leaderboard.get", { query: { window: "weekly", limit: shownUsers } })
  const rules = yield* ask("rules.list", { query: { limit: "1" } })
  const { webhooks } = yield* ask("webhooks.list", { query: { limit: shownWebhooks } })
  const lastHour = perMinute.reduce((sum, events) => sum + events, 0)
  const failing = yield* failingWebhooks(visit, webhooks)
  const actions = yield* seenActions(ask)
  const totals = [["Users in all", count(users)]] as const
  return show(
    "Overview",
    html`${archiveAlert(visit)}
${webhooks.map((webhook) => stoppedAlert(base, webhook))}
${failing.map((webhook) => failingAlert(base, webhook))}
${unmatchedAlert(base, unmatchedOf(actions))}
${(users === 0 || rules.total === 0) && nextSteps(base, users > 0, rules.total > 0)}
${users > 0 && (yield* activitySection(visit, totals))}
${
  users > 0 &&
  html`<div class="charts">
<section><h2>The last hour</h2>
<p>${count(lastHour)} ${lastHour === 1 ? "event" : "events"}. <a href="${base}/live">Watch them live</a></p>
${lastHour > 0 && lastMinutes(perMinute)}</section>
${week.entries.length > 0 && weekSection(base, week.entries)}</div>`
}`,
  )
})

const lastMinutes = (perMinute: ReadonlyArray<number>): Html => {
  const highest = Math.max(...perMinute)
  return html`${bars(`Events a minute over the last ${perMinute.length} minutes, at most ${highest}`, perMinute)}
<p class="hint ends"><span>${perMinute.length} minutes ago</span> <span>now</span></p>
<p class="hint">Highest bar: ${count(highest)}. The last full minute: ${count(perMinute.at(-2) ?? 0)}.</p>`
}

const weekSection = (base: string, entries: BodyOf<"leaderboard.get">["entries"]): Html =>
  html`<section><h2>Most xp this week</h2>
${table(
  "Most xp this week",
  ["Rank", "User", "Xp", "Level"],
  entries.map(({ displayName, level, rank, userId, xp }) => [
    count(rank),
    userLink(base, userId, displayName),
    count(xp),
    count(level),
  ]),
)}
<p class="after"><a href="${base}/leaderboard?window=weekly">All ranks of the week</a></p></section>`

/** Archives are of the whole server, so that its owners see it. */
const archiveAlert = ({ member, prefix, server }: PlaceVisit): Html | undefined => {
  const trouble = member.account.access.owner === true ? server.archiveTrouble() : undefined
  return trouble === undefined
    ? undefined
    : html`<p class="alert">${trouble} <a href="${prefix}/operations">Operations</a></p>`
}

type Webhook = BodyOf<"webhooks.list">["webhooks"][number]
type CountedWebhook = BodyOf<"webhooks.get">

/** The enabled webhooks whose attempts fail. A webhook that is deleted meanwhile is left out. */
const failingWebhooks = (
  { ask }: PlaceVisit,
  webhooks: ReadonlyArray<Webhook>,
): Effect.Effect<ReadonlyArray<CountedWebhook>, LaurelError> => {
  const counted = Effect.forEach(
    webhooks.filter(({ status }) => status === "enabled"),
    ({ id }) =>
      Effect.catchIf(
        ask("webhooks.get", { params: { id } }),
        ({ code }) => code === "webhook_not_found",
        () => Effect.succeed(undefined),
      ),
    { concurrency: "unbounded" },
  )
  return Effect.map(counted, (all) =>
    all.filter((webhook) => webhook !== undefined).filter(({ failing }) => failing),
  )
}

const urlCharactersShown = 60

const webhookLink = (base: string, id: string, url: string): Html =>
  html`<a href="${base}/webhooks/${id}">${visible(url, urlCharactersShown)}</a>`

const stoppedAlert = (base: string, { disabledReason, id, url }: Webhook): Html | undefined => {
  if (disabledReason !== "failing" && disabledReason !== "gone") return undefined
  const why =
    disabledReason === "gone" ? "the receiver answered 410" : "five days of deliveries failed"
  return html`<p class="alert">The webhook ${webhookLink(base, id, url)} is disabled: ${why}.</p>`
}

const failingAlert = (base: string, { deliveries, id, url }: CountedWebhook): Html =>
  html`<p class="alert">Deliveries to the webhook ${webhookLink(base, id, url)} fail, ${count(deliveries.pending)} are pending.</p>`

/** How many actions the alert names. */
const namedActions = 3

const unmatchedAlert = (
  base: string,
  unmatched: ReadonlyArray<{ readonly action: string }>,
): Html | undefined => {
  if (unmatched.length === 0) return undefined
  const named = unmatched.slice(0, namedActions)
  const rest = unmatched.length - named.length
  return html`<p class="alert">No rule, quest, badge or streak names the ${
    unmatched.length === 1 ? "action" : "actions"
  } ${named.map(({ action }, index) => html`${index > 0 && ", "}<code>${action}</code>`)}${
    rest > 0 && ` and ${count(rest)} more`
  }. <a href="${base}/actions?named=no">Actions without a definition</a></p>`
}

const nextSteps = (base: string, hasUsers: boolean, hasRules: boolean): Html =>
  html`<section class="card"><h2>Next steps</h2><ol class="steps">
${!hasRules && html`<li><a href="${base}/rules">Create a rule</a> that gives xp for an action of your users.</li>`}
${!hasUsers && html`<li><a href="${base}/start">Get started</a>: create an API key, and send the first event with it.</li>`}
${!hasUsers && html`<li><a href="${base}/live">Watch</a> events as they arrive.</li>`}</ol></section>`

export const overviewRoutes: ReadonlyArray<Route> = [placePage("", overviewPage)]
