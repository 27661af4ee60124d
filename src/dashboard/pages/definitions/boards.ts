/** The pages of leaderboards: what they rank users by. `pages/leaderboard.ts` shows their entries. */
import { Effect } from "effect"
import {
  type BoardWindow,
  boardOrders,
  boardTies,
  boardTimeZones,
  boardWindows,
  kindOfWindow,
  namedWindows,
} from "../../../domain/project/BoardDefinition.ts"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { PlaceVisit, Route } from "../../request/Route.ts"
import { type Draft, versionInput } from "../../view/Editing.ts"
import {
  checkField,
  confirmButton,
  type Form,
  group,
  numberField,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, type Html, html, isolated } from "../../view/Html.ts"
import { table } from "../../view/Lists.ts"
import { count, score as scoreText } from "../../view/Quantities.ts"
import { userLink } from "../../view/Users.ts"
import { actionRoute, withoutNulls } from "./editor.ts"
import { kindRoutes } from "./kindPages.ts"
import {
  headFields,
  periodWords,
  sharedDraft,
  sharedNames,
  sharedPatch,
  sharedTexts,
  tailFields,
} from "./lifecycle.ts"
import { prizeFields, prizeNames, prizesOf, prizeTexts } from "./prizes.ts"
import { rankedFields, rankedKey, rankedOf, rankedTexts } from "./ranked.ts"

type Board = BodyOf<"leaderboards.get">

const isXp = ({ key }: Board): boolean => key === "xp"

type Window = Board["windows"][number]

const windowTexts = (window: Window): ReadonlyArray<readonly [string, string]> => [
  [`windows.${kindOfWindow(window)}`, "true"],
  ...(typeof window === "object"
    ? ([
        ["windowDays", String(window.days)],
        ["windowAnchor", window.anchor],
      ] as const)
    : []),
]

/** The windows of a form, unchecked. */
const windowsOf = (form: Form) =>
  boardWindows.flatMap((window): ReadonlyArray<unknown> => {
    if (form.optional(`windows.${window}`) === undefined) return []
    if (window !== "days") return [window]
    return [
      withoutNulls({
        days: form.number("windowDays") ?? null,
        anchor: form.optional("windowAnchor") ?? null,
      }),
    ]
  })

const textsOf = (board: Board) =>
  new Map([
    ["name", board.name],
    ...sharedTexts(board),
    ...rankedTexts(board),
    ["teamKind", board.teamKind ?? ""],
    ...board.windows.flatMap((window) => windowTexts(window)),
    ["timeZone", board.timeZone],
    ["order", board.order],
    ["ties", board.ties],
    ["attributes", board.attributes.join(", ")],
    ["groupBy", board.groupBy ?? ""],
    ...prizeTexts(board.prizes),
    ["keepWindows", String(board.keepWindows ?? "")],
    ["graceMinutes", String(board.graceMinutes)],
    ["announceRanks", String(board.announceRanks ?? "")],
  ])

/** The members that change only while the board is a draft, unchecked. */
const scoringOf = (form: Form) => ({
  score: rankedOf(form),
  entrants: form.optional("teamKind") === undefined ? "users" : "teams",
  teamKind: form.optional("teamKind") ?? null,
  windows: windowsOf(form),
  timeZone: form.text("timeZone"),
  order: form.text("order"),
  groupBy: form.optional("groupBy") ?? null,
  graceMinutes: form.number("graceMinutes") ?? null,
})

const membersOf = (form: Form) => ({
  name: form.text("name"),
  ties: form.text("ties"),
  attributes: form.words("attributes"),
  prizes: prizesOf(form),
  keepWindows: form.number("keepWindows") ?? null,
  announceRanks: form.number("announceRanks") ?? null,
})

const draftOf = (form: Form) => ({
  ...withoutNulls({ ...membersOf(form), ...scoringOf(form) }),
  ...sharedDraft(form),
})

