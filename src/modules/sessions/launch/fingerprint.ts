import { createHash } from 'node:crypto';
import { ProblemError } from '../../../contract/problems.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import type { SessionRow } from '../session-store/session-row.js';
import { chosenOptions, flagArguments } from './chosen-options.js';
import { commandOf, programOf } from './command.js';
import { declaredEnvironment } from './environment.js';
import type { Parts, Template } from './launch.js';
import { execScript, templateOf } from './template.js';

type OfSession = Pick<SessionRow, 'kind' | 'template' | 'options'>;

/** Values of these may change under a running process without making it another one. */
const CREDENTIAL = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL/i;

/** The fingerprint of a session by its configuration; undefined when that has no template for it any more. */
export function fingerprintOf(config: CityConfig, row: OfSession): string | undefined {
  return known(() => fingerprintOfTemplate(config, templateOf(config, row.kind, row.template), row.options));
}

/** `LaunchPlan.parts` of a session by its configuration; undefined as for the fingerprint. */
export function partsOf(config: CityConfig, row: OfSession): Parts | undefined {
  return known(() => partsOfTemplate(config, templateOf(config, row.kind, row.template), row.options));
}

/**
 * A digest of what a process would have to be started again for: its program, its arguments, its options, its variables and
 * its directory, as the files say them. Not of prompts, which a conversation that goes on has read already, nor of credentials.
 * Whatever changes here starts every session again that a release finds running.
 */
export function fingerprintOfTemplate(config: CityConfig, template: Template, chosen: Readonly<Record<string, string>>): string {
  const options = chosenOptions(template, chosen);
  const { agent, transport, spec } = template;
  const facts = {
    transport,
    provider: template.provider,
    ...commandOf(template, options),
    options: inOrder(options),
    env: inOrder(openVariables(config, template)),
    upstream: agent?.upstream ?? null,
    dir: [agent?.work_dir ?? null, rigPath(config, template)],
    ready: [agent?.ready_prompt_prefix ?? spec.ready_prompt_prefix ?? null, agent?.ready_delay_ms ?? spec.ready_delay_ms ?? null],
    script: execScript(config, template) ?? null,
  };
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}

/** The same, a short hash for each part, so that a difference has a name and nobody has to see a value. */
export function partsOfTemplate(config: CityConfig, template: Template, chosen: Readonly<Record<string, string>>): Parts {
  const options = chosenOptions(template, chosen);
  const { agent, spec } = template;
  const { command, args } = programOf(template);
  const parts: Record<string, unknown> = {
    command,
    args,
    upstream: agent?.upstream,
    work_dir: agent?.work_dir,
    rig_path: rigPath(config, template),
    ready_prompt_prefix: agent?.ready_prompt_prefix ?? spec.ready_prompt_prefix,
    ready_delay_ms: agent?.ready_delay_ms ?? spec.ready_delay_ms,
    script: execScript(config, template),
  };
  for (const [key, value] of Object.entries(options))
    parts[`options.${key}`] = [
      value,
      flagArguments({ ...template, optionSchema: template.optionSchema.filter((one) => one.key === key) }, options),
    ];
  for (const [name, value] of Object.entries(openVariables(config, template))) parts[`env.${name}`] = value;
  return { ...hashes(parts), ...programParts(template) };
}

/** Of these parts those which say what program it is. */
export function programParts({
  transport,
  provider,
  preset,
}: {
  transport: string;
  provider: string;
  preset?: string | null | undefined;
}): Parts {
  return hashes({ transport, provider, preset });
}

function hashes(parts: Readonly<Record<string, unknown>>): Parts {
  return Object.fromEntries(
    inOrder(parts).flatMap(([name, value]) => (value === undefined || value === null ? [] : [[name, short(value)]])),
  );
}

/** What the files say, credentials left out. */
function openVariables(config: CityConfig, template: Template): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(declaredEnvironment(config, template)).filter(([name]) => !CREDENTIAL.test(name)));
}

function rigPath(config: CityConfig, template: Template): string | null {
  return config.rigs.find(({ name }) => name === template.rig)?.path ?? null;
}

function inOrder<T>(members: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1));
}

function short(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}

function known<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof ProblemError) return undefined;
    throw error;
  }
}
