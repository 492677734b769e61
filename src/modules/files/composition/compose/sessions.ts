import { Leaf, type Table } from '../tree.js';
import type { Agents } from './agents.js';
import { bareName, type CollectedSession } from './collect.js';
import { LIMITS } from './limits.js';
import { NAME, qualified } from './names.js';
import { derived, fallback, sameOrDerived } from './nodes.js';
import type { Run } from './run.js';

/** A named session in one place of the city. */
export interface Session {
  readonly name: string;
  readonly dir: string;
  readonly binding: string;
  readonly qualifiedName: string;
  /** `[binding.]agent`. */
  readonly template: string;
  readonly pack: string;
  /** Changed by patches. */
  table: Table;
}

/** The named sessions of a city, one an identity. */
export class Sessions {
  readonly #byName = new Map<string, Session>();

  constructor(private readonly run: Run) {}

  get all(): Iterable<Session> {
    return this.#byName.values();
  }

  /** A pack knows its agents by their own names; here they have the binding of the import. */
  addOfPack({ table, pack }: CollectedSession, dir: string, binding: string): void {
    const template = qualified('', binding, bareName(table.text('template')!));
    this.#add(table, dir, binding, template, pack.name);
  }

  /** A session of the city's own files: in the rig that it names, in every rig, or in the city. */
  addOwn(table: Table, rigs: readonly string[]): void {
    const dir = table.text('dir') ?? '';
    const dirs = dir === '' && table.text('scope') === 'rig' ? rigs : [dir];
    for (const place of dirs) this.#add(table, place, '', table.text('template')!, '');
  }

  #add(table: Table, dir: string, binding: string, template: string, pack: string): void {
    this.run.spend('steps', 1);
    const name = table.text('name') ?? bareName(template);
    if (!NAME.test(name)) {
      this.run.error(table.get('name') ?? table.get('template')!, `the name of a session must match ${NAME.source}`);
      return;
    }
    const qualifiedName = qualified(dir, '', name);
    const known = this.#byName.get(qualifiedName);
    if (known !== undefined) {
      if (sameOrigin(known.table, table)) return;
      this.run.error(
        table.get('name') ?? table.get('template')!,
        `there is a named session "${qualifiedName}" in ${known.table.origin.file} already`,
      );
    } else if (this.#byName.size >= LIMITS.namedSessions)
      this.run.error(table, `there are more than ${LIMITS.namedSessions} named sessions`);
    else this.#byName.set(qualifiedName, { name, dir, binding, qualifiedName, template, pack, table });
  }
}

function sameOrigin(one: Table, other: Table): boolean {
  return one.origin.file === other.origin.file && one.at === other.at;
}

/** The session as the composed result has it. */
export function sessionTable({ name, dir, binding, qualifiedName, template, pack, table }: Session): Table {
  return table.with(
    ['name', sameOrDerived(table.get('name'), name)],
    ['qualified_name', derived(qualifiedName)],
    ['template', sameOrDerived(table.get('template'), template)],
    ['dir', sameOrDerived(table.get('dir'), dir)],
    ['binding', derived(binding)],
    ['pack', pack === '' ? undefined : derived(pack)],
    ['mode', table.get('mode') ?? fallback('on_demand')],
  );
}

/** Tells what keeps sessions from running: no template, or one that has no room for those that always run. */
export function checkSessions(run: Run, sessions: Sessions, agents: Agents): void {
  const always = new Map<string, number>();
  const names = [...agents.all].map(({ qualifiedName }) => qualifiedName);
  for (const { table, template, dir } of sessions.all) {
    const agent = agents.resolve(template, dir);
    const where = table.get('template')!;
    if (agent === undefined) {
      run.warn(where, `there is no agent "${template}"${run.suggestions.of(template, names)}`);
      continue;
    }
    if (table.text('mode') !== 'always') continue;
    const mode = table.get('mode')!;
    const count = (always.get(agent.qualifiedName) ?? 0) + 1;
    always.set(agent.qualifiedName, count);
    const room = agent.table.number('max_active_sessions') ?? -1;
    if (room >= 0 && count > room) run.error(mode, `always needs more sessions of "${template}" than its max_active_sessions allows`);
    const sleep = agent.table.get('sleep_after_idle');
    if (sleep instanceof Leaf && sleep.value !== 'off') run.error(mode, `always contradicts sleep_after_idle of "${template}"`);
  }
}
