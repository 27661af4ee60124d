/**
 * Bodies that aim at processor time. For every operation of the contract with a JSON body, every
 * member of its schema, and an unknown member, has a value that is costly to visit, as large as the
 * operation accepts.
 */
import { Context, type Schema, type SchemaAST } from "effect"
import { HttpApi } from "effect/http-api"
import { Api } from "../../../src/http/api/Api.ts"
import { BodyBytesMax } from "../../../src/http/api/Common.ts"
import { limits } from "../../../src/Limits.ts"

export interface HostileBody {
  readonly operation: string
  /** The place and the kind of the costly part. */
  readonly name: string
  readonly schema: Schema.Top
  readonly bytesMax: number
  readonly text: () => string
}

type Random = () => number

const many = (bytes: number, open: string, item: (i: number) => string, close: string): string => {
  const items: Array<string> = []
  for (let i = 0, length = 2; length < bytes; i++) {
    const next = item(i)
    items.push(next)
    length += next.length + 1
  }
  return `${open}${items.slice(0, -1).join(",")}${close}`
}

const repeated = (bytes: number, piece: string): string =>
  piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)))

/** Texts of a given size that are costly to parse. */
const shapes: Readonly<Record<string, (bytes: number, random: Random) => string>> = {
  members: (bytes) => many(bytes, "{", (i) => `"${i.toString(36)}":1`, "}"),
  numbered: (bytes) => many(bytes, "{", (i) => `"${i * 7}":{}`, "}"),
  duplicates: (bytes) => many(bytes, "{", () => '"a":1', "}"),
  numbers: (bytes) => many(bytes, "[", () => "1", "]"),
  fractions: (bytes, random) => many(bytes, "[", () => String(random()), "]"),
  objects: (bytes) => many(bytes, "[", () => "{}", "]"),
  arrays: (bytes) => many(bytes, "[", () => "[]", "]"),
  texts: (bytes) => many(bytes, "[", (i) => `"${i}"`, "]"),
  same: (bytes) => many(bytes, "[", () => '""', "]"),
  deepArrays: (bytes) => "[".repeat(bytes / 2 - 1) + "]".repeat(bytes / 2 - 1),
  deepObjects: (bytes) => `${repeated(bytes / 2, '{"a":')}1${repeated(bytes / 10 - 1, "}")}`,
  text: (bytes) => `"${repeated(bytes - 2, "x")}"`,
  escapes: (bytes) => `"${repeated(bytes - 2, "\\ud800")}"`,
  wide: (bytes) => `"${repeated(bytes - 2, "😀")}"`,
  dots: (bytes) => `"${repeated(bytes - 2, "a.")}"`,
  url: (bytes) => `"https://${repeated(bytes - 12, "@/")}"`,
  digits: (bytes) => repeated(bytes, "9"),
  random: (bytes, random) => {
    const value = (depth: number): string => {
      const kind = random()
      if (kind < 0.5 || depth > 6) return kind < 0.2 ? '"x"' : "1"
      const items = Array.from({ length: Math.floor(random() * 6) }, () => value(depth + 1))
      return kind < 0.75
        ? `[${items.join(",")}]`
        : `{${items.map((item, i) => `"${i}":${item}`).join(",")}}`
    }
    return many(bytes, "[", () => value(0), "]")
  },
}

/** The names of the members of `ast` at any depth, each with its path. */
const pathsOf = (
  ast: SchemaAST.AST,
  before: ReadonlyArray<string>,
): Array<ReadonlyArray<string>> => {
  if (before.length > 3) return []
  if (ast._tag === "Union") return ast.types.flatMap((type) => pathsOf(type, before))
  if (ast._tag === "Arrays") return ast.rest.flatMap((item) => pathsOf(item, [...before, "[]"]))
  if (ast._tag !== "Objects") return []
  return ast.propertySignatures.flatMap(({ name, type }) => {
    const path = [...before, String(name)]
    return [path, ...pathsOf(type, path)]
  })
}

const wrap = (path: ReadonlyArray<string>, text: string): string =>
  path.reduceRight((inner, step) => (step === "[]" ? `[${inner}]` : `{"${step}":${inner}}`), text)

/** All hostile bodies. `random` decides their random parts. */
export const hostileBodies = function* (random: Random): Generator<HostileBody> {
  const operations: Array<Omit<HostileBody, "name" | "text">> = []
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group, mergedAnnotations }) => {
      const found = endpoint.payload.get("application/json")
      if (found === undefined) return
      const operation = `${group.identifier}.${endpoint.identifier}`
      const bytesMax = Context.getOrElse(mergedAnnotations, BodyBytesMax, () => limits.bodyBytesMax)
      operations.push({ operation, schema: found.schemas[0], bytesMax })
    },
  })
  for (const { operation, bytesMax, schema } of operations) {
    const known = new Map(pathsOf(schema.ast, []).map((path) => [path.join("."), path]))
    for (const path of [[], ["unknown"], ...known.values()]) {
      for (const [shape, make] of Object.entries(shapes)) {
        const text = () => wrap(path, make(bytesMax - 300, random))
        yield { operation, schema, bytesMax, name: `${path.join(".")} ${shape}`, text }
      }
    }
  }
}
