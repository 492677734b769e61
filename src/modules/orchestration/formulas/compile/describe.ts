import type { Issue } from '../../../files/composition/issue.js';
import { compile, type Compiled } from './compile.js';
import type { Formula, Step, Where } from './formula.js';
import { Formulas } from './formulas.js';
import { Issues } from './issues.js';
import type { Library } from './library.js';
import { Budget, TooMuch } from './limits.js';
import { walk } from './step-tree.js';

/** What a formula says of itself with its parents, without making anything of it: as much as a list shows. @throws Outgrown with a small budget */
export function describe(name: string, library: Library, budget = new Budget()): { formula?: Formula; issues: readonly Issue[] } {
  const issues = new Issues();
  const formulas = new Formulas(library, issues, budget);
  const source = library.formula(name);
  const asked: Where = { file: source?.file ?? `formulas/${name}.toml`, key: '' };
  let formula: Formula | undefined;
  try {
    formula = formulas.whole(name, asked);
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
    issues.error(asked, error.message);
  }
  const texts = new Map(formulas.sources.map(({ file, text }) => [file, text]));
  return { ...(formula === undefined ? {} : { formula }), issues: issues.placed((file) => texts.get(file) ?? source?.text) };
}

/** All that can be said against a formula before anybody gives its variables values. An aspect is nothing by itself. */
export function validate(name: string, library: Library, compiler: '1.0.0' | '2.0.0', isSmall = false): Compiled {
  const described = describe(name, library, new Budget(isSmall));
  if (described.issues.length > 0 && described.formula === undefined) return described;
  if (described.formula?.type === 'aspect') return described;
  return compile(name, library, { vars: {}, injected: {}, strict: false, compiler }, new Budget(isSmall));
}

/** Whether a formula has a script run. */
export function runsCommands({ steps, template }: Formula): boolean {
  const runs = (each: readonly Step[]): boolean =>
    Array.from(walk(each)).some(({ check, loop }) => check !== undefined || (loop !== undefined && runs(loop.body)));
  return runs(steps) || runs(template);
}
