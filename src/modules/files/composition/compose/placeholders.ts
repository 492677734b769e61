import { Leaf, List, type Node, type Table } from '../tree.js';
import { COMMAND_VARIABLES, SESSION_NAME_VARIABLES, TRIMMING_VARIABLE, VARIABLE, WORK_DIR_VARIABLES } from '../variables.js';
import type { Agents } from './agents.js';
import type { Run } from './run.js';

/** Commands of an agent, in which variables are filled in. */
const COMMANDS = ['pre_start', 'session_setup', 'session_live'];
/** A name without its dot, as formulas have it. */
const BARE = /\{\{\s*([A-Za-z]\w*)\s*\}\}/g;
/** Characters of a name that is said. */
const SAID = 64;

/** Tells of placeholders that nobody fills in. What a command has may be another program's; there only a slip is told. */
export function checkPlaceholders(run: Run, agents: Agents, workspace: Table, global: Node | undefined): void {
  // Agents share what was written for many.
  const [lines, folders] = [new Set<Leaf>(), new Set<Leaf>()];
  for (const { table } of agents.all) {
    for (const key of COMMANDS) for (const leaf of leaves(table.get(key))) lines.add(leaf);
    const folder = table.get('work_dir');
    if (folder instanceof Leaf) folders.add(folder);
  }
  for (const entry of global instanceof List ? global.items : [])
    if ('entries' in entry) for (const leaf of leaves(entry.get('session_live'))) lines.add(leaf);
  for (const line of lines) checkOpen(run, line, COMMAND_VARIABLES);
  for (const folder of folders) checkClosed(run, folder, WORK_DIR_VARIABLES, 'no session starts with it');
  const template = workspace.get('session_template');
  if (template instanceof Leaf) checkClosed(run, template, SESSION_NAME_VARIABLES, 'sessions are called as without a template');
}

/** Of a text in which everything that is no variable stays as it is written. */
function checkOpen(run: Run, leaf: Leaf, names: readonly string[]): void {
  for (const [, name] of String(leaf.value).matchAll(TRIMMING_VARIABLE)) {
    const meant = names.includes(name!) ? undefined : near(run, name!, names);
    if (meant !== undefined) run.warn(leaf, `{{.${name}}} stays as it is written; did you mean {{.${meant}}}?`);
  }
  checkDots(run, leaf, names);
}

/** Of variables without their dot. */
export function checkDots(run: Run, leaf: Leaf, names: readonly string[]): void {
  for (const [, name] of String(leaf.value).matchAll(BARE))
    if (names.includes(name!)) run.warn(leaf, `{{${name}}} stays as it is written; did you mean {{.${name}}}?`);
}

/** Of a text that comes to nothing while there is a placeholder left. */
function checkClosed(run: Run, leaf: Leaf, names: readonly string[], outcome: string): void {
  const text = String(leaf.value);
  if (!text.includes('{{')) return;
  const rest = text.replace(VARIABLE, (_, name: string) => {
    if (!names.includes(name)) warnOfUnknown(run, leaf, name, names, outcome);
    return '';
  });
  if (!rest.includes('{{')) return;
  const meant = [...rest.matchAll(BARE)].find(([, name]) => names.includes(name!))?.[1];
  run.warn(leaf, `has more than variables between {{ and }}${meant === undefined ? '' : `; did you mean {{.${meant}}}?`}`);
}

/** Where a variable has to be one of these. */
export function warnOfUnknown(run: Run, leaf: Leaf, name: string, names: readonly string[], outcome: string): void {
  const meant = near(run, name, names);
  const question = meant === undefined ? '' : `; did you mean {{.${meant}}}?`;
  run.warn(leaf, `has the unknown variable {{.${name.slice(0, SAID)}}}: ${outcome}${question}`);
}

/** Nobody mistakes the first letter, and `{{.Version}}` of another program is two changes from `{{.Session}}`. */
export function near(run: Run, name: string, names: readonly string[]): string | undefined {
  const first = name[0]!.toLowerCase();
  return run.suggestions.meant(
    name,
    names.filter((each) => each[0]!.toLowerCase() === first),
  );
}

export function leaves(node: Node | undefined): Leaf[] {
  return node instanceof List ? node.items.filter((item) => item instanceof Leaf) : [];
}
