/**
 * deploy/README.md on a new Debian: its commands run as they stand, in their order, and what they lead to serves through
 * TLS, is watched, backed up, upgraded and moved. Placeholders are replaced, and certbot: its authority is on the internet.
 */
import { once } from "node:events"
import { readFile, writeFile } from "node:fs/promises"
import type { IncomingMessage } from "node:http"
import { createServer } from "node:https"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { Output, root } from "../e2e/program.ts"
import { authority, receiverCertificate, receiverKey } from "../webhooks/certificates.ts"
import { addresses, Machine } from "./machine.ts"
import { host, send as sendTo, textOf, type Wish } from "./proxied.ts"
import { execute } from "./tools.ts"

const page = await readFile(join(root, "deploy/README.md"), "utf8")
/** The commands under each heading. */
const blocks = new Map(
  page.split(/^##+ /m).map((section) => {
    const commands = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)
    return [section.slice(0, section.indexOf("\n")), commands] as const
  }),
)
const laurelFunction = /^laurel\(\) .*$/m.exec(page)![0]
/** As systemd's `Ready` is not known to `systemctl start`. */
const waitUntilReady = /^curl .*readyz$/m.exec(page)![0]
const certificates = `/etc/letsencrypt/live/${host}`
const nextVersion = "the-next-version"
const streamsOfEnvironment = 200

/** The sources as they are here, changes that are not committed included, and a tag after them. */
const repositoryIn = async (machine: Machine): Promise<void> => {
  const git = async (...args: ReadonlyArray<string>) =>
    (await execute("git", args, { cwd: root })).trim()
  const commit = (await git("stash", "create")) || (await git("rev-parse", "HEAD"))
  const repository = join(machine.folder, "srv/laurel.git")
  await execute("git", ["init", "--quiet", "--bare", "--initial-branch=main", repository])
  await git("push", "--quiet", repository, `${commit}:refs/heads/main`)
  const identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
  const next = await git(...identity, "commit-tree", `${commit}^{tree}`, "-p", commit, "-m", "next")
  await git("push", "--quiet", repository, `${next}:refs/tags/${nextVersion}`)
}

