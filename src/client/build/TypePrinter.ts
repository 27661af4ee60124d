/**
 * Prints the schemas of an OpenAPI document as TypeScript types. Throws on an unknown keyword
 * instead of guessing.
 */

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is JSON
export type Json = any

/** Keywords that narrow values without changing their TypeScript type. */
const narrowing = [
  ...["format", "pattern", "minLength", "maxLength", "minimum", "maximum", "multipleOf"],
  ...["exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "uniqueItems"],
  ...["minProperties", "maxProperties", "default", "examples", "example", "description", "title"],
  ...["contentMediaType", "contentSchema", "discriminator", "deprecated", "readOnly", "writeOnly"],
]
const shaping = [
  ...["$ref", "type", "enum", "const", "anyOf", "oneOf", "allOf"],
  ...[
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "items",
    "prefixItems",
  ],
]
const known = new Set([...narrowing, ...shaping])

/** A comment of one line. Nothing in `text` can end the comment. */
export const comment = (text: string | undefined, indent = ""): string =>
  text === undefined || text === ""
    ? ""
    : `${indent}/** ${text.replaceAll("*/", "*\\/").replaceAll(/\s*\n\s*/g, " ")} */\n`

/** A comment of paragraphs, wrapped; a paragraph of code keeps its lines. */
export const paragraphs = (texts: ReadonlyArray<string>, indent: string): string => {
  const lines = texts.flatMap((text, index) => [
    ...(index > 0 ? [""] : []),
    ...(text.startsWith("```") ? text.split("\n") : wrapped(text, 96 - indent.length)),
  ])
  const body = lines.map((line) => `${indent} * ${line.replaceAll("*/", "*\\/")}`.trimEnd())
  return `${indent}/**\n${body.join("\n")}\n${indent} */\n`
}

const wrapped = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  for (const word of text.trim().split(/\s+/)) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === "" ? word : `${line} ${word}`
  }
  return [...lines, line]
}

/** The name as the name of a member. */
export const property = (name: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)

const union = (types: ReadonlyArray<string>): string => {
  const distinct = [...new Set(types)]
  return distinct.includes("unknown") ? "unknown" : distinct.join(" | ")
}

/** The type as the item of an array or the member of an intersection. */
const grouped = (type: string): string => (/ [|&] /.test(type) ? `(${type})` : type)

export class TypePrinter {
  readonly #schemas: Readonly<Record<string, Json>>
  readonly #names = new Map<string, string>()
  readonly #used = new Set<string>()

  constructor(document: Json) {
    this.#schemas = document.components.schemas
    for (const name of Object.keys(this.#schemas)) {
      const typeName = name.replaceAll(/[^A-Za-z0-9]+(.)?/g, (_, next = "") => next.toUpperCase())
      if ([...this.#names.values()].includes(typeName))
        throw new Error(`Two schemas would be ${typeName}`)
      this.#names.set(name, typeName)
    }
  }

  /** The type of a schema. */
  print(schema: Json, indent = ""): string {
    if (schema === true) return "unknown"
    if (schema === false) return "never"
    const strange = Object.keys(schema).filter((keyword) => !known.has(keyword))
    if (strange.length > 0) throw new Error(`Unknown keywords of a schema: ${strange.join(", ")}`)
    if (schema.$ref !== undefined) return this.#reference(schema.$ref)
    if ("const" in schema) return JSON.stringify(schema.const)
    if (schema.enum !== undefined)
      return union(schema.enum.map((value: Json) => JSON.stringify(value)))
    const choice = schema.anyOf ?? schema.oneOf
    if (choice !== undefined) return union(choice.map((each: Json) => this.print(each, indent)))
    const { allOf, ...rest } = schema
    if (allOf !== undefined) {
      const parts = [
        this.print(rest, indent),
        ...allOf.map((each: Json) => this.print(each, indent)),
      ]
      const telling = [...new Set(parts)].filter((part) => part !== "unknown")
      return telling.length === 0 ? "unknown" : telling.map(grouped).join(" & ")
    }
    if (Array.isArray(schema.type)) {
      return union(schema.type.map((type: string) => this.print({ ...schema, type }, indent)))
    }
    switch (schema.type) {
      case "string":
      case "boolean":
      case "null":
        return schema.type
      case "integer":
      case "number":
        return "number"
      case "array":
        return schema.prefixItems === undefined
          ? `ReadonlyArray<${this.print(schema.items ?? true, indent)}>`
          : `readonly [${schema.prefixItems.map((each: Json) => this.print(each, indent)).join(", ")}]`
      case "object":
        return this.#object(schema, indent)
      default:
        return "unknown"
    }
  }

  #reference(reference: string): string {
    const name = reference.replace("#/components/schemas/", "")
    const typeName = this.#names.get(name)
    if (typeName === undefined) throw new Error(`No schema ${reference}`)
    this.#used.add(name)
    return typeName
  }

  #object(schema: Json, indent: string): string {
    const { additionalProperties, patternProperties, properties = {}, required = [] } = schema
    const names = Object.keys(properties)
    if (names.length === 0) {
      const others = Object.values<Json>(patternProperties ?? {})
      const values = others.length > 0 ? others : [additionalProperties ?? true]
      if (values[0] === false) return "Readonly<Record<string, never>>"
      return `Readonly<Record<string, ${union(values.map((each) => this.print(each, indent)))}>>`
    }
    const lines = names.map((name) => {
      const mark = required.includes(name) ? "" : "?"
      const inner = `${indent}  `
      const type = this.print(properties[name], inner)
      return `${comment(properties[name].description, inner)}${inner}readonly ${property(name)}${mark}: ${type}\n`
    })
    return `{\n${lines.join("")}${indent}}`
  }

  /** The schema, or the named one to which it refers. */
  resolve(schema: Json): Json {
    const named = schema.$ref?.replace("#/components/schemas/", "")
    return named === undefined ? schema : this.#schemas[named]
  }

  /** The examples that a schema declares. */
  examples(schema: Json): ReadonlyArray<Json> {
    return this.resolve(schema).examples ?? []
  }

  /** All named types that were printed so far, and the types that they refer to, by name. */
  declarations(): string {
    const printed = new Map<string, string>()
    for (let fresh = [...this.#used]; fresh.length > 0; ) {
      for (const name of fresh) {
        const schema = this.#schemas[name]
        const head = `${comment(schema.description)}export `
        const type = this.print(schema)
        const typeName = this.#names.get(name)!
        const isShape = type.startsWith("{") && !/\} [|&] /.test(type)
        printed.set(
          typeName,
          `${head}${isShape ? `interface ${typeName} ${type}` : `type ${typeName} = ${type}`}\n`,
        )
      }
      fresh = [...this.#used].filter((name) => !printed.has(this.#names.get(name)!))
    }
    return [...printed.keys()]
      .toSorted()
      .map((name) => printed.get(name))
      .join("\n")
  }
}
