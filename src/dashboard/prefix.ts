/** The path under which the pages of the dashboard lie. */
export const dashboardPrefix = "/dashboard"
