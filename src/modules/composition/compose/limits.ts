/** How much a city may consist of. Beyond any of them composing stops looking further and says so. */
export const LIMITS = {
  /** Imports below each other. */
  depth: 16,
  packs: 1_000,
  /** Imports that are followed, the city's, its rigs' and those of packs together. */
  imports: 10_000,
  agents: 10_000,
  namedSessions: 10_000,
  /** Files that packs and conventions contribute. */
  files: 20_000,
  rigs: 2_000,
  /** Errors that are told, and as many warnings. */
  issues: 1_000,
} as const;
