/**
 * The reference: `/openapi.json`, a page that shows it, and `/`, which leads there. The page's script is the Scalar reader that Effect
 * ships, taken out of the page that Effect makes and served as one file that browsers keep. The page may
 * not load anything from elsewhere: its content security policy sees to it.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { type HttpApi, type HttpApiGroup, HttpApiScalar, OpenApi } from "effect/http-api"
import { version } from "../../Build.ts"
import type { PlainHandler, PlainReply } from "../contract/Interpreter.ts"
import { makeFile, type PublicFile, showFile } from "./PublicFile.ts"

/** Handlers of the reference's paths and of `/`, which redirects browsers to `browsersGoTo`. */
export const makeDocs = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  browsersGoTo = "/docs",
) =>
  Effect.gen(function* () {
    const document = yield* Effect.cached(compressed(JSON.stringify(OpenApi.fromApi(api))))
    const script = yield* Effect.cached(loadScript(api))

    const page: PlainHandler = () => Effect.map(script, showPage)
    const reader: PlainHandler = (headers) =>
      Effect.map(script, (loaded) => showFile(loaded, headers))
    const openapi: PlainHandler = (headers) =>
      Effect.map(document, (loaded) => showFile(loaded, headers))
    return new Map([
      ["/", showEntrance(browsersGoTo)],
      ["/openapi.json", openapi],
      ["/docs", page],
      ["/docs/reference.js", reader],
    ])
  })

const compressed = (document: string): Effect.Effect<PublicFile> =>
  Effect.promise(() =>
    makeFile(document, { contentType: "application/json", cacheControl: "no-cache" }),
  )

const entrance = JSON.stringify({
  name: "laurel",
  version,
  reference: "/docs",
  openapi: "/openapi.json",
})

/** Redirects a browser to `browsersGoTo`, and names the reference to other clients. */
const showEntrance =
  (browsersGoTo: string): PlainHandler =>
  ({ accept }) =>
    /\btext\/html\b/.test(String(accept ?? ""))
      ? {
          status: 302,
          contentType: "text/plain; charset=utf-8",
          body: `See ${browsersGoTo}\n`,
          headers: ["Location", browsersGoTo, "Vary", "Accept"],
        }
      : {
          status: 200,
          contentType: "application/json",
          body: entrance,
          headers: ["Vary", "Accept"],
        }

/** The reader tries whether it may use eval, which browsers report, and does without. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

const showPage = ({ tag }: PublicFile): PlainReply => ({
  status: 200,
  contentType: "text/html; charset=utf-8",
  body: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Laurel API reference</title>
    <link rel="icon" href="data:,">
    <meta name="viewport" content="width=device-width, initial-scale=1">
  </head>
  <body>
    <div id="reference"><p>The same as JSON: <a href="/openapi.json">openapi.json</a></p></div>
    <script src="/docs/reference.js?v=${tag}"></script>
  </body>
</html>
`,
  headers: [
    "Content-Security-Policy",
    contentSecurityPolicy,
    "X-Content-Type-Options",
    "nosniff",
    "Cache-Control",
    "no-cache",
  ],
})

/**
 * The reader writes every parameter into its snippets, with its example or without a value, unless the parameter has a media type.
 * So that a snippet runs as it stands, the reader gets optional parameters in this form.
 */
const start = `
const leftOut = (parameter) => {
  const { schema, ...rest } = parameter
  const isSent = parameter.required || schema.default !== undefined
  return isSent ? parameter : { ...rest, content: { "text/plain": { schema } } }
}
const show = (content) => Scalar.createApiReference("#reference", {
  content,
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  defaultOpenAllTags: true,
  authentication: { preferredSecurityScheme: "apiKey" },
  customCss: \`
    .markdown td:first-child code { white-space: nowrap; }
    .markdown-summary, .markdown-summary *, .property-detail, .property-detail * { line-height: 1.5 !important; }
  \`,
});
fetch("/openapi.json").then((reply) => reply.json()).then((document) => {
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    operation.parameters = operation.parameters.map(leftOut);
  }
  show(document);
});
`

/** Takes the reader's script out of the page that Effect renders. */
const loadScript = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): Effect.Effect<PublicFile> =>
  Effect.promise(async () => {
    const { dispose, handler } = HttpRouter.toWebHandler(
      HttpApiScalar.layer(api, { path: "/docs" }).pipe(Layer.provide(HttpServer.layerServices)),
      { disableLogger: true },
    )
    try {
      const response = await handler(new Request("http://localhost/docs"))
      const html = await response.text()
      const begin = html.indexOf("<script>") + "<script>".length
      const text = html.slice(begin, html.indexOf("</script>", begin)) + start
      return await makeFile(text, {
        contentType: "text/javascript; charset=utf-8",
        cacheControl: "public, max-age=31536000, immutable",
      })
    } finally {
      await dispose()
    }
  })
