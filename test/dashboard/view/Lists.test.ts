/** Tables: which columns stand right. */
import { describe, expect, it } from "vitest"
import { type Content, html } from "../../../src/dashboard/view/Html.ts"
import { table } from "../../../src/dashboard/view/Lists.ts"

/** The columns that stand right. */
const columnsOf = (...rows: ReadonlyArray<ReadonlyArray<Content>>): string | undefined =>
  /<table(?: class="(.*?)")?>/.exec(table("Rows", [], rows).text)![1]

const dash = html`<span class="hint">–</span>`

describe("A table aligns right", () => {
  it("columns of numbers, shares and amounts with a sign, but not the first one", () => {
    expect(columnsOf(["1", "1,250", "36.2%", 7], ["2", "0", "−3%", 8])).toBe("n2 n3 n4")
  })

  it("numbers with a hint behind them, beside dashes and empty cells", () => {
    const shared = html`${"12%"} <span class="hint">rare</span>`
    expect(columnsOf(["a", shared, "1"], ["b", dash, null], ["c", "–", ""])).toBe("n2 n3")
  })

  it("no column of texts, of markup, or of nothing", () => {
    const link = html`<a href="/">3</a>`
    expect(columnsOf(["a", "three", link, dash], ["b", "3", "4", null])).toBeUndefined()
  })
})
