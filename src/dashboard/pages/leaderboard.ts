/**
 * The leaderboard: all time, and the day, week, month and span of days, open or past; a page of it, or the page
 * around a user.
 */
import { Effect } from "effect"
import {
  type BoardWindow,
  hasWindow,
  kindOfWindow,
  spanOf,
} from "../../domain/project/BoardDefinition.ts"
import {
  dateOf,
  firstDayOf,
  type TimedWindow,
  timedWindows,
  zoneOf,
} from "../../domain/values/Calendar.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { BodyOf } from "../../http/contract/Operations.ts"
import { percentDecode } from "../../http/request/RequestParts.ts"
import { limits } from "../../Limits.ts"
import { noticeOf, redirectWithNotice } from "../request/notice.ts"
import { mayChange, type PlaceVisit, placeForm, placePage, type Route } from "../request/Route.ts"
import { confirmButton, otherFaults, queryFaults, textField } from "../view/Forms.ts"
import { type Html, html, isolated, titled } from "../view/Html.ts"
import { pager, table, tabs, withQuery } from "../view/Lists.ts"
import { alert } from "../view/Page.ts"
import { count, countOrDash, datesLabel, score as scoreText } from "../view/Quantities.ts"
import type { Reply } from "../view/Replies.ts"
import { entrantHead, entrantLink, entriesOf } from "./definitions/boards.ts"
import { rewardWords } from "./definitions/conditions.ts"
import { rankedKey } from "./definitions/ranked.ts"

type Definition = BodyOf<"leaderboards.get">
type BoardKind = BoardWindow

/** An entry; only those of the board `xp` have a level. */
type Entry = Pick<
  BodyOf<"leaderboards.entries">["entries"][number],
  "rank" | "userId" | "displayName" | "score" | "previousRank" | "prizes" | "group" | "groupRank"
> & { readonly level?: number }

type Board = Omit<BodyOf<"leaderboards.entries">, "entries" | "leaderboard" | "me"> & {
  readonly definition: Definition
  readonly entries: ReadonlyArray<Entry>
  readonly me?: Entry | null
}

const kindLabels: ReadonlyArray<readonly [BoardKind, string]> = [
  ["all_time", "All time"],
  ["monthly", "Month"],
  ["weekly", "Week"],
  ["daily", "Day"],
  ["days", "Span of days"],
]

const leaderboardPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, request, show } = visit
  const { timezone } = yield* ask("project.get")
  const { query } = request
  const part = (name: string) => query.get(name) || undefined
  const id = part("board") ?? "xp"
  const definition = yield* ask("leaderboards.get", { params: { id } })
  const asked = part("window") ?? kindOfWindow(definition.windows[0]!)
  const at = asked === "all_time" ? undefined : part("at")
  const around = part("around")
  const found = yield* boardOf(visit, definition, {
    window: asked,
    limit: part("limit"),
    offset: around === undefined ? part("offset") : undefined,
    at,
    around,
    group: definition.groupBy === null ? undefined : part("group"),
  }).pipe(
    Effect.map((board) => ({ board })),
    Effect.catch((error) => Effect.succeed({ error })),
  )
  const error = "error" in found ? found.error : undefined
  const groups = error === undefined ? yield* groupNames(visit, definition, asked, at) : []
  const standing =
    around === undefined || "error" in found || !mayChange(visit)
      ? undefined
      : yield* definition.entrants === "teams"
          ? teamStandingOf(visit, definition, around)
          : standingOf(visit, definition, around)
  const path = `${base}/leaderboard`
  return show(
    {
      text: isXp(definition) ? "Xp leaderboard" : definition.name,
      action: html`<a class="button" href="${base}/leaderboards/${definition.id}">Definition</a>`,
    },
    html`${noticeOf(visit)}
${kindLinks(path, definition, asked, part("group"))}
${error !== undefined && faultsOf(error)}
${choice(path, query, { asked, groups }, definition, error)}
${"board" in found && boardView(visit, found.board, timezone)}
${standing && disqualifyButton(visit, definition, standing)}`,
    error,
  )
})

