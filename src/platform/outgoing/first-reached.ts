import { isIP } from 'node:net';

/** Addresses of a name that are tried. */
const MOST = 4;

/** There was no connection with an address: nothing has been said there, so that another may be asked the same. */
export class NotConnected extends Error {
  override readonly name = 'NotConnected';
}

/**
 * Calls one address of a name after the other, until there is a connection: its first, then one of the other family, and so on by turns, as a
 * host may reach none of one. Each has its share of the time that is left for that, so that one that refuses at once takes nothing from the others.
 */
export async function firstReached<T>(
  addresses: readonly [string, ...string[]],
  ms: number,
  call: (address: string, connectMs: number) => Promise<T>,
  now: () => number = () => performance.now(),
): Promise<T> {
  const tried = byTurns(addresses).slice(0, MOST);
  const until = now() + ms;
  const share = (nth: number): number => Math.max(1, (until - now()) / (tried.length - nth));
  for (const [nth, address] of tried.slice(0, -1).entries()) {
    try {
      return await call(address, share(nth));
    } catch (error) {
      if (!(error instanceof NotConnected)) throw error;
    }
  }
  return call(tried.at(-1)!, share(tried.length - 1));
}

function byTurns(addresses: readonly [string, ...string[]]): string[] {
  const family = isIP(addresses[0]);
  const first = addresses.filter((address) => isIP(address) === family);
  const other = addresses.filter((address) => isIP(address) !== family);
  return Array.from({ length: Math.max(first.length, other.length) }, (_, nth) => [
    ...first.slice(nth, nth + 1),
    ...other.slice(nth, nth + 1),
  ]).flat();
}
