import { describe, expect, it } from "vitest"
import { useTabs } from "../dashboard/browser/tabs.ts"
import { setUpOwner } from "./owner.ts"
import { Server, temporaryFolder } from "./program.ts"

const tabs = useTabs()
const count = 40

describe("While Live is open and the server is killed and restarted", () => {
  it("every event that was acknowledged is shown once, and none is missing", async () => {
    const folder = await temporaryFolder()
    const first = await Server.start(folder)
    const { port } = new URL(first.url)
    const ada = await setUpOwner(first, folder)
    const key = await first.firstKey()

    const options = { cookiesOf: ada, connectionsFail: true, statuses: [503] }
    const page = await tabs.open({ url: first.url, ...options })
    await page.goto("/dashboard/demo/sandbox/live")
    await page.getByLabel("Kind").selectOption("event.tracked")
    const connection = page.getByRole("status")
    await connection.filter({ hasText: "Connected." }).waitFor()
    const rows = page.getByRole("list", { name: "Messages" }).getByRole("listitem")

    /** Repeats the event until it is acknowledged, as a client should. */
    const send = async (index: number): Promise<void> => {
      for (;;) {
        try {
          const reply = await fetch(`${first.url}/v1/events`, {
            method: "POST",
            headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
            body: JSON.stringify({ userId: `user-${index}-`, action: "TAP", id: `tap-${index}` }),
          })
          if (reply.status === 200) return
          await reply.arrayBuffer()
        } catch {
          // The server is away.
        }
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const users = Array.from({ length: count }, (_, index) => index)
    await Promise.all(users.slice(0, 20).map(send))
    await rows.nth(9).waitFor()
    const during = users.slice(20).map(send)
    await first.stop("SIGKILL")
    await connection.filter({ hasText: "Trying again" }).waitFor()
    const second = await Server.start(folder, { LAUREL_PORT: port })
    await Promise.all(during)

    await rows.nth(count - 1).waitFor()
    const shown = (await rows.allTextContents()).map((text) => /user-\d+-/.exec(text)?.[0])
    expect(shown.toSorted()).toEqual(users.map((index) => `user-${index}-`).toSorted())
    expect(await connection.textContent()).toBe("Connected.")
    // The session survived, too.
    await page.reload()
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toMatch(/^Live/)
    expect(await second.stop()).toBe(0)
  })
})
