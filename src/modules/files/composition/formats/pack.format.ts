import { z } from 'zod';
import { agent, agentPatch } from './agent-keys.js';
import { agentDefaults, imports, namedSession, namedSessionPatch, packService, pricing } from './city-keys.js';
import type { Format } from './format.js';
import { provider, upstream } from './provider-keys.js';
import { count, filled, forbidden, listOf, loose, named, oneOf, table, text, texts } from './values.js';
import { webhook } from './webhook-keys.js';

const PACK_NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]*$/;
const pack = table(
  { version: text, description: text, requires_gc: text, requires: listOf(table({ scope: oneOf('city', 'rig') }, { agent: filled })) },
  // The pack of a city is called like the city, and their names may have dots.
  { name: z.string().max(128).regex(PACK_NAME, `must match ${PACK_NAME.source}`), schema: z.int().min(1).max(2) },
);

const runtimeName = z.string().regex(/^[^:/\s]+$/, 'must not contain a colon, a slash or blanks');

/** `pack.toml`, a city's own included. */
export const PACK_FORMAT: Format = {
  schema: table(
    {
      imports,
      agent_defaults: agentDefaults,
      agent: listOf(agent),
      named_session: listOf(namedSession),
      webhook: listOf(webhook),
      service: listOf(packService),
      providers: named(provider),
      upstreams: named(upstream),
      pricing: listOf(pricing),
      patches: table({
        agent: listOf(agentPatch),
        named_session: listOf(namedSessionPatch),
        rigs: forbidden('belongs in city.toml'),
        providers: forbidden('belongs in city.toml'),
      }),
      runtimes: named(table({ protocol: count }, { command: filled }), runtimeName),
      global: table({ session_live: texts }),
      agents: forbidden('is not supported in a pack; use agent_defaults'),
      defaults: forbidden('belongs in city.toml'),
      formulas: table({ dir: forbidden('is not supported; formulas lie in formulas/') }),
      includes: texts,
      doctor: listOf(loose),
      commands: listOf(loose),
    },
    { pack },
  ),
  unknown: 'error',
  meaningless: [
    ...['agent[]', 'patches.agent[]'].flatMap((at) => [`${at}.skills`, `${at}.mcp`]),
    ...['skills_append', 'mcp_append'].map((key) => `patches.agent[].${key}`),
  ],
};
