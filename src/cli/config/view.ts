import { stringify } from 'smol-toml';
import type { Schemas } from '../api.js';
import { age, moment } from '../duration.js';
import type { Io } from '../io.js';
import { reachOf } from '../providers/view.js';
import { cut, facts, plain, table } from '../table.js';

type Config = Schemas['ConfigResponse'];
export type Value = Schemas['ConfigValue'];
export type Revision = Schemas['ConfigRevision'];

/** A value as it would be written, in one line. */
export function written(value: unknown): string {
  return value === undefined ? '' : plain(JSON.stringify(value));
}

const yes = (value: boolean): string => (value ? 'yes' : '');

/** What a city is for a reader: its facts, then its agents, rigs and providers. */
export function configView(config: Config, io: Io): string {
  const { workspace, patches, rejected } = config;
  const limit = workspace.max_active_sessions;
  const counts =
    patches === undefined
      ? []
      : ([
          ['agents', patches.agent_count],
          ['rigs', patches.rig_count],
          ['providers', patches.provider_count],
        ] as const);
  const parts = [
    facts([
      ['name', workspace.name],
      ['declared as', workspace.declared_name === workspace.name ? undefined : workspace.declared_name],
      ['prefix', workspace.prefix],
      ['provider', workspace.provider],
      ['suspended', workspace.suspended ? 'yes' : undefined],
      ['sessions', limit === undefined ? undefined : limit < 0 ? 'no limit' : `at most ${limit}`],
      ['session names', workspace.session_template],
      ['network', reachOf(workspace.network)],
      [
        'patches',
        counts
          .filter(([, count]) => count > 0)
          .map(([what, count]) => `${count} of ${what}`)
          .join(', '),
      ],
      ['revision', config.revision],
      ['address', config.effective_api_url],
    ]),
  ];
  const agents = (config.agents ?? []).map((agent) => [
    qualified(agent),
    agent.provider ?? '',
    agent.scope ?? '',
    yes(agent.is_pool === true),
    yes(agent.suspended),
  ]);
  if (agents.length > 0) parts.push(table(['AGENT', 'PROVIDER', 'SCOPE', 'POOL', 'SUSPENDED'], agents, io));
  const rigs = (config.rigs ?? []).map((rig) => [rig.name, rig.prefix ?? '', yes(rig.suspended), rig.path]);
  if (rigs.length > 0) parts.push(table(['RIG', 'PREFIX', 'SUSPENDED', 'PATH'], rigs, io));
  const providers = Object.entries(config.providers ?? {}).map(([name, spec]) => [
    name,
    spec.base ?? '',
    spec.command ?? '',
    spec.display_name ?? '',
  ]);
  if (providers.length > 0) parts.push(table(['PROVIDER', 'BASE', 'COMMAND', 'CALLED'], providers, io));
  if (rejected !== undefined) parts.push(rejection(rejected));
  return parts.join('\n');
}

const qualified = ({ dir, name }: { dir?: string; name: string }): string => (dir === undefined ? name : `${dir}/${name}`);

/** In one line. */
export function unusable({ errors, errors_total, since }: Schemas['ConfigRejection']): string {
  const more = errors_total > 1 ? `, and ${errors_total - 1} more` : '';
  return `cannot be used since ${moment(since)}: ${errors[0] ?? ''}${more}`;
}

function rejection({ errors, errors_total, since }: Schemas['ConfigRejection']): string {
  const more = errors_total > errors.length ? `  and ${errors_total - errors.length} more\n` : '';
  const lines = errors.map((error) => `  ${plain(error)}\n`).join('');
  return `the files as they are since ${moment(since)} cannot be used:\n${lines}${more}`;
}

/** Everything that a city is composed of, written like its files. */
export function composedView(config: Record<string, unknown>): string {
  return `${stringify(config).split('\n').map(plain).join('\n').trimEnd()}\n`;
}

const CELL = 48;

/** Where each value was written; on a terminal long values are cut so that the place stays in sight. */
export function explainView(values: readonly Value[], io: Io): string {
  const rows = values.map(({ path, value, file, key }) => {
    const text = written(value);
    return [path, io.width === undefined ? text : cut(text, CELL), key === '' || key === path ? file : `${file}: ${key}`];
  });
  return table(['KEY', 'VALUE', 'WRITTEN IN'], rows, io);
}

/** `- before` and `+ after` of every key that differs. */
export function diffView({ from, to, differences }: Schemas['ConfigDiffBody'], io: Io): string {
  const paint = (colour: number, line: string): string => (io.colour ? `\u001b[${colour}m${line}\u001b[39m\n` : `${line}\n`);
  const side = (mark: string, path: string, value: unknown): string => `${mark} ${plain(path)} = ${written(value)}`;
  const lines = differences.map(({ path, before, after }) => {
    const old = before === undefined ? '' : paint(31, side('-', path, before));
    return `${old}${after === undefined ? '' : paint(32, side('+', path, after))}`;
  });
  const name = to === 'files' ? 'the files as they are now' : `revision ${plain(to)}`;
  return `--- revision ${from}\n+++ ${name}\n${lines.join('')}`;
}

/** The first keys that changed, and how many more there are. */
export function changedKeys(keys: readonly string[], total: number): string {
  return total > keys.length ? `${keys.join(', ')} and ${total - keys.length} more` : keys.join(', ');
}

const KEYS_IN_A_ROW = 3;

export function revisionTable(revisions: readonly Revision[], io: Io): string {
  const rows = revisions.map(({ revision, cause, actor, created_at, changed, changed_total, warnings }) => [
    String(revision),
    cause,
    actor,
    age(created_at),
    warnings.length === 0 ? '' : String(warnings.length),
    changedKeys(changed.slice(0, KEYS_IN_A_ROW), changed_total),
  ]);
  return table(['REVISION', 'CAUSE', 'ACTOR', 'AGE', 'WARNINGS', 'CHANGED'], rows, io);
}
