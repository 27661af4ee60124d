/** Which failures of an opening end a server of a cluster. */
import { Cause } from "effect"
import { expect, it } from "vitest"
import { commandFailed, exitCodes } from "../../../src/cli/output/ExitCode.ts"
import { openingFailure } from "../../../src/cli/process/ClusterServer.ts"

const failureOf = (exitCode: number) => openingFailure(Cause.fail(commandFailed(exitCode, "words")))

it("A server goes on without space for its directory, and where another opening may succeed", () => {
  expect(failureOf(exitCodes.cannotWrite)).toBe("unwritable")
  expect(failureOf(exitCodes.unavailable)).toBe("again")
  expect(openingFailure(Cause.fail(new Error("no command's")))).toBe("again")
  expect(openingFailure(Cause.die("a defect"))).toBe("again")
})

it("Damaged data and wrong settings end it", () => {
  for (const exitCode of [exitCodes.damagedData, exitCodes.configuration, exitCodes.refused]) {
    expect(failureOf(exitCode)).toMatchObject({ _tag: "CommandFailed", exitCode })
  }
})
