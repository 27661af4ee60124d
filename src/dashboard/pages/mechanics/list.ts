/** What each mechanic does: all of them, in the order that the reader chooses. */
import { Effect } from "effect"
import { mechanicNouns } from "../../../domain/user/MechanicTally.ts"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import { rareFrom } from "../../../http/api/Mechanics.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { PlaceVisit } from "../../request/Route.ts"
import { countedLine } from "../../view/Counted.ts"
import { type Content, html, isolated } from "../../view/Html.ts"
import { repeated, type SortHead, sortTable, tabs, withQuery } from "../../view/Lists.ts"
import { capitalized, count, datesLabel, percent, score } from "../../view/Quantities.ts"
import type { Reply } from "../../view/Replies.ts"

type Row = BodyOf<"analytics.mechanics">["mechanics"][number]

const periods = [7, 30, 90] as const

/** The number of days that the address asks for. */
export const daysOf = ({ request }: PlaceVisit): number => {
  const asked = Number(request.query.get("days"))
  return periods.find((days) => days === asked) ?? limits.mechanicDaysDefault
}

export const periodTabs = (visit: PlaceVisit, path: string) =>
  tabs(
    "Period",
    periods.map((days) => [
      String(days),
      `${days} days`,
      withQuery(path, visit.request.query, { days }),
    ]),
    String(daysOf(visit)),
  )

const sorts = ["users", "completions", "xp", "name"] as const

/** The kind and the order that the address asks for. */
export const chosenIn = ({ request: { query } }: PlaceVisit) => ({
  kind: mechanicNouns.find((noun) => noun === query.get("kind")),
  sort: sorts.find((one) => one === query.get("sort")) ?? "users",
})

const rarityWords: Readonly<Record<NonNullable<Row["rarity"]>, string>> = {
  none: "nobody",
  very_rare: "very rare",
  rare: "rare",
  uncommon: "uncommon",
  common: "common",
}

/** A number, or a dash with the reason for who cannot see it. */
const perhaps = (value: number | null, form: (value: number) => string): Content =>
  value === null ? html`<span class="hint">–</span>` : form(value)

/** What a row of the list shows, behind the name and the kind. */
const cellsOf = ({
  completions,
  perDay,
  rarity,
  share,
  users,
  xp,
}: Row): ReadonlyArray<Content> => [
  perhaps(users, count),
  share === null
    ? perhaps(null, count)
    : html`${percent(share)}${rarity !== null && html` <span class="hint">${rarityWords[rarity]}</span>`}`,
  perhaps(completions, count),
  perhaps(perDay, score),
  perhaps(xp, count),
]

const nameIn = ({ kind, name }: Row): string => `${kind} ${name}`

const rowsShown = String(limits.mechanicRowsMax)

export const listPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, show } = visit
  const { query } = visit.request
  const path = `${base}/mechanics`
  const { kind, sort } = chosenIn(visit)
  const days = daysOf(visit)
  const read = yield* ask("analytics.mechanics", {
    query: { kind, sort, days: String(days), limit: rowsShown },
  })
  const head = (label: string, by?: (typeof sorts)[number]): SortHead =>
    by === undefined
      ? { label }
      : {
          label,
          address: withQuery(path, query, { sort: by }),
          ...(sort === by && { sorted: by === "name" ? "ascending" : "descending" }),
        }
  const heads = [
    head("Mechanic", "name"),
    head("Kind"),
    head("Users reached", "users"),
    head("Share of all users"),
    head(`Times in ${days} days`, "completions"),
    head("Times a day"),
    head(`Xp given in ${days} days`, "xp"),
  ]
  const { mechanics, total } = read
  const alike = repeated(mechanics.map(nameIn))
  return show(
    "Mechanics",
    html`<p>What each definition did: whom it reached, and how often it happened. Choose one to see where people stop, how long it takes, and who comes back.</p>
${tabs(
  "Kind",
  [undefined, ...mechanicNouns].map((noun) => [
    noun,
    noun === undefined ? "All" : `${capitalized(noun)}s`,
    withQuery(path, query, { kind: noun }),
  ]),
  kind,
)}
${periodTabs(visit, path)}
${
  mechanics.length === 0
    ? html`<p>There is no ${kind} that is neither a draft nor archived.</p>`
    : sortTable(
        "Mechanics",
        heads,
        mechanics.map((row) => [
          html`<a href="${base}/mechanics/${row.kind}/${row.id}?days=${days}">${isolated(row.name)}</a>${alike.has(nameIn(row)) && html` <code class="hint">${row.key}</code>`}${row.status !== "active" && html` <span class="hint">${row.status}</span>`}`,
          row.kind,
          ...cellsOf(row),
        ]),
      )
}
${total > mechanics.length && html`<p class="hint">The first ${count(mechanics.length)} of ${count(total)} are shown.</p>`}
<p class="hint">Users reached: since the mechanic exists, of ${count(read.allUsers)} users. Common: at least ${percent(rareFrom.common)} of them, uncommon ${percent(rareFrom.uncommon)}, rare ${percent(rareFrom.rare)}. Times and xp: ${datesLabel(read.from, read.to)}, with today, which is not over. Times are events rewarded (rules), completions (quests, goals), awards (badges), periods kept (streaks), prizes won (leaderboards), places taken (leagues), events and rewards multiplied (boosts), and units bought (items). A dash: not known; the page of the mechanic says why. An undo takes users away, and nothing of the days. ${countedLine(read)} <a href="${withQuery(`${path}.csv`, query, { kind, sort, days })}">Save as CSV</a></p>`,
  )
})
