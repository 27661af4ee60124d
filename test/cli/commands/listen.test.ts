import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { parseTarget, secretFor } from "../../../src/cli/commands/listen.ts"
import { secretKey } from "../../../src/webhooks/send/Signature.ts"

describe("The receiver's URL", () => {
  it.each([
    ["3000", "http://localhost:3000/"],
    ["localhost:3000/hook", "http://localhost:3000/hook"],
    ["127.0.0.1:3000/a?b=c", "http://127.0.0.1:3000/a?b=c"],
    ["[::1]:3000", "http://[::1]:3000/"],
    ["https://app.example/hook", "https://app.example/hook"],
    ["HTTP://App.Example", "http://app.example/"],
  ])("%s is %s", (text, url) => {
    expect(Result.getOrThrow(parseTarget(text)).href).toBe(url)
  })

  it.each(["", "http://", "ftp://app.example/", "file:///etc/passwd", "https://a:b@app.example/"])(
    "is not %j",
    (text) => {
      expect(Result.isFailure(parseTarget(text))).toBe(true)
    },
  )
})

describe("The secret of laurel listen", () => {
  it("is a webhook secret, and the same only for the same key", () => {
    expect(secretFor("lk_test_a")).toBe(secretFor("lk_test_a"))
    expect(secretFor("lk_test_a")).not.toBe(secretFor("lk_test_b"))
    expect(() => secretKey(secretFor("lk_test_a"))).not.toThrow()
  })
})
