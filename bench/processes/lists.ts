/**
 * Lists of users that are in no kept order: states of many users in memory, without an engine, HTTP or disk. The
 * reference is a decode of every state.
 */
import { Effect, Stream } from "effect"
import { decideUser } from "../../src/domain/decide/Decide.ts"
import { applyUser } from "../../src/domain/record/applyUser.ts"
import { newcomer, type UserState } from "../../src/domain/user/User.ts"
import { Environment } from "../../src/engine/actor/Environments.ts"
import { UserList, type UserListQuery } from "../../src/engine/read/UserList.ts"
import { prefixesEnd } from "../../src/engine/users/BucketTable.ts"
import { answer } from "../children.ts"
import { userIdAt } from "../events.ts"
import { forgetful } from "../forgetful.ts"
import { watched } from "../watched.ts"

export interface ListsReport {
  readonly lists: ReadonlyArray<{
    readonly what: string
    readonly ms: number
    readonly turnMs: number
  }>
  readonly decodeMs: number
}

const at = 1_795_000_000_000

/** Xp and times in an order that is not that of the ids; every hundredth user has the plan `pro`. */
const userAt = (n: number, users: number): UserState => {
  const mixed = (n * 7_919) % users
  return {
    ...newcomer,
    id: userIdAt(n),
    sequence: n + 1,
    xp: mixed,
    scoreSequence: n + 1,
    profile: {
      displayName: `User ${n}`,
      timezone: "Europe/London",
      attributes: { plan: n % 100 === 0 ? "pro" : "free", seats: n % 7 },
      hidden: false,
    },
    createdAt: at,
    updatedAt: at + mixed,
    lastEventAt: at + mixed,
  }
}

await answer(async ({ users }: { readonly users: number }): Promise<ListsReport> => {
  const environment = new Environment("prj_bench:sandbox", {
    domain: { decideUser, applyUser },
    now: () => at,
    sooner: () => {},
    stateBytes: { bytes: 0 },
  })
  for (let n = 0; n < users; n++) environment.states.put(userAt(n, users), 0)
  const list = new UserList(forgetful(), () => at)
  const page = (query: Partial<UserListQuery>) => () =>
    Effect.runPromise(list.read(environment, { limit: 100, order, ...query }))
  const order = { sort: "xp", ascending: false } as const
  const asked: ReadonlyArray<readonly [what: string, run: () => Promise<unknown>]> = [
    ["a page by xp", page({})],
    ["a page in the middle", page({ after: userIdAt(0), afterKey: users / 2 })],
    ["a page of 1 % by an attribute", page({ attribute: { name: "plan", value: "pro" } })],
    ["a page of a name that nobody has", page({ search: "nobody" })],
    ["a page of a badge that nobody has", page({ badge: "bdg_none" })],
    ["a table of all", () => Effect.runPromise(Stream.runDrain(list.all(environment, { order })))],
  ]
  const lists = []
  for (const [what, run] of asked) {
    await run()
    lists.push({ what, ...(await watched(run)) })
  }
  const startedAt = performance.now()
  for (let prefix = 0; prefix < prefixesEnd; ) prefix = environment.usersFrom(prefix).next
  return { lists, decodeMs: performance.now() - startedAt }
})
