import { describe, expect, it } from "vitest"
import { browserName } from "../../../src/dashboard/pages/account.ts"

describe("The name of a session's browser", () => {
  const webkit = "AppleWebKit/537.36 (KHTML, like Gecko)"
  it.each([
    [
      `Mozilla/5.0 (X11; Linux x86_64) ${webkit} Chrome/153.0.0.0 Safari/537.36`,
      "Chrome 153 on Linux",
    ],
    [
      `Mozilla/5.0 (X11; Linux x86_64) ${webkit} HeadlessChrome/153.0.0.0 Safari/537.36`,
      "Chrome 153 on Linux",
    ],
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/153.0.0.0 Safari/537.36 Edg/153.0.0.0`,
      "Edge 153 on Windows",
    ],
    [
      "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
      "Firefox 140 on Linux",
    ],
    [
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15",
      "Safari 26 on macOS",
    ],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1",
      "Safari 26 on iOS",
    ],
    ["curl/8.14.1", "curl/8.14.1"],
    ["", "unknown"],
  ])("of %j is known", (agent, name) => {
    expect(browserName(agent)).toBe(name)
  })
})
