import { Effect } from "effect"
import { teamNotFound } from "../../domain/decide/TeamMembers.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import { type Team, teamsAfter, teamWithId } from "../../domain/project/Team.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { continueWith } from "../../storage/exitOf.ts"
import type { Teams } from "../api/Teams.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import {
  avatarOf,
  foundOr,
  onlyIf,
  pageAsked,
  shownVersion,
  showOwnTeams,
  userNotFound,
} from "./Shapes.ts"

export const teamHandlers = (engine: Engine["Service"]): Handlers<typeof Teams> => ({
  ...listHandlers(engine),
  ...changeHandlers(engine),
  ...memberHandlers(engine),
})

type TeamHandlers = Handlers<typeof Teams>

const listHandlers = (engine: Engine["Service"]): Pick<TeamHandlers, "list" | "get"> => ({
  list: {
    handle: ({ caller: { environment }, query }) =>
      Effect.gen(function* () {
        const { kind } = query
        const { after, end, limit } = yield* pageAsked("teams", environment, { kind }, query)
        const page: Array<Team> = []
        const project = engine.projectNow(environment)
        for (const team of teamsAfter(project.teams, after?.[0])) {
          if (kind !== undefined && team.kind !== kind) continue
          page.push(team)
          if (page.length > limit) break
        }
        const shown = page.slice(0, limit)
        const last = page.length > limit ? shown.at(-1) : undefined
        return {
          body: { teams: shown.map((team) => showTeam(team, project)), ...end(last && [last.id]) },
        }
      }),
  },
  get: {
    handle: ({ caller: { environment }, headers, params: { id } }) =>
      Effect.map(teamNow(engine, environment, id), (team) =>
        shownVersion(showTeam(team, engine.projectNow(environment)), team.version, headers),
      ),
  },
})

/** The team as of this call. */
const teamNow = (engine: Engine["Service"], environment: string, teamId: string) =>
  Effect.suspend(() =>
    foundOr(teamWithId(engine.projectNow(environment).teams, teamId), teamNotFound),
  )

const changeHandlers = (engine: Engine["Service"]): Pick<TeamHandlers, "put" | "delete"> => ({
  put: {
    handle: ({ caller: { environment }, headers, idempotency, params: { id }, payload }) => {
      const command = onlyIf(headers, { kind: "putTeam", teamId: id, team: payload } as const)
      const asked = engine.askProject(environment, command, idempotency)
      return Effect.flatMap(asked, ({ replayed }) =>
        Effect.map(teamNow(engine, environment, id), (team) => ({
          body: showTeam(team, engine.projectNow(environment)),
          replayed,
          version: team.version,
        })),
      )
    },
  },
  delete: {
    handle: ({ caller: { environment }, headers, idempotency, params: { id } }) => {
      const command = onlyIf(headers, { kind: "deleteTeam", teamId: id } as const)
      const asked = engine.askProject(environment, command, idempotency)
      return Effect.map(asked, ({ replayed }) => ({ body: undefined, replayed }))
    },
  },
})

const memberHandlers = (
  engine: Engine["Service"],
): Pick<TeamHandlers, "members" | "join" | "leave"> => ({
  members: {
    handle: ({ caller: { environment }, params: { id }, query }) =>
      Effect.gen(function* () {
        const asked = yield* pageAsked("teamMembers", environment, { id }, query)
        const team = yield* teamNow(engine, environment, id)
        const page = { team, limit: asked.limit, after: asked.after?.[0] }
        const { hasMore, members } = yield* engine.listTeamMembers(environment, page)
        const shown = members.map(({ joinedAt, user }) => ({
          userId: user.id,
          displayName: user.profile.displayName,
          ...avatarOf(user.profile.attributes),
          joinedAt: isoTime(joinedAt),
        }))
        const last = hasMore ? shown.at(-1) : undefined
        return { body: { members: shown, ...asked.end(last && [last.userId]) } }
      }),
  },
  join: {
    handle: ({ caller: { environment }, idempotency, params: { id: teamId, userId } }) => {
      const command = { kind: "join", teamId } as const
      const asked = engine.askUser(environment, { userId, command }, idempotency)
      return Effect.flatMap(asked, ({ replayed }) =>
        continueWith(engine.userNow(environment, userId), (user) => {
          if (user === undefined) return Effect.fail(userNotFound)
          const teams = showOwnTeams(user, engine.projectNow(environment))
          return Effect.succeed({ body: { userId: user.id, teams }, replayed })
        }),
      )
    },
  },
  leave: {
    handle: ({ caller: { environment }, idempotency, params: { id: teamId, userId } }) => {
      const command = { kind: "leave", teamId } as const
      const asked = engine.askUser(environment, { userId, command }, idempotency)
      return Effect.map(asked, ({ replayed }) => ({ body: undefined, replayed }))
    },
  },
})

const showTeam = (
  { createdAt, disqualifiedOn = [], number: _, updatedAt, ...team }: Team,
  { leaderboards }: Pick<ProjectState, "leaderboards">,
) => {
  const off = disqualifiedOn.flatMap((id) => {
    const board = leaderboards.get(id)
    return board === undefined || board.set === "archived" ? [] : [board.key]
  })
  return {
    ...team,
    ...(off.length > 0 && { disqualifiedOn: off }),
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  }
}
