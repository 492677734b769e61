/** Addresses of a name that are tried. */
const MOST = 4;

/** There was no connection with an address: nothing has been said there, so that another may be asked the same. */
export class NotConnected extends Error {
  override readonly name = 'NotConnected';
}

/** Calls one address of a name after the other, until there is a connection. Each has its share of the time for that. */
export async function firstReached<T>(
  addresses: readonly [string, ...string[]],
  ms: number,
  call: (address: string, connectMs: number) => Promise<T>,
): Promise<T> {
  const tried = addresses.slice(0, MOST);
  const share = ms / tried.length;
  for (const address of tried.slice(0, -1)) {
    try {
      return await call(address, share);
    } catch (error) {
      if (!(error instanceof NotConnected)) throw error;
    }
  }
  return call(tried.at(-1)!, share);
}
