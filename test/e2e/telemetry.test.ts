import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, it, onTestFinished } from "vitest"
import { version } from "../../src/Build.ts"
import { readServerFile, Server, temporaryFolder } from "./program.ts"

/** An OpenTelemetry collector that keeps what it is sent. Strings stand in Protobuf as they are. */
const startCollector = async () => {
  const received: Array<{ path: string; authorization: string | undefined; body: string }> = []
  const collector = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const { authorization } = request.headers
      const body = Buffer.concat(chunks).toString("latin1")
      received.push({ path: request.url ?? "", authorization, body })
      response.end()
    })
  })
  await new Promise<void>((listening) => collector.listen(0, "127.0.0.1", listening))
  const stop = () =>
    new Promise<void>((stopped) => {
      collector.close(() => stopped())
      collector.closeAllConnections()
    })
  onTestFinished(stop)
  const { port } = collector.address() as AddressInfo
  return { endpoint: `http://127.0.0.1:${port}/base/`, received, stop }
}

const traceId = "0af7651916cd43dd8448eb211c80319c"

describe("With an OpenTelemetry collector configured", () => {
  it("a server sends it logs, metrics and spans, the last of them at its end", async () => {
    const { endpoint, received } = await startCollector()
    const server = await Server.start(await temporaryFolder(), {
      LAUREL_OTLP_ENDPOINT: endpoint,
      LAUREL_OTLP_HEADERS: "Authorization=Bearer%20known-secret",
      LAUREL_LOG_LEVEL: "trace",
      LAUREL_ACCESS_LOG: "stdout",
      LAUREL_SLOW_REQUEST: "1 millis",
      LAUREL_TRACING: "on",
    })
    const key = await server.firstKey()
    await server.request(key, "POST", "/v1/events", { userId: "u", action: "A" })
    // Takes longer than a millisecond on any machine.
    const events = Array.from({ length: 1_000 }, (_, n) => ({ userId: `u${n}`, action: "A" }))
    await fetch(`${server.url}/v1/events/batch`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        traceparent: `00-${traceId}-b7ad6b7169203331-01`,
      },
      body: JSON.stringify({ events }),
    })
    expect(await server.stop()).toBe(0)
    const of = (path: string) =>
      received.flatMap((sent) => (sent.path === path ? [sent.body] : [])).join("")
    expect(new Set(received.map(({ path }) => path))).toEqual(
      new Set(["/base/v1/logs", "/base/v1/metrics", "/base/v1/traces"]),
    )
    expect(of("/base/v1/logs")).toContain("Opened the data directory")
    expect(of("/base/v1/logs")).toContain("Stopped")
    expect(of("/base/v1/metrics")).toContain("laurel_http_request_duration_seconds")
    expect(of("/base/v1/metrics")).toContain("events.track")
    expect(of("/base/v1/traces")).toContain("POST /v1/events/batch")
    expect(of("/base/v1/traces")).toContain(Buffer.from(traceId, "hex").toString("latin1"))
    const lines = server.stdout.text.trimEnd().split("\n")
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { method: "POST", route: "/v1/events", status: 200 },
      { method: "POST", route: "/v1/events/batch", status: 200, traceId },
    ])
    expect(server.stderr.text).toMatch(/"A request was slow".*events\/batch/)
    const instances = new Set<string | undefined>()
    for (const { authorization, body } of received) {
      expect(authorization).toBe("Bearer known-secret")
      expect(body).toContain("service.name")
      expect(body).toContain(version)
      instances.add(/service\.instance\.id[^a-f0-9]*([-a-f0-9]{36})/.exec(body)?.[1])
      expect(body).not.toMatch(/lk_test|known-secret/)
    }
    expect([...instances]).toEqual([expect.any(String)])
    expect(server.stderr.text).toContain('"message":"Stopped"')
    expect(server.stderr.text).not.toContain("known-secret")
  })

  it("a server runs without its collector, and reports that once, in its log and its metrics", async () => {
    const { endpoint: gone, stop } = await startCollector()
    await stop()
    const folder = await temporaryFolder()
    const server = await Server.start(folder, {
      LAUREL_OTLP_ENDPOINT: gone,
      LAUREL_OTLP_HEADERS: "Authorization=known-secret",
      LAUREL_LOG_LEVEL: "trace",
    })
    const key = await server.firstKey()
    const { status } = await server.request(key, "POST", "/v1/events", { userId: "u", action: "A" })
    expect(status).toBe(200)
    await server.stderr.waitFor(/OpenTelemetry export failed.*"cause":"ECONNREFUSED"/)
    const { adminUrl } = await readServerFile(folder)
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
    expect(metrics).toMatch(/laurel_otlp_lost_log_lines_total [1-9]/)
    expect(await server.stop()).toBe(0)
    expect(server.stderr.text.match(/OpenTelemetry export/g)).toHaveLength(1)
    expect(server.stderr.text).toContain('"message":"Stopped"')
    expect(server.stderr.text).not.toContain("known-secret")
  })
})
