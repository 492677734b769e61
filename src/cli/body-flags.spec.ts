import { describe, expect, it } from '@jest/globals';
import { Command } from 'commander';
import { inFlags } from './body-flags.js';

const command = new Command('create')
  .argument('<name>')
  .argument('[alias...]')
  .option('--provider <name>')
  .option('--max-active-sessions <n>')
  .option('-l, --label <label...>');

describe('what the API says of members of a body', () => {
  it.each([
    ['validation failed (body.provider: is required)', 'validation failed (--provider: is required)'],
    [
      'no (body.max_active_sessions: is too big; body.provider: is no name)',
      'no (--max-active-sessions: is too big; --provider: is no name)',
    ],
    ['no (body.labels.0: is too long)', 'no (--label: is too long)'],
    ['no (body.name: is no name)', 'no (<name>: is no name)'],
    ['no (body.hint: is no hint)', 'no (body.hint: is no hint)'],
    ['no (body.name.first: is no name)', 'no (body.name.first: is no name)'],
  ])('is told in the words of the command line: %j', (said, told) => {
    expect(inFlags(said, command)).toBe(told);
  });
});