/** The names of the first groups, which the field of the group suggests. */
const groupNames = (
  { ask }: PlaceVisit,
  { groupBy, id }: Definition,
  window: string,
  at: string | undefined,
): Effect.Effect<ReadonlyArray<string>, LaurelError> => {
  if (groupBy === null) return Effect.succeed([])
  const query = { window, at, limit: String(limits.pageMax) }
  return Effect.map(ask("leaderboards.groups", { params: { id }, query }), ({ groups }) =>
    groups.map(({ group }) => group),
  )
}

const isXp = ({ key }: Definition): boolean => key === "xp"

/** A page of a board; of the board `xp` with levels. */
const boardOf = (
  visit: PlaceVisit,
  definition: Definition,
  query: Readonly<Record<string, string | undefined>>,
): Effect.Effect<Board, LaurelError> =>
  Effect.gen(function* () {
    const page = yield* entriesOf(visit, definition, query)
    if (!isXp(definition)) return { ...page, definition }
    const leveled = yield* visit.ask("leaderboard.get", { query })
    const levels = new Map(leveled.entries.map(({ level, userId }) => [userId, level]))
    // A user may have come to the page between the two reads.
    const entries = page.entries.map((entry) => ({
      ...entry,
      level: levels.get(entry.userId) ?? 1,
    }))
    return { ...page, entries, definition }
  })

type Standing = Pick<BodyOf<"leaderboards.lookup">["users"][number], "disqualified" | "userId">

/** The user's standing on the board of all its windows; `undefined`: the user never scored there. */
const standingOf = (
  { ask }: PlaceVisit,
  { id }: Definition,
  userId: string,
): Effect.Effect<Standing | undefined, LaurelError> =>
  Effect.map(
    ask("leaderboards.lookup", { params: { id }, payload: { users: [userId] } }),
    ({ users }) => users.find(({ disqualified, entry }) => disqualified || entry !== null),
  )

/** The standing of a team, with the team's id as user id; `undefined`: no such team can be listed. */
const teamStandingOf = (
  { ask }: PlaceVisit,
  { key, teamKind }: Definition,
  teamId: string,
): Effect.Effect<Standing | undefined, LaurelError> =>
  ask("teams.get", { params: { id: teamId } }).pipe(
    Effect.map(({ disqualifiedOn = [], kind }) =>
      kind === teamKind
        ? { userId: teamId, disqualified: disqualifiedOn.includes(key) }
        : undefined,
    ),
    Effect.catch((error) =>
      error.code === "team_not_found" ? Effect.undefined : Effect.fail(error),
    ),
  )

const disqualifyButton = (
  { base }: PlaceVisit,
  { entrants, key, name }: Definition,
  { disqualified, userId }: Standing,
): Html => {
  const action = `${base}/leaderboard/${encodeURIComponent(userId)}/${disqualified ? "list" : "disqualify"}`
  const fields = html`<input type="hidden" name="board" value="${key}">`
  const id = "disqualify"
  const entrant = entrants === "teams" ? "team" : "user"
  return disqualified
    ? confirmButton({
        id,
        button: "List again",
        title: `List ${titled(userId)} again on ${titled(name)}?`,
        detail: `The ${entrant} has all scores again in the open windows. Past windows stay as they are.`,
        action,
        fields,
        danger: false,
      })
    : confirmButton({
        id,
        button: "Disqualify",
        title: `Disqualify ${titled(userId)} on ${titled(name)}?`,
        detail: `The ${entrant} leaves the leaderboard, past windows for good, and those behind move up. Scores still count.`,
        action,
        fields,
      })
}

