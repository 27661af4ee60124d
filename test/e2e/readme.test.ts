/** The first minute of README.md and the quickstarts: their snippets run as they stand, and print what the pages show. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { sign } from "@octokit/webhooks-methods"
import Stripe from "stripe"
import { describe, expect, it } from "vitest"
import { root, Server, temporaryFolder } from "./program.ts"

/** The snippets of a kind in a page, one after another. */
const snippetsOf = (page: string): ReadonlyMap<string, string> => {
  const text = readFileSync(join(root, page), "utf8")
  const snippets = new Map<string, string>()
  for (const [, kind, snippet] of text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)) {
    snippets.set(kind!, (snippets.get(kind!) ?? "") + snippet!)
  }
  return snippets
}

/** Ids and times differ from run to run. */
const withoutIdsAndTimes = (text: string): unknown =>
  JSON.parse(text, (name, value) =>
    /^(eventId|occurredAt|receivedAt)$/.test(name) ? typeof value : value,
  )

/** What a program prints. */
const run = async (env: NodeJS.ProcessEnv, program: string, ...args: ReadonlyArray<string>) =>
  (await promisify(execFile)(program, args, { env, cwd: root })).stdout

/** Prints a line for each reply, and fails with the first refusal. */
const strict = `set -e\ncurl() { command curl --fail-with-body "$@"; echo; }\n`

describe("README.md", () => {
  it("shows a first minute that is true", async () => {
    const server = await Server.start(await temporaryFolder())
    const snippets = snippetsOf("README.md")
    const commands = snippets.get("sh")!.split("npm cit")[1]!.replace(/^.*\n/, "")
    const script = commands
      .replace("lk_test_…", await server.firstKey())
      .replaceAll("http://127.0.0.1:8080", server.url)
    const replies = await run(
      process.env,
      "sh",
      "-c",
      strict + script.replaceAll("curl -H", "curl -sS -H"),
    )
    const [rule, event] = replies.trim().split("\n")
    expect(JSON.parse(rule!)).toMatchObject({ action: "LESSON_DONE", reward: { xp: 50 } })
    expect(withoutIdsAndTimes(event!)).toEqual(withoutIdsAndTimes(snippets.get("json")!))
    expect(await server.stop()).toBe(0)
  })
})

describe("The quickstarts", () => {
  it("print what they show, in curl, Node and Python", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    const { url } = server
    const snippets = snippetsOf("src/client/quickstart.md")
    const addressed = (kind: string) => {
      const text = snippets.get(kind)!
      expect(text).toContain("http://127.0.0.1:8080")
      return text.replaceAll("http://127.0.0.1:8080", url)
    }
    const shell = { ...process.env, LAUREL_DATA_DIR: folder }
    const script = `${strict}${addressed("sh")}\necho "$LAUREL_KEY"`
    const printed = (await run(shell, "sh", "-c", script)).trim().split("\n")
    const [event, key] = printed.filter((line) => line !== "").slice(-2)
    expect(withoutIdsAndTimes(event!)).toEqual(withoutIdsAndTimes(snippets.get("json")!))

    const env = { ...process.env, LAUREL_KEY: key }
    const node = (text: string) => run(env, process.execPath, "--input-type=module", "--eval", text)
    const [, shown] = / \/\/ (\d+)$/m.exec(snippets.get("js")!)!
    expect(await node(addressed("js"))).toBe(`${shown}\n`)
    expect(await run(env, "python3", "-c", addressed("py"))).toBe("1 ada 50\n1 grace 50\n")
    expect(await server.stop()).toBe(0)
  })
})

describe("The guide to trackers", () => {
  it("has programs that send events, traits and an alias, as they stand", async () => {
    const server = await Server.start(await temporaryFolder())
    const env = { ...process.env, LAUREL_KEY: await server.createKey("trackers") }
    const text = readFileSync(join(root, "src/client/trackers.md"), "utf8")
    const programs = [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, program]) => program!)
    expect(programs.length).toBe(2)
    for (const program of programs) {
      const addressed = program.replaceAll("http://127.0.0.1:8080", server.url)
      await run(env, process.execPath, "--input-type=module", "--eval", addressed)
    }
    for (const [user, displayName, plan] of [
      ["ada", "Ada", "pro"],
      ["grace", "Grace", "free"],
    ]) {
      const { body } = await server.request(env.LAUREL_KEY, "GET", `/v1/users/${user}`)
      expect(body).toMatchObject({ displayName, attributes: { plan } })
    }
    const actions = await server.request(env.LAUREL_KEY, "GET", "/v1/actions")
    expect(actions.body.actions).toMatchObject([{ action: "LESSON_DONE", count: 2 }])
    expect(await server.stop()).toBe(0)
  })

  it("has sources for messages of trackers, and for webhooks as Stripe and GitHub sign them", async () => {
    const server = await Server.start(await temporaryFolder())
    const env = { ...process.env, LAUREL_KEY: await server.createKey("sources") }
    const text = readFileSync(join(root, "src/client/trackers.md"), "utf8")
    const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block!)
    expect(blocks.length).toBe(3)
    for (const block of blocks) {
      await run(env, "sh", "-c", strict + block.replaceAll("http://127.0.0.1:8080", server.url))
    }
    const pathOf = async (key: string) =>
      (await server.request(env.LAUREL_KEY, "GET", `/v1/sources/${key}`)).body.path
    const deliver = async (key: string, body: string, headers: Record<string, string>) => {
      const sent = {
        method: "POST",
        body,
        headers: { "Content-Type": "application/json", ...headers },
      }
      return (await fetch(`${server.url}${await pathOf(key)}`, sent)).json()
    }
    const user = { login: "ada" }
    const pull = JSON.stringify({
      pull_request: { merged: true, user },
      repository: { full_name: "a/b" },
    })
    const merged = await deliver("code", pull, {
      "X-GitHub-Event": "pull_request",
      "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
      "X-Hub-Signature-256": await sign("choose-a-long-secret", pull),
    })
    expect(merged).toMatchObject({ events: 1 })
    const object = { client_reference_id: "ada", payment_status: "paid", amount_total: 1_900 }
    const payload = JSON.stringify({
      id: "evt_1",
      type: "checkout.session.completed",
      data: { object },
    })
    const secret = "whsec_of_the_endpoint_at_stripe"
    const { webhooks } = new Stripe("sk_test_unused")
    const header = webhooks.generateTestHeaderString({ payload, secret })
    expect(await deliver("shop", payload, { "Stripe-Signature": header })).toMatchObject({
      events: 1,
    })
    const { body } = await server.request(env.LAUREL_KEY, "GET", "/v1/actions")
    expect(body.actions.map(({ action }: { action: string }) => action)).toEqual([
      "ORDER_PAID",
      "PULL_REQUEST_MERGED",
    ])
    const batch = [
      { type: "page", messageId: "m1", userId: "ada", name: "Home" },
      { type: "track", messageId: "m2", userId: "ada", event: "Order Completed", properties: {} },
    ]
    const sent = await server.request(env.LAUREL_KEY, "POST", "/v1/ingest/segment/batch", { batch })
    expect(sent.status).toBe(200)
    const counts = (await server.request(env.LAUREL_KEY, "GET", "/v1/actions")).body.actions
    expect(counts).toContainEqual(expect.objectContaining({ action: "PAGE_SEEN", count: 1 }))
    expect(counts).toContainEqual(expect.objectContaining({ action: "ORDER_PAID", count: 1 }))
    expect(await server.stop()).toBe(0)
  })
})
