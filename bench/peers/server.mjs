/**
 * A common alternative to Laurel: a Fastify server over PostgreSQL or Redis that takes the same
 * requests. Each event is applied once by its id, adds xp, moves the boards of the day, the week
 * and all time, leaves a row of history, and has a reply with the members of Laurel's. Messages to
 * the process ask for the sum of all xp (`total`), for one event of each of many new users by the
 * store's best way (`load`), and for everything in its lasting form (`settle`).
 */
import { randomUUIDv7 } from "node:crypto"
import fastify from "fastify"
import { openPostgres } from "./postgres.mjs"
import { openRedis } from "./redis.mjs"

/**
 * `{ store: "postgres" | "redis", socket, driver, connections, key, again }`; again: the store has
 * its data already.
 */
const options = JSON.parse(process.argv[2])
const store = await (options.store === "postgres" ? openPostgres : openRedis)(options)

const lessonXp = 10
const integer = { type: "integer" }
const text = { type: "string" }
const object = (properties) => ({ type: "object", properties })
const list = { type: "array", items: text }
const event = {
  type: "object",
  required: ["id", "userId", "action"],
  properties: {
    id: { type: "string", maxLength: 128 },
    userId: { type: "string", minLength: 1, maxLength: 128 },
    action: { type: "string", minLength: 1, maxLength: 128 },
    metadata: { type: "object" },
  },
}
const outcomeMembers = {
  eventId: text,
  userId: text,
  action: text,
  duplicate: { type: "boolean" },
  occurredAt: text,
  receivedAt: text,
  xp: object({ earned: integer, total: integer }),
  points: object({ earned: integer, total: integer }),
  level: object({ before: integer, after: integer }),
  badges: list,
  quests: list,
  streaks: list,
}
const outcome = object(outcomeMembers)

/** The day, and the Monday of its week. */
const boardsAt = (now) => {
  const day = now.toISOString().slice(0, 10)
  const monday = new Date(now.getTime() - ((now.getUTCDay() + 6) % 7) * 86_400_000)
  return { day: `day:${day}`, week: `week:${monday.toISOString().slice(0, 10)}` }
}

const commandOf = (event, now, boards) => ({
  id: event.id,
  userId: event.userId,
  action: event.action,
  metadata: event.metadata ?? {},
  at: now,
  xp: lessonXp,
  ...boards,
})

const outcomeOf = ({ action, id, userId }, at, { after, before, duplicate, total }) => ({
  eventId: id,
  userId,
  action,
  duplicate,
  occurredAt: at,
  receivedAt: at,
  xp: { earned: lessonXp, total },
  points: { earned: 0, total: 0 },
  level: { before, after },
  badges: [],
  quests: [],
  streaks: [],
})

const app = fastify({ bodyLimit: 8 * 1_024 * 1_024 })
const authorization = `Bearer ${options.key}`
app.addHook("onRequest", (request, reply, done) => {
  if (request.headers.authorization === authorization) done()
  else reply.code(401).send()
})
app.post(
  "/v1/events",
  { schema: { body: event, response: { 200: outcome } } },
  async ({ body }) => {
    const now = new Date()
    const applied = await store.track(commandOf(body, now, boardsAt(now)))
    return outcomeOf(body, now.toISOString(), applied)
  },
)
const events = {
  type: "object",
  required: ["events"],
  properties: { events: { type: "array", items: event, maxItems: 1_000 } },
}
const batchReply = object({
  accepted: integer,
  duplicates: integer,
  rejected: integer,
  results: { type: "array", items: object({ ok: { type: "boolean" }, ...outcomeMembers }) },
})
app.post(
  "/v1/events/batch",
  { schema: { body: events, response: { 200: batchReply } } },
  async ({ body }) => {
    const now = new Date()
    const boards = boardsAt(now)
    const all = await store.trackAll(body.events.map((each) => commandOf(each, now, boards)))
    const at = now.toISOString()
    const results = all.map((applied, index) => ({
      ok: true,
      ...outcomeOf(body.events[index], at, applied),
    }))
    const duplicates = all.filter(({ duplicate }) => duplicate).length
    return { accepted: all.length - duplicates, duplicates, rejected: 0, results }
  },
)
const user = object({ userId: text, xp: integer, level: integer })
app.get("/v1/users/:id", { schema: { response: { 200: user } } }, async (request, reply) => {
  const found = await store.user(request.params.id)
  return found ?? reply.code(404).send()
})
const page = object({
  entries: {
    type: "array",
    items: object({ rank: integer, userId: text, xp: integer, level: integer }),
  },
})
app.get("/v1/leaderboard", { schema: { response: { 200: page } } }, async ({ query }) => ({
  entries: await store.page(Number(query.offset ?? 0), Number(query.limit ?? 100)),
}))

await app.listen({ port: 0, host: "127.0.0.1" })
const courses = ["algebra-1", "spanish-a2", "music-theory", "world-history", "typescript-basics"]
const devices = ["iphone-15", "pixel-8", "web-chrome", "web-safari", "ipad-air"]
const any = (below) => Math.floor(Math.random() * below)

/** As `events.ts` makes them. */
function* newUsers(users, now) {
  const boards = boardsAt(now)
  for (let n = 0; n < users; n++) {
    const userId = `user_${(Math.imul(n, 1_103_515_245) >>> 0).toString(16).padStart(8, "0")}`
    const metadata = {
      lessonId: `lesson-${any(2_000)}`,
      course: courses[any(courses.length)],
      score: any(101),
      durationSeconds: 30 + any(1_800),
      device: devices[any(devices.length)],
      appVersion: `4.${any(20)}.${any(10)}`,
    }
    yield commandOf({ id: randomUUIDv7(), userId, action: "LESSON_DONE", metadata }, now, boards)
  }
}

const verbs = {
  total: () => store.totalXp(),
  load: ({ users }) => {
    const now = new Date()
    return store.load(() => newUsers(users, now))
  },
  settle: () => store.settle(),
}
process.on("message", async (message) => {
  process.send((await verbs[message.verb](message)) ?? null)
})
process.on("SIGTERM", () => process.exit(0))
process.send({ port: app.server.address().port, key: options.key })