test("the page leads from nothing to production", { timeout: 1_200_000 }, async () => {
  const machine = await Machine.create()
  await repositoryIn(machine)
  const untried = new Set([...blocks].filter(([, [first]]) => first).map(([heading]) => heading))
  untried.delete("In containers")

  /** Runs the block under a heading; each replaced text must be there. */
  const follow = async (
    heading: string,
    replaced: Readonly<Record<string, string>> = {},
    number = 0,
  ): Promise<string> => {
    let commands = blocks.get(heading)?.[number]
    if (commands === undefined) throw new Error(`There are no commands under ${heading}`)
    untried.delete(heading)
    for (const [from, to] of Object.entries(replaced)) {
      expect(commands).toContain(from)
      commands = commands.replaceAll(from, to)
    }
    return machine.run(`${laurelFunction}\n${commands}`)
  }
  const laurel = (args: string) => machine.run(`${laurelFunction}\nlaurel ${args}`)
  const fileOf = async (name: string) => await readFile(join(machine.folder, name), "utf8")

  await follow("Install", { "ADDRESS-OF-THE-REPOSITORY": "/srv/laurel.git" })
  await follow("Set up")
  await follow("Start")
  const certbot = /^certbot certonly --nginx --deploy-hook "systemctl reload nginx" --domain .*$/m
  const certbotLine = certbot.exec(blocks.get("Publish")![0]!)![0]
  const ownCertificate = `
    mkdir --parents ${certificates} && cd ${certificates}
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=${host} -addext subjectAltName=DNS:${host} \
      -keyout privkey.pem -out fullchain.pem`
  const setupLink = (await follow("Publish", { [certbotLine]: ownCertificate })).trim()
  const link = setupLink.split("\n").at(-1)!
  const ca = await fileOf(`${certificates}/fullchain.pem`)

  const send = (wish: Wish) => sendTo({ address: addresses.machine, tlsPort: 443, ca }, wish)
  // biome-ignore lint/suspicious/noExplicitAny: each step says what it expects
  const ask = async (wish: Wish): Promise<any> => {
    const reply = await send(wish)
    const text = await textOf(reply)
    expect(reply.statusCode, text).toBeLessThan(300)
    return text === "" ? undefined : JSON.parse(text)
  }
  const ready = async () => {
    await machine.run(waitUntilReady)
    expect(await ask({ path: "/readyz" })).toEqual({ status: "ok" })
  }

  // The process has the user, the bound and the rights of the unit.
  const pid = (await fileOf("run/laurel.pid")).trim()
  const state = await machine.run(`
    cat /proc/${pid}/limits /proc/${pid}/status /proc/${pid}/mountinfo; stat --format=%U /proc/${pid}; cat /proc/${pid}/comm`)
  const openFilesMax = Math.min(65_536, Number((await machine.run("ulimit -Hn")).trim()))
  expect(state).toMatch(new RegExp(`Max open files +${openFilesMax} +${openFilesMax} `))
  expect(state).toMatch(/CapEff:\s0+\n/)
  expect(state).toMatch(/NoNewPrivs:\s1/)
  expect(state).toMatch(/ \/ ro,/)
  expect(state).toMatch(/laurel\nnode\S*\n$/)

  expect(link).toMatch(new RegExp(`^https://${host}/dashboard/`))
  expect((await send({ path: new URL(link).pathname })).statusCode).toBe(200)

  expect(await follow("Commands")).toMatch(/lk_live_\w+[\s\S]*shop[\s\S]*Z-\d+/)
  const keyOf = async (project: string) => {
    const wish = `--project ${project} --environment sandbox --json`
    const [, key] = /"key":"([^"]+)"/.exec(await laurel(`keys create ${wish}`))!
    return key!
  }
  const key = await keyOf("shop")
  await ask({ path: "/v1/rules", key, body: { action: "TAP", reward: { xp: 10 } } })

  // A stream: its beginning, an event and a heartbeat arrive while it stays open.
  const stream = await send({ path: "/v1/stream", key })
  expect(stream.statusCode).toBe(200)
  const messages = new Output(stream)
  const tap = (userId: string) =>
    ask({ path: "/v1/events", key, body: { userId, action: "TAP", id: userId } })
  expect(await tap("ada")).toMatchObject({ xp: { earned: 10, total: 10 } })
  await messages.waitFor(/event: xp\.earned/)
  // The heartbeat: a position without data.
  await messages.waitFor(/\n\nid: [^\n]*\n\n$/)
  stream.destroy()

  // More streams than Debian's nginx has connections for.
  const streams: Array<IncomingMessage> = []
  for (const project of ["a", "b", "c", "d", "e"]) {
    const projectKey = await keyOf(project)
    const opened = Array.from({ length: streamsOfEnvironment }, () =>
      send({ path: "/v1/stream", key: projectKey }),
    )
    streams.push(...(await Promise.all(opened)))
  }
  expect(streams.filter(({ statusCode }) => statusCode !== 200)).toEqual([])
  for (const open of streams) open.destroy()

  // A webhook to a receiver whose certificate is of a private authority, before and after Laurel knows it.
  const received: Array<string> = []
  const receiver = createServer(
    { key: receiverKey, cert: receiverCertificate },
    (message, reply) => {
      message.resume().once("end", () => {
        received.push(String(message.headers["webhook-id"]))
        reply.end()
      })
    },
  ).listen(0, addresses.outside)
  onTestFinished(() => void receiver.close())
  await once(receiver, "listening")
  const { port } = receiver.address() as { readonly port: number }
  await writeFile(join(machine.folder, "etc/ssl/private-ca.pem"), authority)
  await machine.run(`
    echo ${addresses.outside} receiver.test >> /etc/hosts
    echo LAUREL_WEBHOOK_ALLOW_CIDR=${addresses.outside}/32 >> /etc/laurel.env
    systemctl restart laurel`)
  await ready()
  const url = `https://receiver.test:${port}/hook`
  const webhook = await ask({ path: "/v1/webhooks", key, body: { url, events: ["xp.earned"] } })
  await tap("bob")
  const deliveries = () => ask({ path: `/v1/webhooks/${webhook.id}/deliveries`, key })
  await expect
    .poll(async () => JSON.stringify(await deliveries()), { timeout: 60_000 })
    .toContain("tls_failure")
  expect(received).toEqual([])
  await machine.run(`
    echo NODE_EXTRA_CA_CERTS=/etc/ssl/private-ca.pem >> /etc/laurel.env
    systemctl restart laurel`)
  await ready()
  await tap("eve")
  await expect.poll(() => new Set(received).size, { timeout: 60_000 }).toBe(2)

  await follow("Watch")
  const prometheus = (path: string) =>
    machine.run(`curl --silent --globoff 'http://127.0.0.1:9090/api/v1/${path}' || true`)
  await expect
    .poll(() => prometheus("query?query=up{job=%22laurel%22}"), { timeout: 60_000 })
    .toMatch(/"value":\[[\d.]+,"1"\]/)
  expect(await prometheus("rules")).toContain("LaurelArchiveOld")

  for (const port of [8080, 8081]) {
    await expect(fetch(`http://${addresses.machine}:${port}/`)).rejects.toThrow()
  }

  // The other machine is a folder.
  const otherMachine = "/srv/other-machine"
  const copy = { "backup.example.com:laurel/": `${otherMachine}/` }
  await follow("Backup and restore drill", copy)
  const drill = await follow("Backup and restore drill", { "/var/backups/laurel": otherMachine }, 1)
  expect(drill).toMatch(/live is good[\s\S]*shop/)

  const users = async () =>
    (await ask({ path: "/v1/leaderboard", key })).entries.map(
      ({ userId }: { readonly userId: string }) => userId,
    )
  expect(await users()).toEqual(["ada", "bob", "eve"])
  await follow("Upgrade, and going back", { "NEW-VERSION": nextVersion })
  await ready()
  expect(await machine.run("git -C /opt/laurel describe --tags")).toBe(`${nextVersion}\n`)
  await tap("zoe")
  expect(await users()).toEqual(["ada", "bob", "eve", "zoe"])
  await follow("Upgrade, and going back", {}, 1)
  await ready()
  expect(await machine.run("git -C /opt/laurel describe --tags --always")).not.toBe(
    `${nextVersion}\n`,
  )
  expect(await users()).toEqual(["ada", "bob", "eve"])

  await follow("Moving the data directory")
  await ready()
  expect(await users()).toEqual(["ada", "bob", "eve"])
  expect(
    await machine.run(`export DATA=/srv/laurel\n${laurelFunction}\nlaurel keys list`),
  ).toContain("shop")

  expect([...untried]).toEqual([])
})
