/** The command of the welcome text works where it is printed. */
import { describe, expect, it } from "vitest"
import { welcomeText } from "../../../src/cli/output/Welcome.ts"

const url = "http://127.0.0.1:8080"
const create = "keys create --project NAME --environment sandbox\n"

describe("The command that creates a key, in the text of a start", () => {
  it.each([
    ["/srv/laurel/src/cli/output/Welcome.ts", "npm run --silent laurel --"],
    ["/srv/app/node_modules/laurel/src/cli/output/Welcome.js", "npx laurel"],
    ["/app/src/cli/output/Welcome.js", "node src/laurel.js"],
  ])("is one that an installation at %s has", (file, command) => {
    const text = welcomeText(url, { directory: "/srv/app/snapshots", isTrial: true }, file)
    expect(text).toContain(`\n  ${command} ${create}`)
  })

  it("names the data directory if it is not the default one", () => {
    const kept = { directory: "/srv/ada's data", isTrial: false }
    expect(welcomeText(url, kept)).toContain(
      `\n  LAUREL_DATA_DIR='/srv/ada'\\''s data' npm run --silent laurel -- ${create}`,
    )
  })
})