const patchOf = (form: Form, board: Board) => ({
  ...membersOf(form),
  ...scoringOf(form),
  ...sharedPatch(form, board),
})

const windowLabels: Readonly<Record<BoardWindow, string>> = {
  all_time: "All time",
  daily: "Each day",
  weekly: "Each week",
  monthly: "Each month",
  days: "Each span of days",
}

const windowWords = (window: Window): string =>
  typeof window === "object"
    ? `each ${window.days} days, from ${window.anchor}`
    : windowLabels[window].toLowerCase()

const orderLabels = { desc: "highest score first", asc: "lowest score first" } as const

const tieLabels = {
  shared: "share a rank: 1, 1, 3",
  first: "rank by who was first: 1, 2, 3",
} as const

/** Faults of the windows of days stand at their fields. */
const windowFaults = (form: Form, faults: Draft["faults"]): Draft["faults"] => {
  const place = windowsOf(form).findIndex((window) => typeof window === "object")
  const at = `/windows/${place}/`
  const names: Readonly<Record<string, string>> = { days: "/windowDays", anchor: "/windowAnchor" }
  return faults?.map((fault) => {
    const name = fault.pointer.startsWith(at) ? names[fault.pointer.slice(at.length)] : undefined
    return name === undefined ? fault : { ...fault, pointer: name }
  })
}

const windowFields = (draft: Draft): Content => {
  const { faults: all, form } = draft
  const faults = windowFaults(form, all)
  return group({ legend: "Windows", name: "windows", faults }, [
    html`<div class="choices">${boardWindows.map((window) =>
      checkField({
        name: `windows.${window}`,
        label: windowLabels[window],
        checked: form.optional(`windows.${window}`) !== undefined,
        faults,
      }),
    )}</div>`,
    numberField({
      name: "windowDays",
      label: "Days of a span",
      value: form.text("windowDays"),
      hint: `From ${limits.boardWindowDaysMin} to ${limits.boardWindowDaysMax}, such as 14 for sprints.`,
      faults,
    }),
    textField({
      name: "windowAnchor",
      label: "First day of a span",
      type: "date",
      value: form.text("windowAnchor"),
      hint: "Spans follow each other before and after this day.",
      faults,
    }),
    zoneField(draft),
    graceField(draft),
    keepField(draft),
  ])
}

const groupField = ({ faults, form }: Draft): Content =>
  textField({
    name: "groupBy",
    label: "Group by",
    value: form.text("groupBy"),
    hint: html`An attribute of users, such as <code>city</code>: users with the same value have ranks among each other too. Callers with a publishable key see the value.`,
    faults,
  })

const zoneLabels = {
  project: "the project's time zone",
  user: "each user's time zone",
} as const

const zoneField = ({ faults, form }: Draft): Content =>
  selectField({
    name: "timeZone",
    label: "Calendar",
    value: form.text("timeZone"),
    options: boardTimeZones.map((zone) => [zone, zoneLabels[zone]] as const),
    hint: "In each user's time zone, a window closes once it has ended everywhere, and there are no windows of a day.",
    faults,
  })

const graceField = ({ faults, form }: Draft): Content =>
  numberField({
    name: "graceMinutes",
    label: "Grace in minutes",
    value: form.text("graceMinutes"),
    hint: "For so long after its end a window takes late events that occurred in it. Then it closes.",
    faults,
  })

const announceField = ({ faults, form }: Draft): Content =>
  numberField({
    name: "announceRanks",
    label: "Places with messages",
    value: form.text("announceRanks"),
    hint: html`In so many of the first places of an open window, a message <code>leaderboard.rank_changed</code> tells of each change. If empty: no messages.`,
    faults,
  })

const keepField = ({ faults, form }: Draft): Content =>
  numberField({
    name: "keepWindows",
    label: "Past windows to keep",
    value: form.text("keepWindows"),
    hint: "Of each kind. Entries of older ones are deleted. If empty: 31 days, 12 weeks, 12 months and 12 spans of days.",
    faults,
  })