const disqualify =
  (disqualified: boolean) =>
  (visit: PlaceVisit): Effect.Effect<Reply, LaurelError> =>
    Effect.gen(function* () {
      const { ask, base, form, params } = visit
      const id = form.text("board")
      const entrant = percentDecode(params.user!) ?? params.user!
      const payload = { disqualified }
      const { entrants, key } = yield* ask("leaderboards.get", { params: { id } })
      yield* entrants === "teams"
        ? ask("leaderboards.disqualifyTeam", { params: { id, teamId: entrant }, payload })
        : ask("leaderboards.disqualify", { params: { id, userId: entrant }, payload })
      const query = { board: key, around: entrant }
      return redirectWithNotice(
        visit,
        withQuery(`${base}/leaderboard`, new URLSearchParams(), query),
        disqualified ? "Disqualified." : "Listed again.",
      )
    })

export const leaderboardRoutes: ReadonlyArray<Route> = [
  placePage("/leaderboard", leaderboardPage),
  placeForm("/leaderboard/:user/disqualify", "leaderboard.disqualify", disqualify(true)),
  placeForm("/leaderboard/:user/list", "leaderboard.list", disqualify(false)),
]

const kindLinks = (
  path: string,
  definition: Definition,
  asked: string,
  group: string | undefined,
): Html => {
  const key = isXp(definition) ? "" : `&board=${encodeURIComponent(definition.key)}`
  const board = group === undefined ? key : `${key}&group=${encodeURIComponent(group)}`
  return tabs<string>(
    "Windows",
    kindLabels
      .filter(([kind]) => hasWindow(definition, kind))
      .map(([kind, label]) => [kind, label, `${path}?window=${kind}${board}`]),
    asked,
  )
}

/** Faults of the address that no field shows. */
const faultsOf = (error: LaurelError): ReadonlyArray<Html> =>
  error.errors === undefined
    ? [alert(error.detail)]
    : otherFaults(queryFaults(error.errors), ["at", "around", "group"]).map(alert)

const choice = (
  path: string,
  query: URLSearchParams,
  { asked, groups }: { readonly asked: string; readonly groups: ReadonlyArray<string> },
  { entrants, groupBy }: Definition,
  error: LaurelError | undefined,
): Html => {
  const faults = error?.errors && queryFaults(error.errors)
  return html`<form method="get" action="${path}" class="row">
<input type="hidden" name="window" value="${asked}">
${query.has("board") && html`<input type="hidden" name="board" value="${query.get("board") ?? ""}">`}
${
  asked !== "all_time" &&
  textField({
    name: "at",
    label: "Day in the window",
    type: "date",
    value: query.get("at") ?? "",
    faults,
  })
}
${textField({
  name: "around",
  label: entrants === "teams" ? "Around the team with the id" : "Around the user with the id",
  value: query.get("around") ?? "",
  faults,
})}
${
  groupBy !== null &&
  textField({
    name: "group",
    label: `Group by ${titled(groupBy)}`,
    value: query.get("group") ?? "",
    list: "groups",
    faults,
  })
}
${groups.length > 0 && html`<datalist id="groups">${groups.map((group) => html`<option value="${group}">`)}</datalist>`}
<div class="field"><button>Show</button></div></form>`
}

const boardView = (visit: PlaceVisit, board: Board, timezone: string): Html => {
  const { base, request } = visit
  const { definition, entries, me, total, window } = board
  const ofXp = isXp(definition)
  const past = window.kind !== "all_time"
  const around = request.query.get("around") ?? ""
  const path = `${base}/leaderboard`
  const hasPrizes = entries.some(({ prizes }) => prizes.length > 0)
  const hasGroups = definition.groupBy !== null
  const rows = entries.map((entry) => {
    const { displayName, level, previousRank, prizes, rank, score, userId } = entry
    const user = entrantLink(base, definition, userId, displayName)
    return [
      count(rank),
      userId === around ? html`<strong>${user}</strong>` : user,
      scoreText(score),
      ...(hasGroups ? groupCells(path, request.query, entry) : []),
      ...(level === undefined ? [] : [count(level)]),
      ...(past ? [countOrDash(previousRank)] : []),
      ...(hasPrizes ? [prizes.map((prize) => html`${rewardWords(prize, undefined)}<br>`)] : []),
    ]
  })
  const heads = [
    "Rank",
    entrantHead(definition),
    ...(ofXp ? ["Xp", "Level"] : [rankedKey(definition)]),
    ...(hasGroups ? ["Group", "Rank in the group"] : []),
    ...(past ? ["Rank in previous window"] : []),
    ...(hasPrizes ? ["Won"] : []),
  ]
  return html`${past && windowLine(visit, board, timezone)}
${board.closed && html`<p>Closed: the ranks are final.${board.paying && " Its prizes are being paid."}</p>`}
${board.filling && html`<p class="hint">The leaderboard is being filled. Load the page again soon.</p>`}
${me === null && html`<p>${isolated(around)} is not listed here.</p>`}
${rows.length === 0 ? emptyBoard(visit, board) : table("Leaderboard", heads, rows)}
${pager(path, withoutAround(request.query), board)}
${total > 0 && definition.entrants === "users" && html`<p class="hint">Users with equal ${ofXp ? "xp" : "scores"} share a rank. Users who are hidden, disqualified or without ${ofXp ? "xp" : "a score"} are not listed.</p>`}`
}

