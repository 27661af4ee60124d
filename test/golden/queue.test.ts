/** Events that a client queued before an app's update are sent by the updated one. */
import { expect, it } from "vitest"
import { eventsMax } from "../../src/client/queue/QueueStorage.ts"
import { textStorage } from "../../src/client/queue/TextStorage.ts"

/** Written by commit 67e2650: two events after the removal of a first one. */
const golden =
  '[{"event":{"occurredAt":"2026-10-29T12:00:01.000Z","userId":"ada","action":"READ","id":"a-2"},"key":2},{"event":{"occurredAt":"2026-10-29T12:00:02.000Z","userId":"bob","action":"READ","id":"a-3"},"key":3}]'

it("A text storage has the events of an earlier version, and adds to them as it did", async () => {
  const texts = new Map([["laurel-queue", golden]])
  const storage = textStorage({
    getItem: (name) => texts.get(name) ?? null,
    setItem: (name, text) => texts.set(name, text),
  })
  const [first, second] = JSON.parse(golden)
  expect(await storage.first(eventsMax)).toEqual([first, second])
  await storage.add({ userId: "ada", action: "TAP", id: "a-4" })
  await storage.remove([second.key])
  const added = '{"event":{"userId":"ada","action":"TAP","id":"a-4"},"key":4}'
  expect([...texts]).toEqual([["laurel-queue", `[${JSON.stringify(first)},${added}]`]])
})
