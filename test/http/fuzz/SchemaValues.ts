/**
 * Random values for a JSON Schema of an OpenAPI document: valid, nearly valid, and of a different
 * form.
 */

// biome-ignore lint/suspicious/noExplicitAny: a JSON Schema is JSON of any form
export type Json = any

export class SchemaValues {
  readonly #document: Json
  readonly #random: () => number
  /** Values from earlier replies, by the name of the member that takes them. */
  readonly #known: ReadonlyMap<string, ReadonlyArray<string>>

  constructor(
    document: Json,
    random: () => number,
    known: ReadonlyMap<string, ReadonlyArray<string>>,
  ) {
    this.#document = document
    this.#random = random
    this.#known = known
  }

  below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  pick<A>(items: ReadonlyArray<A>): A {
    return items[this.below(items.length)]!
  }

  resolve(schema: Json): Json {
    if (schema?.$ref === undefined) return schema
    const path = String(schema.$ref).slice(2).split("/")
    const found = path.reduce<Json>((node, key) => node[key.replaceAll("~1", "/")], this.#document)
    return this.resolve(found)
  }

  /** A value that `schema` allows, as far as it states. `name` is the name of the member. */
  valid(of: Json, name = "", depth = 0): Json {
    const schema = this.resolve(of)
    const alternatives = schema.anyOf ?? schema.oneOf
    if (alternatives !== undefined) return this.valid(this.pick(alternatives), name, depth)
    if (schema.const !== undefined) return schema.const
    if (schema.enum !== undefined) return this.pick(schema.enum)
    const type = Array.isArray(schema.type) ? this.pick(schema.type) : schema.type
    switch (type) {
      case "object":
        return this.#object(schema, name, depth)
      case "array": {
        const most = Math.min(schema.maxItems ?? 4, 4)
        const count = Math.max(schema.minItems ?? 0, this.below(most + 1))
        return Array.from({ length: count }, () => this.valid(schema.items, name, depth + 1))
      }
      case "string":
        return this.#text(schema, name)
      case "integer":
      case "number":
        return this.#number(schema, type)
      case "boolean":
        return this.below(2) === 0
      case "null":
        return null
      default:
        return this.anything(2)
    }
  }

  #object(schema: Json, of: string, depth: number): Json {
    const value: Record<string, Json> = {}
    const required: ReadonlyArray<string> = schema.required ?? []
    for (const [name, member] of Object.entries(schema.properties ?? {})) {
      if (!required.includes(name) && this.below(2 + depth) !== 0) continue
      value[name] = this.valid(member, name, depth + 1)
    }
    const more = schema.additionalProperties
    if (schema.properties === undefined && more !== false) {
      for (let count = this.below(4); count > 0; count--) {
        const member = typeof more === "object" ? more : {}
        const names = this.#known.get(`${of}.*`) ?? ["score", "lesson", "a.b", "__proto__x", "é"]
        value[this.pick(names)] = this.valid(member)
      }
    }
    return value
  }

  #text(schema: Json, name: string): string {
    const known = this.#known.get(name)
    if (known !== undefined && known.length > 0 && this.below(6) !== 0) return this.pick(known)
    const examples: ReadonlyArray<string> = schema.examples ?? []
    if (schema.format === "date-time") return new Date(Date.now() - this.below(1e9)).toISOString()
    if (examples.length > 0 && (schema.pattern !== undefined || this.below(2) === 0)) {
      return this.pick(examples)
    }
    const most = Math.min(schema.maxLength ?? 12, 12)
    const length = Math.max(schema.minLength ?? 0, 1 + this.below(most))
    return Array.from({ length }, () => this.pick(["a", "B", "7", "_", " ", "ü", "😀"])).join("")
  }

  #number(schema: Json, type: string): number {
    const least = Math.max(schema.minimum ?? -100, -1e9)
    const most = Math.min(schema.maximum ?? least + 200, least + 1_000)
    const value = this.pick([least, most, least + this.#random() * (most - least)])
    return type === "integer" ? Math.round(value) : value
  }

  /** `value`, which is valid, with a change that may make it invalid. */
  near(value: Json): Json {
    if (typeof value !== "object" || value === null || this.below(5) === 0)
      return this.#other(value)
    const copy = structuredClone(value)
    const names = Object.keys(copy)
    if (Array.isArray(copy)) {
      if (copy.length === 0 || this.below(4) === 0) copy.push(this.anything(1))
      else if (this.below(5) === 0) copy.push(...Array(60).fill(copy[0]))
      else copy[this.below(copy.length)] = this.near(this.pick(copy))
      return copy
    }
    const kind = this.below(4)
    if (kind === 0 || names.length === 0) copy[this.pick(strangeNames)] = this.anything(2)
    else if (kind === 1) delete copy[this.pick(names)]
    else {
      const name = this.pick(names)
      copy[name] = this.near(copy[name])
    }
    return copy
  }

  #other(value: Json): Json {
    if (typeof value === "string") {
      return this.pick([
        "",
        `${value}\u0000`,
        value.repeat(200),
        `${value}\ud800`,
        value.toLowerCase(),
        ` ${value}`,
        5,
        null,
      ])
    }
    if (typeof value === "number") {
      return this.pick([-1, 0, 0.5, -value, value + 0.1, 1e300, 2 ** 53, String(value), null])
    }
    return this.anything(2)
  }

  /** JSON of any form. */
  anything(depth: number): Json {
    const leaf = this.below(depth > 0 ? 8 : 6)
    if (leaf === 6) return Array.from({ length: this.below(4) }, () => this.anything(depth - 1))
    if (leaf === 7) {
      const names = Array.from({ length: this.below(4) }, () => this.pick(strangeNames))
      return Object.fromEntries(names.map((name) => [name, this.anything(depth - 1)]))
    }
    return [null, true, this.below(100) - 50, 1e300, "text", this.pick(strangeNames)][leaf]
  }
}

/** Names that objects inherit, or that break careless code. */
const strangeNames = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "",
  "a~/b",
  "é",
  "x",
]
