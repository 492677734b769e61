import semver from 'semver';
import { checkedFiles } from '../../../files/composition/compose/checked-files.js';
import { Leaf, List, plain, type Table } from '../../../files/composition/tree.js';
import { textsOf, whereOf } from './members.js';
import type { Compose, Formula, FormulaSource, Step, VarDef, VarType, Where } from './formula.js';
import { WHOLE_FORMULA } from './formula.format.js';
import { inside, type Issues } from './issues.js';
import { LIMITS } from './limits.js';
import { Pattern, PatternError } from './pattern.js';
import { looksLikePlaceholder } from './placeholders.js';
import { adviceOf } from './read-advice.js';
import { readSteps } from './read-steps.js';
import { untilOf } from './until.js';
import { valueFault } from './vars.js';

const NAME = /^[A-Za-z_]\w*$/;

/**
 * Reads the file of a formula: every key of it, alone. Undefined when it is not TOML; what is wrong is pushed, and what is
 * left is as it was meant, so that rules about the whole can be asked as well.
 */
export function readFormula(source: FormulaSource, issues: Issues): Formula | undefined {
  const { table, issues: found } = checkedFiles.check(source.text, source.file, WHOLE_FORMULA);
  for (const issue of found) issues.push(issue);
  if (table === undefined) return undefined;
  const name = table.text('formula') ?? '';
  const top: Where = { file: source.file, key: '' };
  if (name === '') issues.error(inside(top, 'formula'), 'is required');
  else if (name !== source.name) issues.error(inside(top, 'formula'), `must be "${source.name}", the name of the file`);
  const type = (table.text('type') ?? 'workflow') as Formula['type'];
  keysOfType(table, type, top, issues);
  const phase = table.text('phase') as Formula['phase'];
  const catalog = table.table('catalog');
  const steps = readSteps(table, 'steps', issues);
  const template = readSteps(table, 'template', issues);
  for (const tree of [steps, template]) requireUnique(tree, issues);
  return {
    source,
    name: source.name,
    description: table.text('description') ?? '',
    type,
    compilers: compilersOf(table, top, issues),
    extends: namesAt(table, 'extends'),
    vars: varsOf(table, top, issues),
    steps,
    template,
    compose: composeOf(table.table('compose'), issues),
    advice: table.tables('advice').map((advice) => adviceOf(advice, issues)),
    ...(phase === undefined ? {} : { phase }),
    pour: table.flag('pour') ?? false,
    catalog: (catalog === undefined ? {} : plain(catalog)) as Formula['catalog'],
    metadata: (table.table('metadata') === undefined ? {} : plain(table.table('metadata')!)) as Formula['metadata'],
  };
}

/**
 * An id is that of one step, whatever conditions say: who waits for it waits for one, and who extends the formula replaces one. What is
 * repeated names its steps for itself.
 */
function requireUnique(steps: readonly Step[], issues: Issues, ids = new Set<string>()): void {
  for (const { id, where, children, check, loop } of steps) {
    if (id !== '' && ids.has(id)) issues.error(inside(where, 'id'), `there is another step "${id.slice(0, LIMITS.id)}"`);
    ids.add(id);
    requireUnique(children, issues, check === undefined ? ids : new Set());
    if (loop !== undefined) requireUnique(loop.body, issues);
  }
}

/** Keys that a formula of this type has no use for. */
const USELESS: Readonly<Record<Formula['type'], readonly string[]>> = {
  workflow: ['template'],
  expansion: ['steps', 'compose', 'advice', 'phase', 'pour', 'catalog'],
  aspect: ['steps', 'template', 'compose', 'phase', 'pour', 'catalog', 'vars'],
};

function keysOfType(table: Table, type: Formula['type'], top: Where, issues: Issues): void {
  for (const key of USELESS[type])
    if (table.get(key) !== undefined) issues.error(inside(top, key), `has no effect in ${type === 'workflow' ? 'a' : 'an'} ${type}`);
  if (type === 'expansion' && table.tables('template').length === 0) issues.error(inside(top, 'template'), 'is required in an expansion');
  if (type === 'aspect' && table.tables('advice').length === 0) issues.error(inside(top, 'advice'), 'is required in an aspect');
}

