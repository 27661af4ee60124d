import { Effect, Stream } from "effect"
import type { Accounts } from "../../accounts/Accounts.ts"
import type { RevocationReply, RewardReply } from "../../domain/message/UserReply.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { GrantedReward, Spending } from "../../domain/record/Record.ts"
import { segmentsOf } from "../../domain/user/Membership.ts"
import { questProgress } from "../../domain/user/Progress.ts"
import type { Profile, UserState } from "../../domain/user/User.ts"
import { canonicalTimeZone } from "../../domain/values/Calendar.ts"
import { type Fault, type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Answer, Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { continueWith } from "../../storage/exitOf.ts"
import type { NewSpend } from "../api/Spends.ts"
import type { ChangedStreak } from "../api/Streaks.ts"
import type { ProfileChange, StartedQuest } from "../api/UserShapes.ts"
import type { Users } from "../api/Users.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import type { StreamedReply } from "../stream/StreamedReply.ts"
import { openingBody, openingOf } from "./openingHandlers.ts"
import { readHistoryFacts } from "./readHistory.ts"
import { revoke, undone } from "./revocations.ts"
import {
  foundOr,
  furtherParts,
  isUnknownTo,
  memberOf,
  pageAsked,
  questNotFound,
  rewardBody,
  showProgress,
  showQuestProgress,
  showRepeat,
  showUser,
  spendBody,
  userNotFound,
} from "./Shapes.ts"
import {
  pausingOf,
  repairOf,
  userStreak,
  userStreakCalendar,
  userStreaks,
} from "./streakHandlers.ts"
import { usersAsked } from "./userList.ts"

type UserHandlers = Handlers<typeof Users>

/**
 * `erasureMs`: the time after an erasure for which the journal and archives may still have the
 * user.
 */
export const userHandlers = (
  engine: Engine["Service"],
  accounts: Accounts["Service"],
  erasureMs: number,
): UserHandlers => ({
  ...readHandlers(engine),
  ...profileHandlers(engine, erasureMs),
  ...balanceHandlers(engine),
  ...revocationHandlers(engine),
  startQuest: {
    handle: ({ caller, idempotency, params: { id: userId, quest } }) => {
      const { environment } = caller
      const found = definitionOf(engine.projectNow(environment).quests, quest)
      if (isUnknownTo(caller, found, engine.timeIn(environment))) return Effect.fail(questNotFound)
      const command = { kind: "start", questId: quest } as const
      const asked = engine.askUser(environment, { userId, command }, idempotency)
      return Effect.flatMap(asked, ({ replayed }) =>
        Effect.map(showStarted(engine, environment, userId, quest), (body) => ({ body, replayed })),
      )
    },
  },
  pauseStreak: {
    handle: ({ caller: { environment }, idempotency, params: { id: userId, key }, payload }) => {
      const command = pausingOf(key, payload)
      const asked = engine.askUser(environment, { userId, command }, idempotency)
      return Effect.flatMap(asked, ({ replayed }) =>
        Effect.map(showChanged(engine, environment, userId, key), (body) => ({ body, replayed })),
      )
    },
  },
  repairStreak: {
    handle: ({ caller: { environment }, idempotency, params: { id: userId, key }, payload }) => {
      const command = repairOf(engine.projectNow(environment), key, payload)
      const asked = engine.askUser(environment, { userId, command }, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => ({
        body: { ...spendBody(reply), ...showRepeat(reply) },
        replayed,
      }))
    },
  },
  createToken: {
    handle: ({ caller, params, payload }) => {
      const { expiresInSeconds = limits.userTokenSeconds, scopes } = payload
      const made = accounts.makeToken(caller, params.id, expiresInSeconds, scopes)
      if (made === undefined) return Effect.fail(keyNeeded)
      return Effect.succeed({ body: { ...made, expiresAt: isoTime(made.expiresAt) } })
    },
  },
})

/**
 * The refusal for pages of the dashboard, and for a key that was revoked while the body arrived.
 */
const keyNeeded = laurelError("insufficient_scope", "Only a secret key in force makes tokens.")

/* Reads. */

const readHandlers = (
  engine: Engine["Service"],
): Pick<
  UserHandlers,
  "list" | "get" | "progress" | "export" | "history" | "segments" | "streaks" | "streakCalendar"
> => ({
  list: {
    handle: ({ caller: { environment }, query }) => usersAsked(engine, environment, query),
  },
  get: {
    handle: ({ caller, params }) => show(engine, caller.environment, params.id),
  },
  progress: {
    handle: ({ caller, params }) =>
      Effect.map(
        readAll(engine, caller.environment, params.id),
        ({ now, project, rank, user }) => ({
          body: showProgress(user, project, rank, now),
        }),
      ),
  },
  streaks: {
    handle: ({ caller, params }) =>
      Effect.map(readAll(engine, caller.environment, params.id), ({ now, project, user }) => ({
        body: userStreaks(user, project, now),
      })),
  },
  streakCalendar: {
    handle: ({ caller, params, query }) =>
      Effect.gen(function* () {
        const { now, project, user } = yield* readAll(engine, caller.environment, params.id)
        return { body: yield* userStreakCalendar(user, project, now, params.key, query) }
      }),
  },
  segments: {
    handle: ({ caller, params }) =>
      Effect.map(readAll(engine, caller.environment, params.id), ({ now, project, user }) => ({
        body: {
          userId: user.id,
          segments: segmentsOf({ userId: user.id, user, project, now }).map(
            ({ id, key, name }) => ({ id, key, name }),
          ),
        },
      })),
  },
  export: {
    handle: ({ caller, params }) =>
      Effect.map(readAll(engine, caller.environment, params.id), (all) => exportUser(engine, all)),
  },
  history: {
    handle: ({ caller: { environment }, params: { id }, query }) =>
      Effect.gen(function* () {
        const { kind } = query
        yield* readUser(engine, environment, id)
        const asked = yield* pageAsked("history", environment, { id, kind }, query)
        const page = yield* readHistoryFacts(engine, environment, id, asked, kind)
        return { body: { facts: page.items, ...asked.end(page.last) } }
      }),
  },
})

const readUser = (engine: Engine["Service"], environment: string, userId: string) =>
  Effect.flatMap(engine.readUser(environment, userId), (user) => foundOr(user, userNotFound))

const readAll = (engine: Engine["Service"], environment: string, userId: string) =>
  Effect.all({
    environment: Effect.succeed(environment),
    user: readUser(engine, environment, userId),
    project: engine.readProject(environment),
    rank: engine.readRank(environment, userId),
    now: Effect.sync(() => engine.timeIn(environment)),
  })

/** The reply with the user's present state. */
const show = (engine: Engine["Service"], environment: string, userId: string) =>
  continueWith(engine.userNow(environment, userId), (user) =>
    user === undefined
      ? Effect.fail(userNotFound)
      : Effect.succeed({
          body: showUser(user, engine.projectNow(environment), engine.timeIn(environment)),
        }),
  )

type Started = Effect.Effect<
  typeof StartedQuest.Type,
  LaurelError<"user_not_found" | "quest_not_found">
>

/** The user's progress in the quest with this id or key. */
type Changed = Effect.Effect<
  typeof ChangedStreak.Type,
  LaurelError<"user_not_found" | "streak_not_found">
>

const showChanged = (
  engine: Engine["Service"],
  environment: string,
  userId: string,
  idOrKey: string,
) =>
  continueWith(
    engine.userNow(environment, userId),
    (user): Changed =>
      user === undefined
        ? Effect.fail(userNotFound)
        : userStreak(user, engine.projectNow(environment), engine.timeIn(environment), idOrKey),
  )

const showStarted = (
  engine: Engine["Service"],
  environment: string,
  userId: string,
  idOrKey: string,
) =>
  continueWith(engine.userNow(environment, userId), (user): Started => {
    if (user === undefined) return Effect.fail(userNotFound)
    const project = engine.projectNow(environment)
    const questId = definitionOf(project.quests, idOrKey)?.id
    const progress = questProgress(user, project, engine.timeIn(environment))
    const quest = progress.find((one) => one.questId === questId)
    return quest === undefined
      ? Effect.fail(questNotFound)
      : Effect.succeed({ userId, quest: showQuestProgress(quest) })
  })

/*
 * The export of a user: all data about the user as one JSON text, streamed in pieces. At most one
 * chunk of records is in memory.
 */

interface ExportedUser {
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
    exportedAt: isoTime(engine.now()),
    user: showUser(user, project, now),
    progress: showProgress(user, project, rank, now),
    state: stateOf(user),
  })
  return {
    contentType: "application/json",
    stream: Stream.make(`${head.slice(0, -1)},"records":[`).pipe(
      Stream.concat(recordTexts(engine, environment, user.id)),
      Stream.concat(Stream.make("]}")),
    ),
  }
}

