import { checkConfig } from './check-config.js';
import { checkConnections } from './check-connections.js';
import { checkLog } from './check-log.js';
import { checkOperations } from './check-operations.js';
import { checkWork } from './check-work.js';
import { ConnectionCheck, type StreamFacts } from './check-stream.js';
import type { Connection, History, LogRow, Subscriber, Write } from './history.js';
import { LogIndex } from './log-index.js';
import { Positions } from './positions.js';
import { Violations, type Violation } from './violations.js';

type AcknowledgedEmit = Write & { readonly seq: number };

/** Everything that does not hold in a history. Pure: the same history always gives the same answer. */
export function check(history: History): readonly Violation[] {
  const violations = new Violations();
  const facts = factsOf(history, violations);
  checkLog(history, facts.log, violations);
  checkOperations(history, facts.log, violations);
  checkConnections(history, violations);
  checkWork(history, facts.log, violations);
  checkConfig(history, facts.log, violations);
  for (const { subscriber, connections } of chains(history)) {
    const checks = connections.map((connection) => new ConnectionCheck(facts, subscriber, connection));
    for (const one of checks) one.run();
    if (!subscriber.mustCatchUp) continue;
    const missing = checks.at(-1)?.missing() ?? [];
    if (checks.length === 0) violations.add('reliable', `${subscriber.name} never got a stream`, subscriber);
    else if (missing.length > 0) {
      const [first] = missing;
      violations.add(
        'reliable',
        `${subscriber.name} never got ${missing.length} events, from ${first!.stream}:${first!.seq} on`,
        connections.at(-1)!.number,
        missing.slice(0, 5),
      );
    }
  }
  return violations.all;
}

/** The subscribers that still lack events, with the first event each of them lacks. */
export function lagging(history: History): Map<string, LogRow | undefined> {
  const facts = factsOf(history, new Violations());
  const behind = new Map<string, LogRow | undefined>();
  for (const { subscriber, connections } of chains(history)) {
    if (!subscriber.mustCatchUp) continue;
    const last = connections.at(-1);
    if (last === undefined) behind.set(subscriber.name, undefined);
    else {
      const one = new ConnectionCheck(facts, subscriber, last);
      one.run();
      const [missing] = one.missing();
      if (missing !== undefined) behind.set(subscriber.name, missing);
    }
  }
  return behind;
}

function factsOf(history: History, violations: Violations): StreamFacts {
  const acknowledged = new Map<string, AcknowledgedEmit[]>();
  // A repeat under a key answers for an event that an earlier attempt may have written.
  const sent = new Map<string, number>();
  for (const { marker, from } of history.writes) sent.set(marker, Math.min(from, sent.get(marker) ?? Infinity));
  for (const write of history.writes) {
    if (write.kind !== 'emit' || write.outcome !== 'acknowledged' || write.seq === undefined) continue;
    const own = acknowledged.get(write.city) ?? [];
    acknowledged.set(write.city, own);
    own.push({ ...write, seq: write.seq, from: sent.get(write.marker)! });
  }
  return { log: new LogIndex(history.final), positions: new Positions(history.final), acknowledged, violations };
}

function chains(history: History): { subscriber: Subscriber; connections: Connection[] }[] {
  const byName = new Map<string, Connection[]>();
  for (const c of history.connections) {
    const own = byName.get(c.subscriber) ?? [];
    byName.set(c.subscriber, own);
    own.push(c);
  }
  return history.subscribers.map((subscriber) => ({ subscriber, connections: byName.get(subscriber.name) ?? [] }));
}
