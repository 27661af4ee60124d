/**
 * What of Trophy's API the guide reads, for one user. The replies are the examples of Trophy's OpenAPI
 * document (github.com/trophyso/docs, openapi/application.json, version 1.21.1), some members left out.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { onTestFinished } from "vitest"

const replies: { readonly [path: string]: unknown } = {
  "/users/user-123/points/xp": {
    id: "0040fe51-6bce-4b44-b0ad-bddc4e123534",
    key: "xp",
    name: "XP",
    maxPoints: null,
    total: 100,
    level: {
      id: "1140fe51-6bce-4b44-b0ad-bddc4e123534",
      key: "silver",
      name: "Silver",
      points: 50,
    },
    awards: [],
  },
  "/users/user-123/streak": {
    length: 1,
    frequency: "weekly",
    started: "2025-04-02",
    expires: "2025-04-12",
    extended: "2025-04-03T14:30:00Z",
    streakHistory: [
      { periodStart: "2025-03-30", periodEnd: "2025-04-05", length: 1, usedPause: false },
    ],
  },
  "/users/user-123/achievements": [
    {
      id: "d01dcbcb-d51e-4c12-b054-dc811dcdc625",
      name: "Completed Onboarding",
      trigger: "api",
      key: "completed-onboarding",
      achievedAt: "2021-01-01T00:00:00Z",
    },
    {
      id: "d01dcbcb-d51e-4c12-b054-dc811dcdc623",
      name: "Novice Writer",
      trigger: "metric",
      key: "novice-writer",
      metricName: "words written",
      achievedAt: "2021-02-01T00:00:00Z",
    },
  ],
}

/** The address of a server that answers so until the test ends. Replies have several lines. */
export const startTrophy = async (): Promise<string> => {
  const server = createServer((request, response) => {
    const reply = replies[request.url!]
    const isKnown = request.headers["x-api-key"] === "a-key-of-trophy" && reply !== undefined
    response.writeHead(isKnown ? 200 : 404, { "content-type": "application/json" })
    response.end(JSON.stringify(isKnown ? reply : { error: "Not found" }, null, 2))
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
