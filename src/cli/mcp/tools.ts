/**
 * The tools that `laurel mcp` offers to agents. Each is one operation of the API: its reply is the
 * operation's, and so are its checks. A tool that `writes` is offered only with `--allow-writes`.
 */
import type { JsonSchemaType } from "@modelcontextprotocol/server"
import { boardWindows } from "../../domain/project/BoardDefinition.ts"
import { mechanicNouns } from "../../domain/user/MechanicTally.ts"
import { retentionDays } from "../../http/api/Experiments.ts"
import { limits } from "../../Limits.ts"

/** Sends a request to the API. Rejects with the problem of a refusal. */
export type Ask = (
  method: "GET" | "POST",
  path: string,
  body?: unknown,
  ifMatch?: number,
) => Promise<unknown>

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: JsonSchemaType
  readonly writes: boolean
  readonly run: (ask: Ask, input: Input) => Promise<unknown>
}

type Input = Readonly<Record<string, unknown>>

const object = (
  properties: Readonly<Record<string, object>>,
  required: ReadonlyArray<string> = [],
): JsonSchemaType =>
  ({ type: "object", properties, required, additionalProperties: false }) as JsonSchemaType

const text = (description: string) => ({ type: "string", description })
const user = text("Your id of the user")
const limit = {
  type: "integer",
  minimum: 1,
  maximum: limits.pageMax,
  description: "Maximum number of items",
}
const days = {
  type: "integer",
  minimum: 1,
  maximum: limits.mechanicDaysMax,
  description: `How many days; absent: ${limits.mechanicDaysDefault}`,
}
const cursor = text("The `nextCursor` of the page before; absent: the first page")
const anyObject = (description: string) => ({ type: "object", description })
const file = anyObject(
  "A file of definitions, of the form that `read_definitions` returns; it may have some kinds only",
)
const removes = {
  type: "boolean",
  description: "Archive definitions that the file does not name, of the kinds that it has",
}

const userFilters = {
  query: text("A part of the id or the display name"),
  badge: text("The key or id of a badge that the user has"),
  segment: text("The key or id of a segment that the user is in"),
  attribute: text("An attribute and its value with a colon in between, such as `plan:pro`"),
  levelMin: { type: "integer", minimum: 1, description: "The lowest level" },
  levelMax: { type: "integer", minimum: 1, description: "The highest level" },
  activeSince: text("Only users with an event since this time, such as 2026-10-01T00:00:00Z"),
  sort: { enum: ["id", "xp", "lastEventAt", "createdAt"], description: "The order; absent: id" },
  order: { enum: ["asc", "desc"], description: "Absent: the largest or latest first" },
  limit,
  cursor,
}

/** The path with the given members of the input as its query. */
const withQuery = (path: string, input: Input, names: ReadonlyArray<string>): string => {
  const given = names.filter((name) => input[name] !== undefined)
  const query = new URLSearchParams(given.map((name) => [name, String(input[name])]))
  return query.size === 0 ? path : `${path}?${query}`
}

/** A part of a path. URLs drop `.`, `..` and an empty part, so such an id would name something else. */
const segment = (id: unknown): string => {
  const text = String(id)
  if (/^\.{0,2}$/.test(text)) throw new Error(`There is nothing with the id "${text}".`)
  return encodeURIComponent(text)
}

const userPath = ({ userId }: Input, rest = ""): string => `/v1/users/${segment(userId)}${rest}`

/** The optional parts of `read_user`, each with its path below that of the user. */
const userParts = {
  streaks: "/streaks",
  metrics: "/metrics",
  segments: "/segments",
  leagues: "/leagues",
  goals: "/goals",
  items: "/items",
  purchases: "/purchases",
} as const

const fileBody = ({ definitions, delete: removes = false }: Input) => ({
  definitions,
  delete: removes,
})

const readLeaderboard = async (ask: Ask, input: Input): Promise<unknown> => {
  const names = ["window", "at", "around", "group", "limit", "offset"]
  if (input.leaderboard === undefined) return ask("GET", withQuery("/v1/leaderboard", input, names))
  const path = `/v1/leaderboards/${segment(input.leaderboard)}`
  const { entrants } = (await ask("GET", path)) as { readonly entrants: "users" | "teams" }
  const entries = entrants === "teams" ? "teams" : "entries"
  return ask("GET", withQuery(`${path}/${entries}`, input, names))
}

