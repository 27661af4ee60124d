/** The minimum that stores the xp of users: a Map from user id to an object. */
import { answer } from "../children.ts"
import { lessonXp, userIdAt } from "../events.ts"
import { heapBytes } from "../heap.ts"

await answer(({ users }: { readonly users: number }) => {
  const before = heapBytes()
  const byId = new Map<string, { xp: number }>()
  for (let n = 0; n < users; n++) {
    byId.set(JSON.parse(JSON.stringify(userIdAt(n))), { xp: lessonXp })
  }
  const bytes = heapBytes() - before
  if (byId.size !== users) throw new Error("Some ids are the same")
  return { bytesPerUser: bytes / users }
})
