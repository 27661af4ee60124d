/** A year of a product over HTTP: every figure of analytics is that of the way in which the year was made. */
import { describe, expect, it } from "vitest"
import { seeds } from "../../simulation/random.ts"
import { MemoryState } from "../../storage/MemoryStorage.ts"
import { Place } from "../definitions.ts"
import { startServer, type TestServer } from "../fixture.ts"
import { compare } from "./compare.ts"
import { Expected } from "./Expected.ts"
import { planOf } from "./Plan.ts"
import { baseAfter, type Call, endOf, play } from "./play.ts"

const sizes = { users: 1_100, perVariant: 200, few: 8, zoneShare: 0.3 }

/** Of any server: replies that are no success fail. */
const callingTo = (server: TestServer): Call => {
  const place = new Place(server, "year")
  return async (method, path, body) => {
    const headers = { prefer: "return=minimal" }
    const { json, status, text } = await place.call(method, path, {
      ...(body !== undefined && { body }),
      ...(path.startsWith("/v1/events/") && method === "POST" && { headers }),
    })
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 1_000)}`)
    return json
  }
}

describe("A year of a product", () => {
  for (const seed of seeds(1)) {
    it(`has the figures of its construction, also after a restart; LAUREL_TEST_SEED=${seed}`, async () => {
      const storage = new MemoryState()
      const server = await startServer({ storage })
      const call = callingTo(server)
      const { now } = await call("GET", "/v1/test-clock")
      const base = baseAfter(Date.parse(now))
      const plan = planOf(seed, base, sizes)
      const expected = new Expected(plan, endOf(base))
      await play(call, plan)
      const { compared, found } = await compare(call, expected, 30)
      expect(found.slice(0, 20)).toEqual([])
      expect(compared).toBeGreaterThan(2_000)
      await server.stop()
      const again = await startServer({ storage })
      expect((await compare(callingTo(again), expected, 5)).found.slice(0, 20)).toEqual([])
      await again.stop()
    })
  }
})
