/** The accessibility faults that axe finds on a page, in light and dark. */
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import type { AxeResults } from "axe-core"
import type { Page } from "playwright-core"

const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const tags = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
const common = { resultTypes: ["violations"], preload: false }
/** The rules to check in dark, too: only colours differ between the schemes. */
const rulesOfColour = ["color-contrast", "link-in-text-block"]

/**
 * The violations as `scheme: rule: element` lines, none if all is well. `part` is what axe calls a
 * context: a selector of the part to look at, such as an open dialog, or what to leave out.
 */
export const accessibilityFaults = async (
  page: Page,
  part: string | { readonly exclude: ReadonlyArray<string> } = "html",
): Promise<ReadonlyArray<string>> => {
  // The debugger's evaluation is not bound by the content security policy.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(source)
  const faults: Array<string> = []
  const look = async (scheme: "dark" | "light", runOnly: object) => {
    await page.emulateMedia({ colorScheme: scheme })
    const options = JSON.stringify({ ...common, runOnly })
    const { violations } = await page.evaluate<AxeResults>(
      `axe.run(${JSON.stringify(part)}, ${options})`,
    )
    for (const { id, nodes } of violations) {
      for (const { html, failureSummary = "" } of nodes) {
        faults.push(`${scheme}: ${id}: ${html}: ${failureSummary.replaceAll("\n", " ")}`)
      }
    }
  }
  await look("light", { type: "tag", values: tags })
  await look("dark", { type: "rule", values: rulesOfColour })
  return faults
}
