/**
 * Servers of the Model Context Protocol (modelcontextprotocol.io) on the API of a Laurel server: one
 * on standard input and output, which uses one key, and one on HTTP, which passes on the key of each
 * request. The API checks the key, so an agent may do what its key may do, and less without
 * `allowWrites`. The resources are the pages of the reference, which the Laurel server makes.
 */
import type { Server } from "node:http"
import { toNodeHandler } from "@modelcontextprotocol/node"
import {
  createMcpHandler,
  fromJsonSchema,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  McpServer,
  originValidationResponse,
} from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { version } from "../../Build.ts"
import { shared } from "../../http/docs/ReferenceThread.ts"
import { createServer } from "../../http/server/nodeHttp.ts"
import { sendToApi } from "../process/ApiClient.ts"
import { type Ask, type Tool, tools } from "./tools.ts"

export interface McpOptions {
  /** The address of the Laurel server. */
  readonly url: string
  readonly allowWrites: boolean
  readonly onError: (error: unknown) => void
}

/** A reply of the API: its JSON, or its problem as text. */
const askWith =
  (url: string, key: string): Ask =>
  async (method, path, body, ifMatch) => {
    const reply = await sendToApi({ url, key }, method, path, body, ifMatch)
    const text = await reply.text()
    if (!reply.ok) throw new Error(text)
    return JSON.parse(text)
  }

const readText = async (url: string, path: string): Promise<string> => {
  const reply = await fetch(new URL(path, url), { redirect: "error" })
  if (!reply.ok) throw new Error(`${path} answered ${reply.status}`)
  return reply.text()
}

/** The pages that `/llms.txt` lists. */
const pagesOf = (index: string): ReadonlyArray<{ title: string; path: string; about: string }> =>
  [...index.matchAll(/^- \[(.+?)\]\((\/docs\/[\w-]+\.md)\): (.*)$/gm)].map(
    ([, title, path, about]) => ({ title: title!, path: path!, about: about! }),
  )

const wordsOf = (error: unknown): string => {
  const { cause, message } = error as Error
  return cause instanceof Error ? `No answer from Laurel: ${cause.message}` : message
}

const addTool = (server: McpServer, ask: Ask, tool: Tool): void => {
  const { description, input, name, run, title, writes } = tool
  server.registerTool(
    name,
    {
      title,
      description,
      inputSchema: fromJsonSchema<Record<string, unknown>>(input),
      annotations: { readOnlyHint: !writes, destructiveHint: writes, openWorldHint: false },
    },
    async (given) => {
      try {
        const reply = await run(ask, given)
        return { content: [{ type: "text", text: JSON.stringify(reply) }] }
      } catch (error) {
        // The agent reads the problem and corrects its call.
        return { isError: true, content: [{ type: "text", text: wordsOf(error) }] }
      }
    },
  )
}

/**
 * Makes the servers of clients. They share one read of the list of pages. If Laurel does not answer,
 * a client gets the tools without the pages: their calls say so, and succeed once it answers.
 */
const serverMaker = ({ allowWrites, onError, url }: McpOptions) => {
  const readIndex = shared(() => readText(url, "/llms.txt"))
  return async (key: string): Promise<McpServer> => {
    const index = await readIndex().catch((error: unknown) => {
      onError(new Error(wordsOf(error)))
      return ""
    })
    return makeServer(url, key, allowWrites, index)
  }
}

const makeServer = (url: string, key: string, allowWrites: boolean, index: string): McpServer => {
  const server = new McpServer(
    { name: "laurel", title: "Laurel", version },
    {
      instructions:
        "Laurel turns events about users into xp, levels, badges, quests, streaks and leaderboards. Read the resource `llms.txt` first. Before you change definitions, propose them and show the changes to a person.",
    },
  )
  const ask = askWith(url, key)
  for (const tool of tools) if (allowWrites || !tool.writes) addTool(server, ask, tool)
  const pages = [
    { title: "What Laurel is", path: "/llms.txt", about: "Read this first." },
    ...pagesOf(index),
  ]
  for (const { about, path, title } of pages) {
    const mimeType = path.endsWith(".md") ? "text/markdown" : "text/plain"
    server.registerResource(
      path.slice(path.lastIndexOf("/") + 1),
      `laurel:/${path}`,
      { title, description: about, mimeType },
      async ({ href }) => ({
        contents: [{ uri: href, mimeType, text: await readText(url, path) }],
      }),
    )
  }
  return server
}

/** Serves one client on standard input and output. Resolves when the client closes the input. */
export const serveOnStdio = async (options: McpOptions, key: string): Promise<void> => {
  const ended = new Promise<void>((resolve) => process.stdin.once("end", resolve))
  const make = serverMaker(options)
  const handle = serveStdio(() => make(key), { onerror: options.onError })
  await ended
  await handle.close()
}

/** Listens on the loopback interface. Each request needs `Authorization: Bearer` and a Laurel key. */
export const serveOnHttp = async (options: McpOptions, port: number): Promise<Server> => {
  const make = serverMaker(options)
  const handler = createMcpHandler(({ requestInfo }) => make(keyOf(requestInfo?.headers) ?? ""), {
    onerror: options.onError,
  })
  const answer = toNodeHandler(
    { fetch: async (request, given) => refusal(request) ?? (await handler.fetch(request, given)) },
    { onerror: options.onError },
  )
  const server = createServer(
    (request, response) => void answer(request as Parameters<typeof answer>[0], response),
  )
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve)
  })
  server.once("close", () => void handler.close())
  return server
}

const keyOf = (headers: Headers | undefined): string | undefined =>
  /^Bearer (\S+)$/i.exec(headers?.get("authorization") ?? "")?.[1]

/** A page in a browser must not reach the server under a name of its own (DNS rebinding). */
const refusal = (request: Request): Response | undefined => {
  const names = localhostAllowedHostnames()
  const foreign =
    hostHeaderValidationResponse(request, names) ?? originValidationResponse(request, names)
  if (foreign !== undefined) return foreign
  if (keyOf(request.headers) !== undefined) return undefined
  const headers = { "www-authenticate": "Bearer", "content-type": "text/plain" }
  return new Response("Authorization: Bearer and an API key of Laurel is required.\n", {
    status: 401,
    headers,
  })
}
