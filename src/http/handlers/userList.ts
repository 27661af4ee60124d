/** The list of users: a page, users by their ids, or a table of all that match. */
import { Effect, Stream } from "effect"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import { levelStart } from "../../domain/project/Level.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { UserState } from "../../domain/user/User.ts"
import { invalidRequest } from "../../domain/values/Errors.ts"
import type { Engine } from "../../engine/Engine.ts"
import { attributeIn, type UserListQuery } from "../api/UserList.ts"
import type { User } from "../api/UserShapes.ts"
import { csvLine, csvReply } from "./csv.ts"
import { badgeNotFound, foundOr, pageAsked, segmentNotFound, showUser } from "./Shapes.ts"

type Query = typeof UserListQuery.Type

export const usersAsked = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  { format = "json", ids, ...query }: Query,
) {
  if (ids !== undefined) {
    const others = Object.keys(query).concat(format === "csv" ? ["format"] : [])
    return yield* namedUsers(engine, environment, ids, others)
  }
  if (query.sort === undefined || query.sort === "id") {
    if (query.order === "desc") return yield* Effect.fail(idsDescend)
  }
  if (format === "json") return yield* listUsers(engine, environment, query)
  const others = pageNames.filter((name) => query[name] !== undefined)
  if (others.length > 0) return yield* Effect.fail(notBeside(others, "format=csv"))
  return yield* tableOf(engine, environment, query)
})

const pageNames = ["limit", "cursor"] as const

const notBeside = (names: ReadonlyArray<string>, other: string) =>
  invalidRequest(
    names.map((name) => ({
      pointer: `query/${name}`,
      code: "invalid_value",
      detail: `must not be sent together with ${other}`,
    })),
  )

const idsDescend = invalidRequest([
  { pointer: "query/order", code: "invalid_value", detail: "must be asc in the order of ids" },
])

/** What the parameters other than those of the page ask of the engine. */
const conditionsOf = Effect.fnUntraced(function* (project: ProjectState, query: Query) {
  const { activeSince, attribute, badge, levelMax, levelMin, order, segment, sort } = query
  const { levelCurve } = project.settings
  return {
    search: query.query,
    segment:
      segment === undefined
        ? undefined
        : yield* foundOr(definitionOf(project.segments, segment), segmentNotFound),
    badge:
      badge === undefined
        ? undefined
        : (yield* foundOr(definitionOf(project.badges, badge), badgeNotFound)).id,
    attribute: attribute === undefined ? undefined : attributeIn(attribute),
    xpFrom: levelMin === undefined ? undefined : levelStart(levelCurve, levelMin),
    xpBelow: levelMax === undefined ? undefined : levelStart(levelCurve, levelMax + 1),
    activeSince: activeSince === undefined ? undefined : Date.parse(activeSince),
    order: sort === undefined || sort === "id" ? undefined : { sort, ascending: order === "asc" },
  }
})

/** A page of the list. */
const listUsers = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  query: Omit<Query, "format" | "ids">,
) {
  const { cursor: _, limit: __, ...filters } = query
  const { after, end, limit } = yield* pageAsked("users", environment, filters, query)
  const project = yield* engine.readProject(environment)
  const conditions = yield* conditionsOf(project, query)
  const found = yield* engine.listUsers(environment, {
    ...conditions,
    limit,
    after: after?.[0],
    afterKey: after?.[1],
  })
  const now = engine.timeIn(environment)
  const users = found.users.map((user) => showUser(user, project, now))
  const { order: ___, sort: ____, ...conditional } = filters
  // Only a search of all users would tell how many match.
  const isWhole = Object.keys(conditional).length === 0
  const total = isWhole ? { total: found.total } : {}
  const place = found.end
  const last =
    place && (conditions.order ? ([place.id, place.key] as const) : ([place.id] as const))
  return { body: { users, ...total, ...end(last) } }
})

/** The users with these ids, in this order. `others`: the names of the other parameters. */
const namedUsers = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  ids: ReadonlyArray<string>,
  others: ReadonlyArray<string>,
) {
  if (others.length > 0) return yield* Effect.fail(notBeside(others, "ids"))
  const project = yield* engine.readProject(environment)
  const users: Array<typeof User.Type> = []
  const unknown: Array<string> = []
  for (const id of ids) {
    const user = yield* engine.readUser(environment, id)
    if (user === undefined) unknown.push(id)
    else users.push(showUser(user, project, engine.timeIn(environment)))
  }
  return { body: { users, unknown, hasMore: false, nextCursor: null } }
})

/* The table. */

const columns = [
  "id",
  "displayName",
  "level",
  "xp",
  "points",
  "badges",
  "lastEventAt",
  "createdAt",
  "updatedAt",
  "timezone",
  "hidden",
  "attributes",
]

/** A table of all users that match, which is never whole in memory. */
const tableOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  query: Query,
) {
  const project = yield* engine.readProject(environment)
  const conditions = yield* conditionsOf(project, query)
  const now = engine.timeIn(environment)
  const lineOf = (user: UserState) => csvLine(cellsOf(showUser(user, project, now)))
  const lines = Stream.map(engine.allUsers(environment, conditions), (users) =>
    users.map(lineOf).join(""),
  )
  return csvReply("users", Stream.concat(Stream.make(csvLine(columns)), lines))
})

/** The cells of a user: the keys of badges with spaces in between, attributes as JSON. */
const cellsOf = (user: typeof User.Type) => [
  user.id,
  user.displayName,
  user.level,
  user.xp,
  user.points,
  user.badges.map(({ key }) => key).join(" "),
  user.lastEventAt,
  user.createdAt,
  user.updatedAt,
  user.timezone,
  user.hidden,
  JSON.stringify(user.attributes),
]
