import { z } from 'zod';
import { agent, agentPatch } from './agent-keys.js';
import { agentDefaults, imports, namedSession, namedSessionPatch, packService, pricing } from './city-keys.js';
import type { Format } from './format.js';
import { provider, upstream } from './provider-keys.js';
import { count, filled, forbidden, idle, key, listOf, loose, named, oneOf, table, text, texts } from './values.js';
import { webhook } from './webhook-keys.js';

const PACK_NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]*$/;
const pack = table(
  {
    version: key(text, 'Its version.'),
    description: key(text, 'What it is for.'),
    requires_gc: idle(text, 'Releases that it works with.'),
    requires: key(
      listOf(
        table(
          { scope: key(oneOf('city', 'rig'), 'Whether the city has to have it, or each rig that has the pack.', 'city') },
          { agent: key(filled, 'Name of the agent.') },
        ),
      ),
      'Agents without which it does not work.',
    ),
  },
  {
    // The pack of a city is called like the city, and their names may have dots.
    name: key(z.string().max(128).regex(PACK_NAME, `must match ${PACK_NAME.source}`), 'What it is called.'),
    schema: key(z.int().min(1).max(2), 'Version of this format: 2.'),
  },
);

const runtimeName = z.string().regex(/^[^:/\s]+$/, 'must not contain a colon, a slash or blanks');

/** `pack.toml`, a city's own included. */
export const PACK_FORMAT: Format = {
  schema: table(
    {
      imports: key(imports, 'Packs that it is built on.'),
      agent_defaults: key(agentDefaults, 'What its agents get that say nothing themselves.'),
      agent: key(listOf(agent), 'Its agents. One in a folder of its own, `agents/NAME/agent.toml`, needs no table here.'),
      named_session: key(listOf(namedSession), 'Sessions that are there under a name.'),
      webhook: key(listOf(webhook), 'What other systems send, and which orders it fires.'),
      service: key(listOf(packService), 'Programs that cities with this pack serve.'),
      providers: key(named(provider), 'Providers that it brings.'),
      upstreams: key(named(upstream), 'Model endpoints that it brings.'),
      pricing: key(listOf(pricing), 'What turns cost.'),
      patches: key(
        table({
          agent: key(listOf(agentPatch), 'Changes of agents of packs below this one.'),
          named_session: key(listOf(namedSessionPatch), 'Changes of their named sessions.'),
          rigs: forbidden('belongs in city.toml'),
          providers: forbidden('belongs in city.toml'),
        }),
        'Changes of what the packs below this one bring.',
      ),
      runtimes: key(
        named(table({ protocol: idle(count, 'Version of the protocol.') }, { command: key(filled, 'The script.') }), runtimeName),
        'Scripts that run sessions, by name. Accepted and shown.',
      ),
      global: key(
        table({ session_live: key(texts, 'Commands for every session of the city, or of the rig that has the pack.') }),
        'What is for all agents.',
      ),
      agents: forbidden('is not supported in a pack; use agent_defaults'),
      defaults: forbidden('belongs in city.toml'),
      formulas: idle(table({ dir: forbidden('is not supported; formulas lie in formulas/') }), 'Formulas lie in `formulas/`.'),
      includes: key(texts, "Packs in the old way; `imports` is today's."),
      doctor: idle(listOf(loose), 'Checks; they lie in `doctor/`.'),
      commands: idle(listOf(loose), 'Commands; they lie in `commands/`.'),
    },
    { pack: key(pack, 'What the pack is.') },
  ),
  unknown: 'error',
  meaningless: [
    ...['agent[]', 'patches.agent[]'].flatMap((at) => [`${at}.skills`, `${at}.mcp`]),
    ...['skills_append', 'mcp_append'].map((key) => `patches.agent[].${key}`),
  ],
};
