import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../../test/support/app.js';
import { adminAt } from '../../test/support/database.js';
import { pino } from 'pino';
import { AppLogger } from '../platform/logging/logger.js';
import { startApplication } from './application.js';
import { knownOperations, type OperationHandler } from '../platform/operations/operation.js';
import { DeclaredKinds, OperationRegistry } from '../platform/operations/registry.js';

/** What only a started product can tell of itself. */
describe('a started product', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ apis: 1, workers: 1, queue: 'postgres' });
  });
  afterAll(() => stack.stop());

  it('has exactly one handler for every kind of operation, in the worker', () => {
    const registry = stack.apps[1]!.app.get(OperationRegistry, { strict: false });
    const kinds = [...knownOperations().keys()];
    expect(kinds.length).toBeGreaterThan(0);
    for (const kind of kinds) {
      const handler = registry.find(kind);
      expect({ kind, handled: handler?.definition.kind }).toEqual({ kind, handled: kind });
      expect(() => registry.register(handler!)).toThrow(`operation has two handlers: ${kind}`);
    }
    const empty = new OperationRegistry(new DeclaredKinds());
    empty.register({ definition: knownOperations().get(kinds[0]!)! } as OperationHandler);
    expect(() => empty.requireComplete()).toThrow(`operations without a handler: ${kinds.slice(1).sort().join(', ')}`);
  });

  it('leaves it to whoever has started it to say that its port is in use', async () => {
    const lines: string[] = [];
    const logger = new AppLogger(pino({ level: 'error' }, { write: (line: string) => void lines.push(line) }));
    const config = stack.config.with({ role: 'api', processId: 'second', port: Number(new URL(stack.urls[0]!).port) });
    await expect(startApplication(config, { logger })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(lines).toEqual([]);
  });

  it('has no trigger that writes events, and no function that notifies', async () => {
    const triggers = await adminAt(
      stack.databaseUrl,
      `select c.relname, t.tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
       join pg_proc p on p.oid = t.tgfoid
       where not t.tgisinternal and n.nspname = 'public' and p.prosrc ~* '\\mevents\\M|append'`,
    );
    expect(triggers).toEqual([]);
    const functions = await adminAt(
      stack.databaseUrl,
      `select p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace
       where n.nspname = 'public' and p.prosrc ~* '\\m(pg_notify|notify)\\M'`,
    );
    expect(functions).toEqual([]);
  });
});
