/** A dashboard with one project, its API key, and people of each role. */
import { Effect } from "effect"
import { type Browser, type DashboardServer, startDashboard } from "../../fixture.ts"

// biome-ignore lint/suspicious/noExplicitAny: replies of the API are JSON
export type Json = any

export interface ApiReply {
  readonly status: number
  readonly json: Json
}

export interface World {
  readonly server: DashboardServer
  readonly owner: Browser
  readonly viewer: Browser
  /** Asks the API with a full key of the project's sandbox. */
  readonly api: (method: string, path: string, body?: unknown) => Promise<ApiReply>
}

export const startWorld = async (): Promise<World> => {
  const server = await startDashboard()
  const make = {
    project: "shop",
    environment: "sandbox",
    scope: "full",
  } as const
  const { key } = await Effect.runPromise(server.keys.create(make))
  const { projects } = await Effect.runPromise(server.engine.readDirectory)
  const owner = await server.owner()
  const viewer = await server.joined(owner, "viewer", `viewer ${[...projects.keys()][0]}`)
  const api = async (method: string, path: string, body?: unknown): Promise<ApiReply> => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, json: text === "" ? undefined : JSON.parse(text) }
  }
  return { server, owner, viewer, api }
}

/** The path of the sandbox's pages. */
export const base = "/dashboard/shop/sandbox"
