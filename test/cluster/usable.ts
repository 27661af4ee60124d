/**
 * Uses a project of a cluster through two runners in turn: what one has acknowledged, the other
 * must show.
 */
import { randomUUID } from "node:crypto"
import { expect } from "vitest"
import { Browser } from "../dashboard/fixture.ts"
import { Receiver } from "../webhooks/Receiver.ts"
import { ask, type Reply } from "./Caller.ts"
import { eventually, type Runner } from "./Runner.ts"

/**
 * The first reply but 503: on a slow machine an owner may lose its lock for a moment. A write is
 * repeated under its key.
 */
const insist = async (
  { url }: Runner,
  key: string,
  path: string,
  body?: unknown,
): Promise<Reply> => {
  const idempotencyKey = body === undefined ? undefined : randomUUID()
  const reply = await eventually(path, async () => {
    const found = await ask(url, key, path, body, idempotencyKey)
    return found.status === 503 || found.status === 409 ? undefined : found
  })
  expect([path, reply.status, reply.text]).toEqual([path, expect.toBeOneOf([200, 201]), reply.text])
  return reply
}

/** Makes a project at `one`, and uses it at `other`; returns its key. */
export const expectNewProject = async (
  project: string,
  one: Runner,
  other: Runner,
): Promise<void> => {
  const key = await eventually("a key", () => one.createKey(project))
  await insist(other, key, "/v1/rules", { action: "NEW", reward: { xp: 1 } })
  expect((await insist(one, key, "/v1/rules")).text).toContain('"NEW"')
  await insist(one, key, "/v1/events", { userId: "new", action: "NEW", id: "new" })
  expect((await insist(other, key, "/v1/users/new")).body).toMatchObject({ xp: 1 })
}

/** Tokens, publishable keys, exports, streams, and webhooks of a project. */
export const expectUsable = async (
  project: string,
  key: string,
  one: Runner,
  other: Runner,
): Promise<void> => {
  const send = (id: string) =>
    insist(one, key, "/v1/events", { userId: "reader", action: "COUNT", id })
  const receiver = await Receiver.start()
  try {
    await insist(other, key, "/v1/webhooks", { url: receiver.url(), events: ["xp.earned"] })
    await send("first")
    const { body } = await insist(one, key, "/v1/users/reader/tokens", {})
    const { token } = body as { readonly token: string }
    expect((await insist(other, token, "/v1/users/reader")).body).toMatchObject({ xp: 1 })
    const publishable = await eventually("a key", () =>
      one.createKey(project, { kind: "publishable", scope: "read" }),
    )
    await insist(other, publishable, "/v1/leaderboard")
    const headers = { authorization: `Bearer ${key}` }
    const exported = await fetch(`${other.url}/v1/users/reader/export`, { headers })
    expect(await exported.text()).toContain('"reader"')
    await eventually("a message of the stream", async () => {
      const streaming = new AbortController()
      const stream = await fetch(`${other.url}/v1/stream?userId=reader`, {
        headers,
        signal: streaming.signal,
      })
      await send(randomUUID())
      let text = ""
      for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk
        if (text.includes("xp.earned")) break
      }
      streaming.abort()
      return text.includes("xp.earned") || undefined
    })
    await eventually("a message", async () => receiver.received.length > 1 || undefined)
  } finally {
    await receiver.stop()
  }
}

/** Pages of projects at each runner, by a session that began at one of them. */
export const expectPages = async (
  browser: Browser,
  runners: ReadonlyArray<Runner>,
  projects: ReadonlyArray<string>,
): Promise<void> => {
  for (const { url } of runners) {
    const same = new Browser(url)
    for (const cookie of browser.cookies) same.cookies.set(...cookie)
    for (const project of projects) {
      for (const page of ["users", "leaderboard", "rules", "webhooks", "keys"]) {
        const { status, text } = await same.get(`/dashboard/${project}/sandbox/${page}`)
        expect([url, project, page, status]).toEqual([url, project, page, 200])
        expect(text).toContain(project)
      }
    }
  }
}
