import { describe, expect, it } from '@jest/globals';
import { firstReached, NotConnected } from './first-reached.js';

const A = ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8::4', '2001:db8::5'] as const;

describe('the addresses of a name', () => {
  /** What was tried, and for how long, where each of these takes so long to fail. */
  async function tried(addresses: readonly [string, ...string[]], takes: Readonly<Record<string, number>>): Promise<[string, number][]> {
    let clock = 5;
    const seen: [string, number][] = [];
    const call = async (address: string, ms: number): Promise<void> => {
      seen.push([address, ms]);
      clock += Math.min(ms, takes[address] ?? ms);
      throw new NotConnected('x');
    };
    await expect(firstReached(addresses, 12_000, call, () => clock)).rejects.toThrow(NotConnected);
    return seen;
  }

  it('share the time for a connection, and what one leaves of it goes to the others', async () => {
    expect(await tried(['192.0.2.1'], {})).toEqual([['192.0.2.1', 12_000]]);
    expect(await tried(['192.0.2.1', '192.0.2.2', '192.0.2.3'], {})).toEqual([
      ['192.0.2.1', 4_000],
      ['192.0.2.2', 4_000],
      ['192.0.2.3', 4_000],
    ]);
    expect(await tried(['2001:db8::1', '192.0.2.1'], { '2001:db8::1': 0 })).toEqual([
      ['2001:db8::1', 6_000],
      ['192.0.2.1', 12_000],
    ]);
  });

  // Guard: a host whose way to one family leads nowhere reaches the other.
  it('are tried from each family by turns, four at the most', async () => {
    const names = async (addresses: readonly [string, ...string[]]): Promise<string[]> =>
      (await tried(addresses, {})).map(([name]) => name);
    expect(await names([...A, '192.0.2.1', '192.0.2.2'])).toEqual([A[0], '192.0.2.1', A[1], '192.0.2.2']);
    expect(await names(['192.0.2.1', ...A])).toEqual(['192.0.2.1', A[0], A[1], A[2]]);
  });

  it('are called no more once one has answered, or has broken off', async () => {
    const seen: string[] = [];
    const call = async (address: string): Promise<string> => {
      seen.push(address);
      if (address === A[0]) throw new NotConnected('x');
      if (address === A[2]) throw new Error('broken');
      return address;
    };
    expect(await firstReached([A[0], A[1], A[2]], 9, call)).toBe(A[1]);
    await expect(firstReached([A[0], A[2], A[1]], 9, call)).rejects.toThrow('broken');
    expect(seen).toEqual([A[0], A[1], A[0], A[2]]);
  });
});
