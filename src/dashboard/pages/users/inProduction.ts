import type { PlaceVisit } from "../../request/Route.ts"

/** The end of a title or a button: names production, where a mistake reaches real users. */
export const inProduction = ({ place }: PlaceVisit): string =>
  place.environment === "production" ? " in production" : ""
