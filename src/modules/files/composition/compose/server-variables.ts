import { Leaf, Table, type Node } from '../tree.js';
import { COMMAND_VARIABLES, TRIMMING_VARIABLE } from '../variables.js';
import { checkDots, leaves, near, warnOfUnknown } from './placeholders.js';
import type { Run } from './run.js';

const NAMES: readonly string[] = COMMAND_VARIABLES;
const OUTCOME = 'no agent starts with this server';
/** As none of an environment is called. */
const OURS = /^[A-Z][A-Za-z]*[a-z][A-Za-z]*$/;

/** Tells of variables in the definition of a server that nobody fills in: there are some in a template only, and there all are to be known. */
export function checkServerVariables(run: Run, table: Table, isTemplate: boolean): void {
  const open = [...single(table.get('command')), ...leaves(table.get('args')), ...single(table.get('url'))];
  const closed = [...members(table.get('env')), ...members(table.get('headers'))];
  const all = [...open.map((leaf) => ({ leaf, isOpen: true })), ...closed.map((leaf) => ({ leaf, isOpen: false }))];
  for (const { leaf, isOpen } of all) {
    for (const name of variablesIn(leaf)) {
      const isKnown = NAMES.includes(name);
      if (!isTemplate) {
        if (isKnown) run.warn(leaf, `{{.${name}}} stays as it is written: variables are filled in in NAME.template.toml only`);
      } else if (!isKnown && (isOpen || isSlip(run, name))) warnOfUnknown(run, leaf, name, NAMES, OUTCOME);
    }
    if (isTemplate) checkDots(run, leaf, NAMES);
  }
}

/** Values that are kept from others may also have variables of the city's environment and the agent's, which are not known here. */
const isSlip = (run: Run, name: string): boolean => OURS.test(name) && near(run, name, NAMES) !== undefined;

const variablesIn = (leaf: Leaf): Set<string> => new Set([...String(leaf.value).matchAll(TRIMMING_VARIABLE)].map(([, name]) => name!));

const single = (node: Node | undefined): Leaf[] => (node instanceof Leaf ? [node] : []);

const members = (node: Node | undefined): Leaf[] =>
  node instanceof Table ? [...node.entries.values()].filter((item) => item instanceof Leaf) : [];
