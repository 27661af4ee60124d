// Printed by `npm run client:generate` from the declaration in src/http/api. Do not edit.

/**
 * Method, path under `/v1/`, argument after the ids. `key`: the operation takes an
 * `Idempotency-Key`.
 */
export const operations = {
  events: {
    track: "POST events body key",
    get: "GET events/*",
    trackBatch: "POST events/batch body key",
    importBatch: "POST events/import body key",
  },
  actions: {
    list: "GET actions query",
  },
  users: {
    list: "GET users query",
    get: "GET users/*",
    put: "PUT users/* body key",
    erase: "DELETE users/* - key",
    progress: "GET users/*/progress",
    segments: "GET users/*/segments",
    history: "GET users/*/history query",
    export: "GET users/*/export",
    createToken: "POST users/*/tokens body",
    reward: "POST users/*/rewards body key",
    spend: "POST users/*/points/spend body key",
    refund: "DELETE users/*/points/spend/* - key",
    revokeReward: "DELETE users/*/rewards/* - key",
    revokeEvent: "DELETE users/*/events/* - key",
  },
  rewards: {
    list: "GET users/*/rewards query",
    get: "GET users/*/rewards/*",
    grantBatch: "POST rewards/batch body key",
  },
  spends: {
    list: "GET users/*/points/spend query",
    get: "GET users/*/points/spend/*",
  },
  quests: {
    create: "POST quests body key",
    list: "GET quests query",
    get: "GET quests/*",
    update: "PATCH quests/* body key",
    delete: "DELETE quests/* - key",
  },
  leaderboard: {
    get: "GET leaderboard query",
  },
  rules: {
    create: "POST rules body key",
    list: "GET rules query",
    get: "GET rules/*",
    update: "PATCH rules/* body key",
    delete: "DELETE rules/* - key",
  },
  badges: {
    create: "POST badges body key",
    list: "GET badges query",
    get: "GET badges/*",
    update: "PATCH badges/* body key",
    delete: "DELETE badges/* - key",
    startBackfill: "POST badges/*/backfill body key",
    getBackfill: "GET badges/*/backfill",
  },
  boosts: {
    create: "POST boosts body key",
    list: "GET boosts query",
    get: "GET boosts/*",
    update: "PATCH boosts/* body key",
    delete: "DELETE boosts/* - key",
  },
  currencies: {
    create: "POST currencies body key",
    list: "GET currencies query",
    get: "GET currencies/*",
    update: "PATCH currencies/* body key",
    delete: "DELETE currencies/* - key",
  },
  segments: {
    create: "POST segments body key",
    list: "GET segments query",
    get: "GET segments/*",
    update: "PATCH segments/* body key",
    delete: "DELETE segments/* - key",
    preview: "POST segments/preview body",
  },
  metrics: {
    create: "POST metrics body key",
    list: "GET metrics query",
    get: "GET metrics/*",
    update: "PATCH metrics/* body key",
    delete: "DELETE metrics/* - key",
    ofUser: "GET users/*/metrics",
  },
  project: {
    get: "GET project",
    update: "PATCH project body key",
    simulate: "POST project/simulate body",
    preview: "POST project/preview body",
  },
  definitions: {
    export: "GET definitions",
    diff: "POST definitions/diff body",
    apply: "POST definitions/apply body key",
  },
  testClock: {
    get: "GET test-clock",
    advance: "POST test-clock body key",
  },
  webhooks: {
    create: "POST webhooks body key",
    list: "GET webhooks query",
    get: "GET webhooks/*",
    update: "PATCH webhooks/* body key",
    delete: "DELETE webhooks/* - key",
    rotateSecret: "POST webhooks/*/rotate-secret body key",
    test: "POST webhooks/*/test - key",
    recover: "POST webhooks/*/recover body key",
    deliveries: "GET webhooks/*/deliveries query",
    delivery: "GET webhooks/*/deliveries/*",
    redeliver: "POST webhooks/*/deliveries/*/redeliver - key",
    catalogue: "GET webhook-events",
  },
} as const
