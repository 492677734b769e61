import { createHash } from 'node:crypto';
import type { CityConfig } from '../../files/composition/city-config.js';
import type { SessionRow } from '../session-store/session-row.js';
import { fingerprintOf, fingerprintOfTemplate, partsOf, partsOfTemplate } from './fingerprint.js';
import type { Parts, Template } from './launch.js';
import { serverFiles } from './mcp-servers.js';
import { networkOf } from './network.js';
import { overlaysOf, providersOf } from './overlays.js';
import { liveOfPacks } from './preparation.js';
import { templateOf } from './template.js';

type OfSession = Pick<SessionRow, 'kind' | 'template' | 'options'>;
type Chosen = Readonly<Record<string, string>>;

/** The fingerprint of a session by its configuration; undefined when that has no template for it any more. */
export function fingerprintNow(config: CityConfig, row: OfSession): string | undefined {
  const process = fingerprintOf(config, row);
  return process && together(process, placeParts(config, templateOf(config, row.kind, row.template)));
}

/** `LaunchPlan.parts` of a session by its configuration; undefined as for the fingerprint. */
export function partsNow(config: CityConfig, row: OfSession): Parts | undefined {
  const process = partsOf(config, row);
  return process && beside(process, placeParts(config, templateOf(config, row.kind, row.template)));
}

/**
 * The fingerprint of a process together with what its place is prepared with: commands, overlays and MCP servers, as files
 * and their digests. Where nothing is prepared it is that of the process alone.
 */
export function fingerprintWithPlace(config: CityConfig, template: Template, chosen: Chosen): string {
  return together(fingerprintOfTemplate(config, template, chosen), placeParts(config, template));
}

/** The same, a short hash for each part. */
export function partsWithPlace(config: CityConfig, template: Template, chosen: Chosen): Parts {
  return beside(partsOfTemplate(config, template, chosen), placeParts(config, template));
}

/**
 * By the names of their keys. A changed `session_live` is a difference, too: nothing applies it to a process that runs, so
 * it takes effect with the restart.
 */
export function placeParts(config: CityConfig, template: Template): Readonly<Record<string, unknown>> {
  const { agent, transport } = template;
  const parts: Record<string, unknown> = {};
  const rules = networkOf(config, template);
  if (rules !== undefined) parts.network = rules;
  if (agent === undefined) return parts;
  const put = (name: string, value: readonly unknown[]): void => {
    if (value.length > 0) parts[name] = value;
  };
  put('pre_start', (agent.pre_start ?? []) as readonly string[]);
  put('session_setup', (agent.session_setup ?? []) as readonly string[]);
  if (agent.setup_script_file !== undefined) put('session_setup_script', [agent.setup_script_file, agent.setup_script_sha256 ?? null]);
  const ofPacks = liveOfPacks(config, template).map(({ source_dir, session_live }) => [source_dir ?? null, session_live ?? []]);
  put('session_live', [...ofPacks, ...((agent.session_live ?? []) as readonly string[])]);
  const overlays = overlaysOf(config, template, agent).map(({ file, sha256 }) => [file, sha256 ?? null]);
  if (overlays.length > 0) put('overlay', [overlays, providersOf(template)]);
  // Other transports have no way to be told of servers.
  if (transport === 'acp') for (const { name, file, sha256 } of serverFiles(config, template)) put(`mcp.${name}`, [file, sha256]);
  return parts;
}

function together(process: string, place: Readonly<Record<string, unknown>>): string {
  return Object.keys(place).length === 0 ? process : digest([process, place]);
}

function beside(process: Parts, place: Readonly<Record<string, unknown>>): Parts {
  const parts: Record<string, string> = { ...process };
  for (const [name, value] of Object.entries(place)) parts[name] = digest(value).slice(0, 16);
  return parts;
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}
