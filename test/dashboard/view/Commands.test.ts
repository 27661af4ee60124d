import { execFileSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import {
  boardRequest,
  commandsOf,
  eventRequest,
  keyVariable,
} from "../../../src/dashboard/view/Commands.ts"

/** The arguments that a shell passes to the program of a command. */
const argumentsOf = (command: string): string =>
  execFileSync("sh", ["-c", `${command.replace(/^\w+/, 'printf "%s\\n"')}`], {
    env: { KEY: "lk_test_of_the_shell" },
    encoding: "utf8",
  })

describe("A command for a shell that has the key in a variable", () => {
  const commands = [boardRequest, eventRequest].flatMap((request) =>
    commandsOf("http://localhost:8080", keyVariable, request),
  )

  it.each(commands.map(({ label, text }) => [label, text] as const))(
    "sends the key itself: %s",
    (_, text) => {
      const given = argumentsOf(text)
      expect(given).toContain("Bearer lk_test_of_the_shell")
      expect(given).not.toContain(keyVariable)
    },
  )
})
