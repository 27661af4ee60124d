/** Requests through TLS to a proxy in front of Laurel. */
import type { IncomingMessage } from "node:http"
import { type Agent, request } from "node:https"

export const host = "laurel.example.com"

/** Settings of Laurel behind it. */
export const variables = {
  LAUREL_TRUSTED_PROXIES: "127.0.0.1",
  LAUREL_PUBLIC_URL: `https://${host}`,
}

export interface TlsProxy {
  readonly address?: string
  readonly tlsPort: number
  /** Without it, the certificate is the test's own and not checked. */
  readonly ca?: string
}

export interface Wish {
  readonly path: string
  readonly key?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly agent?: Agent
}

export const send = (
  { address = "127.0.0.1", ca, tlsPort }: TlsProxy,
  { agent, body, headers, key, path }: Wish,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const sent = request({
      host: address,
      port: tlsPort,
      servername: host,
      ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
      path,
      agent,
      method: body === undefined ? "GET" : "POST",
      headers: {
        host,
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
    })
    sent.once("response", resolve).once("error", (cause) => {
      reject(new Error(`${path} got no reply`, { cause }))
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })

export const textOf = async (reply: IncomingMessage): Promise<string> => {
  let text = ""
  for await (const chunk of reply.setEncoding("utf8")) text += chunk
  return text
}
