/**
 * Calls operations of the contract as a browser or a phone does, on a real server with real keys.
 */
import { Effect } from "effect"
import { HttpApi } from "effect/http-api"
import type { CreatedKey, KeyRequest } from "../../src/accounts/ApiKeys.ts"
import { Api } from "../../src/http/api/Api.ts"
import { ApiKey } from "../../src/http/api/Common.ts"
import type { DashboardServer } from "../dashboard/fixture.ts"
import { assertDeclared } from "./contract.ts"

/** Every operation that needs a key, from the declaration, such as `GET /v1/users/:id`. */
export const operations = (): ReadonlyArray<string> => {
  const found: Array<string> = []
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      if (endpoint.middlewares.has(ApiKey)) found.push(`${endpoint.method} ${endpoint.path}`)
    },
  })
  return found.sort()
}

/** The operations that a publishable key may call. */
export const publicReads: ReadonlyArray<string> = [
  "GET /v1/badges",
  "GET /v1/badges/:id",
  "GET /v1/goals",
  "GET /v1/goals/:id",
  "GET /v1/items",
  "GET /v1/items/:id",
  "GET /v1/leaderboard",
  "GET /v1/leaderboards/:id/entries",
  "GET /v1/leaderboards/:id/groups",
  "GET /v1/leaderboards/:id/teams",
  "GET /v1/quests",
  "GET /v1/quests/:id",
]

export interface Asked {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into replies of all kinds
  readonly json: any
}

/** Sends a request with a key or token, and checks the reply against the contract. */
export const asker =
  ({ url }: Pick<DashboardServer, "url">) =>
  async (
    credential: string | null,
    operation: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Asked> => {
    const [method = "", path = ""] = operation.split(" ")
    const reply = await fetch(url + path, {
      method,
      headers: {
        ...(credential !== null && { authorization: `Bearer ${credential}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (reply.headers.get("content-type") === "text/event-stream") {
      await reply.body!.cancel()
      return { status: reply.status, headers: reply.headers, json: undefined }
    }
    const text = await reply.text()
    const json = text === "" ? undefined : JSON.parse(text)
    if (text !== "") assertDeclared(method, path, reply.status, json)
    return { status: reply.status, headers: reply.headers, json }
  }

export type Ask = ReturnType<typeof asker>

/** The operations that `credential` may call, with `userId` in place of each id. */
export const openedTo = async (
  ask: Ask,
  credential: string,
  userId: string,
): Promise<ReadonlyArray<string>> => {
  const opened: Array<string> = []
  for (const operation of operations()) {
    const body = /^(POST|PUT|PATCH)/.test(operation) ? {} : undefined
    const path = operation.replace(":id", userId).replace(/:\w+/g, "evt_0mi8k3f2a4c92")
    const { json, status } = await ask(credential, path, body)
    if (status !== 403) opened.push(operation)
    else if (json.code !== "insufficient_scope") throw new Error(`${operation}: ${json.code}`)
  }
  return opened
}

export const createKey = (
  server: DashboardServer,
  wish: Partial<KeyRequest> = {},
): Promise<CreatedKey> =>
  Effect.runPromise(
    server.keys.create({
      project: "shop",
      environment: "sandbox",
      scope: "full",
      ...wish,
    }),
  )
