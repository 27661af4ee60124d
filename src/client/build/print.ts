/**
 * Prints the two generated files of the client from the declaration in `src/http/api`: `operations.ts` has what the client
 * needs to call an operation, `types.ts` its types. Operations without a key are left out, which are for the server's
 * operator, and the stream, which the client follows by itself.
 */
import { OpenApi } from "effect/http-api"
import { errorKinds } from "../../domain/values/Errors.ts"
import { Api } from "../../http/api/Api.ts"
import { comment, type Json, TypePrinter } from "./TypePrinter.ts"

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

/** The media types and schemas of a reply that is no error. */
const repliesOf = ({ declared }: Operation): ReadonlyArray<readonly [string, Json]> =>
  Object.entries<Json>(declared.responses)
    .filter(([status]) => Number(status) < 400)
    .flatMap(([, { content = {} }]) =>
      Object.entries<Json>(content).map(([media, { schema }]) => [media, schema] as const),
    )

const isCallable = (operation: Operation): boolean =>
  operation.declared.security.length > 0 &&
  repliesOf(operation).every(([media]) => media === "application/json")

const keyed = (operation: Operation): boolean =>
  parametersOf(operation, "header").some(({ name }) => name === "idempotency-key")

/** Whether the argument after the ids is a body, a query or none. */
const inputOf = (operation: Operation): "body" | "query" | "-" => {
  const hasQuery = parametersOf(operation, "query").length > 0
  if (operation.declared.requestBody === undefined) return hasQuery ? "query" : "-"
  if (!hasQuery) return "body"
  throw new Error(
    `${operation.declared.operationId} has a body and a query: the client has one argument for both`,
  )
}

/** As `POST events body key`: `key` says that a repeat with the same `Idempotency-Key` changes nothing. */
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

const methodOf = (operation: Operation, types: TypePrinter): string => {
  const args = parametersOf(operation, "path").map(({ name }) => `${name}: string`)
  const query = queryType(operation, types)
  const { content, required = true } = operation.declared.requestBody ?? {}
  const body = content?.["application/json"]?.schema
  if (body !== undefined) args.push(`body${required ? "" : "?"}: ${types.print(body, "    ")}`)
  const needed = parametersOf(operation, "query").some(({ required }) => required)
  if (query !== "") args.push(`query${needed ? "" : "?"}: {\n${query}    }`)
  args.push(`options?: ${keyed(operation) ? "KeyedCallOptions" : "CallOptions"}`)
  const replies = repliesOf(operation).map(([, schema]) => types.print(schema, "    "))
  const reply = replies.length === 0 ? "void" : replies.join(" | ")
  return `${comment(operation.declared.summary, "    ")}    ${operation.name}(${args.join(", ")}): Promise<${reply}>\n`
}

/** The text of each generated file, by name. */
export const printClient = (): Readonly<Record<"operations.ts" | "types.ts", string>> => {
  const document: Json = OpenApi.fromApi(Api)
  const all = operationsOf(document)
  const operations = all.filter(isCallable)
  const types = new TypePrinter(document)
  const table = grouped(
    operations,
    (operation) => `    ${operation.name}: "${specOf(operation)}",\n`,
  )
  const methods = grouped(operations, (operation) => methodOf(operation, types))
  const stream = all.find(({ declared }) => declared.operationId === "stream.open")!
  const query = queryType(stream, types)
  types.print({ $ref: "#/components/schemas/Message" })
  types.print({ $ref: "#/components/schemas/Fault" })
  const codes = Object.keys(errorKinds).map((code) => `  | "${code}"\n`)
  return {
    "operations.ts": `${notice}
/** Method, path under \`/v1/\`, argument after the ids; \`key\`: a repeat with the same \`Idempotency-Key\` changes nothing. */
export const operations = {
${table.map(({ group, lines }) => `  ${group}: {\n${lines}  },\n`).join("")}} as const
`,
    "types.ts": `${notice}import type { CallOptions, KeyedCallOptions } from "../CallOptions.ts"

/** The codes of problems that a server replies with. */
export type ProblemCode =
${codes.join("")}
/** The operations of the API. */
export interface Operations {
${methods.map(({ group, lines }) => `  readonly ${group}: {\n${lines}  }\n`).join("")}}

/** What a stream may be asked for. */
export interface StreamQuery {
${query.replaceAll("      ", "  ")}}

${types.declarations()}`,
  }
}
