/** The generated files of the client against the declaration that they are printed from. */
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import type { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { printClient } from "../../src/client/build/print.ts"
import { TypePrinter } from "../../src/client/build/TypePrinter.ts"
import type { Operations } from "../../src/client/generated/types.ts"
import type { Api } from "../../src/http/api/Api.ts"

type Groups = (typeof Api)["groups"]

/** Any JSON is `unknown` in OpenAPI. */
type Widened<T> = [Schema.Json] extends [T]
  ? unknown
  : T extends object
    ? { [K in keyof T]: Widened<T[K]> }
    : T

/** The input of a JSON body's schema; a body of another media type is `never`. */
type Encoded<S> = S extends Schema.toCodecJson<infer Inner> ? Widened<Inner["Encoded"]> : never

type ReplyOf<Endpoint> = Endpoint extends { readonly "~Success": infer S } ? Encoded<S> : never
type BodyOf<Endpoint> = Endpoint extends { readonly "~Payload": infer S } ? Encoded<S> : never

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false

// biome-ignore lint/suspicious/noExplicitAny: a function with any arguments
type Reply<F> = F extends (...args: any) => Promise<infer Value> ? Value : never
// biome-ignore lint/suspicious/noExplicitAny: as above
type Arguments<F> = F extends (...args: infer Values) => any ? Values : never

/** The names of operations whose reply or body has another type than its schema. */
type Differing = {
  [G in keyof Operations]: {
    [N in keyof Operations[G] & keyof Groups[G]["endpoints"]]:
      | (Same<Reply<Operations[G][N]>, ReplyOf<Groups[G]["endpoints"][N]>> extends true
          ? never
          : `reply of ${G}.${N & string}`)
      | ([BodyOf<Groups[G]["endpoints"][N]>] extends [never]
          ? never
          : BodyOf<Groups[G]["endpoints"][N]> extends Arguments<Operations[G][N]>[number]
            ? never
            : `body of ${G}.${N & string}`)
  }[keyof Operations[G] & keyof Groups[G]["endpoints"]]
}[keyof Operations]

/** Names of the client that the declaration does not have. */
type Strange = {
  [G in keyof Operations]: Exclude<keyof Operations[G], keyof Groups[G]["endpoints"]>
}[keyof Operations]

const differing: ReadonlyArray<Differing | Strange> = [] satisfies ReadonlyArray<never>
type None<T extends never> = T
export type NoneDiffers = None<Differing | Strange>

const folder = resolve(import.meta.dirname, "../../src/client/generated")

describe("The generated files of the client", () => {
  it("have the operations of the declaration, and its types", () => {
    const { "operations.ts": operations } = printClient()
    expect(readFileSync(join(folder, "operations.ts"), "utf8")).toBe(operations)
    expect(differing).toEqual([])
  })
})

describe("The types of schemas", () => {
  const printer = () =>
    new TypePrinter({ components: { schemas: { "A.b": { type: "string" }, Twin: {} } } })

  it.each([
    [{ type: "object" }, "Readonly<Record<string, unknown>>"],
    [
      { type: "object", additionalProperties: { type: "integer" } },
      "Readonly<Record<string, number>>",
    ],
    [{ type: ["string", "null"] }, "string | null"],
    [{ enum: ["a", null], type: ["string", "null"] }, '"a" | null'],
    [
      { type: "array", items: { anyOf: [{ type: "string" }, { type: "null" }] } },
      "ReadonlyArray<string | null>",
    ],
    [{ $ref: "#/components/schemas/A.b" }, "AB"],
    [{}, "unknown"],
  ])("%j is %s", (schema, type) => {
    expect(printer().print(schema)).toBe(type)
  })

  it("refuses a keyword that it does not know, and a reference to nothing", () => {
    expect(() => printer().print({ not: {} })).toThrow("Unknown keywords of a schema: not")
    expect(() => printer().print({ $ref: "#/components/schemas/C" })).toThrow("No schema")
  })

  it("cannot be ended by a description", () => {
    const text = printer().print({ type: "object", properties: { a: { description: "*/ x /*" } } })
    expect(text).toBe("{\n  /** *\\/ x /* */\n  readonly a?: unknown\n}")
  })
})
