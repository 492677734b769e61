import type { Guard } from './guard.js';

const COMPILE = 'src/modules/orchestration/formulas/compile';
const CORPUS = `${COMPILE}/corpus.spec.ts`;
const HOSTILE = `${COMPILE}/hostile.spec.ts`;

/** Formulas and what they become. */
export const FORMULAS: readonly Guard[] = [
  {
    guard: 'A formula that somebody has saved in an editor is not replaced by who has not seen it.',
    file: 'src/modules/orchestration/formulas/formula-edits.service.ts',
    find: 'if (found !== known) throw',
    replace: 'if (found === "") throw',
    test: 'src/modules/orchestration/formulas/formula-edits.db-spec.ts',
  },
  {
    guard: 'A formula may name a file that no formula has named before.',
    file: 'src/modules/orchestration/formulas/formula-edits.service.ts',
    find: 'if (others.length === checked.issues.length) return checked;',
    replace: 'if (others.length <= checked.issues.length) return checked;',
    test: 'src/modules/orchestration/formulas/formula-edits.db-spec.ts',
    name: 'has no text of it',
  },
  {
    guard: 'No file is said to be missing while the files of a city cannot be used.',
    file: 'src/modules/orchestration/formulas/formula-edits.service.ts',
    find: '{ ...checked, issues: others, unusable: after.errors }',
    replace: '{ ...checked, issues: others.length < 0 ? others : checked.issues, unusable: after.errors }',
    test: 'src/modules/orchestration/formulas/formula-edits.db-spec.ts',
    name: 'is not said to be missing',
  },
  {
    guard: 'Of how many files a formula is made is bounded.',
    file: `${COMPILE}/limits.ts`,
    find: 'formulas: 64,\n  /** Characters',
    replace: 'formulas: 6_400,\n  /** Characters',
    test: HOSTILE,
  },
  {
    guard: 'No text grows out of memory.',
    file: `${COMPILE}/placeholders.ts`,
    find: 'if (grown > LIMITS.text) throw',
    replace: 'if (grown < 0) throw',
    test: HOSTILE,
  },
  {
    guard: 'A value is never read as a placeholder.',
    file: `${COMPILE}/vars.ts`,
    find: "if (looksLikePlaceholder(value)) return 'holds a placeholder, which nothing would replace';",
    replace: '',
    test: CORPUS,
  },
  {
    guard: 'No placeholder that nobody replaces reaches a bead.',
    file: `${COMPILE}/words.ts`,
    find: 'else if (stays === undefined) unknown.add(name);',
    replace: '',
    test: CORPUS,
  },
  {
    guard: 'What cleans up has no rounds, which no run would begin.',
    file: `${COMPILE}/metadata.ts`,
    find: 'if (metadata[key] === value) issues',
    replace: "if (metadata[key] === '') issues",
    test: CORPUS,
  },
  {
    guard: 'No two steps of a recipe have one full id.',
    file: `${COMPILE}/flattening.ts`,
    find: 'const isTaken = this.#ids.has(full);',
    replace: 'const isTaken = false;',
    test: CORPUS,
    name: '279',
  },
  {
    guard: 'Gates of steps of one name have ids of their own.',
    file: `${COMPILE}/flattening.ts`,
    find: 'const full = `${pathOf(step, frame)}.gate-${step.id}`;',
    replace: 'const full = `${this.options.formula}.gate-${step.id}`;',
    test: CORPUS,
    name: '280',
  },
  {
    guard: 'Whoever waited for a step that is left out waits for what that waited for.',
    file: `${COMPILE}/weaving.ts`,
    find: 'for (const { id } of walk([step])) this.became.set(id, step.needs);',
    replace: 'for (const { id } of walk([step])) this.became.set(id, []);',
    test: CORPUS,
  },
  {
    guard: 'A file that is taken away is the one that was read.',
    file: 'src/modules/configuration/config/edit-files.ts',
    find: 'if (found !== expected) throw',
    replace: "if (found === 'never') throw",
    test: 'src/modules/configuration/config/edit-files.spec.ts',
  },
  {
    guard: 'What is much of formulas is not done on the event loop.',
    file: 'src/modules/orchestration/formulas/formula-work.ts',
    find: 'isSmall: true }',
    replace: 'isSmall: false }',
    test: 'src/modules/orchestration/formulas/formula-work.spec.ts',
  },
  {
    guard: 'All formulas of a page share what may be done on the event loop.',
    file: 'src/modules/orchestration/formulas/formula-tasks.ts',
    find: 'describe(entry.name, library, shared ?? new Budget())',
    replace: 'describe(entry.name, library, new Budget(shared !== undefined))',
    test: 'src/modules/orchestration/formulas/formula-work.spec.ts',
    name: 'a page of little ones',
  },
  {
    guard: 'An expansion can be looked at without what only its users say.',
    file: 'src/modules/orchestration/formulas/compile/weaving.ts',
    find: 'this.values.missing.has(name) ? `{{${name}}}` : this.values.value(name)',
    replace: 'this.values.value(name)',
    test: 'src/modules/orchestration/formulas/compile/corpus.spec.ts',
  },
];
