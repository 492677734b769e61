import { expect, it } from '@jest/globals';
import { lackedOf } from './tar.js';

const END = 'tar: Exiting with failure status due to previous errors';

// Guard: agents name files as they like, and one that grows keeps nobody from a backup.
it.each<[string, number | null, string[], string[] | undefined]>([
  ['something has changed', 1, ['tar: cities/a/x.log: file changed as we read it'], []],
  ['something of a name that reads like a failure has changed', 1, ['tar: cities/Cannot-find.log: file changed as we read it'], []],
  ['something of a name that looks like a failure has changed', 1, ['tar: cities/x: Cannot open: file changed as we read it'], []],
  [
    'something has gone, or has become shorter',
    1,
    ['tar: c/x: File removed before we read it', 'tar: c/y: File shrank by 12 bytes; padding with zeros'],
    [],
  ],
  ['something may not be read', 2, ['tar: cities/a/x: Cannot open: Permission denied', END], ['cities/a/x']],
  ['both', 2, ['tar: cities/d: Cannot opendir: Permission denied', 'tar: cities/e: file changed as we read it', END], ['cities/d']],
  ['the disk is full', 2, ['tar: backup.part: Wrote only 2048 of 10240 bytes', 'tar: Error is not recoverable: exiting now'], undefined],
  [
    'the disk is full, of a name that looks harmless',
    2,
    ['tar: file changed as we read it: Cannot write: No space left on device'],
    undefined,
  ],
  ['a file cannot be read to its end', 2, ['tar: c/x: Read error at byte 0, while reading 10 bytes: Input/output error', END], undefined],
  ['a file is not there that shall be', 2, ['tar: database.dump: Cannot stat: No such file or directory', END], undefined],
  ['the cities may not be read at all', 2, ['tar: cities: Cannot open: Permission denied', END], undefined],
  ['the database may not be read', 2, ['tar: database.dump: Cannot open: Permission denied', END], undefined],
  ['something of a copied database may not be read', 2, ['tar: database/base/1: Cannot open: Permission denied', END], undefined],
  ['something else of that name may not be read', 2, ['tar: cities-of-old/x: Cannot open: Permission denied', END], undefined],
  ['nothing is said', 2, [END], undefined],
  ['it was killed', null, ['tar: c/x: file changed as we read it'], undefined],
])('knows what is missing when %s', (_what, code, lines, lacks) => {
  expect(lackedOf(code, lines.join('\n'), 'cities')).toEqual(lacks);
});

it('knows the folder of the cities however tar writes its name', () => {
  const said = `tar: cit\\303\\251s\\: my own/a: Cannot open: Permission denied\n${END}`;
  expect(lackedOf(2, said, 'cités: my own')).toEqual(['cit\\303\\251s\\: my own/a']);
  expect(lackedOf(2, said)).toBeUndefined();
});
