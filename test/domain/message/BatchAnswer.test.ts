import { describe, expect, it } from "vitest"
import { usersOfAnswer, withoutErased } from "../../../src/domain/message/UserReply.ts"
import { recordId } from "../../../src/domain/values/Ids.ts"

const outcome = (userId: string, sequence: number, duplicate = false) => ({
  userId,
  eventId: recordId("evt", { sequence, at: 1_790_000_000_000 }),
  duplicate,
})
const refusal = { status: 400, code: "invalid_request", detail: "No.", errors: [] }
const answer = {
  accepted: 2,
  duplicates: 1,
  rejected: 1,
  results: [outcome("a", 5), outcome("b", 6), refusal, outcome("a", 3, true)],
}

describe("A batch's answer", () => {
  it("lists its users", () => {
    expect([...usersOfAnswer(answer)]).toEqual(["a", "b"])
  })

  it("is without an erased user's events, up to the erasure", () => {
    const gone = {
      status: 404,
      code: "user_not_found",
      detail: "The user has since been erased.",
      errors: [],
    }
    expect(withoutErased(answer, (userId) => (userId === "a" ? 5 : 0))).toEqual({
      accepted: 1,
      duplicates: 0,
      rejected: 3,
      results: [gone, outcome("b", 6), refusal, gone],
    })
    expect(withoutErased(answer, (userId) => (userId === "a" ? 4 : 0))).toEqual({
      accepted: 2,
      duplicates: 0,
      rejected: 2,
      results: [outcome("a", 5), outcome("b", 6), refusal, gone],
    })
  })

  it("stays the same object without erased users", () => {
    expect(withoutErased(answer, () => 0)).toBe(answer)
    expect(withoutErased(answer, (userId) => (userId === "c" ? 100 : 0))).toBe(answer)
  })

  it("without outcomes has no users, and stays as it is", () => {
    const brief = { accepted: 2, duplicates: 0, rejected: 0, refusals: [] }
    expect([...usersOfAnswer(brief)]).toEqual([])
    expect(withoutErased(brief, () => 5)).toBe(brief)
  })
})
