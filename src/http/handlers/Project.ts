import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import type { DirectoryState } from "../../domain/project/Directory.ts"
import type { ProjectSettings } from "../../domain/project/Project.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Projects } from "../api/Project.ts"
import type { EventInput } from "../body/EventDecoder.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { settingsChange } from "./SettingsChange.ts"
import { factOf } from "./Shapes.ts"
import { simulationHandlers } from "./Simulations.ts"

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
    ...simulationHandlers(engine),
  }
}

const showProject = (caller: Caller, settings: ProjectSettings, directory: DirectoryState) => ({
  id: caller.projectId,
  environment: caller.environmentName,
  ...settings,
  streaks: settings.streaks.map(({ freezesBefore: _, ...streak }) => streak),
  clientActions: settings.clientActions ?? [],
  name: settings.name ?? directory.projects.get(caller.projectId)?.name ?? caller.projectId,
  tier: caller.tier,
})