const recordTexts = (
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

/** The state for JSON: maps become objects. */
const stateOf = (user: UserState): object =>
  Object.fromEntries(
    Object.entries(user).map(([name, value]) => [
      name,
      value instanceof Map ? Object.fromEntries(value) : value,
    ]),
  )

/* Changes. */

const profileHandlers = (
  engine: Engine["Service"],
  erasureMs: number,
): Pick<UserHandlers, "put" | "open" | "erase" | "merge"> => ({
  put: {
    handle: ({ caller: { environment }, idempotency, params: { id: userId }, payload }) => {
      const command = { kind: "profile", change: profileChange(payload) } as const
      const asked = engine.askUser(environment, { userId, command }, idempotency)
      return Effect.flatMap(asked, ({ replayed }) =>
        Effect.map(show(engine, environment, userId), (reply) => ({ ...reply, replayed })),
      )
    },
  },
  open: {
    handle: ({ caller: { environment }, idempotency, params: { id: userId }, payload }) => {
      const asked = engine.askUser(
        environment,
        { userId, command: openingOf(payload) },
        idempotency,
      )
      return Effect.map(asked, ({ replayed, reply }) => ({
        body: openingBody(reply),
        replayed,
      }))
    },
  },
  merge: {
    handle: ({ caller: { environment }, idempotency, params: { id: userId }, payload }) => {
      const command = { kind: "merge", into: payload.into } as const
      const asked = engine.askUser(environment, { userId, command }, idempotency)
      return Effect.map(asked, ({ replayed, reply: { from, into, mergedAt } }) => ({
        body: { from, into, mergedAt: isoTime(mergedAt) },
        replayed,
      }))
    },
  },
  erase: {
    handle: ({ caller: { environment }, idempotency, params: { id: userId } }) => {
      const message = { userId, command: { kind: "erasure" } } as const
      return Effect.map(
        engine.askUser(environment, message, idempotency),
        ({ replayed, reply }) => ({
          body: undefined,
          replayed,
          headers: ["Laurel-Erased-By", isoTime(reply.at + erasureMs)],
        }),
      )
    },
  },
})

/** Spells the time zone canonically: calendars are cached by the zone's name. */
const profileChange = (change: typeof ProfileChange.Type): Partial<Profile> => {
  const timezone = change.timezone && canonicalTimeZone(change.timezone)
  return timezone ? { ...change, timezone } : change
}

const balanceHandlers = (engine: Engine["Service"]): Pick<UserHandlers, "reward" | "spend"> => ({
  reward: {
    handle: ({ caller, idempotency, params, payload }) => {
      const command: GrantedReward = { kind: "reward", ...payload }
      const message = { userId: params.id, command }
      return Effect.map(engine.askUser(caller.environment, message, idempotency), rewardReply)
    },
  },
  spend: {
    moreFaults: noAmount,
    handle: ({ caller, idempotency, params, payload }) => {
      const command = spending(payload)
      const message = { userId: params.id, command }
      const asked = engine.askUser(caller.environment, message, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => {
        return { body: { ...spendBody(reply), ...showRepeat(reply) }, replayed }
      })
    },
  },
})

/** The fault of a body without an amount, which its schema finds only if it has no other fault. */
const noAmount = (body: unknown): ReadonlyArray<Fault> =>
  memberOf(body, "amount") === undefined && memberOf(body, "currencies") === undefined
    ? [{ pointer: "/amount", code: "missing", detail: "is required, or currencies" }]
    : []

/** The command of a body that has either an amount of points or amounts by currency. */
const spending = ({ amount = 0, currencies, ...about }: typeof NewSpend.Type): Spending =>
  currencies === undefined
    ? { kind: "spend", amount, ...about }
    : { kind: "spend", currencies, ...about }

const rewardReply = ({ reply, replayed }: Answer<RewardReply>) => ({
  body: rewardBody(reply),
  replayed,
})

/* Revocations. */

const revocationHandlers = (
  engine: Engine["Service"],
): Pick<UserHandlers, "refund" | "revokeReward" | "revokeEvent"> => {
  return {
    refund: {
      handle: (request) =>
        Effect.map(
          revoke(engine, request, "spend", request.params.spendId),
          ({ replayed, reply }) => {
            const { amount, repairUndone, shortfall, spendId, total, userId } = reply
            const points = { refunded: amount, total }
            const body = { spendId, userId, points, shortfall: { points: shortfall } }
            const further = { ...furtherParts(reply), ...(repairUndone && { repairUndone }) }
            return { body: { ...body, ...further }, replayed }
          },
        ),
    },
    revokeReward: {
      handle: (request) =>
        Effect.map(
          revoke(engine, request, "reward", request.params.rewardId),
          ({ replayed, reply }) => ({
            body: { rewardId: reply.id, ...undone(reply) },
            replayed,
          }),
        ),
    },
    revokeEvent: {
      handle: (request) =>
        Effect.map(
          revoke(engine, request, "event", request.params.eventId),
          ({ replayed, reply }) => ({
            body: { eventId: reply.id, ...undone(reply), ...changedMetrics(reply) },
            replayed,
          }),
        ),
    },
  }
}

const changedMetrics = ({ metrics }: RevocationReply) => (metrics.length === 0 ? {} : { metrics })
