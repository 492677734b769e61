import { access } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CITY_TOML, ConfigFixture } from '../../../../test/support/config-fixture.js';
import type { EditAnswer } from './config-edits.service.js';

const CALLER = { actor: 'test', keyId: undefined, scope: 'write', cities: undefined } as const;
const FORMULA = 'formula = "x"\n[[steps]]\nid = "a"\ntitle = "A"\ndescription_file = "a.md"\n';
const BROKEN = `formula = "y"\n\0\n`;

let fixture: ConfigFixture;

beforeEach(async () => {
  fixture = await ConfigFixture.open();
  await fixture.write('city.toml', CITY_TOML.replace('name = "scout"', 'name = "scout"\ninject_fragments = ["review"]'));
  await fixture.write('template-fragments/f.template.md', '{{define "revie\0w"}}x{{end}}');
  await fixture.write('formulas/x.toml', FORMULA);
  await fixture.write('formulas/a.md', 'Do\0 it.');
  await fixture.write('formulas/y.toml', BROKEN);
});
afterEach(() => fixture.close());

const mended = (text: string): Promise<EditAnswer<unknown>> =>
  fixture.a.edits.run({ city: fixture.city, caller: CALLER }, async (draft) => {
    await draft.write('formulas/y.toml', text);
    return { body: {} };
  });

// Guard: a NUL anywhere in a file would keep every change of the city's configuration from being stored.
describe('files with a NUL character', () => {
  it('are told of, and change nothing else', async () => {
    const { a, b, city } = fixture;
    expect(await a.reloads.reload(city, 'files', 'test')).toMatchObject({ revision: 2, changed: true });
    const [row] = await fixture.sql<{ warnings: string[] }>('select warnings from config_revisions where revision = 2');
    const said = (file: string): string[] => row!.warnings.filter((line) => line.startsWith(file));
    expect(said('formulas/a.md')).toEqual(['formulas/a.md: has a NUL character, which cannot be stored: another one is kept for it']);
    expect(said('formulas/y.toml')).toHaveLength(2);
    expect(said('city.toml').join()).toContain('did you mean revie\ufffdw?');
    const { config } = await b.reads.current(city);
    const [described, broken] = ['formulas/a.md', 'formulas/y.toml'].map((file) => config.contents[file]!);
    expect(await b.reads.texts(city, [described!, broken!])).toEqual(
      new Map([
        [described, 'Do\ufffd it.'],
        [broken, 'formula = "y"\n\u0001\n'],
      ]),
    );
    await a.setVariable(city, 'ONE');
    expect(await fixture.variables()).toEqual(['ONE']);
  });

  it('are mended by an edit, and are what they were when that is taken back', async () => {
    const { a, city } = fixture;
    await a.reloads.reload(city, 'files', 'test');
    a.failpoints.arm('config.after_write', () => {
      throw new Error('stop');
    });
    await expect(mended('formula = "y"\n')).rejects.toThrow('stop');
    a.failpoints.disarm();
    expect(await fixture.read('formulas/y.toml')).toBe(BROKEN);
    await mended('formula = "y"\n');
    expect(await fixture.read('formulas/y.toml')).toBe('formula = "y"\n');
    await fixture.expectTidy();
  });

  it('are taken away by an edit', async () => {
    const { a, city } = fixture;
    await a.reloads.reload(city, 'files', 'test');
    await a.edits.run({ city, caller: CALLER }, async (draft) => {
      await draft.removeFile('formulas/y.toml');
      return { body: {} };
    });
    await expect(access(fixture.at('formulas/y.toml'))).rejects.toThrow('ENOENT');
  });
});
