import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Api } from './http.js';

const PACK = `
[imports.desk]
source = "packs/desk"

# the clerk knows everybody
[[agent]]
name = "clerk" # and is known
prompt_template = "prompt.md"

[[agent]]
name = "polecat"
dir = "web"
prompt_template = "prompt.md"
max_active_sessions = 3

[[agent]]
name = "lookout"
scope = "rig"
prompt_template = "prompt.md"
`;
const CITY_TOML = `
# the rigs of this city
[[rigs]]
name = "web"
default_sling_target = "polecat"

[[rigs]]
name = "docs"

[[patches.agent]]
name = "mayor"
nudge = "Look around." # kept
description = "hidden"
`;

/** A new rig has the agents of the shipped pack, too. */
export const OF_DOCS = [
  'docs/core.worker-1',
  'docs/core.worker-2',
  'docs/core.worker-3',
  'docs/core.worker-4',
  'docs/lookout',
  'docs/loopback',
];

/** Adds rigs, agents of every origin and comments that have to stay to the files of a city. */
export async function writeCrew(city: string): Promise<void> {
  const file = (name: string): string => join(city, name);
  await mkdir(file('packs/desk/agents/triager'), { recursive: true });
  await writeFile(file('packs/desk/pack.toml'), '[pack]\nname = "front-desk"\nschema = 2\n');
  await writeFile(file('packs/desk/agents/triager/prompt.md'), 'Sort.');
  await writeFile(file('packs/desk/agents/triager/agent.toml'), 'scope = "city"\ndescription = "Sorts"\n');
  await writeFile(file('prompt.md'), 'Work.');
  await appendFile(file('pack.toml'), PACK);
  await appendFile(file('city.toml'), CITY_TOML);
}

/** Waiting for one's turn is bounded: who is told to try again does. */
export async function postUntilTaken(at: Api, path: string, body: object): Promise<number> {
  for (;;) {
    const { status } = await at.post(path, body);
    if (status !== 503) return status;
  }
}
