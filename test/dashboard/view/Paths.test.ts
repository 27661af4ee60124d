/** The paths of metadata that forms suggest, and the warning beside a path that no event had. */
import { describe, expect, it } from "vitest"
import type { SeenAction } from "../../../src/dashboard/view/Actions.ts"
import { emptyForm, formOf } from "../../../src/dashboard/view/Forms.ts"
import { actionsIn, pathWarning, suggestedPaths } from "../../../src/dashboard/view/Paths.ts"

type Paths = SeenAction["metadata"]["paths"]

const seenOf = (action: string, paths: Paths, more = false): SeenAction => ({
  action,
  count: 10,
  lastReceivedAt: "2026-11-01T00:00:00.000Z",
  matched: true,
  metadata: { looked: 10, paths, more },
})

const buy = seenOf("BUY", [
  { path: "cart.total", kinds: ["number"], events: 8 },
  { path: "note", kinds: ["text"], events: 2 },
  { path: "items", kinds: ["list"], events: 1 },
  { path: "byPlan", kinds: ["object"], events: 1 },
])
const run = seenOf("RUN", [{ path: "km", kinds: ["number"], events: 9 }])
const wide = seenOf("WIDE", [{ path: "score", kinds: ["number"], events: 9 }], true)
const seen = [buy, run, wide]

const textOf = (...[draft, actions, path, isNumber]: Parameters<typeof pathWarning>) =>
  pathWarning(draft, actions, path, isNumber)?.text.replaceAll(/<[^>]+>/g, "")

describe("The warning beside a path", () => {
  it("is there if no event of the actions had the path, and names one that was meant", () => {
    const warning = (path: string) => textOf({ seen }, ["BUY"], path)
    expect(warning("cart.total")).toBeUndefined()
    expect(warning("cart.totl")).toBe(
      "No event of BUY had this path lately. Did you mean cart.total?",
    )
    expect(warning("Cart.Total")).toContain("cart.total?")
    expect(warning("km")).toBe("No event of BUY had this path lately.")
    expect(textOf({ seen }, ["BUY", "RUN"], "km")).toBeUndefined()
    expect(textOf({ seen }, ["BUY", "RUN"], "kilo")).toContain("No event of BUY, RUN had")
  })

  it("is absent where too little is known", () => {
    expect(textOf({}, ["BUY"], "x")).toBeUndefined()
    expect(textOf({ seen }, ["BUY"], "")).toBeUndefined()
    expect(textOf({ seen }, ["NEVER_SENT"], "x")).toBeUndefined()
    expect(textOf({ seen }, ["WIDE"], "other")).toBeUndefined()
    expect(textOf({ seen }, ["WIDE"], "scores")).toContain("score?")
    for (const inside of ["items.0.price", "byPlan.pro"]) {
      expect(textOf({ seen }, ["BUY"], inside)).toBeUndefined()
    }
  })

  it("says that there was no number, where one is needed", () => {
    expect(textOf({ seen }, ["BUY"], "note", true)).toBe(
      "Events of BUY had no number there, but: text.",
    )
    expect(textOf({ seen }, ["BUY"], "note")).toBeUndefined()
    expect(textOf({ seen }, ["BUY"], "cart.total", true)).toBeUndefined()
  })

  it("shows the text of events as text", () => {
    const odd = seenOf("BUY", [{ path: "<b>score</b>", kinds: ["number"], events: 9 }])
    expect(pathWarning({ seen: [odd] }, ["BUY"], "<b>score</b")?.text).toContain(
      "&lt;b&gt;score&lt;/b&gt;",
    )
  })
})

describe("The suggested paths", () => {
  it("are those of the form's actions, the most frequent first; of all actions without any", () => {
    expect(suggestedPaths(seen, ["BUY"])).toEqual(["cart.total", "note", "items", "byPlan"])
    expect(suggestedPaths(seen, ["NEVER_SENT"])).toEqual([
      ...["km", "score", "cart.total", "note", "items", "byPlan"],
    ])
  })

  it("follow each action that the form names, but not that of the event to try", () => {
    const form = formOf([
      ["action", "BUY"],
      ["steps.0.action", "RUN"],
      ["actions", "WIDE, LAST"],
      ["event.action", "TRIED"],
    ])
    expect(actionsIn(form)).toEqual(["BUY", "RUN", "WIDE", "LAST"])
    expect(actionsIn(emptyForm)).toEqual([])
  })
})
