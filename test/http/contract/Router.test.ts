import { describe, expect, it } from "vitest"
import { Router } from "../../../src/http/contract/Router.ts"

const route = (method: string, path: string) => ({ method, path })
const router = new Router([
  route("GET", "/users"),
  route("POST", "/users"),
  route("GET", "/users/:id"),
  route("GET", "/users/:id/progress"),
  route("DELETE", "/users/:id/rewards/:rewardId"),
])

describe("a router", () => {
  it("finds fixed paths, and parameters as they are written in the path", () => {
    expect(router.find("GET", "/users")).toMatchObject({ route: route("GET", "/users") })
    expect(router.find("GET", "/users/a%2Fb")).toMatchObject({ rawParams: ["a%2Fb"] })
    expect(router.find("DELETE", "/users/a/rewards/b")).toMatchObject({ rawParams: ["a", "b"] })
    expect(router.find("GET", "/users/progress/progress")).toMatchObject({
      rawParams: ["progress"],
    })
  })

  it("accepts an empty segment and dots as a parameter, and nothing after a fixed path", () => {
    expect(router.find("GET", "/users/")).toMatchObject({ rawParams: [""] })
    expect(router.find("DELETE", "/users//rewards/")).toMatchObject({ rawParams: ["", ""] })
    expect(router.find("GET", "/users/../progress")).toMatchObject({ rawParams: [".."] })
    expect(router.find("GET", "/users/a/../progress").kind).toBe("nothing")
    expect(router.find("GET", "/users/a/progress/").kind).toBe("nothing")
  })

  it("answers HEAD with the route of GET", () => {
    expect(router.find("HEAD", "/users")).toMatchObject({ route: route("GET", "/users") })
  })

  it("distinguishes a wrong method from an unknown path", () => {
    expect(router.find("PUT", "/users")).toEqual({
      kind: "wrongMethod",
      allow: "GET, HEAD, POST",
    })
    for (const path of ["", "users", "*", "//users", "/users/a/", "/users/a/rewards"]) {
      expect([path, router.find("GET", path).kind]).toEqual([path, "nothing"])
    }
  })

  it("refuses two routes for one method and path", () => {
    expect(() => new Router([route("GET", "/a"), route("GET", "/a")])).toThrow("Two routes")
  })
})