const reads: ReadonlyArray<Omit<Tool, "writes">> = [
  {
    name: "read_user",
    title: "Read a user",
    description:
      "Balances, level, progress, badges and quests of a user; with `parts` also streaks, metrics, segments, leagues, goals, items and purchases.",
    input: object(
      {
        userId: user,
        parts: {
          type: "array",
          items: { enum: Object.keys(userParts) },
          description: "What else to read",
        },
      },
      ["userId"],
    ),
    run: async (ask, input) => {
      const parts = [...new Set((input.parts ?? []) as ReadonlyArray<keyof typeof userParts>)]
      const read = [
        ["user", ""],
        ["progress", "/progress"],
        ...parts.map((part) => [part, userParts[part]] as const),
      ] as const
      const found = read.map(
        async ([name, path]) => [name, await ask("GET", userPath(input, path))] as const,
      )
      return Object.fromEntries(await Promise.all(found))
    },
  },
  {
    name: "list_users",
    title: "List users",
    description:
      "Users, a page at a time, in an order and with filters. All filters must hold. A page may be empty before the last one: `hasMore` says whether others follow.",
    input: object(userFilters),
    run: (ask, input) => ask("GET", withQuery("/v1/users", input, Object.keys(userFilters))),
  },
  {
    name: "read_history",
    title: "Read a user's history",
    description:
      "What happened to a user and why, newest first: each fact has the event, reward, spend or undo that caused it.",
    input: object({ userId: user, kind: text("Facts of this kind only"), limit, cursor }, [
      "userId",
    ]),
    run: (ask, input) =>
      ask("GET", withQuery(userPath(input, "/history"), input, ["kind", "limit", "cursor"])),
  },
  {
    name: "read_metrics",
    title: "Read a user's metrics",
    description: "A user's metrics: in total, and for the day, the week and the month.",
    input: object({ userId: user }, ["userId"]),
    run: (ask, input) => ask("GET", userPath(input, "/metrics")),
  },
  {
    name: "read_leaderboard",
    title: "Read a leaderboard",
    description:
      "A page of a leaderboard, or the page around a user or a team. `read_definitions` has the keys of leaderboards.",
    input: object({
      leaderboard: text("The key or id of a leaderboard; absent: the one of all xp"),
      window: {
        enum: boardWindows,
        description: "Absent: its first window. `days`: the window of a fixed number of days",
      },
      at: text("A time in the window to read; absent: now"),
      around: text("Your id of the user, or of the team, in the middle of the page"),
      group: text("Of a leaderboard with groups: this group alone"),
      limit,
      offset: { type: "integer", minimum: 0, description: "How many entries to leave out" },
    }),
    run: readLeaderboard,
  },
  {
    name: "read_league",
    title: "Read a league",
    description:
      "The cohorts of a league in its present period, by division; with `cohort` the entries of one. `read_user` with the part `leagues` has those of a user.",
    input: object(
      {
        league: text("The key or id of the league"),
        division: text("The key of a division: its cohorts alone"),
        cohort: text("The id of a cohort: its entries"),
        limit,
        cursor,
      },
      ["league"],
    ),
    run: (ask, input) => {
      const path = `/v1/leagues/${segment(input.league)}/cohorts`
      return input.cohort === undefined
        ? ask("GET", withQuery(path, input, ["division", "limit", "cursor"]))
        : ask("GET", `${path}/${segment(input.cohort)}`)
    },
  },
  {
    name: "read_goal",
    title: "Read a shared goal",
    description: "What all users have reached of a goal, and who contributed most.",
    input: object({ goal: text("The key or id of the goal"), limit }, ["goal"]),
    run: async (ask, input) => {
      const path = `/v1/goals/${segment(input.goal)}`
      const [goal, contributors] = await Promise.all([
        ask("GET", path),
        ask("GET", withQuery(`${path}/contributors`, input, ["limit"])),
      ])
      return { goal, contributors }
    },
  },
  {
    name: "list_leaderboard_groups",
    title: "List the groups of a leaderboard",
    description:
      "The groups of a leaderboard with `groupBy`: how many users of each it lists, and the first of them.",
    input: object(
      {
        leaderboard: text("The key or id of the leaderboard"),
        window: { enum: boardWindows, description: "Absent: its first window" },
        at: text("A time in the window to read; absent: now"),
        limit,
        cursor,
      },
      ["leaderboard"],
    ),
    run: (ask, input) => {
      const path = `/v1/leaderboards/${segment(input.leaderboard)}/groups`
      return ask("GET", withQuery(path, input, ["window", "at", "limit", "cursor"]))
    },
  },
  {
    name: "list_actions",
    title: "List actions",
    description:
      "Every action that events have had, with its number of events, the time of the latest, and the paths of metadata that the latest events carried, with the kinds of their values. Finds misspelt actions and paths.",
    input: object({ limit, cursor }),
    run: (ask, input) => ask("GET", withQuery("/v1/actions", input, ["limit", "cursor"])),
  },
  {
    name: "read_activity",
    title: "Read active users",
    description:
      "Daily, weekly and monthly active users, new and returning ones, events, xp, badges and quests, by day.",
    input: object({ from: text("First day, such as 2026-10-03"), to: text("Last day") }),
    run: (ask, input) => ask("GET", withQuery("/v1/analytics/activity", input, ["from", "to"])),
  },
  {
    name: "read_retention",
    title: "Read retention",
    description:
      "How many users came back 1, 7, 14, 30, 60 and 90 days after their first active day, by cohorts of days, weeks or months, and all together.",
    input: object({
      from: text("A day of the first cohort, such as 2026-08-10"),
      to: text("A day of the last cohort"),
      by: { enum: ["day", "week", "month"], description: "The periods of cohorts; absent: day" },
      segment: text("The key or id of a segment: only users who are in it now; absent: all users"),
      experiment: text(
        "The key or id of an experiment: only users who entered it with `variant`, from the day on which they entered",
      ),
      variant: text("The key of a variant of the experiment"),
    }),
    run: (ask, input) => {
      const names = ["from", "to", "by", "segment", "experiment", "variant"]
      return ask("GET", withQuery("/v1/analytics/retention", input, names))
    },
  },
  {
    name: "read_series",
    title: "Read a metric over time",
    description:
      "A metric of all users, or of one user, by day, week or month. That of all users is computed in the background: while `counting` is true, read again.",
    input: object(
      {
        metric: text("The key or id of the metric"),
        userId: text("Your id of a user; absent: all users"),
        from: text("First day, such as 2026-10-03"),
        to: text("Last day"),
        by: { enum: ["day", "week", "month"] },
      },
      ["metric"],
    ),
    run: (ask, input) => {
      const rest = `/metrics/${segment(input.metric)}/series`
      const path = input.userId === undefined ? `/v1${rest}` : userPath(input, rest)
      return ask("GET", withQuery(path, input, ["from", "to", "by"]))
    },
  },
  {
    name: "list_experiments",
    title: "List experiments",
    description:
      "Experiments that are not archived, each with its last result in short: the difference of each variant to the control, its interval of 95 %, and whether there are enough users.",
    input: object({ limit, cursor }),
    run: (ask, input) => ask("GET", withQuery("/v1/experiments", input, ["limit", "cursor"])),
  },
  {
    name: "read_experiment",
    title: "Read the results of an experiment",
    description:
      "Users in each variant, and a metric or retention beside the control, with intervals of 95 %. They are computed in the background: while `counting` is true, read again.",
    input: object(
      {
        experiment: text("The key or id of the experiment"),
        metric: text("The key of a metric to compare; absent: that of the experiment"),
        atLeast: {
          type: "integer",
          minimum: 1,
          description: "Compare how many users have at least so much of the metric",
        },
        retention: {
          enum: [...retentionDays.keys()],
          description: "Compare who came back after so many days, in place of a metric",
        },
      },
      ["experiment"],
    ),
    run: (ask, input) =>
      ask(
        "GET",
        withQuery(`/v1/experiments/${segment(input.experiment)}/results`, input, [
          "metric",
          "atLeast",
          "retention",
        ]),
      ),
  },
  {
    name: "read_recap",
    title: "Read a recap",
    description:
      "What all users, or one user, did in a range of days, such as a year: active days, sums, best day, longest streaks.",
    input: object({
      userId: text("Your id of a user; absent: all users"),
      from: text("First day, such as 2026-01-01"),
      to: text("Last day"),
    }),
    run: (ask, input) => {
      const path = input.userId === undefined ? "/v1/recap" : userPath(input, "/recap")
      return ask("GET", withQuery(path, input, ["from", "to"]))
    },
  },
  {
    name: "read_reminders",
    title: "Read who came back after reminders",
    description:
      "How many reminders of each kind were sent by day, and after how many of them the user had an event within 24 hours. It shows no cause.",
    input: object({ from: text("First day, such as 2026-10-03"), to: text("Last day") }),
    run: (ask, input) => ask("GET", withQuery("/v1/analytics/reminders", input, ["from", "to"])),
  },
  {
    name: "list_mechanics",
    title: "List what each mechanic does",
    description:
      "For each rule, quest, badge, streak, leaderboard, league, boost, item and goal: users reached, their share, rarity, and completions a day.",
    input: object({
      kind: { enum: mechanicNouns, description: "Only this kind; absent: all" },
      days,
      sort: { enum: ["users", "completions", "xp", "name"] },
      limit: {
        type: "integer",
        minimum: 1,
        maximum: limits.mechanicRowsMax,
        description: `Absent: ${limits.mechanicRowsDefault}`,
      },
    }),
    run: (ask, input) =>
      ask("GET", withQuery("/v1/analytics/mechanics", input, ["kind", "days", "sort", "limit"])),
  },
  {
    name: "read_mechanic",
    title: "Read what a mechanic does",
    description:
      "One mechanic: where people stop in a quest, users by tier, milestone or division, time to completion, completions by day, and retention of those who reached it in their first week beside the others.",
    input: object(
      {
        kind: { enum: mechanicNouns },
        key: text("The id or key of the definition"),
        days,
      },
      ["kind", "key"],
    ),
    run: (ask, input) =>
      ask(
        "GET",
        withQuery(`/v1/analytics/mechanics/${segment(input.kind)}/${segment(input.key)}`, input, [
          "days",
        ]),
      ),
  },
  {
    name: "read_definitions",
    title: "Read the definitions",
    description:
      "Settings, currencies, metrics, segments, streaks, badges, quests, rules, boosts, leaderboards, leagues, experiments, items, goals and sources as one file.",
    input: object({}),
    run: (ask) => ask("GET", "/v1/definitions"),
  },
  {
    name: "simulate_event",
    title: "Simulate an event",
    description:
      "What an event would give a user, by the present definitions. Changes nothing. The resource `events.md` describes the event.",
    input: object({ event: anyObject("The body of POST /v1/project/simulate") }, ["event"]),
    run: (ask, { event }) => ask("POST", "/v1/project/simulate", event),
  },
  {
    name: "propose_definitions",
    title: "Propose definitions",
    description:
      "The changes that applying a file of definitions would make, as a list, and every fault of the file. Changes nothing. Show the changes to a person before you apply them.",
    input: object({ definitions: file, delete: removes }, ["definitions"]),
    run: (ask, input) => ask("POST", "/v1/definitions/diff", fileBody(input)),
  },
]

const applies: Omit<Tool, "writes"> = {
  name: "apply_definitions",
  title: "Apply definitions",
  description:
    "Makes the definitions those of the file: all at once, or nothing. `version` is that of the proposal; if somebody else has changed a definition since, nothing changes.",
  input: object(
    {
      definitions: file,
      delete: removes,
      version: { type: "integer", description: "`version` of the proposal that was agreed to" },
    },
    ["definitions", "version"],
  ),
  run: (ask, input) => ask("POST", "/v1/definitions/apply", fileBody(input), Number(input.version)),
}

export const tools: ReadonlyArray<Tool> = [
  ...reads.map((tool) => ({ ...tool, writes: false })),
  { ...applies, writes: true },
]
