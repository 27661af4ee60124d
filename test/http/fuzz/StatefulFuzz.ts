/**
 * Calls all operations of a server's OpenAPI document, in random order and with random values:
 * valid, nearly valid and arbitrary ones. Ids and cursors of replies go into later requests. The
 * document must declare every reply, and no reply may be a 5xx.
 */

import { randomOf } from "../../simulation/random.ts"
import type { Reply, TestServer } from "../fixture.ts"
import { type DocumentedOperation, operationsOf, ReplyCheck } from "./ReplyCheck.ts"
import { type Json, SchemaValues } from "./SchemaValues.ts"

export interface FuzzOutcome {
  readonly requests: number
  /** The number of replies for each operation and status. */
  readonly replies: ReadonlyMap<string, number>
  readonly faults: ReadonlyArray<string>
}

/** The number of values that are kept for one name. */
const rememberedMax = 40
const togetherMax = 8

class Fuzz {
  readonly #server: TestServer
  readonly #operations: ReadonlyArray<DocumentedOperation>
  readonly #check: ReplyCheck
  readonly #values: SchemaValues
  readonly #known = new Map<string, Array<string>>([["userId", ["ada", "grace", "ü/1"]]])
  readonly replies = new Map<string, number>()
  readonly faults: Array<string> = []

  constructor(server: TestServer, document: Json, random: () => number) {
    this.#server = server
    // A stream does not end, and erasing all users would leave little to test.
    this.#operations = operationsOf(document).filter(({ path }) => path !== "/v1/stream")
    this.#check = new ReplyCheck(document)
    this.#values = new SchemaValues(document, random, this.#known)
  }

  async ask(): Promise<void> {
    const values = this.#values
    const operation = values.pick(this.#operations)
    // Users, webhooks and definitions should live long enough to be used.
    if (operation.method === "DELETE" && values.below(3) !== 0) return
    const { definition, method, path } = operation
    const headers: Record<string, string> = {}
    let target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => this.#segment(path, name))
    const query = new URLSearchParams()
    for (const parameter of definition.parameters ?? []) {
      if (parameter.in === "path" || values.below(3) === 0) continue
      const known = this.#known.get(parameter.name)
      const value =
        known !== undefined && values.below(3) !== 0
          ? values.pick(known)
          : textOf(this.#mostlyValid(parameter.schema, parameter.name))
      if (parameter.in === "query") query.append(parameter.name, value)
      else if (/^[\x20-\x7e]*$/.test(value)) headers[parameter.name] = value
    }
    if (values.below(20) === 0) query.append(values.pick(["limit", "x", "__proto__"]), "1")
    const text = query.toString()
    if (text !== "") target += `?${text}`
    const content: Json = definition.requestBody?.content ?? {}
    const type = Object.keys(content).length > 0 ? values.pick(Object.keys(content)) : undefined
    let body: string | undefined
    if (type !== undefined && (definition.requestBody.required !== false || values.below(4) > 0)) {
      headers["content-type"] = values.below(30) === 0 ? "text/plain" : type
      body = this.#body(content, type)
    }
    const options = { headers, ...(body !== undefined && { body }) }
    await this.#settle(operation, target, body, this.#server.call(method, target, options))
  }

  async #settle(
    operation: DocumentedOperation,
    target: string,
    body: string | undefined,
    asked: Promise<Reply>,
  ): Promise<void> {
    const told = `${operation.method} ${target} ${(body ?? "").slice(0, 500)}`
    const reply = await asked.catch((error: unknown) => String(error))
    if (typeof reply === "string") {
      this.faults.push(`${told}\n  ${reply}`)
      return
    }
    const counted = `${operation.method} ${operation.path} ${reply.status}`
    this.replies.set(counted, (this.replies.get(counted) ?? 0) + 1)
    const fault =
      reply.status >= 500 && operation.path !== "/readyz"
        ? `answered ${reply.status} ${reply.text}`
        : this.#check.fault(operation, reply)
    if (fault !== undefined) this.faults.push(`${told}\n  ${fault}`)
    if (reply.status < 300) this.#learn(operation.path, reply.json)
  }

  #segment(path: string, name: string): string {
    const values = this.#values
    const collection = path.split("/")[2]!
    const known = this.#known.get(name === "id" ? idNames[collection]! : name) ?? []
    if (known.length > 0 && values.below(8) !== 0) return encodeURIComponent(values.pick(known))
    return values.pick(["none", "qst_01a1fc1e64c07345932e273286b5ca30", "%00", "ü", "..x", "%2F"])
  }

  #mostlyValid(schema: Json, name = ""): Json {
    const values = this.#values
    const valid = values.valid(schema, name)
    const kind = values.below(10)
    if (kind === 0) return values.anything(3)
    return kind < 4 ? values.near(valid) : valid
  }

  #body(content: Json, type: string): string {
    const values = this.#values
    const { schema } = content[type]
    if (type === "application/x-ndjson") {
      // The body is an object with one list, or has one item of the list on each line.
      const { properties } = values.resolve(content["application/json"].schema)
      const [{ items }] = Object.values<Json>(properties) as [Json]
      const lines = Array.from({ length: 1 + values.below(5) }, () =>
        JSON.stringify(this.#mostlyValid(items)),
      )
      return lines.join(values.pick(["\n", "\r\n", "\n\n"]))
    }
    const text = JSON.stringify(this.#mostlyValid(schema))
    return values.below(40) === 0 ? text.slice(0, values.below(text.length)) : text
  }

  /** Keeps the values of members that are named like ids and cursors. */
  #learn(path: string, json: Json): void {
    const remember = (name: string, value: unknown): void => {
      // The same few users each time, so that later requests find rewards and events.
      if (typeof value !== "string" || value === "" || name === "userId") return
      const known = this.#known.get(name) ?? []
      if (known.includes(value)) return
      if (known.length >= rememberedMax) known.splice(this.#values.below(known.length), 1)
      known.push(value)
      this.#known.set(name, known)
    }
    const walk = (node: Json, of: string): void => {
      if (typeof node !== "object" || node === null) return
      for (const [name, member] of Object.entries<Json>(node)) {
        if (name === "id") remember(of, member)
        else if (name.endsWith("Id")) remember(name, member)
        else if (name === "nextCursor") remember("cursor", member)
        walk(member, Array.isArray(node) ? of : (idNames[name] ?? of))
      }
    }
    const segments = path.split("/")
    walk(json, idNames[segments.at(-1)!] ?? idNames[segments[2]!] ?? "id")
  }
}

const textOf = (value: Json): string =>
  typeof value === "string" ? value.toWellFormed() : (JSON.stringify(value) ?? "")

/** The name under which requests take the ids of a collection. */
const idNames: Readonly<Record<string, string>> = {
  users: "userId",
  quests: "questId",
  badges: "badgeId",
  boosts: "boostId",
  rules: "ruleId",
  webhooks: "webhookId",
  deliveries: "deliveryId",
}

/**
 * Sends a number of requests to `server`. `seed` decides all of them, except values from replies.
 */
export const fuzz = async (
  server: TestServer,
  seed: number,
  requests: number,
): Promise<FuzzOutcome> => {
  const { json: document } = await server.call("GET", "/openapi.json", { key: null })
  const run = new Fuzz(server, document, randomOf(seed))
  for (let asked = 0; asked < requests && run.faults.length < 20; asked += togetherMax) {
    await Promise.all(Array.from({ length: togetherMax }, () => run.ask()))
  }
  return { requests, replies: run.replies, faults: [...run.faults, ...server.errors] }
}
