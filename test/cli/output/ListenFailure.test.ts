import { describe, expect, it } from "vitest"
import { listenFailure, type Service } from "../../../src/cli/output/ListenFailure.ts"
import { ServeError } from "../../../src/http/server/Listener.ts"

const config = {
  host: "127.0.0.1",
  port: 8080,
  adminHost: "::1",
  adminPort: 8081,
  clusterAddress: "127.0.0.1:8082",
}

const lineOf = (service: Service, code: string, changes: Partial<typeof config> = {}): string => {
  const cause = Object.assign(new Error(`listen ${code}: its words`), { code })
  const { exitCode, lines } = listenFailure(
    service,
    { ...config, ...changes },
    new ServeError({ cause }),
  )
  expect([exitCode, lines.length]).toEqual([69, 1])
  return lines[0]!
}

describe("An address on which a server cannot listen", () => {
  it("is named with its use and its setting", () => {
    expect(lineOf("api", "EADDRINUSE")).toBe(
      "Port 8080 of 127.0.0.1 is in use by another program, and the API needs it (LAUREL_PORT). Stop that program, or set LAUREL_PORT to another port; 0 takes any free one.",
    )
    expect(lineOf("admin", "EADDRINUSE")).toBe(
      "Port 8081 of ::1 is in use by another program, and the admin server needs it (LAUREL_ADMIN_PORT). Stop that program, or set LAUREL_ADMIN_PORT to another port; 0 takes any free one.",
    )
    expect(lineOf("api", "EACCES", { port: 80 })).toBe(
      "This user may not listen on port 80 of 127.0.0.1, which the API needs (LAUREL_PORT). Set LAUREL_PORT to 1024 or more, or let this user listen on lower ports.",
    )
    expect(lineOf("admin", "EADDRNOTAVAIL", { adminHost: "10.9.9.9" })).toBe(
      "This machine does not have the address 10.9.9.9 of the admin server (LAUREL_ADMIN_HOST). Set LAUREL_ADMIN_HOST to an address of this machine, such as 127.0.0.1, or to 0.0.0.0 for all of them.",
    )
    for (const code of ["ENOTFOUND", "EAI_AGAIN"]) {
      expect(lineOf("api", code, { host: "box.invalid" })).toBe(
        `The host name box.invalid of the API (LAUREL_HOST) does not resolve (${code}). Set LAUREL_HOST to an address of this machine, such as 127.0.0.1, or to 0.0.0.0 for all of them.`,
      )
    }
    expect(lineOf("admin", "EMFILE")).toBe(
      "Cannot listen on ::1, port 8081, for the admin server (LAUREL_ADMIN_HOST, LAUREL_ADMIN_PORT): listen EMFILE: its words.",
    )
  })

  it("is reported as used twice if API and admin server have the same port", () => {
    for (const adminHost of ["127.0.0.1", "0.0.0.0"]) {
      expect(lineOf("admin", "EADDRINUSE", { adminHost, adminPort: 8080 })).toBe(
        "LAUREL_PORT and LAUREL_ADMIN_PORT are both 8080: the API and the admin server need one each. Set LAUREL_ADMIN_PORT to another port; 0 takes any free one.",
      )
    }
    expect(lineOf("admin", "EADDRINUSE", { adminHost: "10.9.9.9", adminPort: 8080 })).toContain(
      "by another program",
    )
  })
})
