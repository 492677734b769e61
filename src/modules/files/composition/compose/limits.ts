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
  /** Files whose content is looked at, a file again for every folder in which it is: an overlay may be a folder of a pack. */
  digested: 40_000,
  /** Bytes of these files, and characters of every text that is read. One composing holds the smaller ones in memory. */
  bytes: 256 * 1024 * 1024,
  rigs: 2_000,
  webhooks: 10_000,
  fragments: 100,
  /** Characters of all files that are read as tables. */
  characters: 32 * 1024 * 1024,
  /** Characters of formulas and of the files that describe their steps: they are stored with the city. */
  texts: 8 * 1024 * 1024,
  /** Files of one formula that describe steps. */
  described: 500,
  /** Members of tables and lists that are copied to put patches and defaults on agents, and overrides on orders. */
  copies: 500_000,
  /** Values of the result: a large table that many rigs share counts in each. Measured: 9,000 agents with a dozen keys each have 250,000. */
  values: 400_000,
  /** Characters of the result and of where its values were written, as both are stored. Those 9,000 agents take 18 million. */
  result: 32 * 1024 * 1024,
  /** Errors that are told, and as many warnings. */
  issues: 1_000,
} as const;

/**
 * A city that takes no more than this is composed where it is asked for, on the event loop, in pieces; any other in a thread. Measured
 * on one core: no piece takes more than 20 ms, whatever the files say; a city of a dozen agents takes 5 ms altogether; one of 500 agents
 * and 300 formulas 140, most of it for the disk, and half as long again in a thread.
 */
export const SMALL = {
  files: 4_000,
  bytes: 4 * 1024 * 1024,
  characters: 512 * 1024,
  /** Characters of one file that is read as a table. */
  table: 16 * 1024,
  copies: 10_000,
  texts: 512 * 1024,
  values: 20_000,
  result: 1280 * 1024,
  /** Agents, sessions, rigs and imports, each wherever it comes to stand. */
  steps: 1_500,
  /** Packs, agents and sessions that are gone over for an import or a patch, once for each, and whatever else is looked up for many places. */
  looks: 50_000,
} as const;
