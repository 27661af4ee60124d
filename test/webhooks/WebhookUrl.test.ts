import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { AllowedRanges } from "../../src/webhooks/send/AddressGuard.ts"
import { notReachable, parseWebhookUrl } from "../../src/webhooks/WebhookUrl.ts"

const parse = (url: string, { allow = [] as Array<string>, production = false } = {}) => {
  const policy = { allowed: new AllowedRanges(allow), requireHttps: true }
  const parsed = parseWebhookUrl(url, policy, production)
  return Result.isSuccess(parsed) ? { url: parsed.success } : { faults: parsed.failure }
}

describe("a webhook's URL", () => {
  it("is normalised, without the fragment", () => {
    expect(parse("HTTPS://Example.COM:443/a/./b?q=1#x")).toEqual({
      url: "https://example.com/a/b?q=1",
    })
    expect(parse("https://8.8.8.8/")).toEqual({ url: "https://8.8.8.8/" })
    expect(parse("https://münchen.example/")).toEqual({ url: "https://xn--mnchen-3ya.example/" })
  })

  it("is refused for an address that is not public, in any spelling", () => {
    const inside = [
      "http://127.0.0.1/",
      "http://127.1/",
      "http://2130706433/",
      "http://0x7f000001/",
      "http://0177.0.0.1/",
      "http://１２７.0.0.1/",
      "http://①②⑦.0.0.1/",
      "http://127.0.0.1./",
      "http://0/",
      "http://[::1]/",
      "http://[::ffff:127.0.0.1]/",
      "http://[64:ff9b::7f00:1]/",
      "http:\\\\127.0.0.1\\",
      "http://local\thost/",
      "http://localhost/",
      "http://LOCALHOST./",
      "http://api.localhost/",
      "http://169.254.169.254/latest/meta-data",
    ]
    for (const url of inside) {
      expect([url, parse(url)]).toEqual([url, { faults: [notReachable] }])
    }
  })

  it("is refused with the name of the setting that allows it", () => {
    expect(notReachable).toContain("LAUREL_WEBHOOK_ALLOW_CIDR")
  })

  it("may have a private address if the operator allows it", () => {
    const allow = ["127.0.0.0/8", "10.0.0.0/8"]
    for (const url of ["http://127.0.0.1:9000/", "http://localhost:9000/", "http://10.1.1.1/"]) {
      expect(parse(url, { allow })).toEqual({ url })
    }
    expect(parse("http://192.168.0.1/", { allow })).toHaveProperty("faults")
  })

  it("is http or https, https in production", () => {
    for (const url of [
      "ftp://example.com/",
      "file:///etc/passwd",
      "javascript:alert(1)",
      "",
      "x",
    ]) {
      expect(parse(url)).toEqual({ faults: ["must be an http or https URL"] })
    }
    expect(parse("http://example.com/", { production: true })).toEqual({
      faults: ["must be an https URL in production"],
    })
    expect(parse("https://example.com/", { production: true })).toHaveProperty("url")
  })

  it("is refused with credentials, or if it is too long when normalised", () => {
    const withName = { faults: ["must not contain a user name or password"] }
    expect(parse("https://user@example.com/")).toEqual(withName)
    expect(parse("https://:secret@example.com/")).toEqual(withName)
    const long = `https://example.com/${"ü".repeat(400)}`
    expect(long.length).toBeLessThan(limits.urlCharactersMax)
    expect(parse(long)).toEqual({ faults: ["must have at most 2048 characters"] })
  })

  it("reports all its faults at once", () => {
    const url = `http://user@10.0.0.1/${"ü".repeat(400)}`
    expect(parse(url, { production: true })).toEqual({
      faults: [
        "must not contain a user name or password",
        "must be an https URL in production",
        "must have at most 2048 characters",
        notReachable,
      ],
    })
  })
})
