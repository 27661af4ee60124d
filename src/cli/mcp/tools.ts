/**
 * The tools that `laurel mcp` offers to agents. Each is one operation of the API: its reply is the
 * operation's, and so are its checks. A tool that `writes` is offered only with `--allow-writes`.
 */
import type { JsonSchemaType } from "@modelcontextprotocol/server"
import { mechanicNouns } from "../../domain/user/MechanicTally.ts"

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
const limit = { type: "integer", minimum: 1, maximum: 100, description: "Maximum number of items" }
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

const userPath = ({ userId }: Input, rest = ""): string =>
  `/v1/users/${encodeURIComponent(String(userId))}${rest}`

const fileBody = ({ definitions, delete: removes = false }: Input) => ({
  definitions,
  delete: removes,
})

const reads: ReadonlyArray<Omit<Tool, "writes">> = [
  {
    name: "read_user",
    title: "Read a user",
    description: "Balances, level, progress, badges, quests and streaks of a user.",
    input: object({ userId: user }, ["userId"]),
    run: async (ask, input) => {
      const [profile, progress] = await Promise.all([
        ask("GET", userPath(input)),
        ask("GET", userPath(input, "/progress")),
      ])
      return { user: profile, progress }
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
    title: "Read the leaderboard",
    description: "A page of the leaderboard, or the page around a user.",
    input: object({
      window: { enum: ["all_time", "daily", "weekly", "monthly"] },
      at: text("A time in the window to read; absent: now"),
      around: text("Your id of the user in the middle of the page"),
      limit,
    }),
    run: (ask, input) =>
      ask("GET", withQuery("/v1/leaderboard", input, ["window", "at", "around", "limit"])),
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
    }),
    run: (ask, input) =>
      ask("GET", withQuery("/v1/analytics/retention", input, ["from", "to", "by"])),
  },
  {
    name: "read_recap",
    title: "Read the recap of all users",
    description:
      "What all users did in a range of days, such as a year: active and new users, sums, best day, longest streaks.",
    input: object({ from: text("First day, such as 2026-01-01"), to: text("Last day") }),
    run: (ask, input) => ask("GET", withQuery("/v1/recap", input, ["from", "to"])),
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
      days: text("How many days, 1 to 90; absent: 30"),
      sort: { enum: ["users", "completions", "xp", "name"] },
      limit: text("The number of rows, 1 to 1000; absent: 100"),
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
        days: text("How many days, 1 to 90; absent: 30"),
      },
      ["kind", "key"],
    ),
    run: (ask, input) =>
      ask(
        "GET",
        withQuery(
          `/v1/analytics/mechanics/${input.kind}/${encodeURIComponent(`${input.key}`)}`,
          input,
          ["days"],
        ),
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
