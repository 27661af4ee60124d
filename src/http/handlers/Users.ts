import { Effect } from "effect"
import { type LaurelError, laurelError } from "../../domain/Errors.ts"
import { levelAt, levelProgress } from "../../domain/Level.ts"
import type { ProjectState } from "../../domain/Project.ts"
import type { UserReply, UserState } from "../../domain/User.ts"
import type { Answer, Engine } from "../../engine/Engine.ts"
import type { Users } from "../api/Users.ts"
import { makeId } from "../Ids.ts"
import type { Handlers } from "../Interpreter.ts"
import { isoTime } from "./Shapes.ts"

const userNotFound: LaurelError = laurelError(
  "user_not_found",
  "No event or reward of this user was ever accepted.",
)

export const userHandlers = (engine: Engine["Service"]): Handlers<typeof Users> => {
  const readUser = (environment: string, userId: string) =>
    Effect.flatMap(engine.readUser(environment, userId), (user) =>
      user === undefined ? Effect.fail(userNotFound) : Effect.succeed(user),
    )
  return {
    get: {
      handle: ({ caller, params }) =>
        Effect.zipWith(
          readUser(caller.environment, params.id),
          engine.readProject(caller.environment),
          (user, project) => ({ body: showUser(user, project) }),
        ),
    },
    progress: {
      handle: ({ caller, params }) =>
        Effect.gen(function* () {
          const user = yield* readUser(caller.environment, params.id)
          const project = yield* engine.readProject(caller.environment)
          const rank = yield* engine.readRank(caller.environment, params.id)
          return { body: showProgress(user, project, rank) }
        }),
    },
    reward: {
      handle: ({ caller, idempotency, params, payload }) => {
        const command = { kind: "reward", rewardId: makeId("rwd"), ...payload } as const
        const message = { userId: params.id, command }
        return Effect.map(engine.askUser(caller.environment, message, idempotency), rewardReply)
      },
    },
  }
}

const showUser = (user: UserState, project: ProjectState) => ({
  id: user.id,
  displayName: null,
  timezone: null,
  attributes: {},
  hidden: false,
  xp: user.xp,
  level: levelAt(project.levelCurve, user.xp),
  points: user.points,
  badges: [],
  createdAt: isoTime(user.createdAt),
  updatedAt: isoTime(user.updatedAt),
})

const showProgress = (user: UserState, project: ProjectState, rank: number | null) => ({
  userId: user.id,
  xp: user.xp,
  level: levelAt(project.levelCurve, user.xp),
  levelProgress: levelProgress(project.levelCurve, user.xp),
  rank,
  points: user.points,
  badges: [],
  quests: [...user.questsCompleted].map(([questId, completedAt]) => ({
    questId,
    title: project.quests.get(questId)?.title ?? questId,
    status: "completed" as const,
    steps: [],
    periodEndsAt: null,
    completedAt: isoTime(completedAt),
  })),
  streaks: [],
})

const rewardReply = ({ reply, replayed }: Answer<UserReply>) => {
  if (reply.kind !== "reward") throw new Error("A reward was answered as an event")
  const { amount, duplicate, level, points, rewardId, type, userId, xp } = reply
  const body = { rewardId, userId, type, amount, duplicate, xp, points, level, badges: [] }
  return { body, replayed }
}
