import type { Issue } from '../issue.js';
import { Leaf, List, Table, type Node } from '../tree.js';
import { issueAt } from './issue-at.js';

/**
 * The options of a provider: its own ones instead of those of its base or, with `by_key`, laid over them. An option
 * with `omit` takes the one of its key away. Undefined when there are none.
 */
export function mergeOptions(own: Table, base: Table | undefined): Node | undefined {
  const written = own.get('options_schema');
  const inherited = base?.get('options_schema');
  if (!(written instanceof List)) return inherited;
  const byKey = own.text('options_schema_merge') === 'by_key';
  if (byKey && written.items.length === 0) return inherited ?? written;
  const options = new Map((byKey ? (base?.tables('options_schema') ?? []) : []).map((option) => [option.text('key'), option]));
  for (const option of own.tables('options_schema')) {
    const key = option.text('key');
    if (option.flag('omit') === true) options.delete(key);
    else options.set(key, option);
  }
  if (options.size === 0) return written.items.length === 0 ? written : undefined;
  return new List([...options.values()], written.origin, written.at);
}

/** Tells what is wrong with the options that a provider declares itself. */
export function checkOptions(own: Table, issues: Issue[]): void {
  const keys = new Set<string | undefined>();
  for (const option of own.tables('options_schema')) {
    const key = option.text('key');
    if (keys.has(key)) issues.push(issueAt(option, 'key', 'is already the key of another option of this provider'));
    keys.add(key);
    if (option.flag('omit') === true) continue;
    const values = new Set<string | undefined>();
    for (const choice of option.tables('choices')) {
      const value = choice.text('value');
      if (values.has(value)) issues.push(issueAt(choice, 'value', 'is already the value of another choice'));
      values.add(value);
    }
    const fallback = option.text('default');
    if (fallback !== undefined && fallback !== '' && !values.has(fallback))
      issues.push(issueAt(option, 'default', 'must be the value of one of the choices', valuesOf(option)));
  }
}

/**
 * The defaults that a provider gives options: its own ones over those of its base. What it writes itself must be an
 * option of its schema and one of the choices; what it inherits and no longer has is left out.
 */
export function mergeDefaults(own: Table, base: Table | undefined, schema: Node | undefined, issues: Issue[]): Node | undefined {
  const options = new Map<string, Table>();
  for (const option of schema instanceof List ? schema.items : []) {
    if (option instanceof Table && option.text('key') !== undefined) options.set(option.text('key')!, option);
  }
  const defaults = new Map<string, Node>();
  for (const [key, value] of base?.table('option_defaults')?.entries ?? []) {
    const option = options.get(key);
    if (option !== undefined && value instanceof Leaf && valuesOf(option).includes(value.value as string)) defaults.set(key, value);
  }
  const written = own.table('option_defaults');
  for (const [key, value] of written?.entries ?? []) {
    const option = options.get(key);
    if (option === undefined) issues.push(issueAt(written!, key, 'is no option of this provider', [...options.keys()]));
    else if (!(value instanceof Leaf) || !valuesOf(option).includes(value.value as string))
      issues.push(issueAt(written!, key, 'must be the value of one of the choices', valuesOf(option)));
    else defaults.set(key, value);
  }
  const at = written ?? base?.table('option_defaults');
  if (at === undefined || (defaults.size === 0 && at.entries.size > 0)) return undefined;
  return new Table(defaults, at.origin, at.at);
}

function valuesOf(option: Table): string[] {
  return option.tables('choices').flatMap((choice) => choice.text('value') ?? []);
}
