import { describe, expect, it } from '@jest/globals';
import { parseEnvironment } from './process-table.js';

describe('the environment of a process', () => {
  it('is its markers, however many variables there are, and of two with one name the later one', () => {
    const many = Array.from({ length: 40_000 }, (_, n) => `V${n}=`);
    const text = ['SVC_CITY=first', ...many, 'SVC_DEPLOYMENT=d', 'XSVC_SESSION_ID=x', 'SVC_CITY=last', 'SVC_GENERATION='].join('\0');
    expect(parseEnvironment(text)).toEqual(
      new Map([
        ['SVC_DEPLOYMENT', 'd'],
        ['SVC_CITY', 'last'],
        ['SVC_GENERATION', ''],
      ]),
    );
    expect(parseEnvironment('SVC_DEPLOYMENT=d\0')).toEqual(new Map([['SVC_DEPLOYMENT', 'd']]));
  });

  it('is not looked for where no deployment is named, and holds no value of any length', () => {
    expect([parseEnvironment(undefined), parseEnvironment('SVC_CITY=x\0')]).toEqual([undefined, new Map()]);
    expect(parseEnvironment(`SVC_DEPLOYMENT=${'d'.repeat(100_000)}`)!.get('SVC_DEPLOYMENT')).toHaveLength(4_096);
  });
});