/** The group of an entry, with a link to it, and the rank there. */
const groupCells = (
  path: string,
  query: URLSearchParams,
  { group, groupRank }: Entry,
): ReadonlyArray<Html | string> => {
  if (group === undefined || group === null) return ["–", "–"]
  const address = withQuery(path, withoutAround(query), { group, offset: undefined })
  return [html`<a href="${address}">${isolated(group)}</a>`, countOrDash(groupRank)]
}

const withoutAround = (query: URLSearchParams): URLSearchParams => {
  const rest = new URLSearchParams(query)
  rest.delete("around")
  return rest
}

const emptyBoard = ({ base, time }: PlaceVisit, { definition, total, window }: Board): Html => {
  if (total > 0) return html`<p>The leaderboard ends before this page.</p>`
  if (!isXp(definition)) return html`<p>Nobody has a score here yet.</p>`
  return window.endsAt !== null && Date.parse(window.endsAt) <= time()
    ? html`<p>Nobody earned xp in this window.</p>`
    : html`<p>The leaderboard ranks users by xp. Nobody has earned xp here yet: <a href="${base}/rules">create a rule</a> that gives xp for an event.</p>`
}

const windowsKept: Readonly<Record<TimedWindow, number>> = {
  daily: limits.boardDailyWindowsKept,
  weekly: limits.boardWeeklyWindowsKept,
  monthly: limits.boardMonthlyWindowsKept,
  days: limits.boardDaysWindowsKept,
}

/** The days of a window, with links to the previous and next windows that can be read. */
const windowLine = (
  { base, request, time }: PlaceVisit,
  { definition, window }: Board,
  timezone: string,
): Html => {
  const kind = timedWindows.find((one) => one === window.kind)!
  const span = spanOf(definition, kind)!
  const zone = zoneOf(timezone)
  // The time zone of the project at that time sets the bounds of a closed window.
  const middle = (Date.parse(window.startsAt!) + Date.parse(window.endsAt!)) / 2
  const index = zone.windowAt(span, middle)
  const ends = definition.endsAt === null ? Number.POSITIVE_INFINITY : Date.parse(definition.endsAt)
  const open = zone.windowAt(span, Math.min(time(), ends - 1))
  const first = firstDayOf(span, index)
  const last = firstDayOf(span, index + 1) - 1
  const addressOf = (other: number): string =>
    withQuery(`${base}/leaderboard`, withoutAround(request.query), {
      at: other >= open ? undefined : dateOf(firstDayOf(span, other)),
      offset: undefined,
    })
  return html`<nav class="pager row" aria-label="Previous and next window">
${index > open - (definition.keepWindows ?? windowsKept[kind]) && html`<a rel="prev" href="${addressOf(index - 1)}">Previous window</a>`}
<span>${datesLabel(dateOf(first), dateOf(last))}, ${timezone}</span>
${index < open && html`<a rel="next" href="${addressOf(index + 1)}">Next window</a>`}</nav>`
}
