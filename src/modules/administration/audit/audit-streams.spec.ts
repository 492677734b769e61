import { describe, expect, it } from '@jest/globals';
import type { Principal } from '../../../contract/principal.js';
import type { EventStreams, Opening, StreamTaker } from '../../../platform/streams/event-streams.js';
import type { StreamHub } from '../../../platform/streams/hub.js';
import type { PositionSeal } from '../../../platform/streams/position-seal.js';
import type { Subscriber } from '../../../platform/streams/subscriber.js';
import type { AuditReadsRepository } from './audit-reads.repository.js';
import { AuditStreams } from './audit-streams.service.js';

const AUDITOR: Principal = { actor: 'a', keyId: 'a', scope: 'read', rights: ['audit'], cities: ['alpha'] };
const EVERYWHERE: Principal = { ...AUDITOR, keyId: 'b', cities: undefined };

function streams(): AuditStreams {
  return new AuditStreams(
    { head: () => Promise.resolve({ xid: 1, id: 1 }) } as unknown as AuditReadsRepository,
    { assertRoom: () => undefined, opening: (taker: StreamTaker) => taker as unknown as Opening } as unknown as EventStreams,
    { repository: { seal: () => Promise.resolve({ hide: () => '' } as unknown as PositionSeal) } } as unknown as StreamHub,
    undefined as never,
    undefined as never,
  );
}

/** Opens one more: how it goes on, and how it is closed. */
async function open(of: AuditStreams, caller: Principal): Promise<{ readonly ended: () => boolean; readonly close: () => void }> {
  const taker = (await of.open(caller, {}, undefined)) as unknown as StreamTaker;
  let ended = false;
  // It is fed nothing.
  const subscriber = { state: 'closed', write: () => true, end: () => (ended = true) } as unknown as Subscriber;
  taker.take(subscriber, false);
  return { ended: () => ended, close: () => taker.closed(subscriber) };
}

describe('audit streams', () => {
  // Guard: a key of some cities leaves streams to those who look after all of them.
  it('of a key that is limited to cities are 20 at a replica, also where many are asked for at once', async () => {
    const some = streams();
    const all = await Promise.all(Array.from({ length: 25 }, () => open(some, AUDITOR)));
    expect(all.filter(({ ended }) => ended())).toHaveLength(5);
    await expect(open(some, AUDITOR)).rejects.toThrow('20 audit streams of this key');
    for (let n = 0; n < 30; n++) expect((await open(some, EVERYWHERE)).ended()).toBe(false);
    all[0]!.close();
    expect((await open(some, AUDITOR)).ended()).toBe(false);
  });

  // Guard: many keys of some cities leave them some, too.
  it('of all keys that are limited to cities are 80 at a replica', async () => {
    const some = streams();
    const of = (n: number): Promise<{ readonly close: () => void }> => open(some, { ...AUDITOR, keyId: `key${n % 8}` });
    const all = [];
    for (let n = 0; n < 80; n++) all.push(await of(n));
    await expect(of(81)).rejects.toThrow('80 audit streams of keys of some cities');
    for (let n = 0; n < 20; n++) expect((await open(some, EVERYWHERE)).ended()).toBe(false);
    await expect(open(some, EVERYWHERE)).rejects.toThrow('this replica carries 100 audit streams');
    all[0]!.close();
    await of(82);
  });
});
