import { Effect, Stream } from "effect"
import type { Accounts } from "../../accounts/Accounts.ts"
import type { RevocationReply, RewardReply } from "../../domain/message/UserReply.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { GrantedReward, Revocable, Revocation, Spending } from "../../domain/record/Record.ts"
import type { Profile, UserState } from "../../domain/user/User.ts"
import { canonicalTimeZone } from "../../domain/values/Calendar.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { recordNameOf, revocablePrefix } from "../../domain/values/Ids.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Answer, Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { continueWith } from "../../storage/exitOf.ts"
import type { ProfileChange } from "../api/UserShapes.ts"
import type { Users } from "../api/Users.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import type { StreamedReply } from "../stream/StreamedReply.ts"
import { readHistoryPage } from "./readHistoryPage.ts"
import { foundOr, pageInfo, pageOf, showBadges, showProgress, showUser } from "./Shapes.ts"

/* Everything that is held about a user, as one JSON text in pieces: never more than a chunk of records is in memory. */

export interface ExportedUser {
  readonly environment: string
  readonly user: UserState
  readonly project: ProjectState
  readonly rank: number | null
  /** Epoch milliseconds. */
  readonly now: number
}

const exportUser = (
  engine: Engine["Service"],
  { environment, now, project, rank, user }: ExportedUser,
): StreamedReply => {
  const head = JSON.stringify({
    exportedAt: isoTime(now),
    user: showUser(user, project),
    progress: showProgress(user, project, rank, now),
    state: stateOf(user),
  })
  return {
    contentType: "application/json",
    stream: Stream.make(`${head.slice(0, -1)},"records":[`).pipe(
      Stream.concat(recordBuffer(engine, environment, user.id)),
      Stream.concat(Stream.make("]}")),
    ),
  }
}

const recordBuffer = (
  engine: Engine["Service"],
  environment: string,
  userId: string,
): Stream.Stream<string, LaurelError> =>
  Stream.suspend(() => {
    let separator = ""
    return engine.readHistory(environment, userId).pipe(
      Stream.map((records) => {
        let text = ""
        for (const record of records) {
          text += `${separator}\n${JSON.stringify(record)}`
          separator = ","
        }
        return text
      }),
    )
  })

/** The state as it is kept, maps as objects. */
const stateOf = (user: UserState): object =>
  Object.fromEntries(
    Object.entries(user).map(([name, value]) => [
      name,
      value instanceof Map ? Object.fromEntries(value) : value,
    ]),
  )

const userNotFound = laurelError(
  "user_not_found",
  "No event, reward or profile of this user was accepted yet.",
)