function compilersOf(table: Table, top: Where, issues: Issues): Formula['compilers'] {
  const found: { where: Where; range: string }[] = [];
  const contract = table.text('contract');
  if (contract !== undefined && contract.toLowerCase() !== 'graph.v2') issues.error(inside(top, 'contract'), 'must be graph.v2');
  else if (contract !== undefined) found.push({ where: inside(top, 'contract'), range: '>=2.0.0' });
  const range = table.table('requires')?.text('formula_compiler');
  const where = inside(top, 'requires.formula_compiler');
  if (range !== undefined && (range.length > LIMITS.id || range.trim() === '' || semver.validRange(range) === null))
    issues.error(where, 'is not a comparison of versions such as ">=2.0.0"');
  else if (range !== undefined) found.push({ where, range });
  return found;
}

function varsOf(table: Table, top: Where, issues: Issues): Map<string, VarDef> {
  const vars = new Map<string, VarDef>();
  const entries = [...(table.table('vars')?.entries ?? [])];
  if (entries.length > LIMITS.vars) issues.error(inside(top, 'vars'), `has more than ${LIMITS.vars} variables`);
  for (const [name, node] of entries.slice(0, LIMITS.vars)) {
    const where = { file: top.file, key: node.at };
    if (!NAME.test(name)) issues.error(where, `this name must match ${NAME.source}`);
    const def = varOf(name, where, node instanceof Leaf ? { default: String(node.value) } : (plain(node) as Partial<VarDef>));
    vars.set(name, varRules(def, where, issues));
  }
  return vars;
}

function varOf(name: string, where: Where, written: Partial<VarDef>): VarDef {
  return { ...written, name, where, required: written.required ?? false, type: (written.type ?? 'string') as VarType };
}

/** A variable without what is wrong about it. */
function varRules(def: VarDef, where: Where, issues: Issues): VarDef {
  if (def.required && def.default !== undefined) issues.error(where, 'cannot have both required and default');
  if (def.pattern !== undefined) {
    try {
      new Pattern(def.pattern);
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      issues.error(inside(where, 'pattern'), error.message);
      const { pattern: _, ...rest } = def;
      return rest;
    }
  }
  if (def.enum?.length === 0) issues.error(inside(where, 'enum'), 'must not be empty');
  if (def.default === undefined) return def;
  const fault = looksLikePlaceholder(def.default) ? 'holds a placeholder' : valueFault(def, def.default);
  if (fault !== undefined) issues.error(inside(where, 'default'), fault);
  return def;
}

function namesAt(table: Table, key: string): { where: Where; name: string }[] {
  const list = table.get(key);
  if (!(list instanceof List)) return [];
  return list.items.flatMap((item) =>
    item instanceof Leaf ? [{ where: { file: item.origin.file, key: item.at }, name: String(item.value) }] : [],
  );
}

/** A gate stands beside the steps of a run: none of them is the one that `step` means. */
const NO_ROUND = 'asks for the last step of a round, and a gate is in none: ask for steps.complete or children(<step>)';

function composeOf(table: Table | undefined, issues: Issues): Compose {
  const tables = (key: string): Table[] => table?.tables(key) ?? [];
  const required = (from: Table, key: string): string => {
    const written = from.text(key) ?? '';
    if (written === '') issues.error(inside(whereOf(from), key), 'is required');
    return written;
  };
  const splice = (key: 'target' | 'select') => (from: Table) => ({
    where: whereOf(from),
    target: required(from, key),
    with: required(from, 'with'),
    vars: textsOf(from, 'vars'),
  });
  return {
    expand: tables('expand').map(splice('target')),
    map: tables('map').map(splice('select')),
    branch: tables('branch').map((from) => {
      if ((from.texts('steps') ?? []).length === 0) issues.error(inside(whereOf(from), 'steps'), 'is required');
      return { where: whereOf(from), from: required(from, 'from'), steps: from.texts('steps') ?? [], join: required(from, 'join') };
    }),
    gate: tables('gate').flatMap((from) => {
      const before = required(from, 'before');
      const until = untilOf(required(from, 'condition'));
      const fault = typeof until === 'string' ? until : 'of' in until || until.subject === 'complete' ? undefined : NO_ROUND;
      if (fault !== undefined) issues.error(inside(whereOf(from), 'condition'), fault);
      return typeof until === 'string' ? [] : [{ where: whereOf(from), before, until }];
    }),
    aspects: table === undefined ? [] : namesAt(table, 'aspects'),
    bondPoints: tables('bond_points').map((from) => {
      const [after, before] = [from.text('after_step'), from.text('before_step')];
      if ((after === undefined) === (before === undefined)) issues.error(whereOf(from), 'needs either after_step or before_step');
      return {
        where: whereOf(from),
        id: required(from, 'id'),
        ...(after === undefined ? {} : { after }),
        ...(before === undefined ? {} : { before }),
        parallel: from.flag('parallel') ?? false,
      };
    }),
  };
}
