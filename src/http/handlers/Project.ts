import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import type { SettingsChange } from "../../domain/decide/Settings.ts"
import { type EventReply, replyOf } from "../../domain/message/UserReply.ts"
import type { DirectoryState } from "../../domain/project/Directory.ts"
import type { ProjectSettings } from "../../domain/project/Project.ts"
import type { Source } from "../../domain/record/Record.ts"
import { canonicalTimeZone } from "../../domain/values/Calendar.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Simulated } from "../../engine/read/Simulation.ts"
import type { ProjectPatch, Projects, Simulation } from "../api/Project.ts"
import { decodeEventBody, type EventInput } from "../body/EventDecoder.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { factOf, named } from "./Shapes.ts"

export const projectHandlers = (
  engine: Engine["Service"],
): Handlers<typeof Projects, { readonly simulate: EventInput }> => {
  const show = (caller: Caller, settings: ProjectSettings) =>
    Effect.map(engine.readDirectory, (directory) => ({
      body: showProject(caller, settings, directory),
    }))
  return {
    get: {
      handle: ({ caller }) =>
        Effect.flatMap(engine.readProject(caller.environment), ({ settings }) =>
          show(caller, settings),
        ),
    },
    update: {
      handle: ({ caller, payload }) => {
        const command = { kind: "updateSettings", change: settingsChange(payload) } as const
        return Effect.flatMap(engine.askProject(caller.environment, command), ({ reply }) =>
          show(caller, factOf(reply, "project.updated").settings),
        )
      },
    },
    simulate: {
      decode: decodeEventBody,
      handle: ({ caller, payload: { userId, ...event } }) => {
        const command = { kind: "event", ...event } as const
        return Effect.map(
          engine.simulate(caller.environment, { userId, command }),
          (simulated) => ({ body: showSimulation(simulated) }),
        )
      },
    },
  }
}

const settingsChange = ({ streaks, timezone, ...rest }: typeof ProjectPatch.Type): SettingsChange =>
  named({
    ...rest,
    timezone: timezone === undefined ? undefined : canonicalTimeZone(timezone),
    streaks: (streaks === null ? [] : streaks)?.map(({ actions = [], freezes = {}, key }) => {
      const { everyDays = null, initial = 0, max = initial } = freezes
      return { key, actions, freezes: { initial, max, everyDays } }
    }),
  })

const showProject = (caller: Caller, settings: ProjectSettings, directory: DirectoryState) => ({
  id: caller.projectId,
  environment: caller.environmentName,
  ...settings,
  name: settings.name ?? directory.projects.get(caller.projectId)?.name ?? caller.projectId,
  tier: caller.tier,
})

const showSimulation = (simulated: Simulated): typeof Simulation.Type => {
  const { record } = simulated
  const { action, badges, duplicate, level, occurredAt, points, quests, streaks, userId, xp } =
    replyOf(record, simulated.duplicate) as EventReply
  return {
    userId,
    action,
    duplicate,
    occurredAt: isoTime(occurredAt),
    xp,
    points,
    level,
    badges: badges.map(({ id, name }) => ({ id, name })),
    quests,
    streaks,
    given: givenBy(record),
  }
}

/** The rewards in a record, by rule, quest and criterion. */
const givenBy = ({ facts }: Simulated["record"]): (typeof Simulation.Type)["given"] => {
  const given = new Map<
    string,
    { source: ReturnType<typeof showSource>; xp: number; points: number; badges: Array<string> }
  >()
  const of = (source: Source) => {
    const shown = showSource(source)
    const key = `${shown.kind} ${shown.id}`
    const entry = given.get(key) ?? { source: shown, xp: 0, points: 0, badges: [] }
    given.set(key, entry)
    return entry
  }
  for (const fact of facts) {
    if (fact.kind === "xp.earned") of(fact.source).xp += fact.amount
    else if (fact.kind === "points.earned") of(fact.source).points += fact.amount
    else if (fact.kind === "badge.earned") of(fact.source).badges.push(fact.badgeId)
  }
  return [...given.values()]
}

const showSource = (source: Source) => {
  if (typeof source === "string") return { kind: "criteria", id: null } as const
  return "ruleId" in source
    ? ({ kind: "rule", id: source.ruleId } as const)
    : ({ kind: "quest", id: source.questId } as const)
}
