/** Helpers for tests of quests, rules, badges and projects. */
import { expect } from "vitest"
import type { CallOptions, Reply, TestServer } from "./fixture.ts"

export const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** The time in a number of hours. */
export const inHours = (hours: number): string =>
  new Date(Date.now() + hours * 3_600_000).toISOString()

/** An environment of a server that no other test uses. */
export class Place {
  readonly #server: TestServer
  readonly key: string

  constructor(server: TestServer, name: string) {
    this.#server = server
    this.key = server.accounts.addKey(`lk_test_${name}`, { environment: `prj_${name}:sandbox` })
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    return this.#server.call(method, path, { key: this.key, ...options })
  }

  get = (path: string) => this.call("GET", path)
  post = (path: string, body: unknown) => this.call("POST", path, { body })
  put = (path: string, body: unknown) => this.call("PUT", path, { body })
  patch = (path: string, body: unknown) => this.call("PATCH", path, { body })
  delete = (path: string) => this.call("DELETE", path)

  /** The id in the reply to a creation. */
  async create(path: string, body: object): Promise<string> {
    const { json, status } = await this.post(path, body)
    expect([status, json]).toEqual([201, expect.anything()])
    return json.id
  }

  track(userId: string, action: string, metadata: object = {}): Promise<Reply> {
    return this.post("/v1/events", { userId, action, metadata })
  }
}

/** The status and code of a problem. */
export const problemOf = ({ json, status }: Reply): readonly [number, string] => [status, json.code]

/** The faults of a reply that must be a 400, as pointer and code. */
export const faultsOf = ({
  json,
  status,
}: Reply): ReadonlyArray<readonly [pointer: string, code: string]> => {
  expect([status, json.code]).toEqual([400, "invalid_request"])
  return json.errors.map(({ code, pointer }: { code: string; pointer: string }) => [pointer, code])
}
