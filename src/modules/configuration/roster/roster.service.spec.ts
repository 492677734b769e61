import { describe, expect, it } from '@jest/globals';
import { assignPrefixes } from './roster.service.js';

const rig = (name: string, derivedPrefix: string, prefix?: string) => ({ name, derivedPrefix, prefix });

describe('assignPrefixes', () => {
  it('takes what is declared, keeps what ids already have and numbers what collides', () => {
    const before = new Map([
      ['old', 'ol2'],
      ['moved', 'web'],
    ]);
    const rigs = [
      rig('', 'al'),
      rig('alpine', 'al'),
      rig('website', 'we', 'web'),
      rig('old', 'ol'),
      rig('moved', 'mo'),
      rig('allen', 'al'),
    ];
    expect(assignPrefixes(rigs, before)).toEqual([
      { name: '', prefix: 'al' },
      { name: 'alpine', prefix: 'al2' },
      { name: 'website', prefix: 'web' },
      { name: 'old', prefix: 'ol2' },
      { name: 'moved', prefix: 'mo' },
      { name: 'allen', prefix: 'al3' },
    ]);
  });
});
