/**
 * The actions of an environment's events that no definition names now: usually misspelt, or a rule
 * is missing.
 */
import { Effect } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { BodyOf } from "../../http/contract/Operations.ts"
import { limits } from "../../Limits.ts"
import { type Html, html } from "./Html.ts"
import { table } from "./Lists.ts"
import { count, isoTime } from "./Quantities.ts"

type ActionPage = BodyOf<"actions.list">
export type SeenAction = ActionPage["actions"][number]

interface PageQuery {
  readonly limit: string
  readonly cursor: string | undefined
}

/** All actions of an environment's events, the last received first. `ask` reads a page of them. */
export const seenActions = Effect.fnUntraced(function* (
  ask: (
    name: "actions.list",
    parts: { readonly query: PageQuery },
  ) => Effect.Effect<ActionPage, LaurelError>,
) {
  const seen: Array<SeenAction> = []
  let cursor: string | null | undefined
  while (cursor !== null) {
    const query: PageQuery = { limit: String(limits.pageMax), cursor }
    const page: ActionPage = yield* ask("actions.list", { query })
    seen.push(...page.actions)
    cursor = page.nextCursor
  }
  return seen.sort((one, other) => (one.lastReceivedAt < other.lastReceivedAt ? 1 : -1))
})

/** The actions that no definition names, in the order of `actions`. */
export const unmatchedOf = (actions: ReadonlyArray<SeenAction>): ReadonlyArray<SeenAction> =>
  actions.filter(({ matched }) => !matched)

/** A table of the unmatched actions; nothing where there are none. */
export const unmatchedSection = (
  base: string,
  seen: ReadonlyArray<SeenAction>,
): Html | undefined => {
  const actions = unmatchedOf(seen)
  if (actions.length === 0) return undefined
  const title = "Events without a definition"
  return html`<h2 id="actions">${title}</h2>
<p>Events have these actions, but no active rule, published quest, badge or streak names them. Look for misspelt actions. <a href="${base}/actions">All actions</a></p>
${table(
  title,
  ["Action", "Events", "Last received"],
  actions
    .slice(0, limits.pageMax)
    .map(({ action, count: events, lastReceivedAt }) => [
      html`<code>${action}</code>`,
      count(events),
      isoTime(lastReceivedAt),
    ]),
)}
${actions.length > limits.pageMax && html`<p class="hint">The first ${limits.pageMax} of ${count(actions.length)} are shown.</p>`}`
}
