import { expect, it } from "vitest"
import { Quota } from "../../../src/http/request/RequestWatch.ts"

it("A quota allows its number at once, then as time refills it, and counts refusals", () => {
  const quota = new Quota(60)
  const take = (atMs: number, times: number) =>
    Array.from({ length: times }, () => quota.take(atMs)).filter((taken) => taken).length
  expect(take(5_000, 100)).toBe(60)
  expect(quota.takeRefused()).toBe(40)
  expect(quota.takeRefused()).toBe(0)
  expect(take(5_999, 10)).toBe(0)
  expect(take(6_001, 10)).toBe(1)
  expect(quota.takeRefused()).toBe(19)
  expect(take(36_001, 100)).toBe(30)
  // After a long time, the quota allows one full minute.
  expect(take(9_000_000, 100)).toBe(60)
})
