import { describe, expect, it } from "vitest"
import { type Names, Refusal, readCommand } from "../../bench/command.ts"

const names: Names = {
  all: ["single", "steady", "growth", "journal"],
  short: ["single", "steady", "growth"],
  remote: ["single"],
  variants: ["single", "steady"],
  onlyByName: ["soak"],
}
const read = (...args: ReadonlyArray<string>) => readCommand(args, names)
const url = ["--url", "http://10.0.0.1:8080", "--key", "lk_1"]

describe("The command line of the benches", () => {
  it("runs all without names, or those that its options allow", () => {
    expect(read()).toEqual({
      names: names.all,
      options: { quick: false },
      help: false,
      table: false,
    })
    expect(read("--quick").names).toEqual(names.short)
    expect(read(...url).names).toEqual(names.remote)
    expect(read(...url, "--quick").names).toEqual(names.remote)
  })

  it("runs what is named, also what is run by name only", () => {
    expect(read("journal", "soak").names).toEqual(["journal", "soak"])
  })

  it("passes numbers, files and the target on", () => {
    const numbers = ["--connections", "3", "--rate", "500", "--duration", "2", "--minutes", "9"]
    const files = ["--json", "a", "--html", "b", "--compare", "c"]
    expect(read("single", ...url, ...numbers, ...files, "--help")).toEqual({
      names: ["single"],
      options: {
        quick: false,
        target: { host: "10.0.0.1", port: 8080, key: "lk_1" },
        connections: 3,
        rate: 500,
        seconds: 2,
        minutes: 9,
      },
      help: true,
      table: false,
      json: "a",
      html: "b",
      compare: "c",
    })
    expect(read("--url", "http://host", "--key", "k").options.target?.port).toBe(80)
  })

  it("passes other servers of Laurel on, to benches that compare them", () => {
    const settings = "LAUREL_NODE=/opt/node,NODE_OPTIONS=--expose-gc --trace-gc"
    const { names: run, options } = read(
      "--base",
      ".",
      "--with",
      settings,
      "--alone",
      "--users",
      "9",
    )
    expect(run).toEqual(names.variants)
    expect(options).toEqual({
      quick: false,
      alone: true,
      users: 9,
      variants: [
        { name: expect.stringMatching(/^Laurel in ./), checkout: process.cwd(), settings: {} },
        {
          name: `Laurel with ${settings}`,
          settings: { LAUREL_NODE: "/opt/node", NODE_OPTIONS: "--expose-gc --trace-gc" },
        },
      ],
    })
  })

  it.each([
    [["nothing"], "No bench is called nothing."],
    [["single", "constructor"], "No bench is called constructor."],
    [["--wrong"], "Unknown option '--wrong'"],
    [["--rate", "0"], "--rate needs a whole number"],
    [["--rate", "1.5"], "--rate needs a whole number"],
    [["--connections", "10000000"], "--connections needs a whole number"],
    [["--table", "--quick"], "--table needs a run in full"],
    [["--table", ...url], "--table needs a run in full"],
    [["--url", "http://host"], "--url and --key go together."],
    [["--key", "k"], "--url and --key go together."],
    [["--url", "https://host", "--key", "k"], "an address that begins with http://"],
    [["--url", "host", "--key", "k"], "an address that begins with http://"],
    [["--base", "src"], "--base needs the path of a checkout of Laurel, not src."],
    [["--with", "LAUREL_NODE"], "--with needs NAME=VALUE,NAME=VALUE…, not LAUREL_NODE."],
    [["growth", "--base", "."], "growth cannot compare two servers of Laurel."],
    [["--base", ".", ...url], "--base and --with need servers of the bench: leave out --url."],
    [["--table", "--with", "A=1"], "--table needs a run in full"],
    [["--table", "--users", "9"], "--table needs a run in full"],
    [[...url, "single", "growth"], "growth cannot measure a server that runs already."],
  ])("refuses %j", (args, reason) => {
    expect(() => read(...args)).toThrow(Refusal)
    expect(() => read(...args)).toThrow(reason)
  })

  it("takes the largest number", () => {
    expect(read("--rate", "9999999").options.rate).toBe(9_999_999)
  })
})
