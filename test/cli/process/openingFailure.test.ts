/** Which failures of an opening end a server of a cluster. */
import { Cause } from "effect"
import { expect, it } from "vitest"
import { commandFailed, exitCodes } from "../../../src/cli/output/ExitCode.ts"
import { openingFailure } from "../../../src/cli/process/ClusterServer.ts"

const failureOf = (exitCode: number) => openingFailure(Cause.fail(commandFailed(exitCode, "words")))

it("A server of a cluster continues after an opening that failed for lack of space or may succeed later", () => {
  expect(failureOf(exitCodes.cannotWrite)).toBe("unwritable")
  expect(failureOf(exitCodes.unavailable)).toBe("again")
  expect(openingFailure(Cause.fail(new Error("no command's")))).toBe("again")
  expect(openingFailure(Cause.die("a defect"))).toBe("again")
})

it("A server of a cluster ends after an opening that failed for damaged data or wrong settings", () => {
  for (const exitCode of [exitCodes.damagedData, exitCodes.configuration, exitCodes.refused]) {
    expect(failureOf(exitCode)).toMatchObject({ _tag: "CommandFailed", exitCode })
  }
})
