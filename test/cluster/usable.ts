/** A project of a cluster, used through two runners in turn: what one has acknowledged is there at the other. */
import { expect } from "vitest"
import { Browser } from "../dashboard/fixture.ts"
import { Receiver } from "../webhooks/Receiver.ts"
import { ask } from "./Caller.ts"
import { eventually, type Runner } from "./Runner.ts"

/** Makes a project at `one`, and uses it at `other`; returns its key. */
export const expectNewProject = async (
  project: string,
  one: Runner,
  other: Runner,
): Promise<string> => {
  const key = await one.createKey(project)
  const rule = { action: "NEW", reward: { xp: 1 } }
  expect(await ask(other.url, key, "/v1/rules", rule)).toMatchObject({ status: 201 })
  expect((await ask(one.url, key, "/v1/rules")).text).toContain('"NEW"')
  const sent = await ask(one.url, key, "/v1/events", { userId: "new", action: "NEW" })
  expect(sent).toMatchObject({ status: 200 })
  expect((await ask(other.url, key, "/v1/users/new")).body).toMatchObject({ xp: 1 })
  return key
}

/** Tokens, publishable keys, exports, streams, and webhooks of a project. */
export const expectUsable = async (
  project: string,
  key: string,
  one: Runner,
  other: Runner,
): Promise<void> => {
  const send = () => ask(one.url, key, "/v1/events", { userId: "reader", action: "COUNT" })
  const receiver = await Receiver.start()
  try {
    const hook = { url: receiver.url(), events: ["xp.earned"] }
    expect(await ask(other.url, key, "/v1/webhooks", hook)).toMatchObject({ status: 201 })
    expect(await send()).toMatchObject({ status: 200 })
    const { body } = await ask(one.url, key, "/v1/users/reader/tokens", {})
    const { token } = body as { readonly token: string }
    expect((await ask(other.url, token, "/v1/users/reader")).body).toMatchObject({ xp: 1 })
    const publishable = await one.createKey(project, { kind: "publishable", scope: "read" })
    expect((await ask(other.url, publishable, "/v1/leaderboard")).status).toBe(200)
    const headers = { authorization: `Bearer ${key}` }
    const exported = await fetch(`${other.url}/v1/users/reader/export`, { headers })
    expect([exported.status, await exported.text()]).toEqual([
      200,
      expect.stringContaining('"reader"'),
    ])
    const streaming = new AbortController()
    const stream = await fetch(`${other.url}/v1/stream?userId=reader`, {
      headers,
      signal: streaming.signal,
    })
    expect(await send()).toMatchObject({ status: 200 })
    let text = ""
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      if (text.includes("xp.earned")) break
    }
    streaming.abort()
    await eventually("a message", async () => receiver.received.length > 1 || undefined)
  } finally {
    await receiver.stop()
  }
}

/** Pages of projects at each runner, for whoever signed in at one of them. */
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
