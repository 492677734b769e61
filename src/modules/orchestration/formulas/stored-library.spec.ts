import { describe, expect, it } from '@jest/globals';
import { composeCity, packOf, START, type Files } from '../../files/composition/compose/testing/city.js';
import { describeIssue } from '../../files/composition/issue.js';
import { plain } from '../../files/composition/tree.js';
import { compile } from './compile/compile.js';
import { StoredLibrary, type Shelf } from './stored-library.js';

const OPTIONS = { vars: {}, injected: {}, strict: true, compiler: '2.0.0' } as const;
const PACK = { desk: { ...packOf('desk', ''), 'formulas/f.toml': describedBy('../assets/d.md'), 'assets/d.md': 'Of the pack.' } };
const IMPORT = `${START}[imports.desk]\nsource = "desk"\n`;

function describedBy(file: string, more = ''): string {
  return `formula = "f"\n[[steps]]\nid = "a"\ntitle = "A"\ndescription_file = "${file}"\n${more}`;
}

/** What the step of `f` says, as a place of the city reads it from what is stored. */
async function description(files: Files, packs: Readonly<Record<string, Files>> = {}, rig = ''): Promise<string | undefined> {
  const { config, texts, issues } = await composeCity(files, packs);
  if (config === undefined) throw new Error(issues.map(describeIssue).join('\n'));
  const stored = async (digests: readonly string[]): Promise<Map<string, string>> =>
    new Map(digests.flatMap((digest) => (texts.has(digest) ? [[digest, texts.get(digest)!] as const] : [])));
  const library = new StoredLibrary(plain(config) as unknown as Shelf, rig, stored);
  const compiled = await library.with(() => compile('f', library, OPTIONS));
  expect(compiled.issues.map(describeIssue)).toEqual([]);
  return compiled.recipe?.steps[1]?.description;
}

describe('what a formula names beside it', () => {
  it('is of its pack', async () => {
    expect(await description({ 'city.toml': IMPORT }, PACK)).toBe('Of the pack.');
  });

  // Guard: what a city has in `assets/` stands in front of what its packs have, and is stored.
  it('is of the city, where that has a file of the name', async () => {
    expect(await description({ 'city.toml': IMPORT, 'assets/d.md': 'Of the city.' }, PACK)).toBe('Of the city.');
  });

  // Guard: files beside a rig's own formulas are there for them.
  it.each([
    ['1.0.0', ''],
    ['2.0.0', 'check = { max_attempts = 1, check = { mode = "exec", path = "c.sh" } }\n[requires]\nformula_compiler = ">=2.0.0"\n'],
  ])('is beside a formula of a rig, for a compiler %s', async (_version, more) => {
    const rig = '[[rigs]]\nname = "web"\nformulas_dir = "web-formulas"\n';
    const beside = { 'web-formulas/d.md': 'Of the rig.', 'web-formulas/c.sh': 'exit 0' };
    const files = { 'city.toml': START + rig, 'web-formulas/f.toml': describedBy('d.md', more), ...beside };
    expect(await description(files, {}, 'web')).toBe('Of the rig.');
  });

  it('is of the city for a formula of a rig in a folder below another', async () => {
    const rig = '[[rigs]]\nname = "web"\nformulas_dir = "rigs/web/formulas"\n';
    const files = { 'city.toml': START + rig, 'rigs/web/formulas/f.toml': describedBy('../assets/d.md'), 'assets/d.md': 'Of the city.' };
    expect(await description(files, {}, 'web')).toBe('Of the city.');
  });
});
