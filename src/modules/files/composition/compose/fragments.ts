import { FRAGMENT_FORMAT } from '../formats/city.format.js';
import { Table, type Node } from '../tree.js';
import { includesOfCity } from './includes.js';
import { mergeProvider } from './merge-provider.js';
import { concat, overlaid } from './nodes.js';
import { patchesAfter, pricesOver } from './root-pack.js';
import type { Run } from './run.js';

/** How a table of a fragment joins the one that is there: both sides are present. */
type Rule = (base: Node, over: Node, run: Run) => Node | undefined;

const append = (base: Node, over: Node): Node | undefined => concat(base, over);
const byKey = (base: Node, over: Node): Node | undefined => overlaid(base, over);

/** Tables that are not named here are replaced as a whole. */
const RULES: Readonly<Record<string, Rule>> = {
  agent: append,
  named_session: append,
  rigs: append,
  service: append,
  webhook: append,
  pricing: (base, over) => pricesOver(base, over),
  patches: (base, over) => (base instanceof Table && over instanceof Table ? patchesAfter(base, over) : over),
  github: (base, over) => inside(base, over, append),
  extmsg: (base, over) => inside(base, over, append),
  providers: (base, over, run) => inside(base, over, (before, now) => mergeProviders(before, now, run)),
  upstreams: replaceEntries,
  imports: replaceEntries,
  packs: replaceEntries,
  defaults: (base, over, run) => inside(base, over, (before, now) => inside(before, now, (was, is) => replaceEntries(was, is, run))),
  workspace: mergeWorkspace,
  agent_defaults: byKey,
  session_sleep: byKey,
  beads: keeping('conditional_writes', 'guarded_release'),
  daemon: keeping('formula_v2'),
  storage: mergeStorage,
};

/** The city's document with its fragments, in the order in which it names them. */
export async function withFragments(run: Run, city: Table): Promise<Table> {
  let result = city.without('include');
  for (const include of includesOfCity(city)) {
    if ('fault' in include) {
      run.error(include.where, include.fault);
      continue;
    }
    const before = run.issues.length;
    const fragment = await run.table({ tree: run.input.tree, path: include.path }, FRAGMENT_FORMAT);
    if (fragment !== undefined) result = withFragment(run, result, fragment);
    else if (run.issues.length === before) run.error(include.where, 'there is no such file');
  }
  return result;
}

/** The document with one more fragment. */
function withFragment(run: Run, city: Table, fragment: Table): Table {
  const changes = [...fragment.entries].map(([key, over]): [string, Node | undefined] => {
    // Of a workspace only some keys count here, so that even the first one is a merge.
    const base = city.get(key) ?? (key === 'workspace' ? new Table(new Map(), over.origin, over.at) : undefined);
    const rule = Object.hasOwn(RULES, key) ? RULES[key] : undefined;
    return [key, base === undefined || rule === undefined ? over : rule(base, over, run)];
  });
  return city.with(...changes);
}

function inside(base: Node, over: Node, rule: (before: Node, now: Node) => Node | undefined): Node {
  if (!(base instanceof Table) || !(over instanceof Table)) return over;
  return base.with(
    ...[...over.entries].map(([key, now]) => {
      const before = base.get(key);
      return [key, before === undefined ? now : rule(before, now)] as const;
    }),
  );
}

function redefines(run: Run, now: Node, before: Node): void {
  run.warn(now, `redefines what ${before.origin.file} says`);
}

function mergeProviders(before: Node, now: Node, run: Run): Node {
  if (!(before instanceof Table) || !(now instanceof Table)) return now;
  return mergeProvider(before, now, (node, old) => redefines(run, node, old));
}

function replaceEntries(base: Node, over: Node, run: Run): Node {
  return inside(base, over, (before, now) => {
    redefines(run, now, before);
    return now;
  });
}

const REPLACED = ['name', 'provider', 'start_command', 'session_template', 'suspended_on_start', 'install_agent_hooks'];
const APPENDED = ['includes', 'default_rig_includes', 'global_fragments'];

function mergeWorkspace(base: Node, over: Node, run: Run): Node {
  if (!(base instanceof Table) || !(over instanceof Table)) return base;
  const changes: [string, Node | undefined][] = [];
  for (const [key, now] of over.entries) {
    const before = base.get(key);
    if (APPENDED.includes(key)) changes.push([key, concat(before, now)]);
    else if (!REPLACED.includes(key)) run.warn(now, 'has no effect in a fragment; it belongs in city.toml');
    else {
      if (before !== undefined) redefines(run, now, before);
      changes.push([key, now]);
    }
  }
  return base.with(...changes);
}

/** The later table as a whole, with a few keys of the earlier one that it does not set. */
function keeping(...keys: readonly string[]): Rule {
  return (base, over) => {
    if (!(base instanceof Table) || !(over instanceof Table)) return over;
    return over.with(...keys.flatMap((key) => (over.get(key) === undefined ? [[key, base.get(key)] as const] : [])));
  };
}

function mergeStorage(base: Node, over: Node, run: Run): Node {
  return inside(base, over, (before, now) =>
    inside(before, now, (was, is) => {
      if (is instanceof Table) run.error(is, `is a storage binding that ${was.origin.file} has already`);
      else redefines(run, is, was);
      return is;
    }),
  );
}
