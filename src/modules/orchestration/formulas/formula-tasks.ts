import type { Ask } from '../../../platform/threads/protocol.js';
import { task } from '../../../platform/threads/task.js';
import type { CityConfig, FormulaConfig } from '../../files/composition/city-config.js';
import { compile, type Compiled, type CompileOptions } from './compile/compile.js';
import { describe, validate } from './compile/describe.js';
import type { FormulaSource } from './compile/formula.js';
import { Budget } from './compile/limits.js';
import { layersOf, toSummary, type Layers } from './formulas.mapper.js';
import type { FormulaSummaryResponse } from './formulas.schemas.js';
import { StoredLibrary, type Shelf } from './stored-library.js';

/* What is done with formulas, as functions of plain values: it asks for the texts that it lacks. */

export interface Asked {
  readonly shelf: Shelf;
  readonly rig: string;
  /** A formula as it might be. */
  readonly candidate?: FormulaSource;
  /** No more than may be done on the event loop. @throws Outgrown */
  readonly isSmall: boolean;
}

function libraryOf({ shelf, rig, candidate }: Asked, ask: Ask): StoredLibrary {
  const read = async (digests: readonly string[]): Promise<ReadonlyMap<string, string>> =>
    (await ask('texts', digests)) as ReadonlyMap<string, string>;
  return new StoredLibrary(shelf, rig, read, candidate);
}

/** What a list shows of some formulas; all of them share what may be done here. */
export const listing = task(
  import.meta.url,
  'listing',
  (
    input: Asked & { readonly entries: readonly FormulaConfig[]; readonly runs: readonly number[] },
    ask,
  ): Promise<FormulaSummaryResponse[]> => {
    const library = libraryOf(input, ask);
    return library.with(() => {
      const shared = input.isSmall ? new Budget(true) : undefined;
      return input.entries.map((entry, n) => {
        const { formula, issues } = describe(entry.name, library, shared ?? new Budget());
        return toSummary(entry, layersIn(input.shelf, entry), formula, issues, input.runs[n] ?? 0);
      });
    });
  },
);

/** The recipe of a formula; undefined when its file is not there any more. */
export const compiling = task(
  import.meta.url,
  'compiling',
  async (input: Asked & { readonly name: string; readonly options: CompileOptions }, ask): Promise<Compiled | undefined> => {
    const { name, options, isSmall } = input;
    const library = libraryOf(input, ask);
    const compiled = await library.with(() => compile(name, library, options, new Budget(isSmall)));
    return library.formula(name) === undefined ? undefined : compiled;
  },
);

/** All that can be said against a formula. */
export const validating = task(
  import.meta.url,
  'validating',
  (input: Asked & { readonly name: string; readonly compiler: '1.0.0' | '2.0.0' }, ask): Promise<Compiled> => {
    const { name, compiler, isSmall } = input;
    const library = libraryOf(input, ask);
    return library.with(() => validate(name, library, compiler, isSmall));
  },
);

/** What of a composed city, as it is stored, says which formulas there are. */
export const shelving = task(import.meta.url, 'shelving', (configText: string): Shelf => shelfOf(JSON.parse(configText) as CityConfig));

export function shelfOf({ formulas, formula_folders, contents }: Shelf): Shelf {
  return { formulas, contents, ...(formula_folders === undefined ? {} : { formula_folders }) };
}

/** Where a formula comes from, and what it stands in front of. */
export function layersIn({ formulas }: Pick<Shelf, 'formulas'>, entry: FormulaConfig): Layers {
  return layersOf(entry, entry.rig === '' ? undefined : formulas.find(({ rig, name }) => rig === '' && name === entry.name));
}
