import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/sse.js';
import { GroupCommitter } from './group-committer.js';

/** Commits texts such as `a1`, of the owner `a`. A batch ends when it is told to. */
class Committer extends GroupCommitter<string> {
  protected readonly noun = 'text';
  readonly batches: { readonly items: readonly string[]; readonly end: () => void }[] = [];

  add(...items: string[]): Promise<string[]> {
    return Promise.all(items.map((item) => this.enqueue('key', item, item.length)));
  }

  protected override lanesOf(): number {
    return 3;
  }

  protected override ownerOf(item: string): string {
    return item[0]!;
  }

  protected hadEffect(): boolean {
    return true;
  }

  protected async flush(_key: string, items: readonly string[]): Promise<string[]> {
    await new Promise<void>((end) => this.batches.push({ items, end }));
    return items.map((item) => item.toUpperCase());
  }
}

const turn = (): Promise<void> => new Promise((done) => setImmediate(() => setImmediate(done)));
const batch = (committer: Committer, nth: number) =>
  eventually(() => Promise.resolve(committer.batches[nth] as Committer['batches'][number] | undefined));
const EIGHT = ['b1', 'c1', 'd1', 'e1', 'f1', 'g1', 'h1', 'i1'];

describe('what is committed together', () => {
  it('begins at once where nothing is in flight, and with what comes in the same turn', async () => {
    const committer = new Committer();
    const both = committer.add('a1', 'b1');
    await turn();
    expect(committer.batches.map(({ items }) => items)).toEqual([['a1', 'b1']]);
    committer.batches[0]!.end();
    expect(await both).toEqual(['A1', 'B1']);
  });

  it('begins beside what is in flight once there is enough of others', async () => {
    const committer = new Committer();
    void committer.add('a1');
    await turn();
    void committer.add(...EIGHT.slice(1));
    await turn();
    expect(committer.batches).toHaveLength(1);
    void committer.add('b1');
    await turn();
    expect(committer.batches[1]!.items).toHaveLength(8);
    for (const { end } of committer.batches) end();
  });

  it('does not count what belongs to somebody who is in flight', async () => {
    const committer = new Committer();
    const first = committer.add('a1');
    await turn();
    const rest = committer.add(...EIGHT.map((_, n) => `a${n + 2}`));
    await turn();
    expect(committer.batches).toHaveLength(1);
    committer.batches[0]!.end();
    await first;
    (await batch(committer, 1)).end();
    expect(await rest).toHaveLength(8);
  });

  it('waits a moment for more, and no longer', async () => {
    const committer = new Committer();
    void committer.add('a1');
    await turn();
    const few = committer.add('b1', 'c1');
    const second = await batch(committer, 1);
    expect(second.items).toEqual(['b1', 'c1']);
    second.end();
    // The first one never ends.
    expect(await few).toEqual(['B1', 'C1']);
    const later = committer.add('d1');
    (await batch(committer, 2)).end();
    expect(await later).toEqual(['D1']);
  });

  it('takes what has waited when the one in flight ends', async () => {
    const committer = new Committer();
    const first = committer.add('a1');
    await turn();
    const few = committer.add('a2', 'b1');
    committer.batches[0]!.end();
    await first;
    (await batch(committer, 1)).end();
    expect(await few).toEqual(['A2', 'B1']);
    const alone = committer.add('c1');
    await turn();
    expect(committer.batches[2]!.items).toEqual(['c1']);
    committer.batches[2]!.end();
    await alone;
  });
});
