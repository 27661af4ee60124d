/**
 * Finds the route for a method and a path. Paths match exactly, segment by segment: the router does
 * not fold case, and does not normalise `.`, `..`, `//` or a final slash. A parameter matches one
 * segment before it is decoded, so `%2F` in an id is part of the id. The operation refuses a
 * segment that is empty or consists of dots.
 */

/** The parts of a route that the router needs. Parameters in `path` are written `:id`. */
interface RouteShape {
  readonly method: string
  readonly path: string
}

type RouteMatch<Route> =
  | {
      readonly kind: "found"
      readonly route: Route
      /** The values of the parameters in the order of the path, still percent-encoded. */
      readonly rawParams: ReadonlyArray<string>
    }
  | { readonly kind: "wrongMethod"; readonly allow: string }
  | { readonly kind: "nothing" }

/**
 * A node of the tree: its children by literal segment or by parameter, and the routes that end
 * here.
 */
class Place<Route> {
  readonly literals = new Map<string, Place<Route>>()
  parameter: Place<Route> | undefined = undefined
  readonly routes = new Map<string, Route>()
}

const nothing = { kind: "nothing" } as const

export class Router<Route extends RouteShape> {
  readonly #root = new Place<Route>()

  constructor(routes: Iterable<Route>) {
    for (const route of routes) this.#add(route)
  }

  #add(route: Route): void {
    let place = this.#root
    for (const segment of route.path.slice(1).split("/")) {
      if (segment.startsWith(":")) {
        place.parameter ??= new Place()
        place = place.parameter
      } else {
        let next = place.literals.get(segment)
        if (next === undefined) {
          next = new Place()
          place.literals.set(segment, next)
        }
        place = next
      }
    }
    if (place.routes.has(route.method)) {
      throw new Error(`Two routes for ${route.method} ${route.path}`)
    }
    place.routes.set(route.method, route)
  }

  /**
   * The route for a request. `path` is the request's path without the query. A GET route also
   * answers HEAD.
   */
  find(method: string, path: string): RouteMatch<Route> {
    if (!path.startsWith("/")) return nothing
    let place: Place<Route> | undefined = this.#root
    const rawParams: Array<string> = []
    for (let start = 1, end = 0; end < path.length; start = end + 1) {
      const slash = path.indexOf("/", start)
      end = slash === -1 ? path.length : slash
      const segment = path.slice(start, end)
      // A look-up adds the text to V8's string table, so it is done only where a literal is
      // possible.
      const literal: Place<Route> | undefined =
        place.literals.size === 0 ? undefined : place.literals.get(segment)
      if (literal !== undefined) {
        place = literal
        continue
      }
      place = place.parameter
      if (place === undefined) return nothing
      rawParams.push(segment)
    }
    return place.routes.size === 0 ? nothing : ending(place, method, rawParams)
  }
}

const ending = <Route>(
  place: Place<Route>,
  method: string,
  rawParams: ReadonlyArray<string>,
): RouteMatch<Route> => {
  const route = place.routes.get(method === "HEAD" ? "GET" : method)
  if (route !== undefined) return { kind: "found", route, rawParams }
  const allowed = [...place.routes.keys()]
  if (place.routes.has("GET")) allowed.push("HEAD")
  return { kind: "wrongMethod", allow: allowed.sort().join(", ") }
}
