import { describe, expect, it } from '@jest/globals';
import { findCall, onceMore, type Page } from './approve.js';

/** A transcript of so many pages, with the call in one of them, or in none. */
function start(pages: number, at = -1) {
  const asked: (readonly [number, string | undefined])[] = [];
  const read = (limit: number, before: string | undefined): Promise<Page> => {
    const here = asked.push([limit, before]) - 1;
    const blocks = [{ type: 'tool_use', id: here === at ? 'wanted' : 'other', name: 'Bash' }];
    return Promise.resolve({
      structured_messages: [{ blocks }],
      pagination: { has_older_messages: here < pages - 1, truncated_before_message: `m${here}` },
    } as unknown as Page);
  };
  return { asked, found: findCall('wanted', read) };
}

describe('what is approved', () => {
  it('is looked for a few pages back, as far as there are any', async () => {
    const near = start(9, 0);
    expect([await near.found, near.asked]).toEqual([expect.objectContaining({ id: 'wanted' }), [[50, undefined]]]);
    const far = start(9, 2);
    expect(await far.found).toMatchObject({ id: 'wanted' });
    expect(far.asked).toEqual([
      [50, undefined],
      [200, 'm0'],
      [200, 'm1'],
    ]);
    const short = start(2);
    expect([await short.found, short.asked.length]).toEqual([undefined, 2]);
    const long = start(100);
    expect([await long.found, long.asked.length]).toEqual([undefined, 4]);
  });

  it('is asked for twice where it lasts, or was not shown', () => {
    const kinds = ['allow_once', 'allow_always', 'reject_once', 'reject_always', ''];
    expect(kinds.map((kind) => onceMore(kind, false))).toEqual([undefined, 'it lasts', undefined, 'it lasts', undefined]);
    const unseen = 'what it would do is not shown';
    expect(kinds.map((kind) => onceMore(kind, true))).toEqual([unseen, 'it lasts', undefined, 'it lasts', unseen]);
  });
});
