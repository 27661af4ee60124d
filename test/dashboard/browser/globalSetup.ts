/**
 * Finds the browser once, before the workers start: two extractions at once would disturb each
 * other.
 */
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
