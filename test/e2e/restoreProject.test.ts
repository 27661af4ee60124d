/** `laurel snapshots restore --project`, with webhooks under way: the server of two projects before and after. */
import { describe, expect, it, onTestFinished } from "vitest"
import { commandEnd } from "../cli/commands.ts"
import { answer, Receiver } from "../webhooks/Receiver.ts"
import { Server, temporaryFolder } from "./program.ts"

const variables = {
  LAUREL_WEBHOOK_ALLOW_CIDR: "127.0.0.0/8",
  // Nothing is tried again before the restore, and all of it soon after.
  LAUREL_WEBHOOK_RETRY_SCHEDULE: "0,5,5,5",
}
const events = ["reward.granted"]

describe("A project that goes back", () => {
  it("gets messages of its remaining records, others get all, and nobody gets one twice", async () => {
    const folder = await temporaryFolder()
    const keys: Record<string, string> = {}
    const receiver = await Receiver.start()
    onTestFinished(() => receiver.stop())
    let accepts = (userId: string) => userId !== ""
    receiver.answer = (response, received, socket) =>
      answer(accepts(received.message.data.userId ?? "") ? 204 : 500)(response, received, socket)
    const server = await Server.start(folder, variables)
    const rewards = new Map<string, string>()
    const grant = async (on: Server, project: string, id: string) => {
      const reward = { type: "xp", amount: 1, id }
      const path = `/v1/users/${id}/rewards`
      const { body, status } = await on.request(keys[project]!, "POST", path, reward)
      expect(status).toBe(200)
      rewards.set(body.rewardId, `${project} ${id}`)
    }
    const webhooks: Record<string, string> = {}
    /** The rewards that a project's webhook was told of, by its log. */
    const delivered = async (on: Server, project: string) => {
      const path = `/v1/webhooks/${webhooks[project]}/deliveries?status=succeeded`
      const { body } = await on.request(keys[project]!, "GET", path)
      const ids: ReadonlyArray<string> = body.deliveries.map(
        ({ messageId }: { readonly messageId: string }) => messageId,
      )
      const tellingOf = new Map(
        receiver.received.map(({ message }) => [message.id, message.data.rewardId ?? ""]),
      )
      return ids.map((id) => rewards.get(tellingOf.get(id) ?? "") ?? "unknown").sort()
    }
    /** How often each reward was told of. */
    const told = () => {
      const counts: Record<string, number> = {}
      for (const { message } of receiver.received) {
        const name = rewards.get(message.data.rewardId) ?? "unknown"
        counts[name] = (counts[name] ?? 0) + 1
      }
      return counts
    }
    for (const project of ["shop", "cafe"]) {
      keys[project] = await server.createKey(project)
      const url = receiver.url("127.0.0.1", `/${project}`)
      const made = await server.request(keys[project]!, "POST", "/v1/webhooks", { url, events })
      expect(made.status).toBe(201)
      webhooks[project] = made.body.id
      await grant(server, project, "early")
    }
    await receiver.atLeast(2)
    const created = await commandEnd(["snapshots", "create", "--json"], folder)
    const archive = JSON.parse(created.stdout)
    accepts = (userId) => userId === "quick" || userId === "gone"
    for (const project of ["shop", "cafe"]) await grant(server, project, "kept")
    await grant(server, "shop", "quick")
    const point = archive.sequence + 3
    await grant(server, "shop", "gone")
    for (const project of ["shop", "cafe"]) await grant(server, project, "late")
    await receiver.atLeast(8)
    expect(await server.stop()).toBe(0)

    const to = ["--to-sequence", String(point), "--yes"]
    const nobody = await commandEnd(["snapshots", "restore", "--project", "nobody", ...to], folder)
    expect([nobody.code, nobody.stderr]).toEqual([
      1,
      expect.stringContaining("laurel: There is no project nobody.\n"),
    ])
    const last = await commandEnd(
      ["snapshots", "restore", "--project", "shop", "--to-sequence", "last"],
      folder,
    )
    expect(last.code).toBe(64)
    const restored = await commandEnd(
      ["snapshots", "restore", "--project", "shop", ...to, "--json"],
      folder,
    )
    expect(restored.code).toBe(0)
    expect(restored.stderr).toContain(`Project shop is restored to record ${point}`)
    // The last record says when the keys were last used.
    expect(JSON.parse(restored.stdout)).toMatchObject({
      sequence: point + 4,
      project: { name: "shop", sequence: point },
      lost: { count: 2, first: point + 1, last: point + 2 },
    })
    expect((await commandEnd(["snapshots", "verify", "live"], folder)).code).toBe(0)

    accepts = () => true
    const before = receiver.received.length
    const again = await Server.start(folder, variables)
    const usersOf = async (project: string) =>
      (await again.request(keys[project]!, "GET", "/v1/users?limit=10")).body.users.map(
        ({ id }: { readonly id: string }) => id,
      )
    expect([await usersOf("shop"), await usersOf("cafe")]).toEqual([
      ["early", "kept", "quick"],
      ["early", "kept", "late"],
    ])
    await receiver.atLeast(before + 3)
    for (const project of ["shop", "cafe"]) await grant(again, project, "after")
    await receiver.until(() => told()["shop after"] === 1 && told()["cafe after"] === 1)
    // The receiver knows before the log.
    await expect
      .poll(() => delivered(again, "shop"))
      .toEqual(["shop after", "shop early", "shop kept", "shop quick"])
    expect(await again.stop()).toBe(0)
    expect(told()).toEqual({
      "shop quick": 1,
      "shop gone": 1,
      "shop early": 1,
      "cafe early": 1,
      // Once refused, and then accepted.
      "shop kept": 2,
      "cafe kept": 2,
      // Told of when it was, and not again.
      "shop late": 1,
      "cafe late": 2,
      "shop after": 1,
      "cafe after": 1,
    })
  })
})