const rankedHint = html`Of a currency without a refill, such as <code>xp</code> or <code>points</code>, of a metric, or of a streak. A streak, or a metric that neither counts nor sums, has only the window of all time.`

const scoreFields = (draft: Draft): Content => {
  const { faults, form } = draft
  return [
    ...rankedFields(draft, ["currency", "metric", "streak"], rankedHint),
    textField({
      name: "teamKind",
      label: "Kind of teams",
      value: form.text("teamKind"),
      hint: html`Ranks the teams of this kind, such as <code>club</code>, by the amounts that their members earn. If empty, it ranks users.`,
      faults,
    }),
    selectField({
      name: "order",
      label: "Order",
      value: form.text("order"),
      options: boardOrders.map((order) => [order, orderLabels[order]] as const),
      faults,
    }),
    selectField({
      name: "ties",
      label: "Equal scores",
      value: form.text("ties"),
      options: boardTies.map((ties) => [ties, tieLabels[ties]] as const),
      faults,
    }),
  ]
}

const fields = (draft: Draft, _: undefined, isNew: boolean): Content => {
  const { faults, form } = draft
  return [
    textField({ name: "name", label: "Name", value: form.text("name"), required: true, faults }),
    headFields(draft, isNew, "name"),
    html`<p class="hint">Whom and what it ranks by, windows, calendar, order, groups, grace, segment and start change only while the leaderboard is a draft.</p>`,
    group({ legend: "What it ranks", name: "ranking" }, scoreFields(draft)),
    windowFields(draft),
    group({ legend: "What is shown and told", name: "shown" }, [
      textField({
        name: "attributes",
        label: "Attributes",
        value: form.text("attributes"),
        hint: html`Further attributes of the users that entries show, such as <code>plan</code>; their pictures, <code>avatarUrl</code>, are there anyway. Callers with a publishable key see them too.`,
        faults,
        below: true,
      }),
      groupField(draft),
      announceField(draft),
    ]),
    prizeFields(draft),
    tailFields(
      draft,
      "Then its windows close for good, with their prizes. It can move until then.",
    ),
  ]
}

const names = (form: Form) => [
  "name",
  ...sharedNames,
  "score",
  "score.*",
  "entrants",
  "teamKind",
  "windows.*",
  "windows",
  "windowDays",
  "windowAnchor",
  "timeZone",
  "order",
  "ties",
  "attributes.*",
  "groupBy",
  ...prizeNames(form),
  "keepWindows",
  "graceMinutes",
  "announceRanks",
]

type Read = BodyOf<"leaderboards.entries">
type Entry = Omit<Read["entries"][number], "attributes">

/** A page of the board; a team stands in the place of a user. */
export const entriesOf = (
  { ask }: PlaceVisit,
  { entrants, id }: Board,
  query: Readonly<Record<string, string | undefined>>,
): Effect.Effect<
  Omit<Read, "entries" | "me"> & {
    readonly entries: ReadonlyArray<Entry>
    readonly me?: Entry | null
  },
  LaurelError
> => {
  const asked = { params: { id }, query }
  if (entrants === "users") return ask("leaderboards.entries", asked)
  return Effect.map(ask("leaderboards.teams", asked), ({ entries, me, ...page }) => ({
    ...page,
    filling: false,
    entries: entries.map(asEntry),
    ...(me !== undefined && { me: me && asEntry(me) }),
  }))
}

const asEntry = ({ team, ...entry }: BodyOf<"leaderboards.teams">["entries"][number]): Entry => ({
  ...entry,
  userId: team.id,
  displayName: team.name,
})

export const entrantHead = ({ entrants }: Board): string => (entrants === "users" ? "User" : "Team")

export const entrantLink = (
  base: string,
  { entrants }: Board,
  id: string,
  name: string | null,
): Html =>
  entrants === "users"
    ? userLink(base, id, name)
    : html`<a href="${base}/teams/${encodeURIComponent(id)}"><bdi>${name}</bdi></a>`

