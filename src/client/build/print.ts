/**
 * Prints the two generated files of the client from the declaration in `src/http/api`.
 * `operations.ts` has the method, the path and the input of each operation, which the client loads.
 * `types.ts` has the types, with a description, the error codes and an example for each operation.
 * Both leave out operations that need no key, since they are for the operator of the server, and
 * the stream, for which the client has its own function. Of replies that are JSON or a table, the
 * client reads the JSON.
 */
import { OpenApi } from "effect/http-api"
import { errorKinds } from "../../domain/values/Errors.ts"
import { Api } from "../../http/api/Api.ts"
import { comment, type Json, paragraphs, property, TypePrinter } from "./TypePrinter.ts"

const notice =
  "// Printed by `npm run client:generate` from the declaration in src/http/api. Do not edit.\n"

interface Operation {
  readonly group: string
  readonly name: string
  readonly method: string
  readonly path: string
  readonly declared: Json
}

const operationsOf = (document: Json): ReadonlyArray<Operation> =>
  Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, declared]) => {
      const [group, name] = declared.operationId.split(".")
      return { group, name, method: method.toUpperCase(), path, declared }
    }),
  )

const parametersOf = ({ declared }: Operation, place: string): ReadonlyArray<Json> =>
  declared.parameters.filter((parameter: Json) => parameter.in === place)

/** The media types and schemas of the successful replies. */
const repliesOf = ({ declared }: Operation): ReadonlyArray<readonly [string, Json]> =>
  Object.entries<Json>(declared.responses)
    .filter(([status]) => Number(status) < 400)
    .flatMap(([, { content = {} }]) =>
      Object.entries<Json>(content).map(([media, { schema }]) => [media, schema] as const),
    )

/** The schemas of the replies that the client reads. */
const readsOf = (operation: Operation): ReadonlyArray<Json> =>
  repliesOf(operation).flatMap(([media, schema]) => (media === "application/json" ? [schema] : []))

const isCallable = (operation: Operation): boolean =>
  operation.declared.security.length > 0 &&
  repliesOf(operation).every(([media]) => media === "application/json" || media === "text/csv")

const takes = (operation: Operation, field: string): boolean =>
  parametersOf(operation, "header").some(({ name }) => name === field)

const keyed = (operation: Operation): boolean => takes(operation, "idempotency-key")

const optionsOf = (operation: Operation): string => {
  if (takes(operation, "if-match")) return "ChangeCallOptions"
  return keyed(operation) ? "KeyedCallOptions" : "CallOptions"
}

/** Whether the argument after the ids is a body, a query or absent. */
const inputOf = (operation: Operation): "body" | "query" | "-" => {
  const hasQuery = parametersOf(operation, "query").length > 0
  if (operation.declared.requestBody === undefined) return hasQuery ? "query" : "-"
  if (!hasQuery) return "body"
  throw new Error(
    `${operation.declared.operationId} has a body and a query: the client has one argument for both`,
  )
}

/**
 * The row of an operation, such as `POST events body key`. `key`: the operation takes an
 * `Idempotency-Key`.
 */
const specOf = (operation: Operation): string => {
  const path = operation.path.replace("/v1/", "").replaceAll(/\{\w+\}/g, "*")
  const parts = [operation.method, path, inputOf(operation), ...(keyed(operation) ? ["key"] : [])]
  return parts.join(" ").replace(/ -$/, "")
}

const grouped = (operations: ReadonlyArray<Operation>, print: (operation: Operation) => string) =>
  [...Map.groupBy(operations, ({ group }) => group)].map(([group, members]) => ({
    group,
    lines: members.map(print).join(""),
  }))

const queryType = (operation: Operation, types: TypePrinter): string =>
  parametersOf(operation, "query")
    .map(
      ({ description, name, required, schema }) =>
        `${comment(description, "      ")}      readonly ${name}${required ? "" : "?"}: ${types.print(schema, "      ")}\n`,
    )
    .join("")

/** The codes of the errors that an operation declares. */
const codesOf = ({ declared }: Operation): ReadonlyArray<string> =>
  Object.entries<Json>(declared.responses)
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([, { description }]) =>
      [...description.matchAll(/`(\w+)`:/g)].map(([, code]) => code),
    )

