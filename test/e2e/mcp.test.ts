/** `laurel mcp`: real processes, asked by the client of the protocol's SDK. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { describe, expect, it, onTestFinished } from "vitest"
import { freePort } from "../freePorts.ts"
import { createKey, Output, root, Server, sharedByAll, temporaryFolder } from "./program.ts"

let server: Server
let key: string
let readKey: string

sharedByAll(async () => {
  const folder = await temporaryFolder()
  server = await Server.start(folder)
  key = await server.createKey()
  readKey = (await createKey(folder, "--scope", "read")).key
  await server.request(key, "POST", "/v1/rules", {
    key: "lesson",
    action: "LESSON_DONE",
    reward: { xp: 50 },
  })
  await server.request(key, "POST", "/v1/definitions/apply", { definitions: more })
  await server.request(key, "PUT", "/v1/teams/owls", { kind: "club", name: "Owls" })
  await server.request(key, "PUT", "/v1/teams/owls/members/ada")
  await server.request(key, "POST", "/v1/events", { userId: "ada", action: "LESSON_DONE" })
})

const score = { currency: "xp" }
/** Boards of users and of teams, a league, a goal, a metric and an experiment. */
const more = {
  metrics: [{ key: "lessons", name: "Lessons", aggregate: "count", actions: ["LESSON_DONE"] }],
  leaderboards: [
    { key: "learners", name: "Learners", score, windows: ["weekly"] },
    { key: "clubs", name: "Clubs", score, entrants: "teams", teamKind: "club" },
  ],
  leagues: [
    {
      key: "weekly",
      name: "Weekly",
      score,
      divisions: [
        { key: "bronze", name: "Bronze", promote: 1, demote: 0 },
        { key: "silver", name: "Silver", promote: 0, demote: 1 },
      ],
    },
  ],
  goals: [{ key: "together", name: "Together", score, target: 1_000 }],
  experiments: [
    {
      key: "hearts",
      name: "Hearts",
      metric: "lessons",
      variants: [
        { key: "control", weight: 1 },
        { key: "more", weight: 1 },
      ],
    },
  ],
}

/** As the guide for agents names the command of a checkout. */
const command = join(root, "src/laurel.sh")

/** A client of `laurel mcp` on its standard input and output. */
const onStdio = async (key: string, ...flags: ReadonlyArray<string>): Promise<Client> => {
  const client = new Client({ name: "test", version: "1.0.0" })
  const env = { PATH: process.env.PATH!, LAUREL_URL: server.url, LAUREL_KEY: key }
  const args = ["mcp", ...flags]
  await client.connect(new StdioClientTransport({ command, args, env }))
  onTestFinished(() => client.close())
  return client
}

const call = async (client: Client, name: string, input: Record<string, unknown> = {}) => {
  const { content, isError } = await client.callTool({ name, arguments: input })
  const [{ text }] = content as unknown as [{ readonly text: string }]
  return { isError: isError === true, reply: JSON.parse(text) }
}

const rule = (xp: number) => ({ rules: [{ key: "lesson", action: "LESSON_DONE", reward: { xp } }] })

