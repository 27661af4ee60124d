/** The files of the reference are made once, in a thread, and again after a failure. */
import { expect, it } from "vitest"
import {
  loadReference,
  type ReferenceFiles,
  shared,
} from "../../../src/http/docs/ReferenceThread.ts"

it("are made once for all who ask, also at the same time", async () => {
  let made = 0
  const files = {} as ReferenceFiles
  const load = shared(async () => {
    made++
    return files
  })
  expect(await Promise.all([load(), load()])).toEqual([files, files])
  expect(await load()).toBe(files)
  expect(made).toBe(1)
})

it("are made again where that failed", async () => {
  let made = 0
  const files = {} as ReferenceFiles
  const load = shared(async () => {
    if (made++ === 0) throw new Error("no memory")
    return files
  })
  const both = await Promise.allSettled([load(), load()])
  expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"])
  expect(await load()).toBe(files)
  expect(made).toBe(2)
})

it("come from the thread as they were made there", async () => {
  const { document, script } = await loadReference()
  expect(JSON.parse(document.text).openapi).toBe("3.1.0")
  expect(document.compressed).toBeInstanceOf(Buffer)
  expect(script.text).toContain("Scalar.createApiReference")
  expect(script.tag).not.toBe(document.tag)
})