/** A value of JSON as TypeScript. */
const literal = (value: Json): string => {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries<Json>(value).map(
    ([name, member]) => `${property(name)}: ${literal(member)}`,
  )
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`
}

/**
 * A call with the examples of the declaration; of several bodies, the shortest one that is not
 * empty.
 */
const exampleOf = (operation: Operation, types: TypePrinter): string => {
  const ids = parametersOf(operation, "path").map(({ schema }) => literal(schema.examples[0]))
  const schema = operation.declared.requestBody?.content["application/json"].schema
  const bodies = schema === undefined ? [] : types.examples(schema).map(literal)
  const [body] = bodies
    .filter((text) => text !== "{}")
    .toSorted((one, other) => one.length - other.length)
  const args = body === undefined ? ids : [...ids, body]
  return `await laurel.${operation.group}.${operation.name}(${args.join(", ")})`
}

/** Description, error codes and example. `common` are the codes of every operation. */
const docOf = (
  operation: Operation,
  types: TypePrinter,
  common: ReadonlySet<string>,
): ReadonlyArray<string> => {
  const { description = "", summary } = operation.declared
  const codes = codesOf(operation).filter((code) => !common.has(code))
  const named = codes.map((code) => `\`${code}\``).join(", ")
  return [
    `${summary}. ${description}`.trim(),
    ...(codes.length === 0
      ? []
      : [`Rejects with a \`LaurelError\`, also with these codes: ${named}.`]),
    ["```ts", exampleOf(operation, types), "```"].join("\n"),
  ]
}

const methodOf = (
  operation: Operation,
  types: TypePrinter,
  common: ReadonlySet<string>,
): string => {
  const args = parametersOf(operation, "path").map(({ name }) => `${name}: string`)
  const query = queryType(operation, types)
  const { content, required = true } = operation.declared.requestBody ?? {}
  const body = content?.["application/json"]?.schema
  if (body !== undefined) args.push(`body${required ? "" : "?"}: ${types.print(body, "    ")}`)
  const needed = parametersOf(operation, "query").some(({ required }) => required)
  if (query !== "") args.push(`query${needed ? "" : "?"}: {\n${query}    }`)
  args.push(`options?: ${optionsOf(operation)}`)
  const replies = readsOf(operation).map((schema) => types.print(schema, "    "))
  const reply = replies.length === 0 ? "void" : replies.join(" | ")
  const items = itemsOf(operation, types)
  const result =
    items === undefined ? `Promise<${reply}>` : `List<${reply}, ${reply}["${items}"][number]>`
  return `${paragraphs(docOf(operation, types, common), "    ")}    ${operation.name}(${args.join(", ")}): ${result}\n`
}

/**
 * The name of the items in the reply of a list, its first member that is a list; `undefined` for an
 * operation without pages.
 */
const itemsOf = (operation: Operation, types: TypePrinter): string | undefined => {
  const properties = readsOf(operation).map((schema) => types.resolve(schema).properties)[0]
  if (properties?.nextCursor === undefined) return undefined
  return Object.keys(properties).find((name) => properties[name].type === "array")
}

const operationsDoc = (common: ReadonlySet<string>): ReadonlyArray<string> => {
  const codes = [...common].map((code) => `\`${code}\``).join(", ")
  return [
    "The operations of the API, by group. Times are ISO 8601 text.",
    `Each operation may also reject with one of these codes: ${codes}.`,
  ]
}

/** The text of each generated file, by its name. */
export const printClient = (): Readonly<Record<"operations.ts" | "types.ts", string>> => {
  const document: Json = OpenApi.fromApi(Api)
  const all = operationsOf(document)
  const operations = all.filter(isCallable)
  const types = new TypePrinter(document)
  const table = grouped(
    operations,
    (operation) => `    ${operation.name}: "${specOf(operation)}",\n`,
  )
  const common = new Set(
    codesOf(operations[0]!).filter((code) =>
      operations.every((operation) => codesOf(operation).includes(code)),
    ),
  )
  const methods = grouped(operations, (operation) => methodOf(operation, types, common))
  const stream = all.find(({ declared }) => declared.operationId === "stream.open")!
  const query = queryType(stream, types)
  types.print({ $ref: "#/components/schemas/Message" })
  types.print({ $ref: "#/components/schemas/Fault" })
  const codes = Object.keys(errorKinds).map((code) => `  | "${code}"\n`)
  return {
    "operations.ts": `${notice}
/**
 * Method, path under \`/v1/\`, argument after the ids. \`key\`: the operation takes an
 * \`Idempotency-Key\`.
 */
export const operations = {
${table.map(({ group, lines }) => `  ${group}: {\n${lines}  },\n`).join("")}} as const
`,
    "types.ts": `${notice}import type { CallOptions, ChangeCallOptions, KeyedCallOptions, List } from "../CallOptions.ts"

/** The codes of the problems that a server replies with. */
export type ProblemCode =
${codes.join("")}
${paragraphs(operationsDoc(common), "")}export interface Operations {
${methods.map(({ group, lines }) => `  readonly ${group}: {\n${lines}  }\n`).join("")}}

/** The filter of a stream. */
export interface StreamQuery {
${query.replaceAll("      ", "  ")}}

${types.declarations()}`,
  }
}
