import { posix } from 'node:path';
import type { CityConfig, FormulaConfig } from '../../files/composition/city-config.js';
import type { FormulaSource } from './compile/formula.js';
import type { BesideFile, Library } from './compile/library.js';

/** Reads texts of a revision by SHA-256. */
export type ReadTexts = (digests: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** What of a composed city says which formulas there are. */
export type Shelf = Pick<CityConfig, 'formulas' | 'formula_folders' | 'contents'>;

/** Everything that a place sees, by name: the last of a name counts. */
export function formulasAt({ formulas }: Pick<Shelf, 'formulas'>, rig: string): FormulaConfig[] {
  return [...byName(formulas, rig).values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function byName(formulas: readonly FormulaConfig[], rig: string): Map<string, FormulaConfig> {
  const places = rig === '' ? [''] : ['', rig];
  return new Map(places.flatMap((place) => formulas.filter((each) => each.rig === place).map((each) => [each.name, each] as const)));
}

/** A compiling asks for texts at most this often: parents and expansions name each other. */
const ROUNDS = 100;

/**
 * The formulas that a place sees, of a composed city. Compiling reads it synchronously, so it is done again with the texts
 * that it lacked until it lacks none; most formulas take two rounds.
 */
export class StoredLibrary implements Library {
  readonly #formulas: ReadonlyMap<string, FormulaConfig>;
  readonly #folders: readonly string[];
  readonly #texts = new Map<string, string>();
  readonly #asked = new Set<string>();
  #wanted = new Set<string>();

  constructor(
    private readonly config: Shelf,
    rig: string,
    private readonly read: ReadTexts,
    /** A formula as it might be. */
    private readonly candidate?: FormulaSource,
  ) {
    this.#formulas = byName(config.formulas, rig);
    const folders = config.formula_folders ?? [];
    const of = (place: string): readonly string[] => folders.find((each) => each.rig === place)?.folders ?? [];
    this.#folders = [...of(''), '', ...(rig === '' ? [] : of(rig))];
  }

  /** Does what needs texts. */
  async with<T>(work: () => T): Promise<T> {
    for (let round = 0; ; round++) {
      const result = work();
      if (this.#wanted.size === 0 || round === ROUNDS) return result;
      const wanted = [...this.#wanted];
      this.#wanted = new Set();
      for (const digest of wanted) this.#asked.add(digest);
      for (const [digest, text] of await this.read(wanted)) this.#texts.set(digest, text);
    }
  }

  formula(name: string): FormulaSource | undefined {
    if (name === this.candidate?.name) return this.candidate;
    const entry = this.#formulas.get(name);
    const text = entry && this.#text(entry.sha256);
    return entry === undefined || text === undefined ? undefined : { name, file: entry.file, sha256: entry.sha256, text };
  }

  /** A path counts from the file; what lies in `assets/` of a stronger layer stands in its place. */
  beside(from: string, path: string): BesideFile | undefined {
    const colon = from.indexOf(':');
    const label = from.slice(0, colon + 1);
    const joined = posix.join(posix.dirname(from.slice(colon + 1)), path);
    if (path === '' || path.startsWith('/') || path.includes('\\') || joined.startsWith('..')) return undefined;
    const asset = /(?:^|\/)(assets\/.*)$/.exec(joined)?.[1];
    const layers = asset === undefined ? [] : this.#folders.map((folder) => `${folder}${asset}`).reverse();
    for (const file of [...layers, `${label}${joined}`]) {
      const sha256 = Object.hasOwn(this.config.contents, file) ? this.config.contents[file] : undefined;
      if (sha256 === undefined) continue;
      const text = this.#text(sha256);
      return { file, sha256, ...(text === undefined ? {} : { text }) };
    }
    return undefined;
  }

  #text(digest: string): string | undefined {
    const text = this.#texts.get(digest);
    if (text === undefined && !this.#asked.has(digest)) this.#wanted.add(digest);
    return text;
  }
}
