import pg from 'pg';
import { isPreparing } from '../turns/preparing.js';

/** A plan takes memory in each connection; texts that are put together from how much was given have no end. */
const MOST = 400;
/** What comes back changes with the table, and a connection does not carry out a prepared statement with another result. */
const EVERY_COLUMN = /(?:^|[\s,])(?:"?\w+"?\.)?\*\s*(?:,|\bfrom\b|$)/i;

/** The connections of a pool, which give names to statements within `preparing`. Of each of them a name stands for one statement. */
export function preparingClient(): typeof pg.Client {
  const names = new Map<string, string>();
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known !== undefined || names.size === MOST || EVERY_COLUMN.test(text)) return known;
    const name = `prepared-${names.size}`;
    names.set(text, name);
    return name;
  };
  class Preparing extends pg.Client {
    override query(...args: unknown[]): never {
      const [text, values] = args;
      // Without parameters it may be several statements, which cannot be prepared.
      if (typeof text === 'string' && Array.isArray(values) && values.length > 0 && isPreparing()) {
        const name = nameOf(text);
        if (name !== undefined) args[0] = { name, text };
      }
      return (super.query as (...given: unknown[]) => unknown)(...args) as never;
    }
  }
  return Preparing as typeof pg.Client;
}