describe("laurel mcp", () => {
  it("reads users, history, board, actions and definitions, and simulates an event", async () => {
    const client = await onStdio(readKey)
    const { reply } = await call(client, "read_user", { userId: "ada" })
    expect(reply).toMatchObject({ user: { id: "ada", xp: 50 }, progress: { level: 1 } })
    const history = await call(client, "read_history", { userId: "ada", kind: "event.tracked" })
    expect(history.reply.facts).toMatchObject([{ cause: { action: "LESSON_DONE" } }])
    const metrics = await call(client, "read_metrics", { userId: "ada" })
    expect(metrics.reply.metrics).toMatchObject([{ key: "lessons", total: 1 }])
    const board = await call(client, "read_leaderboard", { window: "weekly", around: "ada" })
    expect(board.reply.entries).toMatchObject([{ userId: "ada", rank: 1 }])
    expect((await call(client, "list_users", { limit: 1 })).reply.users).toHaveLength(1)
    expect((await call(client, "list_actions")).reply.actions).toMatchObject([{ count: 1 }])
    const definitions = await call(client, "read_definitions")
    expect(definitions.reply.rules).toMatchObject([{ key: "lesson", reward: { xp: 50 } }])
    const full = await onStdio(key)
    const event = { userId: "ada", action: "LESSON_DONE" }
    const simulated = await call(full, "simulate_event", { event })
    expect(simulated.reply).toMatchObject({ xp: { earned: 50, total: 100 } })
    expect((await call(client, "read_user", { userId: "ada" })).reply.user.xp).toBe(50)
  })

  it("reads every board, leagues, goals, series and experiments, and more of a user", async () => {
    const client = await onStdio(readKey)
    const read = async (name: string, input: Record<string, unknown>) =>
      (await call(client, name, input)).reply
    const learners = { leaderboard: "learners", window: "weekly", around: "ada" }
    expect((await read("read_leaderboard", learners)).entries).toMatchObject([{ userId: "ada" }])
    const clubs = await read("read_leaderboard", { leaderboard: "clubs" })
    expect(clubs.entries).toMatchObject([{ team: { id: "owls" }, score: 50 }])
    const { cohorts } = await read("read_league", { league: "weekly", division: "bronze" })
    const cohort = await read("read_league", { league: "weekly", cohort: cohorts[0].id })
    expect(cohort.entries).toMatchObject([{ userId: "ada", score: 50 }])
    const goal = await read("read_goal", { goal: "together", limit: 1 })
    expect(goal).toMatchObject({ goal: { key: "together" }, contributors: {} })
    const lessons = { metric: "lessons", by: "week" }
    expect((await read("read_series", { ...lessons, userId: "ada" })).points.at(-1).value).toBe(1)
    await expect.poll(async () => (await read("read_series", lessons)).points?.at(-1).value).toBe(1)
    const hearts = { experiment: "hearts", retention: "D7" }
    await expect.poll(async () => (await read("read_experiment", hearts)).variants?.length).toBe(2)
    const { experiments } = await read("list_experiments", { limit: 5 })
    expect(experiments).toMatchObject([{ key: "hearts", result: { metric: "lessons" } }])
    const [{ key: variant }] = experiments[0].variants
    const retention = await read("read_retention", { experiment: "hearts", variant })
    expect(retention).toMatchObject({ experiment: "hearts", variant, segment: null })
    const mechanics = await read("list_mechanics", { kind: "goal", days: 7, limit: 5 })
    expect(mechanics).toMatchObject({ total: 1, mechanics: [{ key: "together" }] })
    expect(await read("read_recap", { userId: "ada" })).toMatchObject({ totals: { events: 1 } })
    const parts = ["streaks", "metrics", "segments", "leagues", "goals", "items", "purchases"]
    const whole = await read("read_user", { userId: "ada", parts })
    expect(Object.keys(whole)).toEqual(["user", "progress", ...parts])
  })

  it("refuses ids that would lead elsewhere, and what a tool does not take", async () => {
    const client = await onStdio(readKey)
    for (const userId of ["..", ".", ""]) {
      for (const name of ["read_user", "read_history", "read_metrics"]) {
        const { content, isError } = await client.callTool({ name, arguments: { userId } })
        expect({ content, isError }).toEqual({
          isError: true,
          content: [{ type: "text", text: `There is nothing with the id "${userId}".` }],
        })
      }
    }
    for (const leaderboard of ["..", ".", ""]) {
      for (const name of ["read_leaderboard", "list_leaderboard_groups"]) {
        const { content, isError } = await client.callTool({ name, arguments: { leaderboard } })
        expect({ name, content, isError }).toEqual({
          name,
          isError: true,
          content: [{ type: "text", text: `There is nothing with the id "${leaderboard}".` }],
        })
      }
    }
    for (const userId of ["../definitions", "ada/../../definitions", "ada?limit=1", "ada#x"]) {
      expect(await call(client, "read_user", { userId })).toMatchObject({
        isError: true,
        reply: { code: expect.stringMatching(/^(user_not_found|invalid_request)$/) },
      })
    }
    for (const input of [
      {},
      { userId: 7 },
      { userId: "ada", parts: ["secrets"] },
      { user: "ada" },
    ]) {
      const reply = client.callTool({ name: "read_user", arguments: input })
      const isRefused = await reply.then(({ isError }) => isError === true).catch(() => true)
      expect([input, isRefused]).toEqual([input, true])
    }
  })

  it("has the pages of the reference as resources", async () => {
    const client = await onStdio(readKey)
    const { resources } = await client.listResources()
    const names = resources.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(["llms.txt", "events.md", "test-clock.md"]))
    for (const { uri } of resources) {
      const [content] = (await client.readResource({ uri })).contents
      expect((content as { readonly text: string }).text).toMatch(/^# /)
    }
  })

  it("proposes a change, and has no tool that makes it unless writes are allowed", async () => {
    const client = await onStdio(key)
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).toContain("propose_definitions")
    expect(names).not.toContain("apply_definitions")
    const proposal = await call(client, "propose_definitions", { definitions: rule(60) })
    expect(proposal.reply.changes).toMatchObject([{ op: "update", kind: "rule", key: "lesson" }])
    await expect(
      call(client, "apply_definitions", { definitions: rule(60), version: 1 }),
    ).rejects.toThrow()
    expect((await call(client, "read_definitions")).reply.rules[0].reward.xp).toBe(50)
  })

  it("applies a proposal once it is agreed to, and nothing if a definition has changed since", async () => {
    const client = await onStdio(key, "--allow-writes")
    const { reply } = await call(client, "propose_definitions", { definitions: rule(70) })
    const agreed = { definitions: rule(70), version: reply.version }
    expect((await call(client, "apply_definitions", agreed)).reply).toMatchObject({ updated: 1 })
    const late = await call(client, "apply_definitions", { ...agreed, definitions: rule(80) })
    expect(late).toMatchObject({ isError: true, reply: { code: "version_conflict" } })
    await call(client, "apply_definitions", { definitions: rule(50), version: late.reply.version })
  })

  it("does no more than its key may do, and gives the agent the problem", async () => {
    const client = await onStdio(readKey, "--allow-writes")
    const refused = await call(client, "apply_definitions", { definitions: rule(1), version: 1 })
    expect(refused).toMatchObject({ isError: true, reply: { code: "insufficient_scope" } })
    const unknown = await call(client, "read_user", { userId: "nobody" })
    expect(unknown).toMatchObject({ isError: true, reply: { code: "user_not_found" } })
  })

  it("connects while Laurel does not answer, and says so at each call", async () => {
    const client = await onStdio(readKey, "--url", `http://127.0.0.1:${await freePort()}`)
    expect((await client.listTools()).tools.length).toBeGreaterThan(10)
    const { content, isError } = await client.callTool({ name: "read_definitions" })
    expect([content, isError]).toEqual([
      [{ type: "text", text: expect.stringMatching(/^No answer from Laurel: .*ECONNREFUSED/) }],
      true,
    ])
  })

  it("serves HTTP on loopback with the key of each request, and no page under a foreign name", async () => {
    const child = spawn(command, ["mcp", "--http", "0"], {
      env: { PATH: process.env.PATH, LAUREL_URL: server.url },
      stdio: ["ignore", "ignore", "pipe"],
    })
    const ended = once(child, "exit")
    onTestFinished(async () => {
      child.kill("SIGKILL")
      await ended
    })
    const output = new Output(child.stderr)
    await output.waitFor(/MCP: .*\n/)
    const url = new URL(/http:\S+\/mcp/.exec(output.text)![0])
    const client = new Client({ name: "test", version: "1.0.0" })
    const headers = { authorization: `Bearer ${readKey}` }
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
    expect((await call(client, "read_user", { userId: "ada" })).reply.user.id).toBe("ada")
    await client.close()

    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
    const post = (headers: Record<string, string>) =>
      fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json", ...headers },
        body,
      })
    expect((await post({})).status).toBe(401)
    expect((await post({ ...headers, origin: "https://elsewhere.example" })).status).toBe(403)
    child.kill("SIGTERM")
    expect(await ended).toEqual([0, null])
  })

  it("names the flag that is missing", async () => {
    const env = { PATH: process.env.PATH, LAUREL_URL: server.url }
    const child = spawn(command, ["mcp"], { env, stdio: "pipe" })
    const output = new Output(child.stderr)
    const [code] = await once(child, "exit")
    expect(code).toBe(64)
    expect(output.text).toContain("--key is missing")
  })
})
