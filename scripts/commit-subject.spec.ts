import { describe, expect, it } from '@jest/globals';
import { faultOf } from './commit-subject.js';

describe('the subject of a commit', () => {
  it.each([
    'feat(cli): take what sessions publish',
    'fix: have row types say what statements answer',
    'refactor(launch,runs): pass what is known',
    'perf(entry): bring up cities sooner',
  ])('may be: %s', (subject) => {
    expect(faultOf(subject)).toBeUndefined();
  });

  it.each([
    ['wip proxy and benches', /type/],
    ['feature(cli): take it', /type/],
    ['fix(CLI): take it', /type/],
    ['fix(cli):take it', /type/],
    ['fix(cli): Take it', /type/],
    ['fix(cli): take it.', /type/],
    [`fix(cli): take ${'x'.repeat(120)}`, /longer/],
    ['fix(cli): takes it', /"takes"/],
    ['fix(cli): fixed it', /"fixed"/],
    ['fix(cli): taking it', /"taking"/],
  ])('is no: %s', (subject, why) => {
    expect(faultOf(subject)).toMatch(why);
  });
});
