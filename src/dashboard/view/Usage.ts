/** What a definition did: in a line of its page, and in its list. */
import { Effect } from "effect"
import type { Noun } from "../../domain/project/Kinds.ts"
import { type MechanicNoun, mechanicNouns } from "../../domain/user/MechanicTally.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { BodyOf } from "../../http/contract/Operations.ts"
import { limits } from "../../Limits.ts"
import { type Html, html } from "./Html.ts"
import { count, percent } from "./Quantities.ts"

type Mechanic = BodyOf<"analytics.mechanic">

const reached: Readonly<Record<MechanicNoun, string>> = {
  rule: "rewarded",
  quest: "started it",
  badge: "earned it",
  streak: "kept a period",
  leaderboard: "had a score",
  league: "had a place",
  boost: "had it",
  item: "bought it",
  goal: "contributed",
}

const isMechanic = (noun: Noun): noun is MechanicNoun =>
  (mechanicNouns as ReadonlyArray<Noun>).includes(noun)

/** Nothing for a draft, and for a kind that does nothing by itself, such as a metric. */
export const usageLine = (
  base: string,
  noun: Noun,
  { id, status }: { readonly id: string; readonly status: string },
  ask: (
    name: "analytics.mechanic",
    parts: { readonly params: { readonly kind: MechanicNoun; readonly key: string } },
  ) => Effect.Effect<Mechanic, LaurelError>,
): Effect.Effect<Html | undefined, LaurelError> =>
  !isMechanic(noun) || status === "draft"
    ? Effect.succeed(undefined)
    : Effect.map(ask("analytics.mechanic", { params: { kind: noun, key: id } }), (read) => {
        const { completed, completions, days, share, users, xp } = read
        const parts = [
          users !== null &&
            `${count(users)} ${users === 1 ? "user" : "users"} ${reached[noun]}${share === null ? "" : ` (${percent(share)})`}`,
          noun === "quest" && completed !== null && `${count(completed)} completed it`,
          completions !== null &&
            `${count(completions)} ${completions === 1 ? "time" : "times"} in ${days.length} days`,
          xp !== null && xp > 0 && `${count(xp)} xp`,
        ].filter((part) => part !== false)
        return html`<p>${parts.length > 0 && `${parts.join(", ")}. `}<a href="${base}/mechanics/${noun}/${id}">What it did</a></p>`
      })

type Rows = BodyOf<"analytics.mechanics">

/** What happens when a definition does something, in the lists. */
const happened: Readonly<Record<MechanicNoun, readonly [one: string, many: string]>> = {
  rule: ["use", "uses"],
  quest: ["time", "times"],
  badge: ["award", "awards"],
  streak: ["period", "periods"],
  leaderboard: ["entry", "entries"],
  league: ["place", "places"],
  boost: ["record", "records"],
  item: ["unit", "units"],
  goal: ["contributor", "contributors"],
}

/** The text of lists below the key of each definition; none for kinds without an effect of their own. */
export const usageCells = (
  base: string,
  noun: Noun,
  ask: (
    name: "analytics.mechanics",
    parts: { readonly query: { readonly kind: MechanicNoun; readonly limit: string } },
  ) => Effect.Effect<Rows, LaurelError>,
): Effect.Effect<((id: string) => Html | undefined) | undefined, LaurelError> => {
  // The lists of items and goals have units and contributors of their own.
  if (!isMechanic(noun) || noun === "item" || noun === "goal") return Effect.succeed(undefined)
  const query = { kind: noun, limit: String(limits.mechanicRowsMax) }
  return Effect.map(ask("analytics.mechanics", { query }), ({ mechanics }) => {
    const byId = new Map(mechanics.map((row) => [row.id, row]))
    return (id) => {
      const row = byId.get(id)
      if (row === undefined) return undefined
      const { completions, key, users, xp } = row
      const [one, many] = happened[noun]
      // An entry of a leaderboard is a user with a score.
      if (noun === "leaderboard") {
        if (users === null) return undefined
        const address = `${base}/leaderboard?board=${encodeURIComponent(key)}`
        return html`<br><a class="hint" href="${address}">${count(users)} ${users === 1 ? one : many}</a>`
      }
      if (completions === null) return undefined
      return html`<br><span class="hint"><a href="${base}/mechanics/${noun}/${id}">${count(completions)} ${completions === 1 ? one : many}</a>${xp !== null && xp > 0 && `, ${count(xp)} xp`} in ${limits.mechanicDaysDefault} days</span>`
    }
  })
}
