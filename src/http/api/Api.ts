/**
 * The contract as data: groups of endpoints with their schemas. The server's routes and decoders,
 * `/openapi.json`, the reference at `/docs`, and typed clients (`HttpApiClient`) are derived from
 * it.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { version } from "../../Build.ts"
import { Analytics } from "./Analytics.ts"
import { Badges } from "./Badges.ts"
import { Boosts } from "./Boosts.ts"
import { oneOf } from "./Common.ts"
import { Currencies } from "./Currencies.ts"
import { DefinitionFiles } from "./DefinitionFiles.ts"
import { Deliveries } from "./Deliveries.ts"
import { Actions, Events } from "./Events.ts"
import { Experiments } from "./Experiments.ts"
import { Facts } from "./Facts.ts"
import { Goals } from "./Goals.ts"
import { Ingest } from "./Ingest.ts"
import { Items } from "./Items.ts"
import { Leaderboard } from "./Leaderboard.ts"
import { Leaderboards } from "./Leaderboards.ts"
import { Leagues } from "./Leagues.ts"
import { Metrics } from "./Metrics.ts"
import { Openings } from "./Opening.ts"
import { NotReady } from "./Problems.ts"
import { Projects } from "./Projects.ts"
import { Purchases } from "./Purchases.ts"
import { Quests } from "./Quests.ts"
import { Recaps } from "./Recaps.ts"
import { completeReference, introduction, stateScopes } from "./Reference.ts"
import { Rewards, Spends } from "./Rewards.ts"
import { Rules } from "./Rules.ts"
import { Segments } from "./Segments.ts"
import { Sources } from "./Sources.ts"
import { Streaks } from "./Streaks.ts"
import { Stream } from "./Stream.ts"
import { Teams } from "./Teams.ts"
import { TestClocks } from "./TestClock.ts"
import { Users } from "./Users.ts"
import { Webhooks } from "./Webhooks.ts"

/* Health, readiness and documentation. They need no key, and have no path under `/api`. */

const status = oneOf(["ok"]).annotate({ description: "It is." })
const Status = Schema.Struct({ status }).annotate({ examples: [{ status: "ok" }] })
const Health = Schema.Struct({
  status,
  version: Schema.String.annotate({ description: "The version of Laurel that runs." }),
}).annotate({ examples: [{ status: "ok", version: "1.0.0" }] })
const atRoot = { servers: [{ url: "/" }] }

const System = HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("health", "/healthz", { success: Health }).annotateMerge(
      OpenApi.annotations({
        summary: "Liveness",
        description: "Returns 200 while the process answers, also during start and shutdown.",
        override: atRoot,
      }),
    ),
    HttpApiEndpoint.get("ready", "/readyz", { success: Status, error: NotReady }).annotateMerge(
      OpenApi.annotations({
        summary: "Readiness",
        description:
          "Returns 503 during start (`starting`, with the progress as detail) and shutdown (`shutting_down`).",
        override: atRoot,
      }),
    ),
    HttpApiEndpoint.get("openapi", "/openapi.json", {
      success: Schema.Record(Schema.String, Schema.Unknown).annotate({
        examples: [{ openapi: "3.1.0", info: { title: "Laurel", version: "1.0.0" }, paths: {} }],
      }),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "This document",
        description:
          "The API as OpenAPI 3.1, generated from the declaration that the server runs on.",
        override: atRoot,
      }),
    ),
    HttpApiEndpoint.get("docs", "/docs", {
      success: Schema.String.annotate({ examples: ["<!doctype html>"] }).pipe(
        HttpApiSchema.asText({ contentType: "text/html" }),
      ),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "API reference",
        description: "This document as a web page, which loads nothing from other servers.",
        override: atRoot,
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "System", description: "Health and reference. No key needed." }),
  )

const declared = HttpApi.make("laurel")
  .add(
    Events,
    Actions,
    Ingest,
    Sources,
    Deliveries,
    Users,
    Recaps,
    Analytics,
    Facts,
    Openings,
    Rewards,
    Spends,
    Purchases,
    Quests,
    Leaderboard,
    Rules,
    Badges,
    Boosts,
    Currencies,
    Segments,
    Metrics,
    Streaks,
    Leaderboards,
    Experiments,
    Teams,
    Leagues,
    Items,
    Goals,
    Projects,
    DefinitionFiles,
    TestClocks,
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

export const Api = declared.annotateMerge(
  OpenApi.annotations({
    title: "Laurel",
    version,
    description: introduction,
    servers: [
      { url: "/", description: "Paths as documented" },
      { url: "/api", description: "The same operations under /api/v1" },
    ],
    transform: (document) => stateScopes(declared, completeReference(document)),
  }),
)
