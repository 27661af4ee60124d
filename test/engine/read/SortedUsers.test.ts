/** Lists in every order and with every filter, with bounds so small that each list takes several passes. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { UserState } from "../../../src/domain/user/User.ts"
import type { UserListQuery } from "../../../src/engine/read/UserList.ts"
import { badgeWith } from "../../domain/definitions.ts"
import { Random, seeds } from "../../simulation/random.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, type Fixture, reward, sandbox, startInMemory } from "../fixture.ts"

const listBounds = { looksMax: 7, candidatesMax: 5, tableCandidatesMax: 6, chunkUsers: 3 }
const badgeId = "bdg_held"
const snapshotIntervalMs = 1_000

type Asked = Omit<UserListQuery, "after" | "afterKey" | "limit">

/** All pages from the first to the last, each of at most `limit` users. */
const pagesOf = ({ engine }: Fixture, asked: Asked, limit: number) =>
  Effect.gen(function* () {
    const pages: Array<ReadonlyArray<string>> = []
    for (let query: UserListQuery = { ...asked, limit }; ; ) {
      const page = yield* engine.listUsers(sandbox, query)
      pages.push(page.users.map(({ id }) => id))
      expect(page.hasMore).toBe(page.end !== undefined)
      expect(page.users.length).toBeLessThanOrEqual(limit)
      if (page.end === undefined) return pages
      query = { ...query, after: page.end.id, afterKey: page.end.key }
    }
  })

const compareIds = (one: UserState, other: UserState) =>
  Buffer.compare(Buffer.from(one.id), Buffer.from(other.id))

/** The ids that a list must have, from all users in the order of ids. */
const expected = (all: ReadonlyArray<UserState>, asked: Asked): ReadonlyArray<string> => {
  const { activeSince = 0, attribute, badge, order, search, xpBelow, xpFrom = 0 } = asked
  const found = all.filter(
    (user) =>
      user.xp >= xpFrom &&
      (xpBelow === undefined || user.xp < xpBelow) &&
      user.lastEventAt >= activeSince &&
      (attribute === undefined ||
        String(user.profile.attributes[attribute.name]) === attribute.value) &&
      (badge === undefined || user.badges.has(badge)) &&
      (search === undefined ||
        `${user.id} ${user.profile.displayName}`.toLowerCase().includes(search.toLowerCase())),
  )
  found.sort((one, other) => {
    if (order === undefined) return compareIds(one, other)
    const by = one[order.sort] - other[order.sort]
    return (order.ascending ? by : -by) || compareIds(one, other)
  })
  return found.map(({ id }) => id)
}

const randomQuery = (random: Random, all: ReadonlyArray<UserState>): Asked => {
  const perhaps = <A>(make: () => A): A | undefined => (random.chance(0.25) ? make() : undefined)
  const some = all.length > 0 ? random.pick(all) : undefined
  return {
    order: random.chance(0.2)
      ? undefined
      : {
          sort: random.pick(["xp", "lastEventAt", "createdAt"] as const),
          ascending: random.chance(0.5),
        },
    search: perhaps(() => random.pick(["a", "B", "1", "ü", "zz"])),
    attribute: perhaps(() =>
      random.pick([
        { name: "plan", value: "pro" },
        { name: "seats", value: "3" },
        { name: "beta", value: "true" },
        { name: "none", value: "" },
      ]),
    ),
    xpFrom: perhaps(() => random.integer(0, 30)),
    xpBelow: perhaps(() => random.integer(0, 40)),
    badge: perhaps(() => badgeId),
    activeSince: perhaps(() => some?.lastEventAt ?? 1),
  }
}

const attributesOf = (random: Random) => ({
  ...(random.chance(0.5) && { plan: random.pick(["pro", "free"]) }),
  ...(random.chance(0.5) && { seats: random.integer(1, 4) }),
  ...(random.chance(0.5) && { beta: random.chance(0.5) }),
})

const badge = {
  kind: "createBadge",
  badge: badgeWith({
    id: badgeId,
    criteria: { kind: "action_count", action: "TAP", target: 2, where: [] },
  }),
} as const

describe("Lists in an order and with filters", () => {
  for (const seed of seeds(8)) {
    it.effect(`have the users of a naive list, each once; LAUREL_TEST_SEED=${seed}`, () =>
      Effect.gen(function* () {
        const random = new Random(seed)
        const state = new MemoryStorage.MemoryState()
        const options = {
          snapshotIntervalMs,
          snapshotSliceEntriesMax: 5,
          decodedUsersMax: 4,
          listBounds,
        }
        const running = yield* startInMemory({ state }, options)
        const { engine } = running
        yield* engine.askProject(sandbox, badge)
        for (let step = 0; step < 120; step++) {
          const kind = random.next()
          const userId = `${random.pick(["a", "Bo", "ü", "😀", "c"])}${random.integer(0, 9)}`
          if (kind < 0.1) yield* TestClock.adjust(random.integer(1, snapshotIntervalMs))
          else if (kind < 0.3) {
            const all = (yield* engine.listUsers(sandbox, { limit: 1_000 })).users
            const asked = randomQuery(random, all)
            const ids = expected(all, asked)
            const pages = yield* pagesOf(running, asked, random.integer(1, 8))
            expect([asked, pages.flat()]).toEqual([asked, ids])
            const chunks = yield* Stream.runCollect(engine.allUsers(sandbox, asked))
            expect([asked, chunks.flat().map(({ id }) => id)]).toEqual([asked, ids])
          } else if (kind < 0.4) {
            const known = yield* engine.readUser(sandbox, userId)
            if (known !== undefined) {
              yield* engine.askUser(sandbox, { userId, command: { kind: "erasure" } })
            }
          } else if (kind < 0.45) {
            const into = `a${random.integer(0, 9)}`
            yield* Effect.ignore(
              engine.askUser(sandbox, { userId, command: { kind: "merge", into } }),
            )
          } else if (kind < 0.6) {
            const change = {
              displayName: random.pick(["Anna", "bert", null]),
              attributes: attributesOf(random),
            }
            yield* engine.askUser(sandbox, { userId, command: { kind: "profile", change } })
          } else if (kind < 0.8) yield* engine.askUser(sandbox, event(userId, "TAP"))
          else yield* engine.askUser(sandbox, reward(userId, random.integer(1, 10)))
        }
        yield* running.close()
      }),
    )
  }

  for (const order of [undefined, { sort: "createdAt", ascending: true } as const]) {
    it.effect(
      `end a page ${order === undefined ? "by id" : "by creation"} once 7 users were looked at, and go on behind them`,
      () =>
        Effect.gen(function* () {
          const running = yield* startInMemory({}, { snapshotIntervalMs, listBounds })
          for (let n = 0; n < 2 * listBounds.looksMax; n++) {
            yield* running.engine.askUser(sandbox, reward(`user-${String(n).padStart(2, "0")}`, 5))
          }
          const pages = yield* pagesOf(running, { badge: badgeId, order }, 3)
          expect(pages.flat()).toEqual([])
          expect(pages).toHaveLength(3)
        }),
    )
  }
})
