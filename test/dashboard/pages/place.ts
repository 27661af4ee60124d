/**
 * Project `shop` with an admin and a viewer, project `bank` beside it, and keys to ask the API of
 * each environment.
 */
import { Effect } from "effect"
import { ask } from "../browser/sample.ts"
import { type Browser, type DashboardServer, startDashboard } from "../fixture.ts"

type EnvironmentName = "production" | "sandbox"

/** Asks the API of an environment, in JSON; fails unless the reply is a 2xx. */
export type AskApi = (method: string, path: string, body?: unknown) => ReturnType<typeof ask>

export interface Places {
  readonly server: DashboardServer
  readonly owner: Browser
  readonly admin: Browser
  readonly viewer: Browser
  readonly api: (project: "bank" | "shop", environment: EnvironmentName) => AskApi
}

export const startPlaces = async (): Promise<Places> => {
  const server = await startDashboard()
  const keys = new Map<string, string>()
  for (const project of ["shop", "bank"]) {
    for (const environment of ["sandbox", "production"] as const) {
      const made = server.keys.create({ project, environment, scope: "full" })
      keys.set(`${project} ${environment}`, (await Effect.runPromise(made)).key)
    }
  }
  const owner = await server.owner()
  const { projects } = await Effect.runPromise(server.engine.readDirectory)
  const shop = [...projects.values()].find(({ name }) => name === "shop")!.id
  return {
    server,
    owner,
    admin: await server.joined(owner, "admin", `admin ${shop}`),
    viewer: await server.joined(owner, "viewer", `viewer ${shop}`),
    api: (project, environment) => (method, path, body) =>
      ask(server.url, keys.get(`${project} ${environment}`)!, method, path, body),
  }
}

/** The number of occurrences of `part` in `text`. */
export const occurrences = (text: string, part: string): number => text.split(part).length - 1

/** The value of the hidden field of a form that makes a second click harmless. */
export const idempotencyKeyOf = (text: string): string =>
  /name="idempotencyKey" value="([^"]+)"/.exec(text)![1]!
