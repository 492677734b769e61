import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigFixture } from '../../../../test/support/config-fixture.js';
import { FORMULA } from '../../../../test/support/config-examples-formulas.js';
import { ANYBODY } from '../../../contract/principal.js';
import { hashOf } from '../../configuration/config/edit-plan.js';
import { FormulaEditsService, type FormulaEdit } from './formula-edits.service.js';
import { FormulaWork } from './formula-work.js';

const FILE = 'formulas/greet.toml';
/** What a person saves while no worker has looked. */
const THEIRS = FORMULA.replace('Say hello', 'Say good morning');
const OURS = FORMULA.replace('Say hello', 'Say good night');

let fixture: ConfigFixture;
let edits: FormulaEditsService;

beforeEach(async () => {
  fixture = await ConfigFixture.open();
  const { reads, threads, edits: files, composer } = fixture.a;
  edits = new FormulaEditsService(reads, files, composer, new FormulaWork(reads, threads));
});
afterEach(() => fixture.close());

const by = (expected?: FormulaEdit['expected']): FormulaEdit => ({ city: fixture.city, caller: ANYBODY, expected });
const conflict = (expected: string, found: string): object => ({
  problem: 'conflict',
  detail: `conflict: ${FILE} was edited meanwhile: expected sha256 ${expected}, found ${found}; nothing was changed`,
});

// Guard: a formula that somebody has saved in an editor is not replaced by who has not seen it.
describe('a formula of a revision that the caller names', () => {
  it('is saved and deleted as long as the file is what the revision says', async () => {
    expect(await edits.save(by(1), 'greet', FORMULA)).toMatchObject({ revision: 2 });
    expect(await edits.save(by(2), 'greet', OURS)).toMatchObject({ revision: 3 });
    expect(await fixture.read(FILE)).toBe(OURS);
    expect(await edits.remove(by(3), 'greet')).toMatchObject({ revision: 4 });
    await expect(fixture.read(FILE)).rejects.toThrow('ENOENT');
  });

  it('stays as somebody has saved it since', async () => {
    await edits.save(by(), 'greet', FORMULA);
    await fixture.write(FILE, THEIRS);
    const refused = conflict(hashOf(FORMULA), hashOf(THEIRS));
    await expect(edits.save(by(2), 'greet', OURS)).rejects.toMatchObject(refused);
    await expect(edits.remove(by(2), 'greet')).rejects.toMatchObject(refused);
    expect(await fixture.read(FILE)).toBe(THEIRS);
    await rm(fixture.at(FILE));
    await expect(edits.save(by(2), 'greet', OURS)).rejects.toMatchObject(conflict(hashOf(FORMULA), 'no file'));
    await expect(fixture.read(FILE)).rejects.toThrow('ENOENT');
    await fixture.expectTidy();
  });

  it('is not written over one that somebody has made since', async () => {
    await fixture.write(FILE, THEIRS);
    await expect(edits.save(by(1), 'greet', OURS)).rejects.toMatchObject(conflict('no file', hashOf(THEIRS)));
    expect(await fixture.read(FILE)).toBe(THEIRS);
  });

  it('is replaced by who asks for no revision, or for any', async () => {
    await fixture.write(FILE, THEIRS);
    await edits.save(by(), 'greet', OURS);
    expect(await fixture.read(FILE)).toBe(OURS);
    await fixture.write(FILE, THEIRS);
    await edits.save(by('*'), 'greet', OURS);
    expect(await fixture.read(FILE)).toBe(OURS);
  });
});

const NAMING = (file: string): string =>
  `formula = "greet"\n[requires]\nformula_compiler = ">=2.0.0"\n[[steps]]\nid = "say"\ntitle = "Say hello"\ndescription_file = "${file}"\n`;
const CHECKED = `${NAMING('../assets/d.md')}check = { max_attempts = 1, check = { mode = "exec", path = "../assets/c.sh" } }\n`;
const MISSING = 'formulas/greet.toml:7: steps[0].description_file: there is no such text in the city or its packs';

// Guard: a formula may name files that no formula of the revision has named.
describe('a file that a new formula names', () => {
  it('is read from the disk when the revision has no text of it', async () => {
    await fixture.write('assets/d.md', 'Be kind.');
    await fixture.a.reloads.reload(fixture.city, 'files', 'test');
    expect(await edits.validate(fixture.city, 'greet', NAMING('../assets/d.md'))).toEqual({ valid: true });
    await edits.save(by(), 'greet', NAMING('../assets/d.md'));
    const { config } = await fixture.b.reads.current(fixture.city);
    expect(config.contents['assets/d.md']).toBe(hashOf('Be kind.'));
    expect([...(await fixture.b.reads.texts(fixture.city, [hashOf('Be kind.')])).values()]).toEqual(['Be kind.']);
  });

  it('may be newer than the revision, and a script', async () => {
    await fixture.write('assets/d.md', 'Be kind.');
    await fixture.write('assets/c.sh', 'exit 0\n');
    expect(await edits.validate(fixture.city, 'greet', CHECKED)).toEqual({ valid: true });
  });

  it('may be a file of a pack', async () => {
    await fixture.write('packs/desk/pack.toml', '[pack]\nname = "desk"\nschema = 2\n');
    await fixture.write('packs/desk/assets/d.md', 'Be kind.');
    await fixture.write('city.toml', `${await fixture.read()}[imports.desk]\nsource = "packs/desk"\n`);
    expect(await edits.validate(fixture.city, 'greet', NAMING('../assets/d.md'))).toEqual({ valid: true });
  });

  it('has to be there', async () => {
    expect(await edits.validate(fixture.city, 'greet', NAMING('../assets/d.md'))).toEqual({ valid: false, errors: [MISSING] });
    // Nor is anything that lies outside.
    await fixture.write('../d.md', 'Theirs.');
    expect(await edits.validate(fixture.city, 'greet', NAMING('../../d.md'))).toEqual({ valid: false, errors: [MISSING] });
    await expect(edits.save(by(), 'greet', NAMING('../assets/d.md'))).rejects.toMatchObject({ problem: 'invalid_request' });
  });

  // Guard: no file is said to be missing while nobody can look for it.
  it('is not said to be missing when the files of the city cannot be used: why is said', async () => {
    await fixture.write('assets/d.md', 'Be kind.');
    await fixture.write('city.toml', 'broken');
    const text = NAMING('../assets/d.md');
    const broken = expect.stringMatching(/^city\.toml:1/);
    expect(await edits.validate(fixture.city, 'greet', text)).toEqual({ valid: false, errors: [broken] });
    const more = text.replace('title = "Say hello"', 'title = 3');
    const wrong = expect.stringContaining('steps[0].title');
    expect(await edits.validate(fixture.city, 'greet', more)).toMatchObject({ errors: [wrong, wrong, broken] });
    const why = expect.stringMatching(/cannot be used as they are: city\.toml:1/);
    await expect(edits.save(by(), 'greet', text)).rejects.toMatchObject({ problem: 'wrong_state', message: why });
    await expect(fixture.read(FILE)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
