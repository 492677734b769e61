import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { GUARDS } from './all.js';
import { ROOT, without } from './copies.js';

describe('the list of guards', () => {
  it('names a text that stands once, and a test file, for each of them', async () => {
    const problems = GUARDS.map(async (guard) => {
      await without(guard, ROOT);
      await access(join(ROOT, guard.test));
    });
    const failed = (await Promise.allSettled(problems)).flatMap((done, i) =>
      done.status === 'fulfilled' ? [] : [`${GUARDS[i]!.guard} ${String(done.reason)}`],
    );
    expect(failed).toEqual([]);
  });

  // What a later migration makes anew is as it was, whatever is taken out of the one before.
  it('names the last migration that makes a function', async () => {
    const folder = 'db/migrations/';
    const names = (await readdir(join(ROOT, folder))).sort();
    const texts = await Promise.all(names.map((name) => readFile(join(ROOT, folder, name), 'utf8')));
    const textOf = new Map(names.map((name, n) => [folder + name, texts[n]!]));
    const overtaken = GUARDS.filter(({ file }) => file.startsWith(folder)).flatMap(({ guard, file, find }) => {
      const [of] = functionsWith(textOf.get(file)!, find);
      const later = [...textOf].filter(([name, text]) => name > file && of !== undefined && functionsWith(text, '').includes(of));
      return later.map(([name]) => `${guard} ${name} makes ${of} anew`);
    });
    expect(overtaken).toEqual([]);
  });
});

/** The functions that a migration makes and in which a text stands. */
function functionsWith(migration: string, text: string): string[] {
  const made = migration.split(/^\s*create (?:or replace )?function (?=\w+\()/m).slice(1);
  const bodies = made.map((sql) => sql.split('$$', 2).join('$$'));
  return bodies.filter((body) => body.includes(text)).map((body) => body.slice(0, body.indexOf('(')));
}
