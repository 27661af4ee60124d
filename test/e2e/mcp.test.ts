/** `laurel mcp`: real processes, asked by the client of the protocol's SDK. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { describe, expect, it, onTestFinished } from "vitest"
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
  await server.request(key, "POST", "/v1/events", { userId: "ada", action: "LESSON_DONE" })
})

const program = join(root, "src/laurel.js")

/** A client of `laurel mcp` on its standard input and output. */
const onStdio = async (key: string, ...flags: ReadonlyArray<string>): Promise<Client> => {
  const client = new Client({ name: "test", version: "1.0.0" })
  const env = { PATH: process.env.PATH!, LAUREL_URL: server.url, LAUREL_KEY: key }
  const args = [program, "mcp", ...flags]
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env }))
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
    expect((await call(client, "read_metrics", { userId: "ada" })).reply.metrics).toEqual([])
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

  it("serves HTTP on loopback with the key of each request, and no page under a foreign name", async () => {
    const child = spawn(process.execPath, [program, "mcp", "--http", "0"], {
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
    const child = spawn(process.execPath, [program, "mcp"], { env, stdio: "pipe" })
    const output = new Output(child.stderr)
    const [code] = await once(child, "exit")
    expect(code).toBe(64)
    expect(output.text).toContain("--key is missing")
  })
})
