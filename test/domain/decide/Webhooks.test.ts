import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { decideProject } from "../../../src/domain/decide/Project.ts"
import type { WebhookCommand } from "../../../src/domain/decide/Webhooks.ts"
import type { Webhook } from "../../../src/domain/project/Project.ts"
import { emptyProject, type ProjectState } from "../../../src/domain/project/Project.ts"
import { applyProject } from "../../../src/domain/record/applyProject.ts"
import { limits } from "../../../src/Limits.ts"

const now = 1_000_000

/** A project to which commands are given one after another. */
class World {
  state: ProjectState = emptyProject
  #sequence = 0

  do(command: WebhookCommand, at = now) {
    const facts = Result.getOrThrow(decideProject(this.state, command, at))
    this.state = applyProject(this.state, {
      sequence: ++this.#sequence,
      at,
      subject: { actor: "project", environment: "p:sandbox" },
      cause: { kind: "request" },
      facts,
    })
    return facts
  }

  refused(command: WebhookCommand, at = now): string {
    return Result.getOrThrow(Result.flip(decideProject(this.state, command, at))).code
  }

  get(id: string): Webhook | undefined {
    return this.state.webhooks.get(id)
  }
}

const create = (id: string) =>
  ({
    kind: "createWebhook",
    webhook: { id, url: "https://example.com/", events: ["*"], description: null, secret: "s1" },
    webhooksMax: limits.webhooks,
  }) as const
const update = (
  webhookId: string,
  change: Extract<WebhookCommand, { readonly kind: "updateWebhook" }>["change"],
) => ({ kind: "updateWebhook", webhookId, change }) as const

describe("A webhook's definition", () => {
  it("is enabled at first, and has the sequence of its record", () => {
    const world = new World()
    world.do(create("a"))
    world.do(create("b"))
    expect(world.get("b")).toEqual({
      ...create("b").webhook,
      since: 2,
      status: "enabled",
      disabledReason: null,
      disabledAt: null,
      previousSecret: null,
      version: 1,
      createdAt: now,
      updatedAt: now,
    })
  })

  it("is one of a bounded number", () => {
    const world = new World()
    for (let count = 0; count < limits.webhooks; count++) world.do(create(`w${count}`))
    expect(world.refused(create("more"))).toBe("quota_exceeded")
    world.do({ kind: "deleteWebhook", webhookId: "w7" })
    world.do(create("more"))
    expect(world.state.webhooks.size).toBe(limits.webhooks)
    // The setting was raised.
    world.do({ ...create("one more"), webhooksMax: limits.webhooks + 1 })
    expect(world.refused(create("and more"))).toBe("quota_exceeded")
  })

  it("changes the members of a patch, and records why and when it was disabled", () => {
    const world = new World()
    world.do(create("a"))
    world.do(update("a", { events: ["quest.*"] }), now + 1)
    expect(world.get("a")).toMatchObject({
      events: ["quest.*"],
      since: 1,
      updatedAt: now + 1,
      version: 2,
    })
    world.do(update("a", { status: "disabled" }), now + 2)
    world.do(update("a", { status: "disabled", description: "x" }), now + 3)
    expect(world.get("a")).toMatchObject({
      status: "disabled",
      disabledReason: "manual",
      disabledAt: now + 2,
      description: "x",
      version: 4,
    })
    world.do(update("a", { status: "enabled" }))
    expect(world.get("a")).toMatchObject({ disabledReason: null, disabledAt: null })
    world.do({ kind: "disableWebhook", webhookId: "a", reason: "gone" }, now + 4)
    expect(world.get("a")).toMatchObject({
      status: "disabled",
      disabledReason: "gone",
      disabledAt: now + 4,
      version: 6,
    })
  })

  it("keeps the secret before for the grace, and for none not at all", () => {
    const world = new World()
    world.do(create("a"))
    const rotate = (secret: string, graceSeconds: number) =>
      world.do({ kind: "rotateWebhookSecret", webhookId: "a", secret, graceSeconds })
    rotate("s2", 60)
    expect(world.get("a")).toMatchObject({
      secret: "s2",
      previousSecret: { secret: "s1", until: now + 60_000 },
    })
    rotate("s3", 60)
    expect(world.get("a")?.previousSecret?.secret).toBe("s2")
    rotate("s4", 0)
    expect(world.get("a")).toMatchObject({ secret: "s4", previousSecret: null })
    expect(world.get("a")).not.toHaveProperty("olderSecrets")
  })

  it("keeps every secret for the grace that it was given, as many as may sign at once", () => {
    const world = new World()
    world.do(create("a"))
    const rotate = (secret: string, graceSeconds: number, at: number) =>
      world.do({ kind: "rotateWebhookSecret", webhookId: "a", secret, graceSeconds }, at)
    const known = () => {
      const { olderSecrets = [], previousSecret, secret } = world.get("a")!
      return [secret, previousSecret?.secret, ...olderSecrets.map((older) => older.secret)]
    }
    const names = Array.from({ length: limits.webhookSecretsMax }, (_, index) => `s${index + 1}`)
    for (const secret of names.slice(1)) rotate(secret, 60, now)
    expect(known()).toEqual(names.toReversed())
    const more = { webhookId: "a", secret: "one more", graceSeconds: 60 } as const
    expect(world.refused({ kind: "rotateWebhookSecret", ...more }, now + 59_999)).toBe(
      "quota_exceeded",
    )
    expect(known()).toEqual(names.toReversed())
    rotate("later", 60, now + 60_000)
    expect(known()).toEqual(["later", names.at(-1)])
    rotate("again", 60, now + 60_001)
    expect(world.get("a")?.olderSecrets).toEqual([{ secret: names.at(-1), until: now + 120_000 }])
    rotate("last", 0, now + 60_002)
    expect(known()).toEqual(["last", undefined])
  })

  it("that is disabled is neither tested, redelivered, recovered nor disabled again", () => {
    const world = new World()
    world.do(create("a"))
    const commands: ReadonlyArray<WebhookCommand> = [
      { kind: "testWebhook", webhookId: "a" },
      { kind: "redeliver", webhookId: "a", sequence: 1, at: now, index: 0 },
      { kind: "recoverWebhook", webhookId: "a", since: 0 },
      { kind: "disableWebhook", webhookId: "a", reason: "failing" },
    ]
    expect(commands.map((command) => world.do(command)[0]?.kind)).toEqual([
      "webhook.tested",
      "webhook.redelivered",
      "webhook.recovered",
      "webhook.disabled",
    ])
    for (const command of commands) expect(world.refused(command)).toBe("webhook_disabled")
  })

  it("must exist to be changed", () => {
    const world = new World()
    const webhookId = "none"
    for (const command of [
      update(webhookId, {}),
      { kind: "deleteWebhook", webhookId },
      { kind: "rotateWebhookSecret", webhookId, secret: "s", graceSeconds: 0 },
      { kind: "testWebhook", webhookId },
    ] as const) {
      expect(world.refused(command)).toBe("webhook_not_found")
    }
  })
})
