/** What a definition did, in a line of its page. */
import { Effect } from "effect"
import type { Noun } from "../../domain/project/Kinds.ts"
import { type MechanicNoun, mechanicNouns } from "../../domain/user/MechanicTally.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { BodyOf } from "../../http/contract/Operations.ts"
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
          xp !== null && `${count(xp)} xp`,
        ].filter((part) => part !== false)
        return html`<p>${parts.join(", ")}. <a href="${base}/mechanics/${noun}/${id}">What it did</a></p>`
      })
