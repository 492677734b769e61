import { listEntries, readToml } from './city-files.js';
import { InitFailure } from './failure.js';

const CODE = 'city_init_failed';
const SUFFIXES = ['.formula.toml', '.toml'] as const;

/** Parses the city's formulas: each says its name, and its name is that of its file. Returns how many there are. */
export async function resolveFormulas(dir: string): Promise<number> {
  const names = new Set<string>();
  for (const { name: file, directory } of await listEntries(dir, 'formulas', CODE)) {
    const suffix = SUFFIXES.find((end) => file.endsWith(end));
    if (directory || suffix === undefined) continue;
    const name = file.slice(0, -suffix.length);
    const formula = await readToml(dir, `formulas/${file}`, CODE);
    if (formula === undefined) continue;
    if (typeof formula.formula !== 'string' || formula.formula === '') {
      throw new InitFailure(CODE, `formulas/${file}: formula: name is required`);
    }
    if (formula.formula !== name) throw new InitFailure(CODE, `formulas/${file}: formula is named "${formula.formula}"`);
    names.add(name);
  }
  return names.size;
}
