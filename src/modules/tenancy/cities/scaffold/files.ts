import { stringify } from 'smol-toml';
import type { NetworkRule } from '../../../../contract/network.js';
import { prefixOf } from '../../../files/composition/prefix.js';

/** What the texts of a new city depend on. */
export interface CityFacts {
  readonly name: string;
  readonly provider: string | undefined;
  readonly startCommand: string | undefined;
  /** Normalized: `k8s-cell`, `single-host-compat` or nothing. */
  readonly profile: string | undefined;
  /** What agents reach; undefined says nothing. */
  readonly network?: NetworkRule | undefined;
}

/** Directories whose content is picked up by convention. */
export const CONVENTION_DIRS = ['agents', 'commands', 'doctor', 'formulas', 'orders', 'template-fragments', 'overlays', 'assets'] as const;
/** The machine-local runtime tree; never committed. */
export const RUNTIME_DIRS = ['.gc', '.gc/cache', '.gc/system', '.gc/runtime'] as const;
export const MAYOR = 'mayor';

/** New files in the order they are written: `city.toml` last, because it marks the directory as a city. */
export function scaffoldFiles(facts: CityFacts): { path: string; content: string }[] {
  return [
    { path: '.gc/site.toml', content: siteToml(facts) },
    { path: '.gc/settings.json', content: `${JSON.stringify({ hooks: {} }, null, 2)}\n` },
    { path: '.gc/events.jsonl', content: '' },
    { path: `agents/${MAYOR}/prompt.template.md`, content: mayorPrompt(facts) },
    { path: 'pack.toml', content: packToml(facts) },
    { path: 'city.toml', content: cityToml(facts) },
  ];
}

export function cityToml({ provider, startCommand, profile, network }: CityFacts): string {
  const runs = provider === undefined ? { start_command: startCommand } : { provider };
  const document: Record<string, unknown> = { workspace: network === undefined ? runs : { ...runs, network } };
  if (provider !== undefined) document.providers = { [provider]: { base: `builtin:${provider}` } };
  if (profile === 'k8s-cell') document.api = { port: 9443, bind: '0.0.0.0', allow_mutations: true };
  return `# How this city runs here: its agent provider, its rigs, its limits.\n\n${stringify(document)}`;
}

function packToml({ name }: CityFacts): string {
  const document = {
    pack: { name, schema: 2 },
    imports: { core: { source: 'builtin:core' } },
    named_session: [{ name: MAYOR, template: MAYOR, mode: 'on_demand' }],
  };
  return `# What this city is made of: its agents, sessions and imports.\n\n${stringify(document)}`;
}

function siteToml({ name }: CityFacts): string {
  return `# Facts of this machine. Not to be committed.\n\n${stringify({ workspace_name: name, workspace_prefix: prefixOf(name) })}`;
}

function mayorPrompt({ name }: CityFacts): string {
  return `# Mayor of ${name}

You keep this city running. People and other agents come to you first.

- Read what is asked, and ask back when the goal is unclear.
- Cut the work into pieces that one agent can finish, and write each piece down before anybody starts on it.
- Hand a piece to the agent that fits it best; do it yourself only when nobody else can.
- Look after what has been handed out: unblock, remind, check the result.
- Report what was done, what was not, and why.
`;
}

const IGNORED = ['.gc/', '.beads/*', '!.beads/identity.toml', 'hooks/'];

/** An existing ignore file with what a city needs added at its end; undefined when nothing is missing. */
export function extendIgnore(before: string): string | undefined {
  const lines = new Set(before.split(/\r?\n/).map((line) => line.trim()));
  const missing = IGNORED.filter((line) => !lines.has(line));
  if (missing.length === 0) return undefined;
  const eol = before.includes('\r\n') ? '\r\n' : '\n';
  const joint = before === '' || before.endsWith('\n') ? '' : eol;
  return `${before}${joint}${missing.join(eol)}${eol}`;
}
