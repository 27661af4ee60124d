/** Finds the browser once, before the workers start, so that two extractions do not collide. */
import type { TestProject } from "vitest/node"
import { type Chromium, findChromium } from "./chromium.ts"

declare module "vitest" {
  interface ProvidedContext {
    chromium: Chromium
  }
}

export default async ({ provide }: TestProject): Promise<void> => {
  provide("chromium", await findChromium(process.env))
}
