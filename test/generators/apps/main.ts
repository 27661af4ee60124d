/** Runs the app on each client, and prints what each has seen. Arguments: the address of the server, a key. */
import type { App } from "./App.ts"
import { app as heyApi } from "./heyApi.ts"
import { app as openapiFetch } from "./openapiFetch.ts"
import { app as orval } from "./orval.ts"

const [, , url = "", key = ""] = process.argv

/** The messages about a user until that of an event. */
const messagesOf = (userId: string): (() => Promise<ReadonlyArray<unknown>>) => {
  const left = new AbortController()
  const query = new URLSearchParams({ userId })
  const opened = fetch(`${url}/v1/stream?${query}`, {
    headers: { Authorization: `Bearer ${key}` },
    signal: left.signal,
  })
  return async () => {
    const found: Array<{ readonly type: string }> = []
    const decoder = new TextDecoderStream()
    let text = ""
    for await (const piece of (await opened).body!.pipeThrough(decoder)) {
      text += piece
      const blocks = text.split("\n\n")
      text = blocks.pop()!
      for (const block of blocks) {
        const data = block.split("\n").find((line) => line.startsWith("data:"))
        if (data !== undefined) found.push(JSON.parse(data.slice(5)))
      }
      if (found.some(({ type }) => type === "event.tracked")) break
    }
    left.abort()
    return found
  }
}

const seen: Record<string, unknown> = {}
for (const [name, app] of Object.entries({ heyApi, openapiFetch, orval } satisfies Record<
  string,
  App
>)) {
  const userId = `user of ${name}`
  seen[name] = await app({ url, key, userId, messages: messagesOf(userId) })
}
process.stdout.write(JSON.stringify(seen))
