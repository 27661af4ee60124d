/**
 * The address of the dashboard: the host names that it answers, its cookies, and whether a form
 * comes from its own pages. The check of the host name refuses sites that resolve their own name to
 * this server (DNS rebinding).
 */
import { isIP } from "node:net"
import type { PageHead, PageRequest } from "../../http/pages/Pages.ts"

export interface SiteOptions {
  /** The address at which people reach the server, such as `https://laurel.example.com`. */
  readonly publicUrl: string | undefined
  /** Lets people sign in over plain HTTP under any name. */
  readonly insecure: boolean
}

/** The value of a header field that may occur once; Node joins or drops further ones. */
const text = (value: string | ReadonlyArray<string> | undefined): string => String(value ?? "")

/** Cookies: the session, a device that signed in before, and a browser that got passkey options. */
type CookieKind = "browser" | "device" | "session"
const cookieNames: Readonly<Record<CookieKind, string>> = {
  session: "laurel",
  device: "laurel-device",
  browser: "laurel-browser",
}

/**
 * The relying party of passkeys: the page's origin, and the host to which browsers bind passkeys.
 */
export interface RelyingParty {
  readonly origin: string
  readonly rpId: string
}

const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"])

export class Site {
  readonly #host: string | undefined
  readonly #origin: string | undefined
  readonly #secure: boolean
  readonly #insecure: boolean

  constructor({ insecure, publicUrl }: SiteOptions) {
    const url = publicUrl === undefined ? undefined : new URL(publicUrl)
    this.#host = url?.host
    this.#origin = url?.origin
    this.#secure = url?.protocol === "https:"
    this.#insecure = insecure
  }

  /** Whether the request names the host of the public URL or a loopback name. */
  isKnownName({ headers }: PageHead): boolean {
    const host = text(headers.host).toLowerCase()
    return this.#insecure || host === this.#host || loopbackNames.has(host.replace(/:\d+$/, ""))
  }

  /**
   * The address of the same page under `localhost`, if the browser asked under 127.0.0.1: passkeys
   * do not work on an IP address. A public URL is the operator's choice and is not replaced.
   */
  underLocalhost({ headers, method, path, query }: PageRequest): string | undefined {
    if (method !== "GET" || this.#host !== undefined) return undefined
    if (!text(headers.accept).includes("text/html")) return undefined
    const asked = /^127\.0\.0\.1(:\d{1,5})?$/.exec(text(headers.host))
    if (asked === null) return undefined
    const [, port = ""] = asked
    return `http://localhost${port}${path}${query.size === 0 ? "" : `?${query}`}`
  }

  /** The server's address as a link should name it. */
  originOf({ headers }: PageRequest): string {
    return this.#origin ?? `http://${headers.host}`
  }

  /** The relying party of this page, or the reason why browsers refuse passkeys, with a remedy. */
  relyingParty(request: PageRequest): RelyingParty | string {
    const url = URL.parse(this.originOf(request))
    if (url === null) return "Passkeys need a host name."
    const { hostname, origin, port, protocol } = url
    if (hostname === "localhost") return { origin, rpId: hostname }
    if (isIP(hostname.replace(/^\[|\]$/g, "")) !== 0) {
      return this.#origin === undefined
        ? `Browsers refuse passkeys on an IP address. Open http://localhost${port && `:${port}`}, or set LAUREL_PUBLIC_URL to an https address with a name.`
        : "Browsers refuse passkeys on an IP address. Set LAUREL_PUBLIC_URL to an https address with a name."
    }
    return protocol === "https:"
      ? { origin, rpId: hostname }
      : "Browsers refuse passkeys without TLS. Set LAUREL_PUBLIC_URL to an https address."
  }

  /**
   * Whether a POST comes from a page of this server. Browsers set these headers; a page cannot
   * forge them.
   */
  isOwnForm({ headers }: PageHead): boolean {
    const site = headers["sec-fetch-site"]
    if (site !== undefined) return site === "same-origin" || site === "none"
    return URL.parse(text(headers.origin))?.host === text(headers.host).toLowerCase()
  }

  /** With `__Host-`, browsers accept the cookie only from this host, over TLS, for all paths. */
  #cookieName(kind: CookieKind): string {
    const name = cookieNames[kind]
    return this.#secure ? `__Host-${name}` : name
  }

  /** The text of a cookie; the first of several with the same name. */
  cookie({ headers }: PageRequest, kind: CookieKind): string | undefined {
    const name = this.#cookieName(kind)
    for (const part of text(headers.cookie).split(";")) {
      const [key, value] = part.trim().split("=", 2)
      if (key === name && value !== undefined && value !== "") return value
    }
    return undefined
  }

  /** A `Set-Cookie` field. A `maxAgeSeconds` of 0 removes the cookie. */
  setCookie(kind: CookieKind, text: string, maxAgeSeconds: number): string {
    const secure = this.#secure ? "; Secure" : ""
    const name = this.#cookieName(kind)
    return `${name}=${text}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`
  }
}
