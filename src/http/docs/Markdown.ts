/**
 * The API reference as Markdown, for programs that read text: a page for each tag of the OpenAPI
 * document, and one for the messages. A page has its operations, then every shape that they name,
 * so that each page can be read alone.
 */

interface Schema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly description?: string
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: ReadonlyArray<string>
  readonly items?: Schema
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly anyOf?: ReadonlyArray<Schema>
  readonly oneOf?: ReadonlyArray<Schema>
  readonly allOf?: ReadonlyArray<Schema>
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly additionalProperties?: Schema | boolean
  readonly examples?: ReadonlyArray<unknown>
}

interface Body {
  readonly content?: { readonly [type: string]: { readonly schema?: Schema } }
}

interface Operation {
  readonly tags?: ReadonlyArray<string>
  readonly summary?: string
  readonly description?: string
  readonly parameters?: ReadonlyArray<{
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly description?: string
    readonly schema?: Schema
  }>
  readonly requestBody?: Body
  readonly responses: { readonly [status: string]: Body & { readonly description?: string } }
}

/** What this file reads of an OpenAPI 3.1 document. */
export interface Document {
  readonly info: { readonly version: string; readonly description?: string }
  readonly tags?: ReadonlyArray<{ readonly name: string; readonly description?: string }>
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly schemas: { readonly [name: string]: Schema } }
}

export interface Page {
  /** The last part of its path, such as `test-clock.md`. */
  readonly name: string
  readonly title: string
  readonly description: string
  readonly text: string
}

export const pageName = (tag: string): string => `${tag.toLowerCase().replaceAll(" ", "-")}.md`

/** A page for each tag, in the order of the document. */
export const pagesOf = (document: Document): ReadonlyArray<Page> =>
  (document.tags ?? []).map(({ description = "", name }) => ({
    name: pageName(name),
    title: name,
    description,
    text: pageText(document, name, description),
  }))

/** `/llms.txt` (llmstxt.org): what Laurel is, and where each page of the reference is. */
export const indexText = ({ info }: Document, pages: ReadonlyArray<Page>): string =>
  `# Laurel ${info.version}

> ${(info.description ?? "").replace("\n\n", "\n\n## What holds everywhere\n\n")}

## API reference

${pages.map(({ description, name, title }) => `- [${title}](/docs/${name}): ${description}`).join("\n")}

## Optional

- [OpenAPI document](/openapi.json): the same as JSON
- [Reference for people](/docs)
`

const pageText = (document: Document, tag: string, description: string): string => {
  const shapes = new Shapes(document)
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags?.includes(tag) === true)
      .map(([method, operation]) => operationText(shapes, method, path, operation)),
  )
  const blocks = [`# ${tag}`, description, ...operations]
  const named = shapes.texts()
  return `${[...blocks, ...(named.length === 0 ? [] : ["## Shapes"]), ...named].join("\n\n")}\n`
}

const operationText = (
  shapes: Shapes,
  method: string,
  path: string,
  { description, parameters = [], requestBody, responses, summary }: Operation,
): string => {
  const blocks = [`## ${summary ?? path}`, `\`${method.toUpperCase()} ${path}\``]
  if (description !== undefined) blocks.push(description)
  const given = parameters.map(({ description = "", in: place, name, required, schema = {} }) => {
    const kind = `${shapes.typeOf(schema)}, ${place}${required === true ? ", required" : ""}`
    return `- \`${name}\` (${kind}): ${description}`
  })
  if (given.length > 0) blocks.push(`Parameters:\n\n${given.join("\n")}`)
  const body = schemaOf(requestBody)
  if (body !== undefined) blocks.push(`Body: ${shapes.typeOf(body)}`)
  const replies = Object.entries(responses).map(([status, reply]) => {
    const schema = Number(status) < 300 ? schemaOf(reply) : undefined
    const shape = schema === undefined ? "" : ` ${shapes.typeOf(schema)}`
    return `- ${status}:${shape} ${reply.description ?? ""}`.trimEnd()
  })
  blocks.push(`Replies:\n\n${replies.join("\n")}`)
  return blocks.join("\n\n")
}

const schemaOf = (body: Body | undefined): Schema | undefined =>
  Object.values(body?.content ?? {})[0]?.schema

/** The shapes that a page names. */
class Shapes {
  readonly #schemas: Document["components"]["schemas"]
  readonly #named = new Set<string>()

  constructor({ components }: Document) {
    this.#schemas = components.schemas
  }

  /** A shape in words. Remembers the shapes that the words name. */
  typeOf(schema: Schema): string {
    const { $ref, additionalProperties, anyOf, const: constant, enum: values, items } = schema
    if ($ref !== undefined) {
      const name = $ref.slice($ref.lastIndexOf("/") + 1)
      this.#named.add(name)
      return name
    }
    const parts = anyOf ?? schema.oneOf ?? schema.allOf
    if (parts !== undefined) {
      const word = schema.allOf === undefined ? " or " : " and "
      return [...new Set(parts.map((part) => this.typeOf(part)))].join(word)
    }
    if (constant !== undefined) return JSON.stringify(constant)
    if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(" or ")
    if (items !== undefined) return `list of ${this.typeOf(items)}${atMost(schema.maxItems)}`
    if (schema.properties !== undefined) {
      const members = Object.entries(schema.properties).map(
        ([name, member]) => `${name}: ${this.typeOf(member)}`,
      )
      return `{ ${members.join(", ")} }`
    }
    if (typeof additionalProperties === "object") {
      return `object of ${this.typeOf(additionalProperties)} by key`
    }
    const { maximum, maxLength, minimum, type = "any" } = schema
    const name = typeof type === "string" ? type : type.join(" or ")
    if (minimum !== undefined && maximum !== undefined) return `${name} ${minimum} to ${maximum}`
    return `${name}${minimum === undefined ? "" : ` from ${minimum}`}${atMost(maximum ?? maxLength)}`
  }

  /** The named shapes, and those that they name in turn. The set grows while this walks it. */
  texts(): ReadonlyArray<string> {
    const texts: Array<string> = []
    for (const name of this.#named) texts.push(this.#textOf(name, this.#schemas[name] ?? {}))
    return texts
  }

  #textOf(name: string, schema: Schema): string {
    const { description = "", examples = [], properties, required = [] } = schema
    const blocks = [`### ${name}`]
    if (description !== "") blocks.push(description)
    if (properties === undefined) blocks.push(`Type: ${this.typeOf(schema)}`)
    else {
      const members = Object.entries(properties).map(([member, shape]) => {
        const kind = `${this.typeOf(shape)}${required.includes(member) ? ", required" : ""}`
        return `- \`${member}\` (${kind}): ${shape.description ?? ""}`.replace(/: $/, "")
      })
      blocks.push(members.join("\n"))
    }
    if (examples.length > 0) {
      blocks.push(`\`\`\`json\n${JSON.stringify(examples[0])}\n\`\`\``)
    }
    return blocks.join("\n\n")
  }
}

const atMost = (maximum: number | undefined): string =>
  maximum === undefined ? "" : ` up to ${maximum}`
