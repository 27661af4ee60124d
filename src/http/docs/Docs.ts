/**
 * The API reference: `/openapi.json`, the page `/docs` that shows it, the guide at `/guide`, and `/`,
 * which redirects to the reference. The script of the page is one file that browsers keep. The content security policy forbids
 * the page to load anything from other hosts.
 */
import { createHash } from "node:crypto"
import { Context, Effect } from "effect"
import { OpenApi } from "effect/http-api"
import { version } from "../../Build.ts"
import { Api } from "../api/Api.ts"
import type { PlainHandler, PlainReply } from "../contract/Interpreter.ts"
import { addressOf, guidePages, guidePictures, loadGuide, styleAddress } from "./Guide.ts"
import { pageName } from "./Markdown.ts"
import { type PublicFile, showFile } from "./PublicFile.ts"
import { loadReference } from "./ReferenceThread.ts"

const reference = Effect.promise(loadReference)

const page: PlainHandler = () => Effect.map(reference, ({ script }) => showPage(script))
const reader: PlainHandler = (headers) =>
  Effect.map(reference, ({ script }) => showFile(script, headers))
const openapi: PlainHandler = (headers) =>
  Effect.map(reference, ({ document }) => showFile(document, headers))

const index: PlainHandler = (headers) =>
  Effect.map(reference, (files) => showFile(files.index, headers))

/** Handlers of the pages as Markdown. */
const markdown = Object.values(Api.groups).map((group): readonly [string, PlainHandler] => {
  const name = pageName(Context.getOrElse(group.annotations, OpenApi.Title, () => group.identifier))
  const handler: PlainHandler = (headers) =>
    Effect.map(reference, ({ pages }) => showFile(pages[name]!, headers))
  return [`/docs/${name}`, handler]
})

/** A handler of a file of the guide. It runs no script, and loads only `sources`. */
const guideFile = (address: string, sources: string): readonly [string, PlainHandler] => {
  const policy = `default-src 'none'; ${sources}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  const handler: PlainHandler = (headers) =>
    Effect.map(Effect.promise(loadGuide), (files) => {
      const reply = showFile(files[address]!, headers)
      return { ...reply, headers: [...(reply.headers ?? []), "Content-Security-Policy", policy] }
    })
  return [address, handler]
}

const hashOf = (style: string): string =>
  `'sha256-${createHash("sha256").update(style).digest("base64")}'`

/** Handlers of the pages of the guide, its style sheet and its pictures. */
const guide = [
  ...[...guidePages.map(addressOf), styleAddress].map((address) =>
    guideFile(address, "style-src 'self'; img-src 'self' data:"),
  ),
  ...guidePictures.map(({ address, style }) => guideFile(address, `style-src ${hashOf(style)}`)),
]

/** Handlers of the reference's paths and of `/`, which redirects browsers to `browsersGoTo`. */
export const docsFor = (browsersGoTo = "/docs"): ReadonlyMap<string, PlainHandler> =>
  new Map([
    ["/", showEntrance(browsersGoTo)],
    ["/openapi.json", openapi],
    ["/docs", page],
    ["/docs/reference.js", reader],
    ["/llms.txt", index],
    ...markdown,
    ...guide,
  ])

const entrance = JSON.stringify({
  name: "laurel",
  version,
  reference: "/docs",
  guide: "/guide",
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

/** The reader tests whether it may use eval, which browsers report, and works without. */
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
