/** `laurel listen` as a developer runs it: the real command, a real server, a receiver on a real socket. */
import { createServer } from "node:http"
import { describe, expect, it, onTestFinished } from "vitest"
import { limits } from "../../src/Limits.ts"
import { answer, isSignedBy, Receiver } from "../webhooks/Receiver.ts"
import { Running, run, Server, sharedByAll, temporaryFolder } from "./program.ts"

const receiving = async (): Promise<Receiver> => {
  const receiver = await Receiver.start()
  onTestFinished(() => receiver.stop())
  return receiver
}

/** A port on which nobody listens. */
const closedPort = async (): Promise<number> => {
  const receiver = await Receiver.start()
  const { port } = receiver
  await receiver.stop()
  return port
}

const listening = async (
  { url }: Server,
  key: string,
  ...args: ReadonlyArray<string>
): Promise<{ readonly command: Running; readonly secret: string }> => {
  const command = new Running(["listen", ...args], { LAUREL_URL: url, LAUREL_KEY: key })
  const [, secret] = await command.stdout.waitFor(/Signing secret: (whsec_\S+)/)
  await command.stdout.waitFor(/^Ready: /m)
  return { command, secret: secret! }
}

const grant = async (server: Server, key: string, userId: string, id: string): Promise<void> => {
  const reward = { type: "xp", amount: 1, id }
  const { status } = await server.request(key, "POST", `/v1/users/${userId}/rewards`, reward)
  expect(status).toBe(200)
}
const users = ({ received }: Receiver) => received.map(({ message }) => message.data.userId)