/** The first entries of the first window. */
const topShown = 5

const topOf = (visit: PlaceVisit, board: Board): Effect.Effect<Content, never> =>
  Effect.map(Effect.result(entriesOf(visit, board, { limit: String(topShown) })), (found): Html => {
    const key = encodeURIComponent(board.key)
    const link = html`<p class="after"><a href="${visit.base}/leaderboard?board=${key}">All entries and windows</a></p>`
    if (found._tag === "Failure" || found.success.entries.length === 0) {
      return html`<h2>Entries</h2><p>Nobody has a score here yet.</p>${link}`
    }
    const rows = found.success.entries.map(({ displayName, rank, score, userId }) => [
      count(rank),
      entrantLink(visit.base, board, userId, displayName),
      scoreText(score),
    ])
    const heads = ["Rank", entrantHead(board), rankedKey(board)]
    return html`<h2>Entries</h2>${table("First entries", heads, rows)}${link}`
  })

const forWhom = ({ segment, teamKind }: Board): Content => {
  const all = segment === null ? "everyone" : isolated(segment)
  return teamKind === null ? all : [all, ", by ", isolated(teamKind)]
}

const path = "/leaderboards"

/** Ends a leaderboard that can end. */
const closeButton = (visit: PlaceVisit, board: Board): Content => {
  const { id, name, status, version } = board
  const canEnd = status === "active" || status === "paused"
  if (!canEnd || isXp(board) || "streak" in board.score) return undefined
  const prizes =
    status === "paused"
      ? "It is paused, so it pays no prizes."
      : "Prizes are paid, of all time too."
  return confirmButton({
    id: `close-${id}`,
    button: "Close now",
    confirm: "Close leaderboard",
    keep: "Keep it open",
    title: `Close ${name} in ${visit.place.environment}?`,
    detail: `All its windows close, and its ranks are final. ${prizes} It cannot be opened again.`,
    action: `${visit.base}${path}/${id}/close`,
    fields: versionInput(version),
  })
}

const closeRoute: Route = actionRoute({
  noun: "leaderboard",
  verb: "close",
  path,
  change: (visit, id, ifMatch) => visit.ask("leaderboards.close", { params: { id }, ifMatch }),
  next: ({ base }, id) => `${base}${path}/${encodeURIComponent(id)}`,
})

export const boardRoutes: ReadonlyArray<Route> = [
  closeRoute,
  ...kindRoutes<Board, undefined>({
    noun: "leaderboard",
    nameOf: ({ name }) => name,
    lifecycle: "period",
    isBuiltIn: isXp,
    loss: "Its entries are gone for good, those of past windows too.",
    purpose:
      "A leaderboard ranks users by the amounts of a currency that they earn, or by a metric, over all time and in each day, week or month, or by the length of a streak. It may rank teams by the amounts that their members earn.",
    choices: () => Effect.undefined,
    blank: new Map([
      ["ranks", "currency"],
      ["by", "xp"],
      ["order", "desc"],
      ["ties", "shared"],
      ["graceMinutes", "0"],
      ["timeZone", "project"],
      ...namedWindows.map((window) => [`windows.${window}`, "true"] as const),
    ]),
    textsOf,
    preset: [],
    fields,
    names,
    draftOf,
    patchOf,
    more: (visit, board, allowed) =>
      board.status === "archived"
        ? Effect.undefined
        : Effect.map(topOf(visit, board), (top) => [allowed && closeButton(visit, board), top]),
    heads: ["Ranks by", "Windows", "For", "Period"],
    cellsIn: () =>
      Effect.succeed((board) => [
        `${rankedKey(board)}, ${orderLabels[board.order]}`,
        board.windows.map(windowWords).join("; "),
        forWhom(board),
        periodWords(board),
      ]),
  }),
]
