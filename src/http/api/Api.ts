/**
 * The contract as data: groups of endpoints with their schemas. Everything is derived from it: the server's
 * routes and decoders, `/openapi.json`, the reference at `/docs`, and typed clients (`HttpApiClient`).
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { Actions } from "./Actions.ts"
import { Badges } from "./Badges.ts"
import { Definitions } from "./DefinitionFiles.ts"
import { Events } from "./Events.ts"
import { Leaderboard } from "./Leaderboard.ts"
import { Projects } from "./Project.ts"
import { Quests } from "./Quests.ts"
import { completeReference, introduction } from "./Reference.ts"
import { Rules } from "./Rules.ts"
import { Stream } from "./Stream.ts"
import { System } from "./System.ts"
import { Users } from "./Users.ts"
import { Webhooks } from "./Webhooks.ts"

export const Api = HttpApi.make("laurel")
  .add(
    Events,
    Actions,
    Users,
    Quests,
    Leaderboard,
    Rules,
    Badges,
    Projects,
    Definitions,
    Webhooks,
    Stream,
    System,
  )
  .annotate(HttpApi.PayloadParseOptions, {
    errors: "all",
    onExcessProperty: "error",
    reportInput: true,
  })
  .annotate(HttpApi.ParamsParseOptions, { errors: "all" })
  .annotate(HttpApi.QueryParseOptions, { errors: "all", onExcessProperty: "error" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Laurel",
      version: "1",
      description: introduction,
      servers: [
        { url: "/", description: "Paths as documented" },
        { url: "/api", description: "The same operations under /api/v1" },
      ],
      transform: completeReference,
    }),
  )
