/** A client of the stream, as simple as the format allows. */
import { get, type IncomingMessage } from "node:http"

export interface StreamMessage {
  readonly id: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of all kinds
  readonly data: any
}

export class StreamClient {
  readonly response: IncomingMessage
  readonly messages: Array<StreamMessage> = []
  /** The last id that was received, with a message or without. */
  lastId: string | undefined
  /** The number of blocks without data. */
  heartbeats = 0
  ended = false
  #text = ""
  readonly #waiting = new Set<() => void>()

  constructor(response: IncomingMessage) {
    this.response = response
    response.setEncoding("utf8")
    response.on("data", (text: string) => {
      this.#text += text
      const blocks = this.#text.split("\n\n")
      this.#text = blocks.pop()!
      for (const block of blocks) this.#block(block)
      this.#wake()
    })
    response.on("close", () => {
      this.ended = true
      this.#wake()
    })
    response.on("error", () => {})
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look()
  }

  #block(block: string): void {
    const fields = new Map(
      block.split("\n").map((line) => {
        const colon = line.indexOf(": ")
        return [line.slice(0, colon), line.slice(colon + 2)]
      }),
    )
    const id = fields.get("id")
    if (id !== undefined) this.lastId = id
    const data = fields.get("data")
    if (data !== undefined) {
      this.messages.push({ id: id!, event: fields.get("event")!, data: JSON.parse(data) })
    } else if (!fields.has("retry")) this.heartbeats++
  }

  /** Resolves when `holds` is true; rejects if the stream ends first. */
  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!holds() && !this.ended) return
        this.#waiting.delete(look)
        if (holds()) resolve()
        else reject(new Error(`The stream ended after ${this.messages.length} messages`))
      }
      this.#waiting.add(look)
      look()
    })
  }

  get end(): Promise<void> {
    return this.until(() => this.ended)
  }

  close(): void {
    this.response.destroy()
  }
}

export interface StreamAsked {
  readonly events?: string
  readonly userId?: string
  readonly lastEventId?: string
}

/** Opens a stream; resolves when its head has arrived. */
export const openStream = (
  url: string,
  key: string,
  { lastEventId, ...query }: StreamAsked = {},
): Promise<StreamClient> =>
  new Promise((resolve, reject) => {
    const search = new URLSearchParams(query as Record<string, string>)
    const headers: Record<string, string> = { authorization: `Bearer ${key}` }
    if (lastEventId !== undefined) headers["last-event-id"] = lastEventId
    const request = get(`${url}/v1/stream?${search}`, { headers, agent: false }, (response) => {
      if (response.statusCode === 200) {
        resolve(new StreamClient(response))
        return
      }
      response.resume()
      reject(new Error(`status ${response.statusCode}`))
    })
    request.on("error", reject)
  })
