/**
 * Tests every bound of bodies that the reference states, from both sides. The cases are made from
 * the OpenAPI document, so that no member is left out. A value on a bound is accepted; a value
 * beyond it is refused, at its pointer.
 */
import { afterAll, beforeAll, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { type Json, makeWorld, realPath, withRealIds } from "./exampleWorld.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

type Path = ReadonlyArray<string | number>

/**
 * A body with one changed value, and the code of its fault; `undefined`: the value is within the
 * bound.
 */
interface Probe {
  readonly body: Json
  readonly path: Path
  readonly fault: string | undefined
}

// A member may be refused because a member that it needs is missing.
const boundFaults = ["too_long", "too_short", "out_of_range"]

const with_ = (
  body: Json,
  [key, ...rest]: ReadonlyArray<string | number>,
  value: unknown,
): Json => {
  if (key === undefined) return value
  const copy = Array.isArray(body) ? [...body] : { ...body }
  copy[key] = with_(copy[key], rest, value)
  return copy
}

const probesOf = (document: Json, root: Json, body: Json): ReadonlyArray<Probe> => {
  const probes: Array<Probe> = []
  /** Sets `value` at `path` of `base`. */
  const walk = (named: Json, value: Json, path: Path, base: Json): void => {
    const schema = document.components.schemas[named.$ref?.split("/").at(-1)] ?? named
    const probe = (probed: unknown, fault?: string) =>
      probes.push({ path, body: with_(base, path, probed), fault })
    const types = [schema.type].flat()
    if (types.includes("string")) {
      const { enum: values, maxLength, minLength, pattern } = schema
      if (values !== undefined) probe("no such value", "invalid_value")
      if (maxLength !== undefined) {
        probe("x".repeat(maxLength))
        probe("x".repeat(maxLength + 1), "too_long")
      }
      if (minLength > 0) probe("", "too_short")
      if (pattern !== undefined) probe("\n", "invalid_format")
      probe(
        ["not a text"],
        values === undefined || types.length > 1 ? "invalid_type" : "invalid_value",
      )
    }
    if (types.includes("integer") || types.includes("number")) {
      const { maximum, minimum } = schema
      if (maximum !== undefined) probe(maximum)
      if (maximum !== undefined) probe(maximum + 1, "out_of_range")
      if (minimum !== undefined) probe(minimum)
      if (minimum !== undefined) probe(minimum - 1, "out_of_range")
      probe("not a number", "invalid_type")
    }
    if (types.includes("array")) {
      const { items, maxItems, minItems } = schema
      if (value?.length > 0) {
        const [first] = value
        const many = (count: number) => Array.from({ length: count }, () => first)
        if (maxItems !== undefined) probe(many(maxItems))
        if (maxItems !== undefined) probe(many(maxItems + 1), "too_long")
        if (minItems > 0) probe([], "too_short")
        walk(items, first, [...path, 0], base)
      }
      probe("not a list", "invalid_type")
    }
    if (types.includes("object")) {
      for (const [name, member] of Object.entries<Json>(schema.properties ?? {})) {
        const target = document.components.schemas[member.$ref?.split("/").at(-1)] ?? member
        const at = [...path, name]
        const sample = value?.[name] ?? target.examples?.[0]
        walk(member, sample, at, sample === undefined ? base : with_(base, at, sample))
      }
      if (schema.additionalProperties === false) {
        const at = [...path, "noSuchMember"]
        probes.push({ path: at, body: with_(base, at, 1), fault: "unknown_member" })
      }
      if (path.length > 0) probe("not an object", "invalid_type")
    }
  }
  walk(root, body, [], body)
  return probes
}

/** A batch reports the faults of an item in the result of the item, and deliveries are signed. */
const isBatch = (path: string) =>
  /^\/v1\/(events|rewards|users\/opening|ingest\/.+)\/[\w{}]+\/?$/.test(path)

const bodyBytesMax = (path: string): number =>
  path.startsWith("/v1/definitions/")
    ? limits.definitionsBytesMax
    : path === "/v1/sources/preview"
      ? limits.sourceBodyBytesMax
      : limits.bodyBytesMax

it("Every bound on a body holds on both sides", async () => {
  const { json } = await server.call("GET", "/openapi.json", { key: null })
  const real = await makeWorld(server)
  const wrong: Array<unknown> = []
  let within = 0
  let beyond = 0
  for (const [path, item] of Object.entries<Json>(json.paths)) {
    if (isBatch(path)) continue
    for (const [method, { requestBody }] of Object.entries<Json>(item)) {
      const schema = requestBody?.content["application/json"].schema
      if (schema === undefined) continue
      const named = json.components.schemas[schema.$ref?.split("/").at(-1)] ?? schema
      const roots = named.anyOf === undefined ? [named] : named.anyOf
      for (const root of roots) {
        const target = json.components.schemas[root.$ref?.split("/").at(-1)] ?? root
        // Of several alternatives, the one that the example matches.
        const { const: only, enum: kinds = only === undefined ? undefined : [only] } =
          target.properties.type ?? {}
        const isOf = ({ type }: Json) => kinds === undefined || kinds.includes(type)
        const example = withRealIds((target.examples ?? named.examples).find(isOf), real)
        for (const { body, fault, path: at } of probesOf(json, target, example)) {
          const url = realPath(path, real)
          const reply = await server.call(method.toUpperCase(), url, { body })
          const pointer = `/${at.join("/")}`
          const found: ReadonlyArray<string> = (reply.json?.errors ?? []).flatMap((error: Json) =>
            error.pointer === pointer ? [error.code] : [],
          )
          const told = {
            method,
            path,
            pointer,
            body: JSON.stringify(body),
            status: reply.status,
            found,
          }
          if (fault === undefined) {
            within++
            if (found.some((code) => boundFaults.includes(code))) wrong.push(told)
            if (reply.status >= 500) wrong.push(told)
          } else {
            beyond++
            // A list that is one item too long can make the whole body too large: then it is
            // refused before decoding.
            const isTooLarge = Buffer.byteLength(told.body) > bodyBytesMax(path)
            const isRefused = isTooLarge
              ? reply.status === 413 && reply.json.code === "body_too_large"
              : reply.status === 400 && found.includes(fault)
            if (!isRefused) wrong.push({ ...told, body: told.body.slice(0, 1_000), fault })
          }
        }
      }
    }
  }
  expect(wrong).toEqual([])
  expect(within).toBeGreaterThan(50)
  expect(beyond).toBeGreaterThan(200)
})