/** `erasureMs`: how long after an erasure journal and archives may still have the user; `null`: without an end. */
export const userHandlers = (
  engine: Engine["Service"],
  accounts: Accounts["Service"],
  erasureMs: number | null,
): Handlers<typeof Users> => {
  const readUser = (environment: string, userId: string) =>
    Effect.flatMap(engine.readUser(environment, userId), (user) => foundOr(user, userNotFound))
  const readAll = (environment: string, userId: string) =>
    Effect.all({
      environment: Effect.succeed(environment),
      user: readUser(environment, userId),
      project: engine.readProject(environment),
      rank: engine.readRank(environment, userId),
      now: Effect.sync(engine.now),
    })
  /** As it is when this is called. */
  const show = (environment: string, userId: string) =>
    continueWith(engine.userNow(environment, userId), (user) =>
      user === undefined
        ? Effect.fail(userNotFound)
        : Effect.succeed({ body: showUser(user, engine.projectNow(environment)) }),
    )
  const revoke = <Of extends Revocable>(
    environment: string,
    userId: string,
    of: Of,
    id: string,
  ) => {
    const name = recordNameOf(revocablePrefix[of], id) ?? noRecord
    const command: Revocation<Of> = { kind: "revocation", of, ...name, ownId: id }
    return Effect.map(engine.askUser(environment, { userId, command }), ({ reply }) => reply)
  }
  return {
    list: {
      handle: ({ caller: { environment }, query }) =>
        Effect.gen(function* () {
          const page = pageOf(query)
          const found = yield* engine.listUsers(environment, { ...page, search: query.query })
          const project = yield* engine.readProject(environment)
          const users = found.users.map((user) => showUser(user, project))
          return { body: { users, ...pageInfo(page, found.total, users.length) } }
        }),
    },
    get: {
      handle: ({ caller, params }) => show(caller.environment, params.id),
    },
    put: {
      handle: ({ caller: { environment }, params: { id: userId }, payload: change }) =>
        Effect.andThen(
          engine.askUser(environment, {
            userId,
            command: { kind: "profile", change: profileChange(change) },
          }),
          Effect.suspend(() => show(environment, userId)),
        ),
    },
    erase: {
      handle: ({ caller: { environment }, params: { id: userId } }) =>
        Effect.gen(function* () {
          yield* engine.askUser(environment, { userId, command: { kind: "erasure" } })
          if (erasureMs === null) return { body: undefined }
          const erasedBy = engine.now() + erasureMs
          return { body: undefined, headers: ["Laurel-Erased-By", isoTime(erasedBy)] }
        }),
    },
    progress: {
      handle: ({ caller, params }) =>
        Effect.map(readAll(caller.environment, params.id), ({ now, project, rank, user }) => ({
          body: showProgress(user, project, rank, now),
        })),
    },
    export: {
      handle: ({ caller, params }) =>
        Effect.map(readAll(caller.environment, params.id), (all) => exportUser(engine, all)),
    },
    history: {
      handle: ({ caller: { environment }, params, query }) =>
        Effect.andThen(
          readUser(environment, params.id),
          Effect.map(readHistoryPage(engine, environment, params.id, query), (body) => ({ body })),
        ),
    },
    createToken: {
      handle: ({ caller, params, payload: { expiresInSeconds = limits.userTokenSeconds } }) => {
        const made = accounts.makeToken(caller, params.id, expiresInSeconds)
        if (made === undefined) return Effect.fail(keyNeeded)
        return Effect.succeed({ body: { ...made, expiresAt: isoTime(made.expiresAt) } })
      },
    },
    reward: {
      handle: ({ caller, idempotency, params, payload }) => {
        const command: GrantedReward = { kind: "reward", ...payload }
        const message = { userId: params.id, command }
        return Effect.map(engine.askUser(caller.environment, message, idempotency), rewardReply)
      },
    },
    spend: {
      handle: ({ caller, idempotency, params, payload }) => {
        const command: Spending = { kind: "spend", ...payload }
        const message = { userId: params.id, command }
        const asked = engine.askUser(caller.environment, message, idempotency)
        return Effect.map(asked, ({ replayed, reply: { kind: _, total, ...reply } }) => {
          const points = { spent: reply.amount, total }
          return { body: { ...reply, points }, replayed }
        })
      },
    },
    refund: {
      handle: ({ caller, params: { id, spendId } }) =>
        Effect.map(revoke(caller.environment, id, "spend", spendId), (reply) => {
          const { amount, shortfall, spendId, total, userId } = reply
          const points = { refunded: amount, total }
          return { body: { spendId, userId, points, shortfall: { points: shortfall } } }
        }),
    },
    revokeReward: {
      handle: ({ caller, params: { id, rewardId } }) =>
        Effect.map(revoke(caller.environment, id, "reward", rewardId), (reply) => ({
          body: { rewardId: reply.id, ...undone(reply) },
        })),
    },
    revokeEvent: {
      handle: ({ caller, params: { eventId, id } }) =>
        Effect.map(revoke(caller.environment, id, "event", eventId), (reply) => ({
          body: { eventId: reply.id, ...undone(reply) },
        })),
    },
  }
}

/** Not the name of a record: an id that is not of Laurel's form. */
const noRecord = { sequence: 0, at: 0 } as const

/** Of a page of the dashboard, or a key that ended while the body arrived. */
const keyNeeded = laurelError("insufficient_scope", "Only a secret key in force makes tokens.")

/** Days are counted by zones that are remembered by name, so each has one way to be written. */
const profileChange = (change: typeof ProfileChange.Type): Partial<Profile> => {
  const timezone = change.timezone && canonicalTimeZone(change.timezone)
  return timezone ? { ...change, timezone } : change
}

const rewardReply = ({ reply, replayed }: Answer<RewardReply>) => {
  const { badges, duplicate, level, points, rewardId, type, userId, xp } = reply
  const body = {
    rewardId,
    userId,
    type,
    amount: reply.type === "badge" ? null : reply.amount,
    badgeId: reply.type === "badge" ? reply.badgeId : null,
    duplicate,
    xp,
    points,
    level,
    badges: showBadges(badges),
  }
  return { body, replayed }
}

const undone = ({
  badgesRevoked,
  level,
  points,
  quests,
  shortfall,
  userId,
  xp,
}: RevocationReply) => ({
  userId,
  xp: { revoked: 0 - xp.earned, total: xp.total },
  points: { revoked: 0 - points.earned, total: points.total },
  level,
  badges: badgesRevoked,
  quests,
  shortfall,
})