describe("laurel listen", () => {
  let server: Server
  let folder: string
  sharedByAll(async () => {
    folder = await temporaryFolder()
    server = await Server.start(folder)
  })

  it("forwards the messages that it is asked for, signed, with a line each", async () => {
    const key = await server.createKey("forwards")
    const receiver = await receiving()
    const { command, secret } = await listening(
      server,
      key,
      ...["--forward-to", `127.0.0.1:${receiver.port}/hook?from=laurel`],
      ...["--event", "reward.granted,user.*"],
    )
    await grant(server, key, "ada", "1")
    await receiver.atLeast(2)
    receiver.answer = answer(500, {}, "a fault in the handler")
    await grant(server, key, "ada", "2")
    await receiver.atLeast(3)
    const [created, first, second] = receiver.received
    expect([created!.message.type, first!.message.type, second!.message.type]).toEqual([
      "user.created",
      "reward.granted",
      "reward.granted",
    ])
    for (const received of receiver.received) {
      expect(received.path).toBe("/hook?from=laurel")
      expect(received.headers["webhook-id"]).toBe(received.message.id)
      expect(received.headers["content-type"]).toBe("application/json")
      expect(isSignedBy(secret, received)).toBe(true)
    }
    const line = (status: number, id: string) =>
      new RegExp(`^\\d\\d:\\d\\d:\\d\\d  ${status}  reward\\.granted  ${id}  ada  \\d+ ms$`, "m")
    await command.stdout.waitFor(line(204, first!.message.id))
    // A status is an answer: the handler is not asked again.
    await command.stdout.waitFor(line(500, second!.message.id))
    expect(receiver.received.length).toBe(3)
    expect(await command.stop("SIGINT")).toBe(0)
    // The secret stays.
    const again = await listening(server, key, "--forward-to", String(receiver.port))
    expect(again.secret).toBe(secret)
    expect(again.command.stdout.text).toContain(`go to http://localhost:${receiver.port}/`)
  })

  it("ends when the reader of its output goes away", async () => {
    const key = await server.createKey("reader")
    const receiver = await receiving()
    const { command } = await listening(server, key, "--forward-to", receiver.url())
    command.process.stdout!.destroy()
    await grant(server, key, "ada", "1")
    expect(await command.ended).toBe(0)
  })

  it("loses and repeats nothing when the server is killed and started again, also before any message", async () => {
    const folder = await temporaryFolder()
    const onPort = { LAUREL_PORT: String(await closedPort()) }
    let server = await Server.start(folder, onPort)
    const key = await server.createKey()
    const receiver = await receiving()
    const args = ["--forward-to", receiver.url(), "--event", "reward.granted"]
    const { command } = await listening(server, key, ...args)
    const expected: Array<string> = []
    // The head of the stream came; once another request is answered, its first block is on the way, too.
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    for (let round = 0; round < 2; round++) {
      // In the first round it is killed before there is a message to resume after.
      if (round > 0) {
        await grant(server, key, `live-${round}`, `live-${round}`)
        expected.push(`live-${round}`)
        await receiver.atLeast(expected.length)
      }
      expect(await server.stop("SIGKILL")).toBe("SIGKILL")
      server = await Server.start(folder, onPort)
      for (let count = 0; count < 5; count++) {
        await grant(server, key, `after-${round}-${count}`, `${round}-${count}`)
        expected.push(`after-${round}-${count}`)
      }
      await receiver.atLeast(expected.length)
    }
    expect(users(receiver)).toEqual(expected)
    expect(command.stdout.text.match(/^No connection to /gm)).toHaveLength(2)
    expect(command.stdout.text.match(/^Connected again: /gm)).toHaveLength(2)
    expect(await command.stop()).toBe(0)
  })

  it("says that the receiver is down, tries so many times, and goes on in order", async () => {
    const key = await server.createKey("down")
    const port = await closedPort()
    const args = ["--forward-to", `127.0.0.1:${port}/hook`, "--event", "reward.granted"]
    const { command } = await listening(server, key, ...args)
    for (const user of ["ada", "bob", "carl"]) await grant(server, key, user, user)
    await command.stdout.waitFor(/ ada {2}nothing listens at 127\.0\.0\.1:\d+; given up$/m)
    await command.stdout.waitFor(/ bob {2}nothing listens at \S+; attempt 2 of 3 in 1 s$/m)
    const received: Array<string> = []
    const late = createServer((request, response) => {
      let body = ""
      request.on("data", (chunk) => {
        body += chunk
      })
      request.on("end", () => {
        received.push(JSON.parse(body).data.userId)
        response.writeHead(204).end()
      })
    })
    await new Promise<void>((resolve) => late.listen(port, "127.0.0.1", () => resolve()))
    onTestFinished(() => {
      late.closeAllConnections()
      late.close()
    })
    await command.stdout.waitFor(/ 204 {2}reward\.granted {2}\S+ {2}carl {2}/)
    expect(received).toEqual(["bob", "carl"])
    const ofAda = command.stdout.text.split("\n").filter((line) => line.includes("  ada  "))
    expect(ofAda).toHaveLength(limits.listenAttemptsMax)
    expect(await command.stop()).toBe(0)
  })

  it("waits for a server that is not there yet", async () => {
    const folder = await temporaryFolder()
    const receiver = await receiving()
    const first = await Server.start(folder)
    const key = await first.createKey()
    expect(await first.stop()).toBe(0)
    const port = String(await closedPort())
    const at = ["--url", `http://127.0.0.1:${port}/`, "--forward-to", receiver.url()]
    const command = new Running(["listen", ...at, "--key", key], {})
    await command.stdout.waitFor(/^No connection to \S+; trying again\.$/m)
    const server = await Server.start(folder, { LAUREL_PORT: port })
    await command.stdout.waitFor(/^Connected again: /m)
    await grant(server, key, "ada", "1")
    await receiver.atLeast(3)
    expect(await command.stop()).toBe(0)
  })

  it("refuses what it cannot use, with what is wrong", async () => {
    const key = await server.createKey("refused")
    const tried = async (args: ReadonlyArray<string>, text = key) => {
      const variables = { LAUREL_URL: server.url, ...(text !== "" && { LAUREL_KEY: text }) }
      const { code, stderr } = await run(["listen", ...args], folder, variables)
      return [code, stderr.trim()]
    }
    const to = ["--forward-to", "3000"]
    expect(await tried(["--forward-to", "ftp://x/"])).toEqual([
      64,
      expect.stringContaining("--forward-to must be an http or https URL"),
    ])
    expect(await tried([...to, "--url", "x"])).toEqual([64, expect.stringContaining("--url must")])
    expect(await tried(to, "")).toEqual([64, expect.stringContaining("--key")])
    expect(await tried(to, "lk_test_nobody")).toEqual([
      1,
      expect.stringContaining("This is not the text of a key"),
    ])
    expect(await tried([...to, "--event", "xp.spent-often"])).toEqual([
      64,
      expect.stringContaining("--event must be known kinds"),
    ])
  })
})
