import { describe, expect, it } from "vitest"
import { findChromium, launch } from "./chromium.ts"

describe("Without a browser", () => {
  it("a run fails with one sentence about what to do", async () => {
    const named = await findChromium({ LAUREL_TEST_BROWSER: "/nowhere/chromium", PATH: "" })
    const missing = "LAUREL_TEST_BROWSER names /nowhere/chromium, which is no program."
    expect(named).toEqual({ missing })
    await expect(launch(named)).rejects.toThrow(missing)
  })
})
