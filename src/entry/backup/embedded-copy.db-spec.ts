import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { emptyDatabase } from '../../../test/support/database.js';
import { folder, removeFolders } from '../../../test/support/folders.js';
import { copyRunning } from './embedded-copy.js';

afterEach(removeFolders);

it('is made of one server as often at once as somebody asks', async () => {
  const [database, home] = [await emptyDatabase(), await folder('svc-copy-')];
  const data = join(home, 'data');
  await mkdir(join(data, 'pg_wal'), { recursive: true });
  await writeFile(join(data, 'PG_VERSION'), '18');
  const copies = ['one', 'two'].map((name) => join(home, name));
  const made = await Promise.allSettled(copies.map((into) => copyRunning(database.url, data, into)));
  await database.drop();
  expect(made.map((one) => (one.status === 'rejected' ? String(one.reason) : one.status))).toEqual(['fulfilled', 'fulfilled']);
  for (const into of copies) expect(await readFile(join(into, 'backup_label'), 'utf8')).toContain('LABEL: svc backup');
});
