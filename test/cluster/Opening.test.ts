/**
 * How long a runner with the lock may take to serve, and how long it then leaves the partition to
 * others.
 */
import { expect, it } from "vitest"
import { Opening } from "../../src/cluster/Opening.ts"
import { limits } from "../../src/Limits.ts"

const setUp = () => {
  const clock = { now: 0 }
  return { clock, opening: new Opening(() => clock.now) }
}

it("An opening is overdue after openingMs, on both sides of that time", () => {
  const { clock, opening } = setUp()
  expect(opening.isOverdue).toBe(false)
  opening.begins()
  clock.now = limits.openingMs - 1
  // A further attempt with the same lock.
  opening.begins()
  expect(opening.isOverdue).toBe(false)
  clock.now++
  expect(opening.isOverdue).toBe(true)
  opening.succeeded()
  expect(opening.isOverdue).toBe(false)
})

it("An opening is overdue after openingFailuresMax failures in a row", () => {
  const { opening } = setUp()
  opening.begins()
  for (let failure = 1; failure < limits.openingFailuresMax; failure++) opening.failed("again")
  expect(opening.isOverdue).toBe(false)
  opening.failed("again")
  expect(opening.isOverdue).toBe(true)
  opening.lockLost()
  opening.begins()
  expect(opening.isOverdue).toBe(false)
})

it("Two runners that both cannot open a partition exchange the lock less and less often, until one has served", () => {
  const { clock, opening } = setUp()
  const pauses: Array<number> = []
  for (let round = 0; round < 6; round++) {
    opening.begins()
    for (let failure = 0; failure < limits.openingFailuresMax; failure++) opening.failed("again")
    expect(opening.isOverdue).toBe(true)
    opening.gaveAway()
    opening.lockLost()
    const since = clock.now
    while (opening.pauses) clock.now += 1_000
    pauses.push(clock.now - since)
  }
  const doubled = [1, 2, 4, 8, 16, 16].map((times) => times * limits.openingMs)
  expect(pauses).toEqual(doubled)
  expect(limits.openingMsMax).toBe(16 * limits.openingMs)
  opening.begins()
  opening.succeeded()
  opening.begins()
  clock.now += limits.openingMs
  expect(opening.isOverdue).toBe(true)
})

it("A runner without disk space gives the partition away at once, and asks again after the same short pause each time", () => {
  const { clock, opening } = setUp()
  for (let round = 0; round < 6; round++) {
    opening.begins()
    expect([opening.failed("unwritable"), opening.isOverdue]).toEqual([true, true])
    // No news: a full disk may last for hours.
    expect(opening.failed("unwritable")).toBe(false)
    opening.gaveAway()
    opening.lockLost()
    expect(opening.isOverdue).toBe(false)
    clock.now += limits.unwritablePauseMs - 1
    expect(opening.pauses).toBe(true)
    clock.now++
    expect(opening.pauses).toBe(false)
  }
  opening.begins()
  opening.failed("unwritable")
  // There was space for the next attempt, which fails otherwise.
  opening.failed("again")
  expect(opening.isOverdue).toBe(false)
})

it("The pause between attempts doubles while the directory takes no writes, up to unwritablePauseMs", () => {
  const { opening } = setUp()
  opening.begins()
  expect(opening.retryMs).toBe(limits.clusterRetryMs)
  const pauses = [1, 2, 4, 8, 10, 10].map((times) => times * limits.clusterRetryMs)
  for (const pause of pauses) {
    opening.failed("unwritable")
    expect(opening.retryMs).toBe(pause)
  }
  expect(limits.unwritablePauseMs).toBe(10 * limits.clusterRetryMs)
  // The directory takes writes again, and the attempt fails otherwise.
  opening.failed("again")
  expect(opening.retryMs).toBe(limits.clusterRetryMs)
})
