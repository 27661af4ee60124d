import { describe, expect, it } from "vitest"
import { kindsOf } from "../../../src/domain/message/MessageKind.ts"
import { Subscriber } from "../../../src/http/stream/StreamHub.ts"
import { limits } from "../../../src/Limits.ts"

const place = { sequence: 1, at: 0, index: 0 }
const subscriber = () => new Subscriber({ environment: "prj_1:sandbox" }, kindsOf(["*"]), 1)

describe("The queue of a stream", () => {
  it("loses what it has of a user who was erased, and keeps the rest in its order", () => {
    const stream = subscriber()
    for (const [block, userId] of [
      ["1", "ada"],
      ["2", "bob"],
      ["3", undefined],
      ["4", "ada"],
      ["5", "carl"],
    ] as const) {
      expect(stream.push({ block, userId }, place)).toBe(true)
    }
    stream.drop("ada")
    expect(stream.take()?.text).toBe("235")
    stream.push({ block: "6", userId: "ada" }, place)
    stream.drop("ada")
    expect(stream.take()).toBeUndefined()
  })

  it("has room again for what it lost", () => {
    const stream = subscriber()
    const half = "x".repeat(limits.streamQueueBytesMax / 2)
    for (const userId of ["ada", "bob"]) stream.push({ block: half, userId }, place)
    stream.drop("ada")
    expect(stream.push({ block: half, userId: "carl" }, place)).toBe(true)
    expect(stream.push({ block: "x", userId: "carl" }, place)).toBe(false)
  })
})
