import { expect, it } from '@jest/globals';
import { Outage } from './outage.js';

// Guard: each worker wrote a line with its stack for each beat and each renewal, as long as its database was away.
it('says the first failure of each outage, and once that it works again', () => {
  const said: string[] = [];
  const outage = new Outage(
    {
      warn: ({ err }: { err: Error }, line: string) => void said.push(`${line}: ${err.message}`),
      info: (_: object, line: string) => void said.push(line),
    } as never,
    'beats again',
  );
  outage.worked();
  for (const why of ['away', 'away', 'starting', '', '', 'away', ''])
    if (why === '') outage.worked();
    else outage.failed(new Error(why), 'no beat');
  expect(said).toEqual(['no beat: away', 'beats again', 'no beat: away', 'beats again']);
});
