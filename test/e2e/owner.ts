/** The first owner of a real server's dashboard. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect } from "vitest"
import { Browser, password } from "../dashboard/fixture.ts"

export const ownerAccount = { email: "ada@example.com", name: "Ada", password }

/** The browser in which the owner was made, by the setup link in the data directory. */
export const setUpOwner = async (
  server: { readonly url: string },
  folder: string,
): Promise<Browser> => {
  const link = (await readFile(join(folder, "setup-link"), "utf8")).trim()
  const browser = new Browser(server.url)
  const fields = { ...ownerAccount, token: link.split("#")[1]! }
  expect((await browser.post("/dashboard/setup", fields)).status).toBe(303)
  return browser
}
