import type { Issue } from '../issue.js';
import { Leaf, List, Table, tableOf, type Node } from '../tree.js';
import { basesOf } from './bases.js';
import { issueAt } from './issue-at.js';
import { checkOptions, mergeDefaults, mergeOptions } from './options.js';
import { PRESETS } from './presets.js';

/** Values that all providers together may have after inheritance: a small file cannot become a huge result. */
const MAX_VALUES = 200_000;
/** What is said about inheriting itself, and has been done. */
const DONE = ['args_append', 'options_schema_merge'];
const MAPS = ['env', 'permission_modes', 'upstream_env'];

/**
 * The providers of a catalogue with everything they inherit: a value that comes from a preset has the origin
 * `builtin:<name>`, any other the place where it was written. Without those that have an error in what they build on.
 */
export function resolveProviders(catalog: Table, issues: Issue[]): Table {
  const resolved = new Map<string, Table>();
  const sizes = new Map<string, number>();
  let total = 0;
  for (const [name, base] of basesOf(catalog, issues)) {
    const own = catalog.table(name)!;
    const inherited = base === undefined ? undefined : 'builtin' in base ? presetTable(base.builtin) : resolved.get(base.custom);
    if (base !== undefined && inherited === undefined) continue;
    const size = sizeOf(own) + (base === undefined ? 0 : 'builtin' in base ? sizeOf(inherited!) : sizes.get(base.custom)!);
    total += size;
    if (total > MAX_VALUES) {
      const message = `has more than ${MAX_VALUES} values with what its providers inherit`;
      issues.push({ severity: 'error', file: catalog.origin.file, key: catalog.at, message });
      break;
    }
    sizes.set(name, size);
    resolved.set(name, inherit(own, inherited, issues));
  }
  const ordered = [...catalog.entries.keys()].flatMap((name) => (resolved.has(name) ? [[name, resolved.get(name)!] as const] : []));
  return new Table(new Map(ordered), catalog.origin, catalog.at);
}

const presetTables = new Map<string, Table>();

/** A preset as a tree whose values are known to come from it. */
export function presetTable(name: string): Table {
  const known = presetTables.get(name);
  if (known !== undefined) return known;
  const table = tableOf(PRESETS[name]!, { file: `builtin:${name}` });
  presetTables.set(name, table);
  return table;
}

function inherit(own: Table, base: Table | undefined, issues: Issue[]): Table {
  const entries = new Map<string, Node>(base?.without('base').entries);
  for (const [key, node] of own.entries) if (!DONE.includes(key)) entries.set(key, node);
  const set = (key: string, node: Node | undefined): void => void (node === undefined ? entries.delete(key) : entries.set(key, node));
  for (const key of MAPS) set(key, overlay(own.get(key), base?.get(key)));
  set('args', appended(own.get('args') ?? base?.get('args'), own.get('args_append')));
  const options = mergeOptions(own, base);
  checkOptions(own, issues);
  set('options_schema', options);
  set('option_defaults', mergeDefaults(own, base, options, issues));
  // Who names a command for the protocol wants it spoken.
  const acp = own.get('acp_command');
  if (acp instanceof Leaf && acp.value !== '' && own.get('supports_acp') === undefined)
    set('supports_acp', new Leaf(true, { file: 'derived' }, acp.at));
  const whole = new Table(entries, own.origin, own.at);
  checkStart(own, base, whole, issues);
  return whole;
}

/** A map over the one below it, key by key. */
function overlay(own: Node | undefined, base: Node | undefined): Node | undefined {
  if (!(own instanceof Table) || !(base instanceof Table)) return own ?? base;
  return own.entries.size === 0 ? base : new Table(new Map([...base.entries, ...own.entries]), own.origin, own.at);
}

function appended(args: Node | undefined, more: Node | undefined): Node | undefined {
  if (!(more instanceof List)) return args;
  if (!(args instanceof List)) return more;
  return more.items.length === 0 ? args : new List([...args.items, ...more.items], more.origin, more.at);
}

/** Tells why a provider could not be started or resumed as it stands; what its base has told already is not repeated. */
function checkStart(own: Table, base: Table | undefined, whole: Table, issues: Issue[]): void {
  const lacks = (key: string): boolean => (whole.text(key) ?? '') === '';
  const told = (...keys: string[]): boolean => base !== undefined && keys.every((key) => own.get(key) === undefined);
  if (lacks('command') && lacks('acp_command') && !told('command', 'acp_command'))
    issues.push(issueAt(own, 'command', 'is missing: a provider has a command, an acp_command, or a base with one'));
  if (whole.text('prompt_mode') === 'flag' && lacks('prompt_flag') && !told('prompt_mode', 'prompt_flag'))
    issues.push(issueAt(own, 'prompt_flag', 'is missing: prompt_mode is flag'));
  if (wraps(own, base) && whole.text('resume_style') === 'subcommand' && lacks('resume_command'))
    issues.push(
      issueAt(own, 'resume_command', 'is missing: the base resumes by a subcommand, and where another command takes it is not known'),
    );
}

/** Whether a provider starts something else than its base does; another path to the same program does not count. */
function wraps(own: Table, base: Table | undefined): boolean {
  const [mine, theirs] = [own.text('command'), base?.text('command')];
  return mine !== undefined && theirs !== undefined && baseName(mine) !== baseName(theirs);
}

function baseName(command: string): string {
  return command.slice(command.lastIndexOf('/') + 1);
}

function sizeOf(node: Node): number {
  if (node instanceof Table) return [...node.entries.values()].reduce((sum, member) => sum + sizeOf(member), 1);
  return node instanceof List ? node.items.reduce((sum, item) => sum + sizeOf(item), 1) : 1;
}
