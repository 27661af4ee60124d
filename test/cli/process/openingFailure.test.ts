/** Which failures of an opening end a server of a cluster. */
import { Cause } from "effect"
import { expect, it } from "vitest"
import { commandFailed, exitCodes } from "../../../src/cli/output/ExitCode.ts"
import { openingFailure } from "../../../src/cli/process/ClusterServer.ts"

const failureOf = (exitCode: number, isAlone = true) =>
  openingFailure(Cause.fail(commandFailed(exitCode, "words")), isAlone)

it("A server of a cluster continues after an opening that failed for lack of space or may succeed later", () => {
  expect(failureOf(exitCodes.cannotWrite)).toBe("unwritable")
  expect(failureOf(exitCodes.unavailable)).toBe("again")
  expect(openingFailure(Cause.fail(new Error("no command's")), true)).toBe("again")
  expect(openingFailure(Cause.die("a defect"), true)).toBe("again")
})

it("A server without an archive for its copy leaves the partition to another server, and ends if there is none", () => {
  expect(failureOf(exitCodes.noData, false)).toBe("unwritable")
  expect(failureOf(exitCodes.noData)).toMatchObject({ exitCode: exitCodes.configuration })
})

it("A server of a cluster ends after an opening that failed for damaged data or wrong settings", () => {
  for (const exitCode of [exitCodes.damagedData, exitCodes.configuration, exitCodes.refused]) {
    for (const isAlone of [true, false]) {
      expect(failureOf(exitCode, isAlone)).toMatchObject({ _tag: "CommandFailed", exitCode })
    }
  }
})
