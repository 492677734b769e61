import { describe, expect, it } from '@jest/globals';
import { digestOf, requireFreePrefix, rigRequest } from './rig-rules.js';

describe('requests for rigs', () => {
  it('leave out what is empty and lower the prefix', () => {
    expect(rigRequest({ name: 'web', path: ' ', prefix: 'WB', default_branch: '', git_url: '', request_id: '' })).toEqual({
      name: 'web',
      path: undefined,
      prefix: 'wb',
      defaultBranch: undefined,
      source: undefined,
      requestId: undefined,
    });
  });

  it.each(['main', 'feature/a-b_c.d', 'v1.0+x'])('take the branch %s', (branch) =>
    expect(rigRequest({ name: 'web', default_branch: branch }).defaultBranch).toBe(branch),
  );
  it.each(['-x', '--upload-pack=x', 'a..b', 'a b', 'a.lock', 'a/', '/a', 'a//b', 'a@{b', '.a', 'a\nb', 'a:b', 'a~1', 'a^'])(
    'do not take the branch %j',
    (branch) => expect(() => rigRequest({ name: 'web', default_branch: branch })).toThrow(/^invalid: invalid default_branch/),
  );
  it.each(['null', '12345678', '"quoted1"', '1234567', 'a b c d e f', 'x'.repeat(201), 'ä'.repeat(10)])('do not take the id %j', (id) =>
    expect(() => rigRequest({ name: 'web', request_id: id })).toThrow(/^invalid: invalid request_id/),
  );
  it.each(['__proto__', 'constructor', 'a.b_c-d', '...'])('take the name %s', (name) => expect(rigRequest({ name }).name).toBe(name));
  it.each(['', '.', '..', 'a/b', 'a b', 'true', '1e3', 'x'.repeat(65)])('do not take the name %j', (name) =>
    expect(() => rigRequest({ name })).toThrow('invalid: invalid rig name'),
  );

  it('are the same whatever their id and the blanks around', () => {
    const digest = digestOf({ name: 'web', git_url: 'https://h/x' });
    expect(digestOf({ git_url: ' https://h/x ', name: 'web', request_id: 'something' })).toBe(digest);
    expect(digestOf({ name: 'web', git_url: 'https://h/y' })).not.toBe(digest);
  });

  it('share no prefix with another rig or the city', () => {
    const used = [
      { name: '', prefix: 'al' },
      { name: 'web', prefix: 'we' },
    ];
    expect(() => requireFreePrefix('al', 'new', used)).toThrow('conflict: prefix "al" belongs to the city');
    expect(() => requireFreePrefix('we', 'new', used)).toThrow('conflict: prefix "we" belongs to rig "web"');
    expect(() => requireFreePrefix('we', 'web', used)).not.toThrow();
    expect(() => requireFreePrefix(undefined, 'new', used)).not.toThrow();
  });
});
