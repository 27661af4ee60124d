/** How the service is; no key is needed. These answer under their own path only. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { oneOf } from "./Checks.ts"
import { NotReady } from "./Problems.ts"

const Status = Schema.Struct({
  status: oneOf(["ok"]).annotate({ description: "It is." }),
}).annotate({ examples: [{ status: "ok" }] })
const atRoot = { servers: [{ url: "/" }] }

export const System = HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("health", "/healthz", { success: Status }).annotateMerge(
      OpenApi.annotations({
        summary: "Is the process up?",
        description:
          "200 as long as the process answers at all, also while it starts or shuts down.",
        override: atRoot,
      }),
    ),
    HttpApiEndpoint.get("ready", "/readyz", { success: Status, error: NotReady }).annotateMerge(
      OpenApi.annotations({
        summary: "Does it accept requests?",
        description:
          "503 while it starts (`starting`; the detail says what it is at) or shuts down (`shutting_down`).",
        override: atRoot,
      }),
    ),
    HttpApiEndpoint.get("openapi", "/openapi.json", {
      success: Schema.Record(Schema.String, Schema.Unknown).annotate({
        examples: [{ openapi: "3.1.0", info: { title: "Laurel", version: "1" }, paths: {} }],
      }),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "This document",
        description: "The whole API as OpenAPI 3.1, made from what the server itself runs on.",
        override: atRoot,
      }),
    ),
    HttpApiEndpoint.get("docs", "/docs", {
      success: Schema.String.annotate({ examples: ["<!doctype html>"] }).pipe(
        HttpApiSchema.asText({ contentType: "text/html" }),
      ),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "The reference, to read",
        description: "This document as a page for browsers, which loads nothing from elsewhere.",
        override: atRoot,
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "System", description: "How the service is. No key is needed." }),
  )
