import { describe, expect, it } from "vitest"
import { hostCheck } from "../../../src/http/admin/AdminServer.ts"

describe("The hosts of the admin address", () => {
  const allowed = hostCheck(["0.0.0.0", "Metrics.Internal", "laurel"])

  it("are IP addresses, localhost and configured names, with or without a port", () => {
    for (const host of [
      "127.0.0.1",
      "127.0.0.1:8081",
      "10.1.2.3:80",
      "[::1]",
      "[::1]:8081",
      "localhost",
      "LocalHost:8081",
      "localhost.:8081",
      "metrics.internal:8081",
      "laurel:8081",
    ]) {
      expect([host, allowed(host)]).toEqual([host, true])
    }
  })

  it("are not names that a page's owner can point here", () => {
    for (const host of [
      "evil.example",
      "evil.example:8081",
      "127.0.0.1.evil.example",
      "localhost.evil.example:8081",
      "evil-localhost",
      "laurel.evil.example",
      "127.0.0.1:8081.evil.example",
      "[::1].evil.example",
      "[evil.example]",
      "user@127.0.0.1",
      "",
    ]) {
      expect([host, allowed(host)]).toEqual([host, false])
    }
  })

  it("may be missing, as from clients of HTTP/1.0, but never from browsers", () => {
    expect(allowed(undefined)).toBe(true)
  })
})
