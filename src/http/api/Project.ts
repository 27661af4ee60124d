/** Operations on the settings of an environment, and the simulation of an event. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { environmentNames, tiers } from "../../domain/project/Directory.ts"
import { oneOf } from "./Checks.ts"
import { ApiKey, mergePatch, OpenTo } from "./Common.ts"
import { patchWords } from "./Definitions.ts"
import { Event } from "./Events.ts"
import { project } from "./examples/Definitions.ts"
import {
  BadgeNotFound,
  ChangeConflict,
  DefinitionConflict,
  EventConflict,
  QuestNotFound,
  RuleNotFound,
  readProblems,
  UseConflict,
  writeProblems,
} from "./Problems.ts"
import { LevelCurve, ProjectPatch, Streak } from "./ProjectSettings.ts"
import { PreviewRequest, Simulation } from "./Simulations.ts"

export const Project = Schema.Struct({
  id: Schema.String.annotate({
    description: "Laurel's id of the project.",
    examples: ["prj_01a1fc1e64c07345932e273286b5ca30"],
  }),
  environment: oneOf(environmentNames).annotate({
    description: "The key's environment, which these settings belong to.",
    examples: ["sandbox"],
  }),
  name: Schema.String.annotate({
    description: "Name for people.",
    examples: ["Language school"],
  }),
  timezone: Schema.String.annotate({
    description: "The IANA time zone of days, weeks and months.",
    examples: ["Europe/Berlin"],
  }),
  levelCurve: LevelCurve,
  streaks: Schema.Array(Streak).annotate({ description: "The project's streaks." }),
  clientActions: Schema.Array(Schema.String).annotate({
    description: "The actions that users may send themselves, with a user token.",
    examples: [["LESSON_OPENED"]],
  }),
  tier: oneOf(tiers).annotate({
    description: "The tier of the key in use (read only).",
    examples: ["free"],
  }),
}).annotate({
  identifier: "Project",
  description: "Settings of an environment.",
  examples: [project],
})

export const Projects = HttpApiGroup.make("project")
  .add(
    HttpApiEndpoint.get("get", "/v1/project", { success: Project, error: readProblems })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the project",
          description: "Returns the settings of the key's project and environment.",
        }),
      ),
    HttpApiEndpoint.patch("update", "/v1/project", {
      payload: mergePatch(ProjectPatch),
      success: Project,
      error: [...writeProblems, UseConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change the project",
          description: `${patchWords}

A new level curve applies to every user at once, without a message; xp stay. A new time zone applies from now on; closed windows of the leaderboard stay closed. A removed streak stops counting; adding its key again restores the users' days.`,
        }),
      ),
    HttpApiEndpoint.post("simulate", "/v1/project/simulate", {
      payload: Event,
      success: Simulation,
      error: [...writeProblems, QuestNotFound, EventConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Simulate an event",
          description:
            "Returns the outcome that the event would have now, and changes nothing. Use it to test rules, quests and badges. It is refused where the event would be refused. An `Idempotency-Key` is ignored.",
        }),
      ),
    HttpApiEndpoint.post("preview", "/v1/project/preview", {
      payload: PreviewRequest,
      success: Simulation,
      error: [
        ...writeProblems,
        QuestNotFound,
        RuleNotFound,
        BadgeNotFound,
        EventConflict,
        DefinitionConflict,
        ChangeConflict,
      ],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Simulate an event with drafts",
          description:
            "Returns the outcome that the event would have once the drafts were saved, and changes nothing. A draft with an id replaces every member of that definition, but the status of a quest without `status` and its metadata; `settings` is merged. A new definition has the id `rul_draft`, `qst_draft` or `bdg_draft` in the reply. It is refused where a draft or the event would be refused; faults of a draft have pointers below `/rule`, `/quest`, `/badge` or `/settings`, those of the event below `/event`. An `Idempotency-Key` is ignored.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Project", description: "Settings of an environment." }),
  )
