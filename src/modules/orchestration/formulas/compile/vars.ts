import type { VarDef, Where } from './formula.js';
import type { Issues } from './issues.js';
import { LIMITS, type Budget } from './limits.js';
import { Pattern } from './pattern.js';
import { looksLikePlaceholder } from './placeholders.js';

/** Control characters that no text of a bead has a use for. */
const CONTROL = /[^\P{Cc}\t\n\r]/u;
const WHOLE = /^[+-]?\d{1,15}$/;

/** What is wrong with a value of a variable; undefined when nothing is. An empty one is not looked at: it says that there is none. */
export function valueFault(
  { enum: allowed, pattern, type }: Pick<VarDef, 'enum' | 'pattern' | 'type'>,
  value: string,
  budget?: Budget,
): string | undefined {
  if (value.length > LIMITS.value) return `is longer than ${LIMITS.value} characters`;
  if (CONTROL.test(value) || !value.isWellFormed()) return 'holds a control character or half a surrogate pair';
  if (looksLikePlaceholder(value)) return 'holds a placeholder, which nothing would replace';
  if (value === '') return undefined;
  if (type === 'int' && !WHOLE.test(value)) return 'is not a whole number';
  if (type === 'bool' && value !== 'true' && value !== 'false') return 'is neither true nor false';
  if (allowed !== undefined && !allowed.includes(value)) return `is not one of ${allowed.slice(0, 20).join(', ')}`;
  if (pattern === undefined) return undefined;
  const compiled = new Pattern(pattern);
  budget?.spend('matching', compiled.cost(value));
  return compiled.test(value) ? undefined : `does not match ${pattern}`;
}

/** Where values come from, the strongest first. */
export interface Given {
  /** What the caller says. */
  readonly vars: Readonly<Record<string, string>>;
  /** What the service adds where a formula uses it: `rig_name` and the like. */
  readonly injected: Readonly<Record<string, string>>;
}

/** Names that the service gives, whether or not a formula declares them. */
export const INJECTED = ['rig_name', 'binding_name', 'binding_prefix', 'base_branch', 'target_branch', 'issue'] as const;
/** Names that mean the input of a formula for the second compiler, and nothing else. */
export const RESERVED = ['convoy_id', 'bead_id'] as const;

export interface Values {
  readonly values: ReadonlyMap<string, string>;
  /** Required ones without a value. */
  readonly missing: readonly string[];
}

/**
 * The value of every variable, all mistakes at once. A variable without a value is empty.
 * @param strict whether a required variable without a value is a mistake; a preview goes on without
 */
export function valuesOf(
  defs: ReadonlyMap<string, VarDef>,
  { vars, injected }: Given,
  { strict, v2, where }: { strict: boolean; v2: boolean; where: Where },
  issues: Issues,
  budget: Budget,
): Values {
  const values = new Map<string, string>();
  const missing: string[] = [];
  const of = (name: string): Where => ({ file: where.file, key: `vars.${name}` });
  const given = Object.entries(vars);
  if (given.length > LIMITS.vars) issues.error(of('*'), `there are more than ${LIMITS.vars} values`);
  if (given.reduce((sum, [, value]) => sum + value.length, 0) > LIMITS.values)
    issues.error(of('*'), `the values have more than ${LIMITS.values} characters`);
  for (const [name] of given) {
    if (v2 && (RESERVED as readonly string[]).includes(name)) issues.error(of(name), 'is reserved: the run says what its input is');
    else if (!defs.has(name) && !(INJECTED as readonly string[]).includes(name))
      issues.error(of(name), 'is not a variable of this formula', [...defs.keys()].sort().slice(0, 50));
  }
  const convoy = v2 ? own(injected, 'convoy_id') : undefined;
  if (convoy !== undefined) put({ name: 'convoy_id', where, required: false, type: 'string' }, convoy);
  for (const name of INJECTED) {
    const value = own(vars, name) ?? own(injected, name);
    if (value !== undefined && !defs.has(name)) put({ name, where, required: false, type: 'string' }, value);
  }
  for (const [name, def] of [...defs].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const value = own(vars, name) ?? own(injected, name);
    if (def.required && (value === undefined || value === '')) {
      missing.push(name);
      if (strict) issues.error(of(name), 'is required');
    } else if (value === undefined) values.set(name, def.default ?? '');
    else put(def, value);
  }
  return { values, missing };

  function put(def: VarDef, value: string): void {
    const fault = valueFault(def, value, budget);
    if (fault !== undefined) issues.error(of(def.name), fault);
    values.set(def.name, value);
  }
}

function own(record: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
