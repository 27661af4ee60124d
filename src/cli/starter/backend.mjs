/** The back end of the app: it holds the secret key, gives each user a token, and sends the users' events. */
import { randomUUID } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createServer } from "node:http"
import { createLaurel } from "laurel-client"

const {
  APP_HOST = "127.0.0.1",
  APP_PORT = "3000",
  LAUREL_KEY,
  LAUREL_URL,
  PUBLIC_LAUREL_URL,
} = process.env
const laurel = createLaurel({ url: LAUREL_URL, key: LAUREL_KEY })

/** Put the user of your session here. */
const signedIn = (_request) => ({ id: "ada", name: "Ada" })

/** Files that the page loads: itself, and the modules of the client. */
const fileOf = (path) => {
  if (path === "/") return { type: "text/html", url: new URL("page.html", import.meta.url) }
  const [, name] = /^\/client\/(\w[\w.-]*\.js)$/.exec(path) ?? []
  if (name === undefined) return undefined
  return { type: "text/javascript", url: new URL(name, import.meta.resolve("laurel-client")) }
}

const answer = async (request) => {
  const { pathname } = new URL(request.url, "http://app")
  const user = signedIn(request)
  if (request.method === "GET" && pathname === "/session") {
    await laurel.users.put(user.id, { displayName: user.name })
    const { token } = await laurel.users.createToken(user.id)
    return [
      "application/json",
      JSON.stringify({ user: user.id, token, url: PUBLIC_LAUREL_URL || LAUREL_URL }),
    ]
  }
  if (request.method === "POST" && pathname === "/lessons") {
    // In your app: the id of the lesson, so that a repeated request counts once.
    const reply = await laurel.events.track({
      userId: user.id,
      action: "LESSON_DONE",
      id: randomUUID(),
    })
    return ["application/json", JSON.stringify(reply)]
  }
  const file = request.method === "GET" ? fileOf(pathname) : undefined
  return file && [file.type, await readFile(file.url)]
}

const server = createServer(async (request, response) => {
  try {
    const found = await answer(request)
    if (found === undefined) return response.writeHead(404).end()
    response.writeHead(200, { "content-type": found[0] }).end(found[1])
  } catch (error) {
    console.error(error)
    response.writeHead(500).end()
  }
})
server.listen(Number(APP_PORT), APP_HOST, () => {
  console.log(`The app: http://${APP_HOST}:${APP_PORT}/`)
})
