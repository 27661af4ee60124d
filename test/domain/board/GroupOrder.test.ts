import { describe, expect, it } from "vitest"
import { Grouping } from "../../../src/domain/board/Grouping.ts"
import { Leaderboard } from "../../../src/domain/board/Leaderboard.ts"
import { Members } from "../../../src/domain/board/Members.ts"
import { limits } from "../../../src/Limits.ts"
import { randomOf } from "../../simulation/random.ts"
import { runSeed } from "./leaderboardModel.ts"

interface Row {
  readonly userId: string
  readonly score: number
  readonly tie: number
  readonly group: string | null
}

const names = ["Berlin", "constructor", "__proto__", "Rome", "Oslo"]

const inOrder = (one: Row, other: Row): number =>
  other.score - one.score || one.tie - other.tie || (one.userId < other.userId ? -1 : 1)

/** A board with groups: live, or with the groups that members had when it closed. */
const watchedBoard = (members: Members, grouping: Grouping) => {
  const board = Leaderboard.grouped(members, grouping)
  const state = { closed: false }
  grouping.watchers.add({
    get keeps() {
      return state.closed
    },
    leavesGroup: (member, group) => {
      if (state.closed) board.groups!.keep(member, group)
      else board.groups!.leave(member)
    },
    joinsGroup: (member) => {
      if (!state.closed) board.groups!.join(member)
    },
  })
  return { board, state }
}

const expectGroups = (board: Leaderboard, rows: ReadonlyArray<Row>): void => {
  board.check()
  const groups = board.groups!
  const listed = new Map<string, number>()
  for (const { group, score } of rows) {
    if (group !== null && score > 0) listed.set(group, (listed.get(group) ?? 0) + 1)
  }
  const byName = [...listed].sort(([one], [other]) => (one < other ? -1 : 1))
  for (const after of [undefined, "", "C", ...names, "~"]) {
    const found: Array<readonly [string, number]> = []
    groups.visitGroups(after, (name, total) => {
      found.push([name, total])
      return found.length < 3
    })
    const behind = byName.filter(([name]) => after === undefined || name > after)
    expect([after, found]).toEqual([after, behind.slice(0, 3)])
  }
  for (const name of names) {
    const own = rows.filter(({ group, score }) => group === name && score > 0).sort(inOrder)
    const group = groups.find(name)
    if (group === undefined) {
      expect([name, own]).toEqual([name, []])
      continue
    }
    expect([name, groups.totalOf(group)]).toEqual([name, own.length])
    const found: Array<string> = []
    groups.visit(group, 0, own.length + 1, (member) => found.push(board.members.idOf(member)))
    expect(found).toEqual(own.map(({ userId }) => userId))
    for (let at = 0; at < own.length; at += 1 + Math.floor(own.length / 20)) {
      const { score, userId } = own[at]!
      const member = board.members.find(userId)!
      expect(groups.positionOf(member)).toBe(at)
      expect(groups.countAbove(group, score)).toBe(own.filter((row) => row.score > score).length)
      const page: Array<string> = []
      groups.visit(group, at, 3, (one) => page.push(board.members.idOf(one)))
      expect(page).toEqual(own.slice(at, at + 3).map((row) => row.userId))
    }
  }
}

describe("The groups of a board", () => {
  const seed = runSeed

  it.each([
    ["few scores", 3],
    ["many scores", 1_000_000],
  ])(
    `equal a naive sort through a random life with %s; again with LAUREL_TEST_SEED=${seed}`,
    (_, scores) => {
      const random = randomOf(seed)
      const below = (end: number) => Math.floor(random() * end)
      const grouping = new Grouping()
      const members = new Members()
      const { board, state } = watchedBoard(members, grouping)
      const rows = new Map<string, Row>()
      const users = 6 * limits.boardGroupSlotsMax
      for (let step = 1; step <= 12_000; step++) {
        const userId = `user-${below(users)}`
        const row = rows.get(userId) ?? { userId, score: 0, tie: 0, group: null }
        const kind = random()
        const member = board.memberOf(userId)
        if (kind < 0.6) {
          const score = below(scores)
          // Ties of equal sequences fall back to the ids.
          const tie = random() < 0.5 ? 7 : step
          board.set(member, score, tie)
          rows.set(userId, score === row.score ? row : { ...row, score, tie })
        } else if (kind < 0.9) {
          const name = random() < 0.2 ? null : names[below(names.length)]!
          grouping.assign(member, name)
          rows.set(userId, { ...row, group: name })
        } else {
          board.remove(member)
          rows.set(userId, { ...row, score: 0 })
        }
        if (step % 1_500 === 0) expectGroups(board, [...rows.values()])
      }
      state.closed = true
      const closed = [...rows.values()]
      for (const { userId } of closed.slice(0, 500)) {
        grouping.assign(members.find(userId)!, names[below(names.length)]!)
        grouping.assign(members.find(userId)!, null)
      }
      expectGroups(board, closed)
      // All leave, so that chunks join and go.
      state.closed = false
      const open = watchedBoard(members, grouping).board
      for (const { score, tie, userId } of closed) {
        grouping.assign(members.find(userId)!, "Rome")
        open.set(members.find(userId)!, score, tie)
      }
      for (const { userId } of closed) open.remove(members.find(userId)!)
      expectGroups(open, [])
    },
  )

  it("keeps the first group that a member had at the close", () => {
    const grouping = new Grouping()
    const members = new Members()
    const { board, state } = watchedBoard(members, grouping)
    const ada = board.memberOf("ada")
    grouping.assign(ada, "Berlin")
    board.set(ada, 5, 1)
    state.closed = true
    grouping.assign(ada, "Rome")
    grouping.assign(ada, "Oslo")
    const row = { userId: "ada", score: 5, tie: 1, group: "Berlin" }
    expectGroups(board, [row])
    expect(grouping.nameOf(grouping.groupOf(ada))).toBe("Oslo")
  })

  it("reuses the number of a group without members unless a closed board has it", () => {
    const grouping = new Grouping()
    const members = new Members()
    const { board, state } = watchedBoard(members, grouping)
    const ada = board.memberOf("ada")
    grouping.assign(ada, "Berlin")
    board.set(ada, 5, 1)
    state.closed = true
    grouping.assign(ada, "Rome")
    grouping.assign(ada, "Oslo")
    expect(board.groups!.nameOf(board.groups!.groupOf(ada))).toBe("Berlin")
    expect(grouping.find("Rome")).toBeDefined()
    state.closed = false
    const before = grouping.find("Rome")!
    grouping.assign(ada, "Paris")
    expect([grouping.find("Rome"), grouping.find("Berlin")]).toEqual([undefined, undefined])
    expect(grouping.find("Paris")! <= before).toBe(true)
  })
})
