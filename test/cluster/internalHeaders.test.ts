import { expect, it } from "vitest"
import { forwardedHeaders, passesOn } from "../../src/cluster/InternalPort.ts"

it("A forwarded request has no fields for one connection, none that Connection lists, and none with internal names", () => {
  const raw = [
    "Host",
    "a",
    "Connection",
    "x-one, X-Two",
    "X-One",
    "1",
    "x-two",
    "2",
    "x-three",
    "3",
  ]
  const more = ["laurel-internal-peer", "127.0.0.1"]
  const sent = [...raw, "X-Request-Id", "r", "Laurel-Internal-Secret", "s", "TE", "trailers"]
  expect(forwardedHeaders(sent, "x-one, X-Two", more)).toEqual([
    "host",
    "a",
    "x-three",
    "3",
    ...more,
  ])
  expect(passesOn("keep-alive")("x-one")).toBe(true)
  expect(passesOn(undefined)("connection")).toBe(false)
})

it("A Connection field with many names beside many fields is read once", () => {
  const names = Array.from({ length: 200_000 }, (_, index) => index.toString(36))
  const raw = names.flatMap((name) => [`x-${name}`, ""])
  // Reading it again for each field would take hours.
  expect(forwardedHeaders(raw, names.join(","), [])).toHaveLength(raw.length)
})
